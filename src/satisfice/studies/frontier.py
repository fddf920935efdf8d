"""The frontier of a study: up to which decision everything is settled.

Sums at a moment are no sample of an arm when the time that a reward takes depends on its value: if failures are told at
once and successes a day later, every sum of the first day is wrong. In the order of the decisions the rewards are a
sample, so proofs and intervals count the decisions up to the first one that is open. A decision is settled when it
was told, abandoned, expired or not used, or when it is older than the study's `mature_after`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from satisfice.studies.counts import Arm
from satisfice.studies.records import Outcome, Row
from satisfice.studies.watching import amend, observe

# So many settled decisions beyond the frontier are kept in memory; beyond that they are read again when they are
# wanted.
MOST_AHEAD = 20_000
NEVER = -float("inf")
# Decisions are read so many at a time: few at first, since the next one may be open.
FEW, CHUNK = 32, 2_000


class Frontier:
    """Every decision up to `last` is settled, or was open for too long to be waited for.

    `ahead` has the settled decisions beyond it, with the arm that they are counted for and what they count (None:
    nothing), as far as `read`; `bills` has the costs that were told of them, where costs are learned.
    """

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self.read = last
        self.ahead: dict[int, tuple[Arm, int | None]] = {}
        self.bills: dict[int, tuple[Arm, int]] = {}
        self.alarms: list[Arm] = []  # whose rewards have changed, and nobody has said so yet

    def move(self, last: int) -> None:
        """Every decision up to `last` is settled and counted."""
        self.last = self.read = last
        self.ahead.clear()
        self.bills.clear()

    def enter(self, arm: Arm, decision: int, old: int | None, new: int | None) -> None:
        """A decision's reward went from `old` to `new` (units; None: no reward counted)."""
        if decision > self.last:
            if decision <= self.read:
                self.ahead[decision] = arm, new
                self.limit()
        elif new is not None and decision > arm.changed:
            arm.sure_pulls += old is None
            arm.sure_total += new - (old or 0)
            arm.sure_squares += new * new - (old or 0) * (old or 0)
            if arm.promise and amend(arm, old, new):
                self.alarms.append(arm)

    def bill(self, arm: Arm, decision: int, old: int | None, new: int) -> None:
        """The cost that was told of a decision went from `old` to `new` (units; None: it was not told)."""
        if decision <= self.last:
            arm.sure_bills += old is None
            arm.sure_paid += new - (old or 0)
            arm.sure_paid_squares += new * new - (old or 0) * (old or 0)
        elif decision <= self.read:
            self.bills[decision] = arm, new

    def limit(self) -> None:
        """Keep no more in memory than there should be."""
        if len(self.ahead) > MOST_AHEAD:
            self.ahead.clear()
            self.bills.clear()
            self.read = self.last

    def count(self, arm: Arm, decision: int, counted: int) -> None:
        """Count a reward that is settled, with all before it."""
        if decision > arm.changed:
            arm.sure_pulls += 1
            arm.sure_total += counted
            arm.sure_squares += counted * counted
            if arm.promise and observe(arm, decision, counted):
                self.alarms.append(arm)

    def step(self) -> bool:
        """Go as far as decisions are known to be settled; answers whether the next one is known to be open."""
        ahead, following = self.ahead, self.last + 1
        while following in ahead:
            arm, counted = ahead.pop(following)
            if counted is not None:
                self.count(arm, following, counted)
            self._pass(following)
            following += 1
        return following <= self.read

    def _pass(self, decision: int) -> None:
        """The next decision is settled, and its reward counted; its cost is now."""
        self.last = decision
        if self.bills and decision in self.bills:
            arm, paid = self.bills.pop(decision)
            self.bill(arm, decision, None, paid)

    def advance(
        self,
        arm_of: Callable[[Row], Arm],
        decisions: int,
        rows: Callable[[int, int], Iterable[Row]],
        worth: Callable[[Row], int | None],
        paid: Callable[[Row], int | None],
        mature: float,
        now: float,
    ) -> None:
        """Go as far as decisions are settled.

        `rows(first, last)` reads decisions, `arm_of`, `worth` and `paid` say for which arm and what a settled one
        counts, and at what cost, and what was asked for before the time `mature` is not waited for; it is `now`.
        """
        size = FEW
        while self.last < decisions:
            following = self.last + 1
            if following > self.read:
                end = min(self.last + size, decisions)
                size = min(4 * size, CHUNK)
                found = {row.id: row for row in rows(following, end)}
                for number, row in found.items():
                    if row.outcome != Outcome.OPEN:
                        self.ahead[number] = arm_of(row), worth(row)
                        cost = paid(row)
                        if cost is not None:
                            self.bills[number] = arm_of(row), cost
                self.read = end
                if following not in self.ahead and not _old(found.get(following), mature, now, decisions, rows):
                    return
            elif following not in self.ahead and (
                mature == NEVER or not _old(next(iter(rows(following, following)), None), mature, now, decisions, rows)
            ):
                return
            if following in self.ahead:
                arm, counted = self.ahead.pop(following)
                if counted is not None:
                    self.count(arm, following, counted)
            self._pass(following)


def _old(row: Row | None, mature: float, now: float, decisions: int, rows: Callable[[int, int], Iterable[Row]]) -> bool:
    """Whether an open decision is too old to be waited for: by its own time, or, where a clock was ahead when it was
    made, by that of one that was made after it."""
    if row is None or row.at <= now:
        return row is not None and row.at <= mature
    step = 1
    while row is not None and row.at > mature > NEVER:
        number, step = row.id + step, 2 * step
        row = next(iter(rows(number, number)), None) if number <= decisions else None
    return row is not None and row.at <= mature
