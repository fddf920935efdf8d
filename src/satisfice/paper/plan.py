"""The plan: every cell that is not there yet, on this machine's processes or on a cluster, and the time it took."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from satisfice.paper.cells import Cell, Store
from satisfice.simulate.runner import Job, Output, assemble, in_processes, whole

# Work done, work in all (expected seconds of one core), and what is being done.
Progress = Callable[[float, float, str], None]
Piece = tuple[Job, int, int]


class Times:
    """Wall time of every cell, in seconds, in a JSON file: time goes to the cell whose piece of work came in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.seconds: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.seconds = {}

    def save(self, cell: Cell, seconds: float) -> None:
        """Note the time of a cell."""
        self.seconds[cell.file] = round(seconds, 4)
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(json.dumps(self.seconds, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        part.replace(self.path)

    def of(self, cells: list[Cell]) -> float:
        """Seconds that some cells took together."""
        return sum(self.seconds.get(cell.file, 0.0) for cell in cells)


def carry_out(
    cells: list[Cell],
    store: Store,
    times: Times,
    workers: int | None,
    cluster: object | str | None,
    progress: Progress,
) -> Iterator[Cell]:
    """Every cell, as soon as it is there: those that are stored at once, the others when they are simulated.

    A cell is stored when its last run is in, so whoever stops in between loses the runs of unfinished cells alone.
    """
    missing: list[Cell] = []
    for cell in cells:
        if store.get(cell) is None:
            missing.append(cell)
        else:
            yield cell
    ahead = sum(cell.seconds * cell.runs for cell in missing)
    total = sum(cell.seconds * cell.runs for cell in cells)
    progress(total - ahead, total, f"{len(cells) - len(missing)} of {len(cells)} simulations are there already")
    owner = {id(cell.job): cell for cell in missing}
    parts: dict[Cell, dict[int, Output]] = {cell: {} for cell in missing}
    spent = dict.fromkeys(missing, 0.0)
    if cluster is None:
        for policy in dict.fromkeys(cell.policy for cell in missing):
            progress(total - ahead, total, f"compiling {policy}")
            next(cell for cell in missing if cell.policy == policy).job.run(0, 0)
    last = time.perf_counter()
    for job, first, output in _work([piece for cell in missing for piece in cell.pieces()], workers, cluster):
        cell = owner[id(job)]
        now = time.perf_counter()
        spent[cell] += now - last
        last = now
        parts[cell][first] = output
        ahead -= cell.seconds * len(output[0])
        progress(total - ahead, total, f"{cell.instance}, {cell.policy}")
        if sum(len(part[0]) for part in parts[cell].values()) == cell.runs:
            result = assemble(job, parts.pop(cell))
            times.save(cell, spent[cell])
            store.put(cell, result)
            yield cell
    progress(total, total, "all simulations are there")  # whatever the sum above was rounded to


def _work(pieces: list[Piece], workers: int | None, cluster: object | str | None) -> Iterator[tuple[Job, int, Output]]:
    if not pieces:
        return
    if cluster is not None:
        from satisfice.simulate.cluster import on_cluster

        yield from on_cluster(cluster, pieces)
        return
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if whole("workers", workers, 1, 4096) > 1:
        yield from in_processes(pieces, workers)
        return
    for job, first, count in pieces:
        yield job, first, job.run(first, count)
