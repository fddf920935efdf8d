"""What the events of a study do to its state: leases, changes of the arms and the world, verdicts, archives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from satisfice.errors import Hint, InvalidStudy
from satisfice.policies.looks import RECALL
from satisfice.studies.config import check_cost, check_name
from satisfice.studies.counts import UNIT, Arm, Group, Progress
from satisfice.studies.facts import REFUTED, Facts, plain, read_facts
from satisfice.studies.fields import StudyFields
from satisfice.studies.records import Event
from satisfice.words import shown

# So many changes of rewards are remembered in the state; all are in the log.
MOST_DRIFTS = 20
# Rewards since a change, from before it was noticed, were so many at most for a rule once; now they are `RECALL`.
MOST_HEAD = 8


class StudyEvents(StudyFields):
    """A state to which events happen: there is a method for each kind of them, by its name."""

    def happen(self, event: Event) -> None:
        """Carry out an event. What cannot be carried out raises `InvalidStudy` and changes nothing."""
        data = dict(event.data)
        data.pop("by", None)  # who did it is for people
        segment = data.pop("segment", None)
        part = self if segment is None else self.parts[cast(int, segment)]
        if event.kind not in KINDS:
            raise InvalidStudy(f"event {event.seq} is of a kind that this release does not know: {shown(event.kind)}")
        getattr(part, event.kind)(**data)
        self.seq = event.seq

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
        if self.looking is not None:
            self.looking.found = False
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
        faded: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """The rewards of an arm changed, probably with decision `since`, at the time `around`; noticed after so many
        decisions. `before` and `after` are rewards and their sum, in units, as far as they were known by then. `faded`
        are rewards of other arms, and their sum, that the rule counts no more (studies of long ago have none).

        What was proved of the arm, or by it, is of another time.
        """
        pulls, total = after
        record, kept = self.arms[arm], min(pulls, MOST_HEAD if faded is None else RECALL)
        self.faded = [list(item) for item in faded or ()]
        record.begin_anew(decisions, kept, total * kept // max(pulls, 1), self._later())
        self.changes += 1
        self.drifts = [
            *self.drifts[1 - MOST_DRIFTS :],
            {"arm": arm, "since": since, "around": around, "noticed": noticed, "before": list(before)},
        ]
        self._change()
        self.facts = plain(fact for fact in read_facts(self.facts) if arm not in (fact.arm, fact.by))

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
        self.facts = plain(
            fact
            for fact in read_facts(self.facts)
            if fact.kind == REFUTED and (fact.by < 0 or not self.arms[fact.by].retired)
        )

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
                # A part counts its own decisions: those of an archive come on top of those of the archives before.
                whole = part.decisions + cast(int, amount["decisions"])
                part._put_away(**{**amount, "decisions": whole})  # type: ignore[arg-type]
            for group, counts in zip((self.control, self.treated), groups, strict=True):
                _add(group, counts)
            self.explored += explored
            self.frontier.move(through)
        self.archived = through

    def _put_away(self, arms: Sequence[Mapping[str, int]], handed: int, corrections: int, decisions: int) -> None:
        """Count what was put into an archive."""
        for arm, counts in zip(self.arms, arms, strict=False):
            # Where squares are not on record, none is larger than its reward.
            sure = counts["total"] - counts.get("old_total", 0)
            squares = counts.get("squares", counts["total"] * UNIT)
            old_squares = counts.get("old_squares", squares - sure * UNIT if counts.get("old_pulls") else 0)
            _add(arm, {**counts, "squares": squares, "old_squares": old_squares})
            if not self.parts:
                arm.sure_pulls += counts["pulls"] - counts.get("old_pulls", 0)
                arm.sure_total += sure
                arm.sure_squares += squares - old_squares
                if self.config.costs == "told":
                    arm.sure_bills += counts.get("bills", 0)
                    arm.sure_paid += counts.get("paid", 0)
                    arm.sure_paid_squares += counts.get("paid_squares", 0)
        self.lease.handed += handed
        self.corrections += corrections
        self.decisions = decisions


KINDS = frozenset(name for name in vars(StudyEvents) if not name.startswith("_")) - {"happen"} | {"add_segment"}


def _add(record: Arm | Group, counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        setattr(record, name, getattr(record, name) + count)
