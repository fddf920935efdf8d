"""`satisfice sweep`: simulations over every combination of some parameters; a sweep that was stopped goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from satisfice.cli import options, output
from satisfice.cli.bounds import number
from satisfice.errors import InvalidRun


def sweep(
    over: list[str] = typer.Option(
        ...,
        "--over",
        help="A parameter and its values, alpha=0.05,0.1,0.2: alpha, threshold, horizon, instance, seed, or one of a "
        "policy, pe-cs.kappa=0,2,5. Repeat it for every combination of several.",
        metavar="NAME=LIST",
    ),
    instance: str | None = typer.Option(
        None, "--instance", "-i", help="A built-in instance or a .json file, unless it is swept.", metavar="NAME|FILE"
    ),
    setting: str = options.SETTING,
    alpha: float | None = options.ALPHA,
    reference: str | None = options.REFERENCE,
    threshold: float | None = options.THRESHOLD,
    policy: list[str] = typer.Option(..., "--policy", "-p", help="A policy; repeat it for several."),
    horizon: str | None = typer.Option(None, "--horizon", "-T", help="Number of pulls, unless it is swept."),
    runs: int = typer.Option(50, "--runs", "-n", help="Independent runs of each policy at each combination."),
    seed: int = options.SEED,
    workers: int | None = options.WORKERS,
    common: bool = options.COMMON,
    out: Path = typer.Option(
        Path("sweep"), "--out", "-o", help="Folder for the data, the table and the picture; a sweep goes on there."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the table as JSON, for machines."),
) -> None:
    """Simulate every combination of some parameters: a table (CSV), a picture, and data that a later sweep reuses."""
    from satisfice.simulation.regret import standard_error
    from satisfice.simulation.sweeping import sweep as swept

    grid = dict(_values(text) for text in over)
    if len(grid) < len(over):
        raise InvalidRun("a parameter is swept twice; give all its values in one --over")
    name = str(grid["instance"][0]) if "instance" in grid else instance
    if name is None:
        raise InvalidRun("give --instance, or sweep over it: --over instance=toy:0.6,toy:0.7")
    if horizon is None and "horizon" not in grid:
        raise InvalidRun("give --horizon, or sweep over it: --over horizon=1e4,1e5")
    problem = options.read_instance(name)
    factor, bar = grid.get("alpha", [alpha])[0], grid.get("threshold", [threshold])[0]
    where = options.read_setting(setting, factor, reference, bar, problem)  # type: ignore[arg-type]
    steps = float(str(grid["horizon"][0])) if horizon is None else float(options.read_whole("--horizon", horizon))

    def report(done: int, total: int, what: str) -> None:
        typer.echo(f"{done}/{total} {what}", err=True)

    with output.ready(out):
        kept = out / "cells"
        run = partial(swept, name, where, policy, steps, grid, runs=runs, seed=seed, folder=kept, workers=workers)
        found = run(common=common, report=None if as_json else report)
        table = found.to_polars()
        files = output.keep(out, output.slug("sweep", *grid), {".csv": table.write_csv, ".png": found.plot})
    if as_json:
        output.print_json({"table": table.to_dicts(), "files": [str(path) for path in files]})
        return
    head = [*grid, "policy", "cost regret", "quality regret", "± s.e. (sum)", "optimal arm"]
    rows = [head]
    for point in found.points:
        result = point.result
        means = number(float(result.cost_regret.mean())), number(float(result.quality_regret.mean()))
        share = f"{result.optimal_share.mean():.1%}"
        shown = [str(point.values.get(name, "")) for name in grid]
        rows.append([*shown, result.terms.policy, *means, number(standard_error(result.regret)), share])
    options.print_table(rows, left=(len(grid),), droppable=(len(grid) + 3,))
    typer.echo(f"table:   {files[0]}\npicture: {files[1]}\ncells:   {kept} (a sweep over more values reuses them)")


def _values(text: str) -> tuple[str, list[float | str]]:
    name, equals, rest = text.partition("=")
    pieces = [piece.strip() for piece in rest.split(",") if piece.strip()]
    if not equals or not pieces:
        raise InvalidRun(f"--over {text!r} is not a parameter and its values, such as alpha=0.05,0.1")
    if name.strip() == "instance":
        return "instance", list(pieces)
    values: list[float | str] = []
    for piece in pieces:
        value = options.read_number(piece)
        if value != value:
            raise InvalidRun(f"--over {name.strip()}: {piece!r} is not a number")
        values.append(int(value) if value.is_integer() else value)
    return name.strip(), values
