"""A storage in the memory of one process: for experiments, tests and simulations with delays."""

from __future__ import annotations

import math
import os
import secrets
import threading
import time
import weakref
from array import array
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import islice
from threading import get_ident
from typing import Any, cast

from satisfice.errors import Hint, InvalidStudy, StorageBusy, StudyExists, UnknownStudy
from satisfice.studies.config import Config
from satisfice.studies.folding import advance, fold
from satisfice.studies.machine import Machine
from satisfice.studies.records import (
    STILL_OPEN,
    Asked,
    Decision,
    Entry,
    Event,
    Outcome,
    Reason,
    Row,
    in_control,
    made,
)
from satisfice.studies.series import FIRST, Point, due, point_of, stride, thinned
from satisfice.studies.storages.base import Ledger, Storage, T, Transaction, View, time_of

_REASONS, _OUTCOMES = tuple(Reason), tuple(Outcome)
_REASON = {str(name): code for code, name in enumerate(_REASONS)}
_OUTCOME = {str(name): code for code, name in enumerate(_OUTCOMES)}
_LEASE, _TOLD = _REASON["lease"], _OUTCOME["told"]
# What `forget` and `put_away` change; `keep` changes `_points` alone.
_CHANGED = (
    *(
        "_gone",
        "_arm",
        "_segment",
        "_reason",
        "_lease",
        "_cost",
        "_extra",
        "_chance",
        "_asked_at",
        "_last",
        "_subjects",
        "_latest",
    ),
    *("_sessions", "_latest_of", "_id", "_nth", "_outcome", "_before", "_reward", "_told", "_at", "_after"),
)


