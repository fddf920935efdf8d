"""What GLR believes: about means, about who is good enough, about what a pull loses. Plain functions on arrays.

Beliefs are normal approximations on the scale of the likelihood ratio: the signed root `u` of `2 Z` is taken as
standard normal, which is exact enough also for means near 0 and 1, and knows that no mean is above 1. A reward within
[0, 1] of variance `v` counts as `m (1 - m) / v` coin flips of mean `m`: rewards of 0 and 1 count once, ratings more.
How much they vary is learned from all arms, like the prior of the means, which is worth so many flips, not rewards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.compiled import inline
from satisfice.policies.contract import Problem, State
from satisfice.proofs import opposing
from satisfice.statistics import evidence, kl, meeting

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Imaginary arms of uniform means that the prior is learned from besides the real ones, and the fewest pulls it counts.
IMAGINARY = 4.0
LEAST = 2.0
# What an arm's rewards are expected to vary by counts as much as the squared deviations of four coin flips.
FLIP = 1.0
# So many arms are weighed as those that may set the threshold, and speak together against one that seems infeasible.
RIVALS = 32
# So many times the second largest cost the largest one counts at most, when it stands for one unit of reward.
ALONE = 10.0


class Beliefs(NamedTuple):
    """What is believed. The last place of the first four is a fixed threshold: (arms + 1,) each, the others (arms,)
    but for the last two, which have `RIVALS` places at most."""

    pulls: Floats  # with the prior counted in
    flips: Floats  # coin flips that these are worth
    mean: Floats
    variance: Floats  # of the belief about the mean
    root: Floats  # by how many standard deviations an arm misses what the others set; below 0: it reaches it
    feasible: Floats  # probability to be good enough
    short: Floats  # expected shortfall of one pull
    price: Floats  # expected regret of one pull, in units of reward
    saving: Floats  # expected extra cost per pull of passing it over, in units of reward
    likely: Floats  # the largest mean that is still likely
    rank: Ints  # the arms with the largest means, largest first
    rivals: Ints  # the arms that may set the threshold: those with the largest `likely`, largest first


class Opinion(NamedTuple):
    """What GLR thinks of the sums, in the order of the rule (ascending cost). It is no proof."""

    arm: int  # the leader: what is played when no more evidence is bought
    none: bool  # whether it looks as if no arm reached a fixed threshold; the leader is then the best one found
    belief: float  # believed probability that the leader (or `none`) is right
    opponent: int  # the arm that speaks most against the leader; the number of arms: a fixed threshold; -1: none
    nats: Floats  # (arms,) by which each arm looks infeasible against all others; below 0: feasible


def normal_cdf(x: float) -> float:
    """Distribution function of the standard normal law."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def excess(u: float) -> float:
    """`E[(u + X)^+]` for a standard normal `X`."""
    if u < -8.0:
        return 0.0
    return u * normal_cdf(u) + math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)


def noise(problem: Problem) -> float:
    """`sigma` as the statistics want it: 0 for rewards within [0, 1]."""
    if problem.bounded:
        return 0.0
    sigma: float = problem.params.sigma
    return sigma if sigma > 0.0 else max(problem.sigma, 1e-100)


def opponents(problem: Problem) -> tuple[int, int]:
    """The range of arms that may prove an arm infeasible; the number of arms stands for a fixed threshold."""
    return opposing(len(problem.costs), 1.0 - problem.alpha, problem.reference, problem.mu0, noise(problem))


@inline
def learned(state: State) -> tuple[float, float]:
    """The prior for rewards within [0, 1], as a number of pulls and their mean: what the arms have in common.

    The moments of a Beta law over the means of the arms, with `IMAGINARY` arms of the uniform law counted in, so that
    it is the uniform one (two pulls of mean 1/2) before the first reward. An arm counts by how well it is known.
    """
    weight, first, second = IMAGINARY, IMAGINARY / 2.0, IMAGINARY / 3.0
    for k in range(len(state.pulls)):
        n = float(state.pulls[k])  # numbers of arrays take plain code several times as long
        share = n / (n + 3.0)
        m = (float(state.totals[k]) + 1.0) / (n + 2.0)
        weight += share
        first += share * m
        second += share * m * m
    m = first / weight
    return max(m * (1.0 - m) / max(second / weight - m * m, 1e-6) - 1.0, LEAST), m


@inline
def deviations(state: State, k: int) -> tuple[float, float]:
    """The squared deviations of an arm's rewards from their mean, and those of coin flips with the same mean.

    Squares that cannot be, or are not kept, count as those of coin flips.
    """
    seen, total, squares = float(state.pulls[k]), float(state.totals[k]), float(state.squares[k])
    if seen <= 0.0:
        return 0.0, 0.0
    level = total * total / seen
    kept = level <= squares * (1.0 + 1e-9)
    return max((squares if kept else total) - level, 0.0), max(total - level, 0.0)


