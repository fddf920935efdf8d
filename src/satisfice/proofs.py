"""What rewards prove: who is refuted by whom, which arm is certified, how sure that is. Plain functions on arrays.

The GLR policy calls them compiled; a study and its status call them as they are, whichever policy chose the arms.

For the true means of a pair of arms, `log M_i(mu_i) + log M_j(mu_j) <= log(1 / d)` holds at all times together with
probability at least `1 - d`, by Ville's inequality: each `M` is a mixture supermartingale that starts at 1, and so is
the product of two. For rewards of 0 and 1, `log M(mu) = n kl(m, mu) - penalty` (`satisfice.statistics`); for others
within [0, 1] it is at least that, and more where they vary less (`satisfice.between`). Something is said of two arms
where `log M_i + log M_j` reaches `log(1 / d)` at all means that contradict it. So what is said of them, either way, can
be wrong only where the inequality fails at the true means: one event for each pair of arms, for each arm and the known
reference arm, or for each arm and the fixed threshold. If the `d` of all these events add up to at most `delta`,
everything that is ever said here is right with probability at least `1 - delta`, at whatever times one looks. `levels`
holds `log(1 / d)`, the nats that a comparison needs.

Arms are in ascending order of cost, a known reference arm last. The number of arms, as the opponent of an arm, stands
for the fixed threshold.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice import between
from satisfice.between import rate
from satisfice.cases import (
    Case,
    Floats,
    Ints,
    against,
    fixed,
    in_arrays,
    in_lists,
    make_case,
    nat_price,
    opponents,
    opposing,
    pair,
)
from satisfice.statistics import interval

Flags = NDArray[np.bool_]
# What compiled code is handed as arrays; what is plain takes lists, too.
Nats = Floats | list[float]
Marks = Flags | list[bool]

# With more arms than this, only so many of those with the largest sure means are asked to refute the others.
RIVALS = 16


class Findings(NamedTuple):
    """What is proved."""

    certified: int  # the arm that is feasible while every cheaper one is not; -1: not proved of any
    refuted_by: Ints  # (arms,) an opponent that proves the arm infeasible; -1: none does
    none: bool  # whether every arm is refuted: no arm is feasible


def level(case: Case, delta: float) -> float:
    """Nats that every comparison needs if all share `delta` equally.

    Examples
    --------
    >>> nothing = np.zeros(4)
    >>> round(math.exp(level(make_case(nothing, nothing, nothing, scale=0.9), delta=0.05)) * 0.05, 9)  # pairs of arms
    6.0
    """
    found = comparisons(len(case.costs), case.reference >= 0, not math.isnan(case.mu0))
    return math.log(max(found, 1) / delta)


def comparisons(arms: int, reference: bool, fixed: bool) -> int:
    """How many there may be: of every two arms, or of each with the reference arm or with a fixed threshold.

    Examples
    --------
    >>> comparisons(4, False, False), comparisons(4, True, False), comparisons(4, False, True)
    (6, 3, 4)
    """
    if fixed:
        return arms
    return arms - 1 if reference else arms * (arms - 1) // 2


def equal_levels(case: Case, delta: float) -> Floats:
    """The `level` of every arm.

    Examples
    --------
    >>> nothing = np.zeros(2)
    >>> equal_levels(make_case(nothing, nothing, nothing, scale=0.9), delta=0.05).round(3).tolist()
    [2.996, 2.996]
    """
    return np.full(len(case.costs), level(case, delta))


def needed(levels: Nats, i: int, j: int) -> float:
    """Nats that a comparison needs: the larger level of the two arms, or the arm's own against a fixed threshold.

    So an arm that came later, with a smaller share of `delta` for its comparisons, leaves the others as they were.

    Examples
    --------
    >>> levels = np.array([4.0, 4.0, 6.0])
    >>> needed(levels, 0, 1), needed(levels, 0, 2), needed(levels, 0, 3)
    (4.0, 6.0, 4.0)
    """
    return float(levels[i]) if j >= len(levels) else max(float(levels[i]), float(levels[j]))


def hopeless(case: Case, levels: Nats, i: int, j: int) -> bool:
    """Whether opponent `j` surely does not prove arm `i` infeasible, by what takes less time than the proof: the arm
    keeps up with it by its mean, or would not be refuted if the mean of the other were certain. A divergence is at most
    the squared gap over the variance.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0, 3.0]), np.full(3, 2000), np.array([1000.0, 1700.0, 1750.0]), scale=0.9)
    >>> [hopeless(case, np.full(3, 5.0), i, 2) for i in range(2)]
    [False, True]
    """
    if j >= len(case.costs):
        return False
    return _out_of_reach(case, i, case.scale * float(case.means[j]), needed(levels, i, j))


def _out_of_reach(case: Case, i: int, bar: float, enough: float) -> bool:
    """Whether it surely takes more than so many nats to prove that arm `i` misses what a mean sets. The larger the
    mean, the fewer are missing."""
    high = float(case.highs[i])
    if high >= bar:
        return True
    n, d = float(case.weights[i]), float(case.between[i])
    if d > 0.0:
        return n * rate(high, d, bar) < enough
    variance = case.sigma * case.sigma if case.sigma > 0.0 else bar * (1.0 - bar)
    return n * (bar - high) * (bar - high) < enough * variance


def _hopeless_by_gap(case: Case, levels: Nats, rivals: Ints) -> Flags:
    """`hopeless` of every arm against all `rivals` at once, as far as gaps and variances say: (arms, rivals)."""
    if rivals.size and rivals[-1] >= len(case.costs):
        return np.zeros((len(case.costs), len(rivals)), dtype=np.bool_)
    case, levels = in_arrays(case), np.asarray(levels)
    bars, highs, weights = case.scale * case.means[rivals], case.highs[:, None], case.weights[:, None]
    enough = np.maximum(levels[:, None], levels[rivals])
    variances = case.sigma * case.sigma if case.sigma > 0.0 else bars * (1.0 - bars)
    gaps = bars - highs
    near: Flags = weights * gaps * gaps < enough * variances
    if case.rated:
        near &= case.between[:, None] <= 0.0
    flags: Flags = near | (highs >= bars)
    return flags


def _near(case: Case, levels: Nats, out: Marks) -> list[int]:
    """The arms that an opponent may prove infeasible: mostly none, as the one that sets most tells at once."""
    first, last = opponents(case)
    if first == last:
        return []
    bar = case.mu0 if first == len(case.costs) else case.scale * max(case.means[first:last])
    return [i for i in range(len(case.costs)) if not (out[i] or _out_of_reach(case, i, bar, float(levels[i])))]


def certified(case: Case, levels: Nats, out: Marks) -> int:
    """The arm that is proved feasible, with every cheaper one proved infeasible; -1: none. Equal costs: the first.

    `out` marks arms that are known to be refuted: they cannot set the threshold, so that nothing is compared with them.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0, 3.0]), np.full(3, 2000), np.array([1000.0, 1700.0, 1750.0]), scale=0.9)
    >>> certified(case, equal_levels(case, delta=0.05), np.zeros(3, dtype=np.bool_))
    1
    """
    first, last = opponents(case)
    arms = len(case.costs)
    bar = math.inf
    for i in range(arms):
        if case.costs[i] > bar:
            break
        if out[i]:
            continue
        feasible, refuted = True, False
        for j in range(first, last):
            if j != i and (j == arms or not out[j]):
                if not feasible and hopeless(case, levels, i, j):
                    continue
                nats, enough = against(case, i, j), needed(levels, i, j)
                feasible = feasible and nats <= -enough
                refuted = refuted or nats >= enough
                if refuted:
                    break
        if feasible:
            return i
        if not refuted:
            bar = case.costs[i]
    return -1


def missing(case: Case, levels: Floats, arm: int, prices: Floats) -> tuple[float, int]:
    """What the rest of a proof that `arm` is the one to play would cost, and the arm to pull for it.

    A nat is bought from the arm of the pair that sells it cheaper, if evidence goes on to come in as it did so far, but
    not from `arm`, which is played in any case; a cheaper arm is refuted by the opponent with which that costs least.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([30, 40]), np.array([20.0, 36.0]), scale=0.9)
    >>> cost, arm = missing(case, equal_levels(case, delta=0.05), 1, prices=np.array([0.1, 1.0]))
    >>> arm, cost > 0
    (0, True)
    """
    first, last = opponents(case)
    total, most, wanted = 0.0, -1.0, arm
    for i in range(arm + 1):
        if i < arm and case.costs[i] == case.costs[arm]:
            continue  # as cheap: it does not matter whether it is feasible
        least, lack, seller = math.inf, 0.0, i
        for j in range(first, last):
            if j != i:
                z = against(case, i, j)
                bar = case.mu0 if j == len(case.costs) else case.scale * case.means[j]
                if i < arm and case.means[i] >= bar:
                    continue  # more of the same evidence would speak for `i`
                gap = needed(levels, i, j) + (z if i == arm else -z)
                price, dealer = nat_price(case, i, j, prices, arm)
                if i == arm:
                    total += max(gap, 0.0) * price
                    if gap > most:
                        most, wanted = gap, dealer
                elif max(gap, 0.0) * price < least:
                    least, lack, seller = max(gap, 0.0) * price, gap, dealer
        if i < arm:
            total += least
            if lack > most:
                most, wanted = lack, seller
    return total, wanted


def rivals(case: Case, levels: Nats) -> Ints:
    """The opponents that are asked to refute: all, but of more than `RIVALS` arms those with the largest sure means.

    A mean that an arm reaches almost surely is its own minus `sqrt(2 (level + penalty) / n)` standard deviations, at
    most 1/2 within [0, 1] (Pinsker's inequality).

    Examples
    --------
    >>> case = make_case(np.ones(3), np.full(3, 10), np.array([1.0, 2.0, 3.0]), scale=0.9)
    >>> rivals(case, np.full(3, 4.0)).tolist()
    [0, 1, 2]
    """
    first, last = opponents(case)
    if last - first <= RIVALS:
        return np.arange(first, last)
    case, levels = in_arrays(case), np.asarray(levels)
    spread = case.sigma if case.sigma > 0.0 else 0.5
    sure = case.means - spread * np.sqrt(2.0 * (levels + case.penalties) / np.maximum(case.weights, 1.0))
    return np.argsort(-sure, kind="stable")[:RIVALS]


def refuter(case: Case, levels: Nats, i: int, rivals: Ints) -> int:
    """The first of the `rivals` that proves arm `i` infeasible; -1: none does.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0, 3.0]), np.full(3, 2000), np.array([1000.0, 1700.0, 1750.0]), scale=0.9)
    >>> [refuter(case, np.full(3, 5.0), i, np.arange(3)) for i in range(3)]
    [1, -1, -1]
    """
    for j in rivals.tolist():
        if j != i and not hopeless(case, levels, i, j) and against(case, i, j) >= needed(levels, i, j):
            return int(j)
    return -1


def judge(case: Case, levels: Nats, out: Marks | None = None) -> Findings:
    """All that is proved. `out` marks arms that are known to be refuted, which are not asked for again.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0, 3.0]), np.full(3, 2000), np.array([1000.0, 1700.0, 1750.0]), scale=0.9)
    >>> found = judge(case, equal_levels(case, delta=0.05))
    >>> found.certified, found.refuted_by.tolist(), found.none
    (1, [1, -1, -1], False)
    """
    arms = len(case.costs)
    case, nats = in_lists(case), [float(level) for level in levels]
    gone = [False] * arms if out is None else [bool(is_out) for is_out in out]
    refuted_by = [-1] * arms
    near = _near(case, nats, gone)
    if near:
        asked = rivals(case, nats)
        worth = ~_hopeless_by_gap(case, nats, asked)
        for i in near:
            refuted_by[i] = refuter(case, nats, i, asked[worth[i]])
            gone[i] = refuted_by[i] >= 0
    none = all(gone)
    return Findings(-1 if none else certified(case, nats, gone), np.array(refuted_by), none)


def risk(case: Case, levels: Nats, delta: float, arm: int, out: Marks | None = None) -> float:
    """The `delta` that must be allowed to call `arm` certified (-1: to say that no arm is feasible), at most 1.

    The largest among the proofs that this rests on, each as strong as it is now; what was proved by `delta` of an arm
    that is `out` stays proved.

    Examples
    --------
    >>> case = make_case(np.array([1.0, 2.0]), np.array([100, 100]), np.array([50.0, 90.0]), scale=0.9)
    >>> levels = equal_levels(case, delta=0.05)
    >>> round(risk(case, levels, 0.05, arm=1), 6), risk(case, levels, 0.05, arm=0)  # exp(-8.673): one pair
    (0.000171, 1.0)
    """
    first, last = opponents(case)
    arms = len(case.costs)
    gone = np.zeros(arms, dtype=np.bool_) if out is None else out
    margin = math.inf  # by how many nats the weakest of the proofs is stronger than it has to be
    least = math.log(delta)
    for j in range(first, last) if arm >= 0 else ():
        if j != arm and (j == arms or not gone[j]):
            margin = min(margin, -against(case, arm, j) - needed(levels, arm, j))
            if margin <= least:
                return 1.0
    # One that is as strong as the weakest proof so far is enough: so rivals that are likely to refute come first, and
    # the dearest arms, which are the hardest to refute.
    asked = sorted(rivals(case, levels).tolist(), key=lambda j: -float(case.means[j]) if j < arms else 0.0)
    for i in reversed(range(arms)):
        if arm < 0 or case.costs[i] < case.costs[arm]:
            best = 0.0 if gone[i] else -math.inf
            for j in asked:
                if best >= margin:
                    break
                if j != i:
                    best = max(best, against(case, i, j) - needed(levels, i, j))
            margin = min(margin, best)
            if margin <= least:
                return 1.0
    return delta * math.exp(-margin)


def intervals(
    pulls: Ints, totals: Floats, delta: float | Floats, sigma: float = 0.0, squares: Floats | None = None
) -> list[tuple[float, float]]:
    """Confidence intervals for all means that hold at all times together, with probability at least `1 - delta`.

    Parameters
    ----------
    pulls, totals : array
        Rewards seen of every arm, and their sum.
    delta : float or array
        Probability that any interval ever misses its mean, shared equally; or the share of every arm.
    sigma : float
        Standard deviation of Gaussian rewards; 0 for rewards within [0, 1].
    squares : array, optional
        Sums of the squares of the rewards, within [0, 1], of every arm: rewards that vary less than coin flips then
        have shorter intervals (`satisfice.between`).

    Examples
    --------
    >>> (low, high), unknown = intervals(np.array([100, 0]), np.array([50.0, 0.0]), delta=0.1)
    >>> round(low, 3), round(high, 3), unknown
    (0.338, 0.662, (0.0, 1.0))
    """
    shares = np.full(len(pulls), delta / max(len(pulls), 1)) if isinstance(delta, float) else np.asarray(delta)
    if squares is not None:
        sums = zip(pulls.tolist(), totals.tolist(), squares.tolist(), shares.tolist(), strict=True)
        return [between.interval(*of_arm) for of_arm in sums]
    return [
        interval(n, total / max(n, 1), share, sigma)
        for n, total, share in zip(pulls.tolist(), totals.tolist(), shares.tolist(), strict=True)
    ]


__all__ = [
    "RIVALS",
    "Case",
    "Findings",
    "against",
    "certified",
    "comparisons",
    "equal_levels",
    "fixed",
    "hopeless",
    "intervals",
    "judge",
    "level",
    "make_case",
    "missing",
    "nat_price",
    "needed",
    "opponents",
    "opposing",
    "pair",
    "refuter",
    "risk",
    "rivals",
]
