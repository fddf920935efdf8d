"""The audit of a study: fold its whole log, and compare with the state that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satisfice.errors import SatisficeError
from satisfice.studies.folding import fold
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Entry, Outcome
from satisfice.words import shorten

if TYPE_CHECKING:
    from satisfice.studies.storages.base import View

# So many differences are told at most.
MOST = 20


@dataclass(frozen=True)
class Audit:
    """What an audit found. `agrees` is True when there is no difference."""

    study: str
    events: int
    decisions: int
    rewards: int
    differences: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether the state that is kept is the one that the log makes."""
        return not self.differences

    def __str__(self) -> str:
        counted = f"{self.events} events, {self.decisions} decisions, {self.rewards} rewards"
        if self.agrees:
            return f"{self.study}: the state agrees with the log ({counted})"
        return f"{self.study}: the state does NOT agree with the log ({counted}): " + "; ".join(self.differences)


class _Checked:
    """A log that notes what in it cannot have happened, while it is read."""

    def __init__(self, view: View) -> None:
        self.view, self.config, self.now = view, view.config, view.now
        self.rows = view.rows
        self.odd: list[str] = []
        self.decisions = self.rewards = 0

    def events(self, until: int | None = None) -> Iterator[object]:
        for place, event in enumerate(self.view.events(until), 1):
            if event.seq != place:
                self.odd.append(f"event {event.seq} is at place {place}")
            if event.kind == "archive":
                self.decisions = event.data["through"]  # type: ignore[assignment]
            yield event

    def chains(self) -> Iterator[tuple[Asked, list[Entry]]]:
        for asked, entries in self.view.chains():
            if asked.id != self.decisions + 1:
                self.odd.append(f"decision {asked.id} follows decision {self.decisions}")
            self.decisions = asked.id
            outcome, reward, cost = str(Outcome.OPEN), None, None
            for nth, entry in enumerate(entries, 1):
                was = entry.was, entry.was_reward, entry.was_cost
                if entry.nth != nth or entry.arm != asked.arm or was != (outcome, reward, cost):
                    self.odd.append(f"entry {entry.nth} of decision {asked.id} does not follow from the one before")
                outcome, reward, cost = entry.outcome, entry.reward, entry.cost
            self.rewards += reward is not None
            yield asked, entries


def audit(view: View) -> Audit:
    """Compare the state of a study with its log, in memory that does not grow with it."""
    kept: Machine = view.stored
    checked = _Checked(view)
    try:
        made = fold(view.config, checked, kept.frontier.last, watch=False)  # type: ignore[arg-type]
    except (SatisficeError, LookupError, TypeError, ValueError) as error:
        found = (*checked.odd[:MOST], f"the log cannot be followed: {error}")
        return Audit(view.config.name, kept.seq, kept.decisions, checked.rewards, found)
    odd = checked.odd[:MOST]
    theirs, ours = made.to_dict(), kept.to_dict()
    for key, value in ours.items():
        if key != "notes" and value != theirs[key]:
            odd.append(
                f"{key}: the state has {shorten(repr(value), 200)}, the log makes {shorten(repr(theirs[key]), 200)}"
            )
    return Audit(view.config.name, made.seq, made.decisions, sum(arm.pulls for arm in made.arms), tuple(odd))
