"""Connections that carry out transactions: SQLite statement by statement, PostgreSQL in as few trips as possible."""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Sequence
from io import FileIO
from itertools import chain
from pathlib import Path
from typing import Any, cast

from satisfice.errors import OutcomeUnknown, StorageError
from satisfice.studies.storages.database import Database, PostgreSQL, SQLite, unknown
from satisfice.studies.storages.statements import FEW, TABLES, Said, prepared

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Rows = list[tuple[Any, ...]]


class Link:
    """A connection, in autocommit mode: transactions begin and end here."""

    def __init__(self, database: Database, *, write: bool) -> None:
        self.database = database
        self.connection = database.connect(write=write)
        self.closed = False
        self._added: dict[str, Rows] = {}  # rows that are added together, before the next read or the commit

    def line_up(self) -> None:
        """Wait for one's turn to write, where the database does not see to it that everybody gets one."""

    def leave(self) -> None:
        """Let others have their turn."""

    def begin(self, study: int, lock: bool, statements: Sequence[Said]) -> list[Rows]:
        """Begin a transaction that will write, and answer with the rows of some statements."""
        raise NotImplementedError

    def view(self, statements: Sequence[Said]) -> list[Rows]:
        """Begin a transaction that only reads: it sees one moment, whatever is written meanwhile."""
        raise NotImplementedError

    def read(self, statement: str, values: Sequence[object] = ()) -> Rows:
        """The rows of a statement, with all that was written before."""
        return cast(Rows, self.connection.execute(self._say(statement), values).fetchall())

    def reads(self, statements: Sequence[Said]) -> list[Rows]:
        """The rows of each of several statements."""
        return [self.read(*statement) for statement in statements]

    def write(self, statement: str, values: Sequence[object] = ()) -> None:
        """Write, now or at the latest before the next read or the end of the transaction."""
        self.connection.execute(self._say(statement), values)

    def write_rows(self, kind: str, rows: Rows) -> None:
        """Add many rows of one kind, now or at the latest before anything else is read or written."""
        self._added.setdefault(kind, []).extend(rows)

    def _flush(self) -> None:
        """Add the rows that wait for it."""
        for kind in list(self._added):
            self._add(kind, self._added[kind])
            del self._added[kind]

    def _add(self, kind: str, rows: Rows) -> None:
        raise NotImplementedError

    def _say(self, statement: str) -> str:
        return statement

    def commit(self) -> None:
        """End the transaction; what was written is there for good. Raises `OutcomeUnknown`, or an error of the driver
        after which nothing was written."""
        raise NotImplementedError

    def rollback(self) -> None:
        """End the transaction as if it had not been."""
        self.connection.execute("ROLLBACK")

    @property
    def usable(self) -> bool:
        """Whether the connection still leads to the database."""
        return not self.closed

    def close(self) -> None:
        """Hang up; an open transaction is rolled back."""
        self.closed = True
        with contextlib.suppress(*self.database.errors):
            self.connection.close()


# So many rows are added by one statement; other threads may come in between after each.
AT_ONCE = (64, 16, 4, 1)
INSERT = {
    (kind, size): f"INSERT INTO satisfice_{kind} ({', '.join(columns)}) VALUES "
    + ", ".join([f"({', '.join('?' * len(columns))})"] * size)
    for kind, columns in TABLES.items()
    for size in AT_ONCE
}


class SQLiteLink(Link):
    """A connection to a file.

    SQLite lets whoever asks at the right moment write next, so that one of many writers may wait for seconds. Before
    they ask, writers wait in line for a lock of a file beside the database, in which the one that has it leaves its
    number.
    """

    database: SQLite

    def __init__(self, database: SQLite, *, write: bool) -> None:
        self._which = database.identity  # taken first: one that is put in its place meanwhile is another
        super().__init__(database, write=write)
        self._queue: FileIO | None = None
        if write and fcntl is not None and database.file is not None:
            with contextlib.suppress(OSError):
                self._queue = FileIO(str(queue_file(database.file)), "a+", opener=_opener)
                _queues.add(self._queue)

    @property
    def usable(self) -> bool:
        return not self.closed and self._which == self.database.identity

    def __del__(self) -> None:
        # Not when it hangs up: its thread may wait in line just then.
        queue: FileIO | None = getattr(self, "_queue", None)
        if queue is not None:
            queue.close()

    def line_up(self) -> None:
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_EX)
            os.pwrite(self._queue.fileno(), b"%-20d" % os.getpid(), 0)

    def leave(self) -> None:
        if self._queue is not None and not self._queue.closed:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def begin(self, study: int, lock: bool, statements: Sequence[Said]) -> list[Rows]:
        identity = self.database.identity
        if identity is None:
            raise StorageError(f"the file {self.database.file} is gone; nothing was written")
        if identity != self._which:  # while it waited in line: what is opened next is the new one
            raise OSError(f"the file {self.database.file} was replaced")
        self._added.clear()
        deadline = time.monotonic() + self.database.timeout
        while True:
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                break
            except self.database.errors as error:
                if not self.database.busy(error) or time.monotonic() > deadline:
                    raise
        return [self.connection.execute(*statement).fetchall() for statement in statements]

    def view(self, statements: Sequence[Said]) -> list[Rows]:
        self.connection.execute("BEGIN")
        return [self.connection.execute(*statement).fetchall() for statement in statements]

    def read(self, statement: str, values: Sequence[object] = ()) -> Rows:
        self._flush()
        return super().read(statement, values)

    def write(self, statement: str, values: Sequence[object] = ()) -> None:
        self._flush()
        super().write(statement, values)

    def _add(self, kind: str, rows: Rows) -> None:
        done = 0
        for size in AT_ONCE:
            while len(rows) - done >= size:
                values = chain.from_iterable(rows[done : done + size])
                self.connection.execute(INSERT[kind, size], tuple(values))
                done += size

    def commit(self) -> None:
        self._flush()
        try:
            self.connection.execute("COMMIT")
        except self.database.errors as error:
            # A commit that fails, for want of space for example, leaves the transaction open, to be rolled back.
            try:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
            except self.database.errors:
                raise unknown(self.database, error) from error
            raise

    def rollback(self) -> None:
        self._added.clear()
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")


