"""The decisions of a study behind a service, taken in advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satisfice.client import wire
from satisfice.studies.sources import Block, Recorded, Settled

if TYPE_CHECKING:
    from satisfice.client.waiting import RemoteStudy


class ServiceSource:
    """Where a `LeasedStudy` of a service has its decisions from."""

    def __init__(self, study: RemoteStudy, segment: str | None = None) -> None:
        self.name, self._study, self._segment = study.name, study, segment

    def take(self, count: int, seconds: float, unused: Sequence[str], tries: int) -> Block | None:
        answer = self._study.client.do(wire.lease(self.name, count, seconds, list(unused), self._segment), tries)
        if not count:
            return None
        made = [
            (f"{block['first']}.{i}", str(block["arm"])) for block in answer["blocks"] for i in range(block["count"])
        ]
        return Block(made, answer["until"], answer["leader"], answer["settled"])

    def settle(self, lines: Sequence[Settled], tries: int) -> int:
        told: list[dict[str, Any]] = [
            {"decision": line.id, "abandon": True}
            if line.reward is None
            else {"decision": line.id, "reward": line.reward, "cost": line.cost}
            for line in lines
        ]
        return len(self._study.client.do(wire.settle(self.name, told), tries)["problems"])

    def record(self, lines: Sequence[Recorded], tries: int) -> None:
        made = [
            {"arm": line.arm, "reward": line.reward, "cost": line.cost, "key": line.key, "segment": self._segment}
            for line in lines
        ]
        self._study.client.do(wire.record(self.name, made), tries)
