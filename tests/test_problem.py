"""Instances, the three settings and the clipped gaps, with numbers to check by hand."""

from __future__ import annotations

import copy
import inspect
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import satisfice as sf
from satisfice.errors import InvalidInstance, InvalidSetting, NoFeasibleArm

# Not sorted, with a tie: by cost the arms are b (1), a and d (2), c (5).
ARMS = sf.Instance(costs=[2, 1, 5, 2], means=[0.6, 0.4, 0.8, 0.7], names=["a", "b", "c", "d"])


def test_best_reward() -> None:
    setting = sf.BestReward(alpha=0.25)
    # The largest mean is 0.8, so mu_CS = 0.75 * 0.8 = 0.6: a, c, d are feasible, a and d cost least, a comes first.
    assert setting.threshold(ARMS) == pytest.approx(0.6)
    assert setting.optimal_arm(ARMS) == 0
    # Costs above 2: only c, by 3. Means below 0.6: only b, by 0.2.
    np.testing.assert_allclose(setting.cost_gaps(ARMS), [0, 0, 3, 0])
    np.testing.assert_allclose(setting.quality_gaps(ARMS), [0, 0.2, 0, 0])


def test_reference_arm() -> None:
    setting = sf.ReferenceArm("d", alpha=0.5)
    # mu_CS = 0.5 * 0.7 = 0.35: everything is feasible, b is cheapest.
    assert setting.threshold(ARMS) == pytest.approx(0.35)
    assert setting.optimal_arm(ARMS) == 1
    np.testing.assert_allclose(setting.cost_gaps(ARMS), [1, 0, 4, 1])
    np.testing.assert_allclose(setting.quality_gaps(ARMS), 0)
    assert sf.ReferenceArm(3, 0.5).threshold(ARMS) == setting.threshold(ARMS)


def test_fixed_threshold() -> None:
    setting = sf.FixedThreshold(0.65)
    assert setting.optimal_arm(ARMS) == 3
    np.testing.assert_allclose(setting.cost_gaps(ARMS), [0, 0, 3, 0])
    np.testing.assert_allclose(setting.quality_gaps(ARMS), [0.05, 0.25, 0, 0])


def test_thresholds_of_many_means_at_once() -> None:
    means = np.array([[0.5, 0.9], [0.8, 0.2]])
    names = ("small", "large")
    assert sf.FixedThreshold(0.7).thresholds(means, names).tolist() == [0.7, 0.7]
    assert sf.ReferenceArm("large", 0.5).thresholds(means, names).tolist() == [0.45, 0.1]
    assert sf.BestReward(0.5).thresholds(means, names).tolist() == [0.45, 0.4]


def test_an_arm_on_the_threshold_is_feasible_despite_rounding() -> None:
    # (1 - 0.1) * 0.8 is 0.72 on paper and a bit above it in binary.
    instance = sf.Instance([1, 2], [0.72, 0.8])
    assert (1 - 0.1) * 0.8 > 0.72
    assert sf.BestReward(0.1).optimal_arm(instance) == 0
    assert sf.BestReward(0.1).quality_gaps(instance)[0] == 0


@pytest.mark.parametrize("alpha, arm", [(0.0, 2), (1.0, 1)])
def test_the_ends_of_alpha(alpha: float, arm: int) -> None:
    # alpha = 0: only the best arm will do. alpha = 1: every arm will do, so the cheapest.
    assert sf.BestReward(alpha).optimal_arm(ARMS) == arm


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"costs": [], "means": []}, "at least one"),
        ({"costs": [1, float("nan")], "means": [0.1, 0.2]}, "cost of arm 1 is nan"),
        ({"costs": [1, -2], "means": [0.1, 0.2]}, "cost of arm 1 is -2"),
        ({"costs": [1, 2], "means": [0.1, 1.2]}, "mean of arm 1 is 1.2"),
        ({"costs": [1, 2], "means": [0.1]}, "2 costs but 1 means"),
        ({"costs": [1, 2], "means": ["x", "y"]}, "must be numbers"),
        ({"costs": [1, 2]}, "needs the mean"),
        ({"costs": [1, 2], "means": [0.1, 0.2], "names": ["a"]}, "2 costs but 1 names"),
        ({"costs": [1, 2], "means": [0.1, 0.2], "names": ["a", "a"]}, "'a' stands for more than one"),
        ({"costs": [1], "means": [3], "reward": "poisson"}, "'poisson' is unknown"),
        ({"costs": [1], "means": [3], "reward": "gaussian", "sigma": 0}, "sigma = 0"),
        ({"costs": [1], "means": [3], "reward": "gaussian", "sigma": "2"}, "sigma = '2'; the standard deviation of"),
        ({"costs": [1], "reward": "categorical", "values": [0, 1]}, "needs values"),
        ({"costs": [1], "reward": "categorical", "values": [0, 1], "probabilities": [[0.5, 0.6]]}, "sum to 1"),
        ({"costs": [1], "reward": "categorical", "values": [0, 1], "probabilities": [[1.0]]}, r"\(1, 2\) was expected"),
        ({"costs": [1], "means": [0.5], "values": [0, 1]}, "belong to categorical"),
        ({"costs": [1] * 10_001, "means": [0.5] * 10_001}, "at most 10000"),
    ],
)
def test_wrong_instances(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        sf.Instance(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "0.1", None, True])
def test_wrong_alpha(alpha: float) -> None:
    with pytest.raises(InvalidSetting, match=f"alpha = {alpha!r}"):
        sf.BestReward(alpha)
    if not isinstance(alpha, float) or math.isnan(alpha):
        with pytest.raises(InvalidSetting, match=f"mu0 = {alpha!r}"):
            sf.FixedThreshold(alpha)
    with pytest.raises(InvalidSetting, match=f"alpha = {alpha!r}"):
        sf.ReferenceArm(0, alpha)


