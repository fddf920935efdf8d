"""The four pictures of an analysis: quality, price against quality, who is right, and how it went along the log."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from satisfice.instances.doubt import share
from satisfice.plots import COLOURS, new_figure, readable
from satisfice.words import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from satisfice.analysis.result import AnalysedArm, Analysis

BLUE, ORANGE, GREY, LIGHT = COLOURS[0], COLOURS[1], "#6b7280", "#c5cbd3"
MOST = 14  # arms in a picture: those that matter most


def four(analysis: Analysis) -> Figure:
    """All four in one figure."""
    figure, axes = new_figure(2, 2, width=5.6, height=_height(analysis))
    for ax, (_, draw) in zip(axes, PICTURES, strict=True):
        draw(analysis, ax)
    return figure


def each(analysis: Analysis) -> list[tuple[str, Figure]]:
    """The four, one figure each, with what they show."""
    result = []
    for title, draw in PICTURES:
        figure, (ax,) = new_figure(1, 1, width=5.2, height=_height(analysis))
        draw(analysis, ax)
        result.append((title, figure))
    return result


def _height(analysis: Analysis) -> float:
    return max(3.2, 0.9 + 0.28 * len(_shown(analysis)))


def _shown(a: Analysis) -> list[AnalysedArm]:
    """The arms to draw, by cost: all, or those that are likely to be right or good."""
    if len(a.arms) <= MOST:
        return list(a.arms)
    weight = sorted(a.arms, key=lambda arm: (arm.name != a.choice, -arm.belief, -arm.mean))[:MOST]
    return [arm for arm in a.arms if arm in weight]


def _colour(a: Analysis, arm: AnalysedArm) -> str:
    return BLUE if arm.name == a.choice else ORANGE if arm.name == a.rival else GREY


def _names(ax: Axes, arms: list[AnalysedArm]) -> None:
    ax.set_yticks(range(len(arms)), [shorten(arm.name, 22) for arm in arms])
    ax.set_ylim(len(arms) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def quality(a: Analysis, ax: Axes) -> None:
    """Means with both intervals against the threshold; the cheapest arm on top."""
    arms = _shown(a)
    for y, arm in enumerate(arms):
        colour = _colour(a, arm)
        ax.plot(arm.anytime, (y, y), color=colour, alpha=0.3, linewidth=2, solid_capstyle="butt")
        ax.plot(arm.interval, (y, y), color=colour, linewidth=5, alpha=0.75, solid_capstyle="butt")
        ax.plot(arm.mean, y, "o", color=colour, markersize=6, markeredgecolor="white")
    ax.axvline(a.threshold, color="black", linestyle="--", linewidth=1)
    # What holds at any time may be far wider; it must not flatten the rest.
    ends = np.array([arm.interval for arm in arms])
    room = 0.35 * (ends.max() - ends.min() or 1.0)
    ax.set_xlim(max(min(ends.min(), a.threshold) - room, a.limits[0] - 0.02 * room), ends.max() + room)
    readable(ax.xaxis)
    _names(ax, arms)
    ax.set_xlabel(f"mean {a.columns['reward']} (dashed: good enough)")
    part = f" ({len(arms)} of {len(a.arms)} options)" if len(arms) < len(a.arms) else ""
    ax.set_title(f"How good, cheapest on top{part}", loc="left", fontsize=11)


def price(a: Analysis, ax: Axes) -> None:
    """Cost against mean; above the dashed line is good enough."""
    ax.axhspan(a.threshold, max(arm.mean for arm in a.arms) * 10 + 10, color=BLUE, alpha=0.06, linewidth=0)
    ax.axhline(a.threshold, color="black", linestyle="--", linewidth=1)
    ends = np.array([arm.interval for arm in a.arms])
    for arm in a.arms:
        colour = _colour(a, arm)
        ax.plot((arm.cost, arm.cost), arm.interval, color=colour, linewidth=1.5, alpha=0.6)
        ax.plot(arm.cost, arm.mean, "o", color=colour, markersize=7 if arm.name == a.choice else 5)
    pad = 0.08 * (ends.max() - ends.min() or 1.0)
    ax.set_ylim(ends.min() - pad, ends.max() + pad)
    most = max(arm.cost for arm in a.arms)
    ax.set_xlim(-0.04 * most if most > 0 else -1, 1.25 * most if most > 0 else 1)
    for axis in (ax.xaxis, ax.yaxis):
        readable(axis)
    named = [arm for arm in a.arms if len(a.arms) <= 8 or arm.name in (a.choice, a.rival)]
    _label(ax, sorted(named, key=lambda arm: (arm.name != a.choice, arm.name != a.rival)), a)
    ax.set_xlabel("cost of one use")
    ax.set_ylabel(f"mean {a.columns['reward']}")
    ax.set_title("What quality costs (shaded: good enough)", loc="left", fontsize=11)


def _label(ax: Axes, arms: list[AnalysedArm], a: Analysis) -> None:
    """The names beside their points, each free of the others, the points and the threshold where it can be."""
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    point = ax.figure.dpi / 72
    spots = ax.transData.transform([(arm.cost, arm.mean) for arm in a.arms]) / point
    line = float(ax.transData.transform((0, a.threshold))[1] / point)
    left, below, right, top = (float(end) / point for end in ax.bbox.extents)
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in spots] + [(-1e9, line - 1, 1e9, line + 1)]
    for arm in arms:
        name = shorten(arm.name, 18)
        wide, high = 5.2 * len(name), 10.0
        spot = ax.transData.transform((arm.cost, arm.mean))
        x, y = float(spot[0]) / point, float(spot[1]) / point
        tries = [(side, up) for up in (4, -14, 16, -26, 28, -38) for side in (6, -6 - wide)]
        boxes = [(x + dx, y + dy, x + dx + wide, y + dy + high) for dx, dy in tries]
        free = [
            place
            for place, (x0, y0, x1, y1) in zip(tries, boxes, strict=True)
            if x0 > left and x1 < right and y0 > below and y1 < top
            if all(x1 <= u0 or x0 >= u1 or y1 <= v0 or y0 >= v1 for u0, v0, u1, v1 in taken)
        ]
        dx, dy = (free or tries)[0]
        taken.append((x + dx, y + dy, x + dx + wide, y + dy + high))
        ax.annotate(
            name, (arm.cost, arm.mean), xytext=(dx, dy), textcoords="offset points",
            color=_colour(a, arm), fontsize=9, parse_math=False,
        )  # fmt: skip


def belief(a: Analysis, ax: Axes) -> None:
    """The believed probability of every arm to be the right one."""
    arms = _shown(a)
    for y, arm in enumerate(arms):
        ax.barh(y, 100 * arm.belief, color=_colour(a, arm), height=0.6)
        inside = arm.belief > 0.8  # beside the bar it would lie on the dashed line
        ax.text(
            100 * arm.belief + (-1.5 if inside else 1.5), y, share(arm.belief), va="center",
            ha="right" if inside else "left", color="white" if inside else "black", fontsize=9,
        )  # fmt: skip
    ax.axvline(100 * a.confidence, color="black", linestyle="--", linewidth=1)
    ax.set_xlim(0, 115)
    ax.set_xticks(range(0, 101, 25))
    _names(ax, arms)
    ax.set_xlabel(f"probability in % (dashed: {a.confidence:.0%})")
    ax.set_title("Which is the cheapest that is good enough", loc="left", fontsize=11)


def course(a: Analysis, ax: Axes) -> None:
    """The means in blocks of rows along the log, of the choice, its rival and the best."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    best = max(a.arms, key=lambda arm: arm.mean).name
    drawn = [name for name in dict.fromkeys((a.choice, a.rival, best)) if name is not None]
    timed = a.days is not None and a.days > 0
    for place, name in enumerate(drawn):
        when, mean = a.curves[name]
        x = [np.datetime64(int(t), "s") for t in when] if timed else list(when)
        colour = BLUE if name == a.choice else ORANGE if name == a.rival else COLOURS[2]
        marker = "os^"[place]
        ax.plot(x, mean, color=colour, marker=marker, markersize=4, linewidth=1.5, label=shorten(name, 22))
    ax.axhline(a.threshold, color="black", linestyle="--", linewidth=1)
    if timed:
        locator = AutoDateLocator(maxticks=5)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    else:
        readable(ax.xaxis)
        ax.set_xlabel("row of the log")
    readable(ax.yaxis)
    ax.set_ylabel(textwrap.fill(f"mean {a.columns['reward']}", 24))
    ax.legend(fontsize=9)
    ax.set_title("Along the log, in blocks of rows", loc="left", fontsize=11)


PICTURES: tuple[tuple[str, Callable[[Analysis, Axes], None]], ...] = (
    ("Every option's mean with the interval for one look (thick) and for looking at any time (thin).", quality),
    ("Cost and mean of every option; what is in the shaded part is good enough.", price),
    ("How likely each option is to be the cheapest that is good enough.", belief),
    ("The means along the log: if they drift, the log is no guide to tomorrow.", course),
)
