"""GLR: buys evidence while it is worth its price, and certifies what it has proved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.statistics import evidence, kl, penalty

# The parameters, in the order of the fields of GLR.
DELTA, PATIENCE, EXCHANGE, GROWTH, SIGMA = 0, 1, 2, 3, 4
# What the rule remembers: the certified arm + 1 (0: none), since which step, when that was last looked at; then, for
# every arm, until which step it is set aside, and which arm + 1 speaks against it (the arm count + 1: the threshold).
CERTIFIED, SINCE, CHECKED, ARMS = 0, 1, 2, 3
# Columns of the scratch table of beliefs, one row per arm: pulls and mean with the prior's pulls counted in, the
# variance of the belief, the expected regret of one pull, the probability to be feasible, and the expected cost of
# the arm that would be played in its place.
N, MEAN, VAR, PRICE, FEASIBLE, NEXT = 0, 1, 2, 3, 4, 5
# A pull is never quite free: time is worth this share of a unit of reward.
FREE = 1e-4


def normal_cdf(x: float) -> float:
    """Distribution function of the standard normal law."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def excess(u: float) -> float:
    """`E[(u + N)^+]` for a standard normal `N`."""
    if u < -8.0:
        return 0.0
    return u * normal_cdf(u) + math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)


def noise(problem: Problem) -> float:
    """`sigma` as the statistics want it: 0 for rewards within [0, 1]."""
    return 0.0 if problem.bounded else problem.params[SIGMA]


def root(problem: Problem, table: NDArray[np.float64], i: int, j: int) -> float:
    """Signed root `sqrt(2 Z)` of the evidence: about how many standard deviations arm `i` is infeasible by."""
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    if j == len(problem.costs):
        z = table[i, N] * kl(table[i, MEAN], problem.mu0, sigma)
        below = table[i, MEAN] < problem.mu0
    else:
        z = evidence(table[i, N], table[i, MEAN], table[j, N], table[j, MEAN], scale, sigma)
        below = table[i, MEAN] < scale * table[j, MEAN]
    u = math.sqrt(2.0 * min(z, 1e9))
    return u if below else -u


def opponents(problem: Problem) -> tuple[int, int]:
    """The range of the arms that a candidate must be compared with; the arm count stands for a fixed threshold."""
    arms = len(problem.costs)
    if problem.reference >= 0:
        return problem.reference, problem.reference + 1
    if math.isnan(problem.mu0):
        return 0, arms
    return arms, arms + 1


def believe(problem: Problem, state: State) -> NDArray[np.float64]:
    """The table of beliefs (see the columns above); the row after the last arm is the fixed threshold."""
    arms = len(problem.costs)
    table = np.zeros((arms + 1, 6))
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    total, count = 0.0, 0
    for k in range(arms):
        total += state.totals[k]
        count += state.pulls[k]
    prior, weight = 0.5, 2.0
    if sigma > 0.0:
        prior, weight = total / max(count, 1), 0.1
    top = arms
    for k in range(arms):
        n = state.pulls[k] + weight
        m = (state.totals[k] + prior * weight) / n
        table[k, N], table[k, MEAN] = n, m
        table[k, VAR] = sigma * sigma / n if sigma > 0.0 else m * (1.0 - m) / (n + 1.0)
        if math.isnan(problem.mu0) and (top == arms or m > table[top, MEAN]):
            top = k
    if problem.reference >= 0:
        top = problem.reference
    table[arms, MEAN] = problem.mu0
    unit = problem.params[EXCHANGE]
    if unit <= 0.0:
        unit = problem.costs[-1] if problem.costs[-1] > 0.0 else 1.0
    open_, mass, paid = 1.0, 0.0, 0.0
    for k in range(arms):
        cost = problem.costs[k] / unit
        table[k, FEASIBLE] = 1.0
        if k != top:
            u = root(problem, table, k, top)
            table[k, FEASIBLE] = normal_cdf(-u)
            table[k, PRICE] = math.sqrt(table[k, VAR] + scale * scale * table[top, VAR]) * excess(u)
        table[k, PRICE] += mass * cost - paid + FREE
        chance = open_ * table[k, FEASIBLE]
        mass += chance
        paid += chance * cost
        open_ -= chance
    after = problem.costs[-1] / unit
    for k in range(arms - 1, -1, -1):
        cost = problem.costs[k] / unit
        table[k, NEXT] = after - cost
        after = table[k, FEASIBLE] * cost + (1.0 - table[k, FEASIBLE]) * after
    return table


