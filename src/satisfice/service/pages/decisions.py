"""The page of decisions, newest first, and the page of one: why it was made."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass, replace

from markupsafe import Markup

from satisfice.errors import UnknownDecision
from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer
from satisfice.service.pages.looking import look
from satisfice.service.pages.page import Visit
from satisfice.service.pages.pictures import histogram
from satisfice.service.pages.rendering import duration
from satisfice.service.pages.studies import Arm, head, rows_of
from satisfice.service.problems import unknown_decision
from satisfice.studies.config import Config
from satisfice.studies.explain import Explanation
from satisfice.studies.records import Decision, Outcome, Row
from satisfice.studies.series import Point
from satisfice.studies.status import Status
from satisfice.studies.storages.base import View

# Decisions on a page, read at once, and looked through at most for one page.
LINES, CHUNK, MOST = 25, 500, 3_000
# Up to this decision the log is folded for the page at once; later ones take a click.
QUICK = 1_000
# The last decisions, for the page on feedback.
SAMPLE = 1_500
STATES = (Outcome.OPEN, Outcome.TOLD, Outcome.ABANDONED, Outcome.EXPIRED)


@dataclass(frozen=True)
class DecisionRow:
    """A row of the table."""

    id: str
    number: int
    arm: str
    why: str
    row: Row

    @property
    def cost(self) -> float:
        """What it cost."""
        return self.row.cost if self.row.told_cost is None else self.row.told_cost

    @property
    def late(self) -> float | None:
        """How long it took until it was settled."""
        return None if self.row.settled_at is None else max(self.row.settled_at - self.row.at, 0.0)


def _line(handle: Handle, names: list[str], row: Row) -> DecisionRow:
    made = Decision(row.id, names[row.arm], str(row.reason), row.lease, row.subject, row.key, row.session)
    return DecisionRow(handle.id(row.id), row.id, names[row.arm], made.why, row)


@dataclass(frozen=True)
class Part:
    """A part of the log."""

    status: Status
    names: list[str]
    lines: list[DecisionRow]
    following: str | None  # from where on the next page goes
    looked: int  # how many were looked through


async def decisions(visit: Visit) -> Answer:
    """Decisions, newest first."""
    query = visit.query
    wanted = {name: query.get(name, "").strip() for name in ("arm", "state", "subject", "session", "id")}
    if wanted["id"]:
        return visit.go(visit.url("studies", visit.study, "decisions", wanted["id"]))

    def work(handle: Handle) -> Part:
        before = handle.number_of(query["before"]) if query.get("before") else None

        def whole(view: View, status: Status) -> Part:
            names = [arm.name for arm in view.machine.arms]
            rows, following, looked = _search(view, wanted, names, before)
            lines = [_line(handle, names, row) for row in rows]
            return Part(status, names, lines, None if following is None else handle.id(following), looked)

        return look(handle, whole)

    part = await visit.service.on(visit.study, visit.key, work)
    chosen = {name: value for name, value in wanted.items() if value}
    return visit.show(
        "decisions.html",
        head(visit, part.status, "decisions"),
        part=part,
        wanted=wanted,
        states=[str(state) for state in STATES],
        chosen=chosen,
        first=not query.get("before"),
    )


def _search(
    view: View, wanted: dict[str, str], names: list[str], before: int | None
) -> tuple[list[Row], int | None, int]:
    """A page of rows, where the next one goes on, and how many were looked through."""

    def fits(row: Row) -> bool:
        return (
            row.outcome != Outcome.UNUSED
            and (not wanted["arm"] or names[row.arm] == wanted["arm"])
            and (not wanted["state"] or str(row.outcome) == wanted["state"])
            and (not wanted["subject"] or row.subject == wanted["subject"])
            and (not wanted["session"] or row.session == wanted["session"])
        )

    found: list[Row] = []
    looked, size = 0, CHUNK if any(wanted.values()) else 2 * LINES
    what = next((name for name in ("subject", "session") if wanted[name]), None)
    while looked < MOST:
        rows = view.newest(before, size) if what is None else view.whose(what, wanted[what], before, size)
        for row in rows:
            looked, before = looked + 1, row.id
            if fits(row):
                found.append(row)
                if len(found) == LINES:
                    return found, row.id if row.id > 1 else None, looked
        if len(rows) < size:
            return found, None, looked
    return found, before, looked


@dataclass(frozen=True)
class Found:
    """One decision."""

    status: Status
    line: DecisionRow
    exact: Explanation | None
    near: Point | None  # the last point before it
    rows: list[Arm]
    config: Config
    segment: str | None


async def decision(visit: Visit) -> Answer:
    """One decision, why it was made, and what was known then."""
    text = visit.place["decision"]
    wanted = visit.query.get("exact") == "1"

    def work(handle: Handle) -> Found:
        number = handle.number_of(text)

        def whole(view: View, status: Status) -> Found:
            row = view.find((number,)).get(number)
            if row is None:
                raise unknown_decision(text)
            names = [arm.name for arm in view.machine.arms]
            points = [point for point in view.series() if point.decisions < number]
            near = points[-1] if points else None
            segments = view.machine.segments
            segment = segments[row.segment] if segments else None
            line = _line(handle, names, row)
            return Found(status, line, None, near, rows_of(status, points, names), view.config, segment)

        found = look(handle, whole)
        if not wanted and number > QUICK:
            return found
        try:
            exact = handle.study.explain(number)
        except UnknownDecision as error:
            raise unknown_decision(text) from error
        return replace(found, exact=exact)

    found = await visit.service.on(visit.study, visit.key, work, slow=wanted)
    known = None
    if found.exact is None and found.near is not None:
        config = found.config
        known = [
            (name, sums.pulls, config.unscale(sums.total / sums.pulls) if sums.pulls else None, sums.asked)
            for name, sums in zip([arm.name for arm in found.status.arms], found.near.arms, strict=False)
        ]
    return visit.show("decision.html", head(visit, found.status, "decisions"), found=found, known=known)


# Feedback


@dataclass(frozen=True)
class Feedback:
    """What came back of the last decisions for one arm."""

    arm: Arm
    looked: int
    told: int
    open: int
    abandoned: int
    expired: int
    median: float | None
    slow: float | None  # nine of ten came faster


@dataclass(frozen=True)
class Echo:
    """What came back."""

    status: Status
    lines: list[Feedback]
    sample: int
    bars: Markup | None
    oldest: float | None
    waiting: int  # decisions that proofs wait with
    config: Config


def _feedback(row: Arm, rows: list[Row]) -> Feedback:
    delays = sorted(
        one.settled_at - one.at for one in rows if one.outcome == Outcome.TOLD and one.settled_at is not None
    )
    counts = {state: sum(one.outcome == state for one in rows) for state in STATES}
    return Feedback(
        row, len(rows), counts[Outcome.TOLD], counts[Outcome.OPEN], counts[Outcome.ABANDONED], counts[Outcome.EXPIRED],
        statistics.median(delays) if delays else None, delays[int(0.9 * (len(delays) - 1))] if delays else None,
    )  # fmt: skip


EDGES = (1.0, 10.0, 60.0, 600.0, 3600.0, 6 * 3600.0, 86_400.0, 7 * 86_400.0)


def delays_of(rows: list[Row]) -> list[tuple[str, int]]:
    """How late rewards were, in steps; empty ones at the ends are left out."""
    late = [row.settled_at - row.at for row in rows if row.outcome == Outcome.TOLD and row.settled_at is not None]
    edges = (0.0, *EDGES, float("inf"))
    bars = []
    for low, high in itertools.pairwise(edges):
        label = f"above {duration(low)}" if high == float("inf") else f"to {duration(high)}"
        bars.append((label, sum(low <= delay < high for delay in late)))
    full = [place for place, (_, count) in enumerate(bars) if count]
    return bars[: full[-1] + 1] if full else []


async def feedback(visit: Visit) -> Answer:
    """Whether what was decided is answered: the page that shows a broken integration."""

    def work(handle: Handle) -> Echo:
        def whole(view: View, status: Status) -> Echo:
            machine = view.machine
            names = [arm.name for arm in machine.arms]
            rows = [row for row in view.newest(limit=SAMPLE) if row.outcome != Outcome.UNUSED]
            of_arm: dict[str, list[Row]] = {name: [] for name in names}
            for row in rows:
                of_arm[names[row.arm]].append(row)
            lines = [_feedback(arm, of_arm[arm.status.name]) for arm in rows_of(status, [], names)]
            first = machine.frontier.last + 1
            oldest = next((view.today - row.at for row in view.rows(first, first + 500) if row.outcome == "open"), None)
            bars = delays_of(rows)
            waiting = machine.decisions - machine.frontier.last
            return Echo(status, lines, len(rows), histogram(bars) if bars else None, oldest, waiting, view.config)

        return look(handle, whole)

    echo = await visit.service.on(visit.study, visit.key, work)
    settled = sum(arm.pulls + arm.dropped for arm in echo.status.arms)
    return visit.show(
        "feedback.html",
        head(visit, echo.status, "feedback"),
        echo=echo,
        pending=sum(arm.pending for arm in echo.status.arms),
        dropped=sum(arm.dropped for arm in echo.status.arms),
        settled=settled,
    )
