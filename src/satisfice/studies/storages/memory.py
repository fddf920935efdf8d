"""A storage in the memory of one process: for experiments, tests and simulations with delays."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import merge
from types import TracebackType

from satisfice.errors import StorageError, StudyExists, UnknownStudy
from satisfice.studies.config import Config
from satisfice.studies.machine import EXTRA, INTERIM, LEASE, STANDIN, Machine
from satisfice.studies.records import ABANDONED, EXPIRED, OPEN, TOLD, Asked, Changed, Event, Row, Settled
from satisfice.studies.storages.base import Ledger, Storage

_REASONS = (LEASE, INTERIM, EXTRA, STANDIN)
_STATES = (OPEN, TOLD, ABANDONED, EXPIRED)
_CODES = {name: code for code, name in enumerate(_REASONS)} | {name: code for code, name in enumerate(_STATES)}
_NOTHING = float("nan")


class MemoryLedger(Ledger):
    """The log in arrays, about 90 bytes a decision. The machine is in place: who uses it checks before changing it."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.timeout = 60.0
        self._machine = Machine(config)
        self._lock = threading.Lock()
        # Decision id i is at place i - 1 of these.
        self._asked_seq, self._arm, self._reason = array("q"), array("i"), array("b")
        self._lease, self._asked_at = array("q"), array("d")
        self._last, self._entries = array("q"), array("i")  # place of the last entry about it, their number
        self._subjects: dict[int, str] = {}
        self._latest: dict[str, int] = {}
        self._seq, self._id, self._nth, self._status = array("q"), array("q"), array("i"), array("b")
        self._reward, self._at = array("d"), array("d")
        self._changes: list[Changed] = []

    def __enter__(self) -> Machine:
        if not self._lock.acquire(False) and not self._lock.acquire(timeout=self.timeout):
            raise StorageError(f"the study {self.config.name!r} stayed locked for {self.timeout:g} seconds")
        return self._machine

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def _row(self, number: int) -> Row:
        place = number - 1
        last = self._last[place]
        status = _STATES[self._status[last]] if last >= 0 else OPEN
        reward = self._reward[last] if last >= 0 else _NOTHING
        return Row(
            number,
            self._asked_seq[place],
            self._arm[place],
            _REASONS[self._reason[place]],
            self._lease[place],
            self._subjects.get(number) if self._subjects else None,
            self._asked_at[place],
            status,
            None if reward != reward else reward,
            self._entries[place],
        )

    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        count = len(self._arm)
        return {number: self._row(number) for number in ids if 1 <= number <= count}

    def get(self, number: int) -> Row | None:
        return self._row(number) if 1 <= number <= len(self._arm) else None

    def open_of(self, subject: str) -> Row | None:
        number = self._latest.get(subject)
        if number is None:
            return None
        row = self._row(number)
        return row if row.status == OPEN else None

    def overdue(self, after: int, until: float, limit: int) -> list[Row]:
        end = min(bisect_right(self._asked_at, until, lo=after), after + limit)
        return [self._row(number) for number in range(after + 1, end + 1)]

    def first_after(self, after: int) -> float | None:
        return self._asked_at[after] if after < len(self._asked_at) else None

    def add_decisions(self, rows: Sequence[Asked]) -> None:
        for seq, number, arm, reason, lease, subject, at in rows:
            self._asked_seq.append(seq)
            self._arm.append(arm)
            self._reason.append(_CODES[reason])
            self._lease.append(lease)
            self._asked_at.append(at)
            self._last.append(-1)
            self._entries.append(0)
            if subject is not None:
                self._subjects[number] = subject
                self._latest[subject] = number

    def add_settled(self, rows: Sequence[Settled]) -> None:
        for seq, number, nth, status, reward, at in rows:
            self._last[number - 1] = len(self._seq)
            self._entries[number - 1] = nth
            self._seq.append(seq)
            self._id.append(number)
            self._nth.append(nth)
            self._status.append(_CODES[status])
            self._reward.append(_NOTHING if reward is None else reward)
            self._at.append(at)

    def add_change(self, row: Changed) -> None:
        self._changes.append(row)

    def log(self, until: int | None = None) -> Iterator[Event]:
        with self._lock:
            end = self._machine.version if until is None else until
            asked, settled, changes = len(self._arm), len(self._seq), len(self._changes)

        def decisions() -> Iterator[Event]:
            for i in range(asked):
                reason, subject = _REASONS[self._reason[i]], self._subjects.get(i + 1)
                yield Asked(self._asked_seq[i], i + 1, self._arm[i], reason, self._lease[i], subject, self._asked_at[i])

        def rewards() -> Iterator[Event]:
            for i in range(settled):
                reward = None if self._reward[i] != self._reward[i] else self._reward[i]
                status = _STATES[self._status[i]]
                yield Settled(self._seq[i], self._id[i], self._nth[i], status, reward, self._at[i])

        events = merge(decisions(), rewards(), iter(self._changes[:changes]), key=lambda event: event.seq)
        return (event for event in events if event.seq <= end)

    def close(self) -> None:
        """Nothing to let go of."""


class MemoryStorage(Storage):
    """Studies that live as long as this object."""

    def __init__(self) -> None:
        self._ledgers: dict[str, MemoryLedger] = {}
        self._lock = threading.Lock()

    def create(self, config: Config) -> MemoryLedger:
        with self._lock:
            if config.name in self._ledgers:
                raise StudyExists(f"there is already a study {config.name!r}; load_study opens it")
            return self._ledgers.setdefault(config.name, MemoryLedger(config))

    def open(self, name: str) -> MemoryLedger:
        if name not in self._ledgers:
            known = ", ".join(self._ledgers) or "there are none"
            raise UnknownStudy(f"there is no study {name!r} in memory; the studies: {known}")
        return self._ledgers[name]

    def names(self) -> list[str]:
        return list(self._ledgers)

    def close(self) -> None:
        """Nothing to let go of."""