class MemoryLedger(Ledger, Transaction):
    """The log in arrays, about 120 bytes a decision, and the machine beside it.

    A row is written to the log before the machine counts it. So after an error, an interrupt included, that left a
    transaction half done, the log is cut to what it was and the machine is made anew from it.
    """

    machine: Machine = cast(Machine, None)

    def __init__(self, config: Config, storage: MemoryStorage, study: int) -> None:
        self.config, self.storage = config, storage
        self.study, self.token = study, secrets.token_hex(8)
        self.timeout = 60.0
        self.now = 0.0
        self.locked = True
        self.machine = Machine(config)
        self._lock = threading.Lock()
        self._owner = 0  # the thread that is in a transaction
        self._whole = True
        _all.add(self)
        # Decision id i is at place i - 1 - `_gone` of these; `_last` is the place of the last entry about it.
        self._gone = 0
        self._arm, self._reason, self._lease = array("i"), array("b"), array("q")
        self._cost, self._extra, self._chance, self._asked_at = array("d"), array("d"), array("d"), array("d")
        self._last, self._segment = array("q"), array("i")
        self._subjects: dict[int, str] = {}
        self._latest: dict[str, int] = {}
        self._keys: dict[str, list[int]] = {}
        self._key_of: dict[int, str] = {}
        self._sessions: dict[int, str] = {}
        self._latest_of: dict[str, int] = {}
        # Entries; `_before` is the place of the one before about the same decision.
        self._id, self._nth, self._outcome, self._before = array("q"), array("i"), array("b"), array("q")
        self._reward, self._told, self._at, self._after = array("d"), array("d"), array("d"), array("q")
        self._events: list[Event] = []
        self._points: dict[int, Point] = {}
        self._kept: dict[str, Any] = {}  # what the transaction has taken something out of, as it was

    @property
    def today(self) -> float:
        return time_of(self.clock, self.now)

    # Transactions

    def after_fork(self) -> None:
        """In a process that was forked: whoever else was in a transaction is not here. What it has left half done is
        mended by the next one."""
        if self._owner != get_ident():
            self._owner, self._lock = 0, threading.Lock()

    def run(self, work: Callable[[Transaction], T], *, lock: bool = True, finds: Sequence[int] = ()) -> T:
        me = get_ident()
        if self._owner == me:
            raise StorageBusy(f"the study {self.config.name!r} is used from within a call of its own")
        # An interrupt cannot come between a `with` and its lock, as it can between `acquire` and what follows.
        with self._lock:
            self._owner = me
            try:
                if not self._whole:
                    self._mend()
                asked = len(self._asked_at)
                self._sizes = asked, len(self._after), len(self._events)
                self.now = time.time()
                if self._kept:
                    self._kept.clear()
                self._whole = self._given = False
                if self.config.mature_after is not None:  # decisions may be too old to be waited for by now
                    advance(self.machine, self)
                try:
                    answer = work(self)
                except BaseException:
                    self._whole = not self._kept and self._sizes == (len(self._arm), len(self._id), len(self._events))
                    raise
                self._whole = True
                new = len(self._asked_at) - asked
                if new and (new > 1 or not asked or (asked + 1 + self._gone) % FIRST == 0):  # seldom
                    self._keep_point()
                return answer
            finally:
                self._owner = 0

    async def arun(self, work: Callable[[Transaction], T], *, lock: bool = True, finds: Sequence[int] = ()) -> T:
        return self.run(work)

    def _keep_point(self) -> None:
        """Keep a point of the series, if one is due."""
        before, after = self._sizes[0] + self._gone, self.machine.decisions
        place = due(before, after) if after > before else None
        if place is not None and not self._given:
            self._points[place] = point_of(self.machine, place, self._asked_at[-1])
            if stride(before) != stride(after):
                self._points = {place: self._points[place] for place in thinned(self._points, after)}

    def look(self, work: Callable[[View], T]) -> T:
        return self.run(work)

    def _mend(self) -> None:
        """Cut the log to what it was, and make the machine anew."""
        for name, value in self._kept.items():
            setattr(self, name, copy(value))
        decisions, entries, events = self._sizes
        for column in self._decision_columns():
            del column[decisions:]
        for number in [number for number in self._subjects if number > decisions + self._gone]:
            del self._subjects[number]
        self._latest = {subject: number for number, subject in sorted(self._subjects.items())}
        for number in [number for number in self._sessions if number > decisions + self._gone]:
            del self._sessions[number]
        self._latest_of = {session: number for number, session in sorted(self._sessions.items())}
        for key in [key for key, ids in self._keys.items() if not ids or ids[-1] > decisions + self._gone]:
            for number in self._keys.pop(key):
                self._key_of.pop(number, None)
        columns = (self._id, self._nth, self._outcome, self._before, self._reward, self._told, self._at, self._after)
        for column in columns:
            del column[entries:]
        del self._events[events:]
        for place in range(decisions):
            self._last[place] = -1
        for place, number in enumerate(self._id):
            self._last[number - 1 - self._gone] = place
        self.machine = fold(self.config, self)
        self._whole = True

    def _keep(self) -> None:
        """Keep the log as it is, before something is taken out of it."""
        if "_gone" not in self._kept:
            self._kept |= {name: copy(getattr(self, name)) for name in _CHANGED}

    def repair(self) -> None:
        def work(tx: Transaction) -> None:
            self.machine = fold(self.config, self)

        self.run(work)

    def _decision_columns(self) -> tuple[array[Any], ...]:
        return (
            *(self._arm, self._reason, self._lease, self._cost, self._extra, self._chance, self._last, self._segment),
            self._asked_at,
        )

    # Rows

    def _entry(self, place: int) -> Entry:
        number, before = self._id[place], self._before[place]
        was = _OUTCOMES[self._outcome[before]] if before >= 0 else Outcome.OPEN
        return Entry(
            number,
            self._nth[place],
            self._arm[number - 1 - self._gone],
            _OUTCOMES[self._outcome[place]],
            _known(self._reward[place]),
            was,
            _known(self._reward[before]) if before >= 0 else None,
            _known(self._told[place]),
            _known(self._told[before]) if before >= 0 else None,
            self._cost[number - 1 - self._gone],
            self._at[place],
            self._after[place],
            in_control(_REASONS[self._reason[number - 1 - self._gone]]),
            self._segment[number - 1 - self._gone],
        )

    def _asked(self, number: int) -> Asked:
        return made(Asked, self._values(number))

    def _values(self, number: int) -> tuple[object, ...]:
        place = number - 1 - self._gone
        return (
            number,
            self._arm[place],
            _REASONS[self._reason[place]],
            self._lease[place],
            self._cost[place],
            self._asked_at[place],
            self._subjects.get(number) if self._subjects else None,
            self._key_of.get(number) if self._key_of else None,
            self._sessions.get(number) if self._sessions else None,
            self._extra[place],
            self._chance[place],
            self._segment[place],
        )

    def _row(self, number: int) -> Row:
        last = self._last[number - 1 - self._gone]
        if last < 0:
            return made(Row, (*self._values(number), *STILL_OPEN))
        values = (
            *self._values(number),
            _OUTCOMES[self._outcome[last]],
            _known(self._reward[last]),
            _known(self._told[last]),
            self._nth[last],
            self._at[last],
        )
        return made(Row, values)

    def get(self, number: int) -> Row | None:
        return self._row(number) if self._gone < number <= self._gone + len(self._arm) else None

    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        first, last = self._gone + 1, self._gone + len(self._arm)
        return {number: self._row(number) for number in ids if first <= number <= last}

    def rows(self, first: int = 1, last: int | None = None) -> Iterator[Row]:
        end = self._gone + len(self._arm)
        for number in range(max(first, self._gone + 1), (end if last is None else min(last, end)) + 1):
            yield self._row(number)

    def newest(self, before: int | None = None, limit: int = 100) -> list[Row]:
        end = self._gone + len(self._arm) + 1
        numbers = range((end if before is None else min(before, end)) - 1, self._gone, -1)
        return [self._row(number) for number in islice(numbers, limit)]

    def chains(self) -> Iterator[tuple[Asked, list[Entry]]]:
        for number in range(self._gone + 1, self._gone + len(self._arm) + 1):
            entries, place = [], self._last[number - 1 - self._gone]
            while place >= 0:
                entries.append(self._entry(place))
                place = self._before[place]
            yield self._asked(number), entries[::-1]

    def size(self, through: int) -> tuple[int, int]:
        decisions = max(min(through, self._gone + len(self._arm)) - self._gone, 0)
        entries = sum(number <= through for number in self._id)
        return decisions + entries, sum(self._gone < number <= through for number in self._subjects)

    def events(self, until: int | None = None, after: int = 0) -> Iterator[Event]:
        return iter(self._events[after:until])

    def series(self) -> list[Point]:
        return [self._points[place] for place in sorted(self._points)]

    def keep(self, points: Sequence[Point]) -> None:
        self._kept.setdefault("_points", self._points)
        self._points, self._given = {point.place: point for point in points}, True

    def open_of(self, subject: str) -> Row | None:
        number = self._latest.get(subject)
        if number is None or number <= self._gone:
            return None
        row = self._row(number)
        return row if row.outcome == Outcome.OPEN else None

    def of_session(self, session: str) -> Row | None:
        number = self._latest_of.get(session)
        return None if number is None or number <= self._gone else self._row(number)

    def of_key(self, key: str) -> list[Row]:
        return [self._row(number) for number in self._keys.get(key, ()) if number > self._gone]

    # Writing: the log first, then the machine

    def add_decisions(self, rows: Sequence[Asked]) -> None:
        machine = self.machine
        for row in rows:
            number, arm, reason, lease, cost, at, subject, key, session, extra, chance, segment = row
            self._arm.append(arm)
            self._reason.append(_REASON[reason])
            self._lease.append(lease)
            self._cost.append(cost)
            self._extra.append(extra)
            self._chance.append(chance)
            self._last.append(-1)
            self._segment.append(segment)
            if session is not None:
                self._sessions[number] = session
                self._latest_of[session] = number
            if subject is not None:
                self._subjects[number] = subject
                self._latest[subject] = number
            if key is not None:
                self._keys.setdefault(key, []).append(number)
                self._key_of[number] = key
            self._asked_at.append(at)
            machine.ask(row)

    def add_pull(self, arm: int, at: float) -> None:
        machine = self.machine
        self._arm.append(arm)
        self._reason.append(_LEASE)
        self._lease.append(machine.lease.number)
        self._cost.append(machine.arms[arm].cost)
        self._extra.append(0.0)
        self._chance.append(1.0)
        self._last.append(-1)
        self._segment.append(0)
        self._asked_at.append(at)
        machine.pull(arm)

    def add_first(self, number: int, reward: float) -> bool:
        machine, place, last = self.machine, number - 1 - self._gone, self._last
        if not machine.simple or not 0 <= place < len(last) or last[place] >= 0:
            return False
        known = machine.decisions
        self._id.append(number)
        self._nth.append(1)
        self._outcome.append(_TOLD)
        self._before.append(-1)
        self._reward.append(reward)
        self._told.append(math.nan)
        self._at.append(self.now)
        last[place] = len(self._after)
        self._after.append(known if known > number else number)
        if not machine.reward(self._arm[place], number, reward):
            advance(machine, self)
        return True

    def add_event(self, event: Event) -> None:
        self._events.append(event)
        try:
            self.machine.happen(event)
        except InvalidStudy:  # refused, and nothing has changed
            self._events.pop()
            raise

    def add_entries(self, entries: Sequence[Entry]) -> None:
        machine = self.machine
        for entry in entries:
            place = entry.id - 1 - self._gone
            self._id.append(entry.id)
            self._nth.append(entry.nth)
            self._outcome.append(_OUTCOME[entry.outcome])
            self._before.append(self._last[place])
            self._reward.append(math.nan if entry.reward is None else entry.reward)
            self._told.append(math.nan if entry.cost is None else entry.cost)
            self._at.append(entry.at)
            self._last[place] = len(self._after)
            self._after.append(entry.after)
            machine.enter(entry)
        advance(machine, self)

    def forget(self, subject: str) -> int:
        self._keep()
        gone = [number for number, name in self._subjects.items() if name == subject]
        for number in gone:
            del self._subjects[number]
        self._latest.pop(subject, None)
        return len(gone)

    def put_away(self, through: int) -> None:
        self._keep()
        count = through - self._gone
        places = array("q", [place for place, number in enumerate(self._id) if number > through])
        moved = {old: new for new, old in enumerate(places)}
        entries = {
            name: array(getattr(self, name).typecode, (getattr(self, name)[place] for place in places))
            for name in ("_id", "_nth", "_outcome", "_before", "_reward", "_told", "_at", "_after")
        }
        entries["_before"] = array("q", (moved.get(place, -1) for place in entries["_before"]))
        decisions = {
            name: getattr(self, name)[count:]
            for name in ("_arm", "_reason", "_lease", "_cost", "_extra", "_chance", "_segment", "_last", "_asked_at")
        }
        decisions["_last"] = array("q", (moved.get(last, -1) for last in decisions["_last"]))
        names = {
            name: {number: text for number, text in getattr(self, name).items() if number > through}
            for name in ("_subjects", "_sessions")
        }
        self.__dict__.update(entries | decisions | names | {"_gone": through})

    def take(self) -> None:
        """Nothing is taken in advance."""

    def stock_up(self, decisions: Sequence[Decision]) -> None:
        """Nothing is taken in advance."""

    def close(self) -> None:
        """Nothing to let go of."""


