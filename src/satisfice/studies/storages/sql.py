"""Studies in SQLite or PostgreSQL: the log in tables, the state as a snapshot that is caught up from the log's tail."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, cast

from satisfice.errors import Hint, InvalidPolicy, SatisficeError, StorageError, StudyExists, UnknownStudy
from satisfice.studies.config import Config, check_text
from satisfice.studies.folding import advance
from satisfice.studies.machine import Machine
from satisfice.studies.records import Decision, Outcome
from satisfice.studies.storages import statements as say
from satisfice.studies.storages.base import Ledger, Storage, T, Transaction, View
from satisfice.studies.storages.books import LONG, Behind, Books, Diverged, Seen
from satisfice.studies.storages.database import FORK_LOCK, make_database
from satisfice.studies.storages.hub import Hub
from satisfice.studies.storages.links import Link, make_link
from satisfice.studies.storages.requests import Request
from satisfice.studies.storages.statements import Said
from satisfice.studies.storages.transactions import INNER, SQLTransaction, SQLView

# Decisions taken in advance are good for so many seconds, and so many are taken where other processes are at it, too.
FRESH, MOST_SPARE = 1.0, 64
# Where several callers of this process are at it, so many are taken for each of them, and at most this share of all
# that were ever made: while there are few, every reward counts.
AHEAD, SHARE = 6, 1 / 16
# What cannot be given back is tried again for so many seconds, at most this far apart.
TRY_FOR, PAUSE = 600.0, 30.0
# So many decisions at most are read when a transaction begins.
MOST_FOUND = 1_000


class SQLLedger(Ledger):
    """The books of one study in a database."""

    def __init__(self, storage: SQLStorage, study: int, token: str, config: Config) -> None:
        hub = storage.hub
        self.storage = storage
        self.config, self.study, self.hub = config, study, hub
        self.timeout = hub.database.timeout
        self.lite = hub.database.lite
        self.books: Books | None = None  # of whoever is in a transaction with the lock
        self.closed = False  # whether nobody has opened it since it was closed
        self.told = 0  # entries written since the lock was held last
        self.stock: deque[tuple[float, Decision]] = deque()  # decisions taken in advance, and until when they are good
        self.stale: deque[int] = deque()  # those that nobody wanted in time
        self.era = 0  # how often the log turned out to be another one
        self.returning = 0  # how many times some are being given back, by the writer
        self._failed_at, self._pause, self._again_at = 0.0, 0.0, 0.0  # since when that fails, and when to try again
        self.token = token
        self._spare = 0
        self._busy_at = 0.0
        self._crowd, self._crowded_at = 0.0, 0.0  # how many callers shared the last transactions, and when
        self._guard = threading.Lock()
        hub.ledgers[study, token] = self

    def lose(self) -> None:
        """Forget the state that was read."""
        self.books = None

    def tail(self, books: Books, limit: int = 1 << 62) -> list[Said]:
        """The statements that read what has come since, up to so much of each kind."""
        machine = books.machine
        # PostgreSQL plans every statement anew, and those that choose among the entries take it longer than they save.
        brief = machine.brief and self.lite
        return say.tail(self.study, machine.seq, machine.decisions, books.seen.entry, limit, brief=brief)

    def _news(self, books: Books) -> list[Said]:
        """The statements that read what has come since, without the lock."""
        machine, entry = books.machine, books.seen.entry
        if self.lite:  # where one writes after the other, so that no entry comes after one with a larger number
            known, brief = (machine.seq, machine.decisions, entry), machine.brief
            return say.tail(self.study, *known, LONG + 1, brief=brief, counts=brief)
        events, decisions, _ = self.tail(books, LONG + 1)
        entries = say.others(self.study, entry, books.since, books.counted, LONG + 1)
        return [say.safe(self.study), events, decisions, entries]

    # Transactions

    def begin(self, link: Link, lock: bool, finds: Sequence[int] = (), callers: int = 1) -> SQLTransaction:
        """Begin a transaction that so many callers share, with the state caught up if it has the lock, and these
        decisions read."""
        books = self.books if lock else None
        if lock:
            self.books = None  # until the transaction is done; without the lock nothing happens to them
        who = say.identity(self.study, self.lite)
        found = say.finds(self.study, finds, self.lite) if 0 < len(finds) <= MOST_FOUND else []
        statements = [who, *found, *(self.tail(books, LONG + 1) if books is not None else ())]
        try:
            identity, *tails = link.begin(self.study, lock, statements)
        except BaseException:
            if lock:
                self.books = books  # nothing has happened to them
            raise
        self._check(identity)
        tx = SQLTransaction(self, link, identity[0][1] or time.time(), lock)
        if found:
            tx.found(chain.from_iterable(tails[: len(found)]))
            del tails[: len(found)]
        if not lock:
            return tx
        others = 0
        try:
            if books is None:
                raise Diverged
            seq = books.machine.seq
            others = books.catch_up(tails, most=LONG)
            if self.stock and any(number > seq and kind not in INNER for number, kind, *_ in tails[0]):
                tx.later(lambda: self.give_back(wait=False))  # somebody else has changed the study
            tx._books = books
            advance(books.machine, tx)
        except Diverged as error:
            if books is not None and not isinstance(error, Behind):
                self.era += 1
                self.stock.clear()  # what was taken in advance is perhaps not in this log
                self.stale.clear()
            tx._books = tx.load()
        self.told = 0
        tx.spare = self._wanted(others, callers, tx.machine.decisions)
        return tx

    def _check(self, identity: list[tuple[Any, ...]]) -> None:
        if not identity:
            raise UnknownStudy(f"the study {self.config.name!r} is no longer in {self.hub.database.shown}")
        if identity[0][0] != self.token:
            raise StorageError(
                f"{self.hub.database.shown} is another database than the one in which the study {self.config.name!r} "
                "was opened; load the study again"
            )

    def _wanted(self, others: int, callers: int, decisions: int) -> int:
        """How many decisions to take in advance: the more, the more other processes and callers are at it, too."""
        now = time.monotonic()
        before = self._crowd if now - self._crowded_at < FRESH else 0.0
        self._crowd, self._crowded_at = (before + callers) / 2, now
        if others:
            self._busy_at = now
            self._spare = min(max(2 * self._spare, 2), MOST_SPARE)
        elif now - self._busy_at > FRESH:
            self._spare = 0
        # One that is never handed out, since its process was killed, must not count as a reward.
        if self.config.expire_after is not None and (
            self.config.expire_after < 10 * FRESH or self.config.expire_as is not None
        ):
            return 0
        wanted = max(self._spare, int(min(AHEAD * self._crowd, SHARE * decisions)) if self._crowd > 2 else 0)
        return max(wanted - len(self.stock), 0)

    def run(self, work: Callable[[Transaction], T], *, lock: bool = True, finds: Sequence[int] = ()) -> T:
        return cast(T, self.hub.run(Request(self, work, lock, finds)))

    async def arun(self, work: Callable[[Transaction], T], *, lock: bool = True, finds: Sequence[int] = ()) -> T:
        return cast(T, await Request(self, work, lock, finds).come(self.timeout, self.hub))

    def look(self, work: Callable[[View], T]) -> T:
        def read(link: Link) -> T:
            books = self.hub.kept.take(self)
            news = [] if books is None else self._news(books)
            identity, *tails = link.view([say.identity(self.study, self.lite), *news])
            self._check(identity)
            view = SQLView(self, link, identity[0][1] or time.time())
            if books is not None:
                view.go_on(books, tails)
            answer = work(view)
            if view._books is not None:
                self.hub.kept.give(self, view._books)
            return answer

        with self.hub.database.guarded():
            return self.hub.read(read)

    def repair(self) -> None:
        def work(tx: Transaction) -> None:
            view = cast(SQLTransaction, tx)
            view.changed += 1
            view._link.write(say.NO_SNAPSHOT, (self.study,))
            view._books = view.load()

        self.run(work)
        self.hub.kept.take(self)

    # Decisions in advance

    def take(self) -> Decision | None:
        """A decision that was taken in advance, if there is one."""
        while True:
            try:
                until, decision = self.stock.popleft()
            except IndexError:
                return None
            if until >= time.monotonic():
                return decision
            self.stale.append(decision.id)
            self.hub.stocked.add(self)

    def stock_up(self, decisions: Sequence[Decision]) -> None:
        until = time.monotonic() + FRESH
        self.stock.extend((until, decision) for decision in decisions)
        self.hub.stocked.add(self)

    def tidy(self) -> bool:
        """Give back what is no longer good; answers whether nothing is left, nor on its way."""
        now, era = time.monotonic(), self.era
        with contextlib.suppress(IndexError):  # somebody takes some at the same time
            while self.stock[0][0] < now:
                self.stale.append(self.stock.popleft()[1].id)
        if self.stale and now >= self._again_at:
            self._return(False, era)
        return not self.stock and not self.stale and not self.returning

    def give_back(self, *, wait: bool = True) -> None:
        """Give decisions back that were taken in advance and not used."""
        era = self.era
        with contextlib.suppress(IndexError):
            while True:
                self.stale.append(self.stock.popleft()[1].id)
        if self.stale or (wait and self.returning):  # what is on its way is done before what is waited for
            self._return(wait, era)

    def _return(self, wait: bool, era: int) -> None:
        numbers: list[int] = []
        with contextlib.suppress(IndexError):
            while True:
                numbers.append(self.stale.popleft())

        def work(tx: Transaction) -> None:
            if numbers and self.era == era:  # else these are numbers of another log
                rows = [row for row in tx.find(numbers).values() if row.outcome == Outcome.OPEN]
                tx.add_entries([row.becomes(Outcome.UNUSED, None, None, tx.now, 0) for row in rows])

        request = Request(self, work, True, numbers)

        def returned() -> None:
            self.returning -= 1
            self._came(numbers, request.error, era)

        if wait:
            try:
                self.hub.run(request)
            except BaseException as error:
                self._came(numbers, error, era)
                raise
            self._came(numbers, None, era)
        else:  # said by the writer itself, which cannot wait for its own answer
            self.returning += 1
            request.news = returned
            self.hub.writer(self).submit(request)

    def _came(self, numbers: Sequence[int], error: BaseException | None, era: int) -> None:
        """What came of giving some back: what may still succeed is tried again, and not for ever."""
        now = time.monotonic()
        if error is None:
            self._failed_at = self._pause = self._again_at = 0.0
            return
        self._failed_at = self._failed_at or now
        self._pause = min(max(2.0 * self._pause, 0.5), PAUSE)
        self._again_at = now + self._pause
        may = isinstance(error, StorageError) or not isinstance(error, SatisficeError)
        if may and self.era == era and now - self._failed_at < TRY_FOR:
            self.stale.extend(numbers)
            self.hub.stocked.add(self)

    def close(self) -> None:
        self.give_back()
        self.lose()
        self.hub.kept.take(self)
        self.closed = True
        if all(ledger.closed for ledger in list(self.hub.ledgers.values())):
            self.hub.close()


_hubs: dict[tuple[str, str], Hub] = {}
_hubs_lock = threading.Lock()


def _after_fork() -> None:
    """In a process that was forked: a thread of the parent may have held the lock, and is not here to release it."""
    global _hubs_lock
    _hubs_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class SQLStorage(Storage):
    """Studies in the tables of one database, which are made when it is first used."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        database = make_database(url)
        database.prepare(create=create)
        self._database = database
        key = database.url.render_as_string(hide_password=False), f"{database.timeout} {database.sync}"
        with _hubs_lock:
            if key not in _hubs:
                _hubs[key] = Hub(database)
            self.hub = _hubs[key]

    def _ledger(self, study: int, token: str, config: Config) -> SQLLedger:
        """The ledger of a study: one for all who use it in this process."""
        with _hubs_lock:
            ledger = self.hub.ledgers.get((study, token)) or SQLLedger(self, study, token, config)
            ledger.closed = False
            return ledger

    def _say(self, statement: str) -> str:
        return statement if self._database.lite else statement.replace("?", "%s")

    def create(self, config: Config, fill: Callable[[Transaction], None] | None = None) -> SQLLedger:
        exists = StudyExists(f"there is already a study {config.name!r}", hint=Hint.LOAD)
        # Over a connection that stays: whoever closes the last one to a SQLite file waits for the disk.
        # Who fills it reads already, and must not wait for a connection that others have who do the same.
        if fill is None and self._read(say.STUDY, (config.name,)):
            raise exists
        try:
            # Nobody forks while SQLite has a file open.
            with self._database.guarded(), FORK_LOCK if self._database.lite else contextlib.nullcontext():
                link = make_link(self._database, write=True)
                try:
                    ledger = self._create(link, config, exists, fill)
                finally:
                    link.close()
        except StorageError as error:
            if isinstance(error.__cause__, Exception) and self._database.twice(error.__cause__):
                raise exists from None  # another process was faster
            raise
        self.hub.created = True
        return ledger

    def copying(self) -> AbstractContextManager[object]:
        # Nobody forks while SQLite has a file open (see `satisfice.studies.storages.hub`). Whoever forks holds the lock
        # and waits for those who read, so it is taken before one reads.
        return FORK_LOCK if self._database.lite else self.hub.copying

    def _create(
        self, link: Link, config: Config, exists: StudyExists, fill: Callable[[Transaction], None] | None
    ) -> SQLLedger:
        """The study and what it begins with, in one transaction over a link that is closed after it."""
        token, now = secrets.token_hex(8), time.time()
        link.connection.execute("BEGIN IMMEDIATE" if self._database.lite else "BEGIN")
        if link.read(say.STUDY, (config.name,)):
            raise exists
        study = int(link.read(say.ADD_STUDY, (config.name, json.dumps(config.to_dict()), now, token))[0][0])
        ledger = self._ledger(study, token, config)
        ledger.closed = True  # until it is there
        if fill is not None:
            tx = SQLTransaction(ledger, link, now, True)
            tx._books = Books(Machine(config), Seen())
            fill(tx)
            tx.finish()
        link.commit()
        ledger.closed = False
        return ledger

    def _read(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        def read(link: Link) -> list[tuple[Any, ...]]:
            link.view([])
            return link.read(statement, values)

        with self._database.guarded():
            return self.hub.read(read)

    def open(self, name: str) -> SQLLedger:
        rows = self._read(say.STUDY, (check_text("the name of the study", name, UnknownStudy),))
        if not rows:
            known = ", ".join(self.names()[:12]) or "there are none"
            raise UnknownStudy(f"there is no study {name!r} in {self._database.shown}; the studies: {known}")
        study, config, token = rows[0]
        try:
            terms = Config.from_dict(json.loads(config))
        except InvalidPolicy:  # one that is not known here, or not any more
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise StorageError(f"the terms of the study {name!r} in {self._database.shown} are damaged") from error
        return self._ledger(int(study), token, terms)

    def names(self) -> list[str]:
        return [str(name) for (name,) in self._read(say.NAMES)]

    def page(self, after: int = 0, limit: int = 100) -> list[tuple[int, str]]:
        return [(int(study), str(name)) for study, name in self._read(say.PAGE, (after, limit))]

    def name_of(self, study: int) -> str | None:
        rows = self._read(say.NAME, (study,))
        return str(rows[0][0]) if rows else None

    def delete(self, name: str) -> None:
        ledger = self.open(name)

        def work(tx: Transaction) -> None:
            view = cast(SQLTransaction, tx)
            view.changed += 1
            view.alone = True
            for statement in say.DELETE:
                view._link.write(statement, (ledger.study,))
            view._books = None
            view.later(ledger.stock.clear)
            view.later(ledger.stale.clear)

        ledger.run(work)

    def close(self) -> None:
        self.hub.close()
