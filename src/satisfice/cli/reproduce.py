"""`satisfice reproduce`: the paper's experiments, figures and claims, with one command."""

from __future__ import annotations

from pathlib import Path

import typer

from satisfice.cli import options, output
from satisfice.errors import InvalidRun


def reproduce(
    figures: list[str] = typer.Argument(
        None, metavar="[FIGURE]...", help="Figures, or how their names begin: 1a, 2, toy. All of them by default."
    ),
    quick: bool = typer.Option(False, "--quick", help="A small version of everything, in seconds."),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        help="Folder to write to: 'reproduction', or 'reproduction-quick' with --quick. Its report, figures and data "
        "are those of the last command; the simulations of other ones (in cells) are kept.",
    ),
    seed: int = options.SEED,
    workers: int | None = typer.Option(None, "--workers", help="Number of processes; by default one per core."),
    cluster: str | None = typer.Option(
        None, "--cluster", help="Run on a Dask cluster: the address of its scheduler.", metavar="tcp://HOST:PORT"
    ),
) -> None:
    """Reproduce the paper: every figure, its data, and a report of which of its claims hold.

    What is already in the folder is not run again, and an interrupted reproduction goes on where it stopped.
    """
    from rich.progress import TaskProgressColumn

    from satisfice.paper import choose
    from satisfice.paper import reproduce as run
    from satisfice.progress import progress_bar

    if cluster is not None and workers is not None:
        raise InvalidRun("--workers and --cluster do not go together; the cluster has its own workers")
    folder = out or Path("reproduction-quick" if quick else "reproduction")
    chosen = choose(figures or ())
    bar = progress_bar(TaskProgressColumn(), room=5)
    with output.ready(folder), bar:
        task = bar.add_task("starting", total=None)

        def report(done: float, total: float, what: str) -> None:
            # Without any simulation all of the work is done.
            bar.update(task, completed=done if total else 1, total=total or 1, description=what)

        page = run(figures or (), folder, quick, seed=seed, workers=workers, cluster=cluster, progress=report)
    typer.echo(f"report:  {page}")
    typer.echo(f"figures: {folder / 'figures'} ({len(chosen)}, PNG and PDF), data: {folder / 'data'}")
    if any(experiment.name in ("2b", "2d") for experiment in chosen):
        typer.echo(f"table:   {folder / 'table.md'}")
