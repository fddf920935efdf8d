"""What the rewards of two arms say of each other: the sums, ready to be tested, and the nats of every comparison.

Plain functions on arrays; the GLR policy calls them compiled. What follows for all arms together is in
`satisfice.proofs`. Arms are in ascending order of cost, a known reference arm last. The number of arms, as the opponent
of an arm, stands for the fixed threshold.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.between import between, crossing, rate, stretched
from satisfice.statistics import evidence, kl, meeting, penalty, weight_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Case(NamedTuple):
    """What was seen of every arm, ready to be tested, and what they are tested against."""

    costs: Floats  # (arms,)
    weights: Floats  # (arms,) pulls, as far as they count when one may look at any time
    means: Floats  # (arms,) mean reward; 0 before the first
    penalties: Floats  # (arms,) nats that looking at any time costs
    highs: Floats  # (arms,) mean reward if every reward that is still to come were 1; `means` has them as 0
    between: Floats  # (arms,) mean of X (1 - X): 0 where every reward is 0 or 1, or what they were is not known
    rated: bool  # whether that is above 0 for any arm
    scale: float  # 1 - alpha
    reference: int  # the known reference arm; -1: none
    mu0: float  # the fixed threshold; nan: none
    sigma: float  # standard deviation of Gaussian rewards; 0: rewards lie within [0, 1]


ARRAYS = 6  # so many of the fields are of every arm


def make_case(
    costs: Floats,
    pulls: Ints,
    totals: Floats,
    scale: float,
    reference: int = -1,
    mu0: float = math.nan,
    sigma: float = 0.0,
    pending: Ints | None = None,
    squares: Floats | None = None,
) -> Case:
    """The case of these sums: pulls and total reward of every arm.

    `pending`: pulls whose rewards, within [0, 1], are still to come. They count as whatever speaks least for what is
    to be proved, so that it holds whichever rewards are late or never come: what is proved with the worst of them is
    proved. `squares`: the sums of the squares of the rewards; without them, rewards within [0, 1] count as coin flips.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([100, 0]), np.array([50.0, 0.0]), scale=0.9)
    >>> case.means.tolist(), [round(nats, 3) for nats in case.penalties.tolist()]
    ([0.5, 0.0], [2.531, 0.0])
    """
    arms = len(costs)
    weights, means, penalties, spread = np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    highs = means if pending is None else np.zeros(arms)
    rated = False
    for k in range(arms):
        total = float(totals[k])
        known = total if squares is None else float(squares[k])
        late = 0.0 if pending is None else float(pending[k])
        weights[k], means[k], penalties[k], high, spread[k] = measure(float(pulls[k]), total, known, late, sigma)
        highs[k] = high
        rated = rated or spread[k] > 0.0
    return Case(costs, weights, means, penalties, highs, spread, rated, scale, reference, mu0, sigma)


def measure(
    n: float, total: float, squares: float, late: float, sigma: float
) -> tuple[float, float, float, float, float]:
    """What a case has of one arm: weight, mean, penalty, high, between."""
    d = between(n, total, squares) if sigma <= 0.0 and squares < total else 0.0
    if late <= 0.0:
        m = total / max(n, 1.0)
        return weight_of(n, sigma), m, penalty(n, m, sigma), m, d
    all_ = n + late
    m, high = total / max(all_, 1.0), (total + late) / all_
    return weight_of(all_, sigma), m, due(all_, m, high, sigma), high, d * (n / all_)


# Whoever looks again and again finds most arms as they were.
_measured = lru_cache(maxsize=4096)(measure)


def listed_case(
    costs: list[float],
    pulls: list[int],
    totals: list[float],
    squares: list[float],
    pending: list[int],
    terms: tuple[float, int, float],
) -> Case:
    """`make_case` for rewards within [0, 1] and code that is not compiled, in lists: see `in_lists`. `terms` are the
    scale, the reference arm and the fixed threshold.

    Examples
    --------
    >>> listed_case([1.0, 2.0], [100, 0], [50.0, 0.0], [50.0, 0.0], [0, 0], (0.9, -1, math.nan)).means
    [0.5, 0.0]
    """
    rows = [
        _measured(float(n), total, known, float(late), 0.0)
        for n, total, known, late in zip(pulls, totals, squares, pending, strict=True)
    ]
    columns: tuple[Floats, ...] = tuple(map(list, zip(*rows, strict=True)))  # type: ignore[arg-type]
    return Case(costs, *columns, max(columns[-1]) > 0.0, *terms, 0.0)  # type: ignore[call-arg,arg-type]


def in_lists(case: Case) -> Case:
    """The same case for code that is not compiled: places of arrays take it several times as long as those of lists.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([100, 0]), np.array([50.0, 0.0]), scale=0.9)
    >>> in_lists(case).means, against(in_lists(case), 0, 1) == against(case, 0, 1)
    ([0.5, 0.0], True)
    """
    if isinstance(case.means, list):
        return case
    arrays = (case.costs, case.weights, case.means, case.penalties, case.highs, case.between)
    return Case(*(array.tolist() for array in arrays), *case[ARRAYS:])


def in_arrays(case: Case) -> Case:
    """The same case for code that takes all arms at once."""
    return Case(*(np.asarray(column) for column in case[:ARRAYS]), *case[ARRAYS:])  # type: ignore[arg-type]


def due(n: float, m: float, end: float, sigma: float = 0.0) -> float:
    """What looking at any time costs at most, if the mean is between `m` and `end`: least in the middle of [0, 1].

    So, whichever rewards are still to come, `n kl(m, mu)` less this is at most what all of them will tell of a mean
    `mu` from which they can only lead away.

    Examples
    --------
    >>> due(10, 0.5, 0.9) == penalty(10, 0.9), due(10, 0.5, 0.5) == penalty(10, 0.5)
    (True, True)
    """
    nats = penalty(n, m, sigma)
    return nats if m == end else max(nats, penalty(n, end, sigma))


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
    mixture martingale of both arms, at its smallest over the wrong side, or a lower bound of it.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([100, 100]), np.array([50.0, 90.0]), scale=0.9)
    >>> round(against(case, 0, 1), 3)
    8.673
    >>> round(against(case, 1, 0), 3)
    -22.626
    """
    low, high = float(case.means[i]), float(case.highs[i])
    if j == len(case.costs):
        if high < case.mu0:
            return max(_alone(case, i, high, low), 0.0)
        if low >= case.mu0:
            return -max(_alone(case, i, low, high), 0.0)
        return 0.0
    least, most = float(case.means[j]), float(case.highs[j])
    if high < case.scale * least:
        return max(_both(case, i, high, low, j, least, most), 0.0)
    if low >= case.scale * most:
        return -max(_both(case, i, low, high, j, most, least), 0.0)
    return 0.0


