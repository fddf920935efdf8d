"""ETC-CS: explore every arm equally, then play the cheapest arm that may be good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satisfice.errors import InvalidPolicy
from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.policies.index import cheapest, lower, safe_lower, safe_upper
from satisfice.problem import BestReward


def exploration(horizon: int, arms: int, c: float) -> int:
    """The exploration budget `tau = ceil(c (T / K)^(2/3))` of every arm."""
    budget: int = math.ceil(c * (horizon / arms) ** (2 / 3))
    return max(budget, 1)


@dataclass(frozen=True)
class ETCCS(Policy):
    """Cost-subsidized explore-then-commit (the paper's Algorithm in the appendix, after Sinha et al., 2021).

    Every arm in turn, `tau = ceil(c (T / K)^(2/3))` times; then, with the buffer `sqrt(2 log T / n_i)` and
    bounds cut to [0, 1], the cheapest arm with `UCB_i >= (1 - alpha) max_j LCB_j`. Equal costs: the larger UCB.

    Parameters
    ----------
    c : float
        Factor of the exploration budget; the paper found 5 to do best.

    Notes
    -----
    Its regret is O(T^(2/3)), on every instance: it explores as long on easy ones as on hard ones.
    """

    c: float = 5

    id = "etc-cs"
    settings = (BestReward,)
    summary = "explore every arm c (T / K)^(2/3) times, then the cheapest arm that may be feasible"

    def __post_init__(self) -> None:
        self.check_numbers()
        if not (np.isfinite(self.c) and self.c > 0):
            raise InvalidPolicy(f"{self.id}: c = {self.c!r}; it must be a number above 0")

    @staticmethod
    @uncounted
    @inline
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        least = state.pulls[0]
        for k in range(1, arms):
            least = min(least, state.pulls[k])
        sweeps = exploration(problem.horizon, arms, problem.params.c) - least
        if sweeps > 0:
            return SWEEP, sweeps
        width = math.sqrt(2 * math.log(problem.horizon))
        scale = 1.0 - problem.alpha
        top, second, ell = -math.inf, -math.inf, 0
        for k in range(arms):
            index = lower(state.pulls[k], state.totals[k], width)
            if index > top:
                top, second, ell = index, top, k
            else:
                second = max(second, index)
        chosen, cheaper, tied = cheapest(problem, state, width, scale * top)
        if not problem.bounded:
            # With means below 0 nobody may reach (1 - alpha) times the largest one; the paper has no such case.
            return chosen if chosen >= 0 else ell, 1
        # The choice stands while the arm's UCB is at least the threshold that the others' LCBs set and ahead of arms
        # of its own cost, and, where its own LCB sets the threshold, while that keeps the cheaper arms below it.
        others = second if chosen == ell else top
        pulls = safe_upper(state.pulls[chosen], state.totals[chosen], width, max(tied, scale * others))
        if chosen == ell and cheaper >= 0.0 and cheaper >= scale * others:
            pulls = min(pulls, safe_lower(state.pulls[chosen], state.totals[chosen], width, cheaper / scale))
        return chosen, pulls
