"""The audit of a study: rebuild its state from the log, and compare with the state that is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from satisfice.studies.config import Config
from satisfice.studies.machine import STANDIN, Machine
from satisfice.studies.records import Asked, Event, Row, Settled
from satisfice.studies.storages.base import Ledger
from satisfice.studies.transitions import apply_change, settle

# Where the search for overdue decisions stands is a note for speed, not part of the state.
NOTES = ("scanned", "due")


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


def rebuild(config: Config, events: Iterable[Event]) -> tuple[Machine, list[str]]:
    """The machine that a log makes, and what in the log cannot have happened."""
    machine = Machine(config)
    rows: dict[int, Row] = {}
    odd: list[str] = []
    for event in events:
        if event.seq != machine.version + 1:
            odd.append(f"event {event.seq} follows event {machine.version}")
        machine.clock = event.at
        if isinstance(event, Asked):
            if event.reason == STANDIN:
                machine.prepare()
                machine.serve(event.arm, STANDIN)
            else:
                served = machine.ask()
                if served != (event.arm, event.reason):
                    odd.append(f"decision {event.id} is arm {event.arm} ({event.reason}), the log makes it {served}")
            rows[event.id] = Row(event.id, event.seq, event.arm, event.reason, event.lease, event.subject, event.at)
        elif isinstance(event, Settled):
            row = rows.get(event.id)
            if row is None or event.nth != row.entries + 1:
                odd.append(f"reward {event.nth} of decision {event.id} is out of place")
                continue
            settle(machine, row, event.status, event.reward)
            rows[event.id] = row._replace(status=event.status, reward=event.reward, entries=event.nth)
        else:
            apply_change(machine, event.kind, event.arm, event.cost)
    return machine, odd


def audit(ledger: Ledger) -> Audit:
    """Compare the state of a study with its log. Others may use the study meanwhile."""
    with ledger as machine:
        version = machine.version
        kept: dict[str, object] = {**machine.book(), **machine.memory()}
    rebuilt, odd = rebuild(ledger.config, ledger.log(until=version))
    made: dict[str, object] = {**rebuilt.book(), **rebuilt.memory()}
    if rebuilt.version != version:
        odd.append(f"the state is at event {version}, the log at {rebuilt.version}")
    for key in kept:
        if key not in NOTES and repr(kept[key]) != repr(made[key]):
            odd.append(f"{key}: the state has {_short(kept[key])}, the log makes {_short(made[key])}")
    rewards = sum(arm.pulls for arm in rebuilt.arms)
    return Audit(ledger.config.name, rebuilt.version, rebuilt.decisions, rewards, tuple(odd))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
