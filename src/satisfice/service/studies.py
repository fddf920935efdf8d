"""Calls about studies as such: make, list, see, change, delete."""

from __future__ import annotations

import re

import msgspec
from msgspec import UNSET

from satisfice.errors import InvalidPolicy, UnknownStudy
from satisfice.policies.places import is_place
from satisfice.problem import Setting
from satisfice.service.core import Handle, Service
from satisfice.service.endpoint import Answer, Call
from satisfice.service.keys import Key
from satisfice.service.problems import Problem, unknown_study
from satisfice.service.schemas import (
    NewStudy,
    PolicyTerms,
    StudiesQuery,
    StudyChange,
    StudyLine,
    StudyName,
    StudyPage,
    StudyTerms,
)
from satisfice.studies import create_study
from satisfice.studies.changer import signed
from satisfice.words import shown

_encode = msgspec.json.Encoder().encode
_NAME = re.compile(StudyName.__metadata__[0].pattern)  # type: ignore[attr-defined]


def terms(handle: Handle) -> StudyTerms:
    """A study as it is described."""
    data = handle.study.config.to_dict()

    def look(view):  # type: ignore[no-untyped-def]
        machine = view.machine
        arms = {machine.arms[i].name: machine.price(i) for i in machine.active}
        return arms, machine.paused, machine.ended

    arms, paused, ended = handle.ledger.look(look)
    return msgspec.convert({**data, "arms": arms, "paused": paused, "closed": ended}, StudyTerms)


async def create(call: Call) -> Answer:
    """Make a study."""
    new: NewStudy = call.body
    made = await call.service.run(lambda: terms(make_study(call.service, call.key, new)))
    return Answer(_encode(made), 201, headers=[(b"location", f"/v1/studies/{new.name}".replace(" ", "%20").encode())])


def make_study(service: Service, key: Key, new: NewStudy) -> Handle:
    """Make a study that the key will see. Raises a `Problem`."""
    if not _NAME.fullmatch(new.name):
        raise Problem("invalid-request", "body: the name has a character that is not allowed", place="$.name")
    if not key.sees(new.name):
        raise Problem("forbidden", "this key is for other studies")
    policy = new.policy if isinstance(new.policy, str) else _label(new.policy)
    if is_place(policy):  # loading it would run a file of this machine
        raise InvalidPolicy(
            f"policy = {shown(policy)}; a service knows policies by their ids. Whoever runs it loads others with "
            "SATISFICE_POLICIES"
        )
    options = {
        name: getattr(new, name)
        for name in new.__struct_fields__
        if name not in ("name", "arms", "setting", "policy", "rewards", "cost_range")
    }
    create_study(
        new.name,
        new.arms,
        Setting.from_dict(msgspec.to_builtins(new.setting)),
        policy,
        service.storage,
        rewards=(0.0, 1.0) if new.rewards is None else (new.rewards[0], new.rewards[1]),
        cost_range=None if new.cost_range is None else (new.cost_range[0], new.cost_range[1]),
        **options,
    )
    service.forget(new.name)
    return service.handle(new.name, key)


def _label(policy: PolicyTerms) -> str:
    params = ", ".join(f"{name}={value!r}" for name, value in policy.params.items())
    return f"{policy.id}({params})" if params else policy.id


async def page(call: Call) -> Answer:
    """Some of the studies."""
    query: StudiesQuery = call.query
    return Answer(_encode(await call.service.run(lambda: _page(call.service, call.key, query))))


def _page(service: Service, key: Key, query: StudiesQuery) -> StudyPage:
    if key.studies is None:
        found = service.storage.page(query.after, query.limit)
    else:
        found = []
        for name in key.studies:
            try:
                found.append((service.storage.open(name).study, name))
            except UnknownStudy:
                continue
        found = [pair for pair in sorted(found) if pair[0] > query.after][: query.limit]
    following = found[-1][0] if len(found) == query.limit else None
    return StudyPage([StudyLine(name) for _, name in found], following)


async def show(call: Call) -> Answer:
    """A study."""
    return Answer(_encode(await call.service.on(call.study, call.key, terms)))


async def change(call: Call) -> Answer:
    """Change a study."""
    wanted: StudyChange = call.body

    def work(handle: Handle) -> StudyTerms:
        with signed(call.key.named):
            return carry_out(handle, wanted)

    return Answer(_encode(await call.service.on(call.study, call.key, work)))


def carry_out(handle: Handle, wanted: StudyChange) -> StudyTerms:
    """Change a study; answers with what it is then."""
    study = handle.study
    if wanted.closed is False:
        study.reopen()
    if wanted.costs is not UNSET:
        for arm, cost in wanted.costs.items():
            study.set_cost(arm, cost)
    if wanted.add is not UNSET:
        for arm, cost in wanted.add.items():
            study.add_arm(arm, cost)
    if wanted.retire is not UNSET:
        for arm in wanted.retire:
            study.retire_arm(arm)
    if wanted.paused is not UNSET:
        if wanted.paused:
            study.pause()
        else:
            study.resume()
    if wanted.closed is True:
        study.end()
    return terms(handle)


async def delete(call: Call) -> Answer:
    """Delete a study."""
    service, name = call.service, call.study

    def work() -> None:
        if not call.key.sees(name):
            raise unknown_study(name)
        try:
            service.storage.delete(name)
        except UnknownStudy:
            raise unknown_study(name) from None
        finally:
            service.forget(name)

    await service.run(work)
    return Answer(status=204)
