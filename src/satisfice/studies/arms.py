"""The counts of a study: what it has of every arm, and the lease that it is carrying out."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Sums of rewards on [0, 1] are whole numbers of this many parts of 1; see `satisfice.studies.machine`.
UNIT = 1 << 80


@dataclass(slots=True)
class Arm:
    """An arm with its counts. `asked` = `pulls` (rewards counted) + `dropped` (came to nothing) + pending."""

    name: str
    cost: float
    retired: bool = False
    asked: int = 0
    pulls: int = 0
    dropped: int = 0
    units: int = 0  # sum of the rewards, in UNITs
    # What was spent up to the last change of cost, and what playing this arm always would have cost up to then.
    asked_before: int = 0
    spent_before: float = 0.0
    since: int = 0
    would_before: float = 0.0

    @property
    def price_tag(self) -> tuple[str, float, bool]:
        """What the rule's view of the arms depends on."""
        return self.name, self.cost, self.retired

    @property
    def pending(self) -> int:
        """Decisions without a reward yet."""
        return self.asked - self.pulls - self.dropped

    @property
    def mean(self) -> float:
        """Mean reward on [0, 1]; nan before the first."""
        return self.units / (UNIT * self.pulls) if self.pulls else math.nan

    @property
    def spent(self) -> float:
        """Cost of all its decisions."""
        return self.spent_before + (self.asked - self.asked_before) * self.cost

    def would(self, decisions: int) -> float:
        """What all decisions would have cost on this arm (those before it existed: at its first cost)."""
        return self.would_before + (decisions - self.since) * self.cost


@dataclass(slots=True)
class Lease:
    """What the rule asked for last. `left` counts missing rewards; of a sweep, arms with missing rewards."""

    number: int = 0
    arm: int = 0  # in the rule's order, or SWEEP
    pulls: int = 0
    handed: int = 0
    left: int = 0
    missing: list[int] | None = None  # of a sweep: missing rewards per arm, in the rule's order