@pytest.mark.parametrize("arm", ["z", 4, -1, True])
def test_unknown_reference_arm(arm: int | str) -> None:
    with pytest.raises(InvalidSetting, match=f"no arm {arm!r}"):
        sf.ReferenceArm(arm).threshold(ARMS)


def test_no_feasible_arm() -> None:
    with pytest.raises(NoFeasibleArm, match=r"threshold 0.9; the best mean is 0.8"):
        sf.FixedThreshold(0.9).optimal_arm(ARMS)
    with pytest.raises(InvalidSetting, match="finite"):
        sf.FixedThreshold(float("inf"))


def test_a_share_of_a_negative_mean_is_called_what_it_is() -> None:
    debts = sf.Instance([1, 2], [-2, -1], reward="gaussian")
    with pytest.raises(NoFeasibleArm, match="a share alpha has no meaning for a negative mean"):
        sf.BestReward(0.1).optimal_arm(debts)
    with pytest.raises(NoFeasibleArm, match=r"best mean is -1$"):
        sf.FixedThreshold(-0.5).optimal_arm(debts)


def test_reward_models() -> None:
    gaussian = sf.Instance([1, 2], [-3.0, 7.0], reward="gaussian", sigma=2)
    assert not gaussian.bounded and gaussian.sigma == 2 and gaussian.noise == 2
    ratings = sf.Instance([1], reward="categorical", values=[0, 0.5, 1], probabilities=[[0.2, 0.2, 0.6]])
    # 0.2 * 0 + 0.2 * 0.5 + 0.6 * 1 = 0.7
    assert ratings.means[0] == pytest.approx(0.7) and ratings.bounded
    stars = sf.Instance([1], reward="categorical", values=[1, 5], probabilities=[[0.5, 0.5]])
    assert stars.means[0] == 3 and not stars.bounded
    assert stars.noise == 2  # half the range from 1 to 5
    assert sf.Instance([1], [0.5]).noise == 0.5


def test_an_instance_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        ARMS.costs[0] = 7
    with pytest.raises(AttributeError, match=r"replace\(costs=...\) makes another one"):
        ARMS.costs = np.ones(4)
    with pytest.raises(AttributeError, match="keeps its costs"):
        del ARMS.costs
    for again in (pickle.loads(pickle.dumps(ARMS)), copy.deepcopy(ARMS), copy.copy(ARMS)):
        assert again == ARMS and not again.costs.flags.writeable and not again.probabilities.flags.writeable


SETTINGS = [sf.BestReward(0.1), sf.ReferenceArm("d", 0.2), sf.ReferenceArm(3), sf.FixedThreshold(0.5)]


@pytest.mark.parametrize(
    "setting, alpha, mu0, reference",
    [*zip(SETTINGS, (0.1, 0.2, 0.0, 0.0), (math.nan, math.nan, math.nan, 0.5), (None, "d", 3, None), strict=True)],
)
def test_a_setting_answers_for_itself(setting: sf.Setting, alpha: float, mu0: float, reference: int | str) -> None:
    assert setting.alpha == alpha and setting.reference == reference
    assert setting.mu0 == mu0 or (math.isnan(setting.mu0) and math.isnan(mu0))
    for again in (sf.Setting.from_dict(json.loads(json.dumps(setting.to_dict()))), pickle.loads(pickle.dumps(setting))):
        assert again == setting and hash(again) == hash(setting) and repr(again) == repr(setting)


