"""The schedule of a reproduction: every cell that is not there yet, and the time it took."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from satisfice.files import write_whole
from satisfice.paper.cells import Cell, Store
from satisfice.simulation.job import Job, Output
from satisfice.simulation.processes import cores, prepare
from satisfice.simulation.schedule import carry_out

# Work done, work in all (expected seconds of one core), and what is being done.
Progress = Callable[[float, float, str], None]


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
        text = json.dumps(self.seconds, indent=1, sort_keys=True) + "\n"
        write_whole(self.path, lambda part: part.write_text(text, encoding="utf-8"))

    def of(self, cells: list[Cell]) -> float:
        """Seconds that some cells took together."""
        return sum(self.seconds.get(cell.file, 0.0) for cell in cells)


def simulated(
    cells: list[Cell],
    store: Store,
    times: Times,
    *,
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
    owner = {cell.job: cell for cell in missing}
    parts: dict[Cell, dict[int, Output]] = {cell: {} for cell in missing}
    spent = dict.fromkeys(missing, 0.0)
    if cluster is None:
        first: dict[str, Job] = {}
        for cell in missing:
            first.setdefault(cell.policy, cell.job)
        progress(total - ahead, total, f"compiling {', '.join(first)}")
        prepare(first.values(), workers or cores())
    last = time.perf_counter()
    pieces = [piece for cell in missing for piece in cell.pieces()]
    for piece, output in carry_out(pieces, workers=workers, cluster=cluster):
        cell = owner[piece.job]
        now = time.perf_counter()
        spent[cell] += now - last
        last = now
        parts[cell][piece.first] = output
        ahead -= cell.seconds * piece.runs
        progress(total - ahead, total, f"{cell.instance}, {cell.policy}")
        if sum(len(part.pulls) for part in parts[cell].values()) == cell.runs:
            result = cell.job.result(parts.pop(cell))
            times.save(cell, spent[cell])
            store.put(cell, result)
            yield cell
    progress(total, total, "all simulations are there")  # whatever the sum above was rounded to
