"""Handing out decisions: whom they are for, which arm it is, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from satisfice.studies.config import Config, check_text
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Reason, Row
from satisfice.studies.storages.base import Transaction

SESSION_TTL = 1800.0


@dataclass(frozen=True)
class Whom:
    """Whom or what a decision is for: texts of 1 to 200 characters."""

    subject: str | None
    key: str | None
    session: str | None

    def __post_init__(self) -> None:
        for what in ("subject", "key", "session"):
            value = getattr(self, what)
            if value is not None:
                check_text(f"the {what}", value)


NOBODY = Whom(None, None, None)


def serve(tx: Transaction, count: int, now: float, whom: Whom, without: Sequence[int]) -> list[Asked]:
    """Hand out decisions."""
    machine = tx.machine
    config = machine.config
    plain = config.budget is None and not config.holdout and not machine.paused and whom.session is None
    served: list[Asked] = []
    while len(served) < count:
        if machine.lease_due and not machine.paused:
            tx.add_event(machine.decide(now))
        number, lease = machine.decisions + 1, machine.lease
        block = min(machine.block(without), count - len(served)) if plain else 1
        if block > 1:
            arm, cost = lease.arm, machine.price(lease.arm)
            rows = [
                Asked(number + i, arm, Reason.LEASE, lease.number, cost, now, whom.subject, whom.key, whom.session)
                for i in range(block)
            ]
        elif plain:
            arm, reason = machine.choose(without)
            cost = machine.price(arm)
            rows = [Asked(number, arm, reason, lease.number, cost, now, whom.subject, whom.key, whom.session)]
        else:
            rows = [_guarded(tx, number, now, whom, without)]
        tx.add_decisions(rows)
        served += rows
    if config.expire_after is not None and machine.due > now + config.expire_after:
        machine.due = now + config.expire_after
    return served


def _guarded(tx: Transaction, number: int, now: float, whom: Whom, without: Sequence[int]) -> Asked:
    """One decision of a study with a control group, a pause, sessions or a budget."""
    machine = tx.machine
    config = machine.config
    base = _baseline(machine)
    extra, chance = 0.0, 1.0
    if machine.paused and base is not None:
        arm, reason = (base, Reason.PAUSED) if base not in without else (machine.standin(without), Reason.STANDIN)
    else:
        arm, reason, extra = _own(tx, whom, now, without)
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
        lease=machine.lease.number,
        cost=machine.price(arm),
        at=now,
        subject=whom.subject,
        key=whom.key,
        session=whom.session,
        extra=extra,
        chance=chance,
    )


def _own(tx: Transaction, whom: Whom, now: float, without: Sequence[int]) -> tuple[int, Reason, float]:
    """What the study itself serves, why, and what that costs beyond the arm that would win now."""
    machine = tx.machine
    kept = _session(tx, whom, now, without)
    if kept is not None:
        return kept, Reason.SESSION, 0.0
    arm, reason = machine.choose(without)
    budget = machine.config.budget
    if budget is None or reason == Reason.STANDIN:
        return arm, reason, 0.0
    # While nothing is known, nothing would win, and what the cheapest arm does not cost is the price of finding out.
    cheapest = next((i for i in machine.order if i not in without), arm)
    leader = machine.standin(without) if machine.t else cheapest
    extra = max(machine.price(arm) - machine.price(leader), 0.0)
    if machine.spent_on_exploring + extra > budget and arm != leader:
        return leader, Reason.BUDGET, 0.0
    return arm, reason, extra


def note(tx: Transaction, arm: int, whom: Whom, now: float) -> Row:
    """A decision that somebody else made."""
    machine = tx.machine
    row = Asked(
        machine.decisions + 1, arm, Reason.RECORDED, machine.lease.number, machine.price(arm), now, key=whom.key
    )
    tx.add_decisions([row])
    return Row(*row)


def _baseline(machine: Machine) -> int | None:
    name = machine.config.baseline
    if name is None:
        name = machine.config.setting.reference  # type: ignore[assignment]
    return None if name is None else machine.index(name)


def _session(tx: Transaction, whom: Whom, now: float, without: Sequence[int]) -> int | None:
    """The arm that a session has."""
    if whom.session is None:
        return None
    row = tx.of_session(whom.session)
    ttl = tx.config.session_ttl or SESSION_TTL
    if row is None or now - row.at > ttl or row.arm in without:
        return None
    # An arm that does not answer is not served to a session for ever.
    return None if tx.machine.arms[row.arm].retired or row.arm in tx.machine.resting else row.arm


def _drawn(config: Config, whom: Whom, number: int) -> float:
    """A number within [0, 1) that says to which group a decision belongs: a subject, or a session, stays in its
    group."""
    what = whom.subject or whom.session or str(number)
    digest = hashlib.blake2b(f"{config.seed}/{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64
