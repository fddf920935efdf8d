"""GLR: buys evidence where it is cheapest, while it is worth its price, and certifies what it has proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.statistics import evidence, kl, proved, proved_fixed

Table = NDArray[np.float64]

# The parameters, in the order of the fields of GLR.
DELTA, PATIENCE, EXCHANGE, GROWTH, SIGMA = 0, 1, 2, 3, 4
# What the rule remembers: the certified arm + 1 (0: none; kept without a horizon only), since which step, when to look
# into that again; then for every arm until which step it is passed over, since when, and because of which arm + 1 (0:
# it is not passed over; the number of arms + 1: because of the fixed threshold). Nothing of it is needed to go on.
CERTIFIED, SINCE, CHECKED, ARMS = 0, 1, 2, 3
# Columns of the table of beliefs, one row per arm: pulls and mean with the prior counted in, variance of the belief
# about the mean, expected regret of one pull, probability to be feasible, and the extra cost of passing it over.
# The last two are room for one candidate's comparison with every arm: signed root and expected loss per pull.
N, MEAN, VAR, PRICE, FEASIBLE, NEXT, ROOT, LOSS, COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Even a pull without regret takes time; this keeps prices above 0.
FREE = 1e-4
# A lease of the arm that is being played, as a share of its pulls; what is settled is also looked into this seldom.
CALM = 0.1
# An arm is passed over when its evidence is worth less than its price by this factor. It may be below 1 (and below
# `patience`), because a wrong pass is a large loss: the evidence is strong by then. Measured, see docs/glr.md.
PASSING = 0.5
# Without a horizon, a proof may cost this much per pull so far, in units of reward.
WORTH = 0.05


@dataclass(frozen=True)
class GLR(Policy):
    """Generalized likelihood ratio tests, bought at their price.

    See the page docs/glr.md.
    """

    delta: float = 0.05
    patience: float = 4.0
    exchange: float = 0.0
    growth: float = 0.02
    sigma: float = 1.0

    id = "glr"
    settings = (BestReward, ReferenceArm, FixedThreshold)
    summary = "cheapest arm that likelihood ratio tests leave standing; buys evidence while it is worth its price"
    needs_horizon = False

    def __post_init__(self) -> None:
        for name, value, right, accepted in (
            ("delta", self.delta, 0 < self.delta < 1, "an error probability within (0, 1)"),
            ("patience", self.patience, 0 < self.patience < math.inf, "a number above 0"),
            ("exchange", self.exchange, 0 <= self.exchange < math.inf, "a cost above 0, or 0 for the largest one"),
            ("growth", self.growth, 0 < self.growth <= 1, "a share within (0, 1]"),
            ("sigma", self.sigma, 0 < self.sigma < math.inf, "a standard deviation above 0"),
        ):
            if not right:
                raise InvalidPolicy(f"glr: {name} = {value}; it must be {accepted}")

    def memory(self, arms: int) -> tuple[int, int]:
        return ARMS + 3 * arms, 0

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        ints = state.ints
        growth = problem.params[GROWTH]
        if problem.horizon == 0:
            if t >= ints[CHECKED]:
                certify(problem, state, t)
            if ints[CERTIFIED] > 0:
                arm = ints[CERTIFIED] - 1
                return arm, 1 + int(CALM * state.pulls[arm])
        table, top = believe(problem, state)
        for i in range(arms):
            until, since, because = ARMS + 3 * i, ARMS + 3 * i + 1, ARMS + 3 * i + 2
            if t < ints[until]:
                continue
            stay, go, ratio, arm, opponent = weigh(problem, table, top, remaining(problem, t), i)
            patience = problem.params[PATIENCE] if stay <= go else PASSING
            if ratio * patience > 1.0:
                ints[because] = 0
                return arm, 1 + int(growth * state.pulls[arm])
            if stay <= go:
                ints[because] = 0
                if problem.horizon == 0:
                    cost, arm = missing(problem, state, table, i)
                    if cost <= WORTH * t:
                        return arm, 1 + int(growth * state.pulls[arm])
                return i, 1 + int(CALM * state.pulls[i])
            if ints[because] == 0:
                ints[since] = t
            ints[until] = t + 1 + int(CALM * t)
            ints[because] = opponent + 1
        arm = best_found(problem, state, t)
        return arm, 1 + int(growth * state.pulls[arm])


class Verdict(NamedTuple):
    """What a state says about the arms, in the order of the rule (ascending cost)."""

    arm: int  # the leader: what is played when no more evidence is bought
    certified: bool  # whether it is proved, at level delta, that the leader is the cheapest feasible arm
    feasible: bool  # False when every arm is proved to miss a fixed threshold
    risk: float  # proved bound on the probability that the leader is wrong, valid at any time; at most 1
    opponent: int  # the arm that speaks most against the leader; the number of arms: a fixed threshold; -1: none
    evidence: Table  # (arms,) nats by which each arm looks infeasible against its worst opponent; below 0: feasible
    refuted_by: NDArray[np.int64]  # (arms,) the opponent that proves the arm infeasible at level delta; -1: none


def verdict(problem: Problem, state: State, t: int) -> Verdict:
    """What the rewards in `state` say, after `t` pulls in all; `problem` is one of the GLR policy.

    Nothing is remembered and nothing drawn: the same sums give the same verdict, in whatever order they came.
    """
    arms = len(problem.costs)
    first, last = opponents(problem)
    table, top = believe(problem, state)
    leader, opponent = -1, -1
    doubts = np.full(arms, -math.inf)
    for i in range(arms):
        stay, go, _, _, worst = weigh(problem, table, top, remaining(problem, t), i)
        if worst >= 0:
            doubts[i] = math.copysign(0.5 * table[worst, ROOT] ** 2, table[worst, ROOT])
        if leader < 0 and stay <= go:
            leader, opponent = i, worst
    if leader < 0:
        leader = best_found(problem, state, t)
    nats = level(problem)
    refuted_by = np.full(arms, -1, dtype=np.int64)
    surest = math.inf
    for i in range(arms):
        proofs = [(proof(problem, state, i, j), j) for j in range(first, last) if j != i]
        against, by = max(proofs, default=(-math.inf, -1))
        if against >= nats:
            refuted_by[i] = by
        if problem.costs[i] < problem.costs[leader]:
            surest = min(surest, against)
        elif i == leader:
            surest = min(surest, -against)
    risk = problem.params[DELTA] * math.exp(nats - max(surest, 0.0))
    missed = bool((refuted_by >= 0).all())
    return Verdict(leader, surest >= nats and not missed, not missed, min(risk, 1.0), opponent, doubts, refuted_by)


def remaining(problem: Problem, t: int) -> float:
    """Pulls still to come; without a horizon, as many as there were so far."""
    return float(max(problem.horizon - t, 1)) if problem.horizon > 0 else t + 1.0


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
    return 0.0 if problem.bounded else problem.params[SIGMA]


def opponents(problem: Problem) -> tuple[int, int]:
    """The range of arms that may prove an arm infeasible; the number of arms stands for a fixed threshold."""
    arms = len(problem.costs)
    if problem.bounded and (problem.alpha == 1.0 or problem.mu0 <= 0.0):
        return 0, 0  # every mean reaches a threshold of 0
    if problem.reference >= 0:
        return problem.reference, problem.reference + 1
    return (0, arms) if math.isnan(problem.mu0) else (arms, arms + 1)


def root(problem: Problem, table: Table, i: int, j: int) -> float:
    """Signed root `sqrt(2 Z)` of the evidence: by how many standard deviations arm `i` looks infeasible against `j`."""
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    if j == len(problem.costs):
        z = table[i, N] * kl(table[i, MEAN], problem.mu0, sigma)
        bar = problem.mu0
    else:
        z = evidence(table[i, N], table[i, MEAN], table[j, N], table[j, MEAN], scale, sigma)
        bar = scale * table[j, MEAN]
    u = math.sqrt(2.0 * min(z, 1e6))
    return u if table[i, MEAN] < bar else -u


def believe(problem: Problem, state: State) -> tuple[Table, int]:
    """The table of beliefs, and the arm that sets the threshold (the number of arms: a fixed threshold).

    The prior is uniform for rewards within [0, 1], and a tenth of a pull at the mean of all rewards otherwise.
    """
    arms = len(problem.costs)
    table = np.zeros((arms + 1, COLUMNS))
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    prior, weight = 0.5, 2.0
    if sigma > 0.0:
        prior, weight = state.totals.sum() / max(state.pulls.sum(), 1), 0.1
    fixed = not math.isnan(problem.mu0)
    top = arms if fixed else max(problem.reference, 0)
    for k in range(arms):
        n = state.pulls[k] + weight
        m = (state.totals[k] + prior * weight) / n
        table[k, N], table[k, MEAN] = n, m
        table[k, VAR] = sigma * sigma / n if sigma > 0.0 else m * (1.0 - m) / (n + 1.0)
        if not fixed and problem.reference < 0 and m > table[top, MEAN]:
            top = k
    unit = problem.params[EXCHANGE]
    if unit <= 0.0:
        unit = problem.costs[-1] if problem.costs[-1] > 0.0 else 1.0
    # The chance that arm k is optimal: it is feasible and no cheaper arm is, as if these were independent.
    unsettled, chance, paid = 1.0, 0.0, 0.0
    for k in range(arms):
        cost = problem.costs[k] / unit
        table[k, FEASIBLE] = 1.0
        if k != top:
            u = root(problem, table, k, top)
            table[k, FEASIBLE] = normal_cdf(-u)
            table[k, PRICE] = math.sqrt(table[k, VAR] + scale * scale * table[top, VAR]) * excess(u)
        table[k, PRICE] += max(chance * cost - paid, 0.0) + FREE
        chance += unsettled * table[k, FEASIBLE]
        paid += unsettled * table[k, FEASIBLE] * cost
        unsettled *= 1.0 - table[k, FEASIBLE]
    # Passing over the last arm of a fixed threshold leaves nothing that is good enough: that counts as one unit.
    after = problem.costs[-1] / unit + (1.0 if fixed else 0.0)
    for k in range(arms - 1, -1, -1):
        cost = problem.costs[k] / unit
        table[k, NEXT] = after - cost
        after = table[k, FEASIBLE] * cost + (1.0 - table[k, FEASIBLE]) * after
    return table, top


def offer(problem: Problem, table: Table, i: int, j: int, u: float) -> tuple[float, int]:
    """The price of one more nat of evidence about `i` against `j`, and which of the two arms sells it.

    `Z = gap^2 / (2 (a + b))` with the variances `a` of arm `i` and `b` of `(1 - alpha)` times arm `j`, so a pull of
    `i` adds `Z a / (n_i (a + b))` and one of `j` adds `Z b / (n_j (a + b))`. The expected `Z` is `(u^2 + 1) / 2`.
    """
    scale = 1.0 - problem.alpha
    a, b = table[i, VAR], scale * scale * table[j, VAR]
    nat = 2.0 * (a + b) / (u * u + 1.0)
    price = nat * table[i, PRICE] * table[i, N] / a
    if b > 0.0:
        other = nat * table[j, PRICE] * table[j, N] / b
        if other < price:
            return other, j
    return price, i


def weigh(problem: Problem, table: Table, top: int, left: float, i: int) -> tuple[float, float, float, int, int]:
    """What is at stake with candidate `i` over `left` more pulls.

    Answers with the expected loss of playing it for good, the expected loss of passing it over for good, the
    largest ratio of what evidence about it may save to what one nat of it costs, the arm to pull for that, and
    the opponent that speaks most against it (-1: there is none).
    """
    scale = 1.0 - problem.alpha
    first, last = opponents(problem)
    worst, opponent, most = -math.inf, -1, 0.0
    for j in range(first, last):
        if j != i:
            u = root(problem, table, i, j)
            loss = math.sqrt(table[i, VAR] + scale * scale * table[j, VAR]) * excess(u)
            table[j, ROOT], table[j, LOSS] = u, loss
            most = max(most, loss)
            if u > worst:
                worst, opponent = u, j
    if opponent < 0:
        return 0.0, math.inf, 0.0, i, -1
    go = math.inf if i == top else left * normal_cdf(-worst) * max(table[i, NEXT], 0.0)
    ratio, arm = 0.0, i
    for j in range(first, last):
        if j != i:
            gain = min(left * table[j, LOSS], go)
            price, seller = offer(problem, table, i, j, table[j, ROOT])
            if gain > ratio * price:
                ratio, arm = gain / price, seller
    return left * most, go, ratio, arm, opponent


def best_found(problem: Problem, state: State, t: int) -> int:
    """The arm with the largest upper confidence bound: what to play when no arm reaches a fixed threshold."""
    sigma = noise(problem)
    chosen, best = 0, -math.inf
    for k in range(len(problem.costs)):
        n = max(state.pulls[k], 1)
        bound = state.totals[k] / n + math.sqrt(math.log(t + 2.0) / (2.0 * n)) * (2.0 * sigma if sigma > 0.0 else 1.0)
        if bound > best:
            chosen, best = k, bound
    return chosen


def level(problem: Problem) -> float:
    """Nats that every comparison needs for a verdict that is wrong, ever, with probability at most `delta`.

    A wrong verdict needs one of few comparisons to fail: that of the optimal arm with an arm that refutes it, or
    that of an infeasible arm with the best arm. There are at most `2 (K - 1)` of them, `K - 1` with a known
    reference arm and `K` with a fixed threshold.
    """
    arms = len(problem.costs)
    failures = 2 * (arms - 1)
    if problem.reference >= 0:
        failures = arms - 1
    elif not math.isnan(problem.mu0):
        failures = arms
    return math.log(max(failures, 1) / problem.params[DELTA])


def proof(problem: Problem, state: State, i: int, j: int) -> float:
    """Evidence in nats, valid at any time, that `i` is infeasible against `j` (above 0) or feasible (below 0)."""
    sigma = noise(problem)
    n_i = state.pulls[i]
    m_i = state.totals[i] / max(n_i, 1)
    if j == len(problem.costs):
        z = proved_fixed(n_i, m_i, problem.mu0, sigma)
        return z if m_i < problem.mu0 else -z
    scale = 1.0 - problem.alpha
    n_j = state.pulls[j]
    m_j = state.totals[j] / max(n_j, 1)
    z = proved(n_i, m_i, n_j, m_j, scale, sigma)
    return z if n_j > 0 and m_i < scale * m_j else -z


def certify(problem: Problem, state: State, t: int) -> None:
    """Note whether the cheapest arm that is not refuted is proved, at level `delta`, to be feasible."""
    arms = len(problem.costs)
    first, last = opponents(problem)
    nats = level(problem)
    state.ints[CHECKED] = t + 1 + int(CALM * t)
    certified, bar = 0, math.inf
    for i in range(arms):
        if problem.costs[i] > bar:
            break
        most = -math.inf
        for j in range(first, last):
            if j != i:
                most = max(most, proof(problem, state, i, j))
        if most <= -nats:
            certified = i + 1
            break
        if most < nats:
            bar = problem.costs[i]
    if certified > 0 and state.ints[CERTIFIED] != certified:
        state.ints[SINCE] = t
    state.ints[CERTIFIED] = certified


def missing(problem: Problem, state: State, table: Table, leader: int) -> tuple[float, int]:
    """What the rest of a proof that `leader` is the arm to play would cost, and the arm to pull for it."""
    first, last = opponents(problem)
    nats = level(problem)
    total, most, arm = 0.0, 0.0, leader
    for i in range(leader + 1):
        lack, least, seller = 0.0, math.inf, i
        for j in range(first, last):
            if j != i:
                z = proof(problem, state, i, j)
                cost, dealer = offer(problem, table, i, j, root(problem, table, i, j))
                if i == leader:
                    lack = max(nats + z, 0.0)
                    total += lack * cost
                    if lack > most:
                        most, arm = lack, dealer
                elif cost * max(nats - z, 0.0) < least:
                    least, lack, seller = cost * max(nats - z, 0.0), max(nats - z, 0.0), dealer
        if i < leader:
            total += least
            if lack > most:
                most, arm = lack, seller
    return total, arm
