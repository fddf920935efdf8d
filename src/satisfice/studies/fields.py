"""What the state of a study holds, and what a rule sees of it.

A study with segments has a part for each: a state like its own, with sums, a lease and verdicts of its own, whose
events say `segment`. A study without segments is its own only part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Self, cast

from satisfice.errors import InvalidStudy
from satisfice.policies.contract import Problem, State, arrange, learns, make_problem, new_state
from satisfice.statistics import share_of
from satisfice.studies.config import Config
from satisfice.studies.counts import UNIT, Arm, Group, Progress, units
from satisfice.studies.facts import Facts
from satisfice.studies.frontier import Frontier
from satisfice.studies.kinship import Kinship
from satisfice.studies.records import Event, Row
from satisfice.studies.watching import FALSE_ALARM

if TYPE_CHECKING:
    from satisfice.studies.looking import Looking
    from satisfice.studies.waiting import Waiting


class StudyFields:
    """The fields of the state of one study. Arms are counted in the order in which the study got them."""

    waiting: Waiting  # notes about what is outstanding
    looking: Looking | None = None  # notes about looks at arms that are passed over
    watches = True  # whether every reward is watched for a change of its arm's; who only reads has no use for that

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
        self.simple = False  # whether there is nothing but leases and rewards to think of, as of the last event
        self.guarded = config.budget is not None or config.holdout > 0  # not every decision is the policy's own choice
        self.corrections = 0  # entries that replaced a counted reward
        self.facts: Facts = []  # what is proved, as of the last look
        self.facts_corrections = 0
        self.archived = 0  # decisions up to this one are in an archive
        self.changes = 0  # how often rewards of an arm have changed
        self.drifts: list[dict[str, object]] = []  # the last of these events
        self.faded: list[list[int]] = []  # arms, their rewards and sums that the rule counts no more since the last
        self.frontier: Frontier = Frontier() if whole is None else whole.frontier
        # Notes for speed, no part of the state: every decision up to `scanned` is settled or expired, but for those
        # that were `passed` over, each with the time at which it expires, and the next expires at `due` (nan: not
        # known); rewards since verdicts were looked at, and how many there are to be before the next look.
        self.scanned = 0
        self.passed: list[tuple[float, int]] = []
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

    def add_segment(self, name: str) -> None:
        """The study got a segment."""
        if name in self.segments:
            raise InvalidStudy(f"the study already has a segment {name!r}", parameter="segment")
        self.parts.append(cast("Self", type(self)(self.config, self)))
        self.segments.append(name)

    def arm_of(self, row: Row) -> Arm:
        """The arm that the reward of a decision is counted for."""
        return self.part(row.segment).arms[row.arm]

    def event(self, kind: str, data: dict[str, object], at: float) -> Event:
        """The next event of the log, about this part."""
        if self.whole is not self:
            data = data | {"segment": self.number}
        return Event(self.whole.seq + 1, kind, data, at)

    @property
    def brief(self) -> bool:
        """Whether no more counts of a decision than its arm, reason, lease and cost, and of a reward than its arm."""
        config = self.config
        who = config.segments or config.most_segments or config.baseline is not None
        return not (who or config.budget is not None or config.drift == "adapt" or config.expire_after is not None)

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
        if config.drift is not None and self.whole.watches:
            whole = min(FALSE_ALARM, 1.0 - config.confidence) / max(config.most_segments, 1)
            for i, arm in enumerate(self.arms):
                arm.promise = whole * self.share(i)

    def watch_nothing(self) -> Self:
        """Count rewards from now on without watching them for changes, in a fraction of the time; answers with this."""
        self.watches = False
        for part in (self, *self.parts):
            for arm in part.arms:
                arm.promise = 0.0
        return self

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

    def sums(self) -> tuple[list[int], list[float]]:
        """Pulls and totals as a rule sees them, with what a segment borrows from the others. They are numbers of
        Python's own: those of arrays take several times as long one by one."""
        arms = [self.arms[i] for i in self.order]
        pulls, totals = [arm.seen for arm in arms], [arm.seen_total / UNIT for arm in arms]
        for i, pulls_off, total_off in () if learns(self.config.policy) else self.faded:
            k = self.rank[i]
            if k >= 0:
                pulls[k] = max(pulls[k] - pulls_off, 0)
                totals[k] = min(max(totals[k] - total_off / UNIT, 0.0), pulls[k])
        if self.borrows:
            more, theirs = self.whole.kinship.lend(self)
            pulls = [n + lent for n, lent in zip(pulls, more.tolist(), strict=True)]
            totals = [total + lent for total, lent in zip(totals, theirs.tolist(), strict=True)]
        return pulls, totals

    def squares_of(self, pulls: list[int], totals: list[float]) -> list[float]:
        """The sums of the squares of so many rewards of every arm, as a rule expects them."""
        arms = [self.arms[i] for i in self.order]
        return [arm.squares_of(n, total) for arm, n, total in zip(arms, pulls, totals, strict=True)]

    @property
    def state(self) -> State:
        """The sums as a rule sees them, without its memory."""
        state, (pulls, totals) = self._state, self.sums()
        state.pulls[:], state.totals[:], state.squares[:] = pulls, totals, self.squares_of(pulls, totals)
        return state

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
        return share_of(born, len(self.config.arms))

    def index(self, name: object) -> int:
        """The index of an arm by name, or `InvalidStudy`."""
        for i, arm in enumerate(self.arms):
            if arm.name == name:
                return i
        names = ", ".join(arm.name for arm in self.arms)
        raise InvalidStudy(f"the study has no arm {name!r}; its arms are {names}", parameter="arm")
