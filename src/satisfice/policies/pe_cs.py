"""PE-CS: best arm identification, then pairwise elimination against the arm that was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satisfice.policies.asymmetric_pe import check_kappa
from satisfice.policies.bai import identify
from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.policies.pairwise import STAGE_SIZE, compare, rounds_of
from satisfice.problem import BestReward


@dataclass(frozen=True)
class PECS(Policy):
    """Pairwise Elimination for Cost Subsidy (the paper's Algorithm 2).

    Stage one, `BAI()`: rounds of elimination among all arms until one is left, `ell`. Stage two: `PE()`
    against `ell`, where every arm goes on from the round that it reached. When the best arm is the cheapest
    there is no candidate, and `ell` itself is played (the paper's pseudo-code would repeat its last pull).

    Parameters
    ----------
    kappa : int
        0 (the default) is the paper's Algorithm; above 0 the second stage is `Asymmetric_PE()`. The
        published figures used 5.

    Notes
    -----
    Both regrets are O(log T) (Theorem 3.4); the bound depends on the gap between the two best arms also
    where no good policy needs to, so it is not order optimal on every instance. It is stated for `kappa` = 0
    and rewards within [0, 1], and says nothing when two arms tie for the best mean.
    """

    kappa: int = 0

    id = "pe-cs"
    settings = (BestReward,)
    summary = "best arm identification, then Pairwise Elimination against the best arm"
    version = 2

    def __post_init__(self) -> None:
        check_kappa(self.id, self.kappa)

    def memory(self, arms: int) -> tuple[int, int]:
        return STAGE_SIZE + 2 * arms, 0

    @staticmethod
    @uncounted
    def start(problem: Problem, state: State) -> None:
        rounds = rounds_of(state)
        rounds.stage[0].winner = -1
        rounds.active[:] = 1

    @staticmethod
    @uncounted
    @inline
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arm, pulls = identify(problem, state, rng)
        if pulls > 0:
            return arm, pulls
        ell, active = 0, rounds_of(state).active
        while active[ell] == 0:
            ell += 1
        return compare(problem, state, ell, int(problem.params.kappa))
