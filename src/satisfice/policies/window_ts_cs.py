"""Sliding-window TS-CS: Thompson sampling on the last rewards alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.policies.discounted_ts_cs import counts_of, sampled
from satisfice.problem import BestReward

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Window(NamedTuple):
    """The last pulls: parts of `state.ints` and `state.floats`. Each is at the place that its number leaves."""

    seen: Ints  # (1,) pulls so far
    arms: Ints  # (window,) their arms, from 1
    rewards: Floats  # (window,) and rewards


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
        self.check_numbers()
        if not (1 <= self.window <= 1_000_000 and int(self.window) == self.window):
            raise InvalidPolicy(f"window-ts-cs: window = {self.window}; it must be a whole number up to 1,000,000")

    def memory(self, arms: int) -> tuple[int, int]:
        return 1 + int(self.window), 2 * arms + int(self.window)

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        if t < len(problem.costs):
            return SWEEP, 1
        return sampled(problem, counts_of(state), rng), 1

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        last, counts = window_of(state), counts_of(state)
        won, lost, window = counts.won, counts.lost, len(last.arms)
        for _ in range(min(pulls, window)):  # one, but for sums from before a change of costs, which are spread evenly
            reward = total / pulls
            place = last.seen[0] % window
            if last.seen[0] >= window:
                old = last.arms[place] - 1
                won[old] -= last.rewards[place]
                lost[old] -= 1.0 - last.rewards[place]
                won[old], lost[old] = max(won[old], 0.0), max(lost[old], 0.0)
            last.arms[place], last.rewards[place] = arm + 1, reward
            won[arm] += reward
            lost[arm] += 1.0 - reward
            last.seen[0] += 1


def window_of(state: State) -> Window:
    """The last pulls."""
    return Window(state.ints[:1], state.ints[1:], state.floats[2 * len(state.pulls) :])
