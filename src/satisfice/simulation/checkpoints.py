"""Checkpoints: the times at which pulls and regrets are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidRun
from satisfice.limits import whole

Ints = NDArray[np.int64]
MOST = 10**7


def even_times(horizon: int, count: int = 200) -> Ints:
    """So many evenly spaced times up to the horizon, or every time where there are fewer.

    Examples
    --------
    >>> even_times(10, 4).tolist(), even_times(2, 4).tolist()
    ([3, 5, 8, 10], [1, 2])
    """
    count = min(count, horizon)
    return np.unique(np.ceil(np.arange(1, count + 1) * (horizon / count)).astype(np.int64).clip(1, horizon))


def log_times(horizon: int, count: int = 240) -> Ints:
    """About so many times up to the horizon, evenly spaced in their logarithm.

    Examples
    --------
    >>> log_times(1000, 4).tolist()
    [1, 10, 100, 1000]
    """
    return np.unique(np.append(np.geomspace(1, horizon, count).astype(np.int64), horizon))


def read_checkpoints(checkpoints: int | Sequence[int] | Ints, horizon: int) -> Ints:
    """The checkpoints that a caller asks for: a number of evenly spaced ones, or times. The horizon is always one.

    Raises
    ------
    InvalidRun
        When they are not whole numbers from 1 to the horizon.

    Examples
    --------
    >>> read_checkpoints([5, 2], horizon=10).tolist()
    [2, 5, 10]
    """
    if isinstance(checkpoints, (int, np.integer)) and not isinstance(checkpoints, bool):
        return even_times(horizon, whole("checkpoints", checkpoints, 1, MOST))
    times = np.unique(np.asarray(checkpoints))
    if len(times) == 0 or times.dtype.kind not in "iu" or times[0] < 1 or times[-1] > horizon:
        raise InvalidRun(f"checkpoints must be whole numbers from 1 to the horizon, {horizon}; got {checkpoints!r}")
    return np.unique(np.append(times, horizon)).astype(np.int64)
