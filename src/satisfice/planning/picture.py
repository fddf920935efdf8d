"""The picture of a plan."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from satisfice.plots import drawn_in, headline, legend, log_ticks, looks, new_figure, pretty, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from satisfice.planning import Plan

GREY = "#555555"


def picture(title: str, plan: Plan) -> Figure:
    """When every run settles, one point each, and what has been saved so far (median and a band)."""
    figure, (left, right) = new_figure(1, 2, width=6.2, height=4.2)
    styles = looks(outlook.policy for outlook in plan.outlooks)
    jitter = np.random.default_rng(0)
    for place, outlook in enumerate(plan.outlooks):
        colour, marker, dash = styles[outlook.policy]
        y = place + jitter.uniform(-0.25, 0.25, len(outlook.settled))
        done = np.isfinite(outlook.settled)
        # On a log axis a run that is settled from the first pull on is drawn at one pull.
        left.scatter(
            np.maximum(outlook.settled[done], 1), y[done], color=colour, marker=marker, s=18, alpha=0.6, linewidths=0
        )
        beyond = plan.horizon * 10 ** jitter.uniform(0, 0.25, int((~done).sum()))
        left.scatter(beyond, y[~done], facecolors="none", edgecolors=colour, marker=marker, s=18, linewidths=0.7)
        low, middle, high = np.percentile(1000 * outlook.savings / plan.times, [10, 50, 90], axis=0)
        right.plot(plan.times, middle, color=colour, linestyle=dash, linewidth=2, label=pretty(outlook.policy))
        right.fill_between(plan.times, low, high, color=colour, alpha=0.12, linewidth=0)
    left.set_xscale("log")
    names = [textwrap.fill(pretty(outlook.policy), 26) for outlook in plan.outlooks]
    left.set_yticks(range(len(names)), names)
    left.set_ylim(len(plan.outlooks) - 0.5, -0.5)
    left.grid(visible=False, axis="y")
    left.axvline(plan.horizon / 2, color=GREY, linestyle=":", linewidth=1.2, label="half of the horizon")
    left.set_xlabel("pulls until settled (hollow, beyond the horizon: not settled within half of it)")
    left.set_title("one point per run")
    right.set_xscale("log")
    right.axhline(0, color=GREY, linewidth=1)
    readable(right.yaxis)
    right.set_xlabel("pulls (log scale)")
    right.set_ylabel("cost saved per 1,000 pulls, so far")
    right.set_title(f"against always playing {plan.against}\n(median; band: 10th to 90th percentile)")
    for ax in (left, right):
        log_ticks(ax.xaxis)
    legend(figure, drawn_in((right, left)))
    headline(figure, title)
    return figure
