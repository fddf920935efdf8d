"""One hub per database and process: few threads that write, few connections, changes of many callers in one commit.

A caller leaves its work with a thread of the hub and waits for the answer. The thread takes all that waits for one
study and does it in one transaction, so that any number of callers share the lock, the trips and the flush to disk,
and each one goes on when its own change is durable. Nothing that a caller is hit by, an interrupt for example,
reaches the transaction.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from satisfice.errors import OutcomeUnknown, SatisficeError, StorageBusy, StorageError
from satisfice.studies.storages.books import Shelf
from satisfice.studies.storages.database import FORK_LOCK, Database, SQLite
from satisfice.studies.storages.links import Link, leave_queues, make_link, queue_file
from satisfice.studies.storages.requests import Relay, Request

if TYPE_CHECKING:
    from satisfice.studies.storages.sql import SQLLedger
    from satisfice.studies.storages.transactions import SQLTransaction

T = TypeVar("T")

# Connections of one process to one database: so many to write over, so many to read over. With the one over which a
# study is created these are 8 at most.
WRITERS, READERS = 4, 3
# So many requests at most share a transaction.
TOGETHER = 512
# A thread without work ends after so many seconds, and looks after what was taken in advance this often.
IDLE, TICK = 10.0, 0.5
# When no caller was woken by another one for so many seconds, the thread wakes all that are left.
SLOW = 0.005
# A transaction is tried again so often when another process was faster.
TRIES = 50

# Who wants to know of every commit: how many callers shared it, and how many seconds it took.
watchers: list[Callable[[int, float], None]] = []


class Writer:
    """A thread that carries out transactions over one connection."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.queue: SimpleQueue[Request | None] = SimpleQueue()
        self.relay = Relay()
        self.link: Link | None = None
        self.gate = threading.Lock()  # held during a transaction
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, request: Request) -> None:
        """Take work."""
        self.queue.put(request)
        with self._guard:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="satisfice-writer", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        idle, tidied = 0.0, time.monotonic()
        while True:
            if time.monotonic() >= tidied + TICK:
                self.hub.tidy(self)
                tidied = time.monotonic()
            if self.hub.database.lite:  # callers come back with more, to share a transaction; a server works meanwhile
                self.relay.over(SLOW)
            try:
                first = self.queue.get(timeout=SLOW if self.relay else TICK)
            except Empty:
                if self.relay:  # somebody who was woken does not get on, or was hit by an interrupt
                    self.relay.wake_all()
                    continue
                idle += TICK
                if idle >= IDLE:
                    with self._guard:
                        # Who leaves work from now on starts another thread; what was left before is still done here.
                        mine, self._thread = self._thread, None
                        if self.queue.empty() and not self.hub.stocked_by(self):
                            return
                        self._thread = mine
                    idle = 0.0
                continue
            idle = 0.0
            waiting = [first] if first is not None else []
            with contextlib.suppress(Empty):
                while len(waiting) < TOGETHER:
                    more = self.queue.get_nowait()
                    if more is not None:
                        waiting.append(more)
            parts: dict[int, list[Request]] = {}
            for request in waiting:
                parts.setdefault(id(request.ledger), []).append(request)
            for requests in parts.values():
                self._serve(requests)

    def _serve(self, requests: list[Request]) -> None:
        if not self._answer(requests):
            for request in requests:
                if request.mine:
                    request.result = request.error = None
                    self._answer([request])
        self.relay.start(request for request in requests if request.mine)

    def _answer(self, requests: list[Request]) -> bool:
        """All requests in one transaction, or an error for each; False if they must be done one by one."""
        try:
            return self._together(requests)
        except BaseException as error:
            failure, database = error, self.hub.database
            if isinstance(error, database.errors):
                failure = self.hub.busy() if database.busy(error) else database.problem(error)
            for request in requests:
                request.mine = request.mine or request.claim(False)
                if request.error is None:
                    request.error = failure
            return True

    def _together(self, requests: list[Request]) -> bool:
        """All requests in one transaction; False if they must be done one by one."""
        ledger, database = requests[0].ledger, self.hub.database
        fresh = False
        for _ in range(TRIES):
            try:
                # A fork in the middle of opening or closing a file would leave SQLite locked in the child, for ever.
                with FORK_LOCK if database.lite else contextlib.nullcontext():
                    if self.link is not None and not self.link.usable:
                        self.drop()
                    link = self.link
                    if link is None:
                        fresh = True
                        link = make_link(database, write=True)
                        with self.gate:
                            self.link = link
                link.line_up()
            except BaseException:
                self.drop()
                raise
            try:
                with self.gate:
                    if self.link is not link:  # hung up meanwhile, for a fork
                        continue
                    return self._once(ledger, link, requests)
            except database.errors as error:
                if database.twice(error):
                    continue
                lost = not link.usable
                self.drop()
                # A connection may have died since it was used last; a new one that fails says what is wrong.
                if fresh or not lost:
                    raise
            finally:
                link.leave()
        raise StorageBusy(f"{database.shown}: others were faster {TRIES} times in a row; nothing has changed")

    def _once(self, ledger: SQLLedger, link: Link, requests: list[Request]) -> bool:
        """One try of a transaction."""
        began = time.perf_counter()
        try:
            finds = [number for request in requests for number in request.finds]
            tx = ledger.begin(link, any(request.lock for request in requests), finds, len(requests))
            for request in requests:
                request.mine = request.mine or request.claim(False)
            if not self._each([request for request in requests if request.mine], tx):
                self._undo(link)
                return len(requests) == 1
            tx.finish()
            link.commit()
        except BaseException:
            self._undo(link)
            raise
        # What is durable is durable: whoever waits for it hears of that, and of nothing else.
        seconds = time.perf_counter() - began
        deeds: list[Callable[[], None]] = [partial(watcher, len(requests), seconds) for watcher in watchers]
        for deed in tx.deeds() + deeds:
            try:
                deed()
            except Exception:
                logging.getLogger(__name__).warning("after a change of %r", ledger.config.name, exc_info=True)
        return True

    def _each(self, requests: list[Request], tx: SQLTransaction) -> bool:
        """Whether the transaction is sound, with every error of a caller's with that caller."""
        for request in requests:
            before = tx.changed
            try:
                request.result, request.error = request.work(tx), None
            except self.hub.database.errors:
                raise
            except Exception as error:
                request.error = error
                if tx.changed != before:
                    return False
            if tx.alone and len(requests) > 1:
                return False
        return True

    def _undo(self, link: Link) -> None:
        """Roll back. The state that the transaction had is forgotten with it."""
        try:
            link.rollback()
        except Exception:
            link.close()

    def drop(self) -> None:
        """Hang up."""
        link, self.link = self.link, None
        if link is not None:
            link.close()


