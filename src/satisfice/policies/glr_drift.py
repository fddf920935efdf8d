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
from satisfice.policies.looks import NEVER, RECALL, gaps_of, goal_of, goes_on, leader_of, means_of, price_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

inner_start, inner_decide, inner_learn = GLR.start, GLR.decide, GLR.learn
# A lease is handed out in pieces of so many pulls, so that a change is noticed inside of it.
PIECE = 8
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
    looking: Ints  # (1,) one more than the arm of the last lease, if it was a look; else 0
    before: Ints  # (1,) the pulls of that arm before the look,
    total: Floats  # (1,) and their total
    lost: Floats  # (1,) what all but looks has cost, by the means at that time


def parts_of(problem: Problem, state: State) -> tuple[State, Own, Floats]:
    """The state of GLR, what the rule remembers besides, and the watches."""
    arms = len(problem.costs)
    ints, floats = state.ints, state.floats
    i, f = len(ints) - 2 * arms - 6, len(floats) - SIZE * arms - 2
    own = Own(
        ints[i : i + arms],
        ints[i + arms : i + 2 * arms],
        ints[i + 2 * arms : i + 2 * arms + 1],
        ints[i + 2 * arms + 1 : i + 2 * arms + 2],
        ints[i + 2 * arms + 2 : i + 2 * arms + 3],
        ints[i + 2 * arms + 3 : i + 2 * arms + 4],
        ints[i + 2 * arms + 4 : i + 2 * arms + 5],
        ints[i + 2 * arms + 5 : i + 2 * arms + 6],
        floats[f + SIZE * arms : f + SIZE * arms + 1],
        floats[f + SIZE * arms + 1 : f + SIZE * arms + 2],
    )
    return State(state.pulls, state.totals, state.squares, ints[:i], floats[:f]), own, floats[f : f + SIZE * arms]


@dataclass(frozen=True)
class GLRDrift(GLR):
    """GLR, with a test for a change of every arm's mean and looks at arms that are passed over.

    The rewards of every arm are watched (`satisfice.changes`). After an alarm the arm begins anew, with the rewards
    since the change, and what is known of the others counts as `RECALL` pulls at most: where one has changed, others
    may have. (A rule that buys proofs counts all, lest it buys again what is proved.) GLR goes on from there. Arms that
    are passed over and might have become better are looked at now and then (`satisfice.policies.looks`), as often as is
    best for an assumed number of changes, at a bounded price.

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
    version = GLR.version + 3
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
        return ints + 2 * arms + 6, floats + SIZE * arms + 2

    @staticmethod
    def start(problem: Problem, state: State) -> None:
        inner, _, watches = parts_of(problem, state)
        inner_start(problem, inner)
        for k in range(len(problem.costs)):
            begin(view(watches, k))

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        inner, own, _ = parts_of(problem, state)
        arm = look(problem, state, own, t) if problem.params.changes > 0 else -1
        if arm < 0 and own.looking[0] > 0:  # what a look has found out may change the choice
            own.left[0] = 0
        own.looking[0] = arm + 1
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
        if not own.looking[0]:
            means = means_of(state.pulls, state.totals)
            own.lost[0] += pulls * price_of(problem, means, leader_of(problem, means), arm)
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
            own.left[0] = own.asked[0] = own.looking[0] = 0
            for k in range(arms):
                if k != arm and state.pulls[k] > RECALL and problem.params.proof <= 0.0:
                    kept = RECALL / state.pulls[k]
                    state.pulls[k] = RECALL
                    state.totals[k] *= kept
                    state.squares[k] *= kept
            inner.ints[:] = 0
            inner.floats[:] = 0.0
            inner_start(problem, inner)


def look(problem: Problem, state: State, own: Own, t: int) -> int:
    """The arm that should be looked at now; -1: none."""
    if t < own.asked[0]:
        return -1
    means = means_of(state.pulls, state.totals)
    leader = leader_of(problem, means)
    gaps = gaps_of(problem, means, leader, t, problem.params.changes, own.lost[0])
    begun = int(own.looking[0]) - 1
    if begun >= 0 and gaps[begun] < NEVER:
        n, total = state.pulls[begun] - own.before[0], state.totals[begun] - own.total[0]
        if goes_on(goal_of(problem, means, begun), n, total, own.before[0], own.total[0]):
            return begun
    soonest = t + SOON
    for k in range(len(problem.costs)):
        if gaps[k] < NEVER and state.pulls[k] > 0:
            due = own.last[k] + int(gaps[k])
            if due <= t:
                own.before[0], own.total[0] = state.pulls[k], state.totals[k]
                return k
            soonest = min(soonest, due)
    own.asked[0] = soonest
    return -1
