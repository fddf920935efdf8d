"""GLR: one bill of what deciding now is expected to lose, paid down where evidence is worth most for its price."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satisfice.errors import InvalidPolicy
from satisfice.policies.beliefs import (
    Beliefs,
    Floats,
    believe,
    best_found,
    excess,
    noise,
    opponents,
    remaining,
    root,
    together,
)
from satisfice.policies.compiled import inline
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.proofs import Case, certified, equal_levels, make_case, missing
from satisfice.statistics import kl

# A lease of the arm that is being played, as a share of its pulls; one that buys evidence is smaller.
CALM = 0.05
GROWTH = 0.01
# Even a pull without regret takes time; this keeps prices above 0.
FREE = 1e-4
# Beyond so many standard deviations an arm looks infeasible, and the evidence of all arms against it counts.
DOUBT = 1.0


@dataclass(frozen=True)
class GLR(Policy):
    """Generalized likelihood ratio tests, bought where evidence is worth most for its price, and no longer than that.

    The leader is the cheapest arm with which staying is expected to lose less than going on. Playing it for good would
    lose, over the pulls that are left, its shortfall if some other arm makes it infeasible, and the saving of every
    cheaper arm that is feasible after all: that is the bill. Each entry falls about e-fold with one more nat of
    evidence about it, so a pull that adds `r` nats to an entry of `L` is worth `r L`; its price is the regret that it
    is expected to have. The rule pulls the arm whose pull, summed over the entries, is worth most compared with its
    price, as long as it is worth its price; else it plays the leader.

    The evidence that arm `i` is infeasible is `Z = min over x of n_i kl(m_i, (1 - alpha) x) + sum of n_j kl(m_j, x)`
    over all `j` with `m_j > x`: all arms speak together. Where no pull is worth its price any more, the multipliers of
    the Graves-Lai program are the entries of the bill (`docs/glr.md`). The rule remembers nothing and draws no random
    numbers: a decision is a function of the sums.

    Parameters
    ----------
    delta : float
        Error probability of what is called proved. The rule itself does not use it unless a proof is asked for.
    care : float
        How many times its expected worth evidence may cost. 1 (the default) takes beliefs at their word; more is dearer
        on average, and runs that settle on a wrong arm are rarer.
    exchange : float
        What you would pay per decision to raise the success rate by 1 (from never to always). 0 (the default) stands
        for the largest cost (at most ten times the second largest), over `m (1 + 2 m)` where the best mean `m` is
        below 1/2.
    sigma : float
        Standard deviation of the rewards where they are not known to lie within [0, 1] (Gaussian tests); 0 (the
        default) stands for that of the instance, or half the range of rewards that have one.
    proof : float
        What the rest of a proof may cost per pull so far, in units of reward. With 0 (the default) no proof is bought:
        what happens to be proved is proved. Above 0, the rule goes for the proof once it is that cheap, and explores no
        more once it has it.

    Notes
    -----
    Proved: with probability at least `1 - delta`, no arm that `satisfice.proofs` calls certified or refuted is called
    so wrongly, at any time whatsoever, for rewards within [0, 1] or Gaussian ones of standard deviation `sigma`, by
    Ville's inequality for the mixture martingale of two arms (Robbins, 1970; Kaufmann and Koolen, 2021; for rewards
    that are not 0 or 1 see `satisfice.between`) and a union over all pairs of arms. The mean that sets the threshold
    must be at least 0 (`1 - alpha` times a negative one is out of its own reach). Only measured, in
    benchmarks/regret.py and benchmarks/reliability.py: the regret, and how rarely the arm that is settled on without a
    certificate is a costly mistake.

    See also: `PECS`, whose regret is bounded; `docs/glr.md`, which explains the rule with pictures.
    """

    delta: float = 0.05
    care: float = 1.0
    exchange: float = 0.0
    sigma: float = 0.0
    proof: float = 0.0

    id = "glr"
    settings = (BestReward, ReferenceArm, FixedThreshold)
    summary = "cheapest arm that likelihood ratio tests leave standing; buys evidence while it is worth its price"
    version = 5
    needs_horizon = False
    uses_squares = True
    draws = False
    retired = ("patience", "growth")

    def __post_init__(self) -> None:
        self.check_numbers()
        for name, value, right, accepted in (
            ("delta", self.delta, 0 < self.delta < 1, "an error probability within (0, 1)"),
            ("care", self.care, 0 < self.care < math.inf, "a number above 0"),
            ("exchange", self.exchange, 0 <= self.exchange < math.inf, "a cost above 0, or 0 for the default"),
            ("proof", self.proof, 0 <= self.proof < math.inf, "a price above 0, or 0 for no purchase"),
            (
                "sigma",
                self.sigma,
                self.sigma == 0 or 1e-100 <= self.sigma <= 1e100,
                "a standard deviation within [1e-100, 1e100], or 0 for that of the instance",
            ),
        ):
            if not right:
                raise InvalidPolicy(f"glr: {name} = {value}; it must be {accepted}")

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        if not problem.bounded:
            # The scale of the rewards is not known, so that an arm without one would be judged by those of the others.
            for k in range(len(problem.costs)):
                if state.pulls[k] == 0:
                    return k, 1
        beliefs, leader = believe(problem, state)
        if problem.params.proof > 0.0:
            arm, pulls = towards_a_proof(problem, state, beliefs, leader, t)
            if arm >= 0:
                return arm, pulls
        arm, ratio = bargain(problem, beliefs, leader, problem.params.care * remaining(problem, t))
        if arm >= 0:
            # What is at stake falls about e-fold with each nat: log(ratio) of them are still to be bought.
            return arm, 1 + int(GROWTH * math.log(ratio) * state.pulls[arm])
        if leader < 0:
            arm = best_found(problem, state, t)
            return arm, 1 + int(GROWTH * state.pulls[arm])
        return leader, 1 + int(CALM * state.pulls[leader])


@inline
def bargain(problem: Problem, beliefs: Beliefs, leader: int, left: float) -> tuple[int, float]:
    """The arm whose pull is worth most compared with its price, and that ratio; -1: none is worth its price."""
    arms = len(problem.costs)
    worth = np.zeros(arms)
    for i in range(arms if leader < 0 else leader):
        stake = beliefs.feasible[i] * beliefs.saving[i]
        if beliefs.root[i] > DOUBT:
            refute(problem, beliefs, i, left * stake, worth)
        else:
            weigh(problem, beliefs, i, left, stake, worth)
    if leader >= 0:
        weigh(problem, beliefs, leader, left, math.inf, worth)
    chosen, most = -1, 1.0
    for k in range(arms):
        ratio = worth[k] / (beliefs.price[k] + FREE)
        if ratio > most:
            chosen, most = k, ratio
    return chosen, most


@inline
def refute(problem: Problem, beliefs: Beliefs, i: int, stake: float, worth: Floats) -> None:
    """Add what a pull of every arm is worth for passing over arm `i`, which looks infeasible, with `stake` to lose.

    A flip of an arm adds `kl(m, x)` nats, `x` being the mean that it would have to have. With `Z` nats in what was
    seen, `Z / 2 + 1` are counted: see `weigh`.
    """
    if stake <= 0.0:
        return
    sigma, scale = noise(problem), 1.0 - problem.alpha
    first, last = opponents(problem)
    pulls, flips, mean = beliefs.pulls, beliefs.flips, beliefs.mean
    z = 0.5 * beliefs.root[i] * beliefs.root[i]
    if first == len(problem.costs):
        worth[i] += stake * (0.5 * z + 1.0) / pulls[i]
        return
    joint = together(problem, beliefs, i)
    rate = stake * (0.5 * z + 1.0) / z
    worth[i] += rate * kl(mean[i], scale * joint.bar, sigma) * flips[i] / pulls[i]
    for r in range(joint.movers):
        j = beliefs.rank[r] if last - first > 1 else first
        worth[j] += rate * kl(mean[j], joint.bar, sigma) * flips[j] / pulls[j]


@inline
def weigh(problem: Problem, beliefs: Beliefs, i: int, left: float, most: float, worth: Floats) -> None:
    """Add what a pull of every arm is worth for staying with arm `i` or not; at most `most` is at stake per pull.

    `Z = gap^2 / (2 (a + b))` with the variances `a` of the arm and `b` of `(1 - alpha)` times the other, so a pull of
    the first adds `Z a / (n (a + b))` nats and one of the other `Z b / (n (a + b))`. In place of `Z`, `Z / 2 + 1` are
    counted: with one unknown mean the rule then stops where the exact optimum does (benchmarks/possible.py).
    """
    scale = 1.0 - problem.alpha
    first, last = opponents(problem)
    many = last - first > 1
    for r in range(len(beliefs.rivals) if many else last - first):
        j = beliefs.rivals[r] if many else first
        if j != i:
            u = root(problem, beliefs, i, j)
            a, b = beliefs.variance[i], scale * scale * beliefs.variance[j]
            stake = left * min(math.sqrt(a + b) * excess(u), most) * (0.25 * u * u + 1.0) / (a + b)
            worth[i] += stake * a / beliefs.pulls[i]
            if j < len(worth):
                worth[j] += stake * b / beliefs.pulls[j]


@inline
def towards_a_proof(problem: Problem, state: State, beliefs: Beliefs, leader: int, t: int) -> tuple[int, int]:
    """The proved arm, or the arm to pull for the rest of the proof if that is cheap enough; -1: neither."""
    case = case_of(problem, state)
    levels = equal_levels(case, problem.params.delta)
    arm = certified(case, levels, np.zeros(len(problem.costs), dtype=np.bool_))
    if arm >= 0:
        return arm, 1 + int(CALM * state.pulls[arm])
    if leader >= 0:
        cost, arm = missing(case, levels, leader, beliefs.price + FREE)
        if cost <= problem.params.proof * t:
            return arm, 1 + int(GROWTH * state.pulls[arm])
    return -1, 0


def case_of(problem: Problem, state: State) -> Case:
    """The sums in `state`, ready for `satisfice.proofs`; `problem` is one of the GLR policy."""
    against = 1.0 - problem.alpha, problem.reference, problem.mu0, noise(problem)
    return make_case(problem.costs, state.pulls, state.totals, *against, None, state.squares)


def proved_arm(problem: Problem, state: State) -> int:
    """The arm that is proved, at level `delta`, to be feasible, with all cheaper ones proved not to be; -1: none."""
    case = case_of(problem, state)
    nobody = np.zeros(len(problem.costs), dtype=np.bool_)
    return certified(case, equal_levels(case, problem.params.delta), nobody)
