"""The picture of a simulation: regret curves with a band, and every run's terminal regret."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from satisfice.plots import drawn_in, headline, legend, log_ticks, looks, new_figure, pretty, readable, symlog_ticks
from satisfice.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from satisfice.simulation.results import Result, Results

WHAT = ("cost", "quality", "sum")
TITLES = {"cost": "cost regret", "quality": "quality regret", "sum": "cost + quality regret"}


def curve(result: Result, what: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The regret curves (runs, checkpoints) of one kind."""
    if what == "sum":
        return result.cost_curve + result.quality_curve
    return result.cost_curve if what == "cost" else result.quality_curve


def picture(results: Results, log_x: bool = False) -> Figure:
    """Three panels of curves (cost, quality, sum: mean, and a band from the 10th to the 90th percentile of the
    runs) and one of terminal regrets, one point per run."""
    figure, axes = new_figure(2, 2, width=5.6, height=3.7)
    styles = looks(results)
    first = next(iter(results.values()))
    for ax, what in zip(axes, WHAT, strict=False):
        for label, result in results.items():
            colour, _, dash = styles[label]
            times, values = result.checkpoints, curve(result, what)
            if not log_x:
                times, values = np.append(0, times), np.pad(values, ((0, 0), (1, 0)))
            ax.plot(times, values.mean(axis=0), color=colour, linestyle=dash, linewidth=1.8, label=pretty(label))
            if len(values) > 1:
                low, high = np.percentile(values, [10, 90], axis=0)
                ax.fill_between(times, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.set_title(TITLES[what])
        ax.set_xlabel("pulls (log scale)" if log_x else "pulls")
        ax.set_ylabel("mean regret" + (" (band: 10th to 90th percentile)" if len(first.pulls) > 1 else ""), fontsize=8)
        if log_x:
            ax.set_xscale("log")
            log_ticks(ax.xaxis)
        readable(ax.xaxis)
        _symlog(ax, [curve(result, what) for result in results.values()])
    _scatter(axes[3], results)
    legend(figure, drawn_in(axes[:1]))
    setting = ", ".join(f"{key} = {value}" for key, value in first.setting.to_dict().items() if key != "kind")
    headline(
        figure,
        f"{first.instance.label}, {type(first.setting).__name__} ({setting}), T = {first.terms.horizon:,}, "
        f"{count(len(first.pulls), 'run')}",
    )
    return figure


def _scatter(ax: Axes, results: Results) -> None:
    styles = looks(results)
    spread = np.random.default_rng(0)
    for place, (label, result) in enumerate(results.items()):
        colour, marker, _ = styles[label]
        x = place + spread.uniform(-0.22, 0.22, len(result.regret))
        ax.scatter(x, result.regret, color=colour, marker=marker, s=16, alpha=0.6, linewidths=0)
        ax.hlines(result.regret.mean(), place - 0.32, place + 0.32, color=colour, linewidth=2)
    _names(ax, [pretty(label) for label in results])
    ax.set_title("terminal cost + quality regret, one point per run")
    ax.set_ylabel("regret (bar: mean)")
    ax.grid(visible=False, axis="x")
    _symlog(ax, [result.regret for result in results.values()])


def _names(ax: Axes, names: list[str]) -> None:
    """The policies below the axis, in lines that leave room for their neighbours."""
    many = len(names) > 3
    lines = [textwrap.fill(name, 26 if many else 44 // len(names), break_on_hyphens=False) for name in names]
    size = 8 if many and any("\n" in line for line in lines) else 10
    ax.set_xticks(range(len(names)), lines, fontsize=size)
    if many:
        slope = 20 if len(names) < 6 else 40
        for label in ax.get_xticklabels():
            label.set(rotation=slope, ha="right", rotation_mode="anchor", multialignment="right")


def _symlog(ax: Axes, values: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]) -> None:
    """A log axis that can show zero, where the values span more than a factor of 20."""
    positive = [v[v > 0] for v in values if (v > 0).any()]
    if not positive:
        ax.set_ylim(0, 1)
        ax.set_yticks([0])
        ax.text(0.5, 0.5, "zero for every policy", transform=ax.transAxes, ha="center", color="#555555")
        return
    ends = [float(np.atleast_2d(v)[..., -1].mean()) for v in values]
    if max(ends) > 20 * max(min(ends), 1e-300):
        low = max(min(float(np.percentile(v, 5)) for v in positive), max(ends) * 1e-6)
        linear, top = 10.0 ** np.floor(np.log10(low)), 2 * max(float(v.max()) for v in positive)
        room = max(0.4, 0.12 * np.log10(top / linear))  # for the linear part, in decades
        ax.set_yscale("symlog", linthresh=linear, linscale=room)
        ax.set_ylim(top=top)
        symlog_ticks(ax.yaxis, linear, top)
    else:
        readable(ax.yaxis)
    ax.set_ylim(bottom=0)
