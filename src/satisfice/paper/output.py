"""What a reproduction leaves behind: figures, data, texts."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.files import write_whole
from satisfice.paper.cells import PanelData
from satisfice.paper.experiments import Experiment
from satisfice.simulation import Results
from satisfice.simulation.results import versions

if TYPE_CHECKING:
    import polars as pl

CURVES = ("checkpoints", "cost_curve", "quality_curve")


def write_text(path: Path, text: str) -> Path:
    """Write a text file, whole or not at all."""
    return write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))


def write_figure(experiment: Experiment, data: list[PanelData], folder: Path) -> Path:
    """The experiment's figure as PNG and PDF; answers with the PNG."""
    from satisfice.paper.figures import draw
    from satisfice.plots import save

    figure = draw(experiment, data)
    save(figure, folder / f"{experiment.name}.pdf")
    return save(figure, folder / f"{experiment.name}.png")


def write_data(experiment: Experiment, data: list[PanelData], folder: Path) -> Path:
    """The numbers in the experiment's figure as Parquet, one row per run (per arm for an instance)."""
    import polars as pl

    frame = pl.concat([_frame(experiment, part) for part in data])
    return write_whole(folder / f"{experiment.name}.parquet", frame.write_parquet)


def _frame(experiment: Experiment, part: PanelData) -> pl.DataFrame:
    import polars as pl

    if experiment.kind == "instance":
        from satisfice.instances import load_instance

        instance = load_instance(part.panel.grid[0].instance)
        return pl.DataFrame({"arm": list(instance.names), "cost": instance.costs, "mean": instance.means})
    frames = []
    for x, results in part.points.items():
        terms = {label: json.dumps(result.terms.to_dict()) for label, result in results.items()}
        frame = Results(results)._stored().with_columns(
            panel=pl.lit(part.panel.title), x=pl.lit(float(x)), terms=pl.col("policy").replace_strict(terms)
        )  # fmt: skip
        frames.append(frame if experiment.kind == "curves" else frame.drop(CURVES))
    return pl.concat(frames).select("panel", "x", pl.exclude("panel", "x"))


def facts(*, seed: int, quick: bool, simulated: float, total: float, cluster: object | None) -> dict[str, str]:
    """What made the report, for its head."""
    made = versions()
    return {
        "scale": "small version" if quick else "full scale",
        "seed": str(seed),
        "simulations": _duration(simulated),
        "this command": _duration(total),
        "machine": "a Dask cluster" if cluster is not None else f"{os.cpu_count()} cores, {platform.machine()}",
        "versions": ", ".join(f"{name} {version}" for name, version in made.items()),
    }


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{int(seconds // 60)} min {seconds % 60:.0f} s"
