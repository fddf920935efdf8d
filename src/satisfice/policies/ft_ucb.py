"""FT-UCB: the cheapest arm whose upper confidence bound reaches a fixed threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State, one_of
from satisfice.policies.index import CAUTION, safe_upper
from satisfice.problem import FixedThreshold


@dataclass(frozen=True)
class FTUCB(Policy):
    """Fixed Threshold UCB (the paper's appendix on the fixed threshold setting).

    Every arm once; then, at step `t`, the cheapest arm with `mean_i + sqrt(2 log t / n_i) >= mu_0`, or any
    arm at random when there is none. Equal costs: the larger bound. It needs no horizon.

    The cost regret is O(1) and the quality regret O(log T) (Theorem H.1), which matches the lower bound; both
    need rewards within [0, 1] and at least one arm that reaches `mu_0`.
    """

    id = "ft-ucb"
    settings = (FixedThreshold,)
    summary = "cheapest arm whose UCB reaches the fixed threshold"
    version = 2
    needs_horizon = False
    sweeps_first = True

    @staticmethod
    @uncounted
    @inline
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        if t < arms:
            return SWEEP, 1
        now = t + 1
        width = math.sqrt(2 * math.log(now))
        chosen = -1
        best = -math.inf
        rivals = 0
        until = math.inf  # the time before which no arm that is as cheap enters the set
        for k in range(arms):
            if chosen >= 0 and problem.costs[k] > problem.costs[chosen]:
                break
            n = state.pulls[k]
            gap = problem.mu0 - state.totals[k] / n
            bound = width / math.sqrt(n) - gap
            if bound >= 0.0:
                rivals += 1
                if bound > best:
                    chosen, best = k, bound
            else:
                until = min(until, math.exp(min(n * gap * gap / 2, 700.0)) / CAUTION)
        if chosen < 0:
            return one_of(arms, rng), 1
        if rivals > 1 or not problem.bounded:
            return chosen, 1
        pulls = safe_upper(state.pulls[chosen], state.totals[chosen], width, problem.mu0)
        if until < now + pulls:
            pulls = max(int(until) - now + 1, 1)
        return chosen, pulls
