"""The status of a study from its state: what it has found, in numbers and in a sentence that a manager can read."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import cast

import numpy as np

from satisfice.policies.contract import Problem, make_problem
from satisfice.settings import Setting
from satisfice.studies.counts import UNIT
from satisfice.studies.evidence import Evidence, judge
from satisfice.studies.facts import CERTIFIED, NONE, REFUTED, Fact
from satisfice.studies.machine import Machine
from satisfice.studies.segmented import make_segment, overall
from satisfice.studies.status import ArmStatus, Control, Drift, Refutation, Spending, Status, Verdict

# Beliefs compare every arm with every other; beyond so many arms that takes longer than a status should.
BELIEVABLE = 60


def make_status(machine: Machine, at: float) -> Status:
    """The status of a study from its state, at the time `at`."""
    machine.arrange()
    machine.kinship.renew()
    config, data = machine.config, Evidence(machine)
    order = data.order
    parts = [make_verdict(part, at, data if part is machine else None) for part in machine.leaves]
    verdict = overall(machine, parts) if machine.parts else parts[0]
    refuted = {refutation.arm for refutation in verdict.refuted}
    arms = []
    for i, arm in enumerate(machine.arms):
        low, high = data.interval(data.rank[i]) if i in data.rank else (0.0, 1.0)
        if arm.retired:
            word = "retired"
        elif i in machine.resting and arm.asked and not arm.pulls:
            word = "unanswered"
        elif i not in data.rank:
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
        unanswered = arm.dropped / (arm.pulls + arm.dropped) if arm.pulls + arm.dropped else math.nan
        spent = arm.spent / UNIT
        counts = (arm.pulls, arm.pending, arm.dropped)
        arms.append(ArmStatus(arm.name, machine.price(i), *counts, mean, ends, word, spent, unanswered))
    tried = [i for i in order if machine.arms[i].seen]
    best = max(tried, key=lambda i: machine.arms[i].mean) if tried else None
    dearest = max(machine.active, key=machine.price)
    count = machine.decisions
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
            total=sum(arm.spent for arm in machine.arms) / UNIT,
            dearest=machine.would(dearest),
            best=None if best is None else machine.would(best),
            reference=None if setting.reference is None else machine.would(machine.index(setting.reference)),
            leader=machine.would(machine.index(verdict.leader)),
            exploring=None if config.budget is None else machine.spent_on_exploring,
            budget=config.budget,
        ),
        ended=machine.ended,
        paused=machine.paused,
        control=_control(machine),
        warnings=_warnings(machine, arms),
        segments=tuple(
            make_segment(part, theirs, verdict.leader) for part, theirs in zip(machine.parts, parts, strict=False)
        ),
        drifts=drifts_of(machine),
    )


def drifts_of(machine: Machine) -> tuple[Drift, ...]:
    """The arms in use whose rewards have changed, in each segment for the last time."""
    found = []
    for part in machine.leaves:
        last = {cast(int, drift["arm"]): drift for drift in part.drifts}
        for i, drift in last.items():
            arm, (pulls, total) = part.arms[i], cast("list[int]", drift["before"])
            if arm.retired:
                continue
            found.append(
                Drift(
                    arm=arm.name,
                    around=cast(float, drift["around"]),
                    decision=cast(int, drift["since"]),
                    noticed=cast(float, drift["noticed"]),
                    before=machine.config.unscale(total / (UNIT * pulls)) if pulls else math.nan,
                    before_rewards=pulls,
                    since=machine.config.unscale(arm.mean),
                    since_rewards=arm.seen,
                    segment=part.name,
                )
            )
    return tuple(found)


def _control(machine: Machine) -> Control | None:
    """The study against its control group."""
    config, mine, others = machine.config, machine.control, machine.treated
    if config.baseline is None or not config.holdout:
        return None
    span = config.high - config.offset
    gain, least, most = _difference(
        _moments(others.pulls, others.total, others.squares), _moments(mine.pulls, mine.total, mine.squares)
    )
    saving = _difference(
        _moments(mine.asked, mine.spent, mine.spent_squares), _moments(others.asked, others.spent, others.spent_squares)
    )
    return Control(
        arm=config.baseline,
        decisions=mine.asked,
        rewards=mine.pulls,
        mean=config.unscale(mine.total / (UNIT * mine.pulls)) if mine.pulls else math.nan,
        others_mean=config.unscale(others.total / (UNIT * others.pulls)) if others.pulls else math.nan,
        gain=(span * gain, span * least, span * most),
        saving=saving,
    )


def _moments(count: int, total: int, squares: int) -> tuple[float, float]:
    """Mean and squared standard error."""
    if count < 2:
        return math.nan, math.nan
    mean = total / (UNIT * count)
    return mean, max(squares / (UNIT * UNIT * count) - mean * mean, 0.0) / (count - 1)


def _difference(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float, float]:
    """Of two means, by their moments, and between what it may be."""
    (mine, square), (theirs, other) = a, b
    middle, width = mine - theirs, 1.96 * math.sqrt(square + other)
    return middle, middle - width, middle + width


def _warnings(machine: Machine, arms: list[ArmStatus]) -> tuple[str, ...]:
    """What no proof can know: whether the rewards that never came were like those that did."""
    found = []
    seen = [arm for arm in arms if arm.pulls + arm.dropped and arm.verdict != "retired"]
    if len(seen) > 1:
        most, least = max(seen, key=lambda arm: arm.unanswered), min(seen, key=lambda arm: arm.unanswered)
        n, m = most.pulls + most.dropped, least.pulls + least.dropped
        pooled = (most.dropped + least.dropped) / (n + m)
        spread = math.sqrt(pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
        # Four standard deviations: one false warning in some ten thousand looks at arms that are alike.
        if most.unanswered - least.unanswered > max(4.0 * spread, 0.01):
            found.append(
                f"'{most.name}' was never answered in {most.unanswered:.1%} of its decisions, '{least.name}' in "
                f"{least.unanswered:.1%}: if the missing rewards differ from the others, means and verdicts are wrong."
            )
    missing = [f"'{machine.arms[i].name}'" for i in machine.resting if not machine.arms[i].asked]
    if missing:
        what = (
            "is excluded by those who ask, and rests"
            if len(missing) == 1
            else "are excluded by those who ask, and rest"
        )
        found.append(f"{', '.join(missing)} {what}; nothing can be proved without it being tried or retired.")
    resting = [f"'{machine.arms[i].name}'" for i in machine.resting if machine.arms[i].asked]
    if resting:
        what = "does not answer and rests" if len(resting) == 1 else "do not answer and rest"
        found.append(f"{', '.join(resting)} {what}; the verdict is not about arms that never answered.")
    found += _budget(machine)
    waiting = machine.decisions - machine.frontier.last
    pending = sum(arm.pending for arm in arms)
    if waiting > 1000 and pending < 0.1 * waiting and machine.config.mature_after is None:
        found.append(
            f"Decision {machine.frontier.last + 1} is open, and {waiting - 1:,} came after it: intervals are wider "
            "until it is told, abandoned or expires (mature_after says how long to wait)."
        )
    return tuple(found)


def _budget(machine: Machine) -> list[str]:
    """Which arms the rest of the budget does not pay for."""
    budget = machine.config.budget
    if budget is None or not machine.t:
        return []
    leader = machine.standin()
    left = budget - machine.spent_on_exploring + machine.price(leader)
    dear = [f"'{machine.arms[i].name}'" for i in machine.order if machine.price(i) > left]
    if not dear:
        return []
    name = machine.arms[leader].name
    return [f"The budget for finding out is spent for {' and '.join(dear)}: '{name}' is served instead."]


def make_verdict(machine: Machine, at: float, data: Evidence | None = None) -> Verdict:
    """The verdict of a study without segments, or of one of its segments, by these `data` if they are there already."""
    if data is None:
        machine.arrange()
        data = Evidence(machine)
    facts = judge(machine, at, data)
    config, order = machine.config, data.order
    names = [arm.name for arm in machine.arms]
    doubted = _moved_on(machine, facts)
    if doubted is not None:
        leading = machine.leading()
        facts = [fact for fact in facts if fact is not doubted and fact.arm != leading]
    refuted = tuple(
        Refutation(names[fact.arm], names[fact.by] if fact.by >= 0 else None, fact.rewards, fact.at)
        for fact in facts
        if fact.kind == REFUTED and not machine.arms[fact.arm].retired
    )
    final = next((fact for fact in facts if fact.kind != REFUTED), None)
    lease, horizon = machine.lease, machine.horizon
    if final is not None and final.kind == NONE:
        leader, state = max(order, key=lambda i: machine.arms[i].mean), "none"
    elif final is not None:
        leader, state = final.arm, "certified"
    elif machine.committed:
        leader, state = lease.arm, "settled"
    else:
        leader = machine.leading()
        state = "settled" if horizon is not None and machine.rewards >= horizon else "exploring"
    out = {fact.arm for fact in facts if fact.kind == REFUTED}
    sure = _sure(machine, data, leader, out, state)
    threshold = config.unscale(machine.threshold())
    belief, none = _belief(machine, data, leader) if state in ("exploring", "settled") else (None, None)
    return Verdict(
        state=state,
        leader=names[leader],
        sure=sure,
        belief=belief,
        rewards=machine.rewards,
        threshold=threshold,
        refuted=refuted,
        certified_at=None if final is None else final.at,
        certified_after=None if final is None else final.rewards,
        costs=_costs(machine, data, leader, out),
        sentence=_sentence(machine, leader, state, sure, belief, none, threshold, len(refuted))
        + _cost_doubts(machine, data, leader, out, state)
        + _doubted(machine, doubted),
    )


def _moved_on(machine: Machine, facts: list[Fact]) -> Fact | None:
    """What was proved of an arm while another one leads by the rewards as they are, and the rule does not play it: a
    change that the rule has followed before there was an alarm. Nobody is told that an arm is the one that is not
    served; where means are said never to change (`drift=None`), what was proved stays proved."""
    lease = machine.lease
    if machine.config.drift is None or not lease.pulls:
        return None
    proved = next((fact for fact in facts if fact.kind == CERTIFIED), None)
    if proved is None or proved.arm in (lease.arm, machine.leading()):
        return None
    return proved


def _doubted(machine: Machine, fact: Fact | None) -> str:
    if fact is None:
        return ""
    name = machine.arms[fact.arm].name
    return f" That '{name}' is the one was proved after {fact.rewards:,} rewards; what came since speaks against it."


def _costs(machine: Machine, data: Evidence, leader: int, out: set[int]) -> str:
    """How sure it is that the leader costs less than every other arm that may be good enough."""
    if machine.config.costs != "told":
        return "known"
    if data.doubts(leader, out):
        return "open"
    return "believed" if machine.config.cost_range is None else "proved"


def _cost_doubts(machine: Machine, data: Evidence, leader: int, out: set[int], state: str) -> str:
    doubts = [f"'{machine.arms[i].name}'" for i in data.doubts(leader, out)] if state != "none" and machine.t else []
    if not doubts:
        return ""
    how = "proved" if machine.config.cost_range is not None else "certain"
    return f" That it costs less than {' and '.join(doubts)} is not {how} yet."


def _sure(machine: Machine, data: Evidence, leader: int, out: set[int], state: str) -> float:
    """1 - the largest error among the proofs that the verdict rests on, each as strong as it is now."""
    place = -1 if state == "none" else data.rank.get(leader, -1)
    if place < 0 and state != "none":
        return 0.0
    risk = data.risk(place, [i in out for i in data.order])
    # What was proved stays proved while no reward is replaced, though the evidence may look weaker for a while.
    return 1.0 - (min(risk, data.delta) if state in ("certified", "none") else risk)


@lru_cache(maxsize=64)
def _asked_of_glr(confidence: float, setting: Setting, costs: tuple[float, ...], horizon: int | None) -> Problem:
    """The problem as the GLR policy sees it, of a study on these terms."""
    from satisfice.policies.glr import GLR

    policy = GLR(delta=min(max(1.0 - confidence, 1e-12), 1.0 - 1e-12))
    problem = make_problem(policy, setting, np.array(costs), np.arange(len(costs)), horizon, bounded=True)
    return problem._replace(costs=problem.costs.tolist())  # for code that is not compiled


def _belief(machine: Machine, data: Evidence, leader: int) -> tuple[float | None, float | None]:
    """What the GLR policy would believe on these sums, whichever policy made them: that the leader is the right arm, or
    that there is none."""
    from satisfice.policies.beliefs import opinion, sums_of

    order = data.order
    if not machine.rewards or len(order) > BELIEVABLE:
        return None, None
    config, arms = machine.config, [machine.arms[i] for i in order]
    problem = _asked_of_glr(config.confidence, config.scaled_setting, tuple(data.costs), config.horizon)
    pulls, totals = [arm.seen for arm in arms], [arm.seen_total / UNIT for arm in arms]
    if machine.borrows and order == machine.order:
        pulls, totals = machine.sums()
    squares = [arm.squares_of(n, total) for arm, n, total in zip(arms, pulls, totals, strict=True)]
    found = opinion(problem, sums_of(pulls, totals, squares), machine.rewards)
    if found.none:
        return None, found.belief
    return found.belief if order[found.arm] == leader else None, None


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
    after = f"after {machine.rewards:,} reward{'s' if machine.rewards != 1 else ''}"
    if not machine.rewards:
        return "No rewards yet: every arm may be the one."
    if state == "none":
        return (
            f"No arm reaches {threshold:g} ({_percent(sure)} sure, {after}); '{arm.name}' has the largest mean, "
            f"{config.unscale(arm.mean):.3g}."
        )
    saving = _saving(machine, leader)
    what = f"good enough (at least {threshold:g})" if config.setting.fixed else "good enough"
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
    return f"; {refuted} of {len(machine.judged)} arms are refuted" if refuted else ""


def _percent(sure: float) -> str:
    return "more than 99.9%" if sure > 0.999 else f"{math.floor(1000 * sure) / 10:g}%"


def _saving(machine: Machine, leader: int) -> str:
    """What the leader saves against the arm that it is measured by: the reference arm, or the best one so far."""
    arm = machine.arms[leader]
    if machine.config.setting.reference is not None:
        other, what = machine.arms[machine.judged[-1]], "the reference arm"
    else:
        tried = [machine.arms[i] for i in machine.judged if machine.arms[i].seen]
        other, what = max(tried, key=lambda a: a.mean), "the arm with the best mean"
    mine, theirs = machine.price(leader), machine.price(machine.arms.index(other))
    if other is arm or theirs <= mine or not theirs or not (arm.seen and other.seen):
        return ""
    mean, top = machine.config.unscale(arm.mean), machine.config.unscale(other.mean)
    share = f" and has {mean / top:.1%} of its mean reward" if top > 0 else ""
    return f" It costs {1 - mine / theirs:.1%} less per decision than '{other.name}', {what},{share}".rstrip(",") + "."
