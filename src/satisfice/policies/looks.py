"""Looks at arms that are passed over: how often, so that a change is found out at a bounded price. Plain code.

An arm that nobody plays may have changed. A look at it is a test: of the mean that it had against the one at which the
choice would change (`turning_point`), which goes on as long as its rewards speak for the change. While nothing has
changed, its evidence falls by `kl` nats per pull, and it is over with a reward that takes away `step` nats: with the
first one, or from some level between 0 and `step`, so that it takes about `step (1 + q) / 2 kl` pulls (Wald's identity;
`q`: how often a reward speaks against the change). So a look has the price `p`, that many times what a pull of the arm
loses now. With `n` pulls between two looks, looking costs `p / n` per pull, and a change that would save, or is losing,
`b` per pull goes unnoticed for `n / 2` pulls. For `changes` changes in `T` pulls, spread over the arms, the sum of both
is least where `n = sqrt(p / b) sqrt(2 T arms / changes)`. Without a horizon `T` is four times the pulls so far, which
spends as much up to any time as the horizon would have.

And looks are so rare at least that all of them are expected to cost no more in `T` pulls than `B = FREE + SHARE x what
all else has cost`, for each of the `changes`: less than a fifth of what a study loses anyway, with 100 added. Among the
arms that is spent where it finds out most, at `n = sqrt(p / b) T (sum of sqrt(p b)) / B`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.contract import Problem
from satisfice.policies.kin import turning_point
from satisfice.policies.leader import bar_of
from satisfice.statistics import kl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = 1 << 60
# Looks are at least so far apart.
NEAREST = 10.0
# After an alarm what is known of other arms counts as so many rewards at most: where one has changed, others may have.
RECALL = 50
# What looks may cost in all, in units of reward, and that as a share of what all else has cost, for each of the changes
# that are to be expected: so that a world in which nothing changes costs at most 1.2 times as much, with 100 added, and
# there is room for looks that cost more than is expected of them.
FREE, SHARE = 20.0, 0.15


def means_of(pulls: Ints, totals: Floats) -> Floats:
    """Means with two more rewards of 1/2 counted in.

    Examples
    --------
    >>> means_of(np.array([0, 8]), np.array([0.0, 8.0])).tolist()
    [0.5, 0.9]
    """
    means = np.zeros(len(pulls))
    for k in range(len(pulls)):
        means[k] = (totals[k] + 1.0) / (pulls[k] + 2.0)
    return means


def unit_of(problem: Problem) -> float:
    """The cost that is as bad as losing one unit of reward: the largest."""
    return float(problem.costs[-1]) if problem.costs[-1] > 0.0 else 1.0


def price_of(problem: Problem, means: Floats, leader: int, k: int) -> float:
    """What a pull of arm `k` loses, in units of reward."""
    dearer = max(problem.costs[k] - problem.costs[leader], 0.0) / unit_of(problem)
    return float(max(bar_of(problem, means) - means[k], 0.0) + dearer)


def stake_of(problem: Problem, means: Floats, leader: int, k: int) -> float:
    """What a change of arm `k` that goes unnoticed may lose per pull.

    A cheaper arm that becomes good enough would save the difference. Any other arm matters only where it may set the
    threshold: by a rise, which the leader may then miss, or, if it sets it now, by a fall, after which a cheaper arm
    may be good enough.
    """
    saving = (problem.costs[leader] - problem.costs[k]) / unit_of(problem)
    if saving > 0.0:
        return float(saving)
    if not math.isnan(problem.mu0) or (problem.reference >= 0 and k != problem.reference):
        return 0.0
    scale = 1.0 - problem.alpha
    stake = max(scale - means[leader], 0.0)
    if k == problem.reference or (problem.reference < 0 and k == int(np.argmax(means))):
        bar = 0.0
        for j in range(len(means)):
            if j != k and problem.reference < 0:
                bar = max(bar, scale * means[j])
        for j in range(leader):
            if means[j] >= bar:
                return float(max(stake, (problem.costs[leader] - problem.costs[j]) / unit_of(problem)))
    return float(stake)


def goal_of(problem: Problem, means: Floats, k: int) -> float:
    """The mean of arm `k` that a look at it looks for: where the choice would change.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.policies import get_policy
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(get_policy("glr"), BestReward(0.1), [1, 4, 10], np.arange(3), 100_000, bounded=True)
    >>> round(goal_of(problem, np.array([0.5, 0.9, 0.95]), 0), 3)
    0.855
    """
    return min(max(turning_point(problem, means, k), 0.001), 0.999)


def look_price(problem: Problem, means: Floats, leader: int, k: int) -> float:
    """What a look at arm `k` is expected to lose while nothing has changed, in units of reward.

    Examples
    --------
    A pull of the first arm loses 0.355. A look for 0.855 is over after 2.2 pulls:

    >>> from satisfice import BestReward
    >>> from satisfice.policies import get_policy
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(get_policy("glr"), BestReward(0.1), [1, 4, 10], np.arange(3), 100_000, bounded=True)
    >>> round(look_price(problem, np.array([0.5, 0.9, 0.95]), 1, 0), 2)
    0.94
    """
    m, goal = means[k], goal_of(problem, means, k)
    against = 1.0 - m if goal > m else m
    step = math.log((1.0 - m) / (1.0 - goal)) if goal > m else math.log(m / goal)
    pulls = max(0.5 * (1.0 + against) * step / max(kl(m, goal), 1e-6), 1.0)
    return float(pulls * max(price_of(problem, means, leader, k), 0.001))


def gaps_of(problem: Problem, means: Floats, leader: int, t: int, changes: float, lost: float) -> Floats:
    """Pulls between two looks at each arm, where `lost` is what all else has cost; infinite where none is worth it.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.policies import get_policy
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(get_policy("glr"), BestReward(0.1), [1, 4, 10], np.arange(3), 100_000, bounded=True)
    >>> gaps_of(problem, np.array([0.5, 0.9, 0.95]), 1, 0, 1.0, 0.0).round().tolist()
    [4699.0, inf, inf]
    """
    arms = len(means)
    span = float(problem.horizon) if problem.horizon > 0 else 4.0 * (t + 100.0)
    stakes, prices = np.zeros(arms), np.zeros(arms)
    eyed, weight = 0, 0.0
    for k in range(arms):
        if k != leader:
            stakes[k] = stake_of(problem, means, leader, k)
            if stakes[k] > 0.0:
                prices[k] = look_price(problem, means, leader, k)
                eyed += 1
                weight += math.sqrt(prices[k] * stakes[k])
    best = math.sqrt(2.0 * span * eyed / changes)
    least = span * weight / (changes * (FREE + SHARE * lost))
    gaps = np.full(arms, math.inf)
    for k in range(arms):
        if stakes[k] > 0.0:
            gaps[k] = max(math.sqrt(prices[k] / stakes[k]) * max(best, least), NEAREST)
    return gaps


def goes_on(goal: float, pulls: float, total: float, before: float, sum_before: float) -> bool:
    """Whether a look goes on: its rewards, `pulls` with this total, speak for a mean of `goal`, however little, and not
    for the mean of those before it; and they are no more than those before it, else the sums speak for themselves.

    Examples
    --------
    Of 100 rewards 50 were successes. One more is a reason to go on, one of each is none:

    >>> goes_on(0.855, 1, 1.0, 100, 50.0), goes_on(0.855, 2, 1.0, 100, 50.0)
    (True, False)
    >>> goes_on(0.855, 3, 3.0, 2, 1.0)
    False
    """
    if pulls > before:
        return False
    m = (sum_before + 1.0) / (before + 2.0)
    return total * math.log(goal / m) + (pulls - total) * math.log((1.0 - goal) / (1.0 - m)) > 0.0
