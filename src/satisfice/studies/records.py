"""The records of a study, all immutable: the decisions that it hands out and the rows of its log.

The log has three kinds of rows. `Asked`: decisions, numbered 1, 2, 3, ... `Entry`: what became of a decision, any
number of rows per decision, numbered 1, 2, ... each. `Event`: everything else, numbered 1, 2, 3, ...: leases, changes
of the world, verdicts. Decisions and events are written by whoever holds the study's lock; entries by anybody at any
time, and the state of a study does not depend on the order in which entries of different decisions are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

R = TypeVar("R", bound=tuple[object, ...])


class Outcome(StrEnum):
    """What became of a decision."""

    OPEN = "open"
    TOLD = "told"
    ABANDONED = "abandoned"
    EXPIRED = "expired"
    UNUSED = "unused"  # taken in advance by a process that did not need it


class Reason(StrEnum):
    """Why an arm was served."""

    LEASE = "lease"  # a pull that the policy asked for
    INTERIM = "interim"  # what the policy would do if the outstanding rewards came as expected
    EXTRA = "extra"  # the arm of the lease once more, since some of its rewards are lost
    STANDIN = "standin"  # in place of an arm that cannot be played now
    TRIAL = "trial"  # whether an arm answers again that did not
    LOOK = "look"  # whether the rewards of an arm that is passed over have changed
    SESSION = "session"  # the arm that the session has
    HOLDOUT = "holdout"  # the baseline, for the control group
    PAUSED = "paused"  # the baseline, while the study is paused
    BUDGET = "budget"  # the arm that would win now, since the budget for finding out is spent
    RECORDED = "recorded"  # somebody else made it
    SUBJECT = "subject"  # the subject's open decision again
    KEY = "key"  # the decision that was made for this key


# As plain text: looking a member up takes time, and storages take plain text as it is.
LEASE, INTERIM, TOLD = str(Reason.LEASE), str(Reason.INTERIM), str(Outcome.TOLD)
# A reason, or its text, as the plain text that callers get.
REASON_TEXT = {str(reason): str(reason) for reason in Reason}
_CONTROL = {str(reason): reason == Reason.HOLDOUT for reason in Reason} | {"paused": None, "recorded": None}


def in_control(reason: str) -> bool | None:
    """Whether a decision is one of the control group; None where nobody drew which group it is in.

    Examples
    --------
    >>> in_control("holdout"), in_control("lease"), in_control("recorded")
    (True, False, None)
    """
    return _CONTROL[reason]


def made(kind: type[R], values: tuple[object, ...]) -> R:
    """A record from its fields in their order, in a third of the time that calling its class takes."""
    return tuple.__new__(kind, values)


class Decision(NamedTuple):
    """A decision: play `arm` once, and tell its reward under `id`. `reason` is one of `Reason`."""

    id: int
    arm: str
    reason: str
    lease: int
    subject: str | None = None
    key: str | None = None
    session: str | None = None
    segment: str | None = None

    @property
    def why(self) -> str:
        """The reason as a sentence; `Study.explain` has the numbers."""
        return {
            "lease": f"a pull that the policy asked for (lease {self.lease})",
            "interim": f"what the policy would do if the outstanding rewards of lease {self.lease} came as expected",
            "extra": f"the arm of lease {self.lease} once more, since some of its rewards are lost",
            "standin": "the arm that would win now, in place of one that cannot be played",
            "trial": "whether the arm answers again",
            "look": "whether the rewards of an arm that is passed over have changed",
            "session": f"the arm that the session {self.session!r} has",
            "holdout": "the baseline, for the control group",
            "paused": "the baseline, while the study is paused",
            "budget": "the arm that would win now, since the budget for finding out is spent",
            "recorded": "somebody else made this decision",
            "subject": f"the open decision of subject {self.subject!r}",
            "key": f"the decision that was made for the key {self.key!r}",
        }[self.reason]


class Asked(NamedTuple):
    """A row of the log: a decision was handed out."""

    id: int
    arm: int
    reason: str
    lease: int
    cost: float  # of the arm at that time
    at: float  # seconds since 1970
    subject: str | None = None
    key: str | None = None
    session: str | None = None
    extra: float = 0.0  # what it costs beyond the arm that would win now: the price of finding out
    chance: float = 1.0  # the probability with which this arm was served at that moment
    segment: int = 0  # of the study, in the order in which it got them; 0 in one without segments


class Entry(NamedTuple):
    """A row of the log: a decision was told, corrected, abandoned, expired or not used.

    It says what was before, too, so that it can be counted without looking that up.
    """

    id: int  # of the decision
    nth: int  # of this decision's entries, from 1
    arm: int
    outcome: str
    reward: float | None
    was: str
    was_reward: float | None
    cost: float | None  # told by now
    was_cost: float | None
    price: float  # the cost of the arm when it was asked for
    at: float
    after: int  # the last decision that its writer knew of
    control: bool | None = False  # whether the decision is one of the control group; None: of no group
    segment: int = 0


class Event(NamedTuple):
    """A row of the log: something that is no decision and no reward. `kind` is a method of `Machine`."""

    seq: int
    kind: str
    data: Mapping[str, object]
    at: float


# Events that are of the machine alone.
MACHINE_EVENTS = ("make_lease", "start_anew")


class Row(NamedTuple):
    """A decision and what became of it by now."""

    id: int
    arm: int
    reason: str
    lease: int
    cost: float
    at: float
    subject: str | None = None
    key: str | None = None
    session: str | None = None
    extra: float = 0.0
    chance: float = 1.0
    segment: int = 0
    outcome: str = "open"
    reward: float | None = None
    told_cost: float | None = None
    entries: int = 0
    settled_at: float | None = None

    def becomes(self, outcome: str, reward: float | None, cost: float | None, at: float, after: int) -> Entry:
        """The entry by which the decision goes on to `outcome`."""
        told, control = self.told_cost, in_control(self.reason)
        price, now = self.cost, told if cost is None else cost
        values = (self.id, self.entries + 1, self.arm, outcome, reward, self.outcome, self.reward, now, told, price)
        return made(Entry, (*values, at, after, control, self.segment))


# The last fields of `Asked` for a choice of the policy's own, in a study without segments.
OWN_CHOICE = tuple(Asked._field_defaults[name] for name in ("extra", "chance", "segment"))
# How many of the fields of `Row` are those of `Asked`, in the same order.
ASKED_FIELDS = len(Asked._fields)
# Those of its other fields while there is no entry.
STILL_OPEN = tuple(Row._field_defaults[name] for name in Row._fields[ASKED_FIELDS:])
