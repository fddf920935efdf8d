"""Times at which pulls are read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satisfice.errors import InvalidRun
from satisfice.simulation.checkpoints import even_times, log_times, read_checkpoints


@given(st.integers(1, 10**15), st.integers(1, 300))
def test_times_end_with_the_horizon(horizon: int, count: int) -> None:
    for times in (even_times(horizon, count), log_times(horizon, count)):
        assert times.dtype == np.int64
        assert times[-1] == horizon and times[0] >= 1
        assert (np.diff(times) > 0).all()
        assert len(times) <= count + 1


def test_by_hand() -> None:
    # 1000 / 3 = 333.3: the first whole number from there on.
    assert even_times(1000, 3).tolist() == [334, 667, 1000]
    # The powers of 10^(1/2) up to 100, cut: 1, 3.16, 10, 31.6, 100.
    assert log_times(100, 5).tolist() == [1, 3, 10, 31, 100]
    assert read_checkpoints(2, 10).tolist() == [5, 10]
    assert read_checkpoints(np.array([7]), 10).tolist() == [7, 10]


@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, [0], [11], [1.5], [], "5"])
def test_what_is_no_time(wrong: object) -> None:
    with pytest.raises(InvalidRun, match="checkpoints"):
        read_checkpoints(wrong, 10)  # type: ignore[arg-type]
