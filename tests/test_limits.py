"""Whole numbers that people give, checked in one place."""

from __future__ import annotations

import numpy as np
import pytest

from satisfice.errors import InvalidPolicy, InvalidRun
from satisfice.limits import MAX_RUNS, whole


@pytest.mark.parametrize("value", [1, 5.0, 5e6, np.int64(7), np.float32(8), np.uint8(9)])
def test_whole_numbers(value: float) -> None:
    made = whole("runs", value, 1, MAX_RUNS)
    assert made == value and type(made) is int


@pytest.mark.parametrize("value", [1.5, float("nan"), float("inf"), True, np.True_, "5", None, [1], 1 + 0j])
def test_what_is_no_whole_number(value: object) -> None:
    with pytest.raises(InvalidRun, match=r"^runs = .*; it must be a whole number$") as caught:
        whole("runs", value, 1, MAX_RUNS)
    assert caught.value.parameter == "runs" and caught.value.value == repr(value)


def test_the_limits_are_accepted_and_what_lies_beyond_is_not() -> None:
    assert whole("kappa", 0, 0, 3) == 0 and whole("kappa", 3, 0, 3) == 3
    with pytest.raises(InvalidRun, match=r"kappa = -1; it must be from 0 to 3"):
        whole("kappa", -1, 0, 3)
    with pytest.raises(InvalidPolicy, match=r"kappa = 4; it must be from 0 to 3"):
        whole("kappa", 4, 0, 3, error=InvalidPolicy)
