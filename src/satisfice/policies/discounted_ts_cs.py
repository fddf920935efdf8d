"""Discounted TS-CS: Thompson sampling that forgets old rewards little by little."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.problem import BestReward

Floats = NDArray[np.float64]


class Counts(NamedTuple):
    """What counts of every arm: the parts of `state.floats`."""

    won: Floats  # (arms,) S
    lost: Floats  # (arms,) F


@dataclass(frozen=True)
class DiscountedTSCS(Policy):
    """TS-CS on discounted counts: with every pull, all successes and failures so far count `discount` times as much.

    Every arm once; then at every step `theta_i ~ Beta(S_i + 1, F_i + 1)` and the cheapest arm with `theta_i >= (1 -
    alpha) max_j theta_j` (discounted Thompson sampling, Raj and Kalyani, 2017, with TS-CS's choice). A baseline for
    worlds that change: it forgets what is still true as well, so it explores for ever, and proves nothing.

    Parameters
    ----------
    discount : float
        Within (0, 1]; 0 (the default) stands for `1 - 1 / (4 sqrt(T))`, the usual choice for one change in `T` pulls.
    """

    discount: float = 0.0

    id = "discounted-ts-cs"
    changing = True
    settings = (BestReward,)
    summary = "TS-CS that forgets old rewards little by little; a baseline for worlds that change"
    bounded_only = True

    def __post_init__(self) -> None:
        self.check_numbers()
        if not 0 <= self.discount <= 1:
            raise InvalidPolicy(f"discounted-ts-cs: discount = {self.discount}; it must be within (0, 1], or 0")

    def memory(self, arms: int) -> tuple[int, int]:
        return 0, 2 * arms

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        if t < len(problem.costs):
            return SWEEP, 1
        return sampled(problem, counts_of(state), rng), 1

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        counts = counts_of(state)
        rate: float = problem.params.discount
        if rate <= 0.0:
            rate = 1.0 - 0.25 / math.sqrt(problem.horizon)
        state.floats[:] *= rate**pulls
        counts.won[arm] += total
        counts.lost[arm] += pulls - total


def counts_of(state: State) -> Counts:
    """What counts of every arm."""
    arms = len(state.pulls)
    return Counts(state.floats[:arms], state.floats[arms : 2 * arms])


def sampled(problem: Problem, counts: Counts, rng: np.random.Generator) -> int:
    """The cheapest arm whose posterior sample reaches `(1 - alpha)` times the largest."""
    arms = len(problem.costs)
    theta = np.zeros(arms)
    for k in range(arms):
        theta[k] = rng.beta(counts.won[k] + 1.0, max(counts.lost[k], 0.0) + 1.0)
    bar = (1.0 - problem.alpha) * theta.max()
    for k in range(arms):
        if theta[k] >= bar:
            return k
    return arms - 1
