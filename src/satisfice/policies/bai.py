"""BAI(): best arm identification by rounds of elimination, the first stage of PE-CS."""

from __future__ import annotations

import numpy as np

from satisfice.policies.compiled import inline
from satisfice.policies.contract import Lease, Problem, State, mean, one_of
from satisfice.policies.pairwise import Ints, beta, is_open, rounds_of, tau

NOBODY: Lease = (-2, 0)


@inline
def leader(state: State, active: Ints) -> int:
    """The active arm with the largest empirical mean, the cheapest among equals."""
    best = -1
    for k in range(len(active)):
        if active[k] == 1 and (best < 0 or mean(state, k) > mean(state, best)):
            best = k
    return best


@inline
def identify(problem: Problem, state: State, rng: np.random.Generator) -> Lease:
    """The next lease of the identification, or `NOBODY` when at most one arm is active.

    At the end of a round an arm stays active if its
    mean plus `beta` reaches the largest mean minus `beta`. When one arm is left its round is not raised
    past what was sampled. Where a round that does not exist would be opened, the largest mean wins.
    """
    rounds = rounds_of(state)
    active = rounds.active
    arms = len(problem.costs)
    omega = 0
    count = 0
    for k in range(arms):
        omega = max(omega, rounds.omega[k])
        count += active[k]
    if count <= 1:
        return NOBODY
    if not is_open(problem.horizon, omega):
        best = leader(state, active)
        active[:] = 0
        active[best] = 1
        rounds.omega[best] = max(omega - 1, 0)
        return NOBODY
    needed = tau(problem.horizon, omega)
    for k in range(arms):
        if active[k] == 1 and state.pulls[k] < needed:
            return k, needed - state.pulls[k]
    buffer = beta(problem.horizon, omega)
    floor = mean(state, leader(state, active)) - buffer
    count = 0
    for k in range(arms):
        if active[k] == 1:
            if mean(state, k) + buffer >= floor:
                count += 1
            else:
                active[k] = 0
    if count == 1:
        return NOBODY
    chosen = one_of(count, rng)
    lucky = -1
    for k in range(arms):
        if active[k] == 1:
            rounds.omega[k] += 1
            if chosen == 0:
                lucky = k
            chosen -= 1
    return lucky, 1
