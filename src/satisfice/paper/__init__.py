"""The paper's experiments: `reproduce` runs them, draws the figures and writes the report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from satisfice.paper.experiments import EXPERIMENTS, Experiment, Panel, Point, choose
from satisfice.paper.schedule import Progress

__all__ = ["EXPERIMENTS", "Experiment", "Panel", "Point", "choose", "reproduce"]


def reproduce(
    figures: Sequence[str] = (),
    out: str | Path = "reproduction",
    quick: bool = False,
    *,
    seed: int = 0,
    workers: int | None = None,
    cluster: object | str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Run the paper's experiments, draw its figures and write a report of which claims hold.

    What is in `out` already, made by the same settings and version, is not run again, so an interrupted
    reproduction goes on where it stopped, with the same results as an uninterrupted one.

    Parameters
    ----------
    figures : sequence of str
        Names of figures, or how they begin: "1a", "2", "toy". All of them by default; see `EXPERIMENTS`.
    out : path
        The folder to write to: `report.html`, `table.md`, `figures/` (PNG and PDF), `data/` (Parquet, one per
        figure), `cells/` (Parquet, one per policy and point: what makes going on possible) and `times.json`.
    quick : bool
        A small version of everything.
    seed : int
        Seed of all random numbers; results do not depend on the number of workers.
    workers : int, optional
        Number of processes; by default one per core.
    cluster : str or distributed.Client, optional
        A Dask cluster that does the work, as for `simulate`.
    progress : function, optional
        Called with (work done, work in all, what is being done); work is in expected seconds of one core.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    SatisficeError
        An unknown figure, or a number out of range.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce(["instance"], out=folder).name
    'report.html'
    """
    from satisfice.limits import MAX_SEED, whole
    from satisfice.paper.cells import Store, all_cells
    from satisfice.paper.claims import judge
    from satisfice.paper.output import facts, write_data, write_figure, write_text
    from satisfice.paper.report import Section, html, markdown, table_of
    from satisfice.paper.schedule import Times, simulated

    started = time.perf_counter()
    seed = whole("seed", seed, 0, MAX_SEED)
    chosen = choose(list(figures), quick)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    store, times = Store(folder / "cells"), Times(folder / "times.json")
    waiting = {experiment.name: set(all_cells([experiment], seed)) for experiment in chosen}
    sections: dict[str, Section] = {}
    tables = {}

    def finish(experiment: Experiment) -> None:
        data = store.panels(experiment, seed)
        sections[experiment.name] = Section(
            experiment=experiment,
            claims=judge(experiment.name, data),
            tables=[table_of(part) if part.panel.policies else [] for part in data],
            picture=write_figure(experiment, data, folder / "figures"),
            seconds=times.of(all_cells([experiment], seed)),
        )
        write_data(experiment, data, folder / "data")
        if experiment.name in ("2b", "2d"):
            tables[experiment.name] = data[0]

    cells = all_cells(chosen, seed)
    report = progress or (lambda done, total, what: None)
    for cell in simulated(cells, store, times, workers=workers, cluster=cluster, progress=report):
        for experiment in chosen:
            if cell in waiting[experiment.name]:
                waiting[experiment.name].remove(cell)
                if not waiting[experiment.name]:
                    finish(experiment)
    for experiment in chosen:
        if experiment.name not in sections:  # it needs no simulation
            finish(experiment)
    if tables:
        write_text(folder / "table.md", markdown(tables[name] for name in sorted(tables)))
    about = facts(
        seed=seed,
        quick=quick,
        simulated=times.of(cells),
        total=time.perf_counter() - started,
        cluster=cluster,
    )
    return write_text(folder / "report.html", html(list(sections.values()), about, quick))
