"""Worlds with segments: kinds of traffic, each with its own means, in the simulator."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.contract import Problem, State
from satisfice.policies.kin import Kin, borrow
from satisfice.simulation.world import World, draw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def start(problem: Problem, state: State) -> None:
    raise NotImplementedError


def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> tuple[int, int]:
    raise NotImplementedError


def play(
    problem: Problem,
    costs: Floats,
    horizons: Ints,
    world: World,
    means: Floats,
    arrivals: Ints,
    kin: Kin,
    shared: bool,
    ints: Ints,
    floats: Floats,
    pulls: Ints,
    rng: np.random.Generator,
    calm: float,
) -> int:
    segments, arms = means.shape
    state = State(
        np.zeros(arms, dtype=np.int64),
        np.zeros(arms),
        np.zeros(ints.shape[1], dtype=np.int64),
        np.zeros(floats.shape[1]),
    )
    left = arrivals.copy()
    lent, sums, order = np.zeros(arms, dtype=np.int64), np.zeros(arms), np.arange(arms)
    when = np.full(segments, math.inf)
    arm_of = np.full(segments, -1)
    size = np.zeros(segments, dtype=np.int64)
    leases = 0
    for s in range(segments):
        if left[s] > 0:
            when[s] = rng.beta(1.0, left[s])
    for s in range(segments):
        p = Problem(
            costs[s],
            horizons[s],
            problem.alpha,
            problem.reference,
            problem.mu0,
            problem.bounded,
            problem.params,
            problem.binary,
            problem.sigma,
        )
        state.pulls[:] = 0
        state.totals[:] = 0.0
        state.ints[:] = 0
        state.floats[:] = 0.0
        start(p, state)
        ints[s, :] = state.ints
        floats[s, :] = state.floats
    while True:
        s = int(np.argmin(when))
        now = when[s]
        if now == math.inf:
            break
        if arm_of[s] < 0:
            p = Problem(
                costs[s],
                horizons[s],
                problem.alpha,
                problem.reference,
                problem.mu0,
                problem.bounded,
                problem.params,
                problem.binary,
                problem.sigma,
            )
            t = 0
            if shared:
                borrow(kin, s, p, order, lent, sums)
            for k in range(arms):
                t += pulls[s, k]
                state.pulls[k] = pulls[s, k] + lent[k]
                state.totals[k] = kin.totals[s, k] + sums[k]
            state.ints[:] = ints[s]
            state.floats[:] = floats[s]
            arm, count = decide(p, state, t, rng)
            ints[s, :] = state.ints
            floats[s, :] = state.floats
            leases += 1
            if arm < 0:
                return -1
            if shared:
                count = min(count, 1 + int(calm * t))
            count = min(count, left[s])
            arm_of[s], size[s] = arm, count
            left[s] -= count
            if count > 1:
                # The (count - 1)-th of the arrivals that are still to come in this segment.
                rest = left[s] + count - 1
                when[s] = now + (1.0 - now) * rng.beta(count - 1.0, rest - count + 2.0)
                continue
        k, count = arm_of[s], size[s]
        w = World(world.model, means[s], world.sigma, world.values, world.probabilities)
        total = draw(w, k, count, rng)
        pulls[s, k] += count
        kin.pulls[s, k] += count
        kin.totals[s, k] += total
        arm_of[s] = -1
        when[s] = now + (1.0 - now) * rng.beta(1.0, left[s]) if left[s] > 0 else math.inf
    return leases
