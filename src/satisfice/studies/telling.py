"""Telling and asking for many callers at once: one transaction, and to each what is their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from satisfice.errors import InvalidStudy, SatisficeError, StudyClosed, UnknownDecision
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


class Told(NamedTuple):
    """What somebody says of a decision: its reward, or None, that there will be none."""

    decision: int
    reward: float | None
    cost: float | None = None
    correct: bool = False


def tell_each(study: Study, items: Sequence[Told]) -> list[bool | SatisficeError]:
    """Tell and abandon many decisions in one transaction, in order. Answers for each whether it changed anything, or
    why it was refused; what is refused leaves the others alone.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> decision = study.ask().id
    >>> told = [Told(decision, 1.0), Told(decision, 1.0), Told(decision, 0.0), Told(99, 1.0)]
    >>> tell_each(study, told)  # doctest: +ELLIPSIS
    [True, False, RewardConflict(...), UnknownDecision(...)]
    """
    return _tell(study, items, lambda work: study._enter(work))


def serve_each(
    study: Study, items: Sequence[Told], count: int
) -> tuple[list[bool | SatisficeError], list[Decision] | SatisficeError]:
    """`tell_each` and then `count` decisions, all in one transaction; where there are no decisions to be had, why.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> told, decisions = serve_each(study, [Told(study.ask().id, 1.0)], 2)
    >>> told, len(decisions)
    ([True], 2)
    """
    if not count:
        return tell_each(study, items), []
    decisions: list[Decision] | SatisficeError = []

    def run(work: Callable[[Transaction], list[Entry]]) -> None:
        def both(tx: Transaction) -> None:
            nonlocal decisions
            tx.add_entries(work(tx))
            try:
                decisions = study._ask(tx, count, EVERYBODY, (), None)
            except (StudyClosed, InvalidStudy) as error:  # nothing was written yet; what is told is not theirs
                decisions = error

        study._run(both)

    return _tell(study, items, run, always=True), decisions


def _tell(
    study: Study,
    items: Sequence[Told],
    run: Callable[[Callable[[Transaction], list[Entry]]], object],
    *,
    always: bool = False,
) -> list[bool | SatisficeError]:
    results: list[bool | SatisficeError] = [False] * len(items)
    sound: list[tuple[int, int, float | None, float | None, bool]] = []
    for place, item in enumerate(items):
        try:
            number = number_of(item.decision)
            reward = None if item.reward is None else reward_of(study.config, number, item.reward)
            sound.append((place, number, reward, cost_of(study.config, number, item.cost), item.correct))
        except SatisficeError as error:
            results[place] = error

    def work(tx: Transaction) -> list[Entry]:
        entries: list[Entry] = []
        if not sound:
            return entries
        rows = tx.find(list(dict.fromkeys(number for _, number, *_ in sound)))
        now, last = study._now(tx), study._last(tx)
        for place, number, reward, cost, correct in sound:
            row = rows.get(number)
            if row is None:
                results[place] = UnknownDecision(f"the study {study.name!r} never handed out a decision {number!r}")
                continue
            outcome = Outcome.ABANDONED if reward is None else Outcome.TOLD
            try:
                moved = moves(row, outcome, reward, cost, correct)
            except SatisficeError as error:
                results[place] = error
                continue
            results[place] = moved
            if moved:
                entry = row.becomes(outcome, reward, cost, now, max(last, number))
                entries.append(entry)
                rows[number] = _after(row, entry)
        return entries

    if sound or always:
        run(work)
    return results


def _after(row: Row, entry: Entry) -> Row:
    return row._replace(
        outcome=entry.outcome, reward=entry.reward, told_cost=entry.cost, entries=entry.nth, settled_at=entry.at
    )
