"""The page of all studies, and the page of one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer
from satisfice.service.pages.looking import (
    Glance,
    Glances,
    Money,
    asked,
    by_cost,
    good_enough,
    look,
    money_of,
    standing,
)
from satisfice.service.pages.page import Visit
from satisfice.service.pages.pictures import SIGNS, WORDS, Span, interval, plane
from satisfice.studies.config import Config
from satisfice.studies.series import Point
from satisfice.studies.status import ArmStatus, Status
from satisfice.studies.storages.base import View

# Studies on a page, and how old a line of it may be, in seconds.
LINES, OLD = 12, 5.0

TABS = (
    ("", "Study"),
    ("time", "Over time"),
    ("decisions", "Decisions"),
    ("feedback", "Feedback"),
    ("what-if", "What if"),
    ("changes", "Changes"),
    ("settings", "Settings"),
)


async def studies(glances: Glances, visit: Visit) -> Answer:
    """All studies, newest first, a page at a time."""
    wanted = visit.query.get("q", "").strip()
    number = visit.query.get("page", "1")
    page = max(int(number), 1) if number.isdigit() and len(number) < 8 else 1
    service, key = visit.service, visit.key

    def work() -> tuple[int, list[Glance], int]:
        names = service.storage.names()
        found = [name for name in names if key.sees(name) and wanted.casefold() in name.casefold()][::-1]
        part = found[(page - 1) * LINES : page * LINES]
        seen = (glances.at(name, key, OLD) for name in part)
        return len(found), [one for one in seen if one is not None], sum(map(key.sees, names))

    count, lines, known = await service.run(work)
    pages = max(math.ceil(count / LINES), 1)
    return visit.show(
        "studies.html", lines=lines, count=count, known=known, q=wanted, page=page, pages=pages, standing=standing,
        done=visit.query.get("done", ""),
    )  # fmt: skip


@dataclass(frozen=True)
class Arm:
    """A row of the table of arms."""

    number: int
    status: ArmStatus
    share: float
    lately: float
    good: bool

    @property
    def sign(self) -> str:
        """The sign of its verdict."""
        return SIGNS.get(self.status.verdict, "○")

    @property
    def word(self) -> str:
        """Its verdict in words."""
        return WORDS.get(self.status.verdict, self.status.verdict)


def rows_of(status: Status, points: list[Point], names: list[str]) -> list[Arm]:
    """The arms from cheapest to dearest. `names` are those of the study's arms, in its own order."""
    count = sum(map(asked, status.arms))
    # Lately: since the last point with at most nine tenths of the decisions.
    past = next((point for point in reversed(points) if point.decisions <= 0.9 * status.spending.decisions), None)
    good, rows = set(good_enough(status)), []
    for number, arm in enumerate(by_cost(status), 1):
        place = names.index(arm.name)
        before = past.arms[place].asked if past is not None and place < len(past.arms) else 0
        since = count - (sum(sums.asked for sums in past.arms) if past is not None else 0)
        lately = (asked(arm) - before) / since if since > 0 else math.nan
        share = asked(arm) / count if count else math.nan
        rows.append(Arm(number, arm, share, lately, arm.name in good))
    return rows


def head(visit: Visit, status: Status, room: str) -> dict[str, object]:
    """What every page of a study begins with."""
    word, colour = standing(status)
    return {"name": status.study, "status": status, "word": word, "colour": colour, "room": room, "tabs": TABS}


async def study(visit: Visit) -> Answer:
    """One study: the verdict, the arms, costs against quality, the money."""

    def work(handle: Handle) -> tuple[Status, list[Arm], Money, Config]:
        def whole(view: View, status: Status) -> tuple[Status, list[Arm], Money, Config]:
            machine = view.machine
            names = [arm.name for arm in machine.arms]
            return status, rows_of(status, view.series(), names), money_of(machine, status), view.config

        return look(handle, whole)

    status, rows, money, config = await visit.service.on(visit.study, visit.key, work)
    threshold = status.verdict.threshold
    span = Span.of(status.arms, threshold, config.low, config.high)
    arms = [row.status for row in rows]
    return visit.show(
        "study.html",
        head(visit, status, ""),
        rows=[(row, interval(row.status, span, threshold)) for row in rows],
        plane=plane(arms, span, threshold, good_enough(status)) if len(arms) > len_retired(arms) else None,
        span=span,
        threshold=threshold,
        money=money,
        config=config,
        done=visit.query.get("done", ""),
    )


def len_retired(arms: list[ArmStatus]) -> int:
    """How many arms are retired."""
    return sum(arm.verdict == "retired" for arm in arms)
