"""Studies in event loops."""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Callable

import pytest

import satisfice as sf
from satisfice.studies import Storage, create_study

ARMS = {"small": 1.0, "large": 9.0}


def test_every_method_is_there() -> None:
    """What `Study` can do, `AsyncStudy` can do, with the same parameters; but for what needs no waiting."""
    left = {"name", "config", "arms", "close", "leased"}
    for name, method in inspect.getmembers(sf.Study):
        if name.startswith("_") or name in left:
            continue
        mine = getattr(sf.AsyncStudy, name)
        assert inspect.iscoroutinefunction(mine), name
        assert list(inspect.signature(mine).parameters) == list(inspect.signature(method).parameters), name


def test_many_calls_at_once(reopen: Callable[[], Storage]) -> None:
    async def one(study: sf.AsyncStudy, number: int) -> bool:
        decision = await study.ask(key=f"call {number}")
        return await study.tell(decision.id, 1.0, cost=0.5)

    async def main() -> None:
        async with sf.AsyncStudy(create_study("s", ARMS, sf.BestReward(0.1), storage=reopen(), seed=1)) as study:
            assert all(await asyncio.gather(*(one(study, number) for number in range(60))))
            assert (await study.status()).spending.total == 30.0
            assert (await study.check()).agrees
            assert await study.arms() == ARMS
            with pytest.raises(sf.UnknownDecision):
                await study.tell(1_000, 1.0)

    asyncio.run(main())


def test_the_loop_goes_on_while_the_database_is_locked(sqlite_url: str) -> None:
    """Somebody holds the lock of the file, and lets go of it when the loop has ticked on; then the answers come."""

    async def main() -> None:
        study = create_study("s", ARMS, sf.BestReward(0.1), storage=sqlite_url, seed=1)
        async with sf.AsyncStudy(study) as live:
            await live.ask()
            other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///").split("?")[0], isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            asked = [asyncio.create_task(live.ask(subject=f"user {number}")) for number in range(40)]
            for _ in range(50):  # a loop that stood still would never get to the end of this
                await asyncio.sleep(0.005)
            assert not any(task.done() for task in asked)
            other.execute("ROLLBACK")
            other.close()
            decisions = await asyncio.gather(*asked)
            assert len({decision.id for decision in decisions}) == 40

    asyncio.run(main())


def test_a_cancelled_call_is_carried_out_or_not_and_nothing_else(sqlite_url: str) -> None:
    """With a key, asking again gives the decision of the call that was cancelled, or a first one."""

    async def main() -> None:
        async with sf.AsyncStudy(create_study("s", ARMS, sf.BestReward(0.1), storage=sqlite_url, seed=1)) as study:
            for number in range(20):
                task = asyncio.create_task(study.ask(key=f"call {number}"))
                await asyncio.sleep(0.001 * (number % 4))
                task.cancel()
                decision = await study.ask(key=f"call {number}")
                assert decision.id == (await study.ask(key=f"call {number}")).id
                assert await study.tell(decision.id, 1.0)
            assert sum(arm.pulls for arm in (await study.status()).arms) == 20
            assert (await study.check()).agrees

    asyncio.run(main())