class Reader:
    """A connection to read over, used by whoever reads, one at a time.

    An interrupt cannot come between a `with` and its lock, as it can between a call of `acquire` and what follows.
    """

    def __init__(self) -> None:
        self.gate = threading.Lock()
        self.link: Link | None = None

    def read(self, database: Database, work: Callable[[Link], T]) -> T:
        """Do work over the connection."""
        with self.gate:
            link, self.link = self.link, None
            try:
                if link is None or not link.usable:
                    if link is not None:
                        link.close()
                    link = make_link(database, write=False)
                answer = work(link)
            except BaseException:
                if link is not None:
                    link.close()
                raise
            try:
                link.rollback()
                self.link = link
            except database.errors:  # what was read is read
                link.close()
            return answer

    def drop(self) -> None:
        """Hang up."""
        link, self.link = self.link, None
        if link is not None:
            link.close()


class Hub:
    """All that a process has to do with one database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.ledgers: weakref.WeakValueDictionary[tuple[int, str], SQLLedger] = weakref.WeakValueDictionary()
        self.stocked: set[SQLLedger] = set()  # those with decisions that were taken in advance
        self._reset()
        _hubs.add(self)

    created = False  # whether a study was created, over a connection of its own

    def _reset(self) -> None:
        self._writers = [Writer(self) for _ in range(1 if self.database.lite else WRITERS)]
        self._readers = [Reader() for _ in range(READERS)]
        self.kept = Shelf()
        self.copying = threading.Lock()  # one copy at a time leaves connections for all others who read

    @property
    def _users(self) -> list[Writer | Reader]:
        # Who writes hangs up last: then SQLite moves all that was written into the one file.
        return [*self._readers, *self._writers]

    def writer(self, ledger: SQLLedger) -> Writer:
        """Who writes for a study."""
        return self._writers[ledger.study % len(self._writers)]

    def run(self, request: Request) -> Any:
        """Do work in a transaction."""
        self.writer(request.ledger).submit(request)
        return request.wait(self.database.timeout, self)

    def busy(self) -> StorageBusy:
        """What to raise where nobody got to the work in time."""
        timeout = self.database.timeout
        return StorageBusy(
            f"{self.database.shown}: stayed locked for {timeout:g} seconds{self.who()}; nothing has changed"
        )

    def silent(self) -> OutcomeUnknown:
        """What to raise where the work was begun, and there is no answer."""
        timeout = self.database.timeout
        return OutcomeUnknown(
            f"{self.database.shown}: no answer within {timeout:g} seconds, so that nobody knows whether the change was "
            "written; telling the same again, or asking with the same key, is safe"
        )

    def read(self, work: Callable[[Link], T]) -> T:
        """Do work over a connection to read over, and once more where one that was used before has died since."""
        database, began = self.database, time.monotonic()
        try:
            return self._read(work)
        except database.errors as error:
            # A connection that is dead says so at once.
            if database.busy(error) or time.monotonic() - began > 0.5 * database.timeout:
                raise
            return self._read(work)

    def _read(self, work: Callable[[Link], T]) -> T:
        deadline, pause = time.monotonic() + self.database.timeout, 0.0
        while True:
            for reader in self._readers:
                if not reader.gate.locked():
                    return reader.read(self.database, work)
            if time.monotonic() > deadline:
                timeout = self.database.timeout
                raise StorageBusy(f"{self.database.shown}: no connection was free for {timeout:g} seconds")
            pause = min(pause + 0.0005, 0.02)
            time.sleep(pause)

    def tidy(self, writer: Writer) -> None:
        """Give back what was taken in advance and is not used."""
        for ledger in self.stocked_by(writer):
            if ledger.tidy():
                self.stocked.discard(ledger)

    def stocked_by(self, writer: Writer) -> list[SQLLedger]:
        """The studies of a writer with decisions that were taken in advance."""
        return [ledger for ledger in list(self.stocked) if self.writer(ledger) is writer]

    def who(self) -> str:
        """Who keeps a SQLite file locked, as far as that can be known, and what can be done about it."""
        if not isinstance(self.database, SQLite) or self.database.file is None:
            return ""
        with contextlib.suppress(OSError, ValueError, IndexError):
            number = int(queue_file(self.database.file).read_bytes()[:20])
            if number != os.getpid():
                state = "is writing"
                with open(f"/proc/{number}/stat") as file:  # noqa: PTH123
                    if file.read().rsplit(")", 1)[1].split()[0] in "Tt":
                        state = (
                            f"is stopped: let it go on with `kill -CONT {number}`, or end it with `kill -KILL {number}`"
                        )
                return f" (process {number} {state})"
        return ""

    def close(self) -> None:
        """Let go of connections that nobody uses now."""
        # In a thread of its own, which no interrupt reaches: one could come between a gate and what lets it go again.
        closer = threading.Thread(target=self._close, name="satisfice-closer", daemon=True)
        try:
            closer.start()
        except RuntimeError:  # at the end of the process no thread can be started any more
            self._close()
            return
        closer.join()

    def _close(self) -> None:
        wrote = False
        for user in self._users:
            if user.gate.acquire(timeout=self.database.timeout):
                try:
                    wrote = wrote or (isinstance(user, Writer) and user.link is not None)
                    user.drop()
                finally:
                    user.gate.release()
        if self.database.lite and self.created and not wrote:
            with contextlib.suppress(StorageError):
                self.database.work(lambda connection: None)
        self.created = False

    # A fork copies the memory of a process but not its threads, and SQLite's idea of which locks a process has. So no
    # file may be open in SQLite at that moment. A server does not care.

    def before_fork(self) -> None:
        """Wait until nothing is under way in SQLite, and hang up."""
        self._held: list[Writer | Reader] = []
        if self.database.lite:
            for user in self._users:
                if user.gate.acquire(timeout=self.database.timeout):
                    self._held.append(user)
                    user.drop()

    def after_fork(self, child: bool) -> None:
        """Go on."""
        if child:
            # Connections of the parent must not even be closed: that would end the parent's session.
            _left_behind.extend(self._users)
            self._reset()
            for ledger in list(self.ledgers.values()):
                ledger.lose()
                ledger.stock.clear()
                ledger.stale.clear()
                ledger.returning = 0
            self.stocked.clear()
        else:
            for user in self._held:
                user.gate.release()
        self._held = []


_hubs: weakref.WeakSet[Hub] = weakref.WeakSet()
_left_behind: list[object] = []
_forking: list[Hub] = []


def _before() -> None:
    FORK_LOCK.acquire()
    _forking[:] = list(_hubs)
    for hub in _forking:
        hub.before_fork()


def _after(child: bool) -> None:
    for hub in _forking:
        hub.after_fork(child)
    _forking.clear()
    if child:
        leave_queues()
    FORK_LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=lambda: _after(False), after_in_child=lambda: _after(True))


@atexit.register
def _at_exit() -> None:
    for hub in list(_hubs):
        for ledger in list(hub.stocked):
            with contextlib.suppress(SatisficeError, RuntimeError):  # where no thread can be started any more
                ledger.give_back()
        with contextlib.suppress(SatisficeError, RuntimeError):
            hub.close()
