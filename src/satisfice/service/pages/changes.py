"""The page of changes: who changed what and when, and what was found."""

from __future__ import annotations

from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer
from satisfice.service.pages.happenings import Happening, happenings
from satisfice.service.pages.looking import look
from satisfice.service.pages.page import Visit
from satisfice.service.pages.studies import head
from satisfice.studies.status import Status
from satisfice.studies.storages.base import View

LINES = 30


async def changes(visit: Visit) -> Answer:
    """What happened, newest first."""
    text = visit.query.get("before", "")
    before = int(text) if text.isdigit() and len(text) < 18 else None

    def work(handle: Handle) -> tuple[Status, list[Happening], int | None]:
        def whole(view: View, status: Status) -> tuple[Status, list[Happening], int | None]:
            # One more than is shown, to know what was proved before.
            events = view.changes(before, LINES + 1)
            names = [arm.name for arm in view.machine.arms]
            found = happenings(events, names, view.machine.segments)
            more = events[LINES - 1].seq if len(events) > LINES else None
            return status, [one for one in found if more is None or one.seq >= more], more

        return look(handle, whole)

    status, found, following = await visit.service.on(visit.study, visit.key, work)
    return visit.show(
        "changes.html", head(visit, status, "changes"), found=found, following=following, first=before is None
    )
