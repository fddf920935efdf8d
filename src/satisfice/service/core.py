"""What all calls of the service share: the storage, the studies that are open, threads to wait in."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from satisfice.errors import UnknownStudy
from satisfice.service.batches import Batches, Results
from satisfice.service.ids import belongs, read_id, write_id
from satisfice.service.keys import NOBODY, Doorkeeper, Key, keys_of
from satisfice.service.limiting import Limiter
from satisfice.service.metrics import Metrics
from satisfice.service.problems import unknown_decision, unknown_study
from satisfice.studies import Study
from satisfice.studies.blocks import Standings
from satisfice.studies.storages import Ledger, Storage
from satisfice.studies.telling import Told, serve_each

T = TypeVar("T")

# So many calls may wait for the storage at a time; those for one study share their commits.
THREADS = 64
# So many studies stay open.
OPEN = 1_000


class Handle:
    """An open study and what its ids are made of."""

    __slots__ = ("ledger", "name", "number", "standings", "study", "token")

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.study = ledger, Study(ledger)
        self.name, self.number, self.token = ledger.config.name, ledger.study, ledger.token
        self.standings = Standings(self.study)

    def id(self, number: int) -> str:
        """The id of a decision as the service says it."""
        return write_id(self.number, self.token, number)

    def number_of(self, text: str) -> int:
        """The number of a decision of this study. Raises a `Problem`."""
        parts = read_id(text)
        if parts is None or parts.study != self.number or not belongs(parts, self.token):
            raise unknown_decision(text)
        return parts.number


@dataclass(frozen=True)
class Options:
    """What an operator may set; `create_app` says what it means."""

    auth: bool = True
    rate: str | None = None
    body_limit: int = 1_000_000
    cors: tuple[str, ...] = ()
    stream_seconds: float = 3600.0
    poll_seconds: float = 1.0
    root_path: str = ""


class Service:
    """The state of the application. There is none but what can be read from the storage again."""

    def __init__(self, storage: Storage, options: Options) -> None:
        self.storage, self.options = storage, options
        self.quick = not hasattr(storage, "_database")  # in memory nobody waits
        self.keys = keys_of(storage)
        self.door = Doorkeeper(self.keys)
        self.limiter = Limiter(options.rate)
        self.metrics = Metrics()
        self._handles: OrderedDict[str, Handle] = OrderedDict()
        self._names: OrderedDict[int, str] = OrderedDict()
        self._guard = threading.Lock()
        self.batches = Batches(self._serve)
        self._pool: ThreadPoolExecutor | None = None

    # Waiting

    async def run(self, work: Callable[[], T]) -> T:
        """Work that may wait for the storage, and only for that."""
        return work() if self.quick else await self.slow(work)

    async def slow(self, work: Callable[[], T]) -> T:
        """Work that takes a while."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="satisfice-service")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Let what is under way come to its end, give back what was taken in advance, and hang up."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None
        with self._guard:
            handles = list(self._handles.values())
            self._handles.clear()
        for handle in handles:
            handle.study.close()
        self.storage.close()

    # Together

    async def _serve(self, name: str, told: list[Told], count: int) -> Results:
        for _ in range(2):
            handle = await self.reach(name, NOBODY)
            try:
                return await serve_each(handle.study, told, count)
            except UnknownStudy:  # deleted since it was opened; perhaps there is a new one of this name
                self.forget(name)
        raise unknown_study(name)

    # Studies

    def handle(self, name: str, key: Key) -> Handle:
        """An open study that the key may see. This may wait for the storage. Raises a `Problem`."""
        if not key.sees(name):
            raise unknown_study(name)
        found = self._handles.get(name)
        return found if found is not None else self._open(name)

    async def reach(self, name: str, key: Key) -> Handle:
        """An open study that the key may see."""
        if name in self._handles:
            return self.handle(name, key)
        return await self.run(lambda: self.handle(name, key))

    def _open(self, name: str) -> Handle:
        try:
            handle = Handle(self.storage.open(name))
        except UnknownStudy:
            raise unknown_study(name) from None
        evicted = []
        with self._guard:
            self._handles[name] = handle
            while len(self._handles) > OPEN:
                evicted.append(self._handles.popitem(last=False)[1])
        for old in evicted:
            old.study.close()
        return handle

    def forget(self, name: str) -> None:
        """A study that was deleted, here or elsewhere."""
        with self._guard:
            handle = self._handles.pop(name, None)
            if handle is not None:
                self._names.pop(handle.number, None)

    async def on(self, name: str, key: Key, work: Callable[[Handle], T], *, slow: bool = False) -> T:
        """Work on a study."""

        def attempt() -> T:
            for last in (False, True):
                handle = self.handle(name, key)
                try:
                    return work(handle)
                except UnknownStudy:
                    # It was deleted since it was opened; perhaps there is a new one of this name.
                    self.forget(name)
                    if last:
                        break
            raise unknown_study(name)

        return await (self.slow(attempt) if slow else self.run(attempt))

    async def study_of(self, text: str, key: Key) -> str:
        """The name of the study that a decision belongs to. Raises a `Problem`."""
        parts = read_id(text)
        if parts is None:
            raise unknown_decision(text)
        number = parts.study
        name = self._names.get(number)
        if name is None or name not in self._handles:
            name = await self.run(lambda: self.storage.name_of(number))
            if name is None:
                raise unknown_decision(text)
            with self._guard:
                self._names[number] = name
                while len(self._names) > OPEN:
                    self._names.popitem(last=False)
        if not key.sees(name):
            raise unknown_decision(text)
        return name
