"""The picture of a study: means with their intervals against the threshold, where the decisions and the money went."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from satisfice.plots import COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from satisfice.studies.status import Status

LOOKS = {
    "certified": (COLOURS[2], "o"),
    "leading": (COLOURS[0], "o"),
    "open": (COLOURS[4], "s"),
    "refuted": (COLOURS[1], "X"),
    "dearer": ("#888888", "v"),
    "retired": ("#888888", "P"),
}
MOST = 40  # arms in one picture


def picture(status: Status) -> Figure:
    """Three panels: means and intervals, decisions by arm, and money spent against playing one arm alone."""
    from matplotlib.ticker import EngFormatter

    arms = sorted(status.arms, key=lambda arm: arm.cost)[:MOST]
    figure, (left, middle, right) = new_figure(1, 3, width=4.6, height=max(2.6, 1.3 + 0.32 * len(arms)))
    names = [f"{arm.name}  ({arm.cost:g})" for arm in arms]
    for y, arm in enumerate(arms):
        colour, marker = LOOKS[arm.verdict]
        left.hlines(y, *arm.interval, color=colour, linewidth=2)
        if not math.isnan(arm.mean):
            left.plot([arm.mean], [y], marker, color=colour, markersize=8)
        middle.barh([y], [arm.pulls], color=colour, height=0.6)
        middle.barh([y], [arm.pending + arm.dropped], left=[arm.pulls], color=colour, height=0.6, alpha=0.35)
    if not math.isnan(status.verdict.threshold):
        left.axvline(status.verdict.threshold, color="black", linestyle="--", linewidth=1)
        left.annotate(
            "good enough",
            (status.verdict.threshold, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=8,
        )
    for ax in (left, middle, right):
        ax.set_axisbelow(True)
    left.set_yticks(range(len(arms)), names)
    left.set_ylim(len(arms) - 0.4, -0.6)
    left.set_ylabel("arm (cost), cheapest first")
    left.set_xlabel(f"mean reward ({status.confidence:.0%} intervals, at all times)")
    middle.set_yticks(range(len(arms)), [])
    middle.set_ylim(len(arms) - 0.4, -0.6)
    middle.set_xlabel("decisions (pale: without a reward)")
    spending = status.spending
    bars = [("spent", spending.total)]
    bars += [(f"all on the leader\n({status.leader})", spending.leader)]
    if spending.reference is not None:
        bars += [("all on the reference", spending.reference)]
    elif spending.best is not None:
        bars += [("all on the best mean", spending.best)]
    bars += [("all on the dearest", spending.dearest)]
    colours = [COLOURS[0]] + ["#BBBBBB"] * (len(bars) - 1)
    right.barh([label for label, _ in bars], [value for _, value in bars], color=colours, height=0.6)
    right.invert_yaxis()
    right.xaxis.set_major_formatter(EngFormatter(sep=""))
    right.set_xlabel(f"cost of {spending.decisions:,} decisions")
    with style():
        _legend(figure, {arm.verdict for arm in arms})
    figure.suptitle(
        f"{status.study} ({status.policy}, {status.setting})\n{_wrapped(status.verdict.sentence)}", fontsize=10
    )
    return figure


def _legend(figure: Figure, shown: set[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker=marker, linewidth=2, label=word)
        for word, (colour, marker) in LOOKS.items()
        if word in shown
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _wrapped(text: str) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, 130))
