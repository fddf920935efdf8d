"""Where a study that decides by itself (`satisfice.studies.leased`) has its decisions from, and hands in what came of
them: a study in a storage, here, or one behind a service (`satisfice.client.leased`)."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from satisfice.errors import InvalidReward, RewardConflict, UnknownDecision
from satisfice.studies.blocks import Standings, block_size, give_back, take_block
from satisfice.studies.reader import number_of

if TYPE_CHECKING:
    from satisfice.studies.study import Study

_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


class Block(NamedTuple):
    """Decisions, ids with arms; until when they may be used (seconds since 1970), and where the study stands."""

    decisions: Sequence[tuple[str, str]]
    until: float
    leader: str
    settled: bool


class Settled(NamedTuple):
    """What came of a decision: a reward and a cost, or nothing (None)."""

    id: str
    reward: float | None
    cost: float | None


class Recorded(NamedTuple):
    """A decision that was made while the study could not be reached."""

    key: str
    arm: str
    reward: float
    cost: float | None


class Source(Protocol):
    """Where decisions come from and rewards go. Every method may raise `SatisficeError`, and is then called again."""

    name: str

    def take(self, count: int, seconds: float, unused: Sequence[str], tries: int) -> Block | None:
        """Give decisions back, and take up to `count` others (none: None)."""

    def settle(self, lines: Sequence[Settled], tries: int) -> int:
        """Tell what came of decisions; answers with how many were refused."""

    def record(self, lines: Sequence[Recorded], tries: int) -> None:
        """Hand in decisions that were made elsewhere."""


class StudySource:
    """The decisions of a study in a storage."""

    def __init__(self, study: Study, segment: str | None = None) -> None:
        self.name, self._study, self._segment = study.name, study, segment
        self._standings = Standings(study)

    def take(self, count: int, seconds: float, unused: Sequence[str], tries: int) -> Block | None:
        if unused:
            give_back(self._study, [number_of(number) for number in unused])
        if not count:
            return None
        leader, settled = self._standings.of(self._segment)
        taken = take_block(
            self._study, lambda rewards, out: block_size(count, rewards, out, settled), segment=self._segment
        )
        made = [(str(decision.id), decision.arm) for decision in taken.decisions]
        return Block(made, time.time() + seconds, leader, settled)

    def settle(self, lines: Sequence[Settled], tries: int) -> int:
        known = [line for line in lines if _NUMBER.fullmatch(line.id)]
        rest = [line for line in known if line.reward is None]
        try:
            self._study.tell_many([_triple(line) for line in known if line.reward is not None])
        except (InvalidReward, RewardConflict, UnknownDecision):
            rest = known  # one by one: those that are right count
        return len(lines) - len(known) + sum(not self._settle_one(line) for line in rest)

    def _settle_one(self, line: Settled) -> bool:
        try:
            if line.reward is None:
                self._study.abandon(int(line.id))
            else:
                self._study.tell_many([_triple(line)])
        except (InvalidReward, RewardConflict, UnknownDecision):
            return False
        return True

    def record(self, lines: Sequence[Recorded], tries: int) -> None:
        self._study.record_many([(line.arm, line.reward, line.cost, line.key, self._segment) for line in lines])


def _triple(line: Settled) -> tuple[int, float] | tuple[int, float, float]:
    reward = line.reward or 0.0
    return (int(line.id), reward) if line.cost is None else (int(line.id), reward, line.cost)