def weigh(problem: Problem, table: NDArray[np.float64], left: float, i: int) -> tuple[float, float, float, int, int]:
    """What there is to gain and to lose with candidate `i`, over `left` more pulls.

    Answers with the expected loss of playing it for good, the expected loss of passing it over for good, the
    largest ratio of what one more nat of evidence about it would save to what that nat costs, the arm to
    pull for that nat, and the opponent that speaks most against it.
    """
    arms = len(problem.costs)
    scale = 1.0 - problem.alpha
    first, last = opponents(problem)
    worst, against = -math.inf, -1
    stay = 0.0
    for j in range(first, last):
        if j != i:
            u = root(problem, table, i, j)
            spread = math.sqrt(table[i, VAR] + scale * scale * table[j, VAR])
            stay = max(stay, left * spread * excess(u))
            if u > worst:
                worst, against = u, j
    if against < 0:
        return 0.0, math.inf, 0.0, i, -1
    go = left * normal_cdf(-worst) * max(table[i, NEXT], 0.0)
    ratio, arm = 0.0, i
    a = table[i, VAR]
    for j in range(first, last):
        if j != i:
            u = root(problem, table, i, j)
            b = scale * scale * table[j, VAR]
            gain = min(left * math.sqrt(a + b) * excess(u), go)
            # Pulls of i add u^2 a / (2 n_i (a + b)) nats each (the derivative of Z), and those of j likewise.
            nat = 2.0 * (a + b) / (u * u + 1.0)
            price, seller = nat * table[i, PRICE] * table[i, N] / a, i
            if j < arms and nat * table[j, PRICE] * table[j, N] / b < price:
                price, seller = nat * table[j, PRICE] * table[j, N] / b, j
            if gain > ratio * price:
                ratio, arm = gain / price, seller
    return stay, go, ratio, arm, against


def best_found(problem: Problem, state: State, t: int) -> int:
    """The arm with the largest optimistic mean: what to play when every arm is below a fixed threshold."""
    sigma = noise(problem)
    chosen, best = 0, -math.inf
    for k in range(len(problem.costs)):
        n = max(state.pulls[k], 1)
        width = math.sqrt(math.log(t + 2.0) / (2.0 * n)) * (2.0 * sigma if sigma > 0.0 else 1.0)
        if state.totals[k] / n + width > best:
            chosen, best = k, state.totals[k] / n + width
    return chosen


def proof(problem: Problem, state: State, i: int, j: int) -> float:
    """Anytime-valid evidence in nats that `i` is feasible against `j` (above 0) or infeasible (below 0)."""
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    n_i = state.pulls[i]
    m_i = state.totals[i] / max(n_i, 1)
    if j == len(problem.costs):
        z = n_i * kl(m_i, problem.mu0, sigma) - penalty(n_i, m_i, sigma) if n_i > 0 else 0.0
        return math.copysign(max(z, 0.0), m_i - problem.mu0)
    n_j = state.pulls[j]
    m_j = state.totals[j] / max(n_j, 1)
    z = evidence(n_i, m_i, n_j, m_j, scale, sigma) - penalty(n_i, m_i, sigma) - penalty(n_j, m_j, sigma)
    return math.copysign(max(z, 0.0), m_i - scale * m_j)