@inline
def common_spread(state: State) -> float:
    """The variance of rewards, as a share of that of coin flips with the same mean: what the arms have in common.

    The mean over the arms, with `IMAGINARY` arms of coin flips counted in. An arm counts by how well it is known.
    """
    weight, total = IMAGINARY, IMAGINARY
    for k in range(len(state.pulls)):
        n = float(state.pulls[k])
        own, coins = deviations(state, k)
        weight += n / (n + 3.0)
        total += n / (n + 3.0) * (FLIP + own) / (FLIP + coins)
    return min(total / weight, 1.0)


@inline
def largest(scores: Floats, arms: int, order: Ints) -> None:
    """Fill in the arms with the largest scores, as many as `order` has, largest first; of equal ones the first.

    Examples
    --------
    >>> order = np.zeros(3, dtype=np.int64)
    >>> largest(np.array([0.2, 0.9, 0.5, 0.9]), 4, order)
    >>> order.tolist()
    [1, 3, 2]
    """
    found, places = 0, len(order)
    for k in range(arms):
        score, at = scores[k], found
        while at > 0 and scores[order[at - 1]] < score:
            at -= 1
        if at < places:
            found = min(found + 1, places)
            for place in range(found - 1, at, -1):
                order[place] = order[place - 1]
            order[at] = k


@inline
def estimate(problem: Problem, state: State, beliefs: Beliefs) -> None:
    """Fill in what is believed of every arm alone."""
    sigma, arms = noise(problem), len(problem.costs)
    weight, prior, spread = 0.1, 0.0, 1.0
    if sigma <= 0.0:
        weight, prior = learned(state)
        spread = common_spread(state)
    else:
        prior = state.totals.sum() / max(state.pulls.sum(), 1.0)
    pulls, flips, mean, variance = beliefs.pulls, beliefs.flips, beliefs.mean, beliefs.variance
    likely = beliefs.likely
    for k in range(arms):
        each = 1.0  # so many coin flips one reward counts as
        if sigma <= 0.0:
            own, coins = deviations(state, k)
            each = max((FLIP + coins) / (FLIP * spread + own), 1.0)
        n = float(state.pulls[k]) + weight / each
        m = (float(state.totals[k]) + weight / each * prior) / n
        pulls[k], flips[k], mean[k] = n, n * each, m
        variance[k] = sigma * sigma / n if sigma > 0.0 else m * (1.0 - m) / (n * each + 1.0)
        likely[k] = m + 2.0 * math.sqrt(variance[k])
    mean[arms] = problem.mu0
    largest(mean, arms, beliefs.rank)


@inline
def root(problem: Problem, beliefs: Beliefs, i: int, j: int) -> float:
    """Signed root `sqrt(2 Z)` of the evidence: by how many standard deviations arm `i` misses what `j` sets."""
    sigma, scale = noise(problem), 1.0 - problem.alpha
    n, m = float(beliefs.flips[i]), float(beliefs.mean[i])
    if j == len(problem.costs):
        z, bar = n * kl(m, problem.mu0, sigma), problem.mu0
    else:
        theirs = float(beliefs.mean[j])
        z, bar = evidence(n, m, float(beliefs.flips[j]), theirs, scale, sigma), scale * theirs
    u = math.sqrt(2.0 * min(z, 1e6))
    return u if m < bar else -u


@inline
def loss(problem: Problem, beliefs: Beliefs, i: int, j: int, u: float) -> float:
    """The expected shortfall of one pull of arm `i` below what `j` sets; `u` is their `root`."""
    scale = 1.0 - problem.alpha
    return math.sqrt(float(beliefs.variance[i]) + scale * scale * float(beliefs.variance[j])) * excess(u)


class Joint(NamedTuple):
    """The evidence of all arms that an arm is infeasible."""

    nats: float
    bar: float  # the largest mean at which all is best explained, were the arm feasible
    movers: int  # so many arms, those with the largest means, would have to be that bad


@inline
def together(problem: Problem, beliefs: Beliefs, i: int) -> Joint:
    """The smallest `n_i kl(m_i, s x) + sum over j with m_j > x of n_j kl(m_j, x)`, with `s = 1 - alpha`.

    For arm `i` to be feasible after all, every arm above `x` must have been lucky. Arms are added by mean, the largest
    first; where several are to have the mean `x`, their rewards count as those of one arm. No more than `RIVALS` speak,
    so that a decision takes time in proportion to the number of arms (but for sorting them).
    """
    sigma, scale = noise(problem), 1.0 - problem.alpha
    flips, mean, rank = beliefs.flips, beliefs.mean, beliefs.rank
    own, m = float(flips[i]), float(mean[i])
    n, total, x, movers = 0.0, 0.0, 0.0, 0
    if problem.reference >= 0:
        n = float(flips[problem.reference])
        total, movers = n * float(mean[problem.reference]), 1
    while problem.reference < 0 and movers < len(rank) and (movers == 0 or mean[rank[movers]] > x):
        j = rank[movers]
        n += float(flips[j])
        total += float(flips[j]) * float(mean[j])
        movers += 1
        x = meeting(own, m, n, total / n, scale, sigma)
    x = meeting(own, m, n, total / n, scale, sigma)
    nats = own * kl(m, scale * x, sigma)
    for r in range(movers):
        j = problem.reference if problem.reference >= 0 else rank[r]
        nats += float(flips[j]) * kl(float(mean[j]), x, sigma)
    return Joint(nats, x, movers)


