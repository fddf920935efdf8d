"""Regret: pulls times gaps, by plain code that the simulator compiles; and how well runs know its mean."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def add_up(pulls: NDArray[np.int64], gaps: NDArray[np.float64], curves: NDArray[np.float64]) -> None:
    """Fill `curves`, (kinds, checkpoints), with the regrets of pulls, (checkpoints, arms), and gaps, (kinds, arms).

    Added arm by arm, in order: a matrix product may add in any order, and so differ in the last bit from one machine to
    another.

    Examples
    --------
    >>> curves = np.zeros((2, 2))
    >>> add_up(np.array([[1, 1], [2, 3]]), np.array([[0.0, 0.5], [2.0, 0.0]]), curves)
    >>> curves.tolist()
    [[0.5, 1.5], [2.0, 4.0]]
    """
    for kind in range(len(gaps)):
        curves[kind, :] = 0.0
        for arm in range(pulls.shape[1]):
            gap = gaps[kind, arm]
            if gap != 0.0:
                for mark in range(len(pulls)):
                    curves[kind, mark] += gap * pulls[mark, arm]


def standard_error(values: NDArray[np.float64]) -> float:
    """Of the mean of runs: 0 where they are equal up to rounding, nan for a single one.

    Examples
    --------
    >>> standard_error(np.array([1.0, 3.0])), standard_error(np.full(3, 0.1)), standard_error(np.ones(1))
    (1.0, 0.0, nan)
    """
    if len(values) < 2:
        return math.nan
    return 0.0 if np.ptp(values) <= 1e-12 * abs(values).max() else float(values.std(ddof=1)) / math.sqrt(len(values))
