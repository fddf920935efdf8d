"""Decisions that have waited for too long: which they are, and when to look again."""

from __future__ import annotations

import math
from typing import NamedTuple

from satisfice.studies.machine import Machine
from satisfice.studies.records import Outcome, Row
from satisfice.studies.storages.base import View


class Overdue(NamedTuple):
    """Decisions to expire, whether there may be more, and what to note once they are."""

    rows: list[Row]
    more: bool
    scanned: int
    passed: list[tuple[float, int]]
    due: float

    def note(self, machine: Machine) -> None:
        """Note how far it was looked, and when the next one is due."""
        machine.scanned, machine.passed, machine.due = self.scanned, self.passed, self.due


def find_overdue(view: View, now: float, most: int) -> Overdue | None:
    """The next decisions that are overdue, looked for among so many; None where none can be.

    They are in the order of their times, but for those of a clock that was ahead. One of these is passed over, and
    noted with the time at which it is due, so that it does not hold up those behind it.
    """
    machine, after = view.machine, view.config.expire_after
    if after is None or machine.ended or now < machine.due:
        return None
    ripe = [number for due, number in machine.passed[:most] if due <= now]
    first = max(machine.scanned, machine.archived) + 1
    rows = list(view.rows(first, first + most - 1))
    waiting = [row for row in rows if row.outcome == Outcome.OPEN]
    late = [row for row in waiting if row.at + after <= now]
    behind = late[-1].id if late else 0
    ahead = [row for row in waiting if row.at + after > now and (row.at > now or row.id < behind)]
    later = [row for row in waiting if row.at + after > now and row.at <= now and row.id > behind]
    scanned = machine.scanned if not rows else later[0].id - 1 if later else rows[-1].id
    passed = machine.passed[len(ripe) :]
    if ahead:
        passed = sorted(passed + [(row.at + after, row.id) for row in ahead if row.id <= scanned])
    more = len(ripe) == most or (len(rows) == most and not later)
    due = min((row.at + after for row in later), default=math.inf)
    due = -math.inf if more else min(due, passed[0][0]) if passed else due
    found = view.find(ripe).values() if ripe else ()
    overdue = [row for row in found if row.outcome == Outcome.OPEN] + late
    return Overdue(overdue, more, scanned, passed, due)
