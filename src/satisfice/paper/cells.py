"""Cells: all runs of one policy at one point. The unit of work that is stored, and never done twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from satisfice import __version__
from satisfice.errors import InvalidData
from satisfice.instances import load_instance
from satisfice.paper.experiments import Experiment, Panel
from satisfice.policies import get_policy
from satisfice.problem import Setting
from satisfice.simulation import Result, Results, load_results
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.job import Job, Piece
from satisfice.simulation.results import Terms

CHECKPOINTS = 200
# Seconds of one core for a run of 5,000,000 pulls on 20 arms, roughly: only the estimate of the time left and the
# size of the pieces of work depend on it.
SECONDS = {"ts-cs": 0.25, "ucb-cs": 0.03, "glr": 0.05}
PIECE = 0.5


@dataclass(frozen=True)
class Cell:
    """All runs of one policy on one instance in one setting."""

    instance: str
    setting: Setting
    policy: str
    horizon: int
    runs: int
    seed: int

    @cached_property
    def job(self) -> Job:
        """What a worker needs to know."""
        return Job(
            get_policy(self.policy),
            load_instance(self.instance),
            self.setting,
            horizon=self.horizon,
            seed=self.seed,
            checkpoints=even_times(self.horizon, CHECKPOINTS),
        )

    @cached_property
    def terms(self) -> Terms:
        """The settings that make the cell's data."""
        return self.job.terms(self.runs)

    @cached_property
    def file(self) -> str:
        """The name of the cell's file: what a person wants to know, and a digest of all settings and the version."""
        settings = self.terms.to_dict() | {"versions": __version__, "checkpoints": CHECKPOINTS}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]
        setting = [f"{name}{value}" for name, value in self.setting.to_dict().items() if name != "kind"]
        words = "-".join([self.job.instance.label, self.setting.kind, *setting, self.job.policy.id])
        plain = "".join(c if c.isalnum() or c in ".-" else "-" for c in words)
        return f"{plain}-{digest}.parquet"

    @cached_property
    def seconds(self) -> float:
        """Seconds of one core that a run is expected to take."""
        speed = SECONDS.get(self.job.policy.id, 0.001)
        return 0.0005 + speed * self.horizon / 5e6 * (0.2 + 0.8 * self.job.instance.arms / 20)

    def pieces(self) -> list[Piece]:
        """The cell's runs in pieces of about `PIECE` seconds."""
        size = max(1, min(self.runs, int(PIECE / self.seconds)))
        return [Piece(self.job, first, min(size, self.runs - first)) for first in range(0, self.runs, size)]


def cells_of(panel: Panel, seed: int) -> dict[float, list[Cell]]:
    """The cells of a panel by their place on its x axis."""
    return {
        point.x: [Cell(point.instance, point.setting, p, panel.horizon, panel.runs, seed) for p in panel.policies]
        for point in panel.grid
    }


def all_cells(experiments: Iterable[Experiment], seed: int) -> list[Cell]:
    """Every cell of some experiments, once, in their order."""
    found: dict[Cell, None] = {}
    for experiment in experiments:
        for panel in experiment.panels:
            found |= dict.fromkeys(cell for cells in cells_of(panel, seed).values() for cell in cells)
    return list(found)


@dataclass(frozen=True)
class PanelData:
    """The results of a panel: by place on the x axis, then by the policy's label."""

    panel: Panel
    points: dict[float, dict[str, Result]]

    def regret(self, label: str) -> dict[float, NDArray[np.float64]]:
        """Terminal cost + quality regret (runs,) of a policy by place on the x axis."""
        return {x: results[label].regret for x, results in self.points.items()}


class Store:
    """The folder in which cells are kept, one Parquet file each, whole or not there at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Cell, Result] = {}

    def get(self, cell: Cell) -> Result | None:
        """The result of a cell; None when it is not there, is damaged, or was made by other settings."""
        if cell not in self._known:
            try:
                result = load_results(self.folder / cell.file)[cell.job.policy.label]
            except (InvalidData, KeyError):
                return None
            if result.terms != cell.terms:
                return None
            self._known[cell] = result
        return self._known[cell]

    def put(self, cell: Cell, result: Result) -> None:
        """Keep the result of a cell."""
        Results({cell.job.policy.label: result}).save(self.folder / cell.file)
        self._known[cell] = result

    def panels(self, experiment: Experiment, seed: int) -> list[PanelData]:
        """All data of an experiment, every cell of which is there."""
        return [
            PanelData(
                panel,
                {
                    x: {cell.job.policy.label: self._known[cell] for cell in cells}
                    for x, cells in cells_of(panel, seed).items()
                },
            )
            for panel in experiment.panels
        ]