def _alone(case: Case, i: int, m: float, end: float) -> float:
    """Nats against the fixed threshold, of an arm whose mean is `m`, or between that and `end`."""
    n, lost = float(case.weights[i]), float(case.penalties[i])
    if n <= 0.0:
        return 0.0
    d = float(case.between[i])
    if d > 0.0:
        p, price = stretched(m, d, case.mu0)
        return n * (kl(p, case.mu0) - price) - due(n, p, p + (end - m))
    return n * kl(m, case.mu0, case.sigma) - lost


def _both(case: Case, i: int, m_i: float, end_i: float, j: int, m_j: float, end_j: float) -> float:
    """Nats against `mu_i = scale mu_j` and all beyond, of two arms with these means, or between them and the ends."""
    n_i, n_j, scale = float(case.weights[i]), float(case.weights[j]), case.scale
    lost = float(case.penalties[i]) + float(case.penalties[j])
    if case.rated:
        d_i, d_j = float(case.between[i]), float(case.between[j])
        if d_i > 0.0 or d_j > 0.0:
            # For any two ways to stretch it is proved; these are the best for the means at which the arms meet.
            x = crossing(n_i, m_i, d_i, n_j, m_j, d_j, scale)
            p_i, price_i = stretched(m_i, d_i, scale * x)
            p_j, price_j = stretched(m_j, d_j, x)
            lost = due(n_i, p_i, p_i + (end_i - m_i)) + due(n_j, p_j, p_j + (end_j - m_j))
            return evidence(n_i, p_i, n_j, p_j, scale) - n_i * price_i - n_j * price_j - lost
    return evidence(n_i, m_i, n_j, m_j, scale, case.sigma) - lost


def pair(
    n_i: float,
    total_i: float,
    n_j: float,
    total_j: float,
    scale: float,
    sigma: float = 0.0,
    squares: tuple[float, float] | None = None,
) -> float:
    """`against` for two arms, from plain numbers: pulls and total reward of each, and the sums of squares.

    Examples
    --------
    >>> round(pair(100, 50, 100, 90, scale=0.9), 3), round(pair(100, 50, 100, 90, scale=0.9, squares=(30, 82)), 3)
    (8.673, 22.556)
    """
    known = None if squares is None else np.array(squares)
    sums = np.array([n_i, n_j]), np.array([total_i, total_j])
    return against(make_case(np.zeros(2), *sums, scale, sigma=sigma, squares=known), 0, 1)


def fixed(n: float, total: float, mu0: float, sigma: float = 0.0, squares: float | None = None) -> float:
    """`against` for one arm and a fixed threshold, from plain numbers.

    Examples
    --------
    >>> round(fixed(4, 20, mu0=6, sigma=1.0), 6)  # 4^2 / (4 + 1) pulls count: 3.2 / 2 - log(5) / 2
    0.795281
    """
    known = None if squares is None else np.array([squares])
    return against(make_case(np.zeros(1), np.array([n]), np.array([total]), 1.0, -1, mu0, sigma, None, known), 0, 1)


def nat_price(case: Case, i: int, j: int, prices: Floats, played: int) -> tuple[float, int]:
    """The price of one more nat about the pair, and the arm that sells it: not the one that is `played` if the other
    can; an arm without pulls sells first."""
    m_i, d_i = float(case.means[i]), float(case.between[i])
    if j == len(case.costs):
        return float(prices[i]) / max(rate(m_i, d_i, case.mu0, case.sigma), 1e-9), i
    n_i, n_j, m_j, d_j = float(case.weights[i]), float(case.weights[j]), float(case.means[j]), float(case.between[j])
    if n_i <= 0.0 or n_j <= 0.0:
        empty = i if n_i <= 0.0 else j
        return float(prices[empty]), empty
    if d_i > 0.0 or d_j > 0.0:
        x = crossing(n_i, m_i, d_i, n_j, m_j, d_j, case.scale)
    else:
        x = meeting(n_i, m_i, n_j, m_j, case.scale, case.sigma)
    own = float(prices[i]) / max(rate(m_i, d_i, case.scale * x, case.sigma), 1e-9)
    other = float(prices[j]) / max(rate(m_j, d_j, x, case.sigma), 1e-9)
    return (own, i) if j == played or (i != played and own <= other) else (other, j)
