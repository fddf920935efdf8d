"""The counts of a study: what it has of every arm, and how far its lease is carried out.

Sums are exact: a reward on [0, 1], and a cost, is a whole number of parts of 2^-80 (a float loses nothing by it
unless it is below 2^-28, and then less than 2^-80), so they do not depend on the order in which rewards come, are
corrected or are read back from the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

UNIT = 1 << 80


@lru_cache(maxsize=4096)
def units(value: float) -> int:
    """A number as a whole number of parts of 2^-80.

    Examples
    --------
    >>> units(0.5) == UNIT // 2
    True
    """
    return round(value * UNIT)


@dataclass(slots=True)
class Arm:
    """An arm with its counts. `asked` = `pulls` (rewards counted) + `dropped` (came to nothing) + pending."""

    name: str
    cost: float
    retired: bool = False
    asked: int = 0
    pulls: int = 0
    dropped: int = 0
    total: int = 0  # sum of the rewards on [0, 1], in units
    spent: int = 0  # sum of the costs of its decisions, in units
    paid: int = 0  # sum of the costs that were told, in units
    paid_squares: int = 0  # and of their squares, in units of units
    bills: int = 0  # how many were told
    # The same of the decisions up to the frontier alone, all of which are settled: what proofs rest on.
    sure_pulls: int = 0
    sure_total: int = 0
    # What was known when the lease was made.
    known_pulls: int = 0
    known_total: int = 0
    # What playing this arm always would have cost up to decision number `since`, when its cost changed last.
    since: int = 0
    would_before: float = 0.0

    @property
    def pending(self) -> int:
        """Decisions without a reward yet."""
        return self.asked - self.pulls - self.dropped

    @property
    def mean_cost(self) -> float:
        """The mean of the costs that were told, with the first guess counted as one of them."""
        return (self.cost + self.paid / UNIT) / (1 + self.bills)

    @property
    def cost_error(self) -> float:
        """Standard error of the mean cost; infinite before the second one was told."""
        if self.bills < 2:
            return math.inf
        n, mean = self.bills, self.paid / (UNIT * self.bills)
        return math.sqrt(max(self.paid_squares / (UNIT * UNIT * n) - mean * mean, 0.0) / (n - 1))

    @property
    def mean(self) -> float:
        """Mean reward on [0, 1]; nan before the first."""
        return self.total / (UNIT * self.pulls) if self.pulls else math.nan

    def would(self, decisions: int) -> float:
        """What all decisions would have cost on this arm (those before it existed: at its first cost)."""
        return self.would_before + (decisions - self.since) * self.cost


@dataclass(slots=True)
class Progress:
    """How far a lease is carried out. Number 0: there is none, and the rule is asked at the next decision."""

    number: int = 0
    arm: int = 0  # index in the study, or SWEEP
    pulls: int = 0
    handed: int = 0
    corrections: int = 0  # of the study, when the lease was made
    dropped: int = 0  # of its arm, when it was made


@dataclass(slots=True)
class Group:
    """The control group, or all others: decisions, rewards, costs."""

    asked: int = 0
    pulls: int = 0
    total: int = 0
    squares: int = 0  # sum of the squares of the rewards
    spent: int = 0
    spent_squares: int = 0
