"""Numbers in arrays that are read by their names."""

from __future__ import annotations

from typing import Any

import numpy as np


def record(cls: type) -> Any:
    """A class of numbers as a type of array elements: `array.view(record(Arm))[k].lo`, compiled or not.

    Examples
    --------
    >>> from satisfice.changes import Head
    >>> np.arange(10.0).view(record(Head))[0].total
    np.float64(1.0)
    """
    kinds = {"float": np.float64, "int": np.int64}
    return np.dtype((np.record, [(name, kinds[kind]) for name, kind in cls.__annotations__.items()]))
