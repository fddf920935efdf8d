"""The state of a study: a fold over its log. No storage, no clock, no rule.

A study with segments has a part for each: a state like its own, with sums, a lease and verdicts of its own, whose
events say `segment`. A study without segments is its own only part.

Events are carried out in their order, decisions are counted in theirs, and entries in any: the state does not depend on
the order in which rewards are read. `satisfice.studies.machine` adds what the rule of the policy wants next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache
from typing import TYPE_CHECKING, Self, cast

from satisfice.errors import Hint, InvalidStudy
from satisfice.policies.contract import Problem, State, arrange, learns, make_problem, new_state
from satisfice.studies.config import Config, check_cost, check_name
from satisfice.studies.counts import UNIT, Arm, Group, Progress, share_of, units
from satisfice.studies.frontier import Frontier
from satisfice.studies.kinship import Kinship
from satisfice.studies.records import Asked, Entry, Event, Outcome, Reason, Row, in_control
from satisfice.studies.watching import FALSE_ALARM, notes_of, restore

if TYPE_CHECKING:
    from satisfice.studies.looking import Looking
    from satisfice.studies.waiting import Waiting

# The format of `StudyState.to_dict`.
FORMAT = 3
# So many changes of rewards are remembered in the state; all are in the log.
MOST_DRIFTS = 20
# Rewards since a change, from before it was noticed, are so many at most for a rule: it is to prove its choice anew.
MOST_HEAD = 8

Facts = list[list[object]]


class StudyState:
    """The state of one study. Arms are counted in the order in which the study got them."""

    waiting: Waiting  # notes about what is outstanding
    looking: Looking | None = None  # notes about looks at arms that are passed over

    def __init__(self, config: Config, whole: Self | None = None) -> None:
        self.config = config
        self.whole: Self = self if whole is None else whole  # the study that this is a part of
        self.number = 0 if whole is None else len(whole.parts)
        self.segments: list[str] = []
        self.parts: list[Self] = []
        self.kinship = Kinship(self)
        self.stirred: set[int] = set()  # parts that something has happened to since they were looked after
        self.seq = 0  # the last event
        self.decisions = 0  # the last decision; of a part, how many it has
        self.arms = [Arm(name, cost) for name, cost in config.arms]
        if whole is not None:
            self.arms = [Arm(arm.name, arm.cost, arm.retired) for arm in whole.arms]
        self.lease = Progress()
        self.version = type(config.policy).version  # of the rule
        # What the rule remembers: None before the first decision, and when it must begin again from the sums.
        self.ints: list[int] | None = None
        self.floats: list[float] = []
        self.seen: list[int] | None = None  # the order of the arms at that time, where it may change by itself
        self.rng_state: Mapping[str, object] | None = None
        self.touched: bool = whole is not None and whole.touched  # whether arms or costs were changed since it began
        self.ended = self.paused = False
        self.resting: list[int] = []  # arms that do not answer
        self.explored = 0  # what finding out has cost, in units
        self.control, self.treated = Group(), Group()
        # What a reward counts, in units.
        self.units_of: Callable[[float], int] = lru_cache(maxsize=1024)(lambda reward: units(config.scale(reward)))
        self._groups = whole is None and config.baseline is not None
        self.guarded = config.budget is not None or config.holdout > 0  # not every decision is the policy's own choice
        self.corrections = 0  # entries that replaced a counted reward
        self.facts: Facts = []  # what is proved, as of the last look
        self.facts_corrections = 0
        self.archived = 0  # decisions up to this one are in an archive
        self.changes = 0  # how often rewards of an arm have changed
        self.drifts: list[dict[str, object]] = []  # the last of these events
        self.frontier: Frontier = Frontier() if whole is None else whole.frontier
        # Notes for speed, no part of the state: every decision up to `scanned` is settled or expired, and the next
        # expires at `due` (nan: not known); rewards since verdicts were looked at, and how many there are to be
        # before the next look.
        self.scanned = 0
        self.due = math.nan
        self.news, self.patience = 0, 8
        self._arrange()
        if whole is None:
            for name in config.segments:
                self.add_segment(name)

    # Segments

    def part(self, segment: int) -> Self:
        """The part that decides for a segment."""
        return self.parts[segment] if self.parts else self

    @property
    def leaves(self) -> list[Self]:
        """All parts that decide."""
        return self.parts or [self]

    @property
    def name(self) -> str | None:
        """The segment that this is a part for; None: it is the whole study."""
        return None if self.whole is self else self.whole.segments[self.number]

    def arm_of(self, row: Row) -> Arm:
        """The arm that the reward of a decision is counted for."""
        return self.part(row.segment).arms[row.arm]

    def event(self, kind: str, data: dict[str, object], at: float) -> Event:
        """The next event of the log, about this part."""
        if self.whole is not self:
            data = data | {"segment": self.number}
        return Event(self.whole.seq + 1, kind, data, at)

    # What the rule sees

    def _arrange(self) -> None:
        """The rule's view of the arms: `order` (its arms in its order), `rank` (where an arm is in it), `problem`."""
        config, setting = self.config, self.config.scaled_setting
        active = [i for i in self.active if i not in self.resting or self._referred(i)]
        costs = [self.price(i) for i in active]
        order = arrange(costs, setting, [self.arms[i].name for i in active])
        self.problem: Problem = make_problem(
            config.policy, setting, costs, order, self.horizon, bounded=True, binary=config.binary
        )
        self.order: list[int] = [active[k] for k in order.tolist()]
        self.rank: list[int] = [-1] * len(self.arms)
        for k, i in enumerate(self.order):
            self.rank[i] = k
        self._state: State = new_state(config.policy, len(self.order))
        if config.drift is not None:
            whole = min(FALSE_ALARM, 1.0 - config.confidence) / max(config.most_segments, 1)
            for i, arm in enumerate(self.arms):
                arm.promise = whole * self.share(i)

    @property
    def judged(self) -> list[int]:
        """The arms that verdicts are about, cheapest first: all that may be served but those that never answer."""
        if not self.resting:
            return self.order
        arms = [i for i in self.active if i not in self.resting or not self._mute(i) or self._referred(i)]
        costs, names = [self.price(i) for i in arms], [self.arms[i].name for i in arms]
        return [arms[k] for k in arrange(costs, self.config.scaled_setting, names).tolist()]

    @property
    def rewards(self) -> int:
        """Rewards counted, of the arms that verdicts are about."""
        return sum(self.arms[i].pulls for i in self.judged)

    def _mute(self, arm: int) -> bool:
        """Whether an arm was asked for and never answered; one that could not be asked for is not."""
        return self.arms[arm].asked > 0 and not self.arms[arm].pulls

    def _referred(self, arm: int) -> bool:
        """Whether an arm is the reference arm, without which nothing can be said."""
        return self.arms[arm].name == self.config.setting.reference

    def arrange(self) -> None:
        """Bring the order of the arms up to date, where it depends on what was told."""
        if self.config.costs == "told":
            self._arrange()

    def price(self, arm: int) -> float:
        """What one pull of an arm costs: its cost, or the mean of those that were told."""
        record = self.arms[arm]
        return record.mean_cost if self.config.costs == "told" else record.cost

    def would(self, arm: int) -> float:
        """What all decisions would have cost on one arm."""
        record = self.arms[arm]
        return self.decisions * record.mean_cost if self.config.costs == "told" else record.would(self.decisions)

    @property
    def spent_on_exploring(self) -> float:
        """What finding out has cost so far."""
        return self.explored / UNIT

    @property
    def active(self) -> list[int]:
        """The arms that may be served."""
        return [i for i, arm in enumerate(self.arms) if not arm.retired]

    @property
    def state(self) -> State:
        """The sums as a rule sees them, with what a segment borrows from the others, and without its memory."""
        for k, i in enumerate(self.order):
            self._state.pulls[k] = self.arms[i].seen
            self._state.totals[k] = self.arms[i].seen_total / UNIT
        if self.borrows:
            pulls, totals = self.whole.kinship.lend(self)
            self._state.pulls[:] += pulls
            self._state.totals[:] += totals
        for k, i in enumerate(self.order):
            self._state.squares[k] = self.arms[i].squares_of(self._state.pulls[k], self._state.totals[k])
        return self._state

    @property
    def borrows(self) -> bool:
        """Whether this is a segment that learns from the others; a rule that learns by itself counts its own alone."""
        return self.whole is not self and len(self.whole.parts) > 1 and not learns(self.config.policy)

    @property
    def horizon(self) -> int | None:
        """The number of decisions to plan for: of a segment, if its share of them stays what it was so far."""
        horizon, whole = self.config.horizon, self.whole
        if horizon is None or whole is self:
            return horizon
        share = (self.decisions + 1) / max(whole.decisions + len(whole.parts), 1)
        return max(sum(arm.pulls for arm in self.arms) + math.ceil(share * max(horizon - whole.decisions, 0)), 1)

    @property
    def t(self) -> int:
        """Rewards counted, of the arms that the rule sees."""
        return sum(self.arms[i].pulls for i in self.order)

    @property
    def worth_a_look(self) -> bool:
        """Whether there are so many new rewards, or a replaced one, that verdicts should be looked at."""
        return self.news >= self.patience or self.corrections != self.facts_corrections

    def born(self, arm: int) -> int:
        """Which one an arm is of those that came later or began anew; 0: it was there from the beginning."""
        return self.arms[arm].born or max(arm - len(self.config.arms) + 1, 0)

    def share(self, arm: int) -> float:
        """The share of an allowed error for what is said of one arm alone."""
        born = self.born(arm)
        return share_of(born) / (1 if born else len(self.config.arms))

    # The fold

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

    def _spend(self, control: bool | None, decisions: int, before: int, now: int) -> None:
        """The control group, or all others, have so many decisions more, and one costs `now` and not `before`."""
        if not self._groups or control is None:
            return
        group = self.control if control else self.treated
        group.asked += decisions
        group.spent += now - before
        group.spent_squares += now * now - before * before

    def happen(self, event: Event) -> None:
        """Carry out an event. What cannot be carried out raises `InvalidStudy` and changes nothing."""
        data = dict(event.data)
        data.pop("by", None)  # who did it is for people
        segment = data.pop("segment", None)
        part = self if segment is None else self.parts[cast(int, segment)]
        getattr(part, event.kind)(**data)
        self.seq = event.seq

    def add_segment(self, name: str) -> None:
        """The study got a segment."""
        if name in self.segments:
            raise InvalidStudy(f"the study already has a segment {name!r}", parameter="segment")
        self.parts.append(cast("Self", type(self)(self.config, self)))
        self.segments.append(name)

    def make_lease(
        self,
        number: int,
        arm: int,
        pulls: int,
        known: Sequence[tuple[int, int, int]],
        ints: list[int],
        floats: list[float],
        version: int,
        corrections: int,
        dropped: int = 0,
        order: list[int] | None = None,
        rng: Mapping[str, object] | None = None,
    ) -> None:
        """The rule made a lease."""
        for i, count, total in known:
            self.arms[i].known_pulls, self.arms[i].known_total = count, total
        self.lease = Progress(number, arm, pulls, 0, corrections, dropped)
        self.waiting.begin()
        self.ints, self.floats, self.seen, self.version = ints, floats, order, version
        if rng is not None:
            self.rng_state = rng

    def set_cost(self, arm: str, cost: float, decisions: int, of: Sequence[int] = ()) -> None:
        """The cost of an arm changed, after so many decisions, and so many `of` every part."""
        self._reprice(self.arms[self.index(arm)], check_cost(arm, cost), decisions)
        self._change()
        for part, count in zip(self.parts, of, strict=True):
            part.set_cost(arm, cost, count)

    def add_arm(self, arm: str, cost: float, decisions: int, of: Sequence[int] = ()) -> None:
        """An arm was added, or a retired one brought back with what was learned of it."""
        price = check_cost(check_name(arm), cost)
        known = next((record for record in self.arms if record.name == arm), None)
        if known is None:
            self.arms.append(Arm(arm, price, born=self._later() if self.changes else 0))
        elif known.retired:
            known.retired = False
            self.resting = [i for i in self.resting if self.arms[i] is not known]
            self._reprice(known, price, decisions)
        else:
            raise InvalidStudy(f"the study already has an arm {arm!r}", hint=Hint.SET_COST, parameter="arm")
        self._change()
        for part, count in zip(self.parts, of, strict=True):
            part.add_arm(arm, cost, count)

    def _later(self) -> int:
        """Which one the next arm is of those that come later or begin anew."""
        return len(self.arms) - len(self.config.arms) + self.changes + 1

    def drift(
        self,
        arm: int,
        decisions: int,
        since: int,
        around: float,
        noticed: float,
        before: Sequence[int],
        after: Sequence[int],
    ) -> None:
        """The rewards of an arm changed, probably with decision `since`, at the time `around`; noticed after so many
        decisions. `before` and `after` are rewards and their sum, in units, as far as they were known by then.

        What was proved of the arm, or by it, is of another time.
        """
        record, kept = self.arms[arm], min(after[0], MOST_HEAD)
        record.begin_anew(decisions, kept, after[1] * kept // max(after[0], 1), self._later())
        self.changes += 1
        self.drifts = [
            *self.drifts[1 - MOST_DRIFTS :],
            {"arm": arm, "since": since, "around": around, "noticed": noticed, "before": list(before)},
        ]
        self._change()
        self.facts = [fact for fact in self.facts if arm not in (fact[1], fact[2])]

    def retire_arm(self, arm: str) -> None:
        """An arm was taken out of the choice; what was learned of it stays on record."""
        record = self.arms[self.index(arm)]
        if record.retired:
            raise InvalidStudy(f"{arm!r} is already retired")
        if self.config.setting.reference == arm:
            raise InvalidStudy(f"{arm!r} is the reference arm, which cannot be retired")
        if self.config.baseline == arm:
            raise InvalidStudy(f"{arm!r} is the baseline, which cannot be retired")
        if sum(not other.retired for other in self.arms) == 1:
            raise InvalidStudy(f"{arm!r} is the last arm and cannot be retired")
        record.retired = True
        self.resting = [i for i in self.resting if self.arms[i] is not record]
        if all(i in self.resting for i in self.active):
            self.resting = []
        self._change()
        for part in self.parts:
            part.retire_arm(arm)

    def _reprice(self, arm: Arm, cost: float, decisions: int) -> None:
        arm.would_before, arm.since, arm.cost = arm.would(decisions), decisions, cost

    def _change(self) -> None:
        self.touched = True
        self._arrange()
        self.start_anew()
        # A refutation is about means, not costs: it stands as long as the arm that it rests on is in the study.
        self.facts = [
            fact
            for fact in self.facts
            if fact[0] == "refuted" and (cast(int, fact[2]) < 0 or not self.arms[cast(int, fact[2])].retired)
        ]

    def start_anew(self, version: int | None = None) -> None:
        """The rule begins again, from the sums as they are: after a change, and when the rule is a newer one."""
        self.lease = Progress(self.lease.number)
        self.ints, self.floats, self.seen = None, [], None
        self.version = self.version if version is None else version
        for part in self.parts:
            part.start_anew(version)

    def rest(self, arms: list[int], pulls: list[int], decisions: int) -> None:
        """These arms do not answer, after so many rewards of each and so many decisions; the rule is asked as if they
        were not there."""
        self.resting = arms
        self._change()
        self.waiting.rest(arms, pulls, decisions)

    def pause(self) -> None:
        """The baseline is served from now on."""
        self.paused = True

    def resume(self) -> None:
        """The policy goes on."""
        self.paused = False

    def end(self) -> None:
        """The study was ended."""
        self.ended = True

    def reopen(self) -> None:
        """The study goes on."""
        self.ended = False

    def judge(self, facts: Facts, corrections: int) -> None:
        """What is proved was looked at, and has changed."""
        self.facts, self.facts_corrections = facts, corrections

    def archive(
        self,
        through: int,
        handed: int,
        arms: Sequence[Mapping[str, int]],
        groups: Sequence[Mapping[str, int]],
        explored: int,
        corrections: int,
        parts: Sequence[Mapping[str, int | Sequence[Mapping[str, int]]]] = (),
    ) -> None:
        """Decisions up to `through` were put into an archive. `handed` of them were pulls of the lease at that time;
        the rest is what they amount to, in all and for every part.

        A state that has counted them already does not count them again.
        """
        if self.decisions < through:
            self._put_away(arms, handed, corrections, through)
            for part, amount in zip(self.parts, parts, strict=False):
                part._put_away(**amount)  # type: ignore[arg-type]
            for group, counts in zip((self.control, self.treated), groups, strict=True):
                _add(group, counts)
            self.explored += explored
            self.frontier.move(through)
        self.archived = through

    def _put_away(self, arms: Sequence[Mapping[str, int]], handed: int, corrections: int, decisions: int) -> None:
        """Count what was put into an archive."""
        for arm, counts in zip(self.arms, arms, strict=False):
            # Where squares are not on record, none is larger than its reward.
            _add(arm, {"squares": counts["total"] * UNIT, **counts})
            if not self.parts:
                arm.sure_pulls += counts["pulls"] - counts.get("old_pulls", 0)
                arm.sure_total += counts["total"] - counts.get("old_total", 0)
        self.lease.handed += handed
        self.corrections += corrections
        self.decisions = decisions

    def index(self, name: object) -> int:
        """The index of an arm by name, or `InvalidStudy`."""
        for i, arm in enumerate(self.arms):
            if arm.name == name:
                return i
        names = ", ".join(arm.name for arm in self.arms)
        raise InvalidStudy(f"the study has no arm {name!r}; its arms are {names}", parameter="arm")

    # Plain data

    def to_dict(self) -> dict[str, object]:
        """The state as plain data."""
        notes: dict[str, object] = {"scanned": self.scanned, "waiting": self.waiting.to_dict()}
        data = self._plain() | {
            "format": FORMAT,
            "control": list(astuple(self.control)),
            "treated": list(astuple(self.treated)),
            "frontier": self.frontier.last,
            "notes": notes,
        }
        notes["looking"] = [[] if part.looking is None else part.looking.to_dict() for part in self.leaves]
        if not self.parts:
            notes["watching"] = [notes_of(self.arms)]
            return data
        notes["watching"] = [notes_of(part.arms) for part in self.parts]
        notes["parts"] = [part.waiting.to_dict() for part in self.parts]
        return data | {"segments": self.segments, "parts": [part._plain() for part in self.parts]}

    def _plain(self) -> dict[str, object]:
        """What a part has of its own."""
        data: dict[str, object] = {name: getattr(self, name) for name in PLAIN}
        arms = [list(astuple(arm)) for arm in self.arms]
        return data | {"arms": arms, "lease": list(astuple(self.lease))}

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
        if data["format"] != FORMAT:
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


# The reasons that are pulls of the lease.
OF_LEASE = (Reason.LEASE, Reason.INTERIM, Reason.EXTRA)

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
)


def _nothing(outcome: str, counted: int | None) -> int:
    """1 for a decision that came to nothing."""
    return int(counted is None and outcome in (Outcome.ABANDONED, Outcome.EXPIRED))


def _add(record: Arm | Group, counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        setattr(record, name, getattr(record, name) + count)
