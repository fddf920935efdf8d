"""The contract of a storage. `satisfice.testing.StorageTests` runs a storage against it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from satisfice.studies.config import Config
from satisfice.studies.machine import Machine
from satisfice.studies.records import LEASE, MACHINE_EVENTS, OWN_CHOICE, Asked, Decision, Entry, Event, Row, made
from satisfice.studies.series import Point
from satisfice.words import FIRST, LAST, as_float

T = TypeVar("T")


class View(ABC):
    """A study at one moment: its state and its log. Valid only inside the work that it was given to."""

    config: Config
    now: float  # the storage's own time, seconds since 1970; the caller's where it has none

    @property
    def today(self) -> float:
        """The time by which decisions are too old to be waited for: that of the clock by which they were made."""
        return self.now

    @property
    @abstractmethod
    def machine(self) -> Machine:
        """The state with all that is in the log by now. Nobody may keep it, or change it without logging why."""

    @property
    def stored(self) -> Machine:
        """The state as whoever opens the study now would find it: what an audit compares with the log."""
        return self.machine

    def noted(self, say: Callable[[Machine], T]) -> T:
        """What is said of the machine; a storage may answer with what was said of the same state at an earlier look, so
        everybody asks for the same."""
        return say(self.machine)

    @abstractmethod
    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        """The decisions with these ids and what became of them; unknown ids are missing from the answer."""

    def get(self, number: int) -> Row | None:
        """The decision with this id and what became of it; None where there is none."""
        return self.find((number,)).get(number)

    @abstractmethod
    def rows(self, first: int = 1, last: int | None = None) -> Iterator[Row]:
        """The decisions from `first` to `last` and what became of them, in order."""

    @abstractmethod
    def newest(self, before: int | None = None, limit: int = 100) -> list[Row]:
        """The last decisions with an id below `before`, newest first."""

    @abstractmethod
    def chains(self) -> Iterator[tuple[Asked, list[Entry]]]:
        """Every decision with all its entries, in order: what an audit reads."""

    def size(self, through: int) -> tuple[int, int]:
        """How many rows of the log are about decisions up to `through`, and how many of these have a subject. Rows are
        only added and names only erased: where both are what they were, nothing has changed."""
        rows = names = 0
        for asked, entries in self.chains():
            if asked.id > through:
                break
            rows += 1 + len(entries)
            names += asked.subject is not None
        return rows, names

    @abstractmethod
    def events(self, until: int | None = None, after: int = 0) -> Iterator[Event]:
        """The events in order, after `seq` = `after` and up to `until`."""

    def changes(self, before: int | None = None, limit: int = 100) -> list[Event]:
        """The last events with a `seq` below `before`, newest first, but for those of the machine alone."""
        end = None if before is None else before - 1
        return [event for event in self.events(until=end) if event.kind not in MACHINE_EVENTS][::-1][:limit]

    def whose(self, what: str, name: str, before: int | None = None, limit: int = 100) -> list[Row]:
        """The last decisions of one subject or session (`what`) with an id below `before`, newest first."""
        end = None if before is None else before - 1
        return [row for row in self.rows(last=end) if getattr(row, what) == name][::-1][:limit]

    def series(self) -> list[Point]:
        """How the study went over time, in a bounded number of points; a storage may keep none."""
        return []

    @abstractmethod
    def open_of(self, subject: str) -> Row | None:
        """The last decision of a subject if it is open."""

    @abstractmethod
    def of_session(self, session: str) -> Row | None:
        """The last decision of a session."""

    @abstractmethod
    def of_key(self, key: str) -> list[Row]:
        """The decisions that were made for a key, in order."""


class Transaction(View):
    """A view that may be written to: all that is added becomes durable together, or nothing does.

    Inside it, `find` and the like see what the transaction itself has added.
    """

    locked: bool  # whether it has the lock, and a machine
    spare: int = 0  # how many decisions more than it needs it should take in advance

    def later(self, deed: Callable[[], None]) -> None:
        """Do something once the transaction is durable."""
        deed()

    @abstractmethod
    def add_decisions(self, rows: Sequence[Asked]) -> None:
        """Hand out decisions. Needs the lock. The machine counts them at once."""

    def add_pull(self, arm: int, at: float) -> None:
        """Hand out a pull of the lease for nobody in particular, where there is nothing else to think of
        (`Machine.plainly`). Needs the lock."""
        machine = self.machine
        values = (machine.decisions + 1, arm, LEASE, machine.lease.number, machine.price(arm), at, None, None, None)
        self.add_decisions((made(Asked, (*values, *OWN_CHOICE)),))

    def add_first(self, number: int, reward: float) -> bool:
        """Log the reward of a decision that is open, if that can be done in less time than `add_entries` takes; answers
        whether it was."""
        return False

    @abstractmethod
    def add_event(self, event: Event) -> None:
        """Log an event. Needs the lock. The machine carries it out first, and nothing is logged if it refuses."""

    @abstractmethod
    def add_entries(self, entries: Sequence[Entry]) -> None:
        """Log what became of decisions. Needs no lock. When another process was faster with the same `nth` of a
        decision, the transaction is rolled back and the work is done again."""

    @abstractmethod
    def forget(self, subject: str) -> int:
        """Erase the name of a subject from all its decisions; answers with their number. Needs the lock."""

    def keep(self, points: Sequence[Point]) -> None:
        """Keep points of the series, as they are, for the decisions that the transaction adds. Else what becomes a
        point is the storage's own business, where it keeps any."""

    @abstractmethod
    def put_away(self, through: int) -> None:
        """Delete decisions up to `through` and their entries. Needs the lock."""


