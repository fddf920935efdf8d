"""What the rewards of two arms say of each other: the sums, ready to be tested, and the nats of every comparison.

Plain functions on arrays; the GLR policy calls them compiled. What follows for all arms together is in
`satisfice.proofs`. Arms are in ascending order of cost, a known reference arm last. The number of arms, as the opponent
of an arm, stands for the fixed threshold.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.statistics import evidence, kl, meeting, penalty, settled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Case(NamedTuple):
    """What was seen of every arm, ready to be tested, and what they are tested against."""

    costs: Floats  # (arms,)
    weights: Floats  # (arms,) pulls, as far as they count when one may look at any time
    means: Floats  # (arms,) mean reward; 0 before the first
    penalties: Floats  # (arms,) nats that looking at any time costs
    highs: Floats  # (arms,) mean reward if every reward that is still to come were 1; `means` has them as 0
    high_penalties: Floats  # (arms,)
    scale: float  # 1 - alpha
    reference: int  # the known reference arm; -1: none
    mu0: float  # the fixed threshold; nan: none
    sigma: float  # standard deviation of Gaussian rewards; 0: rewards lie within [0, 1]


def make_case(
    costs: Floats,
    pulls: Ints,
    totals: Floats,
    scale: float,
    reference: int = -1,
    mu0: float = math.nan,
    sigma: float = 0.0,
    pending: Ints | None = None,
) -> Case:
    """The case of these sums: pulls and total reward of every arm.

    `pending`: pulls whose rewards, within [0, 1], are still to come. They count as whatever speaks least for what is
    to be proved, so that it holds whichever rewards are late or never come: what is proved with the worst of them is
    proved.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([100, 0]), np.array([50.0, 0.0]), scale=0.9)
    >>> case.means.tolist(), [round(nats, 3) for nats in case.penalties.tolist()]
    ([0.5, 0.0], [2.531, 0.0])
    """
    arms = len(costs)
    weights, means, penalties = np.zeros(arms), np.zeros(arms), np.zeros(arms)
    highs, high_penalties = means, penalties
    for k in range(arms):
        n = float(pulls[k])
        if pending is not None:
            n += float(pending[k])
        m = float(totals[k]) / max(n, 1.0)
        weights[k], means[k], penalties[k] = settled(n, sigma), m, penalty(n, m, sigma)
    if pending is not None:
        highs, high_penalties = np.zeros(arms), np.zeros(arms)
        for k in range(arms):
            n = float(pulls[k]) + float(pending[k])
            m = (float(totals[k]) + float(pending[k])) / max(n, 1.0)
            highs[k], high_penalties[k] = m, penalty(n, m, sigma)
    return Case(costs, weights, means, penalties, highs, high_penalties, scale, reference, mu0, sigma)


def opponents(case: Case) -> tuple[int, int]:
    """The range of opponents that may prove an arm infeasible; the number of arms stands for the fixed threshold.

    Examples
    --------
    >>> nothing = np.zeros(3)
    >>> opponents(make_case(nothing, nothing, nothing, scale=0.9))
    (0, 3)
    >>> opponents(make_case(nothing, nothing, nothing, scale=0.9, reference=2))
    (2, 3)
    >>> opponents(make_case(nothing, nothing, nothing, scale=1.0, mu0=0.5))
    (3, 4)
    """
    return opposing(len(case.costs), case.scale, case.reference, case.mu0, case.sigma)


def opposing(arms: int, scale: float, reference: int, mu0: float, sigma: float) -> tuple[int, int]:
    """`opponents`, from plain numbers.

    Examples
    --------
    >>> opposing(3, 0.9, -1, math.nan, 0.0), opposing(3, 1.0, -1, 0.0, 0.0)  # nobody misses a threshold of 0
    ((0, 3), (0, 0))
    """
    if sigma <= 0.0 and (scale == 0.0 or mu0 <= 0.0):
        return 0, 0  # every mean reaches a threshold of 0
    if reference >= 0:
        return reference, reference + 1
    return (0, arms) if math.isnan(mu0) else (arms, arms + 1)


def against(case: Case, i: int, j: int) -> float:
    """Nats, valid at any time, that speak against arm `i` (above 0: infeasible by opponent `j`) or for it (below 0).

    With probability at least `1 - d` they never exceed `log(1 / d)` in favour of the wrong side: this is the log of the
    mixture martingale of both arms, at its smallest over the wrong side.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([100, 100]), np.array([50.0, 90.0]), scale=0.9)
    >>> round(against(case, 0, 1), 3)
    8.673
    >>> round(against(case, 1, 0), 3)
    -22.626
    """
    n_i, low, high = float(case.weights[i]), float(case.means[i]), float(case.highs[i])
    if j == len(case.costs):
        if n_i <= 0.0:
            return 0.0
        if high < case.mu0:
            return max(n_i * kl(high, case.mu0, case.sigma) - float(case.high_penalties[i]), 0.0)
        if low >= case.mu0:
            return -max(n_i * kl(low, case.mu0, case.sigma) - float(case.penalties[i]), 0.0)
        return 0.0
    n_j, least, most = float(case.weights[j]), float(case.means[j]), float(case.highs[j])
    if high < case.scale * least:
        lost = float(case.high_penalties[i]) + float(case.penalties[j])
        return max(evidence(n_i, high, n_j, least, case.scale, case.sigma) - lost, 0.0)
    if low >= case.scale * most:
        lost = float(case.penalties[i]) + float(case.high_penalties[j])
        return -max(evidence(n_i, low, n_j, most, case.scale, case.sigma) - lost, 0.0)
    return 0.0


def pair(n_i: float, total_i: float, n_j: float, total_j: float, scale: float, sigma: float = 0.0) -> float:
    """`against` for two arms, from plain numbers: pulls and total reward of each.

    Examples
    --------
    >>> round(pair(100, 50, 100, 90, scale=0.9), 3)
    8.673
    """
    return against(make_case(np.zeros(2), np.array([n_i, n_j]), np.array([total_i, total_j]), scale, sigma=sigma), 0, 1)


def fixed(n: float, total: float, mu0: float, sigma: float = 0.0) -> float:
    """`against` for one arm and a fixed threshold, from plain numbers.

    Examples
    --------
    >>> round(fixed(4, 20, mu0=6, sigma=1.0), 6)  # 4^2 / (4 + 1) pulls count: 3.2 / 2 - log(5) / 2
    0.795281
    """
    return against(make_case(np.zeros(1), np.array([n]), np.array([total]), 1.0, -1, mu0, sigma), 0, 1)


def nat_price(case: Case, i: int, j: int, prices: Floats, played: int) -> tuple[float, int]:
    """The price of one more nat about the pair, and the arm that sells it: not the one that is `played` if the other
    can; an arm without pulls sells first."""
    m_i = float(case.means[i])
    if j == len(case.costs):
        return float(prices[i]) / max(kl(m_i, case.mu0, case.sigma), 1e-9), i
    n_i, n_j, m_j = float(case.weights[i]), float(case.weights[j]), float(case.means[j])
    if n_i <= 0.0 or n_j <= 0.0:
        empty = i if n_i <= 0.0 else j
        return float(prices[empty]), empty
    x = meeting(n_i, m_i, n_j, m_j, case.scale, case.sigma)
    own = float(prices[i]) / max(kl(m_i, case.scale * x, case.sigma), 1e-9)
    other = float(prices[j]) / max(kl(m_j, x, case.sigma), 1e-9)
    return (own, i) if j == played or (i != played and own <= other) else (other, j)
