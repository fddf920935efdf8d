"""What pages read of a study, in one look, and in the words that they use for it."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from satisfice.errors import SatisficeError, StorageError
from satisfice.service.core import Handle, Service
from satisfice.service.keys import Key
from satisfice.service.problems import Problem
from satisfice.studies.machine import Machine
from satisfice.studies.report import make_status
from satisfice.studies.status import ArmStatus, Status
from satisfice.studies.storages.base import View

T = TypeVar("T")
# What was seen of a study is good for so many seconds, for all who look on.
FRESH = 1.0


def look(handle: Handle, work: Callable[[View, Status], T]) -> T:
    """Work on a view of a study and its status; what is overdue expires on the way."""
    study = handle.study

    def whole(view: View) -> tuple[bool, T]:
        now = view.today
        return study._overdue(view, now), work(view, make_status(view.machine, now))

    overdue, found = handle.ledger.look(whole)
    if overdue:
        with contextlib.suppress(StorageError):  # of a study that may only be read
            study.expire()
            found = handle.ledger.look(whole)[1]
    return found


# Words


def standing(status: Status) -> tuple[str, str]:
    """The state of a study in words, and the name of its colour."""
    if status.ended:
        return "closed", "quiet"
    if status.paused:
        return "paused", "warn"
    if not status.spending.decisions:
        return "waiting for its first decision", "quiet"
    return {
        "certified": ("proved", "good"),
        "none": ("no arm is good enough", "bad"),
        "settled": ("settled without a proof", "plain"),
    }.get(status.verdict.state, ("exploring", "plain"))


def asked(arm: ArmStatus) -> int:
    """How many decisions an arm has had."""
    return arm.pulls + arm.pending + arm.dropped


def by_cost(status: Status) -> list[ArmStatus]:
    """The arms from cheapest to dearest, those that are retired last."""
    return sorted(status.arms, key=lambda arm: (arm.verdict == "retired", arm.cost))


def good_enough(status: Status) -> list[str]:
    """The arms whose means reach the threshold."""
    threshold = status.verdict.threshold
    return [arm.name for arm in status.arms if arm.pulls and arm.verdict != "retired" and arm.mean >= threshold]


# Money


@dataclass(frozen=True)
class Against:
    """What all decisions would have cost on one arm alone."""

    what: str
    arm: str
    would: float
    saved: float
    per_thousand: float  # that the leader saves from now on


@dataclass(frozen=True)
class Money:
    """Where the money went, and what it is compared with; the first comparison is the one that counts."""

    decisions: int
    total: float
    against: tuple[Against, ...]
    exploring: float  # paid above the leader's price, for decisions on dearer arms

    @property
    def main(self) -> Against | None:
        """The comparison that counts."""
        return self.against[0] if self.against else None


def money_of(machine: Machine, status: Status) -> Money:
    """The money of a study."""
    config, count = machine.config, machine.decisions
    leader = machine.price(machine.index(status.leader))
    known = [arm for arm in status.arms if arm.pulls and arm.verdict != "retired"]
    best = max(known, key=lambda arm: arm.mean).name if known else None
    dearest = machine.arms[max(machine.active, key=machine.price)].name
    names: dict[str, str] = {}
    reference = config.setting.reference
    for what, name in (
        ("the baseline", config.baseline),
        ("the reference arm", None if reference is None else str(reference)),
        ("the best arm so far", best),
        ("the dearest arm", dearest),
    ):
        if name is not None and name not in names:
            names[name] = what
    total = status.spending.total
    against = []
    for name, what in names.items():
        would = machine.would(machine.index(name))
        price = machine.price(machine.index(name))
        against.append(Against(what, name, would, would - total, 1000.0 * (price - leader)))
    exploring = sum(max(arm.spent - asked(arm) * leader, 0.0) for arm in status.arms)
    return Money(count, total, tuple(against), exploring)


# Glances


@dataclass(frozen=True)
class Glance:
    """A study in a line of a list, and what those who look on are told."""

    name: str
    status: Status
    money: Money
    last: float  # when something happened last
    seq: int

    @property
    def mark(self) -> tuple[object, ...]:
        """What changes when the study does."""
        spending, verdict = self.status.spending, self.status.verdict
        settled = sum(arm.dropped for arm in self.status.arms)
        return self.seq, spending.decisions, verdict.rewards, spending.total, settled

    @property
    def verdict(self) -> tuple[object, ...]:
        """What changes when there is news."""
        verdict = self.status.verdict
        return verdict.state, verdict.leader, len(verdict.refuted), self.status.paused, self.status.ended


def glance(handle: Handle) -> Glance:
    """A look at a study."""

    def work(view: View, status: Status) -> Glance:
        newest = view.newest(limit=1)
        events = view.changes(limit=1)
        last = max([row.settled_at or row.at for row in newest] + [event.at for event in events], default=math.nan)
        return Glance(handle.name, status, money_of(view.machine, status), last, view.machine.seq)

    return look(handle, work)


class Glances:
    """Looks at studies that all visitors of this process share."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._seen: dict[str, tuple[float, Glance]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def at(self, name: str, key: Key, age: float = FRESH) -> Glance | None:
        """What was seen of a study at most `age` seconds ago, or is seen now; None where it is gone. May wait."""
        if not key.sees(name):
            return None
        with self._guard:
            if len(self._seen) > 1000:
                self._seen.clear()
                self._locks.clear()
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            when, seen = self._seen.get(name, (-math.inf, None))
            if seen is not None and time.monotonic() - when < age:
                return seen
            try:
                found = glance(self._service.handle(name, key))
            except (Problem, SatisficeError):
                self._service.forget(name)
                self._seen.pop(name, None)
                return None
            self._seen[name] = time.monotonic(), found
            return found

    def forget(self, name: str) -> None:
        """Something was changed: look anew."""
        self._seen.pop(name, None)
