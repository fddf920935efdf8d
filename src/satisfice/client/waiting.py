"""A client that waits for its answers."""

from __future__ import annotations

import io
import os
import time
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

    from satisfice.studies.leased import LeasedStudy

T = TypeVar("T")

_left_behind: list[object] = []  # connections of a parent, which are not even closed here


class Client:
    """A service, for programs that wait for its answers. `sf.connect` makes one; threads may share it."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, tries: int = 8) -> None:
        self._terms = url.rstrip("/"), {} if key is None else {"Authorization": f"Bearer {key}"}, timeout
        self._tries = tries
        self._connect()

    def _connect(self) -> None:
        url, headers, timeout = self._terms
        self._http, self._process = httpx.Client(base_url=url, headers=headers, timeout=timeout), os.getpid()

    def study(self, name: str) -> RemoteStudy:
        """A study of the service. Nothing is sent until it is used."""
        return RemoteStudy(self, name)

    def create_study(
        self, name: str, arms: Mapping[str, float], setting: Setting, policy: str = "glr", **options: object
    ) -> RemoteStudy:
        """Create a study; the options are those of `sf.create_study`, by their names."""
        self.do(wire.create(name, arms, setting, policy, options))
        return self.study(name)

    def list_studies(self) -> list[str]:
        """The names of the studies that the key may see, in the order of their creation."""
        names, after = [], 0
        while after is not None:
            page = self.do(wire.page(after))
            names += [line["name"] for line in page["studies"]]
            after = page["next"]
        return names

    def delete_study(self, name: str) -> None:
        """Delete a study and its log, for good."""
        self.do(wire.delete(name))

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def do(self, call: Call[T], tries: int | None = None) -> T:
        """Make a call, again and again until it is answered; it counts once. Raises `StorageError` when it is not."""
        many = self._tries if tries is None else tries
        if self._process != os.getpid():  # forked since: the connections are its parent's
            _left_behind.append(self._http)
            self._connect()
        for attempt in range(many):
            answer, body = None, call.again if attempt and call.again is not None else call.json
            try:
                answer = self._http.request(call.method, call.path, json=body, params=call.params)
                if answer.status_code not in AGAIN or attempt == many - 1:
                    return wire.result(call, answer, attempt)
            except httpx.TransportError as error:
                if attempt == many - 1:
                    raise Unreachable(
                        f"{self._http.base_url} does not answer: {error or type(error).__name__}"
                    ) from error
            time.sleep(wire.pause(attempt, answer))
        raise AssertionError("unreachable")


class RemoteStudy:
    """A study of a service, with the methods of a local one. Ids of decisions are texts."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def __repr__(self) -> str:
        return f"<RemoteStudy {self.name!r}>"

    # What is known

    def terms(self) -> dict[str, Any]:
        """What was fixed when the study was created, its arms as they are, and whether it goes on."""
        return self.client.do(wire.show(self.name))

    def status(self) -> Status:
        """Every arm, the verdict, and what was spent."""
        return self.client.do(wire.status(self.name))

    def verdict(self) -> Verdict:
        """The leading arm, how sure that is, and which arms were refuted."""
        return (self.status()).verdict

    def explain(self, decision_id: str) -> Explanation:
        """Why this arm at that time."""
        return self.client.do(wire.explain(self.name, decision_id))

    def log(self) -> pl.DataFrame:
        """One row per decision, and what became of it."""
        import polars as pl

        data: bytes = self.client.do(wire.export(self.name))
        return pl.read_parquet(io.BytesIO(data))

    def export(self, path: str | Path) -> Path:
        """Write the log to a Parquet file."""
        data = self.client.do(wire.export(self.name))
        return write_whole(Path(path), lambda part: part.write_bytes(data))

    # The world changes

    def set_cost(self, arm: str, cost: float) -> None:
        """Change the cost of an arm from now on."""
        self.client.do(wire.change(self.name, costs={arm: cost}))

    def add_arm(self, arm: str, cost: float) -> None:
        """Add an arm, or bring a retired one back."""
        self.client.do(wire.change(self.name, add={arm: cost}))

    def retire_arm(self, arm: str) -> None:
        """Take an arm out of the study."""
        self.client.do(wire.change(self.name, retire=[arm]))

    def pause(self) -> None:
        """Serve the baseline to everybody from now on."""
        self.client.do(wire.change(self.name, paused=True))

    def resume(self) -> None:
        """Let the policy go on after `pause`."""
        self.client.do(wire.change(self.name, paused=False))

    def end(self) -> None:
        """End the study; late rewards still count."""
        self.client.do(wire.change(self.name, closed=True))

    def reopen(self) -> None:
        """Let a study go on that was ended."""
        self.client.do(wire.change(self.name, closed=False))

    # Ask and tell

    def ask(
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
        return self.client.do(call)

    def ask_many(
        self,
        count: int,
        *,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> list[RemoteDecision]:
        """`count` decisions in one transaction."""
        return self.client.do(
            wire.ask_many(self.name, count, key, exclude=exclude, available=available, segment=segment)
        )

    def tell(self, decision_id: str, reward: float, cost: float | None = None, *, correct: bool = False) -> bool:
        """Tell the reward of a decision; answers whether anything changed."""
        return self.client.do(wire.tell(self.name, decision_id, reward, cost, correct)) > 0

    def tell_many(
        self,
        rewards: Mapping[str, float] | Iterable[tuple[str, float] | tuple[str, float, float]],
        *,
        correct: bool = False,
    ) -> int:
        """Tell many rewards, each with its cost as a third part where that is known; answers with how many changed
        anything. Where some are refused, the error says so, and all others are taken."""
        return self.client.do(wire.tell_many(self.name, rewards, correct))

    def abandon(self, decision_id: str) -> bool:
        """Say that a decision will never have a reward."""
        return self.client.do(wire.abandon(self.name, decision_id)) > 0

    def record(
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
        return (self.client.do(wire.record(self.name, [line])))[0]

    def leased(
        self, *, segment: str | None = None, seconds: float = 60.0, most: int = 10_000, patience: float = 2.0
    ) -> LeasedStudy:
        """A study that decides here: decisions come in blocks, rewards go in batches, both in the background.

        Parameters
        ----------
        segment : str, optional
            The kind of traffic that the decisions are for, in a study that has segments; one client for each.
        seconds : float
            For so long decisions are kept before what is not used is given back.
        most : int
            So many decisions are taken at a time at most; the service gives fewer while it learns.
        patience : float
            Seconds to wait for the service when no decision is left; then the leader is served.
        """
        from satisfice.client.leased import ServiceSource
        from satisfice.studies.leased import LeasedStudy

        return LeasedStudy(ServiceSource(self, segment), seconds=seconds, most=most, patience=patience)
