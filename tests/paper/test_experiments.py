"""The declared experiments are the paper's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidRun
from satisfice.paper import EXPERIMENTS, choose
from satisfice.paper.cells import Store, all_cells, cells_of
from satisfice.paper.experiments import OURS, P1A, TOY


def test_grids_runs_and_horizons() -> None:
    points = {name: [len(panel.grid) for panel in experiment.panels] for name, experiment in EXPERIMENTS.items()}
    assert [points[name] for name in ("1a", "1b", "1c", "1d")] == [[7], [4], [10], [10]]
    assert [points[name] for name in ("2a", "2b", "2c", "2d")] == [[1], [9], [1], [9]]
    assert points["trade-off-known"] == [7, 4, 10, 10] and points["trade-off-best"] == [9, 9]
    assert points["toy"] == [12] and points["asymmetric"] == [1] and points["fixed-reference"] == [1]
    runs = {name: experiment.panels[0].runs for name, experiment in EXPERIMENTS.items()}
    assert {runs[name] for name in ("1a", "1b", "1c", "1d")} == {25}
    assert {runs[name] for name in ("2a", "2b", "2c", "2d", "toy")} == {50}
    assert {e.panels[0].horizon for name, e in EXPERIMENTS.items() if name != "toy"} == {5_000_000}
    assert EXPERIMENTS["toy"].panels[0].horizon == 500_000


def test_the_appendix_numbers_of_the_fixed_reference_figure() -> None:
    # ell = 11 has the mean 0.703; the threshold is 0.95 x 0.703 = 0.66785, printed as 0.668 in the paper.
    (point,) = EXPERIMENTS["fixed-reference"].panels[0].grid
    instance = sf.load_instance(point.instance)
    assert instance.means[10] == 0.703
    assert point.setting.threshold(instance) == pytest.approx(0.66785)


def test_shared_points_are_simulated_once() -> None:
    # Known reference: 7 + 4 + 10 + 10 points, of which (ell = 11, alpha = 0) and (ell = 4, alpha = 0) occur twice, and
    # the fixed-reference figure and the trade-offs add none. Best reward: 9 + 9. Toy 12, asymmetric 1.
    ours = len(OURS)
    assert len(all_cells(EXPERIMENTS.values(), 0)) == 29 * (2 + ours) + 18 * (4 + ours) + 12 * (4 + ours) + 2 + ours


def test_choose() -> None:
    assert [e.name for e in choose(["2", "figure-1A"])] == ["1a", "2a", "2b", "2c", "2d"]
    assert len(choose()) == len(EXPERIMENTS) == 15
    assert {panel.runs for e in choose(quick=True) for panel in e.panels} == {5}
    for wrong in ("9z", "", "figure-"):
        with pytest.raises(InvalidRun, match="there is no figure"):
            choose(["1a", wrong])


def test_a_new_experiment_is_a_few_lines(tmp_path: Path) -> None:
    mine = replace(TOY, grid=TOY.grid[:1], policies=("pe-cs",), runs=2, horizon=1000)
    (cell,) = cells_of(mine, seed=0)[0.6]
    store = Store(tmp_path)
    assert store.get(cell) is None
    store.put(cell, cell.job.result({0: cell.job.run(0, 2)}))
    alone = sf.simulate(sf.load_instance("toy:0.6"), sf.BestReward(0.2), "pe-cs", 1000, runs=2)["pe-cs"]
    again = Store(tmp_path).get(cell)
    assert again is not None
    assert np.array_equal(again.pulls, alone.pulls) and np.array_equal(again.cost_curve, alone.cost_curve)


def test_a_cell_is_done_only_when_every_setting_agrees(tmp_path: Path) -> None:
    small = replace(P1A, grid=P1A.grid[:1], policies=("pe",), runs=2, horizon=1000)
    (cell,) = cells_of(small, seed=0)[2]
    Store(tmp_path).put(cell, cell.job.result({0: cell.job.run(0, 2)}))
    for other in (
        replace(cell, seed=1),
        replace(cell, runs=3),
        replace(cell, horizon=2000),
        replace(cell, setting=sf.ReferenceArm(1, alpha=0.1)),
        replace(cell, policy="ucb-cs"),
        replace(cell, instance="goodreads"),
    ):
        assert other.file != cell.file and Store(tmp_path).get(other) is None
        # Not even under its name: the file says itself what made it.
        (tmp_path / other.file).write_bytes((tmp_path / cell.file).read_bytes())
        assert Store(tmp_path).get(other) is None
    (tmp_path / cell.file).write_bytes((tmp_path / cell.file).read_bytes()[:-100])
    assert Store(tmp_path).get(cell) is None


@pytest.mark.parametrize("runs", [1, 7, 50])
@pytest.mark.parametrize("policy", ["pe", "ts-cs"])
def test_pieces_cover_every_run_once(policy: str, runs: int) -> None:
    setting = sf.ReferenceArm(3) if policy == "pe" else sf.BestReward(0.1)
    cell = replace(all_cells(choose(["1a"]), 0)[0], policy=policy, setting=setting, runs=runs)
    covered = [run for _, first, count in cell.pieces() for run in range(first, first + count)]
    assert covered == list(range(runs))
