"""Calls about decisions: ask, tell, record, look through the log, explain."""

from __future__ import annotations

import asyncio
import re

import msgspec

from satisfice.errors import SatisficeError
from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer, Call
from satisfice.service.problems import Problem, problem_of, unknown_decision
from satisfice.service.schemas import (
    Ask,
    DecisionAnswer,
    DecisionLine,
    DecisionPage,
    Decisions,
    DecisionsQuery,
    Record,
    Reward,
    RewardProblem,
    Rewards,
    RewardsAnswer,
)
from satisfice.studies import Decision
from satisfice.studies.records import Outcome
from satisfice.studies.storages.base import View
from satisfice.studies.telling import Told

_encode = msgspec.json.Encoder().encode
# What can be in the header Idempotency-Key.
KEY_PATTERN = "^[!-~]([ -~]*[!-~])?$"
_KEY = re.compile(KEY_PATTERN)


def said(handle: Handle, decision: Decision) -> DecisionAnswer:
    """A decision as it is answered."""
    number, arm, reason, _, *whom = decision
    return DecisionAnswer(handle.id(number), arm, reason, decision.why, *whom)


def key_of(call: Call, given: str | None) -> str | None:
    """The caller's key for this call, from the body or the header."""
    header = call.headers.get(b"idempotency-key")
    if header is None:
        return given
    text = header.decode("latin-1")
    if not _KEY.fullmatch(text) or len(text) > 200:
        raise Problem(
            "invalid-request",
            "header: Idempotency-Key is 1 to 200 characters of ASCII that can be seen",
            place="header",
        )
    if given is not None and given != text:
        raise Problem("invalid-request", "the key of the body is not that of the header Idempotency-Key", place="$.key")
    return text


async def ask(call: Call) -> Answer:
    """Hand out decisions."""
    wanted: Ask = call.body
    key = key_of(call, wanted.key)
    if wanted.count > 1 and (wanted.subject is not None or wanted.session is not None):
        raise Problem("invalid-request", "a subject or a session has one decision at a time", place="$.count")

    whom = wanted.subject, wanted.session, key, wanted.available, wanted.segment
    plain = whom == (None,) * 5 and not wanted.exclude
    if plain:
        service = call.service
        handle = await service.reach(call.study, call.key)
        if service.quick:
            decisions = [handle.study.ask()] if wanted.count == 1 else handle.study.ask_many(wanted.count)
        else:
            decisions = await service.batches.ask(call.study, wanted.count)
    else:

        def work(handle: Handle) -> tuple[Handle, list[Decision]]:
            arms = {"exclude": wanted.exclude, "available": wanted.available, "segment": wanted.segment}
            if wanted.count == 1:
                return handle, [handle.study.ask(subject=wanted.subject, session=wanted.session, key=key, **arms)]  # type: ignore[arg-type]
            return handle, handle.study.ask_many(wanted.count, key=key, **arms)  # type: ignore[arg-type]

        handle, decisions = await call.service.on(call.study, call.key, work)
    metrics = call.service.metrics
    for decision in decisions:
        metrics.decided(handle.name, decision.arm)
    return Answer(_encode(Decisions([said(handle, decision) for decision in decisions])))


# Rewards


async def tell(call: Call) -> Answer:
    """Take the rewards of one study."""
    return await _tell(call, call.study)


async def tell_any(call: Call) -> Answer:
    """Take rewards of any studies: a decision's id says which."""
    return await _tell(call, None)


