"""What a segment borrows from its kin: the rewards of other segments, as far as segments have turned out to be alike.

The mean of an arm in a segment is believed to lie around a mean that all segments have in common, as closely as if `c`
pulls had shown it there: a Beta distribution. Which of `CLOSENESS` is `c`, is learned, segment by segment and arm by
arm: by the segment's own rewards, and by how many other segments follow how closely (an empirical Bayes mixture). The
first one stands for a segment of its own kind, whatever the others do; the last for one that is as they are.

What comes of it is put into the sums of the segment, as pulls at the mean of its kin, and the rule of a policy goes on
from these as from any other sums. So many pulls are borrowed as carry the evidence of the mixture where it matters:
with `z` the nats of one pull between the mean and where the choice would change, the mixture is sure of its side up to
`sum of p_c exp(-a_c z)`, with `a_c` pulls of the kin at closeness `c`; as sure are `-log(that) / z` pulls. So no kin,
however large, convinces a segment by more than the chance that it is of its own kind, and a look at what the kin holds
for settled stays worth its price where much depends on it. Proofs count no borrowed pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.contract import Problem
from satisfice.policies.leader import right_arm
from satisfice.statistics import kl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLOSENESS = np.array([2.0, 8.0, 32.0, 128.0, 512.0, 2048.0, 1e9])
# As if so many segments of each closeness had been seen before.
PRIOR = np.array([0.1, 0.05, 0.05, 0.05, 0.05, 0.1, 0.6])
# The nats of one pull count as so many at least: where a choice hangs on little, the mixture itself is no surer.
NEAR = 0.01
# A lease on borrowed pulls is no longer than this share of the segment's own: its own rewards are soon looked at.
OWN = 0.125
# What a segment finds out is news to the others by half when the arm that is known least has so many pulls in all.
NEWS = 20.0


class Kin(NamedTuple):
    """The sums of all segments, and how closely each follows the others, arm by arm."""

    pulls: Floats  # (segments, arms)
    totals: Floats  # (segments, arms)
    follows: Floats  # (segments, arms, closeness): how probable each closeness is; zeros before the first reward
    seen: Floats  # (arms, closeness): the sum of that over all segments


def new_kin(segments: int, arms: int) -> Kin:
    """Nothing is known of anybody.

    Examples
    --------
    >>> new_kin(2, 3).follows.shape
    (2, 3, 7)
    """
    sums, levels = np.zeros((2, segments, arms)), len(CLOSENESS)
    return Kin(sums[0], sums[1], np.zeros((segments, arms, levels)), np.zeros((arms, levels)))


def log_beta(a: float, b: float) -> float:
    """Logarithm of the beta function.

    Examples
    --------
    >>> round(math.exp(log_beta(2.0, 3.0)), 6)
    0.083333
    """
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def follow(kin: Kin, segment: int, arm: int, weight: Floats, mean: Floats, count: Floats) -> None:
    """Bring up to date how closely a segment follows with an arm. Fills in the probability of every closeness, and
    the pulls with which the kin speaks then, and their mean.

    Examples
    --------
    Nine segments of 20 pulls have the same mean, and the tenth has none like it:

    >>> kin = new_kin(10, 1)
    >>> kin.pulls[:], kin.totals[:] = 20.0, np.array([[18.0]] * 9 + [[2.0]])
    >>> weight, mean, count = np.zeros((3, len(CLOSENESS)))
    >>> for segment in range(10):
    ...     follow(kin, segment, 0, weight, mean, count)
    >>> bool(kin.follows[0, 0, 0] < 0.1), bool(kin.follows[9, 0, 0] > 0.8)
    (True, True)
    """
    n, total = kin.pulls[segment, arm], kin.totals[segment, arm]
    pulls, totals, near = kin.pulls[:, arm], kin.totals[:, arm], 1.0 - kin.follows[:, arm, 0]
    follows, seen = kin.follows[segment, arm], kin.seen[arm]
    best = -math.inf
    for g in range(len(CLOSENESS)):
        mean[g], count[g] = 0.5, CLOSENESS[0]
        if g > 0:
            # What the others say about the mean that all have in common, if they follow it that closely: each speaks
            # with n c / (n + c) pulls.
            c = CLOSENESS[g]
            shares = near * (c / (pulls + c))
            size = 2.0 + (shares * pulls).sum() - shares[segment] * n
            mean[g] = (1.0 + (shares * totals).sum() - shares[segment] * total) / size
            count[g] = c * size / (c + size)
        weight[g] = math.log(PRIOR[g] + max(seen[g] - follows[g], 0.0))
        if n > 0.0:
            a, b = mean[g] * count[g], (1.0 - mean[g]) * count[g]
            weight[g] += log_beta(a + total, b + max(n - total, 0.0)) - log_beta(a, b)
        best = max(best, weight[g])
    norm = 0.0
    for g in range(len(CLOSENESS)):
        weight[g] = math.exp(weight[g] - best)
        norm += weight[g]
    for g in range(len(CLOSENESS)):
        weight[g] /= norm
        if n > 0.0:
            seen[g] += weight[g] - follows[g]
            follows[g] = weight[g]


def turning_point(problem: Problem, means: Floats, k: int) -> float:
    """The mean of arm `k` at which the choice would change, by what is believed of all arms.

    Examples
    --------
    >>> from satisfice import GLR, BestReward
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(GLR(), BestReward(0.1), [1.0, 2.0, 3.0], np.arange(3), None, bounded=True)
    >>> [round(turning_point(problem, np.array([0.5, 0.83, 0.9]), k), 3) for k in range(3)]
    [0.81, 0.81, 0.922]
    """
    if not math.isnan(problem.mu0):
        return problem.mu0
    scale = 1.0 - problem.alpha
    top = problem.reference if problem.reference >= 0 else int(np.argmax(means))
    lead = right_arm(problem, means)
    if k > lead:  # so good that the leader is not good enough
        return float(min(means[lead] / scale, 1.0))
    if k == top:  # so bad that a cheaper one is good enough
        cheaper = 0.0
        for j in range(top):
            cheaper = max(cheaper, means[j] / scale)
        if cheaper > 0.0:
            return float(min(cheaper, 1.0))
    return float(scale * means[top])


def borrow(kin: Kin, segment: int, problem: Problem, order: Ints, pulls: Ints, totals: Floats) -> None:
    """Fill in how many pulls of every arm a segment borrows, and their totals, in the order of the rule.

    Examples
    --------
    Three segments have seen the same of two arms, and the fourth nothing:

    >>> from satisfice import GLR, BestReward
    >>> from satisfice.policies.contract import make_problem
    >>> problem = make_problem(GLR(), BestReward(0.1), [1.0, 2.0], np.arange(2), None, bounded=True)
    >>> kin = new_kin(4, 2)
    >>> kin.pulls[:3], kin.totals[:3] = 40.0, [20.0, 36.0]
    >>> pulls, totals = np.zeros(2, dtype=np.int64), np.zeros(2)
    >>> borrow(kin, 3, problem, np.arange(2), pulls, totals)
    >>> pulls.tolist(), (totals / pulls).round(2).tolist()
    ([11, 6], [0.5, 0.89])
    """
    arms, levels = len(order), len(CLOSENESS)
    weight, mean, count = np.zeros((arms, levels)), np.zeros((arms, levels)), np.zeros((arms, levels))
    means, around = np.zeros(arms), 1.0
    for s in range(len(kin.pulls)):
        around += 1.0 if kin.pulls[s].sum() > 0.0 else 0.0
    for k in range(arms):
        follow(kin, segment, order[k], weight[k], mean[k], count[k])
        n, total = kin.pulls[segment, order[k]], kin.totals[segment, order[k]]
        means[k] = (weight[k] * (total + count[k] * mean[k]) / (n + count[k])).sum()
    for k in range(arms):
        size = (weight[k] * count[k]).sum()
        middle = (weight[k] * count[k] * mean[k]).sum() / size
        nats = max(min(kl(middle, turning_point(problem, means, k)), 700.0), NEAR)
        doubt = weight[k, 0]
        for g in range(1, levels):
            doubt += weight[k, g] * math.exp(-min(count[k, g] * nats, 700.0))
        lent = min(-math.log(max(doubt, 1e-300)) / nats, size)
        # A few pulls that all segments borrow would keep every one of them from finding out more, for itself and the
        # others: while there are fewer than segments, they count for less.
        lent *= min(kin.pulls[:, order[k]].sum() / around, 1.0)
        # The rule itself counts two pulls that nobody has seen.
        pulls[k] = max(int(lent - 1.5), 0)
        totals[k] = pulls[k] * middle


def audience(kin: Kin, segment: int, order: Ints) -> float:
    """The pulls of other segments that the next rewards of a segment may serve, too; `order` has the arms to choose of.

    Without a horizon a rule plans for as many pulls as there were so far. A segment plans for its own, and for those of
    the others as far as what it finds out is news to them: at the beginning the first look at an arm serves them all,
    and none of them alone has the traffic to pay for it.

    Examples
    --------
    >>> kin = new_kin(3, 2)
    >>> kin.pulls[1] = [100.0, 0.0]
    >>> float(audience(kin, 0, np.arange(2)))
    100.0
    >>> kin.pulls[1] = [100.0, 20.0]
    >>> [float(audience(kin, segment, np.arange(2))) for segment in range(2)]
    [60.0, 0.0]
    """
    others, least = 0.0, math.inf
    for k in order:
        pulls = kin.pulls[:, k].sum()
        others += pulls - kin.pulls[segment, k]
        least = min(least, pulls)
    return others * NEWS / (NEWS + least)


def longest(t: int) -> int:
    """The longest lease of a segment with `t` rewards of its own.

    Examples
    --------
    >>> longest(0), longest(80)
    (1, 11)
    """
    return 1 + int(OWN * t)