# The files in which writers of this process wait in line. They are closed when nobody has a use for them any more.
_queues: weakref.WeakSet[FileIO] = weakref.WeakSet()


def _opener(path: str, flags: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)


def leave_queues() -> None:
    """In a process that was forked: have no part in a lock that its parent holds or waits for."""
    for queue in list(_queues):
        queue.close()


def queue_file(file: Path) -> Path:
    """Where writers of a SQLite file wait in line."""
    return file.with_name(file.name + "-queue")


def array(kind: str, values: Sequence[Any]) -> list[Any] | str:
    """Values of one type as the driver is handed them: numbers, which need no quotes, in PostgreSQL's own notation.

    Examples
    --------
    >>> array("double precision", (0.5, None, 1.0)), array("text", ("a", None))
    ('{0.5,NULL,1.0}', ['a', None])
    """
    if kind == "text":
        return list(values)
    return "{" + ",".join(["NULL" if value is None else str(value) for value in values]) + "}"


# So many rows wait at most before they travel.
SENT = 5_000


class PostgresLink(Link):
    """Statements travel together: while a study is locked others wait for it, so every trip to the server counts.

    Beginning and reading is one trip; all that is written and the commit are another. The lock is one of the server's
    advisory locks, which cost no write; who only adds entries shares it, so that whoever holds it alone has seen all.
    """

    def __init__(self, database: PostgreSQL, *, write: bool) -> None:
        from psycopg import ClientCursor

        super().__init__(database, write=write)
        self._cursor = ClientCursor(self.connection)
        self._waiting: list[str] = []
        # The driver must prepare nothing by itself: after a rollback it would have all that is prepared forgotten.
        self.connection.prepare_threshold = None
        try:
            self.connection.execute(prepared(write))
        except BaseException:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        return not self.closed and not self.connection.closed

    def begin(self, study: int, lock: bool, statements: Sequence[Said]) -> list[Rows]:
        self._waiting.clear()
        self._added.clear()
        how = "" if lock else "_shared"
        head = (
            Said("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
            Said(f"SELECT pg_advisory_xact_lock{how}('satisfice_studies'::regclass::oid::int, ?)", (study,)),
        )
        return self._sets((*head, *statements), len(head))

    def view(self, statements: Sequence[Said]) -> list[Rows]:
        return self._sets((Said("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), *statements), 1)

    def _sets(self, statements: Sequence[Said], skip: int) -> list[Rows]:
        cursor = self.connection.execute("; ".join([statement.whole for statement in statements]))
        sets = []
        for place in range(len(statements)):
            if place >= skip:
                sets.append(cursor.fetchall())
            cursor.nextset()
        return sets

    def _send(self, *last: str) -> None:
        self._flush()
        text = "; ".join([*self._waiting, *last])
        self._waiting.clear()
        if text:
            self.connection.execute(text)

    def read(self, statement: str, values: Sequence[object] = ()) -> Rows:
        self._send()
        return super().read(statement, values)

    def reads(self, statements: Sequence[Said]) -> list[Rows]:
        self._send()
        return self._sets(statements, 0)

    def _say(self, statement: str) -> str:
        return statement.replace("?", "%s")

    def write_rows(self, kind: str, rows: Rows) -> None:
        for first in range(0, len(rows), SENT):
            super().write_rows(kind, rows[first : first + SENT])
            if len(self._added[kind]) >= SENT:  # else the server takes a long piece of work for a client that hangs
                self._send()

    def write(self, statement: str, values: Sequence[object] = ()) -> None:
        self._flush()
        self._waiting.append(self._cursor.mogrify(self._say(statement), values))

    def _add(self, kind: str, rows: Rows) -> None:
        columns = TABLES[kind]
        if len(rows) <= FEW:
            say = f"EXECUTE satisfice_add_{kind} ({', '.join(['%s'] * len(columns))})"
            self._waiting += [self._cursor.mogrify(say, row) for row in rows]
            return
        arrays = ", ".join(f"%s::{type_}[]" for type_ in columns.values())
        self._waiting.append(
            self._cursor.mogrify(
                f"INSERT INTO satisfice_{kind} ({', '.join(columns)}) SELECT * FROM unnest({arrays})",
                [array(type_, values) for type_, values in zip(columns.values(), zip(*rows, strict=True), strict=True)],
            )
        )

    def commit(self) -> None:
        try:
            self._send("COMMIT")
        except self.database.errors as error:
            state = getattr(error, "sqlstate", None)
            # The server had ended the transaction of a client that did not go on, before the commit reached it.
            if state != "25P03" and (self.connection.closed or state in (None, "57P01", "57P02", "57P03")):
                raise unknown(self.database, error) from error
            raise

    def rollback(self) -> None:
        self._waiting.clear()
        self._added.clear()
        super().rollback()


def make_link(database: Database, *, write: bool) -> Link:
    """A new connection for transactions."""
    if isinstance(database, SQLite):
        return SQLiteLink(database, write=write)
    assert isinstance(database, PostgreSQL)
    return PostgresLink(database, write=write)


__all__ = ["Link", "OutcomeUnknown", "make_link", "queue_file"]
