"""The engine: carries out a policy's leases on a simulated instance. One run, one call.

`run` is plain Python; `compiled_run` is the same function, linked to a policy and compiled. Both use the
random generator in the same way, so the same seed gives the same run in either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.contract import SWEEP, Policy, Problem, State, sound, unsound
from satisfice.problem import REWARD_MODELS, Instance
from satisfice.simulate.native import compile_native, link

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Engine = Callable[[Problem, State, "World", Floats, Floats, Ints, Floats, Floats, np.random.Generator], None]


NO_LEASE = "no lease"  # what the engine raises where a rule answers with none


class World(NamedTuple):
    """What the simulator knows and a policy does not. Arms in the policy's order."""

    model: int  # index into REWARD_MODELS
    means: Floats
    sigma: float
    values: Floats  # (levels,)
    probabilities: Floats  # (arms, levels)


def make_world(instance: Instance, order: Ints) -> World:
    """The world of an instance, with its arms in `order`."""
    return World(
        model=REWARD_MODELS.index(instance.reward),
        means=instance.means[order],
        sigma=float(instance.sigma),
        values=np.ascontiguousarray(instance.values),
        probabilities=np.ascontiguousarray(instance.probabilities[order]),
    )


def draw(world: World, arm: int, pulls: int, rng: np.random.Generator) -> float:
    """The sum of `pulls` independent rewards of an arm, drawn at once."""
    if world.model == 0:
        mean = world.means[arm]
        if pulls == 1:
            return 1.0 if rng.random() < mean else 0.0
        return float(rng.binomial(pulls, mean))
    if world.model == 1:
        return float(pulls * world.means[arm] + math.sqrt(pulls) * world.sigma * rng.standard_normal())
    # A multinomial draw, level by level: given the levels before, each count is binomial.
    total = 0.0
    left = pulls
    mass = 1.0
    for level in range(len(world.values)):
        share = world.probabilities[arm, level]
        if left > 0 and share > 0.0:
            count = left if share >= mass else rng.binomial(left, share / mass)
            total += count * world.values[level]
            left -= count
        mass -= share
    if left > 0:  # rounding left a sliver of mass: it belongs to the last possible level
        level = len(world.values) - 1
        while world.probabilities[arm, level] == 0.0:
            level -= 1
        total += left * world.values[level]
    return total


def start(problem: Problem, state: State) -> None:
    """Stands for the policy's `start` until the engine is linked to one."""
    raise NotImplementedError


def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Stands for the policy's `decide` until the engine is linked to one."""
    raise NotImplementedError


def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
    """Stands for the policy's `learn` until the engine is linked to one."""
    raise NotImplementedError


def run(
    problem: Problem,
    state: State,
    world: World,
    cost_gaps: Floats,
    quality_gaps: Floats,
    checkpoints: Ints,
    cost_curve: Floats,
    quality_curve: Floats,
    rng: np.random.Generator,
) -> None:
    """One run up to the last checkpoint, the horizon. Fills `state` and the two curves.

    A regret at a checkpoint is the sum over arms of gap times pulls up to then. Inside a lease the pulls at
    any time are known, so the curves are exact there too.
    """
    arms = len(problem.costs)
    horizon = checkpoints[-1]
    mark = 0
    t = 0
    start(problem, state)
    while t < horizon:
        arm, pulls = decide(problem, state, t, rng)
        if not sound(arm, pulls, arms):
            raise ValueError(NO_LEASE)
        pulls = min(pulls, horizon - t)
        sweep = arm == SWEEP
        width = arms if sweep else 1
        end = min(horizon, t + pulls * width)
        while checkpoints[mark] < end:
            cost, quality = 0.0, 0.0
            into = checkpoints[mark] - t
            for k in range(arms):
                n = state.pulls[k]
                if sweep:
                    n += (into + arms - 1 - k) // arms
                elif k == arm:
                    n += into
                cost += cost_gaps[k] * n
                quality += quality_gaps[k] * n
            cost_curve[mark], quality_curve[mark] = cost, quality
            mark += 1
        for k in range(0 if sweep else arm, arms if sweep else arm + 1):
            share = (end - t + arms - 1 - k) // arms if sweep else end - t
            if share > 0:
                total = draw(world, k, share, rng)
                state.pulls[k] += share
                state.totals[k] += total
                learn(problem, state, k, share, total, rng)
        t = end
    cost_curve[mark], quality_curve[mark] = 0.0, 0.0
    for k in range(arms):
        cost_curve[mark] += cost_gaps[k] * state.pulls[k]
        quality_curve[mark] += quality_gaps[k] * state.pulls[k]


def compiled_run(policy: Policy) -> Engine:
    """`run` for the rule of `policy`, compiled (from the cache on disk if it is there)."""
    cls = type(policy)
    return _honest(policy, compile_native(run, start=cls.start, decide=cls.decide, learn=cls.learn))


def plain_run(policy: Policy) -> Engine:
    """`run` for the rule of `policy`, in plain Python: slow, and the same."""
    cls = type(policy)
    return _honest(policy, link(run, start=cls.start, decide=cls.decide, learn=cls.learn))


def _honest(policy: Policy, engine: Engine) -> Engine:
    """The engine; where the rule answers with no lease, the error says whose rule and when."""

    def carry_out(problem: Problem, state: State, *rest: Any) -> None:
        try:
            engine(problem, state, *rest)
        except ValueError as error:
            if str(error) != NO_LEASE:
                raise
            raise unsound(policy.label, len(problem.costs), int(state.pulls.sum())) from None

    return carry_out
