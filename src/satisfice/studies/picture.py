"""The picture of a study: means with their intervals against the threshold, where the decisions and the money went."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from satisfice.plots import COLOURS, new_figure, readable, style
from satisfice.words import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from satisfice.studies.status import ArmStatus, Status

LOOKS = {
    "certified": (COLOURS[2], "o"),
    "leading": (COLOURS[0], "o"),
    "open": (COLOURS[4], "s"),
    "refuted": (COLOURS[1], "X"),
    "dearer": ("#888888", "v"),
    "unanswered": ("#888888", "d"),
    "retired": ("#888888", "P"),
}
MOST = 40  # arms in one picture
WIDTH = 26  # letters of a name
DOTS = "\N{HORIZONTAL ELLIPSIS}"


def picture(status: Status) -> Figure:
    """Three panels: means and intervals, decisions by arm, and money spent against playing one arm alone."""
    from matplotlib.ticker import MaxNLocator

    arms = shown_arms(status)
    more = len(status.arms) - len(arms)
    rows = len(arms) + (more > 0)
    figure, (left, middle, right) = new_figure(1, 3, width=4.6, height=max(3.2, 1.3 + 0.32 * rows))
    short = dict(zip((arm.name for arm in status.arms), shortened([arm.name for arm in status.arms]), strict=True))
    names = [f"{short[arm.name]}  ({arm.cost:g})" for arm in arms]
    if more:
        names.append(f"and {more} more arm{'s' if more > 1 else ''}")
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
    left.set_yticks(range(rows), names)
    left.set_ylim(rows - 0.4, -0.6)
    left.set_ylabel("arm (cost), cheapest first")
    left.set_xlabel(f"mean reward ({status.confidence:.0%} intervals, at all times)")
    middle.set_yticks(range(rows), [])
    middle.set_ylim(rows - 0.4, -0.6)
    most = max(arm.pulls + arm.pending + arm.dropped for arm in arms)
    middle.set_xlim(0, 1.05 * most if most else 10)
    middle.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    middle.set_xlabel("decisions (pale: without a reward)")
    spending = status.spending
    bars = [("spent", spending.total)]
    bars += [(f"all on the leader\n({short[status.leader]})", spending.leader)]
    if spending.reference is not None:
        bars += [("all on the reference", spending.reference)]
    elif spending.best is not None:
        bars += [("all on the best mean", spending.best)]
    bars += [("all on the dearest", spending.dearest)]
    colours = [COLOURS[0]] + ["#BBBBBB"] * (len(bars) - 1)
    right.barh([label for label, _ in bars], [value for _, value in bars], color=colours, height=0.6)
    right.invert_yaxis()
    right.set_xlim(0, None if any(value for _, value in bars) else 1)
    right.xaxis.set_major_locator(MaxNLocator(5))
    readable(right.xaxis)
    right.set_xlabel(f"cost of {spending.decisions:,} decision{'s' if spending.decisions != 1 else ''}")
    with style():
        _legend(figure, {arm.verdict for arm in arms})
    figure.suptitle(
        f"{_wrapped(f'{status.study} ({status.policy}, {status.setting})')}\n{_wrapped(status.verdict.sentence)}",
        fontsize=10,
    )
    return figure


def shown_arms(status: Status) -> list[ArmStatus]:
    """The arms of a picture, cheapest first. If there are too many: the leader, the best and the most pulled ones."""

    def rank(arm: ArmStatus) -> tuple[bool, bool, int]:
        return arm.name == status.leader, arm.mean == best, arm.pulls + arm.pending

    best = max((arm.mean for arm in status.arms if arm.pulls and arm.verdict != "retired"), default=math.inf)
    return sorted(sorted(status.arms, key=rank, reverse=True)[:MOST], key=lambda arm: arm.cost)


def shortened(names: Sequence[str], width: int = WIDTH) -> list[str]:
    """Names of at most `width` letters, the middle of long ones left out; no two of them are the same.

    Where names differ in the middle alone, it is what they have in common that is left out.
    """
    short = [shorten(name, width) for name in names]
    for same in [text for text, count in Counter(short).items() if count > 1]:
        places = [k for k, text in enumerate(short) if text == same]
        alike = [names[k] for k in places]
        head = _common(alike)
        tail = _common([name[::-1] for name in alike])
        for number, k in enumerate(places, 1):
            name = names[k]
            core = name[max(head - 4, 0) : max(len(name) - tail, head) + 4]
            text = f"{name[:6]}{DOTS}{core}{DOTS if tail > 4 else ''}"
            short[k] = text if len(text) <= width else f"{shorten(text, width - 5)} ({number})"
    return short


def _common(names: Sequence[str]) -> int:
    """How many letters all names begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


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