@inline
def compare(problem: Problem, beliefs: Beliefs) -> tuple[int, int]:
    """Fill in who is feasible and by how much not, and what a pull falls short of the arm that sets the threshold;
    answers with that arm, and the one that may raise it most (-1: none)."""
    arms = len(problem.costs)
    first, last = opponents(problem)
    if first == last:  # every arm is good enough
        for k in range(arms):
            beliefs.root[k], beliefs.feasible[k] = -40.0, 1.0
        return beliefs.rank[0], -1
    top, star = first, -1
    if last - first > 1:
        top, most = beliefs.rank[0], 0.0
        best, doubt = float(beliefs.mean[top]), float(beliefs.variance[top])
        for j in range(arms):
            spread = math.sqrt(float(beliefs.variance[j]) + doubt)
            gain = spread * excess((float(beliefs.mean[j]) - best) / spread)
            if j != top and gain > most:
                star, most = j, gain
    for k in range(arms):
        u = -40.0
        if k != top:
            u = root(problem, beliefs, k, top)
            beliefs.short[k] = loss(problem, beliefs, k, top, u)
            if u > 0.0 and last - first > 1:
                u = math.sqrt(2.0 * min(together(problem, beliefs, k).nats, 1e6))
        beliefs.root[k], beliefs.feasible[k] = u, normal_cdf(-u)
    return top, star


@inline
def fall_short(problem: Problem, beliefs: Beliefs, k: int, star: int) -> None:
    """Count what a pull of an arm falls short of the one that may raise the threshold, if that is more."""
    if star >= 0 and k != star:
        missed = loss(problem, beliefs, k, star, root(problem, beliefs, k, star))
        beliefs.short[k] = max(beliefs.short[k], missed)


@inline
def unit_of(problem: Problem, beliefs: Beliefs) -> float:
    """The cost that is as bad as losing one unit of reward.

    By default the largest cost, over `m (1 + 2 m)` where the best mean `m` is below 1/2: a success rate of 1% cannot
    fall by more than 1%, so that this is what the largest cost buys. One arm alone does not set it: of the largest
    cost, at most `ALONE` times the second largest counts.
    """
    unit: float = problem.params.exchange
    if unit > 0.0:
        return unit
    unit = float(problem.costs[-1])
    if len(problem.costs) > 2 and problem.costs[-2] > 0.0:
        unit = min(unit, ALONE * float(problem.costs[-2]))
    if noise(problem) <= 0.0:
        best = float(beliefs.mean[beliefs.rank[0]])
        unit /= min(1.0, best * (1.0 + 2.0 * best))
    return unit if unit > 0.0 else 1.0


@inline
def save(problem: Problem, beliefs: Beliefs, unit: float) -> None:
    """Fill in what passing an arm over costs, with costs in `unit`s."""
    # Passing over the last arm of a fixed threshold leaves nothing that is good enough: that counts as one unit.
    after = float(problem.costs[-1]) / unit + (0.0 if math.isnan(problem.mu0) else 1.0)
    for k in range(len(problem.costs) - 1, -1, -1):
        cost, good = float(problem.costs[k]) / unit, float(beliefs.feasible[k])
        beliefs.saving[k] = max(after - cost, 0.0)
        after = good * cost + (1.0 - good) * after


@inline
def appraise(problem: Problem, beliefs: Beliefs, unit: float) -> None:
    """Fill in what a pull costs, with costs in `unit`s."""
    # The chance that arm k is optimal: it is feasible and no cheaper arm is, as if these were independent.
    unsettled, chance, paid = 1.0, 0.0, 0.0
    for k in range(len(problem.costs)):
        cost, good = float(problem.costs[k]) / unit, float(beliefs.feasible[k])
        beliefs.price[k] = float(beliefs.short[k]) + max(chance * cost - paid, 0.0)
        chance += unsettled * good
        paid += unsettled * good * cost
        unsettled *= 1.0 - good


