"""Connections to SQLite and PostgreSQL, from a URL.

SQLAlchemy knows the URL, the driver and the tables; statements go straight to the driver, for an ask or a tell is one
transaction of a few statements, and building them again each time would cost more than the database does.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from satisfice.errors import Hint, MissingExtra, OutcomeUnknown, StorageBusy, StorageError

try:
    from sqlalchemy import make_url
    from sqlalchemy.engine import URL
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as error:
    raise MissingExtra("storages in SQL need SQLAlchemy; pip install 'satisfice[live]'") from error

from satisfice.studies.storages.schema import NEW_SCHEMA, STEPS, VERSION

TIMEOUT = 60.0
# PostgreSQL: the number of the lock under which the schema is made, any fixed number.
SCHEMA_LOCK = 7_283_411
# Whoever forks holds it, and whoever has a SQLite file open for a moment.
FORK_LOCK = threading.RLock()
# PostgreSQL ends a transaction whose client does not go on for so many seconds, as one that was stopped would not.
IDLE = 5
# A connection is given up when the server says nothing for the timeout and so many seconds more.
PATIENCE = 0.5
# What is secret of the parameters of a URL.
SECRETS = r"(?:ssl)?password|passwd|pwd|\w*secret|scram_\w*key"
# What SQLite's driver takes; the rest of the parameters of a file would be passed over.
TAKEN = {"cached_statements", "check_same_thread", "detect_types", "isolation_level", "uri"}

T = TypeVar("T")


def hide(url: str) -> str:
    """A URL without its passwords.

    Examples
    --------
    >>> hide("mysql://me:secret@host/db?password=secret&x=1")
    'mysql://me:***@host/db?password=***&x=1'
    """
    text = re.sub(r"(://[^/@:]*:)[^/]*(@)", r"\1***\2", url)
    return re.sub(rf"(?i)\b({SECRETS})=[^&\s]*", r"\1=***", text)


class Database:
    """A database: its URL, and connections to it, in autocommit mode."""

    lite: bool

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except (SQLAlchemyError, ValueError):
            # What cannot be read may have a password anywhere.
            kind = url.split(":", 1)[0]
            raise StorageError(f"'{kind}:...' is not the URL of a database", hint=Hint.STORAGE) from None
        if "@" in (parsed.host or ""):  # then it is the end of the password
            raise StorageError(f"'{parsed.drivername}:...' has an @ in its user or password; write %40 for it there")
        self.shown = hide(parsed.render_as_string(hide_password=True))
        query = {key: value if isinstance(value, str) else value[-1] for key, value in parsed.query.items()}
        self.timeout = self._timeout(query.pop("timeout", str(TIMEOUT)))
        # "full" outlives the machine's power; "normal" outlives the process and is faster.
        self.sync = query.pop("synchronous", "full").lower()
        if self.sync not in ("full", "normal"):
            raise StorageError(f"synchronous={self.sync} in {self.shown!r}; it is full (the default) or normal")
        self.url = self._url(parsed.set(query=query))
        try:
            dialect: Any = self.url.get_dialect()
            self.dialect: Any = dialect(paramstyle="qmark" if self.lite else "format", dbapi=dialect.import_dbapi())
        except (ImportError, SQLAlchemyError):
            raise MissingExtra(f"{self.shown!r} needs a driver; pip install 'satisfice[live]'") from None
        try:
            self.dialect.create_connect_args(self.url)
        except (SQLAlchemyError, ValueError) as error:
            why = hide(str(error)).split("\n", 1)[0]
            raise StorageError(f"{self.shown!r} is not what its driver takes: {why}") from None
        self.errors: tuple[type[Exception], ...] = (self.dialect.dbapi.Error, SQLAlchemyError, OSError, UnicodeError)

    def _timeout(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0.0 < value < 1e6:
            raise StorageError(f"timeout={text} in {self.shown!r}; it is a number of seconds above 0")
        return value

    def _url(self, url: URL) -> URL:
        return url

    def connect(self, *, write: bool = True) -> Any:
        """A new connection of the driver."""
        raise NotImplementedError

    def problem(self, error: Exception) -> StorageError:
        """An error of the driver, as one of this package."""
        text = hide(str(error).strip()) or type(error).__name__
        kind = StorageBusy if self.busy(error) else StorageError
        return kind(f"{self.shown}: {text}")

    def busy(self, error: Exception) -> bool:
        """Whether a lock was not to be had in time."""
        raise NotImplementedError

    def twice(self, error: Exception) -> bool:
        """Whether a row was there already."""
        raise NotImplementedError

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """Errors of the driver come out as those of this package."""
        try:
            yield
        except self.errors as error:
            raise self.problem(error) from error

    # The schema

    def prepare(self, *, create: bool) -> None:
        """Make the tables, or bring them up to date. Many processes may do so at once. With tables that are up to date
        it only reads."""
        version = self.work(self._version, write=False)
        self._known(version)
        if version == VERSION:
            return
        if version == 0 and not create:
            raise StorageError(f"there are no studies in {self.shown}", hint=Hint.CREATE)
        self.work(self._upgrade)

    def work(self, work: Callable[[Any], T], *, write: bool = True) -> T:
        """Do work over a connection of its own."""
        # Nobody forks while SQLite has a file open (see `satisfice.studies.storages.hub`).
        with self.guarded(), FORK_LOCK if self.lite else contextlib.nullcontext():
            connection = self.connect(write=write)
            try:
                return work(connection)
            finally:
                connection.close()

    def _known(self, version: int) -> None:
        if version > VERSION:
            raise StorageError(
                f"{self.shown} was made by a newer release of satisfice: it has version {version} of the tables, this "
                f"release knows {VERSION}; upgrade satisfice to open it"
            )

    def _upgrade(self, connection: Any) -> None:
        connection.execute("BEGIN IMMEDIATE" if self.lite else "BEGIN")
        if not self.lite:
            connection.execute(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
        version = self._version(connection)
        self._known(version)
        if version == 0:
            connection.execute(NEW_SCHEMA)
            connection.execute("INSERT INTO satisfice_schema VALUES (0)")
        for number, statements, move in STEPS:
            if number > version:
                for statement in statements(self.dialect):
                    connection.execute(statement)
                if move is not None:
                    move(connection, self.lite)
        connection.execute(f"UPDATE satisfice_schema SET version = {VERSION}")
        connection.execute("COMMIT")

    def _version(self, connection: Any) -> int:
        raise NotImplementedError

    def _said(self, row: tuple[Any, ...] | None) -> int:
        """The version that a row says."""
        if row is None or not isinstance(row[0], int):
            raise StorageError(f"{self.shown} is damaged: it does not say which version of the tables it has")
        return row[0]


class SQLite(Database):
    """A file."""

    lite = True

    def _url(self, url: URL) -> URL:
        if not url.database or url.database == ":memory:":
            raise StorageError(f"{self.shown!r} names no file", hint=Hint.FILE, parameter="storage")
        if "\0" in url.database:
            raise StorageError(f"{url.database!r} is no name of a file", parameter="storage")
        if url.database.startswith("file:"):
            self.file = None
            return url
        strange = sorted(set(url.query) - TAKEN)
        if strange:
            raise StorageError(
                f"{strange[0]}= in {self.shown!r} means nothing there; a SQLite file has timeout= and synchronous="
            )
        # The same file as long as the process lives, whatever folder it goes to.
        self.named, self.file = url.database, Path(url.database).absolute()
        return url.set(database=str(self.file))

    @property
    def identity(self) -> tuple[int, int] | None:
        """Which file it is by now; None: there is none."""
        if self.file is None:
            return 0, 0
        try:
            found = os.stat(self.file)  # noqa: PTH116 (many times a second)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def connect(self, *, write: bool = True) -> Any:
        deadline = time.monotonic() + self.timeout
        args, options = self.dialect.create_connect_args(self.url)
        options |= {"isolation_level": None, "check_same_thread": False, "timeout": min(self.timeout, 2e6)}
        if not write and self.file is not None:
            connection = self._reader(options)
        elif self.file is not None and self.identity is None:
            raise StorageError(f"the file {self.file} is gone; nothing was written")
        else:
            connection = self.dialect.dbapi.connect(*args, **options)
        setup = [f"PRAGMA busy_timeout={int(1000 * self.timeout)}", f"PRAGMA synchronous={self.sync}"]
        if write:
            setup.append("PRAGMA journal_mode=WAL")
        for statement in setup:
            while True:
                try:
                    connection.execute(statement)
                    break
                except self.errors as error:
                    # Turning WAL on takes a lock that SQLite does not wait for.
                    if not self.busy(error) or time.monotonic() > deadline:
                        connection.close()
                        raise
                    time.sleep(0.005)
        return connection

    def _reader(self, options: dict[str, Any]) -> Any:
        """A connection that only reads, also where nothing may be written, not even the files that WAL needs."""
        assert self.file is not None
        where = self.file.absolute().as_uri()
        options = {**options, "uri": True}
        ways = ["mode=ro", "mode=ro&immutable=1"]
        if all(os.access(place, os.W_OK) for place in (self.file, self.file.parent)):
            del ways[1:]
        failure: Exception | None = None
        for way in ways:
            if way != ways[0] and self._unread:
                raise StorageError(
                    f"{self.shown}: what was written last is in {self.file.name}-wal, which SQLite cannot read without "
                    "the right to write in that folder; copy both files to a folder of your own"
                ) from failure
            connection = self.dialect.dbapi.connect(f"{where}?{way}", **options)
            try:
                connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
                return connection
            except self.errors as error:
                connection.close()
                failure = error
        assert failure is not None
        raise failure

    @property
    def _unread(self) -> bool:
        """Whether there is anything in the file beside it that SQLite writes first."""
        assert self.file is not None
        try:
            return self.file.with_name(f"{self.file.name}-wal").stat().st_size > 0
        except OSError:
            return False

    def prepare(self, *, create: bool) -> None:
        if self.file is not None and self.identity is None:
            if not create:
                raise StorageError(f"there is no database {self.named}", hint=Hint.CREATE)
            with self.guarded():
                self.file.touch()
        super().prepare(create=create)

    def _version(self, connection: Any) -> int:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'satisfice_schema'").fetchone() is None:
            return 0
        return self._said(connection.execute("SELECT version FROM satisfice_schema").fetchone())

    def busy(self, error: Exception) -> bool:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in (5, 6)  # SQLITE_BUSY, SQLITE_LOCKED

    def twice(self, error: Exception) -> bool:
        return getattr(error, "sqlite_errorname", "") in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY")


class PostgreSQL(Database):
    """A database of a PostgreSQL server."""

    lite = False

    def _url(self, url: URL) -> URL:
        return url.set(drivername="postgresql+psycopg")

    def connect(self, *, write: bool = True) -> Any:
        args, options = self.dialect.create_connect_args(self.url)
        seconds = max(int(min(self.timeout, 10.0)), 2)
        # A network that says nothing must not hold anybody up for longer than the timeout.
        options = {
            "connect_timeout": seconds,
            "keepalives": 1,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": int(1000 * self.timeout),
            "client_encoding": "UTF8",
        } | options
        connection = patient(self.timeout).connect(*args, **options, autocommit=True)
        connection.execute(self.setup(write))
        return connection

    def setup(self, write: bool) -> str:
        """What a session relies on, whatever the server, the database or the role has as a default."""
        statements = [
            f"SET lock_timeout = {int(1000 * self.timeout)}",
            # Who only reads holds nobody up, and may take its time with what it has read.
            f"SET idle_in_transaction_session_timeout = {1000 * IDLE if write else 0}",
            "SET statement_timeout = 0",
            "SET client_encoding = 'UTF8'",
            "SET extra_float_digits = 1",
            "SET default_transaction_isolation = 'read committed'",
            "SET standard_conforming_strings = on",
            "SET array_nulls = on",
            # A parameter that servers before PostgreSQL 17 do not have.
            "SELECT set_config('transaction_timeout', '0', false) "
            "WHERE current_setting('transaction_timeout', true) IS NOT NULL",
        ]
        if write:
            statements.append("SET default_transaction_read_only = off")
        if self.sync == "full":
            # Stronger settings than "on" stay.
            statements.append(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
            )
        return "; ".join(statements)

    def _version(self, connection: Any) -> int:
        if connection.execute("SELECT to_regclass('satisfice_schema')").fetchone()[0] is None:
            return 0
        return self._said(connection.execute("SELECT version FROM satisfice_schema").fetchone())

    def busy(self, error: Exception) -> bool:
        # A lock that was not to be had in time, and deadlocks, which the server ends by failing one of the parties.
        return getattr(error, "sqlstate", None) in ("55P03", "40P01", "40001")

    def twice(self, error: Exception) -> bool:
        return getattr(error, "sqlstate", None) == "23505"


@cache
def patient(timeout: float) -> Any:
    """The class of connections that hang up when a server says nothing for the timeout and a little.

    The server has timeouts of its own for locks. So one that says nothing is out of reach, be it that the network
    still takes what it is sent.
    """
    from psycopg import Connection, OperationalError

    class PatientConnection(Connection[Any]):
        def wait(self, gen: Any, *args: Any, **named: Any) -> Any:
            return super().wait(self._watched(gen, time.monotonic() + timeout + PATIENCE), *args, **named)

        def _watched(self, gen: Any, until: float) -> Any:
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and time.monotonic() > until:
                        self.pgconn.finish()
                        raise OperationalError(f"the server said nothing for {timeout + PATIENCE:g} seconds")
                    wanted = gen.send(ready)
            except StopIteration as end:
                return end.value

    return PatientConnection


def make_database(url: str) -> Database:
    """The database of a URL."""
    return (SQLite if url.split(":", 1)[0].split("+")[0] == "sqlite" else PostgreSQL)(url)


def unknown(database: Database, error: Exception) -> OutcomeUnknown:
    """What to raise when the answer to COMMIT did not come."""
    return OutcomeUnknown(
        f"{database.shown}: the connection was lost while a change was being written, so that nobody knows whether it "
        f"was ({hide(str(error).strip()) or type(error).__name__}); telling the same again, or asking with the same "
        "key, is safe"
    )