async def _tell(call: Call, name: str | None) -> Answer:
    body: Reward | Rewards = call.body
    service = call.service
    alone = isinstance(body, Reward)
    items = [body] if isinstance(body, Reward) else body.rewards
    if name is not None:
        await service.reach(name, call.key)
    parts: dict[str, tuple[list[Reward], list[Told]]] = {}
    problems: list[RewardProblem] = []
    for place, item in enumerate(items):
        _check(item, "$" if alone else f"$.rewards[{place}]")
        try:
            study = name or await service.study_of(item.decision, call.key)
            number = await _place_of(call, study, item, name is None)
        except Problem as problem:
            if alone:
                raise
            problems.append(_noted(item, problem))
            continue
        rewards, told = parts.setdefault(study, ([], []))
        rewards.append(item)
        told.append(Told(number, None if item.abandon else item.reward, item.cost, item.correct))
    changed = 0
    for study, (rewards, told) in parts.items():
        count = 0
        for item, result in zip(rewards, await service.batches.tell(study, told), strict=True):
            if isinstance(result, SatisficeError):
                refused = _worded(result, item.decision)
                if alone:
                    raise refused
                problems.append(_noted(item, refused))
            else:
                count += result
        service.metrics.told(study, count)
        changed += count
    return Answer(_encode(RewardsAnswer(changed, problems)))


async def _place_of(call: Call, study: str, item: Reward, anywhere: bool) -> int:
    """The number of a decision in its study."""
    try:
        return (await call.service.reach(study, call.key)).number_of(item.decision)
    except Problem as problem:
        # Who names a decision alone is told of decisions alone.
        raise unknown_decision(item.decision) if anywhere else problem from None


def _check(item: Reward, place: str) -> None:
    if item.abandon and (item.reward is not None or item.cost is not None or item.correct):
        raise Problem("invalid-request", "body: what is abandoned has no reward", place=f"{place}.abandon")
    if not item.abandon and item.reward is None:
        raise Problem("invalid-request", "body: give the reward, or abandon the decision", place=f"{place}.reward")


def _noted(item: Reward, problem: Problem) -> RewardProblem:
    return RewardProblem(item.decision, problem.type, problem.status, problem.detail)


def _worded(error: SatisficeError, text: str) -> Problem:
    """An error that names the decision as the caller does."""
    problem = problem_of(error, decision=f"decision {text!r}")
    return unknown_decision(text) if problem.kind == "unknown-decision" else problem


async def record(call: Call) -> Answer:
    """Count decisions that somebody else made."""
    items: list[Record] = call.body.records

    async def each(item: Record) -> tuple[Handle, Decision]:
        def work(handle: Handle) -> tuple[Handle, Decision]:
            return handle, handle.study.record(item.arm, item.reward, item.cost, key=item.key, segment=item.segment)

        return await call.service.on(call.study, call.key, work)

    # They share their commits.
    made = await asyncio.gather(*map(each, items))
    call.service.metrics.told(call.study, len(made))
    return Answer(_encode(Decisions([said(handle, decision) for handle, decision in made])))


# The log


async def page(call: Call) -> Answer:
    """Decisions of the log, newest first."""
    query: DecisionsQuery = call.query

    def work(handle: Handle) -> DecisionPage:
        before = None if query.before is None else handle.number_of(query.before)

        def look(view: View) -> DecisionPage:
            rows = view.newest(before, query.limit)
            names, segments = [arm.name for arm in view.machine.arms], view.machine.segments
            lines = [
                DecisionLine(
                    handle.id(row.id),
                    names[row.arm],
                    str(row.reason),
                    row.cost if row.told_cost is None else row.told_cost,
                    row.at,
                    row.subject,
                    row.key,
                    row.session,
                    segments[row.segment] if segments else None,
                    str(row.outcome),
                    row.reward,
                    row.settled_at,
                )
                for row in rows
                if row.outcome != Outcome.UNUSED
            ]
            return DecisionPage(lines, handle.id(rows[-1].id) if len(rows) == query.limit else None)

        return handle.ledger.look(look)

    return Answer(_encode(await call.service.on(call.study, call.key, work)))


async def explain(call: Call) -> Answer:
    """Why a decision was made."""
    text = call.path["decision"]

    def work(handle: Handle) -> dict[str, object]:
        try:
            found = handle.study.explain(handle.number_of(text))
        except SatisficeError as error:
            raise _worded(error, text) from error
        return found.to_dict() | {"id": text, "sentence": found.sentence_for(text)}

    return Answer(_encode(await call.service.on(call.study, call.key, work, slow=True)))