def time_of(clock: Callable[[], float] | None, own: float) -> float:
    """The time of a caller's clock, if it has one that works, else the storage's own."""
    if clock is None:
        return own
    now = as_float(clock())
    return now if FIRST <= now <= LAST else own


class Ledger(ABC):
    """The books of one study: the log, and a state that can be rebuilt from it.

    - `run(work)` gives a transaction to `work` and answers with what it answers, once all is durable: it survives the
      death of the process at any moment (and in SQL storages, with their default settings, that of the machine).
    - With `lock`, transactions on one study exclude each other, between threads and between processes. One that has to
      wait does so for `timeout` seconds before it raises `StorageBusy`; it never raises because somebody else was
      faster. Without `lock` it may only add entries, and sees no machine.
    - When `work` raises, nothing of it has changed; `work` may be called again, so it changes nothing but through the
      transaction. When the storage fails, nothing has changed either, except with `OutcomeUnknown`.
    - `look(work)` gives a consistent view to `work`; it takes no lock, and needs no right to write.
    - A ledger may be shared by threads, and by processes that are forked.
    - Rows of the log are only ever added. No method but `rows`, `chains` and `events` costs more after many decisions
      than after few.
    """

    config: Config
    study: int  # the number of the study in its storage, from 1
    token: str  # drawn at random when the study was made
    storage: Storage  # where it is
    timeout: float
    clock: Callable[[], float] | None = None  # the caller's own clock, if it has one
    told: int = 0  # entries that this process has added since it held the lock last

    @abstractmethod
    def take(self) -> Decision | None:
        """A decision that was taken in advance, if there is one."""

    @abstractmethod
    def stock_up(self, decisions: Sequence[Decision]) -> None:
        """Keep decisions that were taken in advance (where `Transaction.spare` asks for some)."""

    @abstractmethod
    def run(self, work: Callable[[Transaction], T], *, lock: bool = True, finds: Sequence[int] = ()) -> T:
        """Do `work` in a transaction. Raises `StorageError` when the storage cannot be reached or stays locked.

        `finds`: decisions that `work` is going to look for, so that a storage can read those of many callers together.
        """

    async def arun(self, work: Callable[[Transaction], T], *, lock: bool = True, finds: Sequence[int] = ()) -> T:
        """`run`, for an event loop, which goes on meanwhile."""
        return await asyncio.to_thread(self.run, work, lock=lock, finds=finds)

    @abstractmethod
    def look(self, work: Callable[[View], T]) -> T:
        """Do `work` on a view of the study as it is now."""

    @abstractmethod
    def repair(self) -> None:
        """Forget the state that is kept, and rebuild it from the log."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; the ledger reconnects when it is used again."""


class Storage(ABC):
    """Where studies live. Names of studies are unique within a storage."""

    @abstractmethod
    def create(self, config: Config, fill: Callable[[Transaction], None] | None = None) -> Ledger:
        """A new study, and in the same transaction what `fill` writes into it. Raises `StudyExists`."""

    def copying(self) -> AbstractContextManager[object]:
        """What to hold while one study is read and another one is filled from it."""
        return nullcontext()

    @abstractmethod
    def open(self, name: str) -> Ledger:
        """The study of this name. Raises `UnknownStudy`."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all studies, in the order of their creation."""

    @abstractmethod
    def page(self, after: int = 0, limit: int = 100) -> list[tuple[int, str]]:
        """Numbers and names of the first studies whose number is above `after`, in the order of their creation."""

    @abstractmethod
    def name_of(self, study: int) -> str | None:
        """The name of the study with this number; None where there is none."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Delete a study with its log. Raises `UnknownStudy`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""
