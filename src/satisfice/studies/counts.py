"""The counts of a study: what it has of every arm, and how far its lease is carried out.

Sums are exact: a reward on [0, 1], and a cost, is a whole number of parts of 2^-80 (a float loses nothing by it
unless it is below 2^-28, and then less than 2^-80), so they do not depend on the order in which rewards come, are
corrected or are read back from the log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from satisfice.changes import Change, Watch, feed_each, new_watch

BITS = 80
UNIT = 1 << BITS
UNITS = UNIT * UNIT  # of squares
# Sums of costs up to this one, and of their squares, are numbers that can be divided.
LARGEST = 1e100


@lru_cache(maxsize=4096)
def units(value: float) -> int:
    """A number as a whole number of parts of 2^-80.

    Examples
    --------
    >>> units(0.5) == UNIT // 2
    True
    """
    return round(min(value, LARGEST) * UNIT)


def fields_of(record: Counts | Progress | Group) -> list[object]:
    """The counts of a record as plain data, in their order.

    Examples
    --------
    >>> fields_of(Group(asked=3))
    [3, 0, 0, 0, 0, 0]
    """
    return [getattr(record, name) for name in record.__match_args__]


@dataclass(slots=True)
class Counts:
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
    # Up to which decision its rewards are of another time, since they changed; and the same counts of those decisions.
    changed: int = 0
    old_asked: int = 0
    old_pulls: int = 0
    old_dropped: int = 0
    old_total: int = 0
    # The rewards between the change and when it was noticed: rules and means count them, proofs do not.
    head_pulls: int = 0
    head_total: int = 0
    # Which one it is of the arms that came later and those that began anew, from 1; 0: it was there from the beginning.
    born: int = 0
    squares: int = 0  # sum of the squares of its rewards, in units of units
    sure_squares: int = 0  # of those up to the frontier, and of another time
    old_squares: int = 0
    # The costs that were told of the decisions up to the frontier, where costs are learned.
    sure_bills: int = 0
    sure_paid: int = 0
    sure_paid_squares: int = 0

    def squares_of(self, pulls: float, total: float) -> float:
        """The sum of the squares of so many rewards, if they vary as those of the arm do compared with coin flips."""
        if self.squares == self.total << BITS:  # they are coin flips, or there are none
            return total
        n, sum_, squares = self.pulls, self.total / UNIT, self.squares / UNITS
        flips = sum_ - sum_ * sum_ / n
        share = min(max((squares - sum_ * sum_ / n) / flips, 0.0), 1.0) if flips > 1e-12 else 1.0
        least = total * total / max(pulls, 1.0)
        return least + share * max(total - least, 0.0)

    @property
    def pending(self) -> int:
        """Decisions without a reward yet."""
        return self.asked - self.pulls - self.dropped

    @property
    def counted(self) -> int:
        """Rewards since a change was noticed, or all: what proofs rest on."""
        return self.pulls - self.old_pulls

    @property
    def sum(self) -> int:
        """The sum of those, in units."""
        return self.total - self.old_total

    @property
    def sum_squares(self) -> int:
        """The sum of their squares, in units of units."""
        return self.squares - self.old_squares

    @property
    def outstanding(self) -> int:
        """Decisions since then without a reward yet."""
        return self.pending - (self.old_asked - self.old_pulls - self.old_dropped)

    @property
    def seen(self) -> int:
        """Rewards since the last change, or all: what rules know."""
        return self.pulls - self.old_pulls + self.head_pulls

    @property
    def seen_total(self) -> int:
        """The sum of those, in units."""
        return self.total - self.old_total + self.head_total

    def begin_anew(self, decisions: int, head_pulls: int, head_total: int, born: int) -> None:
        """Rewards of decisions up to this one are of another time."""
        self.changed, self.born = decisions, born
        self.old_asked, self.old_pulls = self.asked, self.pulls
        self.old_dropped, self.old_total, self.old_squares = self.dropped, self.total, self.squares
        self.head_pulls, self.head_total = head_pulls, head_total
        self.sure_pulls = self.sure_total = self.sure_squares = 0
        self.__post_init__()

    def __post_init__(self) -> None:
        """There are no notes."""

    @property
    def mean_cost(self) -> float:
        """The mean of the costs that were told; before the first, what was guessed."""
        return self.paid / (UNIT * self.bills) if self.bills else self.cost

    @property
    def sure_cost(self) -> tuple[float, float]:
        """The mean of the costs that were told of the decisions up to the frontier, and its standard error, which is
        infinite before the second one."""
        n = self.sure_bills
        if n < 2:
            return self.mean_cost, math.inf
        mean = self.sure_paid / (UNIT * n)
        return mean, math.sqrt(max(self.sure_paid_squares / (UNITS * n) - mean * mean, 0.0) / (n - 1))

    @property
    def mean(self) -> float:
        """Mean reward on [0, 1], since the last change; nan before the first. It is asked for often."""
        seen = self.pulls - self.old_pulls + self.head_pulls
        return (self.total - self.old_total + self.head_total) / (UNIT * seen) if seen else math.nan

    def would(self, decisions: int) -> float:
        """What all decisions would have cost on this arm (those before it existed: at its first cost)."""
        return self.would_before + (decisions - self.since) * self.cost


class Arm(Counts):
    """An arm with its counts, and notes, which are no part of them, about whether its rewards have changed."""

    __slots__ = ("alarm", "behind", "memory", "promise", "safe", "stamps")

    def __post_init__(self) -> None:
        self.memory: Watch | None = None
        self.alarm: Change | None = None  # they have, and nobody has said so yet
        self.promise = 0.0  # the probability of a false alarm; 0: nobody watches
        # Rewards, in units, and their decisions, that are still to be watched; so many may wait.
        self.behind: list[int] = []
        self.stamps: list[float] = []
        self.safe = 0

    @property
    def watch(self) -> Watch | None:
        """What is remembered of all rewards, in time; None before the first."""
        if self.behind:
            self.memory = self.memory or new_watch()
            self.catch_up(self.memory)
            self.safe = 0
        return self.memory

    def catch_up(self, memory: Watch) -> bool:
        """Watch the rewards that have waited; whether they have changed."""
        changed = feed_each(memory, [reward / UNIT for reward in self.behind], self.stamps, self.promise)
        self.behind.clear()
        self.stamps.clear()
        return changed


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
