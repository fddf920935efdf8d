"""Studies in SQLite or PostgreSQL.

SQLAlchemy knows the URL, the driver and the dialect, and writes the statements; they then go straight to the driver,
for an ask or a tell is one transaction of three or four statements, and building them again each time would cost more
than the database does.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from types import TracebackType
from typing import Any, Protocol, cast

from satisfice.errors import MissingExtra, StorageError, StudyExists, UnknownStudy
from satisfice.studies.config import Config
from satisfice.studies.machine import Machine
from satisfice.studies.records import OPEN, Asked, Changed, Event, Row, Settled
from satisfice.studies.storages.base import Ledger, Storage

try:
    from sqlalchemy import create_engine, make_url
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool
except ImportError as error:
    raise MissingExtra("storages in SQL need SQLAlchemy; pip install 'satisfice[live]'") from error

from satisfice.studies.storages.schema import STEPS, Statements

TIMEOUT = 60.0
# PostgreSQL: the number of the lock under which the schema is made, any fixed number.
SCHEMA_LOCK = 7_283_411
# Connections of the parent that a forked child must not even close: that would end the parent's session.
_left_behind: list[object] = []


class Cursor(Protocol):
    """The part of a database cursor that is used here."""

    def fetchone(self) -> tuple[Any, ...] | None: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Database:
    """A database: its URL, its statements, and connections to it. Connections are in autocommit mode."""

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        try:
            parsed = make_url(url)
        except SQLAlchemyError as error:
            raise StorageError(f"{url!r} is not the URL of a database: {error}") from error
        self.timeout = timeout
        self.lite = parsed.get_backend_name() == "sqlite"
        if self.lite:
            if not parsed.database or parsed.database == ":memory:":
                raise StorageError(f"{url!r} names no file; use sqlite:///file.db, or storage=None for memory")
            # "full" outlives the machine's power; "normal" outlives the process and is faster.
            sync = str(parsed.query.get("synchronous", "full")).lower()
            if sync not in ("full", "normal"):
                raise StorageError(f"synchronous={sync} in {url!r}; it is full (the default) or normal")
            parsed = parsed.difference_update_query(["synchronous"])
            self.setup: tuple[str, ...] = (
                f"PRAGMA busy_timeout={int(1000 * timeout)}",
                "PRAGMA journal_mode=WAL",
                f"PRAGMA synchronous={sync}",
            )
            options = {"isolation_level": None, "check_same_thread": False, "timeout": timeout}
            self.begin = "BEGIN IMMEDIATE"
            paramstyle = "qmark"
        else:
            parsed = parsed.set(drivername="postgresql+psycopg")
            self.setup = (f"SET lock_timeout = {int(1000 * timeout)}",)
            options = {"autocommit": True}
            self.begin = "BEGIN"
            paramstyle = "format"
        try:
            self.engine = create_engine(parsed, poolclass=NullPool, connect_args=options, paramstyle=paramstyle)
        except ImportError as error:
            raise MissingExtra(f"{url!r} needs a driver; pip install 'satisfice[live]' ({error})") from error
        self.shown = parsed.render_as_string(hide_password=True)
        dbapi = self.engine.dialect.dbapi
        self.errors: tuple[type[Exception], ...] = (cast(Any, dbapi).Error, SQLAlchemyError)
        self.say = Statements(self.engine.dialect)

    def connect(self) -> Any:
        """A new connection of the driver."""
        deadline = time.monotonic() + self.timeout
        proxy = self.engine.raw_connection()
        connection: Any = proxy.driver_connection
        proxy.detach()
        for statement in self.setup:
            while True:
                try:
                    connection.execute(statement)
                    break
                except self.errors as error:
                    # Turning WAL on takes a lock that SQLite does not wait for.
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(0.005)
        return connection

    def problem(self, error: Exception) -> StorageError:
        """An error of the driver, as one of this package."""
        return StorageError(f"{self.shown}: {str(error).strip() or type(error).__name__}")

    def prepare(self) -> None:
        """Make the tables, or bring them up to date. Many processes may do so at once."""
        connection = self.connect()
        try:
            connection.execute(self.begin)
            if not self.lite:
                connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
            version = self._version(connection)
            if version > len(STEPS):
                raise StorageError(
                    f"{self.shown} has version {version} of the tables; this version of satisfice knows {len(STEPS)}"
                )
            for step in STEPS[version:]:
                for statement in step(self.engine.dialect):
                    connection.execute(statement)
            if version == 0:
                connection.execute(self.say.add_schema, (len(STEPS),))
            elif version < len(STEPS):
                connection.execute(self.say.set_schema, (len(STEPS),))
            connection.execute("COMMIT")
        finally:
            connection.close()

    def _version(self, connection: Any) -> int:
        if self.lite:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'satisfice_schema'").fetchone()
        else:
            known = connection.execute("SELECT to_regclass('satisfice_schema')").fetchone()[0]
        row = connection.execute(self.say.schema).fetchone() if known else None
        return int(row[0]) if row else 0


class SQLLedger(Ledger):
    """The books of one study in a database, on one connection per process."""

    def __init__(self, database: Database, study: int, config: Config) -> None:
        self.config = config
        self.timeout = database.timeout
        self._database, self._say, self._study = database, database.say, study
        self._machine: Machine | None = None
        self._connection: Any = None
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._before: tuple[int, int, float] = (0, 0, 0.0)

    # Transactions

    def __enter__(self) -> Machine:
        if self._process != os.getpid():
            _left_behind.append(self._connection)
            self._connection = self._machine = None
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
        fresh = self._connection is None
        while True:
            try:
                if self._connection is None:
                    self._connection = self._database.connect()
                return self._read()
            except self._database.errors as error:
                self._forget()
                busy = "locked" in str(error) and self._database.lite
                if time.monotonic() > deadline or (fresh and not busy):
                    raise
                fresh = not busy

    def _read(self) -> Machine:
        execute = self._connection.execute
        execute(self._database.begin)
        known = self._machine.version if self._machine is not None else -1
        version, book, memory = execute(self._say.read_state, (known, known, self._study)).fetchone()
        if book is None and self._machine is not None:
            return self._machine
        return Machine.restore(self.config, version, json.loads(book), json.loads(memory), self._machine)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            machine, connection = cast(Machine, self._machine), self._connection
            if error is not None:
                self._machine = None  # it may be half changed
                connection.execute("ROLLBACK")
                return
            if (machine.version, machine.scanned, machine.due) == self._before:
                connection.execute("ROLLBACK")
                return
            if machine.memory_changed:
                values = (machine.version, json.dumps(machine.book()), json.dumps(machine.memory()), self._study)
                connection.execute(self._say.save_state, values)
            else:
                connection.execute(self._say.save_book, (machine.version, json.dumps(machine.book()), self._study))
            connection.execute("COMMIT")
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
        connection, self._connection, self._machine = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(*self._database.errors):
                connection.close()

    def close(self) -> None:
        with self._lock:
            self._forget()

    # Rows

    def _rows(self, cursor: Iterable[tuple[Any, ...]]) -> dict[int, Row]:
        """Rows by id; of the entries about one decision the last one counts."""
        return {row[0]: Row._make((*row[:7], row[7] or OPEN, row[8], row[9] or 0)) for row in cursor}

    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        execute = self._connection.execute
        if len(ids) == 1:
            return self._rows(execute(self._say.find, (self._study, ids[0])))
        numbers = json.dumps(ids) if self._database.lite else list(ids)
        return self._rows(execute(self._say.find_many, (self._study, numbers)))

    def open_of(self, subject: str) -> Row | None:
        rows = self._rows(self._connection.execute(self._say.open_of, (self._study, self._study, subject)))
        return next((row for row in rows.values() if row.status == OPEN), None)

    def overdue(self, after: int, until: float, limit: int) -> list[Row]:
        values = (self._study, after, after + limit, until)
        return list(self._rows(self._connection.execute(self._say.overdue, values)).values())

    def first_after(self, after: int) -> float | None:
        row = self._connection.execute(self._say.asked_at, (self._study, after + 1)).fetchone()
        return None if row is None else float(row[0])

    def _add(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        if len(rows) == 1:
            self._connection.execute(statement, rows[0])
        elif rows:
            self._connection.cursor().executemany(statement, rows)

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

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        self._database = Database(url, timeout)
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
