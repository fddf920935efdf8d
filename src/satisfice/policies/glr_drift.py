"""GLR in a world that changes: watches every arm, begins anew with one that has changed, and looks at the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.changes import SIZE, begin, view, watch, where
from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import SWEEP, Lease, Problem, State
from satisfice.policies.glr import GLR
from satisfice.policies.looks import NEVER, affordable, gaps_of, leader_of, means_of, price_of, surprised

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

inner_start, inner_decide, inner_learn = GLR.start, GLR.decide, GLR.learn
# A lease is handed out in pieces of so many pulls, so that a change is noticed inside of it.
PIECE = 16
# Whether a look is due is asked after so many pulls at most.
SOON = 256


class Own(NamedTuple):
    """What the rule remembers besides GLR's own memory and the watches."""

    last: Ints  # (arms,) when each arm was pulled last
    born: Ints  # (arms,) which of all beginnings is that of each arm, from 1; 0: the first one
    arm: Ints  # (1,) the arm of GLR's lease,
    left: Ints  # (1,) and what is left of it
    asked: Ints  # (1,) when to ask for looks again
    changes: Ints  # (1,) alarms so far
    looking: Ints  # (1,) whether the last lease was a look
    spent: Floats  # (1,) what looks have cost, by the means at that time,
    rest: Floats  # (1,) and what all else has


def parts_of(problem: Problem, state: State) -> tuple[State, Own, Floats]:
    """The state of GLR, what the rule remembers besides, and the watches."""
    arms = len(problem.costs)
    ints, floats = state.ints, state.floats
    i, f = len(ints) - 2 * arms - 5, len(floats) - SIZE * arms - 2
    own = Own(
        ints[i : i + arms],
        ints[i + arms : i + 2 * arms],
        ints[i + 2 * arms : i + 2 * arms + 1],
        ints[i + 2 * arms + 1 : i + 2 * arms + 2],
        ints[i + 2 * arms + 2 : i + 2 * arms + 3],
        ints[i + 2 * arms + 3 : i + 2 * arms + 4],
        ints[i + 2 * arms + 4 : i + 2 * arms + 5],
        floats[f + SIZE * arms : f + SIZE * arms + 1],
        floats[f + SIZE * arms + 1 : f + SIZE * arms + 2],
    )
    return State(state.pulls, state.totals, state.squares, ints[:i], floats[:f]), own, floats[f : f + SIZE * arms]


@dataclass(frozen=True)
class GLRDrift(GLR):
    """GLR, with a test for a change of every arm's mean and looks at arms that are passed over.

    The rewards of every arm are watched (`satisfice.changes`). After an alarm the arm begins anew, with the rewards
    since the change, and GLR goes on from there. Arms that are passed over and might have become better are looked at
    now and then (`satisfice.policies.looks`), as often as is best for an assumed number of changes, at a bounded price.

    Parameters
    ----------
    changes : float
        The number of changes to expect within the horizon; without one, within the pulls so far. 0: no looks.
    alarm : float
        The probability that, while nothing changes, there is ever an alarm.

    Notes
    -----
    Proved: the promise on alarms, for rewards within [0, 1], as long as nothing changes. Only measured, in
    benchmarks/drift.py: how soon changes are noticed, and the regret. There is no regret bound.

    See also: `GLR`, whose parameters it shares; `docs/drift.md`. A live study does the same with any policy, by
    `create_study(..., drift="adapt")`.
    """

    changes: float = 1.0
    alarm: float = 0.01

    id = "glr-drift"
    changing = True
    summary = "glr that notices when the mean of an arm changes, and looks at arms that it passes over"
    bounded_only = True
    live = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.changes < math.inf:
            raise InvalidPolicy(f"glr-drift: changes = {self.changes}; it must be a number of at least 0")
        if not 0 < self.alarm < 1:
            raise InvalidPolicy(f"glr-drift: alarm = {self.alarm}; it must be a probability within (0, 1)")

    def memory(self, arms: int) -> tuple[int, int]:
        ints, floats = super().memory(arms)
        return ints + 2 * arms + 5, floats + SIZE * arms + 2

    @staticmethod
    def start(problem: Problem, state: State) -> None:
        inner, _, watches = parts_of(problem, state)
        inner_start(problem, inner)
        for k in range(len(problem.costs)):
            begin(view(watches, k))

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        inner, own, watches = parts_of(problem, state)
        arm = look(problem, state, own, watches, t) if problem.params.changes > 0 else -1
        own.looking[0] = arm >= 0
        if arm >= 0:
            own.last[arm] = t + 1
            return arm, 1
        if own.left[0] <= 0:
            leased, pulls = inner_decide(problem, inner, t, rng)
            if leased == SWEEP:
                return leased, pulls
            own.arm[0], own.left[0] = leased, pulls
        piece = min(own.left[0], PIECE, max(own.asked[0] - t, 1))
        own.left[0] -= piece
        own.last[own.arm[0]] = t + piece
        return own.arm[0], piece

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        inner, own, watches = parts_of(problem, state)
        inner_learn(problem, inner, arm, pulls, total, rng)
        arms = len(problem.costs)
        means = means_of(state.pulls, state.totals)
        lost = pulls * price_of(problem, means, leader_of(problem, means), arm)
        if own.looking[0]:
            own.spent[0] += lost
        else:
            own.rest[0] += lost
        born = own.born[arm]
        share = 0.95 / arms if born == 0 else 0.3 / (math.pi * born) ** 2
        memory = view(watches, arm)
        if watch(memory, pulls, total, 0.0, problem.params.alarm * share):
            found = where(memory)
            state.pulls[arm], state.totals[arm] = int(found.pulls), found.total
            state.squares[arm] = found.total  # as of coin flips: what they were is not on record
            begin(memory)
            own.changes[0] += 1
            own.born[arm] = own.changes[0]
            own.left[0] = own.asked[0] = 0
            inner.ints[:] = 0
            inner.floats[:] = 0.0
            inner_start(problem, inner)


def look(problem: Problem, state: State, own: Own, watches: Floats, t: int) -> int:
    """The arm that should be looked at now; -1: none."""
    if t < own.asked[0]:
        return -1
    means = means_of(state.pulls, state.totals)
    leader = leader_of(problem, means)
    gaps = gaps_of(problem, means, leader, t, problem.params.changes, own.rest[0])
    rich = affordable(own.spent[0], own.rest[0])
    soonest = t + SOON
    for k in range(len(problem.costs)):
        if k == leader or state.pulls[k] == 0:
            continue
        if surprised(problem, means, leader, k, view(watches, k), rich):
            return k
        if rich and gaps[k] < NEVER:
            due = own.last[k] + int(gaps[k])
            if due <= t:
                return k
            soonest = min(soonest, due)
    own.asked[0] = soonest
    return -1
