"""The picture of a bound: the simulated regret on a log-time axis, between what theory promises and demands."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from satisfice.plots import drawn_in, headline, legend, log_ticks, look, new_figure, pretty
from satisfice.simulation.checkpoints import log_times
from satisfice.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from satisfice.bounds.lower_bound import LowerBound
    from satisfice.bounds.upper_bound import UpperBound
    from satisfice.problem import Floats
    from satisfice.simulation import Result

UPPER, LOWER = "#555555", "#009E73"


def picture(title: str, promise: UpperBound, demand: LowerBound, *, result: Result | None = None) -> Figure:
    """Cost and quality regret against time, one panel for each regret that an arm can cause.

    The upper curve is what the theorem leaves possible at any time of such a run: its bound for the whole horizon, or
    the largest gap times the pulls so far where that is less. The lower line is the lower bound's slope times log t.
    """
    kinds = [kind for kind in ("cost", "quality") if getattr(promise, f"trivial_{kind}_regret") > 0] or ["cost"]
    figure, axes = new_figure(1, len(kinds), width=6.4, height=4.4)
    for ax, kind in zip(axes, kinds, strict=True):
        curves = None if result is None else getattr(result, f"{kind}_curve")
        times = np.array(log_times(promise.horizon) if result is None else result.checkpoints, dtype=np.float64)
        _panel(
            ax,
            times,
            bound=float(getattr(promise, f"{kind}_regret")),
            gap=float(getattr(promise, f"trivial_{kind}_regret")) / promise.horizon,
            slope=float(getattr(demand, f"{kind}_regret")),
            curves=curves,
            policy=promise.policy,
            caveat=promise.caveat,
        )
        ax.set_title(f"{kind} regret")
    legend(figure, drawn_in(axes))
    headline(figure, title)
    return figure


def _panel(
    ax: Axes,
    times: Floats,
    *,
    bound: float,
    gap: float,
    slope: float,
    curves: Floats | None,
    policy: str,
    caveat: str,
) -> None:
    ax.set_xscale("log")
    ax.set_xlabel("pulls t (log scale)")
    ax.set_ylabel("regret up to t")
    if gap == 0:
        ax.set_ylim(0, 1)
        ax.set_xlim(times[0], times[-1])
        ax.set_yticks([0])
        ax.text(
            0.5, 0.5, "no regret is possible: no arm has a gap", transform=ax.transAxes, ha="center", color="#555555"
        )
        return
    ax.set_yscale("log")
    ceiling = np.minimum(gap * times, bound)
    what = "upper bound: the theorem, or the largest gap x t where that is less"
    remark = ""
    if caveat:
        what, remark = "the largest gap x t: no more is possible", textwrap.fill(f"No promise: {caveat}", 56)
    elif bound >= gap * times[-1]:
        remark = "the theorem is above the largest gap x T:\nit says nothing here"
    ax.plot(times, ceiling, color=UPPER, linestyle="--", linewidth=1.6, label=what)
    ax.text(0.03, 0.95, remark, transform=ax.transAxes, va="top", fontsize=9)
    if 0 < slope < np.inf:
        floor = slope * np.log(times)
        shown = (floor > 0) & (floor <= gap * times)  # an asymptote: before, it is more than all pulls could cost
        ax.plot(
            times[shown], floor[shown], color=LOWER, linestyle=":", linewidth=2, label="lower bound's slope x log t"
        )
    lowest = float(gap)
    if curves is not None:
        colour, _, _ = look(policy)
        mean = curves.mean(axis=0)
        shown = mean > 0
        ax.plot(
            times[shown],
            mean[shown],
            color=colour,
            linewidth=2,
            label=f"{pretty(policy)}, mean of {count(len(curves), 'run')}",
        )
        low, high = np.percentile(curves, [10, 90], axis=0)
        positive = high > 0
        ax.fill_between(
            times[positive],
            np.maximum(low, 1e-300)[positive],
            high[positive],
            color=colour,
            alpha=0.18,
            linewidth=0,
            label="10th to 90th percentile of the runs",
        )
        if shown.any():
            lowest = min(lowest, float(mean[shown][0]))
        else:
            ax.text(
                0.97,
                0.05,
                f"simulated: 0 in {count(len(curves), 'run')}",
                transform=ax.transAxes,
                ha="right",
                color=colour,
            )
    ax.set_ylim(lowest / 2, float(ceiling.max()) * 2.5)
    log_ticks(ax.xaxis)
    log_ticks(ax.yaxis)
