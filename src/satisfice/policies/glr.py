"""GLR: buys evidence where it is cheapest, while it is worth its price, and certifies what it has proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.beliefs import (
    DELTA,
    GROWTH,
    PATIENCE,
    ROOT,
    Table,
    believe,
    noise,
    normal_cdf,
    offer,
    opponents,
    remaining,
    root,
    weigh,
)
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.statistics import proved, proved_fixed

# What the rule remembers: the certified arm + 1 (0: none; kept without a horizon only) and when to look into that
# again; then for every arm until which step it need not be looked at, since when it is passed over, and because of
# which arm + 1 (0: it is not; the number of arms + 1: because of the fixed threshold). All of it may be forgotten.
CERTIFIED, CHECKED, ARMS = 0, 1, 2
# A lease of the arm that is being played, as a share of its pulls; what is settled is also looked into this seldom.
CALM = 0.1
# While evidence is bought for one candidate, the others are looked at after so many leases.
WAIT = 4
# Without a horizon, a proof may cost this much per pull so far, in units of reward.
WORTH = 0.05


@dataclass(frozen=True)
class GLR(Policy):
    """Generalized likelihood ratio tests, bought where evidence is cheapest and while it is worth its price.

    The evidence about arm `i` against arm `j`, in nats, is `Z = min over x of n_i kl(m_i, (1 - alpha) x) +
    n_j kl(m_j, x)`; for a fixed threshold `Z = n_i kl(m_i, mu_0)`. The candidates are the arms in order of cost. For
    each, with beliefs that follow from `Z`, the rule weighs over the remaining pulls

    - `stay`, what playing it for good is expected to lose in quality, if it is infeasible after all,
    - `go`, what passing it over for good is expected to lose in cost, if it is feasible after all,
    - the price of one more nat: the expected regret of the pulls that buy it, from the candidate or the opponent,
      whichever sells cheaper; the opponent is the one for which `gain / price` is largest.

    The leader is the first candidate with which staying loses less. Evidence about the leader is worth buying while
    `patience x stay` exceeds the price, evidence about a cheaper candidate while `go` does; beyond that it is passed
    over. The rule buys where the ratio is largest, and plays the leader when it exceeds 1 nowhere. So no best arm is
    identified unless that pays, evidence is shared by all candidates, and near-ties that are not worth a proof are
    played unproved. Nothing is final: an arm that was passed over is looked at again with what is known by then. The
    rule draws no random numbers.

    Parameters
    ----------
    delta : float
        Error probability of a certified verdict. Without a horizon the rule also goes for the proof itself, as soon as
        the rest of it costs at most 5% of the largest cost per pull so far, and stops exploring once it has it.
    patience : float
        How many times the expected loss of playing a candidate unproved may be paid for evidence about it. More is
        safer and dearer; 1 takes the beliefs at their word.
    exchange : float
        The cost that is as bad as losing one unit of reward; 0 (the default) stands for the largest cost.
    growth : float
        Leases grow by this share of an arm's pulls, and with the log of the largest ratio.
    sigma : float
        Standard deviation of the rewards where they are not known to lie within [0, 1] (Gaussian tests); 0 (the
        default) stands for that of the instance, or half the range of rewards that have one.

    Proved: with probability at least `1 - delta`, no verdict (`verdict`) that is certified and no arm that it calls
    refuted is wrong at any time whatsoever, for rewards within [0, 1] or Gaussian ones of standard deviation `sigma`,
    by Ville's inequality for the mixture martingale of two arms (Robbins, 1970; Kaufmann and Koolen, 2021) and a union
    over all pairs of arms. The mean that sets the threshold must be at least 0 (`1 - alpha` times a negative one is out
    of its own reach). Only measured, in benchmarks/regret.py and benchmarks/reliability.py: the regret, and how rarely
    the arm that is settled on without a certificate is a costly mistake. There is no regret bound.

    See also: `PECS`, whose regret is bounded; `docs/glr.md`, which explains the rule with pictures.
    """

    delta: float = 0.05
    patience: float = 4.0
    exchange: float = 0.0
    growth: float = 0.02
    sigma: float = 0.0

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
            (
                "sigma",
                self.sigma,
                self.sigma == 0 or 1e-100 <= self.sigma <= 1e100,
                "a standard deviation within [1e-100, 1e100], or 0 for that of the instance",
            ),
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
        if not problem.bounded:
            # The scale of the rewards is not known, so that an arm without one would be judged by those of the others.
            for k in range(arms):
                if state.pulls[k] == 0:
                    return k, 1
        if problem.horizon == 0:
            if t >= ints[CHECKED]:
                ints[CERTIFIED], ints[CHECKED] = proved_arm(problem, state) + 1, t + 1 + int(CALM * t)
            if ints[CERTIFIED] > 0:
                arm = ints[CERTIFIED] - 1
                return arm, 1 + int(CALM * state.pulls[arm])
        table, top = believe(problem, state)
        left = remaining(problem, t)
        leader, most, wanted, whose = -1, 1.0, -1, -1
        for look in range(2):
            leader, waiting = -1, 0
            for i in range(arms):
                until, since, because = ARMS + 3 * i, ARMS + 3 * i + 1, ARMS + 3 * i + 2
                if t < ints[until] and i != top and (look == 0 or ints[because] > 0):
                    waiting += ints[because] == 0
                    continue
                stay, go, ratio, arm, opponent = weigh(problem, table, top, left, i)
                if stay <= go:
                    leader = i
                    ratio *= problem.params[PATIENCE]
                elif ratio <= 1.0:
                    ints[until] = t + 1 + int(CALM * t)
                passed = stay > go and ratio <= 1.0
                if passed and ints[because] == 0:
                    ints[since] = t
                ints[because] = opponent + 1 if passed else 0
                if ratio > most:
                    most, wanted, whose = ratio, arm, i
                if leader >= 0:
                    break
            if wanted >= 0 or waiting == 0:
                break
        if wanted >= 0:
            # What is at stake falls about e-fold with each nat, so that log(most) of them are still to be bought.
            more = int(growth * (1.0 + 0.5 * math.log(most)) * state.pulls[wanted])
            for i in range(arms if leader < 0 else leader):
                if i != whose and t >= ints[ARMS + 3 * i]:
                    ints[ARMS + 3 * i] = t + WAIT * more
            return wanted, 1 + more
        if leader < 0:
            arm = best_found(problem, state, t)
            return arm, 1 + int(growth * state.pulls[arm])
        if problem.horizon == 0:
            cost, arm = missing(problem, state, table, leader)
            if cost <= WORTH * t:
                return arm, 1 + int(growth * state.pulls[arm])
        return leader, 1 + int(CALM * state.pulls[leader])


class Verdict(NamedTuple):
    """What a state says about the arms, in the order of the rule (ascending cost)."""

    arm: int  # the leader: what is played when no more evidence is bought
    certified: bool  # whether it is proved, at level delta, that the leader is the cheapest feasible arm
    none: bool  # whether it looks as if no arm reached a fixed threshold; the leader is then the best one found
    feasible: bool  # False when that is proved
    risk: float  # the delta that must be allowed to call the leader certified, at most 1
    belief: float  # believed probability that the leader (or `none`) is right: not a proof
    opponent: int  # the arm that speaks most against the leader; the number of arms: a fixed threshold; -1: none
    evidence: Table  # (arms,) nats by which each arm looks infeasible against its worst opponent; below 0: feasible
    refuted_by: NDArray[np.int64]  # (arms,) the opponent that proves the arm infeasible at level delta; -1: none


def verdict(problem: Problem, state: State, t: int) -> Verdict:
    """What the rewards in `state` say, after `t` pulls in all; `problem` is one of the GLR policy.

    Nothing is remembered and nothing drawn: the same sums give the same verdict, in whatever order they came.
    """
    arms = len(problem.costs)
    first, last = opponents(problem)
    leader = proved_arm(problem, state)
    certified = leader >= 0
    table, top = believe(problem, state)
    worst = np.full(arms, -1, dtype=np.int64)
    roots, nats = np.full(arms, -math.inf), np.full(arms, -math.inf)
    for i in range(arms):
        stay, go, _, _, worst[i] = weigh(problem, table, top, remaining(problem, t), i)
        if worst[i] >= 0:
            roots[i] = table[worst[i], ROOT]
            nats[i] = math.copysign(0.5 * roots[i] ** 2, roots[i])
        if leader < 0 and stay <= go:
            leader = i
    none = leader < 0
    if none:
        leader = best_found(problem, state, t)
    doubt = sum(normal_cdf(-roots[i]) for i in range(arms) if none or problem.costs[i] < problem.costs[leader])
    if not none:
        doubt += sum(normal_cdf(root(problem, table, leader, j)) for j in range(first, last) if j != leader)
    needed, surest = level(problem), math.inf
    refuted_by = np.full(arms, -1, dtype=np.int64)
    for i in range(arms):
        against, by = max(
            ((proof(problem, state, i, j), j) for j in range(first, last) if j != i), default=(-math.inf, -1)
        )
        if against >= needed:
            refuted_by[i] = by
        if problem.costs[i] < problem.costs[leader]:
            surest = min(surest, against)
        elif i == leader:
            surest = min(surest, -against)
    return Verdict(
        arm=leader,
        certified=certified,
        none=none,
        feasible=not bool((refuted_by >= 0).all()),
        risk=min(float(problem.params[DELTA]) * math.exp(needed - max(surest, 0.0)), 1.0),
        belief=max(1.0 - doubt, 0.0),
        opponent=int(worst[leader]),
        evidence=nats,
        refuted_by=refuted_by,
    )


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


def level(problem: Problem) -> float:
    """Nats that every comparison needs for all that is proved, ever, to be right with probability at least `1 - delta`.

    What is said of two arms, either way, can be wrong only where their martingale is large: one event for each pair of
    arms, for each arm and the known reference arm, or for each arm and the fixed threshold.
    """
    arms = len(problem.costs)
    pairs = arms * (arms - 1) // 2
    if problem.reference >= 0:
        pairs = arms - 1
    elif not math.isnan(problem.mu0):
        pairs = arms
    return math.log(max(pairs, 1) / problem.params[DELTA])


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
    return z if m_i < scale * m_j else -z


def proved_arm(problem: Problem, state: State) -> int:
    """The arm that is proved, at level `delta`, to be feasible, with all cheaper ones proved not to be; -1: none."""
    arms = len(problem.costs)
    first, last = opponents(problem)
    nats = level(problem)
    bar = math.inf
    for i in range(arms):
        if problem.costs[i] > bar:
            break
        most = -math.inf
        for j in range(first, last):
            if j != i:
                most = max(most, proof(problem, state, i, j))
        if most <= -nats:
            return i
        if most < nats:
            bar = problem.costs[i]
    return -1


def missing(problem: Problem, state: State, table: Table, leader: int) -> tuple[float, int]:
    """What the rest of a proof that `leader` is the arm to play would cost, and the arm to pull for it."""
    first, last = opponents(problem)
    nats = level(problem)
    total, most, arm = 0.0, 0.0, leader
    for i in range(leader + 1):
        if i < leader and problem.costs[i] == problem.costs[leader]:
            continue  # as cheap: it does not matter whether it is feasible
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
