"""The built-in instances and instance files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from satisfice.errors import InvalidData
from satisfice.instances import builtin_instances, load_instance, save_instance
from satisfice.problem import BestReward, Instance, ReferenceArm


def test_every_listed_name_loads_under_its_own_name_and_has_a_source() -> None:
    names = builtin_instances()
    assert len(names) == len(set(names)) == 3 + 12 + 10 + 2
    for name in names:
        instance = load_instance(name)
        assert instance.label == name
        assert instance.source
        assert instance.reward == "bernoulli"


def test_movielens_is_the_papers() -> None:
    instance = load_instance("movielens")
    assert instance.arms == 20
    assert (np.diff(instance.costs) > 0).all()
    # Figure "Fixed ell": ell = 11 (1-based), mu_ell = 0.703 and with alpha = 0.05 mu_CS = 0.66785 = 0.668.
    assert instance.names[10] == "Adventure"
    assert ReferenceArm(10, alpha=0.05).threshold(instance) == pytest.approx(0.668, abs=5e-4)


def test_movielens_costs_are_the_legacy_generators_over_the_sorted_genres() -> None:
    instance = load_instance("movielens")
    costs = dict(zip(sorted(instance.names), np.random.RandomState(0).rand(20), strict=True))
    assert [round(costs[name], 3) for name in instance.names] == instance.costs.tolist()


def test_goodreads_and_asymmetric() -> None:
    goodreads = load_instance("goodreads")
    assert goodreads.means.tolist() == [0.684, 0.664, 0.659, 0.672, 0.636, 0.687, 0.712, 0.684]
    asymmetric = load_instance("asymmetric")
    assert asymmetric.costs.tolist() == [0.15, 0.2, 0.21, 0.25]
    assert asymmetric.means.tolist() == [0.74, 0.5, 0.8, 0.75]


def test_toy_takes_any_mean_and_crosses_the_threshold_where_the_paper_says() -> None:
    # mu_CS = (1 - 0.2) * 0.95 = 0.76: arm 1 is optimal from 0.76 on; below it, arms 2 and 3 (cost 0.9) are.
    setting = BestReward(alpha=0.2)
    assert setting.optimal_arm(load_instance("toy:0.75")) == 1
    assert setting.optimal_arm(load_instance("toy:0.76")) == 0
    assert load_instance("toy:0.60") == load_instance("toy:0.6")
    assert load_instance("toy:0.123").means[0] == 0.123


@pytest.mark.parametrize("member", ["1.5", "-0.1", "nan", "", "high"])
def test_toy_mean_out_of_range(member: str) -> None:
    with pytest.raises(InvalidData, match=r"within \[0, 1\]"):
        load_instance(f"toy:{member}")


def test_llm_routing_arms_are_models() -> None:
    instance = load_instance("llm-routing:GPQA")
    arm = instance.index("Qwen3-235B")
    assert (instance.means[arm], instance.costs[arm]) == (0.5859, 0.07)
    assert instance.arms == 13
    assert "GPT-5-Chat" not in load_instance("llm-routing:Tau2-Bench").names


def test_aider_polyglot_has_dollars_per_task() -> None:
    instance = load_instance("aider-polyglot")
    arm = instance.index("o1-2024-12-17 (high)")
    assert instance.arms == 51 and instance.costs.min() > 0
    assert (instance.means[arm], instance.costs[arm]) == (139 / 224, 186.4958 / 224)
    first = load_instance("aider-polyglot:first")
    assert first.means[arm] == 53 / 224 and (first.means <= instance.means).all()
    assert "Apache-2.0" in instance.source


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("movieLens", "movielens"), ("goodread", "goodreads"), ("gpqa", "llm-routing:GPQA"), ("toys", "toy:")],
)
def test_an_unknown_name_suggests_the_close_one(wrong: str, meant: str) -> None:
    with pytest.raises(InvalidData, match=f"did you mean {meant}"):
        load_instance(wrong)


def test_a_file_that_is_not_there_is_said_in_one_sentence() -> None:
    with pytest.raises(InvalidData, match=r"there is no file nope\.json; there are movielens"):
        load_instance("nope.json")


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(InvalidData) as error:
        load_instance("llm-routing:quux")
    for part in ("'llm-routing:quux'", "movielens", "toy:<mu_1>", "SimpleQA", ".json"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    "instance",
    [
        Instance([3.0, 1 / 3], [0.1 + 0.2, 1 / 7], names=["ä", "b"], label="mine", source="made"),
        Instance([3.0, 1 / 3], [-2.0, 1 / 7], reward="gaussian", sigma=0.3),
        Instance([1, 2], reward="categorical", values=[0.2, 0.6, 1.0], probabilities=[[0.1, 0.2, 0.7], [1 / 3] * 3]),
    ],
    ids=lambda instance: instance.reward,
)
def test_instance_files_keep_everything(instance: Instance, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    save_instance(instance, path)
    assert load_instance(str(path)) == load_instance(path)
    assert load_instance(path).means == pytest.approx(instance.means, abs=1e-16)
    assert load_instance(path).names == instance.names
    assert load_instance(path).source == instance.source


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        ("{", ":1: not JSON"),
        ("[1, 2]", "JSON list"),
        (json.dumps({"name": "x"}), "not an instance"),
        (json.dumps({"arms": [{"cost": 1, "mean": 2}]}), "the mean of arm 0 is 2"),
        (json.dumps({"arms": [{"cost": 1, "mean": 0.5}], "reward": "gaussian", "sigma": "wide"}), "wide"),
    ],
)
def test_broken_files(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InvalidData, match=message) as error:
        load_instance(path)
    assert str(path) in str(error.value)


def test_files_that_are_not_text_or_not_files(tmp_path: Path) -> None:
    (tmp_path / "bin.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidData, match="UTF-8"):
        load_instance(tmp_path / "bin.json")
    with pytest.raises(InvalidData, match="cannot be read"):
        load_instance(tmp_path)
    with pytest.raises(InvalidData, match="cannot be written"):
        save_instance(load_instance("asymmetric"), tmp_path)
