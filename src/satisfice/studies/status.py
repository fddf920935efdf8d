"""What a study knows: every arm, the verdict, the money, and a sentence that a manager can read."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import numpy as np

from satisfice.policies.contract import make_problem
from satisfice.problem import FixedThreshold, ReferenceArm
from satisfice.studies.machine import Machine
from satisfice.studies.verdict import NONE, REFUTED, Evidence
from satisfice.words import plain

# Beliefs compare every arm with every other; beyond so many arms that takes longer than a status should.
BELIEVABLE = 60


@dataclass(frozen=True)
class ArmStatus:
    """One arm. Means and intervals are on the scale of the rewards; nan where nothing is known."""

    name: str
    cost: float
    pulls: int  # rewards counted
    pending: int  # decisions without a reward yet
    dropped: int  # decisions that were abandoned, or expired and count as nothing
    mean: float
    interval: tuple[float, float]  # holds at all times, for all arms together, with the study's confidence
    verdict: str  # "certified", "leading", "open", "refuted", "dearer" (than the reference arm) or "retired"
    spent: float


@dataclass(frozen=True)
class Refutation:
    """An arm that was proved not to be good enough."""

    arm: str
    by: str | None  # the arm whose mean it misses; None for a fixed threshold
    rewards: int  # rewards counted by then
    at: float  # seconds since 1970; nan in a replay

    def __str__(self) -> str:
        when = (
            ""
            if math.isnan(self.at)
            else f" ({datetime.fromtimestamp(self.at, UTC).isoformat(sep=' ', timespec='seconds')})"
        )
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

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Spending:
    """Cost of all decisions so far, and what they would have cost on one arm alone."""

    decisions: int
    total: float
    dearest: float
    best: float | None  # the arm with the largest mean so far
    reference: float | None  # with a known reference arm
    leader: float


@dataclass(frozen=True)
class Status:
    """A study at one moment."""

    study: str
    policy: str
    setting: str
    confidence: float
    arms: tuple[ArmStatus, ...]
    verdict: Verdict
    spending: Spending
    closed: bool

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
        head = ("arm", "cost", "pulls", "pending", "mean", "interval", "spent", "verdict")
        rows = [head] + [
            (
                arm.name,
                f"{arm.cost:g}",
                f"{arm.pulls:,}",
                f"{arm.pending:,}",
                "" if math.isnan(arm.mean) else f"{arm.mean:.4g}",
                f"{arm.interval[0]:.4g} to {arm.interval[1]:.4g}",
                _amount(arm.spent),
                arm.verdict,
            )
            for arm in self.arms
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if i in (0, 7) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        title = f"{self.study}: {self.policy}, {self.setting}, confidence {self.confidence:g}"
        lines = [title + (" (closed)" if self.closed else ""), *lines]
        lines += [str(refutation) for refutation in self.verdict.refuted]
        return "\n".join([*lines, _money(self.spending), self.verdict.sentence])


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 10_000 or value == int(value) else f"{value:,.4g}"


def _money(spending: Spending) -> str:
    parts = [f"{_amount(spending.dearest)} on the dearest arm alone"]
    if spending.best is not None:
        parts.append(f"{_amount(spending.best)} on the best")
    if spending.reference is not None:
        parts.append(f"{_amount(spending.reference)} on the reference arm")
    return f"spent {_amount(spending.total)} on {spending.decisions:,} decisions; {', '.join(parts)}"


def make_status(machine: Machine) -> Status:
    """The status of a study from its state."""
    config, order = machine.config, machine.order
    data = Evidence(machine)
    verdict = make_verdict(machine, data)
    refuted = {refutation.arm for refutation in verdict.refuted}
    arms = []
    for i, arm in enumerate(machine.arms):
        low, high = data.interval(machine.rank[i]) if machine.rank[i] >= 0 else (0.0, 1.0)
        if arm.retired:
            word = "retired"
        elif machine.rank[i] < 0:
            word = "dearer"
        elif arm.name in refuted:
            word = "refuted"
        elif arm.name == verdict.leader:
            word = "certified" if verdict.state == "certified" else "leading"
        else:
            word = "open"
        # The interval on [0, 1] may reach below the lowest reward where the range begins above 0.
        ends = max(config.unscale(low), config.low), config.unscale(high)
        mean = config.unscale(arm.mean)
        arms.append(ArmStatus(arm.name, arm.cost, arm.pulls, arm.pending, arm.dropped, mean, ends, word, arm.spent))
    tried = [i for i in order if machine.arms[i].pulls]
    best = max(tried, key=lambda i: machine.arms[i].mean) if tried else None
    dearest = max((arm for arm in machine.arms if not arm.retired), key=lambda arm: arm.cost)
    count = machine.decisions
    named = {arm.name: arm for arm in machine.arms}
    setting = config.setting
    return Status(
        study=config.name,
        policy=config.policy.label,
        setting=str(setting),
        confidence=config.confidence,
        arms=tuple(arms),
        verdict=verdict,
        spending=Spending(
            decisions=count,
            total=math.fsum(arm.spent for arm in machine.arms),
            dearest=dearest.would(count),
            best=None if best is None else machine.arms[best].would(count),
            reference=named[str(setting.arm)].would(count) if isinstance(setting, ReferenceArm) else None,
            leader=named[verdict.leader].would(count),
        ),
        closed=machine.closed,
    )


def make_verdict(machine: Machine, data: Evidence) -> Verdict:
    """The verdict from the state of a study and the evidence in it."""
    config, order = machine.config, machine.order
    names = [arm.name for arm in machine.arms]
    facts = machine.proved()
    refuted = tuple(
        Refutation(names[fact.arm], names[fact.by] if fact.by >= 0 else None, fact.rewards, fact.at)
        for fact in facts
        if fact.kind == REFUTED and not machine.arms[fact.arm].retired
    )
    final = next((fact for fact in facts if fact.kind != REFUTED), None)
    lease, horizon = machine.lease, config.horizon
    if final is not None and final.kind == NONE:
        leader, state = max(order, key=lambda i: machine.arms[i].mean), "none"
    elif final is not None:
        leader, state = final.arm, "certified"
    elif machine.committed:
        leader, state = order[lease.arm], "settled"
    else:
        leader = machine.standin()
        state = "settled" if horizon is not None and machine.t >= horizon else "exploring"
    out = {fact.arm for fact in facts if fact.kind == REFUTED}
    sure = _sure(machine, data, leader, out, state)
    threshold = config.unscale(machine.threshold())
    belief, none = _belief(machine, leader) if state in ("exploring", "settled") else (None, None)
    return Verdict(
        state=state,
        leader=names[leader],
        sure=sure,
        belief=belief,
        rewards=machine.t,
        threshold=threshold,
        refuted=refuted,
        certified_at=None if final is None else final.at,
        certified_after=None if final is None else final.rewards,
        sentence=_sentence(machine, leader, state, sure, belief, none, threshold, len(refuted)),
    )


def _sure(machine: Machine, data: Evidence, leader: int, out: set[int], state: str) -> float:
    """1 - the largest error among the proofs that the verdict rests on, each as strong as it is now."""
    order, place = machine.order, machine.rank[leader]
    if place < 0:
        return 0.0
    proved = 1.0 - machine.config.confidence
    gone = [i in out for i in order]
    cheaper = [k for k in range(len(order)) if data.costs[k] < data.costs[place] or state == "none"]
    worst = 0.0 if state == "none" else data.confirmation(place, gone)
    for k in cheaper:
        now = min((data.error(k, j) for j in data.opponents(k) if data.against(k, j)), default=1.0)
        worst = max(worst, min(now, proved) if gone[k] else now)
    # What was proved stays proved while no reward is replaced, though the evidence may look weaker for a while.
    return 1.0 - (min(worst, proved) if state in ("certified", "none") else worst)


def _belief(machine: Machine, leader: int) -> tuple[float | None, float | None]:
    """What the GLR policy would believe on these sums, whichever policy made them: that the leader is the right arm, or
    that there is none."""
    from satisfice.policies.glr import GLR, verdict

    if not machine.t or len(machine.order) > BELIEVABLE:
        return None, None
    config = machine.config
    costs = [machine.arms[i].cost for i in machine.order]
    policy = GLR(delta=min(max(1.0 - config.confidence, 1e-12), 1.0 - 1e-12))
    order = np.arange(len(costs))
    problem = make_problem(policy, config.scaled_setting, costs, order, config.horizon, bounded=True)
    found = verdict(problem, machine.state, machine.t)
    if found.none:
        return None, found.belief
    return found.belief if machine.order[found.arm] == leader else None, None


def _sentence(
    machine: Machine,
    leader: int,
    state: str,
    sure: float,
    belief: float | None,
    none: float | None,
    threshold: float,
    refuted: int,
) -> str:
    config, arm = machine.config, machine.arms[leader]
    after = f"after {machine.t:,} reward{'s' if machine.t != 1 else ''}"
    if not machine.t:
        return "No rewards yet: every arm may be the one."
    if state == "none":
        return (
            f"No arm reaches {threshold:g} ({_percent(sure)} sure, {after}); '{arm.name}' has the largest mean, "
            f"{config.unscale(arm.mean):.3g}."
        )
    saving = _saving(machine, leader)
    what = "good enough" if not isinstance(config.setting, FixedThreshold) else f"good enough (at least {threshold:g})"
    if state == "certified":
        return f"'{arm.name}' is the cheapest arm that is {what}: {_percent(sure)} sure, {after}.{saving}"
    if none is not None:
        what = "The study has settled" if state == "settled" else "Still exploring"
        return (
            f"{what} {after}: no arm seems to reach {threshold:g}, believed with {math.floor(100 * none)}%, not proved "
            f"yet{_gone(machine, refuted)}; '{arm.name}' would be played now."
        )
    doubt = "" if belief is None else f"believed with {math.floor(100 * belief)}%, "
    if state == "settled":
        return (
            f"The study has settled on '{arm.name}' {after}, {doubt}without a proof{_gone(machine, refuted)}.{saving}"
        )
    return (
        f"Still exploring {after}: '{arm.name}' would win now, {doubt}not proved yet{_gone(machine, refuted)}.{saving}"
    )


def _gone(machine: Machine, refuted: int) -> str:
    return f"; {refuted} of {len(machine.order)} arms are refuted" if refuted else ""


def _percent(sure: float) -> str:
    return "more than 99.9%" if sure > 0.999 else f"{math.floor(1000 * sure) / 10:g}%"


def _saving(machine: Machine, leader: int) -> str:
    """What the leader saves against the arm that it is measured by: the reference arm, or the best one so far."""
    arm = machine.arms[leader]
    setting = machine.config.setting
    if isinstance(setting, ReferenceArm):
        other, what = machine.arms[machine.order[-1]], "the reference arm"
    else:
        tried = [machine.arms[i] for i in machine.order if machine.arms[i].pulls]
        other, what = max(tried, key=lambda a: a.mean), "the arm with the best mean"
    if other is arm or other.cost <= arm.cost or not other.cost or not (arm.pulls and other.pulls):
        return ""
    mean, top = machine.config.unscale(arm.mean), machine.config.unscale(other.mean)
    share = f" and has {mean / top:.1%} of its mean reward" if top > 0 else ""
    return (
        f" It costs {1 - arm.cost / other.cost:.1%} less per decision than '{other.name}', {what},{share}".rstrip(",")
        + "."
    )
