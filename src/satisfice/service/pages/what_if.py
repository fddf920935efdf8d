"""Another alpha, another threshold, other prices, on the sums as they are; and a look ahead."""

from __future__ import annotations

import copy
import dataclasses
import math
import statistics
import time
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from satisfice.errors import SatisficeError
from satisfice.policies.contract import SWEEP
from satisfice.problem import FixedThreshold, Setting
from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer
from satisfice.service.pages.looking import by_cost, look
from satisfice.service.pages.page import Visit
from satisfice.service.pages.studies import head
from satisfice.studies.config import Config
from satisfice.studies.counts import UNIT
from satisfice.studies.evidence import judge
from satisfice.studies.facts import REFUTED
from satisfice.studies.machine import Machine
from satisfice.studies.report import make_status
from satisfice.studies.status import Status
from satisfice.studies.storages.base import View

# A look ahead goes so far at most: decisions, steps and seconds; and so many futures are drawn.
FAR, STEPS, SECONDS, FUTURES = 10_000_000, 400, 4.0, 8
# A step of a look ahead is at least this share of all rewards so far, and a verdict is looked at as often.
STEP = 0.02


@dataclass
class Wanted:
    """What is asked, as it was written; and what it means."""

    alpha: str = ""
    mu0: str = ""
    confidence: str = ""
    prices: dict[str, str] = field(default_factory=dict)
    ahead: bool = False
    asked: bool = False

    @classmethod
    def read(cls, visit: Visit) -> Wanted:
        """From the address."""
        query = visit.query
        prices = {name.removeprefix("price."): value.strip() for name, value in query.items() if name[:6] == "price."}
        return cls(
            query.get("alpha", "").strip(), query.get("mu0", "").strip(), query.get("confidence", "").strip(),
            {name: value for name, value in prices.items() if value}, query.get("ahead") == "1", bool(query),
        )  # fmt: skip


