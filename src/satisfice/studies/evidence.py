"""What the rewards of a study prove, whichever policy chose the arms, however late rewards are and whenever one looks.

Proofs rest on two samples, and hold if either proves them: the decisions up to the frontier, all of which are settled
(`satisfice.studies.frontier`), and all decisions, with every reward that is missing counted as whatever speaks least
for what is to be proved. The first loses nothing when rewards are late, the second when a few never come.

What may be said of two arms has a share of the allowed error that does not depend on what is found: the arms that the
study began with share all of it but `LATER` equally; the q-th arm that came later has `LATER x 6 / (pi q)^2`, for all
that is said of it and the arms before it. An arm whose rewards changed begins anew as one that comes later: what is
proved of it then rests on decisions since that was noticed. Arms that were retired keep their share. So everything that
is ever called proved, of arms that came and went for whatever reason, holds together with the study's confidence. In a
study with segments each segment that it may have has an equal share of the error, and is judged by its own rewards
alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from satisfice import between, proofs
from satisfice.cases import listed_case
from satisfice.statistics import interval, share_of
from satisfice.studies.counts import UNIT, UNITS
from satisfice.studies.facts import CERTIFIED, NONE, REFUTED, Fact, read_facts
from satisfice.studies.machine import Machine

# Whoever looks again and again finds most arms as they were.
_interval = lru_cache(maxsize=4096)(between.interval)


class Sums(NamedTuple):
    """What was seen of every arm."""

    pulls: list[int]
    totals: list[float]
    squares: list[float]

    def of(self, k: int) -> tuple[int, float, float]:
        """Those of one arm. No reward within [0, 1] has a larger square."""
        total = self.totals[k]
        return self.pulls[k], total, min(self.squares[k], total)


class Evidence:
    """The sums of a study, ready to be tested. Arms are in the order of `machine.judged`, cheapest first."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # Every segment that there may be has the same share of the allowed error, and where the order by cost must be
        # proved, too, each of the two has half of it.
        config = machine.config
        share = (0.5 if config.costs == "told" else 1.0) / max(config.most_segments, 1)
        self.delta = (1.0 - config.confidence) * share
        self.order = machine.judged
        self.rank = {i: k for k, i in enumerate(self.order)}
        arms = [machine.arms[i] for i in self.order]
        # Lists, for what is asked of one arm: places of arrays take longer one by one.
        self.costs: list[float] = (
            sorted(machine.price(i) for i in self.order) if machine.resting else machine.problem.costs.tolist()
        )
        births = [machine.born(i) for i in self.order]
        levels = {born: self._level(born) for born in set(births)}
        self.levels = [levels[born] for born in births]
        self.pending = [max(arm.outstanding, 0) for arm in arms]
        self._all = Sums(
            [arm.counted for arm in arms],
            [arm.sum / UNIT for arm in arms],
            [arm.sum_squares / UNITS for arm in arms],
        )
        self._sure = Sums(
            [arm.sure_pulls for arm in arms],
            [arm.sure_total / UNIT for arm in arms],
            [arm.sure_squares / UNITS for arm in arms],
        )
        self.cases = [self._case(self._all, self.pending)]
        # What is too old to be waited for is open before the frontier, too.
        if any(self.pending) or machine.frontier.last < machine.whole.decisions:
            self.cases.insert(0, self._case(self._sure, [0] * len(arms)))

    def _case(self, sums: Sums, pending: list[int]) -> proofs.Case:
        setting = self.machine.config.scaled_setting
        reference = -1 if setting.reference is None else len(self.costs) - 1
        return listed_case(self.costs, *sums, pending, (1.0 - setting.alpha, reference, setting.mu0))

    def _level(self, born: int) -> float:
        """The nats that a comparison needs of an arm that was born then with one that came before it."""
        first, setting = len(self.machine.config.arms), self.machine.config.setting
        reference, fixed = setting.reference is not None, setting.fixed
        count = proofs.comparisons(first, reference, fixed)
        if born:
            count = 1 if reference or fixed else first + born - 1
        return math.log(max(count, 1) / (self.delta * share_of(born)))

    def allowed(self, arm: int) -> float:
        """The probability with which the interval of an arm (an index of the study) may ever miss."""
        return self.delta * self.machine.share(arm)

    def interval(self, k: int) -> tuple[float, float]:
        """The means on [0, 1] that arm `k` may have: all intervals of the study hold at all times together."""
        delta = self.allowed(self.order[k])
        low, high = 0.0, 1.0
        if self._sure.pulls[k]:
            low, high = _interval(*self._sure.of(k), delta)
        missing, (n, total, squares) = self.pending[k], self._all.of(k)
        n += missing
        if n:
            # What is missing counts as 0 for the lower end and as 1 for the upper one.
            low = max(low, _interval(n, total, squares, delta)[0])
            high = min(high, _interval(n, total + missing, squares + missing, delta)[1])
        return (low, high) if low <= high else (high, low)

    def cost_interval(self, arm: int) -> tuple[float, float]:
        """Where the mean cost of an arm (an index of the study) may lie.

        With a declared range it holds at all times, for all arms together, whatever the delay; else it is a normal
        approximation at this moment, of three standard errors. Costs count in the order of decisions, as rewards do:
        what takes long may cost more.
        """
        record, limits = self.machine.arms[arm], self.machine.config.cost_range
        if self.machine.config.costs != "told":
            return record.cost, record.cost
        if limits is None:
            mean, error = record.sure_cost
            return mean - 3.0 * error, mean + 3.0 * error
        low, high = limits
        delta, span = self.allowed(arm), high - low
        least, most = 0.0, 1.0
        if record.sure_bills:
            mean = (record.sure_paid / (UNIT * record.sure_bills) - low) / span
            least, most = interval(record.sure_bills, min(max(mean, 0.0), 1.0), delta)
        missing = max(record.pending, 0)
        n, total = record.bills + missing, (record.paid / UNIT - record.bills * low) / span
        if n:
            # What is missing costs the least that it may for the lower end, and the most for the upper one.
            least = max(least, interval(n, min(max(total / n, 0.0), 1.0), delta)[0])
            most = min(most, interval(n, min(max((total + missing) / n, 0.0), 1.0), delta)[1])
        return low + span * min(least, most), low + span * max(least, most)

    def doubts(self, arm: int, out: Collection[int]) -> list[int]:
        """The arms, but for those that are `out`, that may be cheaper than an arm which they seem to be dearer than."""
        place = self.rank.get(arm, -1)
        if self.machine.config.costs != "told" or place < 0:
            return []
        _, high = self.cost_interval(arm)
        machine, others = self.machine, self.order[place + 1 :]
        # What was told of an arm that seems dearer than the reference arm may be chance; a guess is taken as it is.
        others = others + [i for i in machine.active if i not in self.rank and machine.arms[i].bills]
        return [i for i in others if i not in out and self.cost_interval(i)[0] < high]

    def stands(self, fact: Fact) -> bool:
        """Whether the sums as they are prove that an arm is not good enough, by the arm that refuted it."""
        i = self.rank.get(fact.arm, -1)
        j = self.rank.get(fact.by, -1) if fact.by >= 0 else len(self.costs)
        if i < 0 or j < 0:
            return False
        return any(proofs.against(case, i, j) >= proofs.needed(self.levels, i, j) for case in self.cases)

    def risk(self, k: int, out: list[bool]) -> float:
        """The error that must be allowed to call arm `k` certified (-1: to say that no arm is good enough)."""
        return min(proofs.risk(case, self.levels, self.delta, k, out) for case in self.cases)


