"""The pictures of docs/glr.md, computed from the rule itself.

python benchmarks/glr_pictures.py [--out docs/images] [--runs 50]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch

import satisfice as sf
from satisfice.plots import COLOURS, look, new_figure, pretty, save
from satisfice.policies.beliefs import believe
from satisfice.policies.contract import arrange, make_problem, new_state
from satisfice.policies.glr import GLR, bargain, case_of
from satisfice.proofs import against, level
from satisfice.simulation.engine import compiled_run
from satisfice.simulation.world import make_world

SHADES = ("#56B4E9", "#F0E442", "#E8A27A")  # plays on, buys evidence, passes over


def regions(file: Path) -> None:
    """What the rule does with a candidate, by its pulls and its distance from the threshold."""
    setting, policy, horizon = sf.BestReward(0.1), GLR(), 100_000
    figure, axes = new_figure(1, 2, width=5.6, height=4.4)
    pulls = np.unique(np.geomspace(5, 60_000, 90).astype(int))
    gaps = np.linspace(-0.2, 0.2, 161)
    for ax, cost in zip(axes, (1.0, 0.15), strict=True):
        order = arrange([0.1, cost, 1.0], setting, ["a", "b", "c"])
        problem = make_problem(policy, setting, [0.1, cost, 1.0], order, horizon, True)
        colours, proofs = np.zeros((len(gaps), len(pulls))), np.zeros((len(gaps), len(pulls)))
        for x, n in enumerate(pulls):
            for y, gap in enumerate(gaps):
                state = new_state(policy, 3)
                # Arm c was found to be hopeless, so that the story is about the candidate and one opponent.
                state.pulls[:] = [n, n, 400]
                state.totals[:] = state.squares[:] = [n * (0.72 + gap), n * 0.8, 0.0]
                t = int(state.pulls.sum())
                beliefs, leader = believe(problem, state)
                arm, _ = bargain(problem, beliefs, leader, horizon - min(t, horizon - 1))
                colours[y, x] = 1 if arm >= 0 else 0 if leader == 0 else 2
                case = case_of(problem, state)
                proofs[y, x] = abs(against(case, 0, 1)) - level(case, policy.delta)
        ax.pcolormesh(pulls, gaps, colours, cmap=ListedColormap(SHADES), vmin=0, vmax=2, shading="nearest")
        ax.contour(pulls, gaps, proofs, levels=[0.0], colors="black", linestyles="--", linewidths=1.2)
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlabel("pulls of the candidate, and of its opponent")
        ax.set_title(f"opponent costs {cost:g}, candidate 0.1, T = 100,000", fontsize=10)
        ax.grid(False)
    axes[0].set_ylabel("candidate's mean minus 0.9 x opponent's mean")
    handles = [Patch(color=SHADES[k], label=label) for k, label in
               enumerate(("plays the candidate", "buys evidence", "passes it over"))]  # fmt: skip
    handles.append(axes[0].plot([], [], "k--", label="outside: proved at delta = 0.05, at any time")[0])
    figure.legend(handles=handles, loc="outside upper center", ncols=4, fontsize=9)
    save(figure, file)


def one_run(file: Path) -> None:
    """One run on a small instance: who was pulled when, and for how long."""
    instance = sf.Instance([0.05, 0.2, 0.5, 1.0], [0.55, 0.68, 0.79, 0.84], names=["A", "B", "C", "D"])
    setting, policy, horizon = sf.BestReward(0.1), GLR(), 100_000
    order = arrange(instance.costs, setting, instance.names)
    problem = make_problem(policy, setting, instance.costs, order, horizon, True)
    times = np.unique(np.geomspace(1, horizon, 160).astype(int))
    state, counts = new_state(policy, 4), np.zeros((len(times), 4), dtype=np.int64)
    compiled_run(policy)(problem, state, make_world(instance, order), times, counts, np.random.default_rng(2))
    figure, (ax,) = new_figure(1, 1, width=8.4, height=4.2)
    for k, name in enumerate(instance.names):
        colour = COLOURS[k]
        label = f"{name}: cost {instance.costs[k]:g}, mean {instance.means[k]:g}"
        ax.plot(times, counts[:, k], color=colour, label=label)
        final = np.flatnonzero(counts[:, k] == counts[-1, k])[0]
        if counts[-1, k] < horizon / 2:
            ax.plot(times[final], counts[final, k], "X", color=colour, markersize=9)
    ax.plot([], [], "X", color="#666666", markersize=9, label="pulled no more")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.8)
    ax.set_xlabel("pulls in all")
    ax.set_ylabel("pulls of the arm")
    ax.set_title(f"one run, alpha = 0.1: the threshold is {setting.threshold(instance):.3f}, C is optimal", fontsize=10)
    figure.legend(loc="outside upper center", ncols=3, fontsize=9)
    save(figure, file)


def against_the_bound(file: Path, runs: int) -> None:
    """Pulls of every suboptimal arm of MovieLens beside the lower bound, and the regret over time."""
    instance, horizon = sf.load_instance("movielens"), 5_000_000
    figure, axes = new_figure(2, 2, width=6.0, height=3.6)
    for row, alpha in enumerate((0.05, 0.25)):
        setting = sf.BestReward(alpha)
        bound = sf.bounds.lower(instance, setting)
        results = sf.simulate(instance, setting, ["glr", "pe-cs(kappa=5)", "etc-cs"], horizon, runs=runs, seed=0)
        left, right = axes[2 * row], axes[2 * row + 1]
        arms = np.arange(instance.arms) + 1
        optimal = setting.optimal_arm(instance)
        for label, result in results.items():
            colour, marker, dash = look(label)
            mean = result.pulls.mean(axis=0)
            mean[optimal] = np.nan
            left.plot(arms, mean, marker, color=colour, label=pretty(label), markersize=5)
            total = (result.cost_curve + result.quality_curve).mean(axis=0)
            right.plot(result.checkpoints, np.maximum(total, 1), color=colour, linestyle=dash, label=pretty(label))
        least = np.where(np.isfinite(bound.pulls), bound.pulls, np.nan) * np.log(horizon)
        least[optimal] = np.nan
        left.plot(arms, np.where(least > 0, least, np.nan), "_", color="#888888", markersize=14, markeredgewidth=2,
                  label="lower bound x log T")  # fmt: skip
        per_log = bound.cost_regret + bound.quality_regret
        times = results["glr"].checkpoints
        right.plot(times, per_log * np.log(times), color="#888888", linewidth=2, label="lower bound x log t")
        left.set_yscale("log")
        right.set_yscale("log")
        left.set_ylabel(f"alpha = {alpha:g}\nmean pulls by T = 5,000,000")
        right.set_ylabel("mean summed regret")
        left.set_xticks([1, 5, 10, 15, 20])
    axes[0].set_title("pulls of every suboptimal arm", fontsize=10)
    axes[1].set_title("regret over time", fontsize=10)
    axes[2].set_xlabel("arm of MovieLens, by cost")
    axes[3].set_xlabel("pulls in all")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
    save(figure, file)


def main() -> None:
    parser = argparse.ArgumentParser(description="The pictures of docs/glr.md.")
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    parser.add_argument("--runs", type=int, default=50)
    args = parser.parse_args()
    regions(args.out / "glr-regions.png")
    one_run(args.out / "glr-run.png")
    against_the_bound(args.out / "glr-bound.png", args.runs)


if __name__ == "__main__":
    main()
