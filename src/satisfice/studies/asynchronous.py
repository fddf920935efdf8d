"""A live study for event loops: the methods of `Study` as coroutines."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from satisfice.studies.config import Config
from satisfice.studies.records import Decision
from satisfice.studies.study import Study

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from satisfice.instances.sources import PandasFrame
    from satisfice.policies import Policy
    from satisfice.problem import Setting
    from satisfice.studies.audit import Audit
    from satisfice.studies.explain import Explanation
    from satisfice.studies.replaying import Replay
    from satisfice.studies.status import Status, Verdict

P = ParamSpec("P")
T = TypeVar("T")

# Calls under way at the same time. Those that write to one database share its commits, so that few threads are enough.
THREADS = 16


class AsyncStudy:
    """A study whose methods are coroutines; they never block the loop.

    Every call runs in one of a few threads that belong to this object. A call that is cancelled stops waiting; if it
    had begun, it is carried out all the same. So cancel a `tell` and tell again, which changes nothing twice; and give
    an `ask` a `key` where it may be cancelled, so that asking again gives the same decision.

    Parameters
    ----------
    study : Study
        The study; it may be used directly, too.
    threads : int
        How many calls may be under way at the same time.

    Examples
    --------
    >>> import asyncio
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> async def main():
    ...     study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1), seed=1)
    ...     async with AsyncStudy(study) as study:
    ...         decision = await study.ask()
    ...         return await study.tell(decision.id, 1.0)
    >>> asyncio.run(main())
    True
    """

    def __init__(self, study: Study, *, threads: int = THREADS) -> None:
        self.study = study
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="satisfice-async")

    async def _call(self, method: Callable[P, T], *args: P.args, **terms: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, functools.partial(method, *args, **terms))

    @property
    def name(self) -> str:
        """The name of the study."""
        return self.study.name

    @property
    def config(self) -> Config:
        """What was fixed when the study was created."""
        return self.study.config

    def __repr__(self) -> str:
        return f"<Async{repr(self.study)[1:]}"

    async def __aenter__(self) -> AsyncStudy:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of threads and connections, when all calls that have begun are carried out."""
        loop = asyncio.get_running_loop()
        # Not in the pool itself: its threads are waited for. A cancelled close still closes.
        await asyncio.shield(loop.run_in_executor(None, self._close))

    def _close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        self.study.close()

    async def ask(
        self,
        *,
        subject: str | None = None,
        session: str | None = None,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> Decision:
        """`Study.ask`."""
        terms = {"subject": subject, "session": session, "key": key, "segment": segment}
        return await self._call(self.study.ask, **terms, exclude=exclude, available=available)

    async def ask_many(
        self,
        count: int,
        *,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> list[Decision]:
        """`Study.ask_many`."""
        terms = {"key": key, "segment": segment}
        return await self._call(self.study.ask_many, count, **terms, exclude=exclude, available=available)

    async def tell(self, decision_id: int, reward: float, cost: float | None = None, *, correct: bool = False) -> bool:
        """`Study.tell`."""
        return await self._call(self.study.tell, decision_id, reward, cost, correct=correct)

    async def tell_many(
        self,
        rewards: Mapping[int, float] | Iterable[tuple[int, float] | tuple[int, float, float]],
        *,
        correct: bool = False,
    ) -> int:
        """`Study.tell_many`."""
        return await self._call(self.study.tell_many, rewards, correct=correct)

    async def abandon(self, decision_id: int) -> bool:
        """`Study.abandon`."""
        return await self._call(self.study.abandon, decision_id)

    async def record(
        self,
        arm: str,
        reward: float,
        cost: float | None = None,
        *,
        key: str | None = None,
        segment: str | None = None,
    ) -> Decision:
        """`Study.record`."""
        return await self._call(self.study.record, arm, reward, cost, key=key, segment=segment)

    async def record_many(self, calls: Iterable[Sequence[object]]) -> int:
        """`Study.record_many`."""
        return await self._call(self.study.record_many, calls)

    async def expire(self) -> int:
        """`Study.expire`."""
        return await self._call(self.study.expire)

    async def status(self) -> Status:
        """`Study.status`."""
        return await self._call(self.study.status)

    async def verdict(self) -> Verdict:
        """`Study.verdict`."""
        return await self._call(self.study.verdict)

    async def arms(self) -> dict[str, float]:
        """`Study.arms`, which is a property there."""
        return await self._call(lambda: self.study.arms)

    async def explain(self, decision_id: int) -> Explanation:
        """`Study.explain`."""
        return await self._call(self.study.explain, decision_id)

    async def check(self) -> Audit:
        """`Study.check`."""
        return await self._call(self.study.check)

    async def repair(self) -> None:
        """`Study.repair`."""
        await self._call(self.study.repair)

    async def log(self) -> pl.DataFrame:
        """`Study.log`."""
        return await self._call(self.study.log)

    async def export(self, path: str | Path) -> Path:
        """`Study.export`."""
        return await self._call(self.study.export, path)

    async def plot(self, path: str | Path | None = None) -> Figure:
        """`Study.plot`."""
        return await self._call(self.study.plot, path)

    async def replay(
        self,
        log: Study | pl.DataFrame | PandasFrame | str | Path | None = None,
        *,
        policy: str | Policy | type[Policy] | None = None,
        setting: Setting | None = None,
        seed: int = 0,
    ) -> Replay:
        """`Study.replay`."""
        return await self._call(self.study.replay, log, policy=policy, setting=setting, seed=seed)

    async def set_cost(self, arm: str, cost: float) -> bool:
        """`Study.set_cost`."""
        return await self._call(self.study.set_cost, arm, cost)

    async def add_arm(self, arm: str, cost: float) -> bool:
        """`Study.add_arm`."""
        return await self._call(self.study.add_arm, arm, cost)

    async def retire_arm(self, arm: str) -> bool:
        """`Study.retire_arm`."""
        return await self._call(self.study.retire_arm, arm)

    async def pause(self) -> bool:
        """`Study.pause`."""
        return await self._call(self.study.pause)

    async def resume(self) -> bool:
        """`Study.resume`."""
        return await self._call(self.study.resume)

    async def end(self) -> bool:
        """`Study.end`."""
        return await self._call(self.study.end)

    async def reopen(self) -> bool:
        """`Study.reopen`."""
        return await self._call(self.study.reopen)

    async def forget(self, subject: str) -> int:
        """`Study.forget`."""
        return await self._call(self.study.forget, subject)

    async def archive(self, before: float, path: str | Path) -> int:
        """`Study.archive`."""
        return await self._call(self.study.archive, before, path)

    async def copy(self, name: str, *, learned: bool = True) -> AsyncStudy:
        """`Study.copy`, as an `AsyncStudy`."""
        return AsyncStudy(await self._call(self.study.copy, name, learned=learned))


__all__ = ["AsyncStudy"]