def _known(value: float) -> float | None:
    return None if value != value else value


class MemoryStorage(Storage):
    """Studies that live as long as this object."""

    def __init__(self) -> None:
        self._ledgers: dict[str, MemoryLedger] = {}
        self._made = 0
        self._lock = threading.Lock()
        _all.add(self)

    def after_fork(self) -> None:
        """In a process that was forked: nobody else is at work here."""
        self._lock = threading.Lock()

    def create(self, config: Config, fill: Callable[[Transaction], None] | None = None) -> MemoryLedger:
        filled: MemoryLedger | None = None
        while True:
            with self._lock:
                if config.name in self._ledgers:
                    raise StudyExists(f"there is already a study {config.name!r}", hint=Hint.LOAD)
                if fill is None or filled is not None:
                    made = filled or MemoryLedger(config, self, 0)
                    self._made += 1
                    made.study = self._made
                    return self._ledgers.setdefault(config.name, made)
            filled = MemoryLedger(config, self, 0)
            filled.run(fill)

    def open(self, name: str) -> MemoryLedger:
        if name not in self._ledgers:
            known = ", ".join(self._ledgers) or "there are none"
            raise UnknownStudy(f"there is no study {name!r} in memory; the studies: {known}")
        return self._ledgers[name]

    def names(self) -> list[str]:
        return list(self._ledgers)

    def page(self, after: int = 0, limit: int = 100) -> list[tuple[int, str]]:
        later = ((ledger.study, name) for name, ledger in list(self._ledgers.items()) if ledger.study > after)
        return list(islice(later, limit))

    def name_of(self, study: int) -> str | None:
        return next((name for name, ledger in list(self._ledgers.items()) if ledger.study == study), None)

    def delete(self, name: str) -> None:
        self.open(name)
        with self._lock:
            self._ledgers.pop(name, None)

    def close(self) -> None:
        """Nothing to let go of."""


_all: weakref.WeakSet[MemoryLedger | MemoryStorage] = weakref.WeakSet()


def _after_fork() -> None:
    for one in list(_all):
        one.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
