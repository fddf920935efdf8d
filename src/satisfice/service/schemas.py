"""What goes over the wire, as types. The description of the API follows from them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from satisfice.studies.config import MAX_SEGMENTS

MOST_DECISIONS = 1_000
MOST_REWARDS = 10_000
MOST_LEASED = 10_000

StudyName = Annotated[
    str,
    Meta(
        pattern="^[A-Za-z0-9_]([A-Za-z0-9 _.:@+-]{0,98}[A-Za-z0-9_])?$",
        description="Letters, digits, spaces and _.:@+- inside; 1 to 100 characters.",
    ),
]
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Number = Annotated[float, Meta(ge=-1e12, le=1e12)]
Cost = Annotated[float, Meta(ge=0, le=1e12)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(ge=1e-9, le=1e12)]
Costs = Annotated[dict[Text, Cost], Meta(min_length=1, max_length=1000)]
Arms = Annotated[list[Text], Meta(max_length=1000)]
Segments = Annotated[list[Text], Meta(min_length=1, max_length=MAX_SEGMENTS)]
Range = Annotated[list[Number], Meta(min_length=2, max_length=2)]
DecisionId = Annotated[str, Meta(min_length=1, max_length=64, description="As it came with the decision.")]
Scope = Literal["decide", "reward", "read", "admin"]


class Best(Struct, tag_field="kind", tag="best", forbid_unknown_fields=True):
    """Good enough: a mean of (1 - alpha) x the largest one."""

    alpha: Share


class Reference(Struct, tag_field="kind", tag="reference", forbid_unknown_fields=True):
    """Good enough: a mean of (1 - alpha) x that of a known arm."""

    arm: Text
    alpha: Share = 0.0


class Fixed(Struct, tag_field="kind", tag="fixed", forbid_unknown_fields=True):
    """Good enough: a mean of mu0."""

    mu0: Number


class PolicyTerms(Struct, forbid_unknown_fields=True):
    """A policy and its parameters."""

    id: Text
    params: dict[str, float] = {}


class NewStudy(Struct, forbid_unknown_fields=True, kw_only=True):
    """A study to create: its name, its arms with their costs, what is good enough; all else has a default."""

    name: StudyName
    arms: Costs
    setting: Best | Reference | Fixed
    policy: Text | PolicyTerms = "glr"
    horizon: Annotated[int, Meta(ge=1, le=10**15)] | None = None
    confidence: Annotated[float, Meta(gt=0, lt=1)] | None = None
    rewards: Range | None = None
    binary: bool = False
    expire_after: Positive | None = None
    expire_as: Number | None = None
    mature_after: Positive | None = None
    costs: Literal["fixed", "told"] = "fixed"
    cost_range: Range | None = None
    worth: Positive | None = None
    baseline: Text | None = None
    holdout: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    budget: Positive | None = None
    session_ttl: Positive | None = None
    drift: Literal["watch", "adapt"] | None = "watch"
    segments: Segments | Annotated[int, Meta(ge=1, le=MAX_SEGMENTS)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None
    load_if_exists: bool = False


class StudyChange(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is to change; what is left out stays. They are carried out in this order."""

    closed: bool | UnsetType = UNSET
    costs: Costs | UnsetType = UNSET
    add: Costs | UnsetType = UNSET
    retire: Arms | UnsetType = UNSET
    paused: bool | UnsetType = UNSET


class StudyTerms(Struct):
    """A study: its terms, its arms as they are, and whether it goes on."""

    name: str
    setting: dict[str, str | float | int]
    policy: PolicyTerms
    arms: dict[str, float]
    horizon: int | None
    confidence: float
    low: float
    high: float
    binary: bool
    expire_after: float | None
    expire_as: float | None
    seed: int
    mature_after: float | None
    costs: str
    cost_range: list[float] | None
    worth: float | None
    baseline: str | None
    holdout: float
    budget: float | None
    session_ttl: float | None
    drift: str | None
    segments: list[str]
    most_segments: int
    paused: bool
    closed: bool


class StudyLine(Struct):
    """A study in a list."""

    name: str


class StudyPage(Struct):
    """Some studies, in the order of their creation; `next` is the `after` of the next page."""

    studies: list[StudyLine]
    next: int | None


class Ask(Struct, forbid_unknown_fields=True):
    """Whom a decision is for and which arms can be played. All of it may be left out, the body too."""

    count: Annotated[int, Meta(ge=1, le=MOST_DECISIONS)] = 1
    subject: Text | None = None
    session: Text | None = None
    key: Text | None = None
    exclude: Arms = []
    available: Annotated[list[Text], Meta(min_length=1, max_length=1000)] | None = None
    segment: Text | None = None


class DecisionAnswer(Struct, omit_defaults=True):
    """Play `arm` once, and tell its reward under `id`."""

    id: str
    arm: str
    reason: str
    why: str
    subject: str | None = None
    key: str | None = None
    session: str | None = None
    segment: str | None = None


class Decisions(Struct):
    """Decisions, in order."""

    decisions: list[DecisionAnswer]


class Reward(Struct, forbid_unknown_fields=True):
    """The reward of a decision, or that there will be none (`abandon`)."""

    decision: DecisionId
    reward: Number | None = None
    cost: Cost | None = None
    correct: bool = False
    abandon: bool = False


