"""Summed regret of GLR against every policy of the paper: prints the tables, writes a picture and the numbers.

    python benchmarks/regret.py [--runs 100] [--rival-runs 20] [--quick] [--alone]
                                [--part grid|unseen|...|speed] [--cells toy] [--out results/regret]

The grid (subsidized best reward): MovieLens and Goodreads with alpha 0.05 to 0.45 at T = 5,000,000, the toy family
with alpha 0.2 at T = 500,000, every llm-routing instance with alpha 0.05, 0.1 and 0.2 at T = 200,000 and costs divided
by the largest. Unseen: 60 random instances; families of low conversion, 100 arms, costs of 1 : 1,000, horizons of 500
to 100,000,000, near-ties, ratings; mirrors: the cells where GLR is beaten, and the same with the arm that misses by
least moved to the other side of the threshold (`families.py`). What the first generation of the rule lost in each cell
is on record (`glr_1.json`); with `--alone` nothing else is compared. Known reference arm: the grids of the paper's
Figures 1. Fixed threshold: 50 random instances with close gaps. Speed: one MovieLens run, one decision with up to 1,000
arms. GLR has its defaults everywhere.

With `--cells` only those whose names contain a text are run: a few seconds for a look at some of them. Cells that are
in the file of numbers already are not run again, except those of GLR. Two cores need about half an hour,
most of it for TS-CS at T = 5,000,000.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import satisfice as sf
from families import (
    Cell,
    Maker,
    fixed,
    fresh,
    grid,
    horizons,
    low,
    many,
    mirrors,
    ratings,
    ratios,
    reference,
    ties,
    unseen,
)
from satisfice.plots import look, pretty, style
from satisfice.policies import get_policy
from satisfice.policies.contract import make_problem, new_state
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.job import Job

RIVALS = ("pe-cs(kappa=5)", "etc-cs", "ucb-cs", "ts-cs", "cof")
OFFSET = 100.0  # added to both sides of a ratio, so that cells in which nothing is lost do not rule it


class Score(NamedTuple):
    """Summed regret over the runs of one policy in one cell."""

    mean: float
    error: float
    worst: float
    runs: int


# What is measured, the policies beside it, and the largest geometric mean of regrets relative to today's first
# generation (`glr_1.json`, 100 runs of each cell) that is aimed at.
PARTS: dict[str, tuple[Maker, tuple[str, ...], float]] = {
    "grid": (grid, RIVALS, 0.85),
    "unseen": (unseen, RIVALS, 0.9),
    "low": (low, RIVALS, 1.0),
    "ratios": (ratios, RIVALS, 1.0),
    "ties": (ties, RIVALS, 1.0),
    "horizons": (horizons, RIVALS, 1.0),
    "ratings": (ratings, RIVALS, 0.5),
    "many": (many, ("etc-cs", "ucb-cs", "ts-cs"), 1.0),
    "fresh": (fresh, RIVALS, 0.9),
    "mirrors": (mirrors, RIVALS, 1.0),
    "reference": (reference, ("pe", "ucb-cs"), 1.0),
    "fixed": (fixed, ("ft-ucb",), 1.0),
}


def measure(cell: Cell, policy: str, runs: int) -> Score:
    """Simulate one cell."""
    result = sf.simulate(cell.instance, cell.setting, [policy], cell.horizon, runs=runs, seed=0, checkpoints=1)[policy]
    total = result.cost_regret + cell.worth * result.quality_regret
    spread = float(total.std(ddof=1)) if runs > 1 else 0.0
    return Score(float(total.mean()), spread / math.sqrt(runs), float(total.max()), runs)


def gather(part: str, args: argparse.Namespace) -> tuple[list[Cell], dict[str, dict[str, Score]]]:
    """Scores by cell and policy, from the file of numbers where it has them."""
    make, rivals, _ = PARTS[part]
    cells = [cell for cell in make() if args.cells in cell.name]
    if not cells:
        return [], {}
    file = Path(f"{args.out}-{part}.json")
    known = json.loads(file.read_text()) if file.exists() else {}
    begin, kept = time.monotonic(), 0
    for policy in ("glr", *rivals):
        for k, cell in enumerate(cells):
            tell(f"{part}: {policy}, cell {k + 1} of {len(cells)}, {time.monotonic() - begin:.0f} s so far")
            row = known.setdefault(cell.name, {})
            runs = args.runs if policy == "glr" else args.rival_runs or args.runs
            if policy != "glr" and policy in row and row[policy][3] == runs:
                kept += 1
            else:
                row[policy] = measure(cell, policy, runs)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(known, indent=1) + "\n")
    tell("")
    print(f"{part}: {args.runs} runs of glr, {args.rival_runs or args.runs} of each rival, in {len(cells)} cells, "
          f"{time.monotonic() - begin:.0f} s")  # fmt: skip
    if kept:
        print(f"{kept} numbers of other policies are from {file}; delete it to measure them again")
    return cells, {name: {policy: Score(*score) for policy, score in row.items()} for name, row in known.items()}


def tell(text: str) -> None:
    """Progress, in a terminal only."""
    if sys.stderr.isatty():
        print(f"\r{text:79}", end="\r", file=sys.stderr, flush=True)


def mean_ratio(ratios: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def table(part: str, cells: list[Cell], scores: dict[str, dict[str, Score]]) -> None:
    """Print one line per cell, then the geometric means."""
    rivals = PARTS[part][1]
    wide = max(len(cell.name) for cell in cells) + 2
    print(f"{'mean summed regret':{wide}}" + "".join(f"{p:>22}" for p in ("glr (worst run)", *rivals)) + "   glr/best")
    close, apart = [], []
    for cell in cells:
        row = scores[cell.name]
        glr = row["glr"]
        best = min((row[p].mean for p in rivals), default=glr.mean)
        close.append((glr.mean + OFFSET) / (best + OFFSET))
        line = f"{cell.name:{wide}}{glr.mean:12,.0f} ({glr.worst:,.0f})".ljust(wide + 24)
        print(line + "".join(f"{row[p].mean:20,.0f}" for p in rivals) + f"{close[-1]:10.2f}")
        apart.append({p: (glr.mean + OFFSET) / (row[p].mean + OFFSET) for p in rivals})
    print(f"\nOver {len(cells)} cells (+{OFFSET:.0f} on both sides of a ratio):")
    print(f"  geometric mean of glr / best rival {mean_ratio(close):.3f}, worst cell {max(close):.2f}")
    record = json.loads((Path(__file__).parent / "glr_1.json").read_text()).get(part, {})
    before = [(scores[c.name]["glr"].mean + OFFSET) / (record[c.name] + OFFSET) for c in cells if c.name in record]
    if before:
        print(f"  geometric mean of glr / first generation {mean_ratio(before):.3f} (aim: at most {PARTS[part][2]:g}), "
              f"worst cell {max(before):.2f}")  # fmt: skip
    for p in rivals:
        plain = [max(scores[c.name]["glr"].mean, 1e-3) / max(scores[c.name][p].mean, 1e-3) for c in cells]
        kept = mean_ratio([ratio[p] for ratio in apart])
        print(f"  geometric mean of glr / {p}: {kept:.3f}; without the offset {mean_ratio(plain):.4f}")


def axis(family: str) -> str:
    """What the cells of a family differ in."""
    if family.startswith(("random", "fixed")):
        return "instance"
    if family.endswith("alpha 0"):
        return "reference arm"
    return "mean of arm 1" if family == "toy" else "alpha"


def picture(part: str, cells: list[Cell], scores: dict[str, dict[str, Score]], file: Path) -> None:
    """One panel per family, regret on a log scale, GLR in black."""
    import matplotlib.pyplot as plt

    families = list(dict.fromkeys(cell.family for cell in cells))
    columns = 3 if len(families) > 4 else 2 if len(families) > 1 else 1
    rows = math.ceil(len(families) / columns)
    with style():
        figure, axes = plt.subplots(rows, columns, figsize=(4.6 * columns, 3.3 * rows), squeeze=False)
        for ax, family in zip(axes.flat, families, strict=False):
            mine = [cell for cell in cells if cell.family == family]
            at = np.arange(len(mine)) if isinstance(mine[0].x, str) else np.array([float(cell.x) for cell in mine])
            for policy in (*PARTS[part][1], "glr"):
                colour, marker, _ = look(policy)
                means = [max(scores[cell.name][policy].mean, 1.0) for cell in mine]
                ax.plot(at, means, marker, color=colour, markersize=5, label=pretty(policy))
            ax.set_yscale("log")
            ax.set_title(family)
            if isinstance(mine[0].x, str):
                ax.set_xticks(at, [str(cell.x) for cell in mine], rotation=40, ha="right", fontsize=8)
            else:
                ax.set_xlabel(axis(family))
        for ax in list(axes.flat)[len(families) :]:
            ax.set_visible(False)
        for ax in axes[:, 0]:
            ax.set_ylabel("mean summed regret\n(below 1 drawn at 1)")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file)
        plt.close(figure)
    print(f"  picture: {file}\n")


def speed() -> None:
    """Processor time of a MovieLens run of 5,000,000 pulls, compiled before: means over 20 runs, three times."""
    print("one MovieLens run of 5,000,000 pulls, ms of one core (at most 30 is the goal)")
    for alpha in np.arange(1, 10) / 20:
        job = Job(
            get_policy("glr"),
            sf.load_instance("movielens"),
            sf.BestReward(alpha),
            horizon=5_000_000,
            seed=0,
            checkpoints=even_times(5_000_000),
        )
        job.prepare()
        rounds = []
        for _ in range(3):
            begin = time.process_time()
            job.run(0, 20)
            rounds.append((time.process_time() - begin) / 20 * 1e3)
        print(f"  alpha {alpha:<5g}{' '.join(f'{ms:7.2f}' for ms in rounds)}")


def decisions() -> None:
    """Processor time of one decision in plain Python by the number of arms, half of which look infeasible."""
    print("one decision of glr in plain Python, ms")
    for arms in (10, 100, 1000):
        policy = sf.GLR()
        problem = make_problem(policy, sf.BestReward(0.1), np.arange(1, arms + 1) / arms, np.arange(arms), 10**6, True)
        state = new_state(policy, arms)
        state.pulls[:] = 30
        state.totals[:] = state.squares[:] = np.where(np.arange(arms) < arms // 2, 15, 24)
        begin, rounds = time.process_time(), 3000 // arms
        for _ in range(rounds):
            policy.decide(problem, state, 30 * arms, np.random.default_rng(0))
        print(f"  {arms:5d} arms {(time.process_time() - begin) / rounds * 1e3:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Summed regret of GLR against every policy of the paper.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rival-runs", type=int, default=0, help="of the other policies; as many as --runs by default")
    parser.add_argument("--part", choices=[*PARTS, "speed"], action="append", help="all parts by default")
    parser.add_argument("--cells", default="", help="only those whose names contain this text")
    parser.add_argument("--alone", action="store_true", help="GLR against its first generation, no other policy")
    parser.add_argument("--quick", action="store_true", help="5 runs")
    parser.add_argument("--out", default="results/regret", help="where the numbers and pictures go (a file prefix)")
    args = parser.parse_args()
    if args.quick:
        args.runs, args.rival_runs, args.out = 5, 5, f"{args.out}-quick"
    for part in args.part or [*PARTS, "speed"]:
        if part == "speed":
            speed()
            decisions()
            continue
        if args.alone:
            PARTS[part] = (PARTS[part][0], (), PARTS[part][2])
        cells, scores = gather(part, args)
        if not cells:
            continue
        table(part, cells, scores)
        picture(part, cells, scores, Path(f"{args.out}-{part}.png"))


if __name__ == "__main__":
    main()
