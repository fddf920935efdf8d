"""A study as a connection to a database sees it: to read, and in a transaction that writes."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from satisfice.errors import StorageError
from satisfice.studies.folding import advance, fold, followed
from satisfice.studies.machine import FORMAT, Machine
from satisfice.studies.records import (
    ASKED_FIELDS,
    STILL_OPEN,
    Asked,
    Entry,
    Event,
    Outcome,
    Row,
    in_control,
    made,
)
from satisfice.studies.series import Point, due, from_data, point_of, stride, to_data
from satisfice.studies.storages import statements as say
from satisfice.studies.storages.base import Transaction, View, time_of
from satisfice.studies.storages.books import LONG, MOST_COUNTED, Books, Diverged, Seen
from satisfice.studies.storages.links import Link

if TYPE_CHECKING:
    from satisfice.studies.storages.sql import SQLLedger

T = TypeVar("T")

# A snapshot of the state is written after so many rows of the log.
SNAPSHOT_EVERY = 2_000
CHUNK = 5_000
OPEN, TOLD = str(Outcome.OPEN), str(Outcome.TOLD)  # as plain text, which drivers take as it is
# Events after which decisions that were taken in advance are as good as before.
INNER = ("make_lease", "judge", "start_anew", "add_segment")


def _row(values: tuple[Any, ...]) -> Row:
    """A decision and what became of it, from a row that was read."""
    return made(Row, values if values[ASKED_FIELDS] is not None else (*values[:ASKED_FIELDS], *STILL_OPEN))


class SQLView(View):
    """A study as a connection sees it."""

    watches = False  # whether its machine looks out for changes of rewards

    def __init__(self, ledger: SQLLedger, link: Link, now: float) -> None:
        self.config, self.now = ledger.config, now
        self._ledger, self._link, self._study = ledger, link, ledger.study
        self._books: Books | None = None
        # Decisions that were read when the transaction began, as they still are: the fields of a row, as far as known.
        self._found: dict[int, tuple[Any, ...]] = {}

    @property
    def machine(self) -> Machine:
        if self._books is None:
            self._books = self.load()
        return self._books.machine

    @property
    def stored(self) -> Machine:
        return self.load().machine

    @property
    def today(self) -> float:
        return time_of(self._ledger.clock, self.now)

    def noted(self, say: Callable[[Machine], T]) -> T:
        machine, books = self.machine, cast(Books, self._books)
        if books.note is None or books.note[0] != books.state:
            books.note = books.state, say(machine)
        return cast(T, books.note[1])

    def load(self) -> Books:
        """The state from the last snapshot and what has come since, or from the whole log where there is none."""
        for state, *rest in self._link.read(*say.load(self._study)):
            # A snapshot that is not of this log, or damaged: the log is the truth.
            with contextlib.suppress(Diverged, ValueError, LookupError, TypeError, AttributeError):
                data = json.loads(state)
                if data["format"] > FORMAT:
                    raise StorageError(
                        f"the state of the study {self.config.name!r} was written by a newer release of satisfice "
                        f"(format {data['format']}, this release knows {FORMAT}); upgrade satisfice to open it"
                    )
                machine = Machine.from_dict(self.config, data)
                books = Books(machine if self.watches else machine.watch_nothing(), Seen(*rest))
                tails = self._link.reads(self._ledger.tail(books))
                books.catch_up(tails, locked=self._ledger.lite)
                advance(books.machine, self)
                return books
        entry = self._link.read(say.LAST_ENTRY, (self._study,))
        tokens = [self._link.read(statement, (self._study,)) for statement in say.LAST_TOKENS]
        with followed(self.config):
            machine = fold(self.config, self, watch=self.watches)
        seen = Seen(
            entry[0][0] if entry else 0,
            tokens[0][0][0] if tokens[0] else None,
            tokens[1][0][0] if tokens[1] else None,
            entry[0][1] if entry else None,
        )
        books = Books(machine, seen)
        if not self._ledger.lite:
            numbers = self._link.read(*say.numbers(self._study, MOST_COUNTED + 1))
            books.since, books.counted = 0, {number for (number,) in numbers}
        books.unsaved = SNAPSHOT_EVERY
        return books

    def go_on(self, books: Books, tails: Sequence[list[tuple[Any, ...]]]) -> None:
        """Go on with the state of an earlier view, if it is one of this log."""
        with contextlib.suppress(Diverged):
            if not self._ledger.lite:
                safe, *tails = tails
            books.catch_up(tails, locked=self._ledger.lite, most=LONG)
            if not self._ledger.lite and safe:
                books.all_counted(safe[0][0])
            advance(books.machine, self)
            self._books = books

    def found(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Keep rows of decisions that were read."""
        self._found = {row[0]: row for row in rows}

    def find(self, ids: Sequence[int]) -> dict[int, Row]:
        if self._found and all(number in self._found for number in ids):
            return {number: _row(self._found[number]) for number in ids}
        if len(ids) == 1:
            rows = self._link.read(say.ROW, (self._study, ids[0]))
        elif self._ledger.lite:
            rows = self._link.read(say.ROWS_LITE, (self._study, json.dumps(list(ids))))
        else:
            rows = self._link.read(say.ROWS_POSTGRES, (self._study, list(ids)))
        return {row[0]: _row(row) for row in rows}

    def rows(self, first: int = 1, last: int | None = None) -> Iterator[Row]:
        while last is None or first <= last:
            end = first + CHUNK - 1 if last is None else min(first + CHUNK - 1, last)
            found = list(map(_row, self._link.read(say.RANGE, (first, end, self._study, first, end))))
            yield from found
            if not found:
                following = self._link.read(say.DECISIONS, (self._study, first, 1))
                if not following or (last is not None and following[0][0] > last):
                    return
                first = following[0][0]
            else:
                first = end + 1

    def newest(self, before: int | None = None, limit: int = 100) -> list[Row]:
        return list(map(_row, self._link.read(say.NEWEST, (self._study, before or 1 << 62, limit))))

    def chains(self) -> Iterator[tuple[Asked, list[Entry]]]:
        first = 1
        while True:
            asked = [made(Asked, row) for row in self._link.read(say.DECISIONS, (self._study, first, CHUNK))]
            if not asked:
                return
            entries: dict[int, list[Entry]] = {}
            for row in self._link.read(say.CHAINS, (self._study, asked[0].id, asked[-1].id)):
                entries.setdefault(row[0], []).append(made(Entry, row))
            for decision in asked:
                yield decision, entries.pop(decision.id, [])
            first = asked[-1].id + 1

    def size(self, through: int) -> tuple[int, int]:
        (((decisions, names),), ((entries,),)) = (self._link.read(count, (self._study, through)) for count in say.SIZE)
        return decisions + entries, names

    def events(self, until: int | None = None, after: int = 0) -> Iterator[Event]:
        last, end = after, 1 << 62 if until is None else until
        while True:
            rows = self._link.read(say.EVENTS, (self._study, last, end, CHUNK))
            for last, kind, data, at in rows:
                yield Event(last, kind, json.loads(data), at)
            if len(rows) < CHUNK:
                return

    def changes(self, before: int | None = None, limit: int = 100) -> list[Event]:
        rows = self._link.read(say.CHANGES, (self._study, before or 1 << 62, limit))
        return [Event(seq, kind, json.loads(data), at) for seq, kind, data, at in rows]

    def whose(self, what: str, name: str, before: int | None = None, limit: int = 100) -> list[Row]:
        return list(map(_row, self._link.read(say.WHOSE[what], (self._study, name, before or 1 << 62, limit))))

    def series(self) -> list[Point]:
        rows = self._link.read(say.SERIES, (self._study,))
        return [from_data(place, decisions, at, json.loads(arms)) for place, decisions, at, arms in rows]

    def open_of(self, subject: str) -> Row | None:
        rows = map(_row, self._link.read(say.OF_SUBJECT, (self._study, self._study, subject)))
        return next((row for row in rows if row.outcome == Outcome.OPEN), None)

    def of_session(self, session: str) -> Row | None:
        return next(map(_row, self._link.read(say.OF_SESSION, (self._study, self._study, session))), None)

    def of_key(self, key: str) -> list[Row]:
        return list(map(_row, self._link.read(say.OF_KEY, (self._study, key))))


