"""The pictures of a study at one moment: intervals and the threshold, costs and quality, how late rewards are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from satisfice.service.pages.drawing import Scale, said, tag
from satisfice.service.pages.rendering import amount, mean
from satisfice.studies.status import ArmStatus

# A sign for each verdict, so that nothing is said by colour alone.
SIGNS = {
    "certified": "✓",
    "leading": "▲",
    "open": "○",
    "refuted": "✕",
    "dearer": "≥",
    "unanswered": "!",
    "retired": "–",
}
WORDS = {
    "certified": "certified",
    "leading": "leading",
    "open": "open",
    "refuted": "not good enough",
    "dearer": "dearer than the reference",
    "unanswered": "does not answer",
    "retired": "retired",
}


@dataclass(frozen=True)
class Span:
    """The values that a picture shows."""

    low: float
    high: float

    @classmethod
    def of(cls, arms: Sequence[ArmStatus], threshold: float, low: float, high: float) -> Span:
        """Where the arms' means and the nearer part of their intervals lie; all that is possible where nothing is
        known. An interval that is much wider than the others leads out of the picture."""
        known = [arm for arm in arms if arm.pulls >= 20] or [arm for arm in arms if arm.pulls]
        if not known:
            return cls(low, high)
        values = [arm.mean for arm in known] + [end for arm in known for end in arm.interval]
        if not math.isnan(threshold):
            values.append(threshold)
        room = 0.04 * (max(values) - min(values) or high - low)
        return cls(max(min(values) - room, low), min(max(values) + room, high))


WIDE, TALL = 240.0, 22.0


def interval(arm: ArmStatus, span: Span, threshold: float) -> Markup:
    """The interval of one arm on the scale of all, with the threshold as a line."""
    scale = Scale(span.low, span.high, 2.0, WIDE - 2.0)
    parts = []
    if not math.isnan(threshold):
        x = scale(threshold)
        parts.append(tag("path", d=f"M{x:.1f} 0V{TALL:.0f}", class_="threshold"))
    low, high = scale(arm.interval[0]), scale(arm.interval[1])
    middle = TALL / 2
    known = "" if arm.pulls else " unknown"
    parts.append(tag("path", d=f"M{low:.1f} {middle}H{high:.1f}", class_=f"whisker {arm.verdict}{known}"))
    for end, value in ((low, arm.interval[0]), (high, arm.interval[1])):
        if span.low <= value <= span.high:
            parts.append(tag("path", d=f"M{end:.1f} {middle - 5}V{middle + 5}", class_=f"whisker {arm.verdict}{known}"))
    if arm.pulls:
        parts.append(tag("circle", cx=scale(arm.mean), cy=middle, r=4.5, class_=f"dot {arm.verdict}"))
    about = f"mean {mean(arm.mean)}, between {mean(arm.interval[0])} and {mean(arm.interval[1])}"
    return tag("svg", *parts, viewBox=f"0 0 {WIDE:.0f} {TALL:.0f}", class_="interval", role="img", aria_label=about)


def plane(arms: Sequence[ArmStatus], span: Span, threshold: float, good: Sequence[str]) -> Markup:
    """Costs against mean rewards. Arms have the numbers that they have in the table; `good` names those that are, or
    seem to be, good enough."""
    width, height, left, bottom, top, right = 460.0, 320.0, 46.0, 36.0, 12.0, 14.0
    shown = [(number, arm) for number, arm in enumerate(arms, 1) if arm.verdict != "retired"]
    costs = [arm.cost for _, arm in shown]
    low, high = min(costs), max(costs)
    log = low > 0 and high / low > 12
    room = 1.25 if log else 0.08 * (high - low or 1.0)
    x = Scale(
        *((low / room, high * room) if log else (max(low - room, 0.0), high + room)), left, width - right, log=log
    )
    y = Scale(span.low, span.high, height - bottom, top)
    parts = []
    if not math.isnan(threshold):
        edge = y(threshold)
        size = {"width": width - right - left, "height": edge - top}
        parts.append(tag("rect", x=left, y=top, class_="enough", **size))
    for value in y.ticks():
        parts.append(tag("path", d=f"M{left} {y(value):.1f}H{width - right}", class_="grid"))
        parts.append(tag("text", said(value), x=left - 6, y=y(value) + 4, class_="tick end"))
    for value in x.ticks():
        parts.append(tag("path", d=f"M{x(value):.1f} {height - bottom}v4", class_="axis"))
        parts.append(tag("text", said(value), x=x(value), y=height - bottom + 16, class_="tick middle"))
    parts.append(tag("path", d=f"M{left} {height - bottom}H{width - right}", class_="axis"))
    parts.append(tag("text", "cost of one decision" + (" (log)" if log else ""), x=width - right, y=height - 4.0,
                     class_="tick end"))  # fmt: skip
    if not math.isnan(threshold):
        edge = y(threshold)
        parts.append(tag("path", d=f"M{left} {edge:.1f}H{width - right}", class_="threshold"))
    placed: list[tuple[float, float]] = []
    for number, arm in sorted(shown, key=lambda pair: -pair[1].pulls):
        cx = x(arm.cost)
        cy = y(arm.mean) if arm.pulls else y(0.5 * (span.low + span.high))
        while any(abs(cx - a) < 13 and abs(cy - b) < 13 for a, b in placed):
            cx += 6.5
        placed.append((cx, cy))
        about = f"{number}. {arm.name}: cost {amount(arm.cost)}, mean {mean(arm.mean)}, {WORDS[arm.verdict]}"
        known = "" if arm.pulls else " unknown"
        ends = f"M{cx:.1f} {y(arm.interval[0]):.1f}V{y(arm.interval[1]):.1f}"
        fine = " fine" if arm.name in good else ""
        parts.append(
            tag(
                "g",
                tag("title", about),
                tag("path", d=ends, class_=f"whisker {arm.verdict}{known}"),
                tag("circle", cx=cx, cy=cy, r=9.0, class_=f"spot {arm.verdict}{known}{fine}"),
                tag("text", number, x=cx, y=cy + 4, class_=f"spot-number {arm.verdict}"),
            )
        )
    if not math.isnan(threshold):
        edge = y(threshold)
        words = f"good enough: {mean(threshold)} and more"
        long = 6.4 * len(words)
        # Where no arm is in the way, if there is such a place.
        places = [
            (left + 6, edge - 6, "start"),
            (width - right - 6, edge - 6, "end"),
            (left + 6, edge + 15, "start"),
            (width - right - 6, edge + 15, "end"),
            (left + 6, top + 13, "start"),
        ]
        free = [
            (x0, y0, end)
            for x0, y0, end in places
            if y0 - 10 > top - 4
            and not any(
                (x0 - long * (end == "end") - 10 < a < x0 + long * (end == "start") + 10) and -22 < y0 - b < 14
                for a, b in placed
            )
        ]
        x0, y0, end = (free or places)[0]
        parts.append(tag("text", words, x=x0, y=y0, class_=f"tick note{' end' if end == 'end' else ''}"))
    about = "Arms by cost and mean reward. The table has the same numbers."
    return tag("svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", class_="plane", role="img", aria_label=about)


def histogram(bars: Sequence[tuple[str, int]]) -> Markup:
    """How many there are of each, as bars with their numbers."""
    width, row, left = 420.0, 22.0, 96.0
    most = max((count for _, count in bars), default=1) or 1
    parts = []
    for place, (label, count) in enumerate(bars):
        y = place * row
        length = (width - left - 60.0) * count / most
        parts.append(tag("text", label, x=left - 8, y=y + 15, class_="tick end"))
        size = {"width": max(length, 1.0 if count else 0.0), "height": row - 6}
        parts.append(tag("rect", x=left, y=y + 3, class_="bar", **size))
        parts.append(tag("text", f"{count:,}", x=left + length + 6, y=y + 15, class_="tick"))
    height = row * len(bars)
    about = "; ".join(f"{label}: {count:,}" for label, count in bars)
    return tag("svg", *parts, viewBox=f"0 0 {width:.0f} {height:.0f}", class_="histogram", role="img", aria_label=about)
