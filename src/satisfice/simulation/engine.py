"""The engine: carries out a policy's leases in a simulated world. One run, one call.

`run` is plain Python; `compiled_run` is the same function, linked to a policy and compiled. Both use the
random generator in the same way, so the same seed gives the same run in either.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.compiled import compile_native, compiled_before, link, uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State, sound, unsound
from satisfice.simulation.common import CommonWorld, as_it_is, draw_common
from satisfice.simulation.regret import add_up
from satisfice.simulation.streams import Words, reachable, settable
from satisfice.simulation.world import World, draw, stretch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Engine = Callable[[Problem, State, World | CommonWorld, Ints, Ints, np.random.Generator], None]


def start(problem: Problem, state: State) -> None:
    """Stands for the policy's `start` until the engine is linked to one."""
    raise NotImplementedError


def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Stands for the policy's `decide` until the engine is linked to one."""
    raise NotImplementedError


def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
    """Stands for the policy's `learn` until the engine is linked to one."""
    raise NotImplementedError


def share_of(k: int, arm: int, steps: int, arms: int) -> int:
    """The pulls of arm `k` among the first `steps` pulls of a lease of `arm`.

    Examples
    --------
    >>> [share_of(k, SWEEP, 5, arms=3) for k in range(3)], [share_of(k, 1, 5, arms=3) for k in range(3)]
    ([2, 2, 1], [0, 5, 0])
    """
    if arm == SWEEP:
        return (steps + arms - 1 - k) // arms
    return steps if k == arm else 0


@uncounted
def run(problem: Problem, state: State, world: World, checkpoints: Ints, record: Ints, rng: np.random.Generator) -> int:
    """One run up to the last checkpoint, the horizon. Fills `state`, and in `record`, (checkpoints, arms), the pulls
    of every arm up to each checkpoint. Inside a lease the pulls at any time are known, so these are exact there too.

    Answers with the number of pulls: the horizon, or less where the rule answered with no lease.
    """
    arms = len(problem.costs)
    horizon = checkpoints[-1]
    mark = 0
    t = 0
    done = record[-1]  # what was pulled; a rule may begin anew with an arm in `state`
    done[:] = 0
    start(problem, state)
    while t < horizon:
        arm, pulls = decide(problem, state, t, rng)
        if not sound(arm, pulls, arms):
            break
        pulls, ones = stretch(world, arm, pulls, horizon - t, rng)
        sweep = arm == SWEEP
        end = min(horizon, t + pulls * (arms if sweep else 1))
        while checkpoints[mark] < end:
            for k in range(arms):
                record[mark, k] = done[k] + share_of(k, arm, checkpoints[mark] - t, arms)
            mark += 1
        for k in range(0 if sweep else arm, arms if sweep else arm + 1):
            share = share_of(k, arm, end - t, arms)
            if share > 0:
                total, squares = (ones, ones) if ones >= 0.0 else draw(world, k, share, rng)
                done[k] += share
                state.pulls[k] += share
                state.totals[k] += total
                state.squares[k] += squares
                learn(problem, state, k, share, total, rng)
        t = end
    return t


@uncounted
def recall(state: State, begun: State) -> None:
    """Make a state equal to another one. In loops: NumPy would make copies, lest the arrays overlap."""
    for k in range(len(state.pulls)):
        state.pulls[k] = begun.pulls[k]
        state.totals[k] = begun.totals[k]
        state.squares[k] = begun.squares[k]
    for i in range(len(state.ints)):
        state.ints[i] = begun.ints[i]
    for i in range(len(state.floats)):
        state.floats[i] = begun.floats[i]


class Outset(NamedTuple):
    """What many runs begin with, and where their random numbers come from."""

    begun: State  # what the rule knows at the beginning of every run, as a rule mostly: nothing
    streams: Words  # (runs, 4) the state of the generator at the beginning of every run
    rng: np.random.Generator
    words: Words  # (4,) the state of `rng` itself: what is written here it goes on from
    half: NDArray[np.int32]  # (1,) whether `rng` has half a number left over


class Sheet(NamedTuple):
    """What many runs fill in, and what that is made of."""

    order: Ints  # (arms,) the place of the policy's arms
    gaps: Floats  # (kinds, arms)
    pulls: Ints  # (runs, arms) filled in
    curves: Floats  # (runs, kinds, checkpoints) filled in: the regrets of `gaps`
    record: Ints  # (checkpoints, arms) to write on, so that no array is made, and none has to be counted


