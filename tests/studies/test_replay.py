"""Replay: another policy on a recorded log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import InvalidData, InvalidStudy
from satisfice.studies import create_study


def uniform_log(rows: int, seed: int = 0) -> pl.DataFrame:
    """A log of arms chosen at random."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(0, 3, rows)
    means = np.array([0.5, 0.85, 0.9])
    return pl.DataFrame(
        {
            "arm": [("small", "medium", "large")[k] for k in arms],
            "cost": np.array([0.2, 1.0, 8.0])[arms],
            "reward": (rng.random(rows) < means[arms]).astype(float),
        }
    )


def test_by_hand() -> None:
    """UCB-CS wants a, b, then (both UCBs are 1) the cheapest, a: rows 0, 2 and 3 match; row 1 (a) does not."""
    log = pl.DataFrame({"arm": ["a", "a", "b", "a"], "cost": [1.0, 1.0, 2.0, 1.0], "reward": [0.0, 1.0, 1.0, 1.0]})
    result = sf.replay("ucb-cs", log, setting=sf.BestReward(0.1))
    assert [(pull.row, pull.arm, pull.reward) for pull in result.decisions] == [
        (0, "a", 0.0),
        (2, "b", 1.0),
        (3, "a", 1.0),
    ]
    assert (result.logged, result.matched, result.pulls) == (4, 3, {"a": 2, "b": 1})
    assert result.mean_reward == pytest.approx(2 / 3)
    assert result.mean_cost == pytest.approx(4 / 3)
    assert (result.logged_mean_reward, result.logged_mean_cost) == (0.75, 1.25)
    assert "passed over" in result.caveat and result.caveat in str(result)


def test_a_log_of_random_arms_says_what_the_policy_would_do() -> None:
    result = sf.replay("glr", uniform_log(6000), setting=sf.BestReward(0.1))
    assert result.status.leader == "medium"
    # A random arm matches one in three times: 2,000 expected, s.d. 37.
    assert 1700 < result.matched < 2300
    assert result.pulls["medium"] == max(result.pulls.values())


def test_a_study_against_another_setting(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    study = create_study("s", {"small": 0.2, "large": 8.0}, sf.BestReward(0.1), "etc-cs", None, 2000, seed=1)
    for _ in range(2000):
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < {"small": 0.7, "large": 0.95}[decision.arm]))
    same = study.replay()
    assert (same.logged, same.matched) == (2000, 2000)  # the policy itself matches everywhere
    looser = study.replay(policy="pe-cs", setting=sf.BestReward(0.5))
    assert looser.status.leader == "small"
    path = study.export(tmp_path / "deep" / "log.parquet")
    again = sf.replay("etc-cs", path, setting=sf.BestReward(0.1), horizon=2000)
    assert again.decisions == same.decisions


def test_costs_of_the_time_are_in_the_log() -> None:
    study = create_study("s", {"a": 1.0}, sf.FixedThreshold(0.5), "ft-ucb", seed=1)
    study.ask()
    study.set_cost("a", 3.0)
    study.add_arm("b", 2.0)
    study.ask_many(2)
    study.tell(1, 1.0)
    study.abandon(2)
    log = study.log()
    assert log["cost"].to_list() == [1.0, {"a": 3.0, "b": 2.0}[log["arm"][1]], {"a": 3.0, "b": 2.0}[log["arm"][2]]]
    assert log["status"].to_list() == ["told", "abandoned", "open"]
    assert log["reward"].to_list() == [1.0, None, None]


def test_logs_that_cannot_be_replayed(tmp_path: Path) -> None:
    good = uniform_log(10)
    setting = sf.BestReward(0.1)
    (tmp_path / "x.parquet").write_text("not parquet")
    for log, message in (
        (good.drop("reward"), "no column 'reward'"),
        (good.head(0), "no rewards"),
        (good.drop("cost"), r"no column 'cost'; its columns are 'arm', 'reward'; or give the costs: arms="),
        (tmp_path / "missing.parquet", "there is no file"),
        (tmp_path / "x.parquet", "not a sound Parquet file"),
        (good.with_columns(pl.lit(7.0).alias("reward")), "reward 0 of the log .* is 7, outside"),
        (good.with_columns(pl.lit("good").alias("reward")), "row 0 of the frame, counted from 0: 'good' is no reward"),
        (good.with_columns(pl.lit([1.0]).alias("reward")), "'reward' of the log holds List"),
        (good.with_columns(pl.lit(-1.0).alias("cost")), r"row 0 of the frame, counted from 0: -1\.0 is no cost"),
        (good.with_columns(pl.lit(None).alias("cost")), "None is no cost"),
        (good.with_columns(pl.lit(None).alias("arm")), "None is no arm"),
        (good.to_dict(as_series=False), "^a dict is not a log; give a path, or a Polars or pandas frame$"),
    ):
        with pytest.raises(InvalidData, match=message):
            sf.replay("pe-cs", log, setting=setting)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="give a setting"):
        sf.replay("pe-cs", good)