def judge(machine: Machine, at: float, data: Evidence | None = None) -> list[Fact]:
    """What is proved by now, by these `data` if they are there already. What was proved before stays proved, until a
    reward is replaced; then what the sums as they are still prove keeps its date. Refutations of retired arms are
    judged when the arm comes back."""
    if data is None:
        machine.arrange()
        data = Evidence(machine)
    order = data.order
    before = read_facts(machine.facts)
    facts = before
    if machine.corrections != machine.facts_corrections:
        facts = [fact for fact in before if fact.kind == REFUTED and data.stands(fact)]
    facts = list(facts)
    known = {fact.arm for fact in facts if fact.kind == REFUTED}
    out = [i in known for i in order]

    def add(kind: str, k: int, by: int = -1) -> None:
        new = Fact(kind, order[k], by, machine.rewards, at)
        dated = (fact for fact in before if (fact.kind, fact.arm) == (kind, order[k]))
        facts.append(next(dated, new) if kind != REFUTED else new)

    found, news = -1, 0
    for case in data.cases:
        findings = proofs.judge(case, data.levels, out)
        for k, by in enumerate(findings.refuted_by.tolist()):
            if by >= 0:
                add(REFUTED, k, order[by] if by < len(order) else -1)
                out[k] = True
                news += case is not data.cases[0]
        found = max(found, findings.certified)
    gone = {fact.arm for fact in facts if fact.kind == REFUTED}
    if machine.config.costs == "told":
        # By what was told since, an arm that is not refuted may be the cheaper one.
        facts = [fact for fact in facts if fact.kind != CERTIFIED or _cheapest(data, fact.arm, gone)]
    if any(fact.kind != REFUTED for fact in facts):
        return facts
    if all(out):
        add(NONE, max(range(len(order)), key=lambda k: _mean(machine, order[k])))
        return facts
    if found < 0 and news:  # what the later ones refute, the first had not known of
        found = max(proofs.certified(case, data.levels, out) for case in data.cases)
    # While others rest, the last arm that is left is no choice before it has ever answered.
    answered = not machine.resting or machine.arms[order[found]].pulls > 0
    if found >= 0 and not out[found] and answered and _cheapest(data, order[found], gone):
        add(CERTIFIED, found)
    return facts


def _cheapest(data: Evidence, arm: int, out: Collection[int]) -> bool:
    """Whether no other arm that may be good enough is, or may be, cheaper."""
    place = data.rank.get(arm, -1)
    if data.machine.config.costs != "told":
        return True
    return place >= 0 and all(i in out for i in data.order[:place]) and not data.doubts(arm, out)


def _mean(machine: Machine, i: int) -> float:
    arm = machine.arms[i]
    return arm.mean if arm.seen else -1.0
