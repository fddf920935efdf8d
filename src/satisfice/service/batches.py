"""Calls of many callers to one study, together: while one transaction is under way, the next one fills."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from satisfice.errors import SatisficeError
from satisfice.studies.records import Decision
from satisfice.studies.telling import Told

# So many items at most share a transaction.
TOGETHER = 2_000

Results = tuple[list[bool | SatisficeError], list[Decision] | SatisficeError]


class Wanted(NamedTuple):
    """What one caller wants: rewards to be told, decisions to be made."""

    told: list[Told]
    decisions: int
    future: asyncio.Future[Results]

    @property
    def size(self) -> int:
        """How much it is."""
        return len(self.told) + self.decisions


class Batches:
    """What waits for each study. `work` tells and asks for all at once."""

    def __init__(self, work: Callable[[str, list[Told], int], Awaitable[Results]]) -> None:
        self._work = work
        self._waiting: dict[str, list[Wanted]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, study: str, count: int) -> list[Decision]:
        """Decisions, once they are durable."""
        decisions = (await self._add(study, [], count))[1]
        if isinstance(decisions, SatisficeError):
            raise decisions
        return decisions

    async def tell(self, study: str, told: list[Told]) -> list[bool | SatisficeError]:
        """For each reward whether it changed anything, or why it was refused, once all is durable."""
        return (await self._add(study, told, 0))[0]

    async def _add(self, study: str, told: list[Told], count: int) -> Results:
        wanted = Wanted(told, count, asyncio.get_running_loop().create_future())
        waiting = self._waiting.get(study)
        if waiting is not None:
            waiting.append(wanted)
        else:
            self._waiting[study] = [wanted]
            task = asyncio.ensure_future(self._drain(study))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await wanted.future

    async def _drain(self, study: str) -> None:
        while waiting := self._waiting[study]:
            number, size = 0, 0
            while number < len(waiting) and (not number or size + waiting[number].size <= TOGETHER):
                size += waiting[number].size
                number += 1
            part = waiting[:number]
            del waiting[:number]
            try:
                told, decisions = await self._work(
                    study, [item for wanted in part for item in wanted.told], sum(wanted.decisions for wanted in part)
                )
            except BaseException as error:
                for wanted in part:
                    if not wanted.future.done():
                        wanted.future.set_exception(error if isinstance(error, Exception) else RuntimeError("stopped"))
                        wanted.future.exception()  # whoever has left does not look at it
                if not isinstance(error, Exception):
                    raise
                continue
            at = first = 0
            for wanted in part:
                mine = (
                    decisions if isinstance(decisions, SatisficeError) else decisions[first : first + wanted.decisions]
                )
                if not wanted.future.done():
                    wanted.future.set_result((told[at : at + len(wanted.told)], mine))
                at, first = at + len(wanted.told), first + wanted.decisions
        del self._waiting[study]
