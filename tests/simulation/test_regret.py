"""Regret curves: pulls times gaps, by hand, and added in the same order by plain and compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from satisfice.policies.compiled import compile_native
from satisfice.simulation.regret import add_up


def test_by_hand() -> None:
    pulls = np.array([[1, 0, 2], [4, 1, 5]])
    gaps = np.array([[0.0, 0.5, 2.0], [0.25, 0.0, 0.0]])
    curves = np.zeros((2, 2))
    add_up(pulls, gaps, curves)
    # Cost: 2 x 2 = 4, then 0.5 + 5 x 2 = 10.5. Quality: 0.25, then 4 x 0.25 = 1.
    assert curves.tolist() == [[4.0, 10.5], [0.25, 1.0]]


@pytest.mark.parametrize("arms", [1, 7, 300])
@pytest.mark.parametrize("checkpoints", [1, 13])
def test_compiled_and_plain_add_to_the_last_bit(arms: int, checkpoints: int) -> None:
    rng = np.random.default_rng(0)
    pulls, gaps = rng.integers(0, 10**9, (checkpoints, arms)), rng.random((2, arms))
    plain, compiled = np.zeros((2, checkpoints)), np.zeros((2, checkpoints))
    add_up(pulls, gaps, plain)
    compile_native(add_up)(pulls, gaps, compiled)
    np.testing.assert_array_equal(plain, compiled)
    np.testing.assert_allclose(plain, gaps @ pulls.T)
