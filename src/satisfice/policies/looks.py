"""Looks at arms that are passed over: how often, so that a change is found out at a bounded price. Plain code.

An arm that nobody plays may have changed. With `n` pulls between two looks at it, looking costs `p / n` per pull, where
`p` is what a pull of it loses now; a change that would save, or is losing, `b` per pull goes unnoticed for some looks,
and costs in proportion to `n b`. For `changes` changes in `T` pulls, spread over the arms, the sum of both is least
where `n = sqrt(p T arms / (EAGER changes b))`. Without a horizon `T` is four times the pulls so far, which spends as
much up to any time as the horizon would have. And looks are so rare at least that they cost no more in `T` pulls than
`FREE` and a share of what all else has cost.

When a look is a surprise, the next one follows at once, as long as the bets on a change that matters stand above
`SURPRISE` nats (`satisfice.changes.nats`), and above `SURE` nats where looks have cost all that they may. So a change
costs some looks that are far between, and then some in a row.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satisfice.changes import Watch, nats
from satisfice.policies.contract import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = 1 << 60
EAGER = 2.0
SURPRISE, SURE = 1.5, 4.0
# Looks are at least so far apart, unless one was a surprise.
NEAREST = 40.0
# What looks may cost in all, in units of reward, and that as a share of what all else has cost.
FREE, SHARE = 60.0, 0.1


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


def bar_of(problem: Problem, means: Floats) -> float:
    """The threshold by these means."""
    if not math.isnan(problem.mu0):
        return float(problem.mu0)
    if problem.reference >= 0:
        return float((1.0 - problem.alpha) * means[problem.reference])
    return float((1.0 - problem.alpha) * means.max())


def leader_of(problem: Problem, means: Floats) -> int:
    """The cheapest arm whose mean reaches the threshold, or the one with the largest mean."""
    bar = bar_of(problem, means)
    for k in range(len(means)):
        if means[k] >= bar:
            return k
    return int(np.argmax(means))


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


def gaps_of(problem: Problem, means: Floats, leader: int, t: int, changes: float, lost: float) -> Floats:
    """Pulls between two looks at each arm, where `lost` is what all else has cost; infinite where none is worth it.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.policies import get_policy
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(get_policy("glr"), BestReward(0.1), [1, 4, 10], np.arange(3), 100_000, bounded=True)
    >>> gaps_of(problem, np.array([0.5, 0.9, 0.95]), 1, 0, 1.0, 0.0).round().tolist()
    [592.0, inf, inf]
    """
    arms = len(means)
    span = float(problem.horizon) if problem.horizon > 0 else 4.0 * (t + 100.0)
    stakes = np.zeros(arms)
    eyed = 0
    for k in range(arms):
        if k != leader:
            stakes[k] = stake_of(problem, means, leader, k)
            eyed += stakes[k] > 0.0
    gaps = np.full(arms, math.inf)
    for k in range(arms):
        if stakes[k] > 0.0:
            price = max(price_of(problem, means, leader, k), 0.01)
            best = math.sqrt(price * span * eyed / (EAGER * changes * stakes[k]))
            gaps[k] = max(best, price * span * eyed / (FREE + SHARE * lost), NEAREST)
    return gaps


def affordable(spent: float, lost: float) -> bool:
    """Whether looks that have cost so much may cost more, where all else has cost `lost`."""
    return spent <= FREE + SHARE * lost


def surprised(problem: Problem, means: Floats, leader: int, k: int, memory: Watch, rich: bool) -> bool:
    """Whether the last looks at arm `k` speak for a change that matters."""
    enough = SURPRISE if rich else SURE
    bar, mean = bar_of(problem, means), means[k]
    if problem.costs[k] < problem.costs[leader] and mean < bar:
        top = min(bar, 0.999)
        need = math.log(top / (1.0 - top)) - math.log(mean / (1.0 - mean))
        return nats(memory, True, 0.5 * need) > enough
    return max(nats(memory, True, 0.8), nats(memory, False, 0.8)) > enough
