"""Asymmetric-PE: PE in which the reference arm's own, more advanced round sets its buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satisfice.errors import InvalidPolicy
from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.policies.pairwise import STAGE_SIZE, compare, rounds_of
from satisfice.problem import ReferenceArm


@dataclass(frozen=True)
class AsymmetricPE(Policy):
    """Asymmetric Pairwise Elimination (the paper's Appendix on Asymmetric-PE).

    As `PE`, but the buffer of `ell` belongs to the round `min(omega_i + kappa, omega_ell)`: the reference
    arm keeps its samples from episode to episode, so its buffer may be smaller than the candidate's.

    Parameters
    ----------
    kappa : int
        Largest number of rounds by which `ell` may be ahead of the candidate. 0 is `PE`.

    Notes
    -----
    The constants of the regret bound grow with `kappa`; the order, O(log T), does not.
    """

    kappa: int = 5

    id = "asymmetric-pe"
    settings = (ReferenceArm,)
    summary = "PE that uses all samples of the reference arm, up to kappa rounds ahead"

    def __post_init__(self) -> None:
        check_kappa(self.id, self.kappa)

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
        return compare(problem, state, problem.reference, int(problem.params.kappa))


def check_kappa(policy: str, kappa: int) -> None:
    """Raise `InvalidPolicy` unless `kappa` is a number of rounds."""
    if isinstance(kappa, bool) or not isinstance(kappa, (int, np.integer)) or not 0 <= kappa <= 1000:
        raise InvalidPolicy(f"{policy}: kappa = {kappa!r}; it must be a whole number from 0 to 1000")
