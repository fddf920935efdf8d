"""The figures: scatters of terminal regret, regret curves, trade-offs and instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from satisfice.instances import load_instance
from satisfice.paper.cells import PanelData
from satisfice.paper.experiments import OURS, Experiment
from satisfice.plots import COLOURS, looks, new_figure, pretty, readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGRET = "cost + quality regret at the horizon"


def name_of(label: str) -> str:
    """A policy as it is called in the figures and the report."""
    return pretty(label).replace("kappa", "κ").replace(" (ours)", "") + (
        " (ours, not from the paper)" if label.partition("(")[0] in OURS else ""
    )


def draw(experiment: Experiment, data: list[PanelData]) -> Figure:
    """The figure of an experiment."""
    count = len(data)
    columns = 1 if count == 1 else 2
    wide = experiment.kind in ("scatter", "instance")
    figure, axes = new_figure(-(-count // columns), columns, width=8.6 if wide else 6.4 if count == 1 else 5.4)
    for ax, part in zip(axes, data, strict=True):
        DRAWN[experiment.kind](ax, part)
        if experiment.kind != "instance":
            horizon = f"T = {part.panel.horizon:,}, {part.panel.runs} runs"
            ax.set_title(f"{part.panel.title}; {horizon}", fontsize=10)
    handles, names = axes[0].get_legend_handles_labels()
    if experiment.kind == "trade-off":
        handles, names = handles[::-1], names[::-1]
    ncols = len(names) if columns > 1 or len(names) <= 3 else -(-len(names) // 2)
    figure.legend(handles, names, loc="outside lower center", ncols=ncols, frameon=False)
    return figure


def _scatter(ax: Axes, part: PanelData) -> None:
    """One point per run, beside each other by policy; a bar at the mean."""
    styles = looks(part.panel.policies)
    spread = np.random.default_rng(0)
    places = list(part.points)
    lane = 0.8 / len(styles)
    for series, (label, (colour, marker, _)) in enumerate(styles.items()):
        regret = part.regret(label)
        left = (series + 0.5) * lane - 0.4
        x = np.concatenate([
            place + left + lane * spread.uniform(-0.3, 0.3, len(regret[at])) for place, at in enumerate(places)
        ])  # fmt: skip
        y = np.concatenate([regret[at] for at in places])
        ax.scatter(x, y, color=colour, marker=marker, s=14, alpha=0.55, linewidths=0, label=name_of(label))
        means = [regret[at].mean() for at in places]
        middle = np.arange(len(places)) + left
        ax.hlines(means, middle - lane * 0.42, middle + lane * 0.42, color=colour, linewidth=1.6)
    for edge in range(1, len(places)):
        ax.axvline(edge - 0.5, color="#cccccc", linewidth=0.6)
    ax.set_xticks(range(len(places)), [f"{at:g}" for at in places])
    ax.set_xlim(-0.5, len(places) - 0.5)
    ax.grid(visible=False, axis="x")
    ax.set_xlabel(part.panel.x)
    ax.set_ylabel(f"{REGRET}\n(log scale; bars: means)")
    _log(ax, "y", np.concatenate([regret for label in styles for regret in part.regret(label).values()]))


def _curves(ax: Axes, part: PanelData) -> None:
    """Mean summed regret against time, with a band of two standard errors."""
    styles = looks(part.panel.policies)
    (results,) = part.points.values()
    for label, (colour, _, dash) in styles.items():
        result = results[label]
        times = np.append(0, result.checkpoints)
        curves = np.pad(result.cost_curve + result.quality_curve, ((0, 0), (1, 0)))
        mean = curves.mean(axis=0)
        error = 2 * curves.std(axis=0, ddof=1) / len(curves) ** 0.5
        ax.plot(times, mean, color=colour, linestyle=dash, linewidth=1.8, label=name_of(label))
        ax.fill_between(times, np.maximum(mean - error, 0), mean + error, color=colour, alpha=0.18, linewidth=0)
    ax.set_xlabel("pulls")
    ax.set_ylabel("mean cost + quality regret\n(band: ± 2 standard errors)")
    for axis in (ax.xaxis, ax.yaxis):
        readable(axis)
    ax.set_xlim(0, part.panel.horizon)
    ax.set_ylim(bottom=0)


def _trade_off(ax: Axes, part: PanelData) -> None:
    """Terminal quality regret against terminal cost regret, one point per run."""
    styles = looks(part.panel.policies)
    pairs = {
        label: np.concatenate([
            np.stack([results[label].quality_regret, results[label].cost_regret]) for results in part.points.values()
        ], axis=1)
        for label in styles
    }  # fmt: skip
    # Our own series goes under the paper's. A regret of 0 has no place on a log scale: around the tick at 0, each
    # policy has a lane of its own.
    for lane, (label, (colour, marker, _)) in enumerate(reversed(styles.items())):
        place = 0.5 * (lane + 0.5) / len(styles) - 0.25
        quality, cost = (np.where(values == 0, place, values) for values in pairs[label])
        ax.scatter(quality, cost, color=colour, marker=marker, s=16, alpha=0.5, linewidths=0, label=name_of(label))
    ax.set_xlabel("quality regret at the horizon\n(log scale; zeros in lanes)")
    ax.set_ylabel("cost regret at the horizon\n(log scale; zeros in lanes)")
    everything = np.concatenate(list(pairs.values()), axis=1)
    _log(ax, "x", everything[0])
    _log(ax, "y", everything[1])


def _instance(ax: Axes, part: PanelData) -> None:
    """Mean reward and cost of every arm, as sticks."""
    instance = load_instance(part.panel.grid[0].instance)
    order = np.argsort(instance.costs, kind="stable")
    places = np.arange(1, instance.arms + 1)
    for shift, values, colour, marker, label in (
        (-0.12, instance.means[order], COLOURS[0], "o", "mean reward"),
        (0.12, instance.costs[order], COLOURS[1], "s", "cost"),
    ):
        ax.vlines(places + shift, 0, values, color=colour, linewidth=2)
        ax.scatter(places + shift, values, color=colour, marker=marker, s=28, zorder=3, label=label)
    names = [f"{place} {instance.names[k]}" for place, k in zip(places, order, strict=True)]
    ax.set_xticks(places, names, rotation=55, ha="right", fontsize=8)
    ax.set_ylim(0, 1)
    ax.set_xlabel("arm, in order of cost")
    ax.set_ylabel("mean reward; cost per pull")
    ax.set_title(f"{instance.label}: {instance.arms} arms", fontsize=10)
    ax.grid(visible=False, axis="x")


DRAWN = {"scatter": _scatter, "curves": _curves, "instance": _instance, "trade-off": _trade_off}


def _log(ax: Axes, axis: str, values: NDArray[np.float64]) -> None:
    """A log axis; where values are below 1 it is linear from 1 to 0, so that runs without any regret have a place."""
    from matplotlib.ticker import NullLocator

    least, top = float(values.min()), 10 ** np.ceil(np.log10(max(float(values.max()), 10)) + 0.02)
    if least < 1:
        getattr(ax, f"set_{axis}scale")("symlog", linthresh=1, linscale=0.5)
        getattr(ax, f"set_{axis}lim")(-0.35, top)
        getattr(ax, f"{axis}axis").set_minor_locator(NullLocator())
    else:
        getattr(ax, f"set_{axis}scale")("log")
        getattr(ax, f"set_{axis}lim")(10 ** np.floor(np.log10(least) - 0.02), top)
