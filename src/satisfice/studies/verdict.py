"""What the rewards of a study prove, whichever policy chose the arms and whenever one looks.

Evidence is the likelihood ratio statistic `Z` of `satisfice.statistics`; what looking at any time costs is its
mixture penalty. For a pair of arms, `n_i kl(m_i, mu_i) + n_j kl(m_j, mu_j) <= log(1 / d) + penalty_i + penalty_j`
holds at all times together with probability at least `1 - d` (the product of two Beta mixtures is a nonnegative
supermartingale for any rewards within [0, 1]; Ville's inequality). With `d` the allowed error over the number of pairs
(of any two arms; of every arm and the reference arm, or the fixed threshold), all these statements hold together with
the study's confidence, and then no arm that is good enough is ever refuted and no other arm is ever certified. This is
the level at which the GLR policy certifies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from satisfice.problem import FixedThreshold, ReferenceArm
from satisfice.statistics import evidence, interval, kl, penalty

if TYPE_CHECKING:
    from satisfice.studies.machine import Machine

REFUTED, CERTIFIED, NONE = "refuted", "certified", "none"
# With many arms, only so many of those with the largest sure means are asked to refute the others.
RIVALS = 16


class Fact(NamedTuple):
    """Something that was proved. Arms are indices of the study."""

    kind: str  # "refuted": not good enough; "certified": the cheapest good enough; "none": no arm is good enough
    arm: int
    by: int  # the arm that refuted it; -1: the fixed threshold
    rewards: int  # rewards counted by then
    at: float  # seconds since 1970


class Evidence:
    """The sums of a study, ready to be tested. Arms are in the rule's order, cheapest first."""

    def __init__(self, machine: Machine) -> None:
        arms = [machine.arms[i] for i in machine.order]
        setting = machine.config.scaled_setting
        self.delta = 1.0 - machine.config.confidence
        self.pulls = [arm.pulls for arm in arms]
        self.means = [arm.mean if arm.pulls else 0.0 for arm in arms]
        self.penalties = [penalty(n, m) for n, m in zip(self.pulls, self.means, strict=True)]
        self.costs = [arm.cost for arm in arms]
        self.mu0 = setting.mu0 if isinstance(setting, FixedThreshold) else None
        self.scale = 1.0 - float(getattr(setting, "alpha", 0.0))
        self.reference = len(arms) - 1 if isinstance(setting, ReferenceArm) else -1
        count = len(arms)
        pairs = count * (count - 1) // 2
        self.tests = max(count if self.mu0 is not None else count - 1 if self.reference >= 0 else pairs, 1)
        self.rivals: Sequence[int] = range(count)
        if count > RIVALS:
            self.rivals = sorted(range(count), key=self._surely, reverse=True)[:RIVALS]

    def _surely(self, j: int) -> float:
        """A mean that arm `j` reaches almost surely (Pinsker's inequality)."""
        n = max(self.pulls[j], 1)
        return self.means[j] - math.sqrt((math.log(self.tests / self.delta) + self.penalties[j]) / (2 * n))

    def opponents(self, i: int) -> Sequence[int]:
        """The arms that are asked to prove `i` not good enough; -1 stands for the fixed threshold."""
        if self.mu0 is not None:
            return (-1,)
        if self.reference >= 0:
            return () if i == self.reference else (self.reference,)
        return [j for j in self.rivals if j != i]

    def against(self, i: int, j: int) -> bool:
        """Whether the means so far speak against arm `i`."""
        return self.means[i] < (self.scale * self.means[j] if self.mu0 is None else self.mu0)

    def error(self, i: int, j: int) -> float:
        """The error that must be allowed for what the means of `i` and `j` say to count as proved (at most 1)."""
        if self.mu0 is not None:
            if self.mu0 <= 0.0:
                return 0.0
            if not self.pulls[i]:
                return 1.0
            z = self.pulls[i] * kl(self.means[i], self.mu0) - self.penalties[i]
        else:
            if self.scale <= 0.0:
                return 0.0
            if not (self.pulls[i] and self.pulls[j]):
                return 1.0
            z = evidence(self.pulls[i], self.means[i], self.pulls[j], self.means[j], self.scale)
            z -= self.penalties[i] + self.penalties[j]
        return min(self.tests * math.exp(-max(z, 0.0)), 1.0) if z < 700.0 else 0.0

    def refuter(self, i: int) -> int | None:
        """An arm that proves `i` not good enough (-1: the fixed threshold), or None."""
        for j in self.opponents(i):
            if self.against(i, j) and self.error(i, j) <= self.delta:
                return j
        return None

    def confirmation(self, i: int, out: Sequence[bool]) -> float:
        """The error that must be allowed to call arm `i` good enough; arms that are `out` cannot be the best."""
        worst = 0.0
        everyone = self.mu0 is None and self.reference < 0
        for j in range(len(self.pulls)) if everyone else self.opponents(i):
            if j == i or (j >= 0 and out[j]):
                continue
            worst = max(worst, 1.0 if self.against(i, j) else self.error(i, j))
        return worst

    def interval(self, i: int) -> tuple[float, float]:
        """The means on [0, 1] that arm `i` may have: all intervals of the study hold at all times together."""
        return interval(self.pulls[i], self.means[i], self.delta / len(self.pulls))


def judge(machine: Machine, facts: list[Fact]) -> None:
    """Add what is proved by now and was not before. What was proved stays proved, until a reward is replaced."""
    data = Evidence(machine)
    order = machine.order
    known = {fact.arm for fact in facts if fact.kind == REFUTED}
    out = [i in known for i in order]

    def add(kind: str, k: int, by: int) -> None:
        facts.append(Fact(kind, order[k], order[by] if by >= 0 else -1, machine.t, machine.clock))

    for k in range(len(order)):
        if not out[k]:
            by = data.refuter(k)
            if by is not None:
                add(REFUTED, k, by)
                out[k] = True
    if any(fact.kind != REFUTED for fact in facts):
        return
    alive = [k for k in range(len(order)) if not out[k]]
    if not alive:
        add(NONE, max(range(len(order)), key=lambda k: data.means[k]), -1)
        return
    for k in alive:
        if data.costs[k] > data.costs[alive[0]]:
            break
        if data.confirmation(k, out) <= data.delta:
            add(CERTIFIED, k, -1)
            break


def judge_anew(machine: Machine, facts: Sequence[Fact]) -> list[Fact]:
    """What the sums as they are now prove, after a reward that `facts` may rest on was replaced.

    What still holds keeps its date. Refutations of retired arms are dropped; they are judged when the arm comes back.
    """
    data, rank = Evidence(machine), machine.rank
    proved = []
    for fact in facts:
        i, j = rank[fact.arm], rank[fact.by] if fact.by >= 0 else -1
        there = fact.kind == REFUTED and i >= 0 and (fact.by < 0 or j >= 0)
        if there and data.against(i, j) and data.error(i, j) <= data.delta:
            proved.append(fact)
    judge(machine, proved)
    dated = {(fact.kind, fact.arm): fact for fact in facts if fact.kind != REFUTED}
    return [dated.get((fact.kind, fact.arm), fact) for fact in proved]
