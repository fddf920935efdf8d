"""The picture of a simulation: regret curves with a band, and every run's terminal regret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from satisfice.plots import looks, new_figure, pretty

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from satisfice.simulate.results import Result, Results

WHAT = ("cost", "quality", "sum")
TITLES = {"cost": "cost regret", "quality": "quality regret", "sum": "cost + quality regret"}


def curve(result: Result, what: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The regret curves (runs, checkpoints) of one kind."""
    if what == "sum":
        return result.cost_curve + result.quality_curve
    return result.cost_curve if what == "cost" else result.quality_curve


def picture(results: Results) -> Figure:
    """Three panels of curves (cost, quality, sum: mean, and a band from the 10th to the 90th percentile of the
    runs) and one of terminal regrets, one point per run."""
    figure, axes = new_figure(2, 2, width=5.6, height=3.7)
    styles = looks(results)
    first = next(iter(results.values()))
    for ax, what in zip(axes, WHAT, strict=False):
        for label, result in results.items():
            colour, _, dash = styles[label]
            times = np.append(0, result.checkpoints)
            values = np.pad(curve(result, what), ((0, 0), (1, 0)))
            ax.plot(times, values.mean(axis=0), color=colour, linestyle=dash, linewidth=1.8, label=pretty(label))
            if len(values) > 1:
                low, high = np.percentile(values, [10, 90], axis=0)
                ax.fill_between(times, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.set_title(TITLES[what])
        ax.set_xlabel("pulls")
        ax.set_ylabel("mean regret" + (" (band: 10th to 90th percentile)" if len(first.pulls) > 1 else ""), fontsize=8)
        _readable(ax, "x")
        _symlog(ax, [curve(result, what) for result in results.values()])
    _scatter(axes[3], results)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5))
    setting = ", ".join(f"{key} = {value}" for key, value in first.terms.setting.items() if key != "kind")
    figure.suptitle(
        f"{first.instance.label}, {type(first.setting).__name__} ({setting}), T = {first.terms.horizon:,}, "
        f"{len(first.pulls)} runs",
        fontsize=11,
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
    ax.set_xticks(range(len(results)), [pretty(label) for label in results], rotation=20 if len(results) > 3 else 0)
    ax.set_title("terminal cost + quality regret, one point per run")
    ax.set_ylabel("regret (bar: mean)")
    ax.grid(visible=False, axis="x")
    _symlog(ax, [result.regret for result in results.values()])


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
        ax.set_yscale("symlog", linthresh=10 ** np.floor(np.log10(low)), linscale=0.4)
        ax.set_ylim(top=2 * max(float(v.max()) for v in positive))
    else:
        _readable(ax, "y")
    ax.set_ylim(bottom=0)


def _readable(ax: Axes, axis: str) -> None:
    from matplotlib.ticker import EngFormatter

    getattr(ax, f"{axis}axis").set_major_formatter(EngFormatter(sep=""))
