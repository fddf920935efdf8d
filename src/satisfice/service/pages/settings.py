"""The page on which a study is changed: costs, arms, pause, close, copy, delete, export, keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec import UNSET

from satisfice.errors import SatisficeError
from satisfice.service import observing
from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer, Call
from satisfice.service.keys import SCOPES, Key, make_key
from satisfice.service.pages.looking import Glances, by_cost, look
from satisfice.service.pages.page import Visit
from satisfice.service.pages.studies import head
from satisfice.service.pages.what_if import number
from satisfice.service.problems import Problem, problem_of
from satisfice.service.schemas import ExportQuery, StudyChange
from satisfice.service.studies import carry_out
from satisfice.studies.changer import signed
from satisfice.studies.config import Config
from satisfice.studies.status import Status


@dataclass(frozen=True)
class Terms:
    """What the page shows."""

    status: Status
    config: Config


def _seen(handle: Handle) -> Terms:
    return look(handle, lambda view, status: Terms(status, view.config))


async def page(visit: Visit, *, error: str | None = None, made: str | None = None, code: int = 200) -> Answer:
    """The page."""
    terms = await visit.service.on(visit.study, visit.key, _seen)
    keys: list[Key] | None = None
    if visit.admin and visit.key.studies is None:
        keys = [key for key in await visit.service.run(visit.service.keys.all) if key.sees(visit.study)]
    setting = terms.config.setting
    return visit.show(
        "settings.html",
        head(visit, terms.status, "settings"),
        code,
        arms=by_cost(terms.status),
        config=terms.config,
        keys=keys,
        scopes=SCOPES,
        error=error,
        made=made,
        done=visit.query.get("done", ""),
        can_pause=terms.config.baseline is not None or setting.reference is not None,
    )


async def get(visit: Visit) -> Answer:
    """The page."""
    return await page(visit)


async def post(glances: Glances, visit: Visit) -> Answer:
    """Do what a form of the page says."""
    what = visit.said("do")
    deed = DEEDS.get(what)
    try:
        if deed is None:
            raise Problem("invalid-request", f"{what!r} is nothing that can be done here")
        answer = await deed(visit)
    except (Problem, SatisficeError) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        if problem.kind in ("unknown-study", "storage", "outcome-unknown", "forbidden"):
            raise
        detail = problem.detail[:1].upper() + problem.detail[1:]
        return await page(visit, error=detail.rstrip(".") + ". Nothing was changed.", code=problem.status)
    finally:
        glances.forget(visit.study)
    return answer


async def _change(visit: Visit, wanted: StudyChange, done: str) -> Answer:
    def work(handle: Handle) -> None:
        with signed(visit.key.named):
            carry_out(handle, wanted)

    await visit.service.on(visit.study, visit.key, work)
    return visit.go(visit.url("studies", visit.study, "settings", done=done))


async def _prices(visit: Visit) -> Answer:
    costs = {
        name.removeprefix("price."): number(values[-1].strip(), f"the price of {name.removeprefix('price.')!r}")
        for name, values in visit.form.items()
        if name.startswith("price.") and values[-1].strip()
    }
    return await _change(visit, StudyChange(costs=costs or UNSET), "price")


async def _add(visit: Visit) -> Answer:
    arm = visit.said("arm")
    if not arm:
        raise Problem("invalid-request", "an arm needs a name")
    return await _change(visit, StudyChange(add={arm: number(visit.said("cost"), "the cost")}), "add")


async def _retire(visit: Visit) -> Answer:
    return await _change(visit, StudyChange(retire=[visit.said("arm")]), "retire")


async def _pause(visit: Visit) -> Answer:
    return await _change(visit, StudyChange(paused=True), "pause")


async def _resume(visit: Visit) -> Answer:
    return await _change(visit, StudyChange(paused=False), "resume")


async def _close(visit: Visit) -> Answer:
    return await _change(visit, StudyChange(closed=True), "close")


async def _reopen(visit: Visit) -> Answer:
    return await _change(visit, StudyChange(closed=False), "reopen")


async def _copy(visit: Visit) -> Answer:
    name, learned = visit.said("name"), visit.said("learned") == "1"
    if not visit.key.sees(name):
        raise Problem("invalid-request", "this key is for other studies, and could not see the copy")
    await visit.service.on(visit.study, visit.key, lambda handle: handle.study.copy(name, learned=learned), slow=True)
    return visit.go(visit.url("studies", name, done="copy"))


async def _delete(visit: Visit) -> Answer:
    if visit.said("name") != visit.study:
        raise Problem("invalid-request", f"type the name of the study, {visit.study}, to delete it")
    service, name = visit.service, visit.study

    def work(handle: Handle) -> None:
        service.storage.delete(name)

    try:
        await service.on(name, visit.key, work)
    finally:
        service.forget(name)
    return visit.go(visit.url("", done="delete"))


def _keeper(visit: Visit) -> None:
    if visit.key.studies is not None:
        raise Problem("forbidden", "a key for some studies makes no keys")


async def _make_key(visit: Visit) -> Answer:
    _keeper(visit)
    label = visit.said("label")
    if not label or len(label) > 200:
        raise Problem("invalid-request", "a key needs a name of 1 to 200 characters: who or what is it for?")
    studies = [visit.study] if visit.said("where") == "here" else None
    text, key = make_key(label, visit.form.get("scope", []), studies, visit.said("rate") or None)
    await visit.service.run(lambda: visit.service.keys.add(key))
    return await page(visit, made=text)


async def _revoke_key(visit: Visit) -> Answer:
    _keeper(visit)
    prefix = visit.said("prefix")
    if prefix == visit.key.prefix:
        raise Problem("invalid-request", "this is the key that you are signed in with; revoke it with another")
    if not await visit.service.run(lambda: visit.service.keys.revoke(prefix)):
        raise Problem("invalid-request", f"there is no valid key sf_{prefix}")
    visit.service.door.forget(prefix)
    return visit.go(visit.url("studies", visit.study, "settings", done="revoke"))


DEEDS: dict[str, Callable[[Visit], Awaitable[Answer]]] = {
    "prices": _prices,
    "add": _add,
    "retire": _retire,
    "pause": _pause,
    "resume": _resume,
    "close": _close,
    "reopen": _reopen,
    "copy": _copy,
    "delete": _delete,
    "make-key": _make_key,
    "revoke-key": _revoke_key,
}


async def export(visit: Visit) -> Answer:
    """The log as a file."""
    form = "csv" if visit.query.get("format") == "csv" else "parquet"
    path = {"study": visit.study}
    return await observing.export(Call(visit.service, visit.key, path, None, ExportQuery(form), visit.headers))  # type: ignore[arg-type]
