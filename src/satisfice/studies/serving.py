"""Handing out decisions: whom they are for, which arm it is, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from satisfice.errors import InvalidStudy
from satisfice.studies.config import OTHER, Config, check_text
from satisfice.studies.machine import Machine
from satisfice.studies.records import OWN_CHOICE, Asked, Reason, Row, made
from satisfice.studies.storages.base import Transaction
from satisfice.words import shorten, shown

SESSION_TTL = 1800.0
# Pulls of one lease are added to the log so many at a time.
BLOCK = 5_000


@dataclass(frozen=True)
class Whom:
    """Whom or what a decision is for: texts of 1 to 200 characters."""

    subject: str | None = None
    key: str | None = None
    session: str | None = None
    segment: str | None = None

    def __post_init__(self) -> None:
        for what in ("subject", "key", "session", "segment"):
            value = getattr(self, what)
            if value is not None:
                check_text(f"the {what}", value)


NOBODY = Whom()


def part_of(tx: Transaction, whom: Whom, now: float) -> Machine:
    """The part of the study that decides for a segment; one that is new is added where there is room for it."""
    machine, name = tx.machine, whom.segment
    if not machine.parts:
        if name is None:
            return machine
        raise InvalidStudy(f"segment = {shown(name)}; the study has no segments", parameter="segment")
    if name in machine.segments:
        return machine.parts[machine.segments.index(name)]
    if name is not None and len(machine.parts) < machine.config.most_segments:
        tx.add_event(machine.event("add_segment", {"name": name}, now))
        return machine.parts[-1]
    if OTHER in machine.segments:
        return machine.parts[machine.segments.index(OTHER)]
    known = shorten(", ".join(map(repr, machine.segments)), 300)
    raise InvalidStudy(f"segment = {shown(name)}; the segments of the study are {known}", parameter="segment")


def plain(machine: Machine) -> bool:
    """Whether every decision is the policy's own choice."""
    return not machine.guarded and not machine.paused


def serve_next(tx: Transaction, now: float) -> Asked:
    """Hand out one decision of the policy's own choice, for nobody in particular: what `serve` does, nearly always."""
    machine = tx.machine
    if machine.lease_due:
        tx.add_event(machine.decide(now))
    arm, reason = machine.choose()
    values = (machine.decisions + 1, arm, reason, machine.lease.number, machine.price(arm), now, None, None, None)
    row = made(Asked, (*values, *OWN_CHOICE))
    tx.add_decisions((row,))
    return row


def serve(
    tx: Transaction, count: int, now: float, whom: Whom, without: Sequence[int], part: Machine | None = None
) -> list[Asked]:
    """Hand out decisions of a part of the study."""
    machine = tx.machine
    config, part = machine.config, part or machine
    segment = part.number
    own = plain(machine) and whom.session is None
    served: list[Asked] = []
    while len(served) < count:
        if part.lease_due and not machine.paused:
            tx.add_event(part.decide(now))
        number = machine.decisions + 1
        if own:
            arm, reason = part.choose(without)
            block = max(min(part.block(without, reason), count - len(served), BLOCK), 1)
            terms = arm, reason, part.lease.number, part.price(arm), now, whom.subject, whom.key, whom.session
            rows = [made(Asked, (number + i, *terms, 0.0, 1.0, segment)) for i in range(block)]
        else:
            rows = [_guarded(tx, part, number, now, whom, without)]
        tx.add_decisions(rows)
        served += rows
    if config.expire_after is not None and machine.due > now + config.expire_after:
        machine.due = now + config.expire_after
    return served


def _guarded(tx: Transaction, part: Machine, number: int, now: float, whom: Whom, without: Sequence[int]) -> Asked:
    """One decision of a study with a control group, a pause, sessions or a budget."""
    machine = tx.machine
    config = machine.config
    base = _baseline(machine)
    extra, chance = 0.0, 1.0
    if machine.paused and base is not None:
        standin = base in without
        arm, reason = part.standin(without) if standin else base, str(Reason.STANDIN if standin else Reason.PAUSED)
    else:
        arm, reason, extra = _own(tx, part, whom, now, without)
        if config.holdout and base is not None and base not in without:
            held = _drawn(config, whom, number) < config.holdout
            theirs, arm = arm, base if held else arm
            chance = config.holdout * (arm == base) + (1.0 - config.holdout) * (arm == theirs)
            if held:
                reason, extra = Reason.HOLDOUT, 0.0
    return Asked(
        id=number,
        arm=arm,
        reason=reason,
        lease=part.lease.number,
        cost=part.price(arm),
        at=now,
        subject=whom.subject,
        key=whom.key,
        session=whom.session,
        extra=extra,
        chance=chance,
        segment=part.number,
    )


def _own(tx: Transaction, part: Machine, whom: Whom, now: float, without: Sequence[int]) -> tuple[int, str, float]:
    """What the study itself serves, why, and what that costs beyond the arm that would win now."""
    kept = _session(tx, part, whom, now, without)
    if kept is not None:
        return kept, Reason.SESSION, 0.0
    arm, reason = part.choose(without)
    budget = part.config.budget
    if budget is None or reason == Reason.STANDIN:
        return arm, reason, 0.0
    # While nothing is known, nothing would win, and what the cheapest arm does not cost is the price of finding out.
    cheapest = next((i for i in part.order if i not in without), arm)
    leader = part.standin(without) if part.t else cheapest
    extra = max(part.price(arm) - part.price(leader), 0.0)
    if tx.machine.spent_on_exploring + extra > budget and arm != leader:
        return leader, Reason.BUDGET, 0.0
    return arm, reason, extra


def note(tx: Transaction, arm: int, whom: Whom, now: float) -> Row:
    """A decision that somebody else made."""
    part = part_of(tx, whom, now)
    terms = arm, Reason.RECORDED, part.lease.number, part.price(arm), now
    row = Asked(tx.machine.decisions + 1, *terms, key=whom.key, segment=part.number)
    tx.add_decisions([row])
    return Row(*row)


def _baseline(machine: Machine) -> int | None:
    name = machine.config.baseline
    if name is None:
        name = machine.config.setting.reference  # type: ignore[assignment]
    return None if name is None else machine.index(name)


def _session(tx: Transaction, part: Machine, whom: Whom, now: float, without: Sequence[int]) -> int | None:
    """The arm that a session has."""
    if whom.session is None:
        return None
    row = tx.of_session(whom.session)
    ttl = tx.config.session_ttl or SESSION_TTL
    if row is None or now - row.at > ttl or row.arm in without or row.segment != part.number:
        return None
    # An arm that does not answer is not served to a session for ever.
    return None if part.arms[row.arm].retired or row.arm in part.resting else row.arm


def _drawn(config: Config, whom: Whom, number: int) -> float:
    """A number within [0, 1) that says to which group a decision belongs: a subject, or a session, stays in its
    group."""
    what = whom.subject or whom.session or str(number)
    digest = hashlib.blake2b(f"{config.seed}/{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
