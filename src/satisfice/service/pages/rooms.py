"""Every page, in one table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.routing import BaseRoute, Route

from satisfice.service.core import Service
from satisfice.service.endpoint import Answer
from satisfice.service.pages import changes, creating, decisions, entering, over_time, settings, studies, what_if
from satisfice.service.pages.live import live
from satisfice.service.pages.looking import Glances
from satisfice.service.pages.page import Page, Room, Visit
from satisfice.service.pages.rendering import static_files
from satisfice.service.pages.sessions import Sessions, kept_in
from satisfice.service.problems import Problem

STUDY = "/studies/{study}"
FOREVER = b"public, max-age=31536000, immutable"


async def static(visit: Visit) -> Answer:
    """A file that pages need. Its address has a stamp of what is in it, so it may be kept."""
    found = static_files().get(visit.place["file"])
    if found is None:
        raise Problem("not-found", "there is nothing at this address")
    return Answer(found[0], 200, found[1], [(b"cache-control", FOREVER)])


def rooms(glances: Glances) -> tuple[Room, ...]:
    """The pages."""

    def shared(work: Callable[[Glances, Visit], Awaitable[Answer]]) -> Callable[[Visit], Awaitable[Answer]]:
        return partial(work, glances)

    return (
        Room("/", shared(studies.studies)),
        Room("/static/{stamp}/{file}", static, scope=None),
        Room("/sign-in", entering.form, entering.sign_in, scope=None, change=None),
        Room("/sign-out", None, entering.sign_out, change=None),
        Room("/new", creating.form, creating.create, scope="admin"),
        Room(STUDY, studies.study),
        Room(f"{STUDY}/live", shared(live)),
        Room(f"{STUDY}/time", over_time.over_time),
        Room(f"{STUDY}/time.json", over_time.data),
        Room(f"{STUDY}/decisions", decisions.decisions),
        Room(f"{STUDY}/decisions/{{decision}}", decisions.decision),
        Room(f"{STUDY}/feedback", decisions.feedback),
        Room(f"{STUDY}/what-if", what_if.what_if),
        Room(f"{STUDY}/changes", changes.changes),
        Room(f"{STUDY}/settings", settings.get, shared(settings.post)),
        Room(f"{STUDY}/export", settings.export),
    )


def page_routes(service: Service) -> list[BaseRoute]:
    """The pages as routes of an application."""
    sessions = Sessions(kept_in(service.storage), service.keys)
    return [Route(room.path, Page(service, sessions, room)) for room in rooms(Glances(service))]