def test_the_form_of_a_setting_in_files_and_databases_stays() -> None:
    assert [setting.to_dict() for setting in SETTINGS] == [
        {"kind": "best", "alpha": 0.1},
        {"kind": "reference", "arm": "d", "alpha": 0.2},
        {"kind": "reference", "arm": 3, "alpha": 0.0},
        {"kind": "fixed", "mu0": 0.5},
    ]
    assert json.dumps(sf.ReferenceArm(np.int64(3), np.float32(0.5)).to_dict()) == (  # type: ignore[arg-type]
        '{"kind": "reference", "arm": 3, "alpha": 0.5}'
    )


def test_the_parameters_of_a_setting_stay() -> None:
    assert str(inspect.signature(sf.BestReward)) == "(alpha: 'float') -> None"
    assert str(inspect.signature(sf.FixedThreshold)) == "(mu0: 'float') -> None"
    assert str(inspect.signature(sf.ReferenceArm)) == "(arm: 'int | str', alpha: 'float' = 0.0) -> None"


@pytest.mark.parametrize(
    "kind, data, message",
    [
        (sf.Setting, {"kind": "worst"}, "must be 'fixed' or 'reference' or 'best'"),
        (sf.Setting, {"alpha": 0.1}, "not a setting: {'alpha': 0.1}; its kind"),
        (sf.Setting, [], r"not a setting: \[\]"),
        (sf.Setting, {"kind": ["best"]}, "its kind"),
        (sf.Setting, {"kind": "best"}, "'best' has alpha; got nothing"),
        (sf.Setting, {"kind": "fixed", "mu0": 1, "alpha": 0}, "'fixed' has mu0; got mu0, alpha"),
        (sf.Setting, {"kind": "best", "alpha": 2}, r"alpha = 2; .* within \[0, 1\]"),
        (sf.BestReward, {"kind": "fixed", "mu0": 0.5}, "its kind must be 'best'"),
    ],
)
def test_data_that_is_no_setting(kind: type[sf.Setting], data: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        kind.from_dict(data)


costs = st.floats(0, 1e6, allow_nan=False)
means = st.floats(0, 1)


@given(st.lists(st.tuples(costs, means), min_size=1, max_size=12), st.floats(0, 1))
def test_the_optimal_arm_has_no_gap_and_nothing_cheaper_is_feasible(
    arms: list[tuple[float, float]], alpha: float
) -> None:
    instance = sf.Instance([cost for cost, _ in arms], [mean for _, mean in arms])
    setting = sf.BestReward(alpha)
    best = setting.optimal_arm(instance)
    assert setting.cost_gaps(instance)[best] == setting.quality_gaps(instance)[best] == 0
    assert not (setting.feasible(instance) & (instance.costs < instance.costs[best])).any()
    assert (setting.cost_gaps(instance) >= 0).all() and (setting.quality_gaps(instance) >= 0).all()


@given(st.lists(st.tuples(costs, means), min_size=1, max_size=5))
def test_plain_data_and_back(arms: list[tuple[float, float]]) -> None:
    instance = sf.Instance([cost for cost, _ in arms], [mean for _, mean in arms], label="x", source="y")
    assert sf.Instance.from_dict(json.loads(json.dumps(instance.to_dict()))) == instance


ARM = {"cost": 1, "mean": 0.5}


@pytest.mark.parametrize(
    "data, message",
    [
        ({"arms": [{"mean": 0.3}]}, "arm 0 has no 'cost'"),
        ({"arms": [ARM, {"cost": 1}]}, "arm 1 has no 'mean'"),
        ({"name": "x"}, "it has no 'arms'"),
        ([], "a list where an object"),
        ({"arms": {"a": 1}}, "arms must be a list of objects"),
        ({"arms": [ARM], "reward": "categorical"}, "it has no 'values'|arm 0 has no 'probabilities'"),
        ({"arms": [ARM], "reward": "gaussian", "sigma": "a"}, "sigma = 'a'; the standard deviation"),
        ({"arms": [{"cost": "a", "mean": 0.5}]}, "costs must be numbers"),
    ],
)
def test_from_dict_says_what_is_missing(data: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        sf.Instance.from_dict(data)


def test_one_arm_is_one_arm() -> None:
    assert repr(sf.Instance([1], [0.5])) == "<Instance instance: 1 arm, bernoulli rewards>"
