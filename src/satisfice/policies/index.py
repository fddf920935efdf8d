"""What the index policies share: confidence bounds, and how far a choice is safe.

An index policy plays the cheapest arm of a feasible set. While it plays one arm, only that arm's index
moves; a lease is the largest number of pulls for which no sequence of rewards within [0, 1] can lower the
index below the level at which the choice would change. The worst case is that every reward is zero.
"""

from __future__ import annotations

import math

from satisfice.policies.contract import Problem, State

# Levels are raised by this factor before a leap is computed, so that rounding never makes one too long.
CAUTION = 1 + 1e-9


def upper(pulls: int, total: float, width: float) -> float:
    """`min(mean + width / sqrt(n), 1)`."""
    return min(total / pulls + width / math.sqrt(pulls), 1.0)


def lower(pulls: int, total: float, width: float) -> float:
    """`max(mean - width / sqrt(n), 0)`."""
    return max(total / pulls - width / math.sqrt(pulls), 0.0)


def cheapest(problem: Problem, state: State, width: float, level: float) -> tuple[int, float, float]:
    """The cheapest arm whose upper bound reaches `level`, among equal costs the one with the larger bound; -1 if none.

    Also the largest upper bound of the arms before it, which do not reach the level, and of the others of its cost.
    """
    chosen = -1
    best = cheaper = tied = -math.inf
    for k in range(len(problem.costs)):
        if chosen >= 0 and problem.costs[k] > problem.costs[chosen]:
            break
        index = upper(state.pulls[k], state.totals[k], width)
        if index >= level and index > best:
            tied = max(tied, best)
            chosen, best = k, index
        elif chosen >= 0:
            tied = max(tied, index)
        else:
            cheaper = max(cheaper, index)
    return chosen, cheaper, tied


def safe_upper(pulls: int, total: float, width: float, level: float) -> int:
    """Pulls for which `mean + width / sqrt(n)` stays at least `level` before each, whatever the rewards.

    With zeros only, `total / N + width / sqrt(N) >= level` up to the `N` whose `1 / sqrt(N)` solves the
    quadratic equation `total x^2 + width x = level`.
    """
    level *= CAUTION
    if level <= 0.0:
        return 1 << 62
    root = 2 * level / (width + math.sqrt(width * width + 4 * total * level))
    if root < 1e-9:
        return 1 << 62
    return max(int(1.0 / (root * root)) - pulls + 1, 1)


def safe_lower(pulls: int, total: float, width: float, level: float) -> int:
    """Pulls for which `mean - width / sqrt(n)` stays above `level` before each, whatever the rewards.

    With zeros only, `total / N - width / sqrt(N) > level` up to the `N` whose `1 / sqrt(N)` solves
    `total x^2 - width x = level`: the left side falls in `N` as long as it is positive.
    """
    level *= CAUTION
    if level <= 0.0 or total <= 0.0:
        return 1
    root = (width + math.sqrt(width * width + 4 * total * level)) / (2 * total)
    return max(int(1.0 / (root * root)) - pulls + 1, 1)
