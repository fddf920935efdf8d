"""The page of a study over time. It reads the points that are kept, never the log."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from markupsafe import Markup

from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer
from satisfice.service.pages.charts import Chart, Floats, Line, closing, drawn, thin
from satisfice.service.pages.happenings import Happening, happenings
from satisfice.service.pages.looking import look, money_of
from satisfice.service.pages.page import SAFE, Visit
from satisfice.service.pages.studies import head
from satisfice.studies.evidence import Evidence
from satisfice.studies.machine import Machine
from satisfice.studies.series import Point, bands, point_of
from satisfice.studies.status import Status
from satisfice.studies.storages.base import View

# So many of the last happenings are marked.
MARKS = 30
# Colours that can be told apart; further arms begin again.
HUES = 13
# A mean of fewer rewards than this says nothing, and is not drawn.
FEW = 5.0

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Story:
    """What the page shows."""

    status: Status
    xs: Floats
    times: Floats
    charts: list[Chart]
    small: list[tuple[str, int, Markup]]
    marks: list[tuple[int, float, Happening]]
    since: int  # the first decision that there is a point of


def story(handle: Handle, *, pictures: bool = True) -> Story:
    """The points, the lines and what happened."""

    def work(view: View, status: Status) -> Story:
        machine = view.machine
        points = [point for point in view.series() if point.decisions < machine.decisions]
        points.append(point_of(machine, machine.decisions, view.today))
        found = happenings(view.changes(limit=4 * MARKS), [arm.name for arm in machine.arms], machine.segments)[:MARKS][
            ::-1
        ]
        xs = np.array([point.decisions for point in points], dtype=np.float64)
        times = np.array([point.at for point in points])
        marks = []
        for number, one in enumerate(found, 1):
            place = float(np.interp(one.at, times, xs)) if one.decisions is None else float(one.decisions)
            marks.append((number, place, one))
        table = Table(machine, points)
        small = table.small() if pictures else []
        return Story(status, xs, times, table.charts(status), small, marks, points[0].decisions)

    return look(handle, work)


class Table:
    """Points as arrays, (arms, points); nan where an arm was not there yet."""

    def __init__(self, machine: Machine, points: list[Point]) -> None:
        self.machine, self.points = machine, points
        self.xs = np.array([point.decisions for point in points], dtype=np.float64)
        self.order = sorted(range(len(machine.arms)), key=lambda i: (machine.arms[i].retired, machine.price(i)))
        self.asked, self.pulls, self.total, self.spent = (
            self._of(field) for field in ("asked", "pulls", "total", "spent")
        )
        config = machine.config
        self.means = config.offset + (config.high - config.offset) * _over(self.total, self.pulls, FEW)

    def _of(self, field: str) -> Floats:
        rows = [
            [getattr(point.arms[i], field) if i < len(point.arms) else np.nan for point in self.points]
            for i in range(len(self.machine.arms))
        ]
        return np.array(rows, dtype=np.float64)

    def threshold(self) -> Floats:
        """The threshold by the means of each time."""
        config = self.machine.config
        active = self.machine.active
        means = _over(self.total, self.pulls)[active].T
        names = [self.machine.arms[i].name for i in active]
        bars = config.scaled_setting.thresholds(np.where(np.isnan(means), -np.inf, means), names)
        return np.asarray(config.offset + (config.high - config.offset) * np.where(np.isinf(bars), np.nan, bars))

    def charts(self, status: Status) -> list[Chart]:
        """The lines of the page."""
        names = [arm.name for arm in self.machine.arms]
        leader = status.leader

        def lines(values: Floats) -> tuple[Line, ...]:
            return tuple(
                Line(names[i], place % HUES, values[i], names[i] == leader) for place, i in enumerate(self.order)
            )

        steps = _lagged(np.nan_to_num(self.asked), max(len(self.points) // 25, 1))
        lately = _over(steps, np.broadcast_to(steps.sum(axis=0), steps.shape))
        pulls, total = np.nan_to_num(self.pulls), np.nan_to_num(self.total)
        window = max(len(self.points) // 10, 1)
        config = self.machine.config
        recent = _over(_lagged(total, window), _lagged(pulls, window), FEW)
        recent = config.offset + (config.high - config.offset) * recent
        spent = np.nansum(self.spent, axis=0)
        whole = _over(total.sum(axis=0), pulls.sum(axis=0))
        overall = config.offset + (config.high - config.offset) * whole
        money = [Line("spent", 0, spent, True)]
        for place, (what, name) in enumerate(self._compared(status), 1):
            i = self.machine.index(name)
            would = np.array([p.arms[i].would if i < len(p.arms) else np.nan for p in self.points])
            money.append(Line(f"on {what} alone ({name})", 2 * place, would))
            if place == 1:
                money.append(Line("saved", 3, would - spent))
        return [
            Chart("share", "Share of traffic", "Share of the decisions for every arm, between points in time.",
                  lines(lately), percent=True, low=0.0, high=1.0),
            Chart("means", "Mean reward so far", "Mean reward of every arm and of all, of all rewards so far.",
                  (*lines(self.means), Line("all arms", 1, overall))),
            Chart("recent", "Mean reward lately", "Mean reward of every arm among the latest rewards at each time.",
                  lines(recent)),
            Chart("money", "Spend and saving", "What was spent, what one arm alone would have cost, and what is saved.",
                  tuple(money)),
        ]  # fmt: skip

    def _compared(self, status: Status) -> list[tuple[str, str]]:
        return [(against.what, against.arm) for against in money_of(self.machine, status).against][:2]

    def small(self) -> list[tuple[str, int, Markup]]:
        """A small picture for every arm: how its interval closes."""
        machine, config = self.machine, self.machine.config
        evidence = Evidence(machine)
        places = thin(len(self.points), 28)
        points = [self.points[place] for place in places]
        low, high = bands(points, [evidence.allowed(i) for i in range(len(machine.arms))])
        low = np.maximum(config.offset + (config.high - config.offset) * low, config.low)
        high = config.offset + (config.high - config.offset) * high
        xs, means, threshold = self.xs[places], self.means[:, places], self.threshold()[places]
        known = [i for i in self.order if machine.arms[i].pulls >= 20]
        ends = (float(low[known, -1].min()), float(high[known, -1].max())) if known else (config.low, config.high)
        room = 0.5 * (ends[1] - ends[0])
        ends = max(ends[0] - room, config.low), min(ends[1] + room, config.high)
        return [
            (
                machine.arms[i].name,
                place % HUES,
                closing(xs, low[i], high[i], means[i], threshold, ends=ends, hue=place % HUES),
            )
            for place, i in enumerate(self.order)
        ]


def _over(a: Floats, b: Floats, least: float = 1.0) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(b >= least, a / b, np.nan))


def _lagged(values: Floats, window: int) -> Floats:
    """What was added over the last points."""
    before = np.zeros_like(values)
    before[:, window:] = values[:, :-window]
    return values - before


async def over_time(visit: Visit) -> Answer:
    """The page."""
    found = await visit.service.on(visit.study, visit.key, story)
    marks = [(number, place) for number, place, _ in found.marks]
    pictures = [(chart, drawn(chart, found.xs, marks)) for chart in found.charts]
    places = thin(len(found.xs), 9)
    share = found.charts[0]
    return visit.show(
        "time.html",
        head(visit, found.status, "time"),
        pictures=pictures,
        small=found.small,
        marks=found.marks[::-1],
        since=found.since,
        count=len(found.xs),
        table=[(int(found.xs[i]), [float(line.values[i]) for line in share.lines]) for i in places],
        labels=[line.label for line in share.lines],
    )


async def data(visit: Visit) -> Answer:
    """The same as numbers, for browsers that draw by themselves."""
    found = await visit.service.on(visit.study, visit.key, lambda handle: story(handle, pictures=False))

    def plain(values: Floats) -> list[float | None]:
        return [None if np.isnan(value) else float(f"{value:.6g}") for value in values.tolist()]

    body = {
        "x": [int(x) for x in found.xs],
        "charts": {
            chart.id: {
                "percent": chart.percent,
                "lines": [
                    {"label": one.label, "hue": one.hue, "strong": one.strong, "values": plain(one.values)}
                    for one in chart.lines
                ],
            }
            for chart in found.charts
        },
        "marks": [[number, place] for number, place, _ in found.marks],
    }
    return Answer(_encode(body), headers=list(SAFE))
