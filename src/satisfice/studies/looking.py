"""Looks of a study at arms that its policy passes over, in case that their rewards have changed.

All of this only chooses arms, and what was chosen is in the log; what is kept in here are notes, no part of the state.
How often to look, and what that may cost, says `satisfice.policies.looks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from satisfice.policies.contract import Problem
from satisfice.policies.leader import leader_of
from satisfice.policies.looks import NEVER, Floats, gaps_of, goal_of, goes_on, means_of, price_of
from satisfice.studies.counts import UNIT

if TYPE_CHECKING:
    from satisfice.studies.machine import Machine

# The number of changes to expect within the horizon; without one, within the decisions so far.
CHANGES = 1.0
# Whether a look is due is asked after so many decisions at most.
SOON = 64
# And so many while the reward of a look is outstanding.
WAIT = 8


class Begun(NamedTuple):
    """A look that may go on."""

    arm: int
    seen: int  # its rewards before the look,
    total: int  # and their sum, in units


class Looking:
    """The notes of a part of a study about when it looked at which arm."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.last: dict[int, int] = {}  # per arm: how many decisions there were when it was asked for last
        self.following = 0  # after how many decisions a look may be due
        self.found = False  # whether a look that went on is over since the rule was asked: it may choose otherwise now
        self.begun: Begun | None = None

    def due(self) -> int | None:
        """The arm that should be looked at with the next decision."""
        machine = self.machine
        if machine.decisions < self.following:
            return None
        state = machine.state
        # A segment plans for others, too; its looks do not.
        problem = machine.problem._replace(horizon=machine.horizon or 0)
        means = means_of(state.pulls, state.totals)
        leader = leader_of(problem, means)
        lost = sum(int(n) * price_of(problem, means, leader, k) for k, n in enumerate(state.pulls))
        gaps = gaps_of(problem, means, leader, machine.t, CHANGES, lost)
        soonest = machine.decisions + SOON
        begun = self.begun
        if begun is not None:
            arm = machine.arms[begun.arm]
            if arm.outstanding > 0:
                soonest = machine.decisions + WAIT
            elif self._goes_on(begun, problem, means, gaps):
                return begun.arm
            else:
                self.found = self.found or arm.seen > begun.seen + 1
                self.begun = None
        for k, i in enumerate(machine.order):
            arm = machine.arms[i]
            if not arm.seen or i in machine.resting or gaps[k] >= NEVER:
                continue
            due = self.last.get(i, 0) + int(gaps[k])
            if due <= machine.decisions:
                self.begun = Begun(i, arm.seen, arm.seen_total)
                return i
            soonest = min(soonest, max(due, machine.decisions + 1))
        self.following = soonest
        return None

    def _goes_on(self, begun: Begun, problem: Problem, means: Floats, gaps: Floats) -> bool:
        """Whether the look that was begun, whose rewards have all come, goes on."""
        i = begun.arm
        arm, k = self.machine.arms[i], self.machine.rank[i]
        n = arm.seen - begun.seen
        if k < 0 or i in self.machine.resting or gaps[k] >= NEVER or n <= 0:
            return False
        total = min(max((arm.seen_total - begun.total) / UNIT, 0.0), float(n))
        return goes_on(goal_of(problem, means, k), n, total, begun.seen, begun.total / UNIT)

    def to_dict(self) -> list[object]:
        """The notes as plain data."""
        return [0.0, *(list(item) for item in self.last.items())]

    def from_dict(self, data: object) -> None:
        """The notes from the data of `to_dict`."""
        if data:
            _, *pairs = cast("list[object]", data)  # what looks had cost, once
            self.last = dict(cast("list[tuple[int, int]]", pairs))
