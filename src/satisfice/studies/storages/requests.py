"""What a caller leaves with the thread that writes for a study, and waits for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satisfice.studies.storages.hub import Hub
    from satisfice.studies.storages.sql import SQLLedger

# Who waits for longer than the timeout, while its work is being done, does so for so many seconds more.
GRACE = 1.0


class Request:
    """Work for a transaction, and what came of it.

    Either the writer claims it, once the transaction has begun, and then does it; or the caller does, when it has
    waited for too long or is interrupted, and then nobody does.
    """

    __slots__ = ("_done", "claim", "error", "finds", "ledger", "lock", "mine", "news", "result", "work")

    def __init__(self, ledger: SQLLedger, work: Callable[[Any], Any], lock: bool, finds: Sequence[int] = ()) -> None:
        self.ledger, self.work, self.lock, self.finds = ledger, work, lock, finds
        self.news: Callable[[], None] | None = None  # whom to tell that there is an answer
        self.result: Any = None
        self.error: BaseException | None = None
        self.mine = False  # of the writer
        self.claim = threading.Lock().acquire
        self._done = threading.Lock()
        self._done.acquire()

    def finish(self) -> None:
        """Let the caller go on."""
        self._done.release()
        if self.news is not None:
            self.news()

    def wait(self, timeout: float, hub: Hub) -> Any:
        """The answer, or the error."""
        try:
            found = self._done.acquire(timeout=timeout)
        except BaseException:
            self.claim(False)
            raise
        if not found:
            if self.claim(False):
                raise hub.busy()
            if not self._done.acquire(timeout=GRACE):
                raise hub.silent()
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
