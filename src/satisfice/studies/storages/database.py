"""Connections to SQLite and PostgreSQL, from a URL.

SQLAlchemy knows the URL, the driver and the dialect, and writes the statements; they then go straight to the driver,
for an ask or a tell is one transaction of three or four statements, and building them again each time would cost more
than the database does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from satisfice.errors import MissingExtra, StorageError

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
Values = Sequence[object]


class Cursor(Protocol):
    """The part of a database cursor that is used here."""

    def fetchone(self) -> tuple[Any, ...] | None: ...
    def fetchall(self) -> list[tuple[Any, ...]]: ...
    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class Link:
    """A connection, in autocommit mode: transactions begin and end here. SQLite: every statement at once."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def begin(self, statement: str, numbers: tuple[int, ...]) -> tuple[Any, ...]:
        """Begin a transaction that will write, and answer with the first row of a statement."""
        self.connection.execute("BEGIN IMMEDIATE")
        return cast("tuple[Any, ...]", self.connection.execute(statement, numbers).fetchone())

    def read(self, statement: str, values: Values) -> Cursor:
        """The rows of a statement, with all that was written before."""
        return cast(Cursor, self.connection.execute(statement, values))

    def write(self, statement: str, values: Values) -> None:
        """Write, now or at the latest before the next read or the end of the transaction."""
        self.connection.execute(statement, values)

    def write_many(self, statement: str, rows: Sequence[Values]) -> None:
        """The same statement for many rows."""
        self.connection.executemany(statement, rows)

    def commit(self) -> None:
        """End the transaction; what was written is there for good."""
        self.connection.execute("COMMIT")

    def rollback(self) -> None:
        """End the transaction as if it had not been."""
        self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Hang up; an open transaction is rolled back."""
        self.connection.close()


class PostgresLink(Link):
    """Statements travel together: while a transaction is open others wait for it, so every trip to the server counts.

    Beginning and reading is one trip; all that is written and the commit are another.
    """

    def __init__(self, connection: Any) -> None:
        from psycopg import ClientCursor

        super().__init__(connection)
        self._cursor = ClientCursor(connection)
        self._waiting: list[str] = []

    def begin(self, statement: str, numbers: tuple[int, ...]) -> tuple[Any, ...]:
        self._waiting.clear()
        # Several statements in one trip take no parameters; whole numbers need no quoting.
        cursor = self.connection.execute(f"BEGIN; {statement % numbers}")
        cursor.nextset()
        return cast("tuple[Any, ...]", cursor.fetchone())

    def _send(self, *last: str) -> None:
        text = "; ".join([*self._waiting, *last])
        self._waiting.clear()
        if text:
            self.connection.execute(text)

    def read(self, statement: str, values: Values) -> Cursor:
        self._send()
        return super().read(statement, values)

    def write(self, statement: str, values: Values) -> None:
        self._waiting.append(self._cursor.mogrify(statement, values))

    def write_many(self, statement: str, rows: Sequence[Values]) -> None:
        self._send()
        self.connection.cursor().executemany(statement, rows)

    def commit(self) -> None:
        self._send("COMMIT")

    def rollback(self) -> None:
        self._waiting.clear()
        super().rollback()


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

    @property
    def missing(self) -> str | None:
        """The SQLite file if it is not there."""
        file = self.engine.url.database
        return file if self.lite and file and not file.startswith("file:") and not Path(file).exists() else None

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

    def link(self) -> Link:
        """A new connection for transactions."""
        connection = self.connect()
        return Link(connection) if self.lite else PostgresLink(connection)

    def problem(self, error: Exception) -> StorageError:
        """An error of the driver, as one of this package."""
        return StorageError(f"{self.shown}: {str(error).strip() or type(error).__name__}")

    def prepare(self) -> None:
        """Make the tables, or bring them up to date. Many processes may do so at once."""
        connection = self.connect()
        try:
            if self._version(connection) == len(STEPS):
                return
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
