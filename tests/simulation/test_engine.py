"""The engine: exact draws, exact curves, and one code for the plain and the compiled run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import all_policies
from satisfice.policies.compiled import compile_native
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State, registered
from satisfice.problem import RewardModel
from satisfice.simulation.job import Job
from satisfice.simulation.world import CATEGORICAL, World, draw, make_world

INSTANCE = sf.Instance([0.5, 0.2, 0.5, 0.9], [0.5, 0.3, 0.8, 0.6])
SETTINGS = (sf.BestReward(0.1), sf.ReferenceArm(3, 0.1), sf.FixedThreshold(0.45))


@pytest.mark.parametrize("policy", all_policies().values(), ids=lambda cls: cls.id)
def test_plain_and_compiled_are_one(policy: type[Policy]) -> None:
    """The same seed gives the same run, pull by pull, whether the rule is compiled or not."""
    marks = np.arange(1, 1501, dtype=np.int64)
    for setting in SETTINGS:
        if not isinstance(setting, policy.settings):
            continue
        job = Job(policy(), INSTANCE, setting, horizon=1500, seed=3, checkpoints=marks)
        plain = replace(job, compiled=False)
        for run in range(2):
            np.testing.assert_array_equal(job.trajectory(job.stream(run)), plain.trajectory(job.stream(run)))
        for ours, theirs in zip(job.run(0, 2), plain.run(0, 2), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@dataclass(frozen=True)
class Scripted(Policy, register=False):
    """Leases that are known in advance: a sweep of two, three pulls of arm 2, one of arm 0, four of arm 1, ..."""

    id = "scripted-for-tests"
    settings = (sf.BestReward,)
    summary = "a script"

    def memory(self, arms: int) -> tuple[int, int]:
        return 1, 0

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        step = state.ints[0] % 4
        state.ints[0] += 1
        if step == 0:
            return SWEEP, 2
        if step == 1:
            return 2, 3
        return (0, 1) if step == 2 else (1, 4)


@dataclass(frozen=True)
class Wrong(Policy, register=False):
    """Three good leases, and then one of `arm` and `pulls`, which is right by default."""

    arm: float = 0.0
    pulls: float = 1.0

    id = "wrong-for-tests"
    settings = (sf.BestReward,)
    summary = "a mistake"
    needs_horizon = False

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        return (0, 1) if t < 3 else (int(problem.params.arm), problem.params.pulls)


@pytest.mark.parametrize(("arm", "pulls"), [(7, 5), (3, 1), (-5, 5), (0, 0), (0, -3), (0, 1.5), (0, float("nan"))])
def test_a_rule_must_answer_with_a_lease(arm: int, pulls: float) -> None:
    instance, setting, policy = sf.Instance([1, 2, 3], [0.5, 0.6, 0.7]), sf.BestReward(0.1), Wrong(arm, pulls)
    message = r"wrong-for-tests.*after 3 pulls; a lease is an arm from 0 to 2, or SWEEP"
    with pytest.raises(InvalidPolicy, match=message):
        sf.simulate(instance, setting, policy, 1000)
    with pytest.raises(InvalidPolicy, match=message):
        sf.simulate(instance, setting, policy, 1000, compiled=False)
    with registered(Wrong):
        study = sf.create_study("s", {"a": 1.0, "b": 2.0, "c": 3.0}, setting, policy, seed=0)
        with pytest.raises(InvalidPolicy, match=message):
            for _ in range(4):
                study.tell(study.ask().id, 1.0)


def test_a_lease_may_be_as_long_as_numbers_go() -> None:
    policy = Wrong(0, 2.0**62)
    result = sf.simulate(sf.Instance([1, 2, 3], [0.5, 0.6, 0.7]), sf.BestReward(0.1), policy, 1000)
    assert result[policy.label].pulls.tolist() == [[1000, 0, 0]]


def script(length: int) -> list[int]:
    once = [0, 1, 2, 0, 1, 2, 2, 2, 2, 0, 1, 1, 1, 1]
    return (once * (length // len(once) + 1))[:length]


@pytest.mark.parametrize("horizon", [1, 2, 3, 4, 5, 6, 7, 9, 10, 13, 14, 15, 100])
def test_curves_are_exact_inside_leases_and_sweeps(horizon: int) -> None:
    instance = sf.Instance([1, 2, 4], [0.9, 0.5, 1.0])
    setting = sf.BestReward(0.3)  # mu_CS = 0.7; optimal: arm 0; cost gaps 0, 1, 3; quality gaps 0, 0.2, 0
    result = sf.simulate(instance, setting, Scripted(), horizon, runs=1, checkpoints=horizon)["scripted-for-tests"]
    arms = np.array(script(horizon))
    np.testing.assert_array_equal(result.checkpoints, np.arange(1, horizon + 1))
    np.testing.assert_allclose(result.cost_curve[0], np.cumsum(np.array([0, 1, 3.0])[arms]))
    np.testing.assert_allclose(result.quality_curve[0], np.cumsum(np.array([0, 0.2, 0])[arms]), atol=1e-12)
    np.testing.assert_array_equal(result.pulls[0], np.bincount(arms, minlength=3))


MODELS = {
    "bernoulli": sf.Instance([1, 1], [0.3, 0.9]),
    "gaussian": sf.Instance([1, 1], [-2.0, 5.0], reward="gaussian", sigma=3.0),
    "categorical": sf.Instance(
        [1, 1], reward="categorical", values=[0, 0.25, 1], probabilities=[[0.5, 0.5, 0], [0, 0.2, 0.8]]
    ),
}
VARIANCES = {
    # Bernoulli 0.9: 0.09. Gaussian: 9. Categorical: 0.25 with 0.2 or 1 with 0.8, mean 0.85: 0.2 * 0.8 * 0.75^2 = 0.09.
    "bernoulli": 0.09,
    "gaussian": 9.0,
    "categorical": 0.09,
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("pulls", [1, 7, 1000])
def test_a_drawn_sum_has_the_right_mean_and_variance(model: str, pulls: int) -> None:
    instance = MODELS[model]
    world = make_world(instance, np.arange(2))
    fast = compile_native(draw)
    rng = np.random.default_rng(1)
    sums = np.array([fast(world, 1, pulls, rng)[0] for _ in range(4000)])
    error = (VARIANCES[model] * pulls / 4000) ** 0.5
    # 4.5 standard errors of the mean: error probability 7e-6.
    assert abs(sums.mean() - pulls * instance.means[1]) < 4.5 * error
    # The s.d. of a sample variance is about sqrt((kurtosis - 1) / 4000) x variance; kurtosis <= 8.2 here
    # (Bernoulli 0.9, one pull: 1/0.09 - 3 = 8.1), so 5 of them are below 0.22: error probability 6e-7.
    assert abs(sums.var() / (VARIANCES[model] * pulls) - 1) < 0.22


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(lambda p: sum(p) > 0.01), st.integers(1, 10**9))
def test_a_categorical_draw_loses_no_pull(weights: list[float], pulls: int) -> None:
    """All values are 1, so the sum of the rewards is the number of pulls, whatever rounding does to the weights."""
    row = np.array(weights) / sum(weights)
    world = World(CATEGORICAL, np.ones(1), float("nan"), np.ones(len(row)), row[None, :])
    assert draw(world, 0, pulls, np.random.default_rng(0)) == (pulls, pulls)


@pytest.mark.parametrize("reward", ["bernoulli", "gaussian", "categorical"])
def test_sums_of_squares_have_the_law_of_single_draws(reward: RewardModel) -> None:
    # 4,000 sums of 7 rewards at once, against 4,000 of 7 single ones: means of totals, squares and their product within
    # 4.5 standard errors of the difference (error probability 7e-6 for each of three).
    if reward == "categorical":
        instance = sf.Instance([1], reward=reward, values=[0.1, 0.5, 1.0], probabilities=[[0.2, 0.5, 0.3]])
    else:
        instance = sf.Instance([1], [0.3], reward=reward)
    world, rng = make_world(instance, np.array([0]), squares=True), np.random.default_rng(8)
    at_once = np.array([draw(world, 0, 7, rng) for _ in range(4000)])
    single = np.array([np.sum([draw(world, 0, 1, rng) for _ in range(7)], axis=0) for _ in range(4000)])
    for a, b in (*zip(at_once.T, single.T, strict=True), (at_once.prod(axis=1), single.prod(axis=1))):
        assert abs(a.mean() - b.mean()) < 4.5 * math.sqrt((a.var() + b.var()) / 4000)
    assert (at_once[:, 1] >= at_once[:, 0] ** 2 / 7 - 1e-9).all()  # Cauchy and Schwarz