class SQLTransaction(SQLView, Transaction):
    """A transaction over a connection that writes. Rows are written at once; the machine counts what needs the lock."""

    watches = True

    def __init__(self, ledger: SQLLedger, link: Link, now: float, lock: bool) -> None:
        super().__init__(ledger, link, now)
        self.changed = 0
        self.alone = False  # whether it must be shared with nobody, as rows go that others may have read
        self.spare = 0
        self._since: int | None = None  # the last decision before this transaction
        self._at = 0.0  # when the last one was made
        self.locked, self._token = lock, secrets.token_hex(4)
        self._later: list[Callable[[], None]] = []

    @property
    def machine(self) -> Machine:
        if self._books is None:
            raise StorageError("a transaction without the lock has no machine")
        return self._books.machine

    def add_decisions(self, rows: Sequence[Asked]) -> None:
        machine = self.machine
        if not rows:
            return
        self.changed += 1
        if self._since is None:
            self._since = machine.decisions
        self._at = rows[-1].at
        self._link.write_rows("decisions", [(self._study, *row, self._token) for row in rows])
        for row in rows:
            machine.ask(row)
        books = cast(Books, self._books)
        books.unsaved += len(rows)
        if books.seen.decision_token != self._token:
            books.seen = books.seen._replace(decision_token=self._token)

    def add_event(self, event: Event) -> None:
        self.machine.happen(event)
        self.changed += 1
        row = (self._study, event.seq, event.kind, json.dumps(event.data), event.at, self._token)
        self._link.write_rows("events", [row])
        books = cast(Books, self._books)
        books.unsaved += 1
        books.seen = books.seen._replace(seq_token=self._token)
        if event.kind not in INNER:
            self.later(lambda: self._ledger.give_back(wait=False))

    def add_entries(self, entries: Sequence[Entry]) -> None:
        if entries:
            self.changed += 1
            self._ledger.told += len(entries)
            for entry in entries:
                self._found.pop(entry.id, None)
            self._link.write_rows("rewards", [(self._study, *entry, self._token) for entry in entries])

    def add_first(self, number: int, reward: float) -> bool:
        found = self._found.get(number)
        if found is None or found[ASKED_FIELDS] is not None:
            return False
        self.changed += 1
        self._ledger.told += 1
        del self._found[number]
        after = max(self.machine.decisions, number) if self.locked else number
        # What `Row.becomes` makes of an open decision.
        row = made(Row, found)
        values = (self._study, number, 1, row.arm, TOLD, reward, OPEN, None, None, None, row.cost, self.now, after)
        self._link.write_rows("rewards", [(*values, in_control(row.reason), row.segment, self._token)])
        return True

    def forget(self, subject: str) -> int:
        self.changed += 1
        count = int(self._link.read(say.COUNT_SUBJECT, (self._study, subject))[0][0])
        self._link.write(say.FORGET, (self._study, subject))
        return count

    def put_away(self, through: int) -> None:
        self.changed += 1
        self.alone = True
        self._found.clear()
        for statement in say.PUT_AWAY:
            self._link.write(statement, (self._study, through))
        cast(Books, self._books).unsaved = SNAPSHOT_EVERY

    def keep(self, points: Sequence[Point]) -> None:
        self.changed += 1
        self._since = 1 << 62  # this transaction makes none of its own
        self._write_points(points)

    def _write_points(self, points: Sequence[Point]) -> None:
        for point in points:
            values = (point.place, point.decisions, point.at, json.dumps(to_data(point)))
            self._link.write(say.POINT, (self._study, *values))

    def _keep_point(self) -> None:
        """Keep a point of the series if it is time for one."""
        machine, since = self.machine, self._since
        place = None if since is None else due(since, machine.decisions)
        if since is None or place is None:
            return
        self._write_points([point_of(machine, place, self._at)])
        step = stride(machine.decisions)
        if step != stride(since):
            self._link.write(say.THIN, (self._study, step, step))

    def later(self, deed: Callable[[], None]) -> None:
        """Do something once the transaction is durable."""
        self._later.append(deed)

    def finish(self) -> None:
        """Write a snapshot if it is time for one. It counts no entry of this transaction."""
        books = self._books
        if books is not None:
            self._keep_point()
        if books is not None and books.unsaved >= SNAPSHOT_EVERY:
            self._link.write(say.SNAPSHOT, (self._study, json.dumps(books.machine.to_dict()), *books.seen))
            self._saved = True

    _saved = False

    def deeds(self) -> list[Callable[[], None]]:
        """The transaction is durable: what is left to be done."""
        if self._books is not None:
            if self._saved:
                self._books.unsaved = 0
            self._ledger.books = self._books
        return self._later
