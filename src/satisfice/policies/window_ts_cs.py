"""Sliding-window TS-CS: Thompson sampling on the last rewards alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.policies.discounted_ts_cs import sampled
from satisfice.problem import BestReward


@dataclass(frozen=True)
class WindowTSCS(Policy):
    """TS-CS on the last `window` pulls: what is older does not count.

    Every arm once; then at every step `theta_i ~ Beta(S_i + 1, F_i + 1)` over the window, and the cheapest arm with
    `theta_i >= (1 - alpha) max_j theta_j` (sliding-window Thompson sampling, Trovo et al., 2020, with TS-CS's choice).
    A baseline for worlds that change: an arm that fell out of the window is as unknown as at the beginning.

    Parameters
    ----------
    window : int
        Pulls that count, from 1 to 1,000,000.
    """

    window: int = 2000

    id = "window-ts-cs"
    changing = True
    settings = (BestReward,)
    summary = "TS-CS on the last pulls alone; a baseline for worlds that change"
    needs_horizon = False
    bounded_only = True

    def __post_init__(self) -> None:
        if not (1 <= self.window <= 1_000_000 and int(self.window) == self.window):
            raise InvalidPolicy(f"window-ts-cs: window = {self.window}; it must be a whole number up to 1,000,000")

    def memory(self, arms: int) -> tuple[int, int]:
        return 1 + int(self.window), 2 * arms + int(self.window)

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        if t < arms:
            return SWEEP, 1
        return sampled(problem, state.floats[:arms], state.floats[arms : 2 * arms], rng), 1

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        arms, window = len(problem.costs), len(state.ints) - 1
        won, lost, rewards = state.floats[:arms], state.floats[arms : 2 * arms], state.floats[2 * arms :]
        for _ in range(min(pulls, window)):  # one, but for sums from before a change of costs, which are spread evenly
            reward = total / pulls
            place = state.ints[0] % window
            if state.ints[0] >= window:
                old = state.ints[1 + place] - 1
                won[old] -= rewards[place]
                lost[old] -= 1.0 - rewards[place]
                won[old], lost[old] = max(won[old], 0.0), max(lost[old], 0.0)
            state.ints[1 + place], rewards[place] = arm + 1, reward
            won[arm] += reward
            lost[arm] += 1.0 - reward
            state.ints[0] += 1
