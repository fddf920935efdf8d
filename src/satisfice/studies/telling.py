"""Telling and asking for many callers at once: one transaction, and to each what is their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from satisfice.errors import InvalidStudy, SatisficeError, StudyClosed
from satisfice.studies.given import cost_of, reward_of
from satisfice.studies.reader import number_of
from satisfice.studies.records import Decision, Entry, Outcome, Row
from satisfice.studies.serving import Whom
from satisfice.studies.storages.base import Transaction
from satisfice.studies.transitions import moves

if TYPE_CHECKING:
    from satisfice.studies.study import Study


# Callers without names; decisions for them are not taken from what one process has in advance.
EVERYBODY = Whom()
# A process that only tells looks after the study when it has told this often.
LOOK_AFTER = 256


class Told(NamedTuple):
    """What somebody says of a decision: its reward, or None, that there will be none."""

    decision: int
    reward: float | None
    cost: float | None = None
    correct: bool = False


class Errand:
    """Rewards to be told and decisions to be made in one transaction, and what came of it.

    What is refused leaves the others alone.
    """

    def __init__(self, study: Study, items: Sequence[Told], count: int) -> None:
        self._study, self._count = study, count
        # For each whether it changed anything, or why it was refused.
        self.told: list[bool | SatisficeError] = [False] * len(items)
        self.decisions: list[Decision] | SatisficeError = []  # or why there are none to be had
        self._sound: list[tuple[int, int, float | None, float | None, bool]] = []
        for place, item in enumerate(items):
            try:
                number = number_of(item.decision)
                reward = None if item.reward is None else reward_of(study.config, number, item.reward)
                self._sound.append((place, number, reward, cost_of(study.config, number, item.cost), item.correct))
            except SatisficeError as error:
                self.told[place] = error
        self.finds = list(dict.fromkeys(number for _, number, *_ in self._sound))
        # Who only tells needs no lock, but looks at the verdicts now and then.
        self.lock = count > 0 or study._ledger.told >= LOOK_AFTER

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self._sound or self._count)

    def work(self, tx: Transaction) -> None:
        """Do it, in a transaction."""
        study = self._study
        if self._sound:
            tx.add_entries(self._entries(tx))
        if self._count:
            try:
                self.decisions = study._ask(tx, self._count, EVERYBODY, (), None)
            except (StudyClosed, InvalidStudy) as error:  # nothing was written yet; what is told is not theirs
                self.decisions = error
        elif tx.locked and (tx.machine.worth_a_look or tx.machine.frontier.alarms):
            study._watch(tx, study._now(tx))

    def _entries(self, tx: Transaction) -> list[Entry]:
        study, entries, rows = self._study, [], tx.find(self.finds)
        now, last = study._now(tx), study._last(tx)
        for place, number, reward, cost, correct in self._sound:
            row = rows.get(number)
            if row is None:
                self.told[place] = study._unknown(tx, number)
                continue
            outcome = Outcome.ABANDONED if reward is None else Outcome.TOLD
            try:
                moved = moves(row, outcome, reward, cost, correct)
            except SatisficeError as error:
                self.told[place] = error
                continue
            self.told[place] = moved
            if moved:
                entry = row.becomes(outcome, reward, cost, now, max(last, number))
                entries.append(entry)
                rows[number] = _after(row, entry)
        return entries


async def serve_each(
    study: Study, items: Sequence[Told], count: int
) -> tuple[list[bool | SatisficeError], list[Decision] | SatisficeError]:
    """Tell and abandon many decisions in order, and then make `count` decisions, all in one transaction. Answers for
    each reward whether it changed anything, or why it was refused; where there are no decisions to be had, why.

    Examples
    --------
    >>> import asyncio
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> decision = study.ask().id
    >>> rewards = [Told(decision, 1.0), Told(decision, 1.0), Told(decision, 0.0), Told(99, 1.0)]
    >>> told, decisions = asyncio.run(serve_each(study, rewards, 2))
    >>> told, len(decisions)  # doctest: +ELLIPSIS
    ([True, False, RewardConflict(...), UnknownDecision(...)], 2)
    """
    errand = Errand(study, items, count)
    if not errand.empty:
        study._usable()
        await study._ledger.arun(errand.work, lock=errand.lock, finds=errand.finds)
    return errand.told, errand.decisions


def _after(row: Row, entry: Entry) -> Row:
    return row._replace(
        outcome=entry.outcome, reward=entry.reward, told_cost=entry.cost, entries=entry.nth, settled_at=entry.at
    )
