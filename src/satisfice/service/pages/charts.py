"""Pictures of a study over time: lines with marks where something happened, and how intervals close."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from satisfice.service.pages.drawing import Scale, band, line, said, tag
from satisfice.service.pages.rendering import mean

Floats = NDArray[np.float64]
# So many points of a line are drawn in a page; the whole of it is for browsers that ask.
DRAWN = 48


@dataclass(frozen=True)
class Line:
    """A line of a chart. `hue` is the number of its colour, and of its dashes."""

    label: str
    hue: int
    values: Floats
    strong: bool = False


@dataclass(frozen=True)
class Chart:
    """Some lines over the number of decisions."""

    id: str
    title: str
    about: str
    lines: tuple[Line, ...]
    percent: bool = False
    low: float | None = None  # where the axis begins and ends, if that is fixed
    high: float | None = None


def thin(count: int, most: int = DRAWN) -> list[int]:
    """At most so many of the places 0, ..., count - 1, with both ends.

    Examples
    --------
    >>> thin(3), thin(10, 4)
    ([0, 1, 2], [0, 3, 6, 9])
    """
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def drawn(chart: Chart, xs: Floats, marks: Sequence[tuple[int, float]]) -> Markup:
    """The chart. `marks`: number and place of what happened."""
    width, height, left, right, top, bottom = 460.0, 230.0, 44.0, 10.0, 20.0, 24.0
    places = thin(len(xs))
    values = np.concatenate([one.values for one in chart.lines] or [np.zeros(1)])
    values = values[np.isfinite(values)]
    low = chart.low if chart.low is not None else float(values.min()) if len(values) else 0.0
    high = chart.high if chart.high is not None else float(values.max()) if len(values) else 1.0
    if chart.low is None and chart.high is None and len(values):
        room = 0.05 * (high - low or abs(high) or 1.0)
        low, high = low - room, high + room
    x = Scale(0.0, max(float(xs[-1]), 1.0), left, width - right)
    y = Scale(low, high, height - bottom, top)
    parts = []
    for value in y.ticks(4):
        words = f"{100 * value:g}%" if chart.percent else said(value)
        parts.append(tag("path", d=f"M{left} {y(value):.1f}H{width - right}", class_="grid"))
        parts.append(tag("text", words, x=left - 6, y=y(value) + 4, class_="tick end"))
    for value in x.ticks(4):
        parts.append(tag("text", said(value), x=x(value), y=height - 6, class_="tick middle"))
    for number, at in marks:
        parts.append(tag("path", d=f"M{x(at):.1f} {top - 4}V{height - bottom}", class_="mark"))
        parts.append(tag("text", number, x=x(at), y=top - 7, class_="tick middle mark-number"))
    for one in chart.lines:
        path = line([x(float(xs[i])) for i in places], [_y(y, float(one.values[i])) for i in places])
        parts.append(tag("path", d=path, class_=f"line hue{one.hue}{' strong' if one.strong else ''}"))
    return tag(
        "svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", class_="chart", role="img", aria_label=chart.about
    )


def _y(scale: Scale, value: float) -> float:
    return math.nan if math.isnan(value) else scale(value)


def closing(
    xs: Floats, low: Floats, high: Floats, means: Floats, threshold: Floats, *, ends: tuple[float, float], hue: int
) -> Markup:
    """How the interval of one arm closes, with the threshold."""
    width, height = 220.0, 70.0
    places = thin(len(xs), 28)
    x = Scale(0.0, max(float(xs[-1]), 1.0), 2.0, width - 2.0)
    y = Scale(*ends, height - 3.0, 3.0)
    across = [x(float(xs[i])) for i in places]
    outline = band(across, [y(float(low[i])) for i in places], [y(float(high[i])) for i in places])
    parts = [
        tag("path", d=outline, class_=f"band hue{hue}"),
        tag("path", d=line(across, [_y(y, float(threshold[i])) for i in places]), class_="threshold"),
        tag("path", d=line(across, [_y(y, float(means[i])) for i in places]), class_=f"line hue{hue} solid"),
    ]
    about = f"From {mean(float(low[0]))} to {mean(float(high[0]))} at first, {mean(float(low[-1]))} to "
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        class_="closing",
        role="img",
        aria_label=about + f"{mean(float(high[-1]))} now",
    )
