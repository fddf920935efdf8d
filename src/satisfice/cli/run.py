"""`satisfice run`: simulate policies on an instance, show a table, write the data and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from satisfice.cli import options, output
from satisfice.cli.bounds import number
from satisfice.words import count

if TYPE_CHECKING:
    from satisfice.simulation import Results


def run(
    instance: str = options.INSTANCE,
    setting: str = options.SETTING,
    alpha: float | None = options.ALPHA,
    reference: str | None = options.REFERENCE,
    threshold: float | None = options.THRESHOLD,
    policy: list[str] = typer.Option(
        None,
        "--policy",
        "-p",
        help="A policy, also with parameters: 'pe-cs(kappa=5)'. Repeat it for several; "
        "without it, every policy that serves the setting.",
    ),
    horizon: str = options.HORIZON,
    runs: int = typer.Option(50, "--runs", "-n", help="Independent runs of each policy."),
    seed: int = options.SEED,
    checkpoints: int = typer.Option(200, "--checkpoints", help="Points of the regret curves."),
    log_x: bool = typer.Option(False, "--log-x", help="Regret curves on a log axis of pulls, with points to match."),
    workers: int | None = options.WORKERS,
    common: bool = options.COMMON,
    unit_costs: bool = options.UNIT_COSTS,
    out: Path = typer.Option(
        Path("results"), "--out", "-o", help=f"Folder for the data and the picture. {output.KEPT}"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON, for machines."),
    plain: bool = typer.Option(
        False, "--plain", help="Run the rules as plain Python, not compiled: slow, for rules that Numba cannot compile."
    ),
) -> None:
    """Simulate policies on an instance: a table, the data (Parquet) and a picture (PNG)."""
    from satisfice.policies import all_policies
    from satisfice.simulation import simulate
    from satisfice.simulation.checkpoints import log_times

    problem = options.read_instance(instance, unit_costs)
    chosen_setting = options.read_setting(setting, alpha, reference, threshold, problem)
    served = [
        id
        for id, cls in all_policies().items()
        if cls.serves(chosen_setting) and (problem.bounded or not cls.bounded_only)
    ]
    steps = options.read_whole("--horizon", horizon)
    with output.ready(out):
        results = simulate(
            problem,
            chosen_setting,
            policies=policy or served,
            horizon=steps,
            runs=runs,
            seed=seed,
            checkpoints=log_times(steps, checkpoints) if log_x else checkpoints,
            workers=workers,
            progress=not as_json,
            compiled=not plain,
            common=common,
        )
        stem = output.slug(problem.label, setting, reference, alpha, threshold)
        draw = partial(results.plot, log_x=log_x)
        data, figure = output.keep(out, stem, {".parquet": results.save, ".png": draw})
    best = chosen_setting.optimal_arm(problem)
    doubt = options.doubt_data(problem, chosen_setting)
    if as_json:
        document = {
            "instance": problem.label,
            "setting": chosen_setting.to_dict(),
            "horizon": steps,
            "runs": runs,
            "seed": seed,
            "threshold": chosen_setting.threshold(problem),
            "optimal_arm": problem.names[best],
            "doubt": doubt,
            "seconds": results.seconds,
            "common": common,
            "summary": results.summary().to_dicts(),
            "data": str(data),
            "picture": str(figure),
        }
        output.print_json(document)
        return
    options.say(
        f"{problem.label}: threshold {chosen_setting.threshold(problem):.4g}, optimal arm {problem.names[best]} "
        f"(cost {problem.costs[best]:g}, mean {problem.means[best]:g}); {count(steps, 'pull')}, "
        f"{count(runs, 'run')}, {results.seconds:.1f} s"
    )
    if doubt is not None:
        options.say(str(doubt["sentence"]))
    show(results)
    if common and runs > 1:
        least = min(results, key=lambda label: float(results[label].regret.mean()))
        for label in results:
            if label != least:
                options.say(str(results.compare(least, label)))
    typer.echo(f"data:    {data}\npicture: {figure}")


def show(results: Results) -> None:
    """Print the summary as a table."""
    rows: list[Sequence[str]] = [
        ("policy", "regret", "mean", "± s.e.", "s.d.", "median", "95th pct", "worst", "optimal arm")
    ]
    for row in results.summary().iter_rows(named=True):
        numbers = [number(row[key]) for key in ("mean", "std_error", "std", "median", "p95", "worst")]
        first = row["regret"] == "cost"
        share = f"{row['optimal_share']:.2%}" if first else ""
        rows.append((row["policy"] if first else "", row["regret"], *numbers, share))
    options.print_table(rows, left=(0, 1), droppable=(4, 5, 6, 7))