@uncounted
def run_many(
    problem: Problem, state: State, world: World, checkpoints: Ints, outset: Outset, sheet: Sheet
) -> tuple[int, int]:
    """One run after the other, each with a stream of `outset`; fills in `sheet`.

    Answers with the runs that were done, and where the rule answered with no lease, the pulls up to there."""
    for i in range(len(outset.streams)):
        for word in range(4):
            outset.words[word] = outset.streams[i, word]
        outset.half[0] = 0
        recall(state, outset.begun)
        done = run(problem, state, world, checkpoints, sheet.record, outset.rng)
        if done < checkpoints[-1]:
            return i, done
        add_up(sheet.record, sheet.gaps, sheet.curves[i])
        for k in range(len(sheet.order)):
            sheet.pulls[i, sheet.order[k]] = sheet.record[-1, k]
    return len(outset.streams), 0


def compiled_runs(policy: Policy) -> Callable[..., tuple[int, int]]:
    """`run_many` for the rule of `policy`, compiled (from the cache on disk if it is there)."""
    return compile_native(run_many, **_many(policy))


def runs_compiled(policy: Policy) -> bool:
    """Whether `compiled_runs` is compiled already, or can be nowhere but here."""
    return compiled_before(run_many, **_many(policy))


def _many(policy: Policy) -> dict[str, Callable[..., Any]]:
    cls = type(policy)
    return {"run": _linked(cls.start, cls.decide, cls.learn), "decide": cls.decide}


@cache
def _linked(start: Callable[..., None], decide: Callable[..., Lease], learn: Callable[..., None]) -> Callable[..., int]:
    return link(run, start=start, decide=decide, learn=learn)


def compiled_run(policy: Policy, common: bool = False) -> Engine:
    """`run` for the rule of `policy`, compiled (from the cache on disk if it is there), or for a `CommonWorld`.

    It is `run_many` for one run, since that is compiled anyway, where the generator allows for it."""
    return _honest(policy, compile_native(run, **_parts(policy, common)) if common else _only(policy))


def _only(policy: Policy) -> Callable[..., int]:
    many = compiled_runs(policy)

    def carry_out(
        problem: Problem, state: State, world: World, checkpoints: Ints, record: Ints, rng: np.random.Generator
    ) -> int:
        bits = rng.bit_generator
        if not reachable() or not isinstance(bits, np.random.PCG64):
            done: int = compile_native(run, **_parts(policy, False))(problem, state, world, checkpoints, record, rng)
            return done
        begun = deepcopy(state)
        arms = len(problem.costs)
        _, words, half = settable(bits)
        outset = Outset(begun, words.copy()[np.newaxis], rng, words, half)
        nothing = np.zeros((0, arms)), np.zeros((1, arms), dtype=np.int64), np.zeros((1, 0, len(checkpoints)))
        done, t = many(problem, state, world, checkpoints, outset, Sheet(np.arange(arms), *nothing, record))
        return int(checkpoints[-1]) if done else t

    return carry_out


def plain_run(policy: Policy, common: bool = False) -> Engine:
    """`run` for the rule of `policy`, in plain Python: slow, and the same but for the last bit of mathematics."""
    return _honest(policy, link(run, **_parts(policy, common)))


def _parts(policy: Policy, common: bool) -> dict[str, Callable[..., object]]:
    cls = type(policy)
    rule: dict[str, Callable[..., object]] = {"start": cls.start, "decide": cls.decide, "learn": cls.learn}
    return rule | {"draw": draw_common, "stretch": as_it_is} if common else rule


def _honest(policy: Policy, engine: Callable[..., int]) -> Engine:
    """The engine; where the rule answers with no lease, the error says whose rule and when."""

    def carry_out(
        problem: Problem,
        state: State,
        world: World | CommonWorld,
        checkpoints: Ints,
        record: Ints,
        rng: np.random.Generator,
    ) -> None:
        done = engine(problem, state, world, checkpoints, record, rng)
        if done < checkpoints[-1]:
            raise unsound(policy.label, len(problem.costs), int(done))

    return carry_out