def test_an_arm_costs_what_it_cost_in_the_mean() -> None:
    """a costs 1, 2, 3, then 30: 9 in the mean, dearer than b at 5, though its first three were cheaper."""
    log = pl.DataFrame(
        {"arm": ["a", "b", "a", "a", "a"], "cost": [1.0, 5.0, 2.0, 3.0, 30.0], "reward": [1.0, 1.0, 1.0, 1.0, 1.0]}
    )
    result = sf.replay("ucb-cs", log, setting=sf.BestReward(0.1))
    assert {arm.name: arm.cost for arm in result.status.arms} == {"a": 9.0, "b": 5.0}
    assert result.status.leader == "b"
    assert [pull.row for pull in result.decisions] == [1, 2]  # b, the cheapest, first
    assert (result.mean_cost, result.logged_mean_cost) == (3.5, 8.2)
    given = sf.replay("ucb-cs", log, setting=sf.BestReward(0.1), arms={"a": 1.0, "b": 2.0})
    assert given.logged_mean_cost == 1.2


def test_a_study_whose_costs_changed_is_replayed_at_mean_costs() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", seed=1)
    study.tell(study.ask(exclude=["b"]).id, 1.0)
    study.set_cost("a", 4.0)
    study.tell(study.ask(exclude=["b"]).id, 1.0)
    result = study.replay()
    assert {arm.name: arm.cost for arm in result.status.arms} == {"a": 2.5, "b": 2.0}
    assert result.logged_mean_cost == 2.5


def test_kinds_of_logs(tmp_path: Path) -> None:
    log = uniform_log(500)
    log.write_csv(tmp_path / "log.csv")
    log.write_ndjson(tmp_path / "log.jsonl")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: log[name].to_list() for name in log.columns})
    same = [
        sf.replay("glr", kind, setting=sf.BestReward(0.1)).decisions  # type: ignore[arg-type]
        for kind in (log, log.lazy(), frame, tmp_path / "log.csv", str(tmp_path / "log.jsonl"))
    ]
    assert len(same[0]) > 100 and same == [same[0]] * 5


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_rows_without_a_reward_are_left_out(nothing: float | None) -> None:
    log = pl.DataFrame({"arm": ["a", "b"], "cost": [1.0, 2.0], "reward": [nothing, 1.0]}, strict=False)
    result = sf.replay("ucb-cs", log, setting=sf.BestReward(0.1))
    assert (result.logged, result.logged_mean_reward) == (1, 1.0)


def test_a_replay_has_no_dates() -> None:
    result = sf.replay("glr(proof=1)", uniform_log(30_000), setting=sf.BestReward(0.1))
    assert "'small' was refuted by" in str(result.status) and "1970" not in str(result.status)
    assert result.status.to_dict()["verdict"]["refuted"][0]["at"] is None  # type: ignore[index]


def test_terms_of_a_replay_are_checked() -> None:
    log, setting = uniform_log(10), sf.BestReward(0.1)
    with pytest.raises(InvalidStudy, match="horizon = 0"):
        sf.replay("pe-cs", log, setting=setting, horizon=0)
    with pytest.raises(InvalidStudy, match=r"got a DataFrame$"):
        sf.replay("pe-cs", log, setting=setting, arms=log)  # type: ignore[arg-type]


def test_a_chance_is_a_weight(tmp_path: Path) -> None:
    """Rewards 1 and 0 with the chances 0.2 and 0.8 stand for 5 and 1.25 decisions: a mean of 5 / 6.25 = 0.8."""
    import polars as pl

    table = pl.DataFrame({"arm": ["a", "a"], "reward": [1.0, 0.0], "cost": [1.0, 2.0], "chance": [0.2, 0.8]})
    table.write_csv(tmp_path / "log.csv")
    for log in (table, tmp_path / "log.csv"):
        done = sf.replay("ucb-cs", log, setting=sf.BestReward(0.1), arms={"a": 1.0})
        assert done.mean_reward == pytest.approx(0.8)
        assert done.logged_mean_reward == 0.5
    with pytest.raises(sf.InvalidData, match="chance"):
        sf.replay("ucb-cs", table.with_columns(chance=0.0), setting=sf.BestReward(0.1), arms={"a": 1.0})
