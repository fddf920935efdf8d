"""The cheapest pulls that rule out every alternative: the program of Graves and Lai, as plain functions on numbers.

`bounds.program` solves it for an instance, of either family; the policy `graves-lai` solves it, compiled, for the means
that it has seen so far. The alternatives are infinitely many, so that it is done by cutting planes: solve with the
constraints so far, find the alternatives that are ruled out least, add them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satisfice.statistics import kl

Floats = NDArray[np.float64]

# `cheapest` answers with at most this much more, relatively, than the least regret.
PRECISION = 1e-6
# So often it looks for alternatives at most; about 10 times do for 20 arms.
ROUNDS = 100
# Nats of a pull that are counted at least, for means that are on the threshold but for rounding.
SOME = 1e-9
# More steps than this the simplex method never takes, unless rounding leads it astray.
STEPS = 5_000


def cover(prices: Floats, needs: Floats) -> Floats:
    """The cheapest `n >= 0` with `needs @ n >= 1`, for prices above 0 and needs of at least 0.

    The simplex method on the dual program, `max sum of y` with `needs' y <= prices`, in which `y = 0` is feasible;
    the answer is the reduced costs of its slack variables. Rows and columns are scaled to a largest entry of 1,
    and Bland's rule keeps it from cycling.

    Examples
    --------
    >>> cover(np.array([1.0, 3.0]), np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()  # n_1 + n_2 >= 1, 2 n_2 >= 1
    [0.5, 0.5]
    """
    rows, arms = needs.shape
    table = np.zeros((arms + 1, rows + arms + 1))
    for r in range(rows):
        scale = 0.0
        for k in range(arms):
            scale = max(scale, needs[r, k] / prices[k])
        for k in range(arms):
            table[k, r] = needs[r, k] / prices[k] / scale
        table[arms, r] = -1.0 / scale
    basis = np.zeros(arms, dtype=np.int64)  # the variable of every row
    for k in range(arms):
        table[k, rows + k] = 1.0
        table[k, rows + arms] = 1.0
        basis[k] = rows + k
    for _ in range(STEPS):
        least = 0.0
        for c in range(rows + arms + 1):
            least = max(least, abs(table[arms, c]))
        least *= -1e-12
        entering = 0
        while entering < rows + arms and table[arms, entering] >= least:
            entering += 1
        if entering == rows + arms:
            break
        smallest = math.inf
        for k in range(arms):
            if table[k, entering] > 1e-12:
                smallest = min(smallest, table[k, rows + arms] / table[k, entering])
        leaving = -1
        for k in range(arms):
            tied = table[k, entering] > 1e-12 and table[k, rows + arms] / table[k, entering] <= smallest * (1 + 1e-12)
            if tied and (leaving < 0 or basis[k] < basis[leaving]):
                leaving = k
        basis[leaving] = entering
        table[leaving] /= table[leaving, entering]
        for k in range(arms + 1):
            if k != leaving and table[k, entering] != 0.0:
                table[k] -= table[k, entering] * table[leaving]
    answer = np.zeros(arms)
    for k in range(arms):
        answer[k] = table[arms, rows + k] / prices[k]
    for r in range(rows):  # one that takes so little, compared with others, that it was lost in rounding
        met, best = 0.0, 0
        for k in range(arms):
            met += needs[r, k] * answer[k]
            if needs[r, k] * prices[best] > needs[r, best] * prices[k]:
                best = k
        if met < 1.0 - SOME:
            answer[best] += (1.0 - met) / needs[r, best]
    return answer


def rising(p: float, q: float) -> float:
    """Derivative of `kl(p, q)` with respect to `q`."""
    return (q - p) / (q * (1.0 - q))


def hardest(pulls: Floats, means: Floats, i: int, lowered: NDArray[np.bool_], low: float, scale: float) -> float:
    """The `x` of at least `low` at which `n_i kl(m_i, scale x) + sum of n_j kl(m_j, x)` is smallest.

    The sum is over the `lowered` arms with means above `x`; it falls with `x` and the other term grows, both convex.

    Examples
    --------
    >>> means, others = np.array([0.5, 0.9]), np.array([False, True])
    >>> x = hardest(np.array([10.0, 30.0]), means, 0, others, low=0.5, scale=1.0)
    >>> round(float(x), 6)  # the mean of all 40 rewards
    0.8
    """
    high = low
    for j in range(len(means)):
        if lowered[j]:
            high = max(high, means[j])
    if high == low:
        return low
    for _ in range(60):
        x = 0.5 * (low + high)
        slope = pulls[i] * scale * max(rising(means[i], scale * x), 0.0)
        for j in range(len(means)):
            if lowered[j] and means[j] > x:
                slope += pulls[j] * rising(means[j], x)
        if slope > 0.0:
            high = x
        else:
            low = x
    return high


def cheapest(means: Floats, prices: Floats, leader: int, scale: float, reference: int = -1) -> Floats:
    """Pulls of every arm per nat, at the least price, that tell `leader` from every other right arm (Bernoulli).

    Arms are in ascending order of cost, with means within (0, 1); `leader` is the first arm whose mean is at least
    `scale` times the largest (or that of arm `reference`). Its own pulls are free, and 0 in the answer. For an
    alternative in which it is not the right arm, the sum of `n_k kl(m_k, lambda_k)` over the others is at least 1:

    - arm `j` is so good that the leader misses: `n_j kl(m_j, m_leader / scale) >= 1`, where that is less than 1;
    - a cheaper arm `i` is good enough after all: `n_i kl(m_i, scale x) + sum of n_j kl(m_j, x) >= 1` for every `x`,
      over the arms above `x`, none of which may be the leader.

    Parameters
    ----------
    means, prices : array
        Means, and the regret of one pull; above 0 for all but the leader.
    leader : int
        The right arm by these means.
    scale : float
        `1 - alpha`, above 0.
    reference : int
        The known reference arm; -1: the best one sets the threshold.

    Examples
    --------
    >>> means, prices = np.array([0.3, 0.7]), np.array([0.4, 0.0])
    >>> cheapest(means, prices, leader=1, scale=1.0).round(6).tolist()  # 1 / kl(0.3, 0.7)
    [2.950556, 0.0]
    """
    arms = len(means)
    answer = np.zeros(arms)
    judges = np.zeros(arms, dtype=np.bool_)
    for j in range(arms):
        judges[j] = j != leader and (reference < 0 or j == reference)
    sets = reference < 0 or reference == leader  # whether the leader's own mean takes part in the threshold
    others = np.zeros(arms - 1)  # the prices of all arms but the leader, which has no column
    for k in range(arms - 1):
        others[k] = prices[k if k < leader else k + 1]
    cuts = np.zeros((ROUNDS * arms + arms, arms - 1))
    rows = 0
    above = means[leader] / scale
    for j in range(arms):
        if judges[j] and above < 1.0:
            cuts[rows, j if j < leader else j - 1] = max(kl(means[j], above), SOME)
            rows += 1
    for turn in range(ROUNDS + 1):
        if rows > 0:
            found = cover(others, cuts[:rows])
            for k in range(arms - 1):
                answer[k if k < leader else k + 1] = found[k]
        least = 1.0
        for i in range(leader):
            floor = max(means[leader] if sets else 0.0, means[i] / scale)
            was, judges[i] = judges[i], False
            x = hardest(answer, means, i, judges, floor, scale)
            ruled_out = 0.0
            for k in range(arms):
                nats = 0.0
                if k == i:
                    nats = max(kl(means[i], max(means[i], scale * x)), SOME)
                elif judges[k] and means[k] > x:
                    nats = kl(means[k], x)
                ruled_out += answer[k] * nats
                if k != leader:
                    cuts[rows, k if k < leader else k - 1] = nats
            judges[i] = was
            if ruled_out < 1.0 - PRECISION and turn < ROUNDS:
                rows += 1
            least = min(least, ruled_out)
        if least >= 1.0 - PRECISION:
            break
    for k in range(arms):
        answer[k] /= max(least, SOME)
    return answer
