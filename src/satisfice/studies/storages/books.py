"""A state that was read from a log in SQL, and how far. What has come since is counted; another log is recognised."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Entry, Event


class Seen(NamedTuple):
    """How far the log was read, and by which tokens its last rows are recognised."""

    entry: int = 0
    seq_token: str | None = None
    decision_token: str | None = None
    entry_token: str | None = None


class Diverged(Exception):
    """The log is not the one that was read before."""


class Books:
    """A state that was read from the log, and how far."""

    def __init__(self, machine: Machine, seen: Seen) -> None:
        self.machine, self.seen = machine, seen
        self.unsaved = 0  # rows since the last snapshot

    def catch_up(self, tails: Sequence[list[tuple[Any, ...]]]) -> int:
        """Count what has come since; answers with the number of decisions among it. Raises `Diverged`."""
        machine, seen = self.machine, self.seen
        events, decisions, entries = tails
        seq_token = _recognised(events, seen.seq_token if machine.seq else None, machine.seq, 0)
        decision_token = _recognised(
            decisions, seen.decision_token if machine.decisions > machine.archived else None, machine.decisions, 0
        )
        entry_token = _recognised(entries, seen.entry_token if seen.entry else None, seen.entry, -2)
        new_events = [Event(seq, kind, json.loads(data), at) for seq, kind, data, at, _ in events if seq > machine.seq]
        for event in new_events:
            if event.kind == "archive" and cast(int, event.data["through"]) > machine.decisions:
                raise Diverged  # the rows are gone; a newer snapshot has counted them
            machine.happen(event)
        count, known = 0, machine.decisions
        for row in decisions:
            if row[0] > known:
                machine.ask(Asked._make(row[:-1]))
                count += 1
        last = seen.entry
        for row in entries:
            if row[-2] > seen.entry:
                machine.enter(Entry._make(row[:-2]))
                last = row[-2]
        self.unsaved += len(new_events) + count + len(entries)
        self.seen = Seen(last, seq_token, decision_token, entry_token)
        return count


def _recognised(rows: list[tuple[Any, ...]], token: str | None, place: int, column: int) -> str | None:
    """The token of the last row. The row that was read last must be there as it was."""
    if token is not None and (not rows or rows[0][column] != place or rows[0][-1] != token):
        raise Diverged
    return cast(str, rows[-1][-1]) if rows else None
