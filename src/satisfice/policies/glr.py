"""GLR: buys evidence where it is cheapest, while it is worth its price, and certifies what it has proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.beliefs import (
    Beliefs,
    about,
    believe,
    best_found,
    noise,
    offer,
    opponents,
    remaining,
    root,
    weigh,
)
from satisfice.policies.compiled import inline
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.proofs import Case, against, certified, equal_levels, level, make_case

Ints = NDArray[np.int64]

# A lease of the arm that is being played, as a share of its pulls; what is settled is also looked into this seldom.
CALM = 0.1
# While evidence is bought for one candidate, the others are looked at after so many leases.
WAIT = 4
# Without a horizon, a proof may cost this much per pull so far, in units of reward.
WORTH = 0.05


class Memory(NamedTuple):
    """What the rule remembers, as views of `state.ints`. All of it may be forgotten."""

    certified: Ints  # (1,) the certified arm + 1 (0: none; kept without a horizon only)
    checked: Ints  # (1,) when to look into that again
    until: Ints  # (arms,) the step until which an arm need not be looked at
    since: Ints  # (arms,) since when it is passed over
    because: Ints  # (arms,) by which opponent + 1 (0: it is not passed over)


@inline
def recall(state: State) -> Memory:
    """The memory of the rule, by name."""
    ints = state.ints
    return Memory(ints[0:1], ints[1:2], ints[2::3], ints[3::3], ints[4::3])


class Survey(NamedTuple):
    """What looking at the candidates found."""

    leader: int  # the first candidate with which staying loses less; -1: none
    ratio: float  # the largest ratio of what evidence may save to its price
    arm: int  # the arm to pull for it; -1: no evidence is worth its price
    whose: int  # the candidate that it is about


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

    Notes
    -----
    Proved: with probability at least `1 - delta`, no arm that `satisfice.proofs` calls certified or refuted is called
    so wrongly, at any time whatsoever, for rewards within [0, 1] or Gaussian ones of standard deviation `sigma`, by
    Ville's inequality for the mixture martingale of two arms (Robbins, 1970; Kaufmann and Koolen, 2021) and a union
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
        return 2 + 3 * arms, 0

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        growth = problem.params.growth
        if not problem.bounded:
            # The scale of the rewards is not known, so that an arm without one would be judged by those of the others.
            for k in range(len(problem.costs)):
                if state.pulls[k] == 0:
                    return k, 1
        memory = recall(state)
        if problem.horizon == 0:
            if t >= memory.checked[0]:
                memory.certified[0], memory.checked[0] = proved_arm(problem, state) + 1, t + 1 + int(CALM * t)
            if memory.certified[0] > 0:
                arm = memory.certified[0] - 1
                return arm, 1 + int(CALM * state.pulls[arm])
        beliefs, top = believe(problem, state)
        found = survey(problem, memory, beliefs, top, t)
        if found.arm >= 0:
            # What is at stake falls about e-fold with each nat: log(ratio) of them are still to be bought.
            more = int(growth * (1.0 + 0.5 * math.log(found.ratio)) * state.pulls[found.arm])
            postpone(memory, found, t, t + WAIT * more)
            return found.arm, 1 + more
        if found.leader < 0:
            arm = best_found(problem, state, t)
            return arm, 1 + int(growth * state.pulls[arm])
        if problem.horizon == 0:
            cost, arm = missing(problem, state, beliefs, found.leader)
            if cost <= WORTH * t:
                return arm, 1 + int(growth * state.pulls[arm])
        return found.leader, 1 + int(CALM * state.pulls[found.leader])


@inline
def survey(problem: Problem, memory: Memory, beliefs: Beliefs, top: int, t: int) -> Survey:
    """Look at the candidates in order of cost, up to the leader, and remember who is passed over and why.

    Those that were told to wait are left out at first, and looked at too if nothing else is worth its price.
    """
    left = remaining(problem, t)
    until, since, because = memory.until, memory.since, memory.because
    leader, most, wanted, whose = -1, 1.0, -1, -1
    for look in range(2):
        leader, waiting = -1, 0
        for i in range(len(problem.costs)):
            if t < until[i] and i != top and (look == 0 or because[i] > 0):
                waiting += because[i] == 0
                continue
            stakes = weigh(problem, beliefs, top, left, i)
            ratio = stakes.ratio
            if stakes.stay <= stakes.go:
                leader = i
                ratio *= problem.params.patience
            elif ratio <= 1.0:
                until[i] = t + 1 + int(CALM * t)
            passed = stakes.stay > stakes.go and ratio <= 1.0
            if passed and because[i] == 0:
                since[i] = t
            because[i] = stakes.opponent + 1 if passed else 0
            if ratio > most:
                most, wanted, whose = ratio, stakes.arm, i
            if leader >= 0:
                break
        if wanted >= 0 or waiting == 0:
            break
    return Survey(leader, most, wanted, whose)


@inline
def postpone(memory: Memory, found: Survey, t: int, until: int) -> None:
    """Let the candidates before the leader wait while evidence is bought about another one."""
    for i in range(len(memory.until) if found.leader < 0 else found.leader):
        if i != found.whose and t >= memory.until[i]:
            memory.until[i] = until


def case_of(problem: Problem, state: State) -> Case:
    """The sums in `state`, ready for `satisfice.proofs`; `problem` is one of the GLR policy."""
    scale = 1.0 - problem.alpha
    return make_case(problem.costs, state.pulls, state.totals, scale, problem.reference, problem.mu0, noise(problem))


def proved_arm(problem: Problem, state: State) -> int:
    """The arm that is proved, at level `delta`, to be feasible, with all cheaper ones proved not to be; -1: none."""
    case = case_of(problem, state)
    nobody = np.zeros(len(problem.costs), dtype=np.bool_)
    return certified(case, equal_levels(case, problem.params.delta), nobody)


def missing(problem: Problem, state: State, beliefs: Beliefs, leader: int) -> tuple[float, int]:
    """What the rest of a proof that `leader` is the arm to play would cost, and the arm to pull for it."""
    first, last = opponents(problem)
    case = case_of(problem, state)
    nats = level(case, problem.params.delta)
    total, most, arm = 0.0, 0.0, leader
    for i in range(leader + 1):
        if i < leader and problem.costs[i] == problem.costs[leader]:
            continue  # as cheap: it does not matter whether it is feasible
        lack, least, seller = 0.0, math.inf, i
        for j in range(first, last):
            if j != i:
                z = against(case, i, j)
                candidate, other = about(beliefs, i), about(beliefs, j)
                cost, sold = offer(problem, candidate, other, root(problem, candidate, other))
                dealer = j if sold else i
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