def judge(problem: Problem, state: State, level: float, refuted_by: NDArray[np.int64]) -> tuple[int, float]:
    """The cheapest arm that is not refuted at `level` nats, and the least evidence that it is feasible.

    Fills `refuted_by` with the opponent + 1 that refutes each arm (0: none). Answers with arm -1 when every arm
    is refuted.
    """
    arms = len(problem.costs)
    first, last = opponents(problem)
    candidate, least = -1, math.inf
    for i in range(arms):
        best, by, lowest = 0.0, -1, math.inf
        for j in range(first, last):
            if j != i:
                z = proof(problem, state, i, j)
                lowest = min(lowest, z)
                if -z > best:
                    best, by = -z, j
        refuted_by[i] = by + 1 if best >= level else 0
        if candidate < 0 and refuted_by[i] == 0:
            candidate, least = i, lowest
    if problem.bounded and candidate >= 0 and problem.alpha == 1.0:
        least = math.inf
    return candidate, least


def level(problem: Problem) -> float:
    """Nats of anytime-valid evidence that one comparison needs for a verdict at level `delta`."""
    arms = len(problem.costs)
    events = 2 * (arms - 1)
    if problem.reference >= 0:
        events = arms - 1
    elif not math.isnan(problem.mu0):
        events = arms
    return math.log(max(events, 1) / problem.params[DELTA])


@dataclass(frozen=True)
class GLR(Policy):
    """Generalized likelihood ratios, bought at their price."""

    delta: float = 0.05
    patience: float = 3.0
    exchange: float = 0.0
    growth: float = 0.02
    sigma: float = 1.0

    id = "glr"
    settings = (BestReward, ReferenceArm, FixedThreshold)
    summary = "cheapest arm that likelihood ratio tests leave standing; buys evidence while it is worth its price"
    needs_horizon = False

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InvalidPolicy(f"glr: delta = {self.delta}; the error probability must be within (0, 1)")
        if not 0 < self.growth <= 1:
            raise InvalidPolicy(f"glr: growth = {self.growth}; the growth of leases must be within (0, 1]")
        if not self.patience >= 0 or not self.exchange >= 0:
            raise InvalidPolicy(f"glr: patience = {self.patience}, exchange = {self.exchange}; both must be at least 0")
        if not self.sigma > 0:
            raise InvalidPolicy(f"glr: sigma = {self.sigma}; the standard deviation must be above 0")

    def memory(self, arms: int) -> tuple[int, int]:
        return ARMS + 2 * arms, 0

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        growth = problem.params[GROWTH]
        left = float(problem.horizon - t) if problem.horizon > 0 else float(t + 100)
        aside = state.ints[ARMS : ARMS + arms]
        against = state.ints[ARMS + arms : ARMS + 2 * arms]
        if t >= state.ints[CHECKED] * 1.1:
            state.ints[CHECKED] = t + 1
            refuted_by = np.zeros(arms, dtype=np.int64)
            candidate, least = judge(problem, state, level(problem), refuted_by)
            if candidate >= 0 and least >= level(problem):
                if state.ints[CERTIFIED] != candidate + 1:
                    state.ints[CERTIFIED] = candidate + 1
                    state.ints[SINCE] = t
            else:
                state.ints[CERTIFIED] = 0
        if state.ints[CERTIFIED] > 0:
            arm = state.ints[CERTIFIED] - 1
            return arm, max(1, int(0.1 * state.pulls[arm]))
        table = believe(problem, state)
        for i in range(arms):
            if t < aside[i]:
                continue
            stay, go, ratio, arm, opponent = weigh(problem, table, left, i)
            against[i] = 0
            if ratio * problem.params[PATIENCE] > 1.0:
                return arm, max(1, int(growth * state.pulls[arm]))
            if stay <= go:
                return i, max(1, int(0.1 * state.pulls[i]))
            aside[i] = t + int(growth * t)
            against[i] = opponent + 1
        arm = best_found(problem, state, t)
        return arm, max(1, int(growth * state.pulls[arm]))
