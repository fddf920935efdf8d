"""The picture of a bound: the simulated regret on a log-time axis, between what theory promises and demands."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from satisfice.plots import drawn_in, headline, legend, log_ticks, look, looks, new_figure, pretty, readable
from satisfice.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from satisfice.bounds.lower import LowerBound
    from satisfice.bounds.planning import Plan
    from satisfice.bounds.upper import UpperBound
    from satisfice.problem import Floats
    from satisfice.simulate import Result

UPPER, LOWER = "#555555", "#009E73"


def log_times(horizon: int, count: int = 240) -> list[int]:
    """About `count` times up to the horizon, evenly spaced in their logarithm."""
    return sorted({int(t) for t in np.geomspace(1, horizon, count)} | {horizon})


def picture(title: str, promise: UpperBound, demand: LowerBound, result: Result | None = None) -> Figure:
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
            float(getattr(promise, f"{kind}_regret")),
            float(getattr(promise, f"trivial_{kind}_regret")) / promise.horizon,
            float(getattr(demand, f"{kind}_regret")),
            curves,
            promise.policy,
            promise.caveat,
        )
        ax.set_title(f"{kind} regret")
    legend(figure, drawn_in(axes))
    headline(figure, title)
    return figure


def _panel(
    ax: Axes,
    times: Floats,
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


def plan_picture(title: str, plan: Plan) -> Figure:
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
    left.axvline(plan.horizon / 2, color=UPPER, linestyle=":", linewidth=1.2, label="half of the horizon")
    left.set_xlabel("pulls until settled (hollow, beyond the horizon: not settled within half of it)")
    left.set_title("one point per run")
    right.set_xscale("log")
    right.axhline(0, color=UPPER, linewidth=1)
    readable(right.yaxis)
    right.set_xlabel("pulls (log scale)")
    right.set_ylabel("cost saved per 1,000 pulls, so far")
    right.set_title(f"against always playing {plan.against}\n(median; band: 10th to 90th percentile)")
    for ax in (left, right):
        log_ticks(ax.xaxis)
    legend(figure, drawn_in((right, left)))
    headline(figure, title)
    return figure