class Rewards(Struct, forbid_unknown_fields=True):
    """Many rewards."""

    rewards: Annotated[list[Reward], Meta(max_length=MOST_REWARDS)]


class RewardProblem(Struct):
    """Why one of many rewards was not taken. All others were."""

    decision: str
    type: str
    status: int
    detail: str


class RewardsAnswer(Struct):
    """How many rewards changed anything (a reward that is told twice changes nothing), and which were not taken."""

    changed: int
    problems: list[RewardProblem] = []


class Record(Struct, forbid_unknown_fields=True):
    """A decision that somebody else made, with its reward. The same key counts once."""

    arm: Text
    reward: Number
    cost: Cost | None = None
    key: Text | None = None
    segment: Text | None = None


class Records(Struct, forbid_unknown_fields=True):
    """Decisions that somebody else made."""

    records: Annotated[list[Record], Meta(min_length=1, max_length=MOST_DECISIONS)]


class ArmLine(Struct):
    """One arm; null where nothing is known."""

    name: str
    cost: float
    pulls: int
    pending: int
    dropped: int
    mean: float | None
    interval: list[float]
    verdict: str
    spent: float
    unanswered: float | None


class RefutationLine(Struct):
    """An arm that was proved not to be good enough."""

    arm: str
    by: str | None
    rewards: int
    at: float | None


class VerdictLine(Struct):
    """What the study has found."""

    state: str
    leader: str
    sure: float
    belief: float | None
    rewards: int
    threshold: float | None
    refuted: list[RefutationLine]
    certified_at: float | None
    certified_after: int | None
    sentence: str
    costs: str


class SpendingLine(Struct):
    """Cost of all decisions so far, and what they would have cost on one arm alone."""

    decisions: int
    total: float
    dearest: float
    best: float | None
    reference: float | None
    leader: float
    exploring: float | None
    budget: float | None


class ControlLine(Struct):
    """The study against its control group."""

    arm: str
    decisions: int
    rewards: int
    mean: float | None
    others_mean: float | None
    gain: list[float | None]
    saving: list[float | None]


class DriftLine(Struct):
    """The rewards of an arm changed."""

    arm: str
    around: float
    decision: int
    noticed: float
    before: float | None
    before_rewards: int
    since: float | None
    since_rewards: int
    segment: str | None


class SegmentLine(Struct):
    """One segment: its own rewards, and its own verdict."""

    name: str
    decisions: int
    rewards: int
    share: float | None
    means: dict[str, float | None]
    pulls: dict[str, int]
    pending: int
    verdict: VerdictLine
    follows: bool
    sentence: str


class StatusAnswer(Struct):
    """A study at one moment."""

    study: str
    policy: str
    setting: str
    confidence: float
    arms: list[ArmLine]
    verdict: VerdictLine
    spending: SpendingLine
    ended: bool
    paused: bool
    control: ControlLine | None
    warnings: list[str]
    drifts: list[DriftLine]
    segments: list[SegmentLine]


class Explained(Struct):
    """Why this arm at that time, and what was known then."""

    id: str
    arm: str
    reason: str
    lease: int
    lease_arm: str | None
    lease_pulls: int
    place: int
    asked_at: float
    subject: str | None
    session: str | None
    segment: str | None
    chance: float
    status: StatusAnswer
    sentence: str


class DecisionLine(Struct):
    """A decision of the log and what became of it."""

    id: str
    arm: str
    reason: str
    cost: float
    asked_at: float
    subject: str | None
    key: str | None
    session: str | None
    segment: str | None
    outcome: str
    reward: float | None
    settled_at: float | None


class DecisionPage(Struct):
    """Decisions, newest first; `next` is the `before` of the next page."""

    decisions: list[DecisionLine]
    next: str | None


class LeaseAsk(Struct, forbid_unknown_fields=True):
    """So many decisions in advance, at most; those of `unused` are given back first."""

    count: Annotated[int, Meta(ge=0, le=MOST_LEASED)]
    key: Text | None = None
    seconds: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    unused: Annotated[list[DecisionId], Meta(max_length=MOST_LEASED)] = []
    segment: Text | None = None


class Block(Struct):
    """So many pulls of an arm. The ids of the decisions are `<first>.0`, `<first>.1`, ..."""

    arm: str
    first: str
    count: int


class LeaseAnswer(Struct):
    """Decisions to hand out without another call, in this order, until the time `until` (seconds since 1970). Serve
    `leader` when there are none left."""

    blocks: list[Block]
    until: float
    leader: str
    outstanding: int
    settled: bool


class Health(Struct):
    """The service is up."""

    status: Literal["ok"]
    version: str


class StudiesQuery(Struct, forbid_unknown_fields=True):
    """Which page of the studies."""

    after: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class DecisionsQuery(Struct, forbid_unknown_fields=True):
    """Which page of the decisions."""

    before: DecisionId | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class ExportQuery(Struct, forbid_unknown_fields=True):
    """In which form."""

    format: Literal["parquet", "csv"] = "parquet"


class EventsQuery(Struct, forbid_unknown_fields=True):
    """From where on: events after this number; by default all."""

    after: Annotated[int, Meta(ge=0, lt=2**62)] = 0
