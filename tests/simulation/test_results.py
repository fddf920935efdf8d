"""Results: what they say, and that they survive being written and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import InvalidData
from satisfice.policies import get_policy

INSTANCE = sf.Instance([0.1, 0.5, 0.9], [0.3, 0.7, 0.8], names=["a", "b", "c"], label="three")


@pytest.fixture(scope="module")
def results() -> sf.Results:
    return sf.simulate(INSTANCE, sf.BestReward(0.2), ["pe-cs", "etc-cs"], 10_000, runs=6, checkpoints=10)


def test_regret_is_gaps_times_pulls(results: sf.Results) -> None:
    result = results["pe-cs"]
    # mu_CS = 0.64; optimal: b. Cost gaps 0, 0, 0.4; quality gaps 0.34, 0, 0.
    np.testing.assert_allclose(result.cost_regret, 0.4 * result.pulls[:, 2])
    np.testing.assert_allclose(result.quality_regret, 0.34 * result.pulls[:, 0])
    np.testing.assert_allclose(result.regret, result.cost_regret + result.quality_regret)
    np.testing.assert_allclose(result.optimal_share, result.pulls[:, 1] / 10_000)
    assert result.optimal_arm == 1


def test_a_printed_summary_leaves_nothing_out() -> None:
    many = sf.simulate(INSTANCE, sf.BestReward(0.2), [f"pe-cs(kappa={kappa})" for kappa in range(6)], 100, runs=2)
    table = many.summary()
    before = pl.Config.state()
    for text in (str(table), repr(table), table._repr_html_()):
        assert "…" not in text and "&hellip;" not in text
        assert all(name in text for name in (*table.columns, *many))
    assert pl.Config.state() == before
    assert isinstance(table, pl.DataFrame)
    assert table.filter(pl.col("regret") == "sum").select("policy", "mean").shape == (6, 2)


def test_summary(results: sf.Results) -> None:
    table = results.summary()
    assert table.shape[0] == 6
    row = table.row(by_predicate=(pl.col("policy") == "pe-cs") & (pl.col("regret") == "sum"), named=True)
    values = results["pe-cs"].regret
    assert row["mean"] == pytest.approx(values.mean())
    assert row["std"] == pytest.approx(values.std(ddof=1))
    assert row["std_error"] == pytest.approx(values.std(ddof=1) / 6**0.5)
    assert row["median"] == pytest.approx(np.median(values))
    assert row["p95"] == pytest.approx(np.percentile(values, 95))
    assert row["worst"] == values.max()


def test_save_and_load(results: sf.Results, tmp_path: Path) -> None:
    path = results.save(tmp_path / "deep" / "x.parquet")
    assert [file.name for file in path.parent.iterdir()] == ["x.parquet"]
    again = sf.load_results(path)
    assert list(again) == list(results)
    for label, result in results.items():
        np.testing.assert_array_equal(again[label].pulls, result.pulls)
        np.testing.assert_array_equal(again[label].checkpoints, result.checkpoints)
        np.testing.assert_array_equal(again[label].cost_curve, result.cost_curve)
        np.testing.assert_array_equal(again[label].quality_curve, result.quality_curve)
        assert again[label].terms == result.terms
        assert again[label].terms.versions == result.terms.versions
        assert again[label].instance == INSTANCE
        assert again[label].setting == sf.BestReward(0.2)
    assert {"satisfice", "numpy", "numba", "python"} <= set(again["pe-cs"].terms.versions)


def test_one_run_and_one_checkpoint_survive(tmp_path: Path) -> None:
    single = sf.simulate(sf.Instance([1], [0.5]), sf.BestReward(0), "pe-cs", 1)
    again = sf.load_results(single.save(tmp_path / "x.parquet"))
    np.testing.assert_array_equal(again["pe-cs"].cost_curve, single["pe-cs"].cost_curve)
    assert np.isnan(single.summary()["std"][0])


def test_results_of_the_first_release_load_and_come_out_again() -> None:
    """Written by release 0.1.0: every later release reads the file, and the seed still gives the same runs, except of
    policies that have a new version since, which the changelog names."""
    recorded = sf.load_results(Path(__file__).parent / "data" / "results-0.1.0.parquet")
    terms = recorded["pe"].terms
    assert terms.versions["satisfice"] == "0.1.0"
    assert (terms.horizon, terms.runs, terms.seed) == (10_000, 2, 3)
    assert terms.setting == sf.ReferenceArm("large", 0.2)
    assert recorded["asymmetric-pe(kappa=2)"].terms.params == {"kappa": 2}
    again = sf.simulate(
        terms.instance, terms.setting, list(recorded), terms.horizon, terms.runs, terms.seed, checkpoints=5
    )
    same = [label for label in recorded if get_policy(label).version == 1]
    assert {"pe", "asymmetric-pe(kappa=2)"} <= set(same)
    for label in recorded:
        assert recorded[label].pulls.sum(axis=1).tolist() == again[label].pulls.sum(axis=1).tolist()
    for label in same:
        for name in ("checkpoints", "pulls", "cost_curve", "quality_curve"):
            np.testing.assert_array_equal(getattr(recorded[label], name), getattr(again[label], name))


def test_loading_something_else(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="no results file"):
        sf.load_results(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(InvalidData, match="not a results file"):
        sf.load_results(tmp_path / "text.parquet")
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InvalidData, match="not a results file"):
        sf.load_results(tmp_path / "other.parquet")


def test_one_row_per_run(results: sf.Results) -> None:
    frame = results.to_polars()
    assert frame.shape[0] == 12
    assert frame.filter(pl.col("policy") == "etc-cs")["regret"].to_list() == results["etc-cs"].regret.tolist()


def test_the_picture_has_every_policy_and_is_written(results: sf.Results, tmp_path: Path) -> None:
    figure = results.plot(tmp_path / "p" / "x.png")
    assert (tmp_path / "p" / "x.png").stat().st_size > 10_000
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["PE-CS", "ETC-CS"]
    assert all(ax.get_title() and ax.get_ylabel() for ax in figure.axes)


def test_an_unknown_label_names_the_known_ones(results: sf.Results) -> None:
    with pytest.raises(KeyError, match="there are pe-cs, etc-cs"):
        results["ts-cs"]
