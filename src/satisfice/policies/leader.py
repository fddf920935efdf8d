"""Who would be chosen, were these the true means. Plain code on what a rule knows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.contract import Problem

Floats = NDArray[np.float64]


def bar_of(problem: Problem, means: Floats) -> float:
    """The threshold by these means.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.policies import get_policy
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(get_policy("glr"), BestReward(0.1), [1, 4, 10], np.arange(3), None, bounded=True)
    >>> bar_of(problem, np.array([0.5, 0.8, 1.0]))
    0.9
    """
    if not math.isnan(problem.mu0):
        return float(problem.mu0)
    if problem.reference >= 0:
        return float((1.0 - problem.alpha) * means[problem.reference])
    return float((1.0 - problem.alpha) * means.max())


def right_arm(problem: Problem, means: Floats) -> int:
    """The cheapest arm whose mean reaches the threshold; -1: none does.

    Examples
    --------
    >>> from satisfice import FixedThreshold
    >>> from satisfice.policies import get_policy
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(get_policy("glr"), FixedThreshold(0.8), [1, 4], np.arange(2), None, bounded=True)
    >>> right_arm(problem, np.array([0.5, 0.9])), right_arm(problem, np.array([0.5, 0.7]))
    (1, -1)
    """
    bar = bar_of(problem, means)
    for k in range(len(means)):
        if means[k] >= bar:
            return k
    return -1


def leader_of(problem: Problem, means: Floats) -> int:
    """The cheapest arm whose mean reaches the threshold, or the one with the largest mean."""
    arm = right_arm(problem, means)
    return arm if arm >= 0 else int(np.argmax(means))
