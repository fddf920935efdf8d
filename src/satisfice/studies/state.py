"""The state of a study: a fold over its log. No storage, no clock, no rule.

Events are carried out in their order (`satisfice.studies.happening`), decisions are counted in theirs, and entries in
any: the state does not depend on the order in which rewards are read. `satisfice.studies.machine` adds what the rule of
the policy wants next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Self, cast

from satisfice.studies.config import Config
from satisfice.studies.counts import Arm, Group, Progress, fields_of, units
from satisfice.studies.happening import StudyEvents
from satisfice.studies.records import OWN_CHOICE, Asked, Entry, Outcome, Reason, Row, in_control, made
from satisfice.studies.watching import notes_of, restore

# The format of `StudyState.to_dict`.
FORMAT = 5
# One that lacks the costs up to the frontier, which count nowhere else than where costs are learned.
BEFORE_BILLS = 4
# The reasons that are pulls of the lease.
OF_LEASE = (Reason.LEASE, Reason.INTERIM, Reason.EXTRA)

# Where a decision has what, and what all rows of a group have in common: decisions, and first rewards.
ID, ARM, ITS_LEASE = map(Asked._fields.index, ("id", "arm", "lease"))
_TERMS, _REWARDED = itemgetter(*map(Asked._fields.index, ("arm", "reason", "lease", "cost"))), itemgetter(1, 2)

# The fields of a machine that are plain data.
PLAIN = (
    "seq",
    "decisions",
    "version",
    "ints",
    "floats",
    "seen",
    "rng_state",
    "touched",
    "ended",
    "paused",
    "resting",
    "explored",
    "corrections",
    "facts",
    "facts_corrections",
    "archived",
    "changes",
    "drifts",
    "faded",
)


class StudyState(StudyEvents):
    """The state of one study: counted from its decisions, entries and events, kept as plain data."""

    # Counting

    def ask(self, row: Asked) -> None:
        """Count a decision that was handed out."""
        arm = self.arms[row.arm]
        arm.asked += 1
        if row.id <= arm.changed:
            arm.old_asked += 1
        cost = units(row.cost)
        arm.spent += cost
        if self.whole is self:
            frontier, self.decisions = self.frontier, row.id
            if frontier.read == row.id - 1:  # it is open
                frontier.read = row.id
            if row.extra:
                self.explored += units(row.extra)
            if self._groups:
                self._spend(in_control(row.reason), 1, 0, cost)
            if self.parts:
                self.parts[row.segment].ask(row)
                return
        else:
            self.decisions += 1
        if self.looking is not None:
            self.looking.last[row.arm] = self.decisions
        lease = self.lease
        if row.lease == lease.number:
            lease.handed += row.reason in OF_LEASE and lease.pulls > 0
        self.waiting.asked(row)

    def pull(self, arm: int) -> None:
        """What `ask` does with the next pull of the lease, for nobody in particular, of a study that is `simple`."""
        record, frontier, number = self.arms[arm], self.frontier, self.decisions + 1
        record.asked += 1
        record.spent += units(record.cost)
        if frontier.read == self.decisions:
            frontier.read = number
        self.decisions = self.waiting.last = number
        self.lease.handed += 1

    def reward(self, arm: int, number: int, reward: float) -> bool:
        """What `enter` does with the first reward of a decision, of a study that is `simple`. Answers whether the
        frontier has gone as far as it can."""
        record, frontier, new = self.arms[arm], self.frontier, self.units_of(reward)
        self.news += 1
        record.pulls += 1
        record.total += new
        record.squares += new * new
        if number <= record.changed:
            record.old_pulls += 1
            record.old_total += new
            record.old_squares += new * new
        self.waiting.told(arm, number)
        if number == frontier.last + 1 and frontier.read == self.decisions and not frontier.ahead:  # nearly always
            frontier.count(record, number, new)
            frontier.last = number
            return True
        frontier.enter(record, number, None, new)
        return False

    def ask_each(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """What `ask` does with decisions, one after the other, of a study that is `brief`. Rows begin with id, arm,
        reason, lease and cost."""
        if not rows:
            return
        groups, lease, frontier = Counter(map(_TERMS, rows)), self.lease, self.frontier
        if self.waiting.missed or any(reason not in OF_LEASE for _, reason, _, _ in groups):  # seldom
            for row in rows:
                self.ask(_asked(row))
            return
        for arm in self.arms:
            if arm.changed > self.decisions:
                arm.old_asked += sum(self.arms[row[ARM]] is arm and row[ID] <= arm.changed for row in rows)
        for (index, _, number, cost), count in groups.items():
            arm = self.arms[index]
            arm.asked += count
            arm.spent += count * units(cost)
            if number == lease.number and lease.pulls > 0:
                lease.handed += count
        first, self.decisions = rows[0][ID], rows[-1][ID]
        if frontier.read == first - 1 and self.decisions - first == len(rows) - 1:  # they are open
            frontier.read = self.decisions
        place, number = ITS_LEASE, lease.number
        for row in rows:
            if row[place] == number:
                self.waiting.asked(_asked(row))

    def ask_counts(self, groups: Sequence[tuple[Any, ...]], last: int) -> None:
        """What `ask` does with the decisions up to `last`, of a study that is `brief`, but for notes, for which one who
        only reads has no use. There are so many of each arm, reason, lease and cost."""
        lease, frontier = self.lease, self.frontier
        for index, reason, number, cost, count in groups:
            arm = self.arms[index]
            arm.asked += count
            arm.spent += count * units(cost)
            if number == lease.number and reason in OF_LEASE and lease.pulls > 0:
                lease.handed += count
        if frontier.read == self.decisions:  # they are open
            frontier.read = last
        self.decisions = last

    def enter_each(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """What `enter` does with first rewards, of decisions whose costs were not told, of a study that is `brief`.
        Rows begin with the id of the decision, its arm and its reward."""
        arms, frontier, waiting, units_of = self.arms, self.frontier, self.waiting, self.units_of
        self.news += len(rows)
        for (index, reward), count in Counter(map(_REWARDED, rows)).items():
            arm, new = arms[index], units_of(reward)
            arm.pulls += count
            arm.total += count * new
            arm.squares += count * new * new
        last, read, ahead = frontier.last, frontier.read, frontier.ahead
        for number, index, reward, *_ in rows:
            arm, new = arms[index], units_of(reward)
            if last < number <= read:
                ahead[number] = arm, new
            else:
                frontier.enter(arm, number, None, new)
            if number <= arm.changed:
                arm.old_pulls += 1
                arm.old_total += new
                arm.old_squares += new * new
        frontier.limit()
        if waiting.silent or waiting.guess is not None:
            for number, index, *_ in rows:
                waiting.told(index, number)
        elif waiting.last > 0:
            waiting.answered += sum(row[ID] > waiting.last for row in rows)

    def handed_by(self, row: Asked | Row) -> bool:
        """Whether a decision is one of those that the lease has handed out."""
        lease = self.lease
        return lease.pulls > 0 and row.lease == lease.number and row.reason in OF_LEASE

    def enter(self, entry: Entry) -> None:
        """Count what became of a decision."""
        arm, reward, was = self.arms[entry.arm], entry.reward, entry.was_reward
        old = None if was is None else self.units_of(was)
        new = None if reward is None else self.units_of(reward)
        if entry.was != "open" or entry.outcome != "told":  # seldom
            dropped = _nothing(entry.outcome, new) - _nothing(entry.was, old)
            arm.dropped += dropped
            if entry.id <= arm.changed:
                arm.old_dropped += dropped
                arm.old_asked += (entry.was == Outcome.UNUSED) - (entry.outcome == Outcome.UNUSED)
            if entry.outcome == Outcome.UNUSED:
                arm.asked -= 1
                arm.spent -= units(entry.price)
                self._spend(entry.control, -1, units(entry.price), 0)
            elif entry.was == Outcome.UNUSED:
                arm.asked += 1
                arm.spent += units(entry.price)
                self._spend(entry.control, 1, 0, units(entry.price))
        if entry.cost != entry.was_cost:
            self._bill(arm, entry)
        if new is not None:
            self.news += 1
            if old is None:
                arm.pulls += 1
                arm.total += new
                arm.squares += new * new
            elif new != old:
                arm.total += new - old
                arm.squares += new * new - old * old
                self.corrections += 1
            if entry.id <= arm.changed:
                arm.old_pulls += old is None
                arm.old_total += new - (old or 0)
                arm.old_squares += new * new - (old or 0) * (old or 0)
            if self._groups and entry.control is not None:
                group = self.control if entry.control else self.treated
                group.pulls += old is None
                group.total += new - (old or 0)
                group.squares += new * new - (old or 0) * (old or 0)
        if self.parts:
            self.stirred.add(entry.segment)
            self.parts[entry.segment].enter(entry)
            return
        self.frontier.enter(arm, entry.id, old, new)
        self.waiting.entered(entry)

    def _bill(self, arm: Arm, entry: Entry) -> None:
        """Count a cost that was told, instead of the one that was expected or told before."""
        before = units(entry.price if entry.was_cost is None else entry.was_cost)
        now = units(entry.price if entry.cost is None else entry.cost)
        arm.spent += now - before
        self._spend(entry.control, 0, before, now)
        first = entry.was_cost is None
        arm.bills += first
        arm.paid += now - (0 if first else before)
        arm.paid_squares += now * now - (0 if first else before * before)
        if self.config.costs == "told" and not self.parts:
            self.frontier.bill(arm, entry.id, None if first else before, now)

    def _spend(self, control: bool | None, decisions: int, before: int, now: int) -> None:
        """The control group, or all others, have so many decisions more, and one costs `now` and not `before`."""
        if not self._groups or control is None:
            return
        group = self.control if control else self.treated
        group.asked += decisions
        group.spent += now - before
        group.spent_squares += now * now - before * before

    # Plain data

    def to_dict(self) -> dict[str, object]:
        """The state as plain data."""
        scanned = min([self.scanned, *(number - 1 for _, number in self.passed)])
        notes: dict[str, object] = {"scanned": scanned, "waiting": self.waiting.to_dict()}
        data = self._plain() | {
            "format": FORMAT,
            "control": fields_of(self.control),
            "treated": fields_of(self.treated),
            "frontier": self.frontier.last,
            "notes": notes,
        }
        notes["looking"] = [[] if part.looking is None else part.looking.to_dict() for part in self.leaves]
        if not self.parts:
            notes["watching"] = [notes_of(self.arms)]
            return data
        notes["watching"] = [notes_of(part.arms) for part in self.parts]
        notes["parts"] = [part.waiting.to_dict() for part in self.parts]
        return data | {"segments": list(self.segments), "parts": [part._plain() for part in self.parts]}

    def _plain(self) -> dict[str, object]:
        """What a part has of its own."""
        data: dict[str, object] = {name: getattr(self, name) for name in PLAIN}
        arms = [fields_of(arm) for arm in self.arms]
        return data | {"arms": arms, "lease": fields_of(self.lease)}

    def _load(self, data: Mapping[str, object], waiting: object) -> None:
        for name in PLAIN:
            setattr(self, name, data.get(name, getattr(self, name)))
        self.arms = [Arm(*values) for values in cast("list[list[object]]", data["arms"])]  # type: ignore[arg-type]
        self.lease = Progress(*cast("list[int]", data["lease"]))
        self.waiting.from_dict(cast("dict[str, object]", waiting))
        self._arrange()

    @classmethod
    def from_dict(cls, config: Config, data: Mapping[str, object]) -> Self:
        """The state from the data of `to_dict`; `ValueError` where they are of another format: the log is the truth."""
        if data["format"] != FORMAT and (data["format"] != BEFORE_BILLS or config.costs == "told"):
            raise ValueError(f"a snapshot of format {data['format']}")
        machine = cls(config)
        notes = cast("dict[str, object]", data["notes"])
        machine._load(data, notes["waiting"])
        for name in cast("list[str]", data.get("segments", []))[len(machine.parts) :]:
            machine.add_segment(name)
        parts = cast("list[Mapping[str, object]]", data.get("parts", []))
        for part, values, waiting in zip(
            machine.parts, parts, cast("list[object]", notes.get("parts", [])), strict=True
        ):
            part._load(values, waiting)
        machine.stirred = set(range(len(parts)))
        for part, watched in zip(machine.leaves, cast("list[object]", notes.get("watching", [])), strict=False):
            restore(part.arms, watched)
        for part, looked in zip(machine.leaves, cast("list[object]", notes.get("looking", [])), strict=False):
            if part.looking is not None:
                part.looking.from_dict(looked)
        machine.control = Group(*cast("list[int]", data["control"]))
        machine.treated = Group(*cast("list[int]", data["treated"]))
        machine.frontier.move(cast(int, data["frontier"]))
        machine.scanned = cast(int, notes["scanned"])
        return machine


def _asked(row: tuple[Any, ...]) -> Asked:
    """A decision of which no more than this counts: id, arm, reason, lease and cost."""
    return made(Asked, (*row[:5], 0.0, None, None, None, *OWN_CHOICE))


def _nothing(outcome: str, counted: int | None) -> int:
    """1 for a decision that came to nothing."""
    return int(counted is None and outcome in (Outcome.ABANDONED, Outcome.EXPIRED))