@inline
def believe(problem: Problem, state: State) -> tuple[Beliefs, int]:
    """The beliefs, and the leader: the first arm with which staying loses less than going on; -1: none.

    Staying with an arm loses its shortfall, going on loses the saving if the arm is feasible after all.
    """
    arms = len(problem.costs)
    rows, more, places = np.zeros((4, arms + 1)), np.zeros((6, arms)), np.zeros((2, min(arms, RIVALS)), dtype=np.int64)
    beliefs = Beliefs(
        rows[0], rows[1], rows[2], rows[3], more[0], more[1], more[2], more[3], more[4], more[5], places[0], places[1]
    )  # fmt: skip
    return beliefs, lead(problem, state, beliefs)


@inline
def stay(problem: Problem, state: State, beliefs: Beliefs) -> tuple[int, int]:
    """Fill in what says which arm leads, of dearer arms no more than that; answers with the leader, and with the arm
    that may raise the threshold most (-1: none)."""
    estimate(problem, state, beliefs)
    top, star = compare(problem, beliefs)
    save(problem, beliefs, unit_of(problem, beliefs))
    for k in range(len(problem.costs)):
        fall_short(problem, beliefs, k, star)
        if k == top or beliefs.short[k] <= beliefs.feasible[k] * beliefs.saving[k]:
            return k, star
    return -1, star


@inline
def lead(problem: Problem, state: State, beliefs: Beliefs) -> int:
    """Fill in the beliefs; answers with the leader."""
    leader, star = stay(problem, state, beliefs)
    for k in range(leader + 1, len(problem.costs)):
        fall_short(problem, beliefs, k, star)
    appraise(problem, beliefs, unit_of(problem, beliefs))
    largest(beliefs.likely, len(problem.costs), beliefs.rivals)
    return leader


def in_lists(arms: int) -> Beliefs:
    """Beliefs to be filled in by code that is not compiled: places of arrays take it several times as long."""
    rows = [[0.0] * size for size in [arms + 1] * 4 + [arms] * 6]
    return Beliefs(*rows, *[[0] * min(arms, RIVALS) for _ in range(2)])  # type: ignore[arg-type]


def sums_of(pulls: Sequence[int], totals: Sequence[float], squares: Sequence[float]) -> State:
    """Sums of rewards within [0, 1], for `opinion`, as lists: see `in_lists`."""
    return State(list(pulls), list(totals), list(squares), [], [])  # type: ignore[arg-type]


def best_found(problem: Problem, state: State, t: int) -> int:
    """The arm with the largest upper confidence bound: what to play when no arm reaches a fixed threshold."""
    sigma = noise(problem)
    chosen, best = 0, -math.inf
    for k in range(len(problem.costs)):
        n = state.pulls[k]
        if n == 0:
            return k
        bound = state.totals[k] / n + math.sqrt(math.log(t + 2.0) / (2.0 * n)) * (2.0 * sigma if sigma > 0.0 else 1.0)
        if bound > best:
            chosen, best = k, bound
    return chosen


def remaining(problem: Problem, t: int) -> float:
    """Pulls still to come; without a horizon, as many as there were so far."""
    return float(max(problem.horizon - t, 1)) if problem.horizon > 0 else t + 1.0


def opinion(problem: Problem, state: State, t: int, certified: int = -1) -> Opinion:
    """What GLR thinks of the sums in `state` after `t` pulls in all; `problem` is one of the GLR policy.

    Nothing is remembered and nothing drawn: the same sums give the same opinion, in whatever order they came. An arm
    that is `certified` leads, whatever else is believed.

    Examples
    --------
    >>> from satisfice import GLR, FixedThreshold
    >>> from satisfice.policies.contract import make_problem, new_state
    >>> problem = make_problem(GLR(), FixedThreshold(0.6), [1.0, 2.0], np.arange(2), None, bounded=True)
    >>> state = new_state(GLR(), 2)
    >>> state.pulls[:], state.totals[:], state.squares[:] = [100, 100], [30, 80], [30, 80]
    >>> found = opinion(problem, state, 200)
    >>> found.arm, found.none, round(float(found.belief), 3)
    (1, False, 1.0)
    """
    arms = len(problem.costs)
    first, last = opponents(problem)
    beliefs = in_lists(arms)
    leader, _ = stay(problem, state, beliefs)
    none = leader < 0 and certified < 0
    leader = certified if certified >= 0 else best_found(problem, state, t) if none else leader
    doubt = sum(beliefs.feasible[i] for i in range(arms) if none or problem.costs[i] < problem.costs[leader])
    roots = {j: root(problem, beliefs, leader, j) for j in range(first, last) if j != leader}
    if not none:
        doubt += sum(normal_cdf(u) for u in roots.values())
    found = np.array(beliefs.root)
    nats = np.copysign(0.5 * found**2, found)
    return Opinion(leader, none, max(1.0 - doubt, 0.0), max(roots, key=roots.__getitem__, default=-1), nats)
