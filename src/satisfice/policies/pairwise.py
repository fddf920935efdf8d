"""Pairwise elimination: the rounds, and the paper's functions PE() and Asymmetric_PE().

A piece that PE, Asymmetric-PE and PE-CS share. In round `omega` the gap to be resolved is
`2^-omega`; both arms of a pair need `tau = ceil(2 log(T 4^-omega) 4^omega)` pulls, and their means are
then compared with a buffer of `beta = sqrt(log(T 4^-omega) / (2 tau))` on each side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.arrays import record
from satisfice.policies.compiled import inline
from satisfice.policies.contract import Lease, Problem, State, mean

Ints = NDArray[np.int64]


class Stage:
    """How far the elimination is: a record in `state.ints`."""

    episode: int  # the candidate that meets the reference arm
    winner: int  # -1: none yet


STAGE = record(Stage)
STAGE_SIZE = len(STAGE)


class Rounds(NamedTuple):
    """What the piece remembers: views of `state.ints`."""

    stage: Sequence[Stage]  # (1,): tuples of compiled code hold no records
    omega: Ints  # (arms,) the round of every arm
    active: Ints  # (arms,) 1 for those that are left in the identification of the best one; (0,) where there is none


def rounds_of(state: State) -> Rounds:
    """What the piece remembers in `state`."""
    ints, end = state.ints, STAGE_SIZE + len(state.pulls)
    return Rounds(ints[:STAGE_SIZE].view(STAGE), ints[STAGE_SIZE:end], ints[end:])


def gap_squared(omega: int) -> float:
    """The square of the gap `2^-omega` that round `omega` resolves."""
    return math.ldexp(1.0, -2 * int(omega))


def is_open(horizon: int, omega: int) -> bool:
    """Whether a round exists: beyond it `log(T 4^-omega)`, and with it `tau`, would fade to nothing."""
    return horizon * gap_squared(omega) > math.e


def tau(horizon: int, omega: int) -> int:
    """Pulls that an arm needs by the end of round `omega`."""
    square = gap_squared(omega)
    return math.ceil(2 * math.log(horizon * square) / square)


def beta(horizon: int, omega: int) -> float:
    """Buffer around an empirical mean at the end of round `omega`."""
    return math.sqrt(math.log(horizon * gap_squared(omega)) / (2 * tau(horizon, omega)))


@inline
def compare(problem: Problem, state: State, ell: int, kappa: int) -> Lease:
    """The next lease of the candidates, cheapest first, against the reference arm `ell`.

    This is `Asymmetric_PE()`; with `kappa` = 0 it is `PE()`, since `omega_ell >= omega_i` always. Where a
    round that does not exist would be opened, the pair is decided by the empirical means.
    """
    rounds = rounds_of(state)
    stage, omega = rounds.stage[0], rounds.omega
    while stage.winner < 0:
        i = stage.episode
        if i == ell:
            stage.winner = ell
            break
        omega_i = omega[i]
        scale = 1.0 - problem.alpha
        if not is_open(problem.horizon, omega_i):
            if mean(state, i) >= scale * mean(state, ell):
                stage.winner = i
                break
            stage.episode = i + 1
            return i + 1, 1
        missing = tau(problem.horizon, omega_i) - state.pulls[i]
        if missing > 0:
            return i, missing
        omega_ell = min(omega_i + kappa, omega[ell])
        missing = tau(problem.horizon, omega_ell) - state.pulls[ell]
        if missing > 0:
            return ell, missing
        beta_i, beta_ell = beta(problem.horizon, omega_i), beta(problem.horizon, omega_ell)
        if scale * (mean(state, ell) + beta_ell) < mean(state, i) - beta_i:
            stage.winner = i
        elif mean(state, i) + beta_i < scale * (mean(state, ell) - beta_ell):
            stage.episode = i + 1
            return i + 1, 1  # the paper samples the next candidate at once, whatever it has
        else:
            omega[i] = omega_i + 1
            if is_open(problem.horizon, omega_i + 1):
                omega[ell] = max(omega_i + 1, omega[ell])
    return stage.winner, max(problem.horizon, 1)
