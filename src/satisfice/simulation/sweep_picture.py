"""The picture of a sweep: mean regrets against the first parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from satisfice.plots import drawn_in, headline, legend, looks, new_figure, pretty, readable
from satisfice.simulation.regret import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from satisfice.simulation.sweeping import Sweep

TITLES = {"cost_regret": "cost regret", "quality_regret": "quality regret", "regret": "cost + quality regret"}


def picture(sweep: Sweep) -> Figure:
    """Three panels, a line for each policy and combination of the other parameters, with two standard errors."""
    first = sweep.swept[0]
    lines: dict[str, list[tuple[float | str, object]]] = {}
    for point in sweep.points:
        rest = ", ".join(f"{name}={value}" for name, value in point.values.items() if name != first)
        base = point.result.terms.policy
        if first.startswith(base.partition("(")[0] + "."):
            base = base.partition("(")[0]  # its parameter is on the axis
        label = f"{pretty(base)}{', ' + rest if rest and '.' not in rest else ''}"
        lines.setdefault(label, []).append((point.values.get(first, float("nan")), point.result))
    figure, axes = new_figure(1, 3, width=4.4, height=3.6)
    styles = looks(lines)
    places = list(dict.fromkeys(x for points in lines.values() for x, _ in points))
    numeric = all(isinstance(x, (int, float)) for x in places)
    for ax, (what, title) in zip(axes, TITLES.items(), strict=True):
        for label, points in lines.items():
            colour, marker, dash = styles[label]
            x = [place if numeric else places.index(place) for place, _ in points]
            values = [getattr(result, what) for _, result in points]
            mean = np.array([value.mean() for value in values])
            error = np.array([2 * standard_error(value) if len(value) > 1 else 0.0 for value in values])
            ax.errorbar(x, mean, error, color=colour, marker=marker, linestyle=dash, capsize=2, label=label)
        if not numeric:
            ax.set_xticks(range(len(places)), [str(place) for place in places], rotation=30, ha="right")
        else:
            readable(ax.xaxis)
        ax.set_ylim(bottom=0)
        readable(ax.yaxis)
        ax.set_xlabel(first)
        ax.set_title(title)
    legend(figure, drawn_in(axes[:1]))
    terms = sweep.points[0].result.terms
    about = "" if first == "instance" else f"{terms.instance.label}, "
    headline(figure, f"{about}{type(terms.setting).__name__}, {terms.runs} runs; bars: two standard errors")
    return figure
