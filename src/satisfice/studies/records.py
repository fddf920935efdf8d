"""The records of a study, all immutable: the decisions that it hands out and the rows of its log."""

from __future__ import annotations

from typing import NamedTuple

# What became of a decision.
OPEN, TOLD, ABANDONED, EXPIRED = "open", "told", "abandoned", "expired"


class Decision(NamedTuple):
    """A decision: play `arm` once, and tell its reward under `id`.

    `reason` is "lease" (a pull that the policy asked for), "interim" (the arm that would win now, while rewards of the
    lease are outstanding), "extra" (the arm of the lease once more, in case they never come), "standin" (in place of an
    excluded arm) or "subject" (the subject's open decision again).
    """

    id: int
    arm: str
    reason: str
    lease: int
    subject: str | None = None

    @property
    def why(self) -> str:
        """The reason as a sentence; `Study.explain` has the numbers."""
        return {
            "lease": f"a pull that the policy asked for (lease {self.lease})",
            "interim": f"the arm that would win now, while rewards of lease {self.lease} are outstanding",
            "extra": f"the arm of lease {self.lease} once more, in case its outstanding rewards never come",
            "standin": "the arm that would win now, in place of an excluded one",
            "subject": f"the open decision of subject {self.subject!r}",
        }[self.reason]


class Row(NamedTuple):
    """A decision in the log, and what became of it by now."""

    id: int
    seq: int
    arm: int
    reason: str
    lease: int
    subject: str | None
    asked_at: float
    status: str = OPEN
    reward: float | None = None
    entries: int = 0  # rows of the log about its reward


class Asked(NamedTuple):
    """A row of the log: a decision was handed out."""

    seq: int
    id: int
    arm: int
    reason: str
    lease: int
    subject: str | None
    at: float


class Settled(NamedTuple):
    """A row of the log: a decision was told, corrected, abandoned or expired. `nth` counts those of one decision."""

    seq: int
    id: int
    nth: int
    status: str
    reward: float | None
    at: float


class Changed(NamedTuple):
    """A row of the log: the world changed. `kind` is a method of `Machine`, `arm` its name, `cost` the new one."""

    seq: int
    kind: str
    arm: str | None
    cost: float | None
    at: float


Event = Asked | Settled | Changed
