"""Replay: another policy on a recorded log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import InvalidData
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
        (tmp_path / "missing.parquet", "not a Parquet file"),
        (tmp_path / "x.parquet", "not a Parquet file"),
        (good.with_columns(pl.lit(7.0).alias("reward")), "row 0 has the reward 7"),
    ):
        with pytest.raises(InvalidData, match=message):
            sf.replay("pe-cs", log, setting=setting)
    with pytest.raises(InvalidData, match="give a setting"):
        sf.replay("pe-cs", good)