def number(text: str, what: str) -> float:
    """A number that was written into a form. Raises `SatisficeError`."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SatisficeError(f"{what} is a number; got {text!r}")
    return value


def changed(machine: Machine, wanted: Wanted) -> Machine:
    """The state of the study if its terms were these: the same sums, judged anew."""
    config = machine.config
    setting: Setting = config.setting
    if wanted.mu0 and setting.fixed:
        mu0 = number(wanted.mu0, "the threshold")
        if not config.low <= mu0 <= config.high:
            raise SatisficeError(f"the threshold lies between {config.low:g} and {config.high:g}; got {mu0:g}")
        setting = FixedThreshold(mu0)
    if wanted.alpha and not setting.fixed:
        setting = setting.with_alpha(number(wanted.alpha, "alpha"))
    confidence = number(wanted.confidence, "the confidence") if wanted.confidence else config.confidence
    if not 0.0 < confidence < 1.0:
        raise SatisficeError(f"the confidence is between 0 and 1, such as 0.95; got {confidence:g}")
    policy = config.policy
    if "delta" in policy.params and confidence != config.confidence:
        policy = dataclasses.replace(policy, delta=round(1.0 - confidence, 12))  # type: ignore[call-arg]
    terms = dataclasses.replace(config, setting=setting, confidence=confidence, policy=policy)
    data = machine.to_dict()
    for part in (data, *cast("list[dict[str, object]]", data.get("parts", []))):
        part["facts"], part["facts_corrections"] = [], part["corrections"]
    made = Machine.from_dict(_rescaled(terms, config), data)
    for name, text in wanted.prices.items():
        price = number(text, f"the price of {name!r}")
        if price < 0:
            raise SatisficeError(f"the price of {name!r} is at least 0; got {price:g}")
        for one in {id(one): one for one in (made, *made.leaves)}.values():
            one.arms[one.index(name)].cost = price
    for one in {id(one): one for one in (made, *made.leaves)}.values():
        one._change()
    return made


def _rescaled(terms: Config, old: Config) -> Config:
    """The sums are on the old scale, which moves with alpha where rewards do not begin at 0."""
    if (terms.offset, terms.high) != (old.offset, old.high):
        raise SatisficeError("with rewards that begin above 0, alpha = 0 is on another scale; choose an alpha above 0")
    return terms


# A look ahead


@dataclass(frozen=True)
class Future:
    """One way in which it may go on: decisions until it is settled (None: not within reach), and what they cost."""

    decisions: int | None
    cost: float
    extra: float  # of that, above the price of the arm that wins
    winner: str | None


@dataclass(frozen=True)
class Outlook:
    """A look ahead: as expected, and drawn."""

    expected: Future
    drawn: tuple[Future, ...]

    @property
    def settled(self) -> list[int]:
        """Decisions until it is settled, in those futures in which it is, in order."""
        return sorted(future.decisions for future in self.drawn if future.decisions is not None)

    @property
    def middle(self) -> float | None:
        """The median."""
        return statistics.median(self.settled) if self.settled else None


def ahead(machine: Machine, seed: int = 0) -> Outlook:
    """How it goes on if every mean is as it was so far; and if it is as likely as it seems to be another."""
    until = time.monotonic() + SECONDS
    expected = future(machine, None, until)
    drawn = []
    for run in range(FUTURES):
        if time.monotonic() > until:
            break
        drawn.append(future(machine, np.random.default_rng([seed, run]), until))
    return Outlook(expected, tuple(drawn))


def future(machine: Machine, rng: np.random.Generator | None, until: float) -> Future:
    """One future: the rule goes on as it is, rewards come as expected (or drawn), until something is certified."""
    made = Machine.from_dict(machine.config, copy.deepcopy(machine.to_dict()))
    for arm in made.arms:  # what is outstanding comes to nothing here
        arm.dropped += max(arm.pending, 0)
        arm.sure_pulls, arm.sure_total, arm.sure_squares = arm.counted, arm.sum, arm.sum_squares
        arm.sure_bills, arm.sure_paid, arm.sure_paid_squares = arm.bills, arm.paid, arm.paid_squares
    made.frontier.move(made.decisions)
    means = []
    for arm in made.arms:
        wins = arm.seen_total / UNIT
        losses = max(arm.seen - wins, 0.0)
        likely = (wins + 0.5) / (arm.seen + 1.0)
        means.append(likely if rng is None else float(rng.beta(wins + 0.5, losses + 0.5)))
    first, spent = made.decisions, 0.0
    used = [0] * len(made.arms)
    for _ in range(STEPS):
        facts = judge(made, 0.0)
        final = next((fact for fact in facts if fact.kind != REFUTED), None)
        if final is not None:
            extra = spent - (made.decisions - first) * made.price(final.arm)
            return Future(made.decisions - first, spent, max(extra, 0.0), made.arms[final.arm].name)
        if made.decisions - first > FAR or time.monotonic() > until:
            break
        goal = made.decisions + max(math.ceil(STEP * made.t), 8)
        while made.decisions < goal:
            made.happen(made.decide(0.0))
            lease = made.lease
            arms = list(made.order) if lease.arm == SWEEP else [lease.arm]
            pulls = max(min(lease.pulls, 4 * (goal - made.decisions) + 1), 1)
            for i in arms:
                _play(made, i, pulls, means[i], rng)
                used[i] += pulls
                spent += pulls * made.price(i)
            made.lease.pulls = 0
    return Future(None, spent, 0.0, None)


def _play(machine: Machine, i: int, pulls: int, mean: float, rng: np.random.Generator | None) -> None:
    arm = machine.arms[i]
    total = pulls * mean if rng is None else float(rng.binomial(pulls, mean))
    squares = arm.squares_of(pulls, total)  # rewards go on to vary as they did
    arm.asked += pulls
    arm.pulls += pulls
    arm.total += round(total * UNIT)
    arm.squares += round(squares * UNIT) * UNIT
    arm.sure_pulls, arm.sure_total, arm.sure_squares = arm.counted, arm.sum, arm.sum_squares
    machine.decisions += pulls
    machine.frontier.move(machine.decisions)


@dataclass(frozen=True)
class Answered:
    """What the page shows."""

    status: Status
    other: Status | None
    outlook: Outlook | None
    config: Config
    error: str | None = None


async def what_if(visit: Visit) -> Answer:
    """The page."""
    wanted = Wanted.read(visit)

    def work(handle: Handle) -> tuple[Answered, Machine | None]:
        def whole(view: View, status: Status) -> tuple[Answered, Machine | None]:
            if not wanted.asked:
                return Answered(status, None, None, view.config), None
            try:
                machine = changed(view.machine, wanted)
                return Answered(status, make_status(machine, view.today), None, view.config), machine
            except SatisficeError as error:
                return Answered(status, None, None, view.config, str(error)), None

        return look(handle, whole)

    found, machine = await visit.service.on(visit.study, visit.key, work)
    if machine is not None and wanted.ahead and not machine.parts:
        other = machine
        found = dataclasses.replace(found, outlook=await visit.service.slow(lambda: ahead(other)))
    setting = found.config.setting
    return visit.show(
        "what_if.html",
        head(visit, found.status, "what-if"),
        found=found,
        wanted=wanted,
        fixed=setting.fixed,
        arms=[arm for arm in by_cost(found.status) if arm.verdict != "retired"],
        others={} if found.other is None else {arm.name: arm for arm in found.other.arms},
        told=found.config.costs == "told",
        seconds=SECONDS,
        far=FAR,
    )
