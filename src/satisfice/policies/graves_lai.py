"""Graves-Lai: evidence bought in instalments, at the prices of the Graves-Lai program; its regret is bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.covering import cheapest
from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.policies.leader import bar_of, right_arm
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.proofs import opposing
from satisfice.statistics import evidence, kl, nearest

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Pulls of every arm before anything is believed.
FIRST = 10
# A lease of the arm that is played, as a share of all pulls.
CALM = 0.05
# An instalment, the e-th, pulls no arm more often than `MOST e^2` times.
MOST = 10_000.0
# The regret of a pull that is counted at least: prices must be above 0.
FREE = 1e-6


class Purchase(NamedTuple):
    """What was bought: the parts of `state.ints` and `state.floats`."""

    instalments: Ints  # (1,) so far
    left: Ints  # (arms,) pulls of the last one that are still to come
    nats: Floats  # (1,) so far


@dataclass(frozen=True)
class GravesLai(Policy):
    """Play the arm that looks right while likelihoods prove it at level `(1 + gamma) log t`, else buy an instalment.

    Let `a` be the right arm by the means so far. Every other choice needs alternatives `lambda` in which `a` is not
    right, and what was seen speaks against the likeliest of them with `Z = min sum of n_k kl(m_k, lambda_k)` nats, over
    all arms. While `Z >= (1 + gamma) log t`, play `a`. Else buy `h` nats more, `h = sqrt(1 + nats bought so far)`: arm
    `k` is pulled `h c_k` times, where `c` solves the program of Graves and Lai for the means so far
    (`satisfice.covering.cheapest`), `a` among them, whose pulls are free if it is right. The e-th instalment at most
    triples the pulls of an arm other than `a` (but for `(e + 1)^2`); before it every arm has `max(10, e - 1)` pulls.

    Parameters
    ----------
    gamma : float
        How much more than `log t` nats are asked for, relatively. 0 stands for `log t + (3 K + 2) log log t`, with `K`
        arms: the regret is then optimal as `T` grows, and larger at all times that matter.

    Notes
    -----
    Proved in `docs/theorem.md`, for Bernoulli rewards with means within (0, 1), different costs, no mean exactly on the
    threshold, and the right arm's not exactly `1 - alpha`: the regret up to `T` is at most `(1 + gamma) C log T` plus
    terms of smaller order, `C` being the value of the Graves-Lai program (`sf.bounds.regret`) to within the precision
    with which it is solved, below which no consistent policy is; with `gamma = 0` at most `C log T` to first order.
    What it loses against `glr` at finite `T` is measured there. Where no arm reaches a fixed threshold, the best one
    found is played once that is as sure.

    See also: `GLR`, which buys evidence by what it is worth, and of whose regret nothing is proved.
    """

    gamma: float = 0.1

    id = "graves-lai"
    settings = (BestReward, ReferenceArm, FixedThreshold)
    summary = "plays what is proved at level log t, else buys evidence at the prices of the Graves-Lai program"
    needs_horizon = False
    bounded_only = True

    def __post_init__(self) -> None:
        self.check_numbers()
        if not 0 <= self.gamma < math.inf:
            raise InvalidPolicy(f"graves-lai: gamma = {self.gamma}; it must be a number of at least 0")

    def memory(self, arms: int) -> tuple[int, int]:
        return 1 + arms, 1

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms, bought = len(problem.costs), purchase_of(state)
        for k in range(arms):
            if bought.left[k] > 0:
                return take(bought, k)
        wanted = max(FIRST, bought.instalments[0])
        means = np.zeros(arms)
        for k in range(arms):
            if state.pulls[k] < wanted:
                return k, wanted - state.pulls[k]
            means[k] = (state.totals[k] + 1.0) / (state.pulls[k] + 2.0)
        leader = right_arm(problem, means)
        if support(problem, state, leader) >= asked(problem, t):
            arm = leader if leader >= 0 else int(np.argmax(means))
            return arm, 1 + int(CALM * t)
        buy(problem, state, leader, means)
        for k in range(arms):
            if bought.left[k] > 0:
                return take(bought, k)
        return max(leader, 0), 1


def purchase_of(state: State) -> Purchase:
    """What was bought so far."""
    return Purchase(state.ints[:1], state.ints[1:], state.floats)


def take(bought: Purchase, arm: int) -> Lease:
    """The pulls of one arm that are left of an instalment, as a lease."""
    pulls = bought.left[arm]
    bought.left[arm] = 0
    return arm, pulls


def asked(problem: Problem, t: int) -> float:
    """The nats that playing an arm needs after `t` pulls."""
    nats, gamma = math.log(t + 1.0), float(problem.params.gamma)
    if gamma > 0.0:
        return (1.0 + gamma) * nats
    return nats + (3.0 * len(problem.costs) + 2.0) * math.log(max(nats, 1.0))


def support(problem: Problem, state: State, leader: int) -> float:
    """Nats in what was seen that `leader` is the right arm: `min sum of n_k kl(m_k, lambda_k)` over all other truths.

    -1, as the leader, stands for "no arm reaches the fixed threshold".
    """
    arms, scale = len(problem.costs), 1.0 - problem.alpha
    first, last = opposing(arms, scale, problem.reference, problem.mu0, 0.0)
    if first == last:
        return math.inf  # every arm is good enough, and the first is the cheapest
    pulls, means = np.zeros(arms), np.zeros(arms)
    for k in range(arms):
        pulls[k] = state.pulls[k]
        means[k] = state.totals[k] / state.pulls[k]
    least = math.inf
    if first == arms:
        for i in range(arms if leader < 0 else leader + 1):
            feasible = means[i] >= problem.mu0
            least = min(least, pulls[i] * kl(means[i], problem.mu0) if feasible == (i == leader) else 0.0)
        return least
    for j in range(first, last):
        if j != leader:
            kept = means[leader] >= scale * means[j]
            z = evidence(pulls[leader], means[leader], pulls[j], means[j], scale) if kept else 0.0
            least = min(least, z)
    for i in range(leader):
        least = min(least, together(pulls, means, i, scale, problem.reference))
    return least


def together(pulls: Floats, means: Floats, i: int, scale: float, reference: int = -1) -> float:
    """Nats against arm `i` being good enough: the least `n_i kl(m_i, scale x) + sum of n_j kl(m_j, x)`, `m_j > x`.

    Arms are added by mean, the largest first, while they are above `x`: their rewards count as those of one arm, and
    `x` is where that arm and arm `i` meet. With a `reference`, that one alone.

    Examples
    --------
    >>> pulls, means = np.array([100.0, 100.0, 100.0]), np.array([0.5, 0.9, 0.9])
    >>> alone = together(pulls[:2], means[:2], 0, scale=0.9)
    >>> round(float(alone), 3), round(float(together(pulls, means, 0, scale=0.9)), 3)
    (13.738, 17.845)
    """
    n, total, x, last = 0.0, 0.0, 0.0, math.inf
    while True:
        top = -1.0  # the next mean below the last one
        for j in range(len(means)):
            if means[j] < last and (reference < 0 or j == reference):
                top = max(top, means[j])
        if top < 0.0 or (n > 0.0 and top <= x):
            break
        for j in range(len(means)):
            if means[j] == top and (reference < 0 or j == reference):
                n += pulls[j]
                total += pulls[j] * top
        if means[i] >= scale * total / n:
            return 0.0
        x, last = nearest(pulls[i], means[i], n, total / n, scale), top
    nats = pulls[i] * kl(means[i], scale * x)
    for j in range(len(means)):
        if means[j] >= last and (reference < 0 or j == reference):
            nats += pulls[j] * kl(means[j], x)
    return float(nats)


def buy(problem: Problem, state: State, leader: int, means: Floats) -> None:
    """Write the pulls of the next instalment into the memory of the rule."""
    arms, bought = len(problem.costs), purchase_of(state)
    bought.instalments[0] += 1
    turn = float(bought.instalments[0] * bought.instalments[0])
    size = math.sqrt(1.0 + bought.nats[0])
    needs = rates(problem, leader, means)
    share = 1.0
    for k in range(arms):
        most = min(2.0 * state.pulls[k] + turn, MOST * turn)
        if share * size * needs[k] > most:
            share = most / (size * needs[k])
    bought.nats[0] += share * size
    longest = 0.0
    for k in range(arms):
        pulls = math.ceil(share * size * needs[k])
        longest = max(longest, float(pulls))
        bought.left[k] = pulls
    if leader >= 0:
        bought.left[leader] = math.ceil(math.sqrt(bought.nats[0]) * (share * size + longest))


def rates(problem: Problem, leader: int, means: Floats) -> Floats:
    """Pulls of every arm per nat at the least regret, were these the true means; 0 for the leader."""
    arms, scale = len(problem.costs), 1.0 - problem.alpha
    if not math.isnan(problem.mu0):
        needs = np.zeros(arms)
        for i in range(arms if leader < 0 else leader):
            needs[i] = 1.0 / max(kl(means[i], problem.mu0), 1e-12)
        return needs
    bar, prices = bar_of(problem, means), np.zeros(arms)
    for k in range(arms):
        short = max(bar - means[k], 0.0)
        prices[k] = max(short + max(problem.costs[k] - problem.costs[leader], 0.0), FREE)
    return cheapest(means, prices, leader, scale, problem.reference)
