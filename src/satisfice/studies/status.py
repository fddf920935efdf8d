"""What a study knows: every arm, the verdict, the money, and a sentence that a manager can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from satisfice.tables import fill, html, layout
from satisfice.words import count, date_of, number, plain


@dataclass(frozen=True)
class ArmStatus:
    """One arm. Means and intervals are on the scale of the rewards; nan where nothing is known."""

    name: str
    cost: float
    pulls: int  # rewards counted, of all times
    pending: int  # decisions without a reward yet
    dropped: int  # decisions that were abandoned, or expired and count as nothing
    mean: float  # since the rewards of the arm changed last, if they ever did
    interval: tuple[float, float]  # holds at all times, for all arms together, with the study's confidence; it counts
    # rewards since the last change was noticed
    verdict: str  # "certified", "leading", "open", "refuted", "dearer" (than the reference arm), "unanswered"
    # (it does not answer, and rests) or "retired"
    spent: float
    unanswered: float  # share of its settled decisions that came to nothing; nan where none is settled


@dataclass(frozen=True)
class Refutation:
    """An arm that was proved not to be good enough."""

    arm: str
    by: str | None  # the arm whose mean it misses; None for a fixed threshold
    rewards: int  # rewards counted by then
    at: float  # seconds since 1970; nan in a replay

    def __str__(self) -> str:
        when = moment(self.at, " (")
        when += ")" if when else ""
        by = f"by {self.by!r}" if self.by is not None else "by the threshold"
        return f"{self.arm!r} was refuted {by} after {self.rewards:,} rewards{when}"


@dataclass(frozen=True)
class Verdict:
    """What the study has found.

    `state` is "exploring"; "certified": everything that makes `leader` the cheapest arm that is good enough is proved
    with the study's confidence, whenever one looks; "none": it is proved that no arm reaches the threshold; "settled":
    the horizon is reached, or the policy has given its leader all that is left of it, without such a proof.
    """

    state: str
    leader: str
    sure: float  # proved: 1 - the error that must be allowed to call the leader certified; 0 while nothing is
    belief: float | None  # believed probability that the leader is the right one: no proof; None where there is none
    rewards: int
    threshold: float  # by the means so far, on the scale of the rewards
    refuted: tuple[Refutation, ...]
    certified_at: float | None  # seconds since 1970
    certified_after: int | None  # rewards
    sentence: str
    costs: str = "known"  # that the leader is the cheapest that may be good enough: "known", and where costs are told
    # "proved", "believed" (where no range of them was declared) or "open"

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        """The sentence and what was refuted, in a notebook."""
        return html([], self.sentence, *map(str, self.refuted))


@dataclass(frozen=True)
class Drift:
    """The rewards of an arm changed. Means are on the scale of the rewards."""

    arm: str
    around: float  # when it probably happened: when that decision was asked for, in seconds since 1970
    decision: int  # the first that was probably of the new kind
    noticed: float  # seconds since 1970
    before: float  # mean reward before
    before_rewards: int
    since: float  # mean reward since then, as it is now
    since_rewards: int
    segment: str | None = None

    def __str__(self) -> str:
        when = date_of(self.around)
        same = when.date() == date_of(self.noticed).date()
        text = f"{when:%H:%M}" if same else f"{when:%H:%M on %Y-%m-%d}"
        what = repr(self.arm) if self.segment is None else f"{self.arm!r} in {self.segment!r}"
        return f"rewards of {what} changed around {text} (UTC): {self.before:.2f} before, {self.since:.2f} since"


@dataclass(frozen=True)
class Spending:
    """Cost of all decisions so far, and what they would have cost on one arm alone."""

    decisions: int
    total: float
    dearest: float
    best: float | None  # the arm with the largest mean so far
    reference: float | None  # with a known reference arm
    leader: float
    exploring: float | None  # what finding out has cost beyond the arms that would have won; None without a budget
    budget: float | None


@dataclass(frozen=True)
class Control:
    """The study against its control group, per decision: differences of means, with 95% intervals of the usual kind (a
    normal approximation at this moment, no proof)."""

    arm: str
    decisions: int  # of the control group
    rewards: int
    mean: float
    others_mean: float
    gain: tuple[float, float, float]  # mean reward of the others minus that of the control group: estimate, low, high
    saving: tuple[float, float, float]  # mean cost of the control group minus that of the others

    def __str__(self) -> str:
        gain, saving = (f"{e:.4g} ({low:.4g} to {high:.4g})" for e, low, high in (self.gain, self.saving))
        return (
            f"against '{self.arm}' in the control group ({self.decisions:,} decisions): reward {gain}, saving {saving} "
            "per decision"
        )


@dataclass(frozen=True)
class SegmentStatus:
    """One segment of a study. `follows`: whether the arm that leads here is the one that leads in most traffic."""

    name: str
    decisions: int
    rewards: int
    share: float  # of all decisions
    means: dict[str, float]  # of its own rewards, per arm; nan where there are none
    pulls: dict[str, int]  # rewards counted, per arm
    pending: int  # decisions without a reward yet
    verdict: Verdict
    follows: bool
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Status:
    """A study at one moment. Where it has segments, `arms` has the sums over all of them, and `verdict` what their
    verdicts come to together."""

    study: str
    policy: str
    setting: str
    confidence: float
    arms: tuple[ArmStatus, ...]
    verdict: Verdict
    spending: Spending
    ended: bool
    paused: bool = False
    control: Control | None = None
    warnings: tuple[str, ...] = ()  # what may make the verdict doubtful
    segments: tuple[SegmentStatus, ...] = ()
    drifts: tuple[Drift, ...] = ()  # arms whose rewards have changed, each for the last time

    @property
    def leader(self) -> str:
        """The arm that would win now."""
        return self.verdict.leader

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON; what is not known is None."""
        data = plain(asdict(self))
        assert isinstance(data, dict)
        return data

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """The verdict, every arm and the money, in a notebook."""
        return html(self._rows(), self.verdict.sentence, _money(self.spending), *self.warnings)

    def _rows(self) -> Sequence[tuple[str, ...]]:
        head = ("arm", "cost", "pulls", "pending", "mean", "interval", "spent", "verdict")
        return [head] + [
            (
                arm.name,
                f"{arm.cost:g}",
                f"{arm.pulls:,}",
                f"{arm.pending:,}",
                "" if math.isnan(arm.mean) else f"{arm.mean:.4g}",
                f"{arm.interval[0]:.4g} to {arm.interval[1]:.4g}",
                number(arm.spent),
                arm.verdict,
            )
            for arm in self.arms
        ]

    def text(self, width: int | None = None) -> str:
        """Everything in words, in lines of at most so many characters."""
        table = layout(self._rows(), width, left=(0, 7), droppable=(3, 6, 5))
        title = f"{self.study}: {self.policy}, {self.setting}, confidence {self.confidence:g}"
        state = " (ended)" if self.ended else " (paused)" if self.paused else ""
        said = [str(refutation) for refutation in self.verdict.refuted]
        said += [f"{segment} {segment.decisions:,} decisions." for segment in self.segments]
        said += [str(drift) for drift in self.drifts]
        control = [] if self.control is None else [str(self.control)]
        said += [_money(self.spending), *control, *self.warnings, self.verdict.sentence]
        return "\n".join([fill(title + state, width), *table, *(fill(line, width) for line in said)])


def moment(at: float, before: str = "") -> str:
    """A time as text, after `before`; nothing in a replay, which has no dates.

    Examples
    --------
    >>> moment(0.0, "since "), moment(math.nan, "since ")
    ('since 1970-01-01 00:00:00+00:00', '')
    """
    if math.isnan(at):
        return ""
    return before + date_of(at).isoformat(sep=" ", timespec="seconds")


def _money(spending: Spending) -> str:
    parts = [f"{number(spending.dearest)} on the dearest arm alone"]
    if spending.best is not None:
        parts.append(f"{number(spending.best)} on the best")
    if spending.reference is not None:
        parts.append(f"{number(spending.reference)} on the reference arm")
    if spending.exploring is not None and spending.budget is not None:
        parts.append(
            f"{number(spending.exploring)} of the budget of {number(spending.budget)} for finding out is spent"
        )
    return f"spent {number(spending.total)} on {count(spending.decisions, 'decision')}; {', '.join(parts)}"
