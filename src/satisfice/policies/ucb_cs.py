"""UCB-CS: the cheapest arm whose upper confidence bound reaches (1 - alpha) times the reference's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satisfice.arrays import record
from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.policies.index import cheapest, safe_upper, upper
from satisfice.problem import BestReward, ReferenceArm


class Index:
    """The UCB of an arm, so that only that of an arm with new rewards is computed: a record in `state.floats`."""

    pulls: float  # what it was made of
    total: float
    index: float


INDEX = record(Index)


@dataclass(frozen=True)
class UCBCS(Policy):
    """Cost-subsidized UCB (the paper's Algorithm in the appendix, after Sinha et al., 2021).

    Every arm once; then, with `UCB_i = min(mean_i + sqrt(2 log T / n_i), 1)`, the cheapest arm with
    `UCB_i >= (1 - alpha) UCB_ell`, where `ell` has the largest UCB, or is the known reference arm (the
    paper's "UCB-CS known ell"). Equal costs: the larger UCB.

    No regret bound is known, and its regret is linear on many instances: a dear arm that was pulled once
    keeps a UCB of 1 for ever, and every arm with a mean below 1 - alpha is then given up.
    """

    id = "ucb-cs"
    settings = (BestReward, ReferenceArm)
    summary = "cheapest arm whose UCB reaches (1 - alpha) x the reference's UCB"
    version = 2
    until_zeros = True
    sweeps_first = True

    def memory(self, arms: int) -> tuple[int, int]:
        return 0, len(INDEX) * arms

    @staticmethod
    @uncounted
    @inline
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        if t < arms:
            return SWEEP, 1
        width = math.sqrt(2 * math.log(problem.horizon))
        scale = 1.0 - problem.alpha
        top, second, ell = -math.inf, -math.inf, problem.reference
        known = state.floats.view(INDEX)
        for k in range(arms):
            if state.pulls[k] != known[k].pulls or state.totals[k] != known[k].total:
                known[k].pulls, known[k].total = state.pulls[k], state.totals[k]
                known[k].index = upper(state.pulls[k], state.totals[k], width)
            index = known[k].index
            if problem.reference < 0 and index > top:
                top, second, ell = index, top, k
            else:
                second = max(second, index)
        if problem.reference >= 0:
            top = upper(state.pulls[ell], state.totals[ell], width)
        chosen, cheaper, tied = cheapest(problem, state, width, scale * top)
        if not problem.bounded:
            # With means below 0 nobody may reach (1 - alpha) times the largest one; the paper has no such case.
            return chosen if chosen >= 0 else ell, 1
        # The choice stands while the arm's UCB is at least `level`: it must reach the threshold that the others
        # set, stay ahead of arms of its own cost, and, where it sets the threshold, keep the cheaper arms below it.
        level = tied
        others = second if chosen == ell else top
        if chosen != ell or problem.reference < 0:
            level = max(level, scale * others)
        if chosen == ell and cheaper >= 0.0 and (problem.reference >= 0 or cheaper >= scale * others):
            level = max(level, cheaper / scale)
        return chosen, safe_upper(state.pulls[chosen], state.totals[chosen], width, level)
