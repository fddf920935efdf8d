"""PE: Pairwise Elimination against a known reference arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.policies.pairwise import STAGE_SIZE, compare, rounds_of
from satisfice.problem import ReferenceArm


@dataclass(frozen=True)
class PE(Policy):
    """Pairwise Elimination (the paper's Algorithm 1).

    Candidates meet the reference arm `ell` in ascending order of cost. In each round both are pulled up
    to `tau` times; the candidate wins when `(1 - alpha) (mean_ell + beta) < mean_i - beta`, is out when
    `mean_i + beta < (1 - alpha) (mean_ell - beta)`, and goes one round further otherwise. Pulls of `ell`
    are never discarded. The winner, or `ell` if nobody wins, is played for the rest of the horizon.

    Both regrets are O(log T) (Theorem 3.2), which matches the lower bound up to a constant. The bound is
    for rewards within [0, 1] and says nothing when a candidate lies exactly on the threshold.

    See also: `AsymmetricPE`, which also uses the pulls of `ell` beyond `tau`; `PECS` when nobody knows
    which arm is best.
    """

    id = "pe"
    settings = (ReferenceArm,)
    summary = "Pairwise Elimination, cheapest first, against the reference arm"

    def memory(self, arms: int) -> tuple[int, int]:
        return STAGE_SIZE + arms, 0

    @staticmethod
    @uncounted
    def start(problem: Problem, state: State) -> None:
        rounds_of(state).stage[0].winner = -1

    @staticmethod
    @uncounted
    @inline
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        return compare(problem, state, problem.reference, 0)
