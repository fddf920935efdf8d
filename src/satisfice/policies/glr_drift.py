"""GLR in a world that changes: watches every arm, begins anew with one that has changed, and looks at the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.arrays import record
from satisfice.changes import SIZE, begin, view, watch, where
from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import SWEEP, Lease, Problem, State
from satisfice.policies.glr import GLR
from satisfice.policies.leader import leader_of
from satisfice.policies.looks import NEVER, RECALL, gaps_of, goal_of, goes_on, means_of, price_of
from satisfice.statistics import share_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

inner_start, inner_decide, inner_learn = GLR.start, GLR.decide, GLR.learn
# A lease is handed out in pieces of so many pulls, so that a change is noticed inside of it.
PIECE = 8
# Whether a look is due is asked after so many pulls at most.
SOON = 256


class Notes:
    """What the rule notes: a record in `state.ints`."""

    arm: int  # of GLR's lease,
    left: int  # and what is left of it
    asked: int  # when to ask for looks again
    changes: int  # alarms so far
    looking: int  # one more than the arm of the last lease, if it was a look; else 0
    before: int  # the pulls of that arm before the look


class Amounts:
    """A record in `state.floats`."""

    before: float  # the total of the arm of the last look, before it
    lost: float  # what all but looks has cost, by the means at that time


NOTES, AMOUNTS = record(Notes), record(Amounts)
NOTES_SIZE, AMOUNTS_SIZE = len(NOTES), len(AMOUNTS)


class Own(NamedTuple):
    """What the rule remembers besides GLR's own memory and the watches: behind these, at the end of both arrays."""

    last: Ints  # (arms,) when each arm was pulled last
    born: Ints  # (arms,) which of all beginnings is that of each arm, from 1; 0: the first one
    notes: Sequence[Notes]  # (1,): tuples of compiled code hold no records
    amounts: Sequence[Amounts]  # (1,)


def parts_of(problem: Problem, state: State) -> tuple[State, Own, Floats]:
    """The state of GLR, what the rule remembers besides, and the watches."""
    ints, floats, arms = state.ints, state.floats, len(problem.costs)
    notes, amounts = len(ints) - NOTES_SIZE, len(floats) - AMOUNTS_SIZE
    born, watches = notes - arms, amounts - SIZE * arms
    last = born - arms
    own = Own(ints[last:born], ints[born:notes], ints[notes:].view(NOTES), floats[amounts:].view(AMOUNTS))
    return State(state.pulls, state.totals, state.squares, ints[:last], floats[:watches]), own, floats[watches:amounts]


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
        return ints + 2 * arms + NOTES_SIZE, floats + SIZE * arms + AMOUNTS_SIZE

    @staticmethod
    def start(problem: Problem, state: State) -> None:
        inner, _, watches = parts_of(problem, state)
        inner_start(problem, inner)
        for k in range(len(problem.costs)):
            begin(view(watches, k))

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        inner, own, _ = parts_of(problem, state)
        notes = own.notes[0]
        arm = look(problem, state, own, t) if problem.params.changes > 0 else -1
        if arm < 0 and notes.looking > 0:  # what a look has found out may change the choice
            notes.left = 0
        notes.looking = arm + 1
        if arm >= 0:
            own.last[arm] = t + 1
            return arm, 1
        if notes.left <= 0:
            leased, pulls = inner_decide(problem, inner, t, rng)
            if leased == SWEEP:
                return leased, pulls
            notes.arm, notes.left = leased, pulls
        piece = min(notes.left, PIECE, max(notes.asked - t, 1))
        notes.left -= piece
        own.last[notes.arm] = t + piece
        return notes.arm, piece

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        inner, own, watches = parts_of(problem, state)
        notes = own.notes[0]
        inner_learn(problem, inner, arm, pulls, total, rng)
        arms = len(problem.costs)
        if not notes.looking:
            means = means_of(state.pulls, state.totals)
            own.amounts[0].lost += pulls * price_of(problem, means, leader_of(problem, means), arm)
        memory = view(watches, arm)
        if watch(memory, pulls, total, 0.0, problem.params.alarm * share_of(own.born[arm], arms)):
            found = where(memory)
            state.pulls[arm], state.totals[arm] = int(found.pulls), found.total
            state.squares[arm] = found.total  # as of coin flips: what they were is not on record
            begin(memory)
            notes.changes += 1
            own.born[arm] = notes.changes
            notes.left = notes.asked = notes.looking = 0
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
    notes, amounts = own.notes[0], own.amounts[0]
    if t < notes.asked:
        return -1
    means = means_of(state.pulls, state.totals)
    leader = leader_of(problem, means)
    gaps = gaps_of(problem, means, leader, t, problem.params.changes, amounts.lost)
    begun = int(notes.looking) - 1
    if begun >= 0 and gaps[begun] < NEVER:
        n, total = state.pulls[begun] - notes.before, state.totals[begun] - amounts.before
        if goes_on(goal_of(problem, means, begun), n, total, notes.before, amounts.before):
            return begun
    soonest = t + SOON
    for k in range(len(problem.costs)):
        if gaps[k] < NEVER and state.pulls[k] > 0:
            due = own.last[k] + int(gaps[k])
            if due <= t:
                notes.before, amounts.before = state.pulls[k], state.totals[k]
                return k
            soonest = min(soonest, due)
    notes.asked = soonest
    return -1
