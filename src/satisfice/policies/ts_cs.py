"""TS-CS: the cheapest arm whose posterior sample reaches (1 - alpha) times the largest sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.problem import BestReward


@dataclass(frozen=True)
class TSCS(Policy):
    """Cost-subsidized Thompson sampling (the paper's Algorithm in the appendix, after Sinha et al., 2021).

    Every arm once; then at every step `theta_i ~ Beta(S_i + 1, F_i + 1)`, independently, and the cheapest arm
    with `theta_i >= (1 - alpha) max_j theta_j`, where `S_i` and `F_i` count successes and failures. Equal
    costs: the larger sample. A reward strictly between 0 and 1 counts as a success with its own probability.

    No regret bound is known. A dear arm that was hardly tried keeps a wide posterior, for it is played only
    when no cheaper arm is feasible; its large samples then make good cheap arms infeasible again and again.
    """

    id = "ts-cs"
    settings = (BestReward,)
    summary = "cheapest arm whose posterior sample reaches (1 - alpha) x the largest sample"
    needs_horizon = False
    bounded_only = True

    def memory(self, arms: int) -> tuple[int, int]:
        return 0, 2 * arms

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        if t < arms:
            return SWEEP, 1
        theta = state.floats[arms:]
        top = 0.0
        for k in range(arms):
            won = math.floor(state.totals[k] + state.floats[k] + 0.5)
            theta[k] = rng.beta(won + 1.0, state.pulls[k] - won + 1.0)
            top = max(top, theta[k])
        chosen = -1
        for k in range(arms):
            if chosen >= 0 and problem.costs[k] > problem.costs[chosen]:
                break
            if theta[k] >= (1.0 - problem.alpha) * top and (chosen < 0 or theta[k] > theta[chosen]):
                chosen = k
        return chosen, 1

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        whole = math.floor(total)
        if whole < total:
            success = 1.0 if rng.random() < total - whole else 0.0
            state.floats[arm] += whole + success - total
