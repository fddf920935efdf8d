"""A state that was read from a log in SQL, and how far. What has come since is counted; another log is recognised."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Entry, Event, made

if TYPE_CHECKING:
    from satisfice.studies.storages.sql import SQLLedger

Rows = Sequence[tuple[Any, ...]]

# So many rows are caught up at most, instead of beginning with the last snapshot.
LONG = 10_000
# The states of so many studies are kept for readers, and each only while so few entries must be told apart one by one.
SHELF, MOST_COUNTED = 64, 5_000
# Where a decision has its time, and an entry its number.
AT, NUMBER = Asked._fields.index("at"), itemgetter(-2)


class Seen(NamedTuple):
    """How far the log was read, and by which tokens its last rows are recognised."""

    entry: int = 0
    seq_token: str | None = None
    decision_token: str | None = None
    entry_token: str | None = None


class Diverged(Exception):
    """The log is not the one that was read before."""


class Behind(Diverged):
    """So much has come since that a snapshot is nearer."""


class Tail(NamedTuple):
    """The rows that `statements.tail` reads, statement by statement: what has come since, and the last before it."""

    events: Rows
    decisions: Rows  # or the first and the last alone, where there are groups
    entries: Rows
    firsts: Rows = ()  # first rewards, where they are no part of the entries
    groups: Rows | None = None  # how many decisions there are of each kind


class Books:
    """A state that was read from the log, and how far.

    Entries are added without the study's lock. So one who reads without it may see an entry before another one of a
    smaller number: every entry up to `since` is counted for sure, and after it those that are in `counted`.
    """

    def __init__(self, machine: Machine, seen: Seen) -> None:
        self.machine, self.seen = machine, seen
        self.unsaved = 0  # rows since the last snapshot
        self.since, self.counted = seen.entry, {seen.entry}
        self.note: tuple[object, object] | None = None  # what was said of a state, after the state

    @property
    def state(self) -> object:
        """What is another one whenever anything has changed that the machine counts."""
        machine = self.machine
        return self.seen, self.since, len(self.counted), machine.seq, machine.decisions, machine.frontier.last

    def all_counted(self, entry: int) -> None:
        """Every entry up to this one is counted: it was read by somebody who had the lock."""
        if entry > self.since:
            self.since, self.counted = entry, {entry, *(number for number in self.counted if number > entry)}

    def catch_up(self, tails: Sequence[Rows], *, locked: bool = True, most: int | None = None) -> int:
        """Count what has come since; answers with the number of decisions among it. Raises `Diverged`, and `Behind` if
        there is more than `most` of anything."""
        machine, seen = self.machine, self.seen
        events, decisions, entries, firsts, groups = Tail(*tails)
        count = sum(group[-1] for group in groups or ())
        if most is not None and max(count, *map(len, tails)) > most:
            raise Behind
        seq_token = _recognised(events, seen.seq_token if machine.seq else None, machine.seq, 0)
        decision_token = _recognised(
            decisions, seen.decision_token if machine.decisions > machine.archived else None, machine.decisions, 0
        )
        _recognised(entries, seen.entry_token if seen.entry else None, seen.entry, -2)
        try:
            new_events = [
                Event(seq, kind, json.loads(data), at) for seq, kind, data, at, _ in events if seq > machine.seq
            ]
        except ValueError as error:  # damaged; whoever reads the whole log says so
            raise Diverged from error
        for event in new_events:
            if event.kind == "archive" and cast(int, event.data["through"]) > machine.decisions:
                raise Diverged  # the rows are gone; a newer snapshot has counted them
            machine.happen(event)
        known, after = machine.decisions, machine.config.expire_after
        asked = decisions[1:] if decisions and decisions[0][0] <= known else decisions
        count = count or len(asked)
        if groups is not None:
            if any(arm.changed > known for arm in machine.arms):
                raise Behind  # which of them are of another time is not said
            machine.ask_counts(groups, asked[-1][0] if asked else known)
        elif machine.brief:
            machine.ask_each(asked)
        else:
            for row in asked:
                machine.ask(made(Asked, row[:-1]))
                if after is not None and row[AT] + after < machine.due:
                    machine.due = row[AT] + after
        others = [row for row in entries if row[-2] != seen.entry]
        if firsts and others:  # in the order in which they were written
            self._enter_in_order(firsts, others)
        else:
            machine.enter_each(firsts)
            for row in others:
                machine.enter(made(Entry, row[:-2]))
        last, entry_token = max(
            (rows[-1][-2:] for rows in (others, firsts) if rows), default=(seen.entry, seen.entry_token)
        )
        if last < seen.entry:
            last, entry_token = seen.entry, seen.entry_token
        if locked:
            self.since, self.counted = last, {last}
        else:
            self.counted.update(row[-2] for rows in (entries, firsts) for row in rows)
        self.unsaved += len(new_events) + count + len(entries) + len(firsts)
        self.seen = Seen(last, seq_token, decision_token, entry_token)
        return count

    def _enter_in_order(self, firsts: Rows, others: Rows) -> None:
        first = len(firsts[0])  # so short is none of the others
        for row in sorted([*firsts, *others], key=NUMBER):
            if len(row) == first:
                self.machine.enter_each((row,))
            else:
                self.machine.enter(made(Entry, row[:-2]))


class Shelf:
    """The states that readers of a database have caught up, so that the next one goes on from there. Whoever takes one
    has it alone."""

    def __init__(self) -> None:
        self._books: dict[tuple[int, str], Books] = {}
        self._guard = threading.Lock()

    def take(self, ledger: SQLLedger) -> Books | None:
        """The state of a study, if there is one."""
        with self._guard:
            return self._books.pop((ledger.study, ledger.token), None)

    def give(self, ledger: SQLLedger, books: Books) -> None:
        """Keep the state of a study, instead of the one that was kept for longest."""
        if len(books.counted) > MOST_COUNTED:
            return
        with self._guard:
            self._books[ledger.study, ledger.token] = books
            if len(self._books) > SHELF:
                del self._books[next(iter(self._books))]


def _recognised(rows: Rows, token: str | None, place: int, column: int) -> str | None:
    """The token of the last row. The row that was read last must be there as it was."""
    if token is not None and (not rows or rows[0][column] != place or rows[0][-1] != token):
        raise Diverged
    return cast(str, rows[-1][-1]) if rows else None
