"""BAI(): best arm identification by rounds of elimination, the first stage of PE-CS."""

from __future__ import annotations

import numpy as np

from satisfice.policies.compiled import inline
from satisfice.policies.contract import Lease, Problem, State, mean, one_of
from satisfice.policies.pairwise import OMEGA, beta, is_open, tau

NOBODY: Lease = (-2, 0)


@inline
def leader(state: State, active: int, arms: int) -> int:
    """The active arm with the largest empirical mean, the cheapest among equals."""
    best = -1
    for k in range(arms):
        if state.ints[active + k] == 1 and (best < 0 or mean(state, k) > mean(state, best)):
            best = k
    return best


@inline
def identify(problem: Problem, state: State, active: int, rng: np.random.Generator) -> Lease:
    """The next lease of the identification, or `NOBODY` when at most one arm is active.

    `state.ints[active + k]` is 1 while arm `k` is active. At the end of a round an arm stays active if its
    mean plus `beta` reaches the largest mean minus `beta`. When one arm is left its round is not raised
    past what was sampled. Where a round that does not exist would be opened, the largest mean wins.
    """
    ints = state.ints
    arms = len(problem.costs)
    omega = 0
    count = 0
    for k in range(arms):
        omega = max(omega, ints[OMEGA + k])
        count += ints[active + k]
    if count <= 1:
        return NOBODY
    if not is_open(problem.horizon, omega):
        best = leader(state, active, arms)
        ints[active : active + arms] = 0
        ints[active + best] = 1
        ints[OMEGA + best] = max(omega - 1, 0)
        return NOBODY
    needed = tau(problem.horizon, omega)
    for k in range(arms):
        if ints[active + k] == 1 and state.pulls[k] < needed:
            return k, needed - state.pulls[k]
    buffer = beta(problem.horizon, omega)
    floor = mean(state, leader(state, active, arms)) - buffer
    count = 0
    for k in range(arms):
        if ints[active + k] == 1:
            if mean(state, k) + buffer >= floor:
                count += 1
            else:
                ints[active + k] = 0
    if count == 1:
        return NOBODY
    chosen = one_of(count, rng)
    lucky = -1
    for k in range(arms):
        if ints[active + k] == 1:
            ints[OMEGA + k] += 1
            if chosen == 0:
                lucky = k
            chosen -= 1
    return lucky, 1
