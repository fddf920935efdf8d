"""Studies in SQLite or PostgreSQL: one transaction per ask and per tell, on one connection per study and process."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from types import TracebackType
from typing import Any, cast

from satisfice.errors import StorageError, StudyExists, UnknownStudy
from satisfice.studies.config import Config
from satisfice.studies.machine import Machine
from satisfice.studies.records import OPEN, Asked, Changed, Event, Row, Settled
from satisfice.studies.storages.base import Ledger, Storage
from satisfice.studies.storages.database import TIMEOUT, Database, Link

# Connections of the parent that a forked child must not even close: that would end the parent's session.
_left_behind: list[object] = []


class SQLLedger(Ledger):
    """The books of one study in a database, on one connection per process."""

    def __init__(self, database: Database, study: int, config: Config) -> None:
        self.config = config
        self.timeout = database.timeout
        self._database, self._say, self._study = database, database.say, study
        self._machine: Machine | None = None
        self._open: Link | None = None
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._before: tuple[int, int, float] = (0, 0, 0.0)

    # Transactions

    def __enter__(self) -> Machine:
        if self._process != os.getpid():
            _left_behind.append(self._open)
            self._open = self._machine = None
            self._reset()
        if not self._lock.acquire(timeout=self.timeout):
            raise StorageError(f"the study {self.config.name!r} stayed locked for {self.timeout:g} seconds")
        try:
            machine = self._machine = self._begin()
        except BaseException as error:
            self._forget()
            self._lock.release()
            if isinstance(error, self._database.errors):
                raise self._database.problem(error) from error
            raise
        self._before = machine.version, machine.scanned, machine.due
        return machine

    def _begin(self) -> Machine:
        """Lock the study and read its state, over a new connection if the old one is dead."""
        deadline = time.monotonic() + self.timeout
        fresh = self._open is None
        while True:
            try:
                if self._open is None:
                    self._open = self._database.link()
                return self._read(self._open)
            except self._database.errors as error:
                self._forget()
                busy = "locked" in str(error) and self._database.lite
                if time.monotonic() > deadline or (fresh and not busy):
                    raise
                fresh = not busy

    def _read(self, link: Link) -> Machine:
        known = self._machine.version if self._machine is not None else -1
        version, book, memory = link.begin(self._say.read_state, (known, known, self._study))
        if book is None and self._machine is not None:
            return self._machine
        return Machine.restore(self.config, version, json.loads(book), json.loads(memory), self._machine)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            machine, link = cast(Machine, self._machine), self._link
            if error is not None:
                self._machine = None  # it may be half changed
                link.rollback()
                return
            if (machine.version, machine.scanned, machine.due) == self._before:
                link.rollback()
                return
            if machine.memory_changed:
                values = (machine.version, json.dumps(machine.book()), json.dumps(machine.memory()), self._study)
                link.write(self._say.save_state, values)
            else:
                link.write(self._say.save_book, (machine.version, json.dumps(machine.book()), self._study))
            link.commit()
            machine.memory_changed = False
        except self._database.errors as failure:
            self._forget()
            if error is None:
                raise self._database.problem(failure) from failure
        except BaseException:
            self._forget()
            raise
        finally:
            self._lock.release()

    def _forget(self) -> None:
        """Drop the connection, and with it an open transaction, and the state that was read."""
        link, self._open, self._machine = self._open, None, None
        if link is not None:
            with contextlib.suppress(*self._database.errors):
                link.close()

    def close(self) -> None:
        with self._lock:
            self._forget()

    @property
    def _link(self) -> Link:
        if self._open is None:
            raise StorageError("a ledger is used outside of its transaction")
        return self._open

    # Rows

    def _rows(self, cursor: Iterable[tuple[Any, ...]]) -> dict[int, Row]:
        """Rows by id; of the entries about one decision the last one counts."""
        return {row[0]: Row._make((*row[:7], row[7] or OPEN, row[8], row[9] or 0)) for row in cursor}

    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        if len(ids) == 1:
            return self._rows(self._link.read(self._say.find, (self._study, ids[0])))
        numbers = json.dumps(ids) if self._database.lite else list(ids)
        return self._rows(self._link.read(self._say.find_many, (self._study, numbers)))

    def open_of(self, subject: str) -> Row | None:
        rows = self._rows(self._link.read(self._say.open_of, (self._study, self._study, subject)))
        return next((row for row in rows.values() if row.status == OPEN), None)

    def overdue(self, after: int, until: float, limit: int) -> list[Row]:
        values = (self._study, after, after + limit, until)
        return list(self._rows(self._link.read(self._say.overdue, values)).values())

    def first_after(self, after: int) -> float | None:
        row = self._link.read(self._say.asked_at, (self._study, after + 1)).fetchone()
        return None if row is None else float(row[0])

    def _add(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        if len(rows) == 1:
            self._link.write(statement, rows[0])
        elif rows:
            self._link.write_many(statement, rows)

    def add_decisions(self, rows: Sequence[Asked]) -> None:
        study = self._study
        self._add(
            self._say.add_decision,
            [
                (study, number, seq, arm, reason, lease, subject, at)
                for seq, number, arm, reason, lease, subject, at in rows
            ],
        )

    def add_settled(self, rows: Sequence[Settled]) -> None:
        study = self._study
        self._add(
            self._say.add_reward,
            [(study, number, nth, seq, status, reward, at) for seq, number, nth, status, reward, at in rows],
        )

    def add_change(self, row: Changed) -> None:
        self._add(self._say.add_change, [(self._study, *row)])

    def log(self, until: int | None = None) -> Iterator[Event]:
        try:
            connection = self._database.connect()
        except self._database.errors as error:
            raise self._database.problem(error) from error
        try:
            if until is None:
                until = connection.execute(self._say.read_state, (-1, -1, self._study)).fetchone()[0]
            # Rows are only ever added, so what lies below `until` does not change while it is read.
            say, values = self._say, (self._study, until)
            streams = [
                map(kind._make, connection.cursor().execute(statement, values))
                for kind, statement in (
                    (Asked, say.log_decisions),
                    (Settled, say.log_rewards),
                    (Changed, say.log_changes),
                )
            ]
            yield from cast("Iterator[Event]", merge(*streams, key=lambda event: event.seq))
        except self._database.errors as error:
            raise self._database.problem(error) from error
        finally:
            connection.close()


class SQLStorage(Storage):
    """Studies in the tables of one database, which are made when it is first used."""

    def __init__(self, url: str, timeout: float = TIMEOUT, *, create: bool = True) -> None:
        self._database = Database(url, timeout)
        if not create and self._database.missing:
            raise StorageError(f"there is no database {self._database.missing}; create_study makes it")
        try:
            self._database.prepare()
        except self._database.errors as error:
            raise self._database.problem(error) from error

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            connection = self._database.connect()
            try:
                return cast("list[tuple[Any, ...]]", connection.execute(statement, values).fetchall())
            finally:
                connection.close()
        except self._database.errors as error:
            raise self._database.problem(error) from error

    def create(self, config: Config) -> SQLLedger:
        database, say, machine = self._database, self._database.say, Machine(config)
        try:
            connection = database.connect()
            try:
                connection.execute(database.begin)
                if connection.execute(say.open_study, (config.name,)).fetchone() is not None:
                    raise StudyExists(f"there is already a study {config.name!r}; load_study opens it")
                values = (config.name, json.dumps(config.to_dict()), time.time())
                study = int(connection.execute(say.add_study, values).fetchone()[0])
                state = (study, machine.version, json.dumps(machine.book()), json.dumps(machine.memory()))
                connection.execute(say.add_state, state)
                connection.execute("COMMIT")
            finally:
                connection.close()
        except database.errors as error:
            if "unique" in str(error).lower():  # another process was faster
                raise StudyExists(f"there is already a study {config.name!r}; load_study opens it") from None
            raise database.problem(error) from error
        return SQLLedger(database, study, config)

    def open(self, name: str) -> SQLLedger:
        rows = self._run(self._database.say.open_study, (name,))
        if not rows:
            known = ", ".join(self.names()[:12]) or "there are none"
            raise UnknownStudy(f"there is no study {name!r} in {self._database.shown}; the studies: {known}")
        study, config = rows[0]
        return SQLLedger(self._database, int(study), Config.from_dict(json.loads(config)))

    def names(self) -> list[str]:
        return [str(name) for (name,) in self._run(self._database.say.names)]

    def close(self) -> None:
        """Nothing to let go of: every ledger has its own connection."""
