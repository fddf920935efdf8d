"""Looks of a study at arms that its policy passes over, in case that their rewards have changed.

All of this only chooses arms, and what was chosen is in the log; what is kept in here are notes, no part of the state.
How often to look, and what that may cost, says `satisfice.policies.looks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from satisfice.changes import new_watch
from satisfice.policies.looks import NEVER, affordable, gaps_of, leader_of, means_of, price_of, surprised

if TYPE_CHECKING:
    from satisfice.studies.machine import Machine

# The number of changes to expect within the horizon; without one, within the decisions so far.
CHANGES = 1.0
# Whether a look is due is asked after so many decisions at most.
SOON = 64


class Looking:
    """The notes of a part of a study about when it looked at which arm."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.last: dict[int, int] = {}  # per arm: how many decisions there were when it was asked for last
        self.following = 0  # after how many decisions a look may be due
        self.spent = 0.0  # what looks have cost, by the means at that time

    def due(self) -> int | None:
        """The arm that should be looked at with the next decision."""
        machine = self.machine
        if machine.decisions < self.following:
            return None
        problem, state = machine.problem, machine.state
        means = means_of(state.pulls, state.totals)
        leader = leader_of(problem, means)
        lost = sum(int(n) * price_of(problem, means, leader, k) for k, n in enumerate(state.pulls))
        gaps = gaps_of(problem, means, leader, machine.t, CHANGES, lost)
        rich, soonest = affordable(self.spent, lost - self.spent), machine.decisions + SOON
        for k, i in enumerate(machine.order):
            arm = machine.arms[i]
            if k == leader or not arm.seen or i in machine.resting or gaps[k] >= NEVER:
                continue
            # What was asked for is waited for, before one more is asked for because of a surprise.
            surprise = arm.pending <= 0 and surprised(problem, means, leader, k, arm.watch or new_watch(), rich)
            due = self.last.get(i, 0) + int(gaps[k])
            if surprise or (rich and due <= machine.decisions):
                self.spent += price_of(problem, means, leader, k)
                return i
            soonest = min(soonest, max(due, machine.decisions + 1))
        self.following = soonest
        return None

    def to_dict(self) -> list[object]:
        """The notes as plain data."""
        return [self.spent, *(list(item) for item in self.last.items())]

    def from_dict(self, data: object) -> None:
        """The notes from the data of `to_dict`."""
        if data:
            self.spent, *pairs = cast("list[object]", data)  # type: ignore[assignment]
            self.last = dict(cast("list[tuple[int, int]]", pairs))
