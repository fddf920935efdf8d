"""What a caller leaves with the thread that writes for a study, and waits for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satisfice.studies.storages.hub import Hub
    from satisfice.studies.storages.sql import SQLLedger

# Who waits for longer than the timeout, while its work is being done, does so for so many seconds more.
GRACE = 1.0


class Relay:
    """Lets callers go on one after the other: each one that wakes wakes the next.

    Threads that wake all at once would all wait for the interpreter's lock, which then goes through many hands before
    anybody does anything. `wake_all` makes up for a caller that is hit by an interrupt before it wakes the next one.
    """

    def __init__(self) -> None:
        self._done: deque[Request] = deque()
        self._last = threading.Lock()  # released when nobody is left to be woken
        self._last.acquire()

    def __len__(self) -> int:
        return len(self._done)

    def start(self, requests: Iterable[Request]) -> None:
        """Let those go on who wait for these."""
        for request in requests:
            if request.news is None:
                request.relay = self
                self._done.append(request)
            else:
                request.finish()
                request.news()
        self.wake()

    def wake(self) -> None:
        """Wake the next one who still waits."""
        while self._done:
            try:
                request = self._done[0]
                there = request.finish()
                # Not before: who is interrupted here leaves it to be woken once more, which does no harm.
                self._done.remove(request)
            except (IndexError, ValueError):  # another thread wakes the same one
                continue
            if there:
                return
        with contextlib.suppress(RuntimeError):  # that was said already
            self._last.release()

    def over(self, patience: float) -> None:
        """Wait until everybody was woken. Where nobody was for so many seconds, wake all that are left."""
        left = len(self._done)
        if left:
            self._last.acquire(False)
        while self._done and not self._last.acquire(timeout=patience):
            if len(self._done) >= left:  # somebody who was woken does not get on, or was hit by an interrupt
                self.wake_all()
            left = len(self._done)

    def wake_all(self) -> None:
        """Wake everybody who still waits."""
        while self._done:
            self.wake()


class Request:
    """Work for a transaction, and what came of it.

    Either the writer claims it, once the transaction has begun, and then does it; or the caller does, when it has
    waited for too long or is interrupted, and then nobody does.
    """

    __slots__ = (
        "_done",
        "_gone",
        "claim",
        "error",
        "finds",
        "ledger",
        "lock",
        "mine",
        "news",
        "relay",
        "result",
        "work",
    )

    def __init__(self, ledger: SQLLedger, work: Callable[[Any], Any], lock: bool, finds: Sequence[int] = ()) -> None:
        self.ledger, self.work, self.lock, self.finds = ledger, work, lock, finds
        self.news: Callable[[], None] | None = None  # whom to tell that there is an answer, if nobody waits
        self.relay: Relay | None = None  # who else waits for a thread that wakes up
        self.result: Any = None
        self.error: BaseException | None = None
        self.mine = False  # of the writer
        self.claim = threading.Lock().acquire
        self._gone = False  # whether the caller has given up
        self._done = threading.Lock()
        self._done.acquire()

    def finish(self) -> bool:
        """Let the caller go on, once or again; answers whether it is there and wakes the next one."""
        try:
            self._done.release()
        except RuntimeError:
            return True
        return not (self._gone and self._done.acquire(False))

    def wait(self, timeout: float, hub: Hub) -> Any:
        """The answer, or the error."""
        try:
            if not self._done.acquire(timeout=timeout):
                if self.claim(False):
                    raise hub.busy()
                if not self._done.acquire(timeout=GRACE):
                    raise hub.silent()
        except BaseException:
            self.claim(False)
            self._gone = True
            if self._done.acquire(False) and self.relay is not None:  # woken at this very moment
                self.relay.wake()
            raise
        if self.relay is not None:
            self.relay.wake()
        return self.answer()

    async def come(self, timeout: float, hub: Hub) -> Any:
        """Submit it, and wait for the answer in an event loop."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def wake() -> None:
            if not over.done():
                over.set_result(None)

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits
                loop.call_soon_threadsafe(wake)

        self.news = tell
        hub.writer(self.ledger).submit(self)
        try:
            if not (await asyncio.wait([over], timeout=timeout))[0]:
                if self.claim(False):
                    raise hub.busy()
                if not (await asyncio.wait([over], timeout=GRACE))[0]:
                    raise hub.silent()
        except asyncio.CancelledError:
            self.claim(False)
            raise
        return self.answer()

    def answer(self) -> Any:
        """What came of it."""
        if self.error is not None:
            raise self.error
        return self.result
