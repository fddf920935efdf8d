"""Blocks of decisions: taken in advance by who hands them out elsewhere, and given back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from satisfice.studies.config import OTHER
from satisfice.studies.reader import number_of
from satisfice.studies.records import Decision, Entry, Outcome
from satisfice.studies.serving import Whom, part_of
from satisfice.studies.storages.base import Transaction

if TYPE_CHECKING:
    from satisfice.studies.status import Verdict
    from satisfice.studies.study import Study

# While the study explores, so many decisions may be outstanding: a share of the rewards counted, or so many at least.
SHARE, FIRST = 0.1, 16
# Where a study stands is looked at again after so many seconds.
FRESH = 1.0


class Taken(NamedTuple):
    """A block, numbered in a row, and how many decisions are outstanding with it."""

    decisions: list[Decision]
    outstanding: int


def block_size(wanted: int, rewards: int, outstanding: int, settled: bool) -> int:
    """How many decisions a client gets.

    Examples
    --------
    Of 1,000 rewards a tenth may be outstanding; with 60 outstanding, a client gets half of the 40 that are left.

    >>> block_size(500, 1_000, 60, False), block_size(500, 1_000, 100, False), block_size(500, 1_000, 100, True)
    (20, 1, 500)
    >>> block_size(500, 0, 0, False)
    8
    """
    if settled:
        return wanted
    left = max(int(SHARE * rewards), FIRST) - outstanding
    return min(wanted, max(left // 2, 1))


def take_block(
    study: Study, size: Callable[[int, int], int], key: str | None = None, segment: str | None = None
) -> Taken:
    """A block of decisions in one transaction. `size` says how many, from the rewards that are counted and the
    decisions that are outstanding, those of the segment; with a key that was used before it is that block again.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> [take_block(study, lambda rewards, outstanding: 5 - outstanding).outstanding for _ in range(2)]
    [5, 5]
    """
    whom = Whom(key=key, segment=segment)

    def work(tx: Transaction) -> Taken:
        part = part_of(tx, whom, study._now(tx))
        known = len(tx.of_key(key)) if key is not None else 0
        outstanding = sum(arm.pending for arm in part.arms)
        decisions = study._ask(tx, known or max(size(part.t, outstanding), 0), whom, (), None)
        return Taken(decisions, outstanding + (0 if known else len(decisions)))

    return study._run(work)


class Standing(NamedTuple):
    """The arm to serve when no decision is left, and whether the choice is settled."""

    leader: str
    settled: bool


class Standings:
    """Where a study stands and each of its segments, looked at again when that is a second old.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> Standings(study).of(None)
    Standing(leader='small', settled=False)
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self._seen = -math.inf
        self._all: dict[str | None, Standing] = {}

    def of(self, segment: str | None) -> Standing:
        """Where a segment stands, or the study where it has none."""
        if self._seen < time.monotonic() - FRESH:
            status = self._study.status()
            self._all = {None: _standing(status.verdict)} | {
                part.name: _standing(part.verdict) for part in status.segments
            }
            self._seen = time.monotonic()
        if segment is None or segment not in self._all:  # one of the others, or of a study without segments
            segment = OTHER if OTHER in self._all else None
        return self._all[segment]


def _standing(verdict: Verdict) -> Standing:
    return Standing(verdict.leader, verdict.state in ("certified", "settled", "none"))


def give_back(study: Study, decisions: Iterable[int]) -> int:
    """Say that decisions were taken in advance and not used; answers with how many of them were open. A reward that is
    told later counts all the same.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> give_back(study, [decision.id for decision in study.ask_many(3)])
    3
    """
    numbers = [number_of(decision) for decision in decisions]

    def work(tx: Transaction) -> list[Entry]:
        rows = [row for row in study._find(tx, numbers).values() if row.outcome == Outcome.OPEN]
        return [row.becomes(Outcome.UNUSED, None, None, study._now(tx), study._last(tx)) for row in rows]

    return study._enter(work, numbers)
