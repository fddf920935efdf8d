"""Results that go on: flat tables, LaTeX, results of others, paired comparisons, a log axis, notebooks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import satisfice as sf
from satisfice.errors import InvalidData, InvalidRun
from satisfice.simulation.comparing import student

TOY = sf.load_instance("toy:0.78")


@pytest.fixture
def results() -> sf.Results:
    return sf.simulate(TOY, sf.BestReward(0.1), ["etc-cs", "pe-cs"], horizon=3000, runs=4, seed=1, checkpoints=5)


def test_tables_are_flat_and_long(results: sf.Results, tmp_path: Path) -> None:
    rows = {"runs": 8, "curves": 40, "pulls": 32, "summary": 6}
    for what, expected in rows.items():
        frame = results.to_polars(what)  # type: ignore[arg-type]
        assert frame.height == expected
        assert not any(kind.is_nested() for kind in frame.dtypes)
        panda = results.to_pandas(what)  # type: ignore[arg-type]
        assert list(panda.columns) == frame.columns and len(panda) == expected
    curves = results.to_polars("curves").filter(pl.col("policy") == "pe-cs", pl.col("run") == 2)
    assert curves["pulls"].to_list() == results["pe-cs"].checkpoints.tolist()
    assert curves["cost_regret"].to_list() == results["pe-cs"].cost_curve[2].tolist()
    pulls = results.to_polars("pulls").filter(pl.col("policy") == "pe-cs", pl.col("run") == 3)
    assert pulls["pulls"].to_list() == results["pe-cs"].pulls[3].tolist()
    assert pl.read_csv(results.to_csv(tmp_path / "x.csv", "curves")).height == 40
    with pytest.raises(InvalidData, match="what = 'all'; it must be one of runs, curves"):
        results.to_polars("all")  # type: ignore[arg-type]


def test_latex(results: sf.Results, tmp_path: Path) -> None:
    text = results.to_latex(tmp_path / "x.tex")
    assert (tmp_path / "x.tex").read_text() == text
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"PE-CS & $", r"\mathbf{", r"\pm"):
        assert part in text
    assert text.count(r"\\") == 3


def test_results_of_others_stand_beside_ours(results: sf.Results) -> None:
    # toy:0.78 with alpha = 0.1: the threshold is 0.9 x 0.95 = 0.855, which arm 2 alone reaches.
    always = np.tile([0, 0, 3000, 0], (4, 1))
    results.add("oracle", always)
    assert results["oracle"].regret.tolist() == [0.0] * 4
    marks = np.array([1000, 3000])
    halves = np.tile([[0, 0, 1000, 0], [2000, 0, 1000, 0]], (4, 1, 1))
    results.add("late", halves, marks)
    assert results["late"].quality_curve[0] == pytest.approx([0.0, 2000 * (0.855 - 0.78)])
    assert set(results.summary()["policy"]) == {"etc-cs", "pe-cs", "oracle", "late"}
    results.plot()
    for label, pulls, checkpoints, message in (
        ("oracle", always, None, "there is a result for 'oracle' already"),
        ("x", always[:, :3], None, r"the pulls have the shape \(4, 1, 3\)"),
        ("x", always - 1, None, "pulls must be whole numbers of at least 0"),
        ("x", always * 2, None, "run 0 has 6,000 pulls up to 3,000"),
        ("x", halves, None, "need checkpoints"),
        ("x", halves, [1000, 2000], "up to the horizon 3,000; they end at 2,000"),
    ):
        with pytest.raises(InvalidData, match=message):
            results.add(label, pulls, checkpoints)


def test_a_paired_comparison_is_students(results: sf.Results) -> None:
    found = results.compare("etc-cs", "pe-cs", regret="cost", confidence=0.9)
    gap = results["etc-cs"].cost_regret - results["pe-cs"].cost_regret
    low, high = stats.t.interval(0.9, 3, loc=gap.mean(), scale=stats.sem(gap))
    assert found.difference == pytest.approx(gap.mean())
    assert found.interval == pytest.approx((low, high), rel=0.01)
    assert found.wins == (gap < 0).mean() + (gap == 0).mean() / 2
    assert "than pe-cs" in str(found) and "than pe-cs" in found._repr_html_()
    results.add("short", np.tile([3000, 0, 0, 0], (3, 1)))
    with pytest.raises(InvalidRun, match="etc-cs has 4 runs and short has 3"):
        results.compare("etc-cs", "short")


@pytest.mark.parametrize("level", [0.9, 0.95, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 50, 1000])
def test_quantiles_of_student(level: float, freedom: int) -> None:
    assert student(level, freedom) == pytest.approx(stats.t.ppf(level, freedom), rel=0.012)


def test_a_log_axis_and_a_notebook(results: sf.Results) -> None:
    figure = results.plot(log_x=True)
    assert [ax.get_xscale() for ax in figure.axes[:3]] == ["log"] * 3
    assert "<table" in results._repr_html_()
