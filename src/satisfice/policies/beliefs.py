"""What GLR believes and what it weighs: beliefs about means, the price of evidence, and what is at stake.

Beliefs are normal approximations on the scale of the likelihood ratio: the signed root `u` of `2 Z` is taken as
standard normal, which is exact enough also for means near 0 and 1, and knows that no mean is above 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.compiled import inline
from satisfice.policies.contract import Problem, State
from satisfice.proofs import opposing
from satisfice.statistics import evidence, kl

Floats = NDArray[np.float64]

# Even a pull without regret takes time; this keeps prices above 0.
FREE = 1e-4


class Belief(NamedTuple):
    """What is believed of one arm. A fixed threshold has a mean, and no doubt about it."""

    pulls: float  # with the prior counted in
    mean: float  # with the prior counted in
    variance: float  # of the belief about the mean
    price: float  # expected regret of one pull


class Beliefs(NamedTuple):
    """What is believed of every arm; one place more, for a fixed threshold: (arms + 1,) each."""

    pulls: Floats
    mean: Floats
    variance: Floats
    price: Floats
    feasible: Floats  # probability to be feasible
    saving: Floats  # expected extra cost per pull of passing it over
    root: Floats  # room for one candidate's comparison with every arm: the signed root,
    loss: Floats  # and the expected loss per pull


@inline
def about(beliefs: Beliefs, k: int) -> Belief:
    """What is believed of arm `k`."""
    return Belief(beliefs.pulls[k], beliefs.mean[k], beliefs.variance[k], beliefs.price[k])


class Opinion(NamedTuple):
    """What GLR thinks of the sums, in the order of the rule (ascending cost). It is no proof."""

    arm: int  # the leader: what is played when no more evidence is bought
    none: bool  # whether it looks as if no arm reached a fixed threshold; the leader is then the best one found
    belief: float  # believed probability that the leader (or `none`) is right
    opponent: int  # the arm that speaks most against the leader; the number of arms: a fixed threshold; -1: none
    nats: Floats  # (arms,) by which each arm looks infeasible against its worst opponent; below 0: feasible


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


def root(problem: Problem, arm: Belief, other: Belief) -> float:
    """Signed root `sqrt(2 Z)` of the evidence: by how many standard deviations `arm` misses what `other` sets."""
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    if math.isnan(problem.mu0):
        z = evidence(arm.pulls, arm.mean, other.pulls, other.mean, scale, sigma)
        bar = scale * other.mean
    else:
        z = arm.pulls * kl(arm.mean, problem.mu0, sigma)
        bar = problem.mu0
    u = math.sqrt(2.0 * min(z, 1e6))
    return u if arm.mean < bar else -u


def spread(problem: Problem, arm: Belief, other: Belief) -> float:
    """Standard deviation of the belief about the gap between the mean of `arm` and the threshold that `other` sets."""
    scale = 1.0 - problem.alpha
    return math.sqrt(arm.variance + scale * scale * other.variance)


@inline
def believe(problem: Problem, state: State) -> tuple[Beliefs, int]:
    """The beliefs, and the arm that sets the threshold (the number of arms: a fixed threshold)."""
    rows = np.zeros((8, len(problem.costs) + 1))
    beliefs = Beliefs(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7])
    top = estimate(problem, state, beliefs)
    unit: float = problem.params.exchange
    if unit <= 0.0:
        unit = problem.costs[-1] if problem.costs[-1] > 0.0 else 1.0
    appraise(problem, beliefs, top, unit)
    return beliefs, top


@inline
def estimate(problem: Problem, state: State, beliefs: Beliefs) -> int:
    """Fill in pulls, means and variances; answers with the arm that sets the threshold.

    The prior is uniform for rewards within [0, 1], and a tenth of a pull at the mean of all rewards otherwise.
    """
    arms = len(problem.costs)
    sigma = noise(problem)
    prior, weight = 0.5, 2.0
    if sigma > 0.0:
        prior, weight = state.totals.sum() / max(state.pulls.sum(), 1), 0.1
    fixed = not math.isnan(problem.mu0)
    top = arms if fixed else max(problem.reference, 0)
    pulls, mean, variance = beliefs.pulls, beliefs.mean, beliefs.variance
    for k in range(arms):
        n = state.pulls[k] + weight
        m = (state.totals[k] + prior * weight) / n
        pulls[k], mean[k] = n, m
        variance[k] = sigma * sigma / n if sigma > 0.0 else m * (1.0 - m) / (n + 1.0)
        if not fixed and problem.reference < 0 and m > mean[top]:
            top = k
    return top


@inline
def appraise(problem: Problem, beliefs: Beliefs, top: int, unit: float) -> None:
    """Fill in who is feasible, what a pull costs and what passing an arm over costs, with costs in `unit`s."""
    arms = len(problem.costs)
    feasible, price, saving = beliefs.feasible, beliefs.price, beliefs.saving
    other = about(beliefs, top)
    # The chance that arm k is optimal: it is feasible and no cheaper arm is, as if these were independent.
    unsettled, chance, paid = 1.0, 0.0, 0.0
    for k in range(arms):
        cost = problem.costs[k] / unit
        feasible[k] = 1.0
        if k != top:
            arm = about(beliefs, k)
            u = root(problem, arm, other)
            feasible[k] = normal_cdf(-u)
            price[k] = spread(problem, arm, other) * excess(u)
        price[k] += max(chance * cost - paid, 0.0) + FREE
        chance += unsettled * feasible[k]
        paid += unsettled * feasible[k] * cost
        unsettled *= 1.0 - feasible[k]
    # Passing over the last arm of a fixed threshold leaves nothing that is good enough: that counts as one unit.
    after = problem.costs[-1] / unit + (0.0 if math.isnan(problem.mu0) else 1.0)
    for k in range(arms - 1, -1, -1):
        cost = problem.costs[k] / unit
        saving[k] = after - cost
        after = feasible[k] * cost + (1.0 - feasible[k]) * after


def offer(problem: Problem, arm: Belief, other: Belief, u: float) -> tuple[float, bool]:
    """The price of one more nat of evidence about `arm` against `other`, and whether the other one sells it.

    `Z = gap^2 / (2 (a + b))` with the variances `a` of `arm` and `b` of `(1 - alpha)` times `other`, so a pull of the
    first adds `Z a / (n (a + b))` and one of the other `Z b / (n (a + b))`. The expected `Z` is `(u^2 + 1) / 2`.
    """
    scale = 1.0 - problem.alpha
    a, b = arm.variance, scale * scale * other.variance
    nat = 2.0 * (a + b) / (u * u + 1.0)
    own = nat * arm.price * arm.pulls / a
    if b > 0.0:
        price = nat * other.price * other.pulls / b
        if price < own:
            return price, True
    return own, False


class Stakes(NamedTuple):
    """What is at stake with one candidate."""

    stay: float  # the expected loss of playing it for good
    go: float  # the expected loss of passing it over for good
    ratio: float  # the largest ratio of what evidence about it may save to what one nat of it costs
    arm: int  # the arm to pull for that
    opponent: int  # the opponent that speaks most against it; -1: there is none


@inline
def weigh(problem: Problem, beliefs: Beliefs, top: int, left: float, i: int) -> Stakes:
    """What is at stake with candidate `i` over `left` more pulls."""
    first, last = opponents(problem)
    candidate, saving = about(beliefs, i), beliefs.saving[i]
    roots, losses = beliefs.root, beliefs.loss
    worst, opponent, most = -math.inf, -1, 0.0
    for j in range(first, last):
        if j != i:
            other = about(beliefs, j)
            u = root(problem, candidate, other)
            loss = spread(problem, candidate, other) * excess(u)
            roots[j], losses[j] = u, loss
            most = max(most, loss)
            if u > worst:
                worst, opponent = u, j
    if opponent < 0:
        return Stakes(0.0, math.inf, 0.0, i, -1)
    go = math.inf if i == top else left * normal_cdf(-worst) * max(saving, 0.0)
    ratio, arm = 0.0, i
    for j in range(first, last):
        if j != i:
            gain = min(left * losses[j], go)
            price, sold = offer(problem, candidate, about(beliefs, j), roots[j])
            if gain > ratio * price:
                ratio, arm = gain / price, j if sold else i
    return Stakes(left * most, go, ratio, arm, opponent)


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
    >>> state.pulls[:], state.totals[:] = [100, 100], [30, 80]
    >>> found = opinion(problem, state, 200)
    >>> found.arm, found.none, round(found.belief, 3)
    (1, False, 1.0)
    """
    arms = len(problem.costs)
    first, last = opponents(problem)
    beliefs, top = believe(problem, state)
    leader, worst = certified, np.full(arms, -1, dtype=np.int64)
    roots, nats = np.full(arms, -math.inf), np.full(arms, -math.inf)
    for i in range(arms):
        stakes = weigh(problem, beliefs, top, remaining(problem, t), i)
        worst[i] = stakes.opponent
        if worst[i] >= 0:
            roots[i] = beliefs.root[worst[i]]
            nats[i] = math.copysign(0.5 * roots[i] ** 2, roots[i])
        if leader < 0 and stakes.stay <= stakes.go:
            leader = i
    none = leader < 0
    if none:
        leader = best_found(problem, state, t)
    doubt = sum(normal_cdf(-roots[i]) for i in range(arms) if none or problem.costs[i] < problem.costs[leader])
    if not none:
        arm = about(beliefs, leader)
        rest = (j for j in range(first, last) if j != leader)
        doubt += sum(normal_cdf(root(problem, arm, about(beliefs, j))) for j in rest)
    return Opinion(leader, none, max(1.0 - doubt, 0.0), int(worst[leader]), nats)
