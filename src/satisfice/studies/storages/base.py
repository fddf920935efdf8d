"""The contract of a storage. `tests/studies/test_storages.py` runs every storage against it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType

from satisfice.studies.config import Config
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Changed, Event, Row, Settled


class Ledger(ABC):
    """The books of one study: its state, and the log that the state can be rebuilt from.

    A ledger is a context manager. Entering it begins a transaction and answers with the study's `Machine`, up to
    date with every committed event of every process; leaving it commits, or rolls everything back if an error passes
    through. The rules:

    - Transactions on one study exclude each other, between threads and between processes. One that has to wait does
      so for `timeout` seconds before it raises `StorageError`; it never raises because somebody else was faster.
    - When leaving returns, what was written is durable: it survives the death of the process at any moment (and in
      SQL storages, with their default settings, that of the machine).
    - Either all of a transaction is there or nothing. After an error the next transaction sees the state before it.
    - A ledger may be shared by threads, and by processes that are forked; it then reconnects by itself.
    - Rows of the log are only ever added. `seq` is the machine's `version` after the event: 1, 2, 3, ... without gaps.
    - The machine is only valid inside the transaction; nobody may keep it, or change it without logging why.
    - No method but `log` costs more after many decisions than after few.
    - Inside a transaction `find`, `open_of` and `overdue` see what the transaction itself has added.
    """

    config: Config
    timeout: float

    @abstractmethod
    def __enter__(self) -> Machine:
        """Begin a transaction. Raises `StorageError` when the storage cannot be reached or stays locked."""

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Commit, or roll back when there is an error."""

    # Inside a transaction

    @abstractmethod
    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        """The decisions with these ids and what became of them; unknown ids are missing from the answer."""

    def get(self, number: int) -> Row | None:
        """The decision with this id and what became of it, or None."""
        return self.find((number,)).get(number)

    @abstractmethod
    def open_of(self, subject: str) -> Row | None:
        """The last decision of a subject if it is open."""

    @abstractmethod
    def overdue(self, after: int, until: float, limit: int) -> list[Row]:
        """Decisions with an id above `after` that were asked for by the time `until`, in order of id."""

    @abstractmethod
    def first_after(self, after: int) -> float | None:
        """When decision `after` + 1 was asked for; None if it was not yet."""

    @abstractmethod
    def add_decisions(self, rows: Sequence[Asked]) -> None:
        """Add decisions to the log."""

    @abstractmethod
    def add_settled(self, rows: Sequence[Settled]) -> None:
        """Add what became of decisions to the log."""

    @abstractmethod
    def add_change(self, row: Changed) -> None:
        """Add a change of the world to the log."""

    # Outside transactions

    @abstractmethod
    def log(self, until: int | None = None) -> Iterator[Event]:
        """The events up to `seq` = `until`, in order: one consistent view, whatever is added meanwhile."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; the ledger reconnects when it is used again."""


class Storage(ABC):
    """Where studies live. Names of studies are unique within a storage."""

    @abstractmethod
    def create(self, config: Config) -> Ledger:
        """A new study. Raises `StudyExists`."""

    @abstractmethod
    def open(self, name: str) -> Ledger:
        """The study of this name. Raises `UnknownStudy`."""

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all studies, in the order of their creation."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""
