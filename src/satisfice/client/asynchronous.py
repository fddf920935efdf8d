"""A client that does other things while it waits. What it says is what `waiting.py` says."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from satisfice.client import wire
from satisfice.client.wire import AGAIN, Call, RemoteDecision, Unreachable
from satisfice.files import write_whole
from satisfice.problem import Setting
from satisfice.studies.explain import Explanation
from satisfice.studies.status import Status, Verdict

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")


class AsyncClient:
    """A service, for programs that do other things meanwhile. `sf.connect_async` makes one."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 8) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._http = httpx.AsyncClient(base_url=url.rstrip("/"), headers=headers, timeout=timeout)
        self._tries = tries

    def study(self, name: str) -> AsyncRemoteStudy:
        """A study of the service. Nothing is sent until it is used."""
        return AsyncRemoteStudy(self, name)

    async def create_study(
        self, name: str, arms: Mapping[str, float], setting: Setting, policy: str = "glr", **options: object
    ) -> AsyncRemoteStudy:
        """Create a study; the options are those of `sf.create_study`, by their names."""
        await self.do(wire.create(name, arms, setting, policy, options))
        return self.study(name)

    async def list_studies(self) -> list[str]:
        """The names of the studies that the key may see, in the order of their creation."""
        names, after = [], 0
        while after is not None:
            page = await self.do(wire.page(after))
            names += [line["name"] for line in page["studies"]]
            after = page["next"]
        return names

    async def delete_study(self, name: str) -> None:
        """Delete a study and its log, for good."""
        await self.do(wire.delete(name))

    async def close(self) -> None:
        """Hang up."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def do(self, call: Call[T], tries: int | None = None) -> T:
        """Make a call, again and again until it is answered; it counts once. Raises `StorageError` when it is not."""
        many = self._tries if tries is None else tries
        for attempt in range(many):
            answer, body = None, call.again if attempt and call.again is not None else call.json
            try:
                answer = await self._http.request(call.method, call.path, json=body, params=call.params)
                if answer.status_code not in AGAIN or attempt == many - 1:
                    return wire.result(call, answer, attempt)
            except httpx.TransportError as error:
                if attempt == many - 1:
                    raise Unreachable(
                        f"{self._http.base_url} does not answer: {error or type(error).__name__}"
                    ) from error
            await asyncio.sleep(wire.pause(attempt, answer))
        raise AssertionError("unreachable")


class AsyncRemoteStudy:
    """A study of a service, with the methods of a local one. Ids of decisions are texts."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client, self.name = client, name

    def __repr__(self) -> str:
        return f"<AsyncRemoteStudy {self.name!r}>"

    # What is known

    async def terms(self) -> dict[str, Any]:
        """What was fixed when the study was created, its arms as they are, and whether it goes on."""
        return await self.client.do(wire.show(self.name))

    async def status(self) -> Status:
        """Every arm, the verdict, and what was spent."""
        return await self.client.do(wire.status(self.name))

    async def verdict(self) -> Verdict:
        """The leading arm, how sure that is, and which arms were refuted."""
        return (await self.status()).verdict

    async def explain(self, decision_id: str) -> Explanation:
        """Why this arm at that time."""
        return await self.client.do(wire.explain(self.name, decision_id))

    async def log(self) -> pl.DataFrame:
        """One row per decision, and what became of it."""
        import polars as pl

        data: bytes = await self.client.do(wire.export(self.name))
        return pl.read_parquet(io.BytesIO(data))

    async def export(self, path: str | Path) -> Path:
        """Write the log to a Parquet file."""
        data = await self.client.do(wire.export(self.name))
        return write_whole(Path(path), lambda part: part.write_bytes(data))

    # The world changes

    async def set_cost(self, arm: str, cost: float) -> None:
        """Change the cost of an arm from now on."""
        await self.client.do(wire.change(self.name, costs={arm: cost}))

    async def add_arm(self, arm: str, cost: float) -> None:
        """Add an arm, or bring a retired one back."""
        await self.client.do(wire.change(self.name, add={arm: cost}))

    async def retire_arm(self, arm: str) -> None:
        """Take an arm out of the study."""
        await self.client.do(wire.change(self.name, retire=[arm]))

    async def pause(self) -> None:
        """Serve the baseline to everybody from now on."""
        await self.client.do(wire.change(self.name, paused=True))

    async def resume(self) -> None:
        """Let the policy go on after `pause`."""
        await self.client.do(wire.change(self.name, paused=False))

    async def end(self) -> None:
        """End the study; late rewards still count."""
        await self.client.do(wire.change(self.name, closed=True))

    async def reopen(self) -> None:
        """Let a study go on that was ended."""
        await self.client.do(wire.change(self.name, closed=False))

    # Ask and tell

    async def ask(
        self,
        *,
        subject: str | None = None,
        session: str | None = None,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> RemoteDecision:
        """The next decision. It has a key, the caller's or one of its own, so that a lost answer costs no decision."""
        whom = {"subject": subject, "session": session, "segment": segment}
        call = wire.ask(self.name, key, **whom, exclude=exclude, available=available)
        return await self.client.do(call)

    async def ask_many(
        self,
        count: int,
        *,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> list[RemoteDecision]:
        """`count` decisions in one transaction."""
        return await self.client.do(
            wire.ask_many(self.name, count, key, exclude=exclude, available=available, segment=segment)
        )

    async def tell(self, decision_id: str, reward: float, cost: float | None = None, *, correct: bool = False) -> bool:
        """Tell the reward of a decision; answers whether anything changed."""
        return await self.client.do(wire.tell(self.name, decision_id, reward, cost, correct)) > 0

    async def tell_many(
        self,
        rewards: Mapping[str, float] | Iterable[tuple[str, float] | tuple[str, float, float]],
        *,
        correct: bool = False,
    ) -> int:
        """Tell many rewards, each with its cost as a third part where that is known; answers with how many changed
        anything. Where some are refused, the error says so, and all others are taken."""
        return await self.client.do(wire.tell_many(self.name, rewards, correct))

    async def abandon(self, decision_id: str) -> bool:
        """Say that a decision will never have a reward."""
        return await self.client.do(wire.abandon(self.name, decision_id)) > 0

    async def record(
        self,
        arm: str,
        reward: float,
        cost: float | None = None,
        *,
        key: str | None = None,
        segment: str | None = None,
    ) -> RemoteDecision:
        """Count a decision that somebody else made, with its reward."""
        line = {"arm": arm, "reward": reward, "cost": cost, "key": key or wire.new_key(), "segment": segment}
        return (await self.client.do(wire.record(self.name, [line])))[0]
