"""A whole (small) reproduction: its files, its figures, its report; going on after an interruption."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.collections import PathCollection

import satisfice as sf
from satisfice.paper import choose, reproduce
from satisfice.paper.cells import Store, all_cells
from satisfice.paper.figures import draw
from satisfice.paper.schedule import Times, simulated

FIGURES = ("1b", "2c", "2d", "trade-off-best", "instance-goodreads", "asymmetric", "toy")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small reproduction that several tests look at."""
    folder = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        small_panels(patch)
        reproduce(FIGURES, out=folder, quick=True, seed=1, workers=1)
    return folder


def small_panels(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[sf.paper.Experiment]:
    monkeypatch.setattr("satisfice.paper.experiments.QUICK_HORIZON", 2_000)
    monkeypatch.setattr("satisfice.paper.experiments.QUICK_RUNS", 3)
    return choose(names, quick=True)


def test_every_file_is_there(small: Path) -> None:
    assert {path.name for path in small.iterdir()} == {
        "cells", "data", "figures", "report.html", "table.md", "times.json"
    }  # fmt: skip
    for name in FIGURES:
        assert (small / "data" / f"{name}.parquet").is_file()
        assert (small / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (small / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert not list(small.rglob("*.part"))
    assert set(Times(small / "times.json").seconds) == {path.name for path in (small / "cells").iterdir()}


def test_the_data_are_those_of_the_simulator(small: Path) -> None:
    frame = pl.read_parquet(small / "data" / "2d.parquet")
    assert frame["x"].unique().sort().to_list() == pytest.approx([p / 100 for p in range(5, 50, 5)])
    point = frame.filter((pl.col("x") == 0.25) & (pl.col("policy") == "ts-cs")).sort("run")
    alone = sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.25), "ts-cs", 2_000, runs=3, seed=1)["ts-cs"]
    assert np.array_equal(point["regret"], alone.regret)
    assert '"alpha": 0.25' in point["terms"][0]
    curves = pl.read_parquet(small / "data" / "2c.parquet").filter(pl.col("policy") == "ts-cs").sort("run")
    assert np.array_equal(np.array(curves["cost_curve"].to_list()), alone.cost_curve)
    arms = pl.read_parquet(small / "data" / "instance-goodreads.parquet")
    assert arms["mean"].to_list() == sf.load_instance("goodreads").means.tolist()


def test_the_table_of_figure_2(small: Path) -> None:
    lines = (small / "table.md").read_text().splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| 0.")]
    assert [row[0] for row in rows] == [f"| {p / 100:g}" for p in range(5, 50, 5)]
    frame = pl.read_parquet(small / "data" / "2d.parquet").filter(
        (pl.col("x") == 0.05) & (pl.col("policy") == "etc-cs")
    )
    mean = float(frame["regret"].to_numpy().mean())
    assert rows[0][2].startswith(f"{mean:,.0f} ± ")


class Links(HTMLParser):
    """What a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]


def test_the_report_needs_no_network(small: Path) -> None:
    page = (small / "report.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert len([link for link in links.found if link.startswith("data:image/png;base64,")]) == len(FIGURES)
    assert all(link.startswith(("data:image/png;base64,", "#")) for link in links.found)
    assert not links.tags & {"script", "link", "iframe", "object", "base"}
    assert "@import" not in page and "url(" not in page
    for link in links.found:
        assert not link.startswith("#") or f'id="{link[1:]}"' in page
    assert "small version" in page and "not from the paper" in page


@pytest.mark.parametrize("name", ["1b", "2c", "2d", "trade-off-best", "instance-goodreads", "toy"])
def test_figures_are_legible(small: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (experiment,) = small_panels(monkeypatch, name)
    store, times = Store(small / "cells"), Times(small / "times.json")
    cells = all_cells([experiment], 1)
    made = simulated(cells, store, times, workers=1, cluster=None, progress=lambda done, total, what: None)
    assert len(list(made)) == len(cells)
    figure = draw(experiment, store.panels(experiment, 1))
    figure.canvas.draw()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    for ax in figure.axes:
        assert ax.get_xlabel() and ax.get_ylabel()
        assert not box.overlaps(ax.get_window_extent())
        if experiment.kind in ("scatter", "trade-off"):
            assert ax.get_yscale() in ("log", "symlog")
    drawn = [text.get_text() for text in legend.get_texts()]
    assert len(set(drawn)) == len(drawn)
    if experiment.kind != "instance":
        assert len(drawn) == len(experiment.panels[0].policies)
    # Nobody is left out by the axes' limits.
    for ax in figure.axes:
        low, high = ax.get_ylim()
        for points in (c for c in ax.collections if isinstance(c, PathCollection)):
            y = np.asarray(points.get_offsets())[:, 1]
            assert low <= y.min() and y.max() <= high


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_panels(monkeypatch)
    said: list[str] = []
    reproduce(["asymmetric"], tmp_path, quick=True, workers=1)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in (tmp_path / "cells").iterdir()}
    removed = next(path for path in before if "asymmetric-pe" in path.name)
    removed.unlink()
    reproduce(["asymmetric"], tmp_path, quick=True, workers=1, progress=lambda done, total, what: said.append(what))
    assert f"{len(before) - 1} of {len(before)} simulations are there already" in said
    for path, (written, content) in before.items():
        assert path.read_bytes() == content
        assert path == removed or path.stat().st_mtime_ns == written
    assert [what for what in said if what.startswith("compiling")] == ["compiling asymmetric-pe"]


def test_workers_do_not_change_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_panels(monkeypatch)
    for workers in (1, 2):
        reproduce(["asymmetric", "fixed"], tmp_path / str(workers), quick=True, workers=workers)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / w / "cells").iterdir()} for w in "12")
    assert one == two


def test_progress_ends_where_it_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_panels(monkeypatch)
    steps: list[tuple[float, float]] = []
    reproduce(["asymmetric"], tmp_path, quick=True, workers=1, progress=lambda d, t, what: steps.append((d, t)))
    done, total = zip(*steps, strict=True)
    assert list(done) == sorted(done) and len(set(total)) == 1
    assert done[0] == 0 and done[-1] == pytest.approx(total[-1])


def test_the_verdicts_are_in_the_report(small: Path) -> None:
    page = (small / "report.html").read_text(encoding="utf-8")
    verdicts = re.findall(r'class="badge (holds|holds-partly|does-not-hold|not-decided)"', page)
    # 1b, 2c, 2d, asymmetric and toy, each in the overview and with its figure.
    assert len(verdicts) == 2 * (1 + 3 + 5 + 1 + 3)
