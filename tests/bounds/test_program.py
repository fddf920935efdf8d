"""The least regret: programs small enough to solve by hand, the linear program against SciPy's, and its properties."""

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import satisfice as sf
from satisfice.bounds import kl_bernoulli, kl_gaussian, lower, regret
from satisfice.covering import cover
from satisfice.errors import InvalidInstance, NoFeasibleArm


def summed(instance: sf.Instance, setting: sf.Setting) -> float:
    bound = lower(instance, setting)
    return bound.cost_regret + bound.quality_regret


def test_fixed_threshold_by_hand() -> None:
    """Every cheaper arm on its own: gap / kl. Gaussian: 0.2 x 2 / 0.2^2 + 0.1 x 2 / 0.1^2 = 10 + 20."""
    instance = sf.Instance(costs=[1, 2, 3, 4], means=[0.3, 0.4, 0.6, 0.1])
    bound = regret(instance, sf.FixedThreshold(0.5), family="gaussian")
    np.testing.assert_allclose(bound.pulls, [50, 200, math.inf, 0], rtol=1e-6)
    assert bound.regret == pytest.approx(30)
    assert (bound.cost_regret, bound.quality_regret) == (0, pytest.approx(30))


def test_known_reference_by_hand() -> None:
    """Two arms must be told apart together: n_1 (s x - m_1)^2 / 2 + n_2 (m_2 - x)^2 / 2 at its smallest over x.

    costs 0 and 1, means 0 and 1, s = 1/2, sigma = 1: threshold 0.5, a* = ell = arm 2 with infinite pulls, so only arm 1
    has to be pulled: 2 / 0.5^2 = 8 times, at a loss of 0.5 each.
    """
    two = sf.Instance(costs=[0, 1], means=[0, 1], reward="gaussian")
    assert regret(two, sf.ReferenceArm(1, alpha=0.5)).regret == pytest.approx(4)
    # With a feasible arm of cost 0.5 between them, pulls of ell cost 0.5. s = 0.5, gap 0.5: the smallest over x of
    # n_1 (x / 2)^2 / 2 + n_3 (1 - x)^2 / 2 is 0.5^2 / (2 (1 / n_1 + 0.25 / n_3)); for that to be at least 1,
    # 1 / n_1 + 0.25 / n_3 <= 1 / 8. Each pull loses 0.5, so n_1 + n_3 is smallest with n_1 = 2 n_3 (by Cauchy):
    # 1.5 / n_1 = 1 / 8: n_1 = 12, n_3 = 6. Raising ell to 0.9 / 0.5 = 1.8 needs n_3 >= 2 / 0.8^2 = 3.125, which it has.
    three = sf.Instance(costs=[0, 0.5, 1], means=[0, 0.9, 1], reward="gaussian")
    bound = regret(three, sf.ReferenceArm(2, alpha=0.5))
    np.testing.assert_allclose(bound.pulls, [12, math.inf, 6], rtol=1e-3)
    assert bound.regret == pytest.approx(9, rel=1e-6)
    assert bound.regret > summed(three, sf.ReferenceArm(2, alpha=0.5)) + 1e-6


def test_best_reward_by_hand() -> None:
    """Two dear arms share the best mean, alpha = 0, sigma = 1: a* is the cheaper of the two.

    Pulls of a* are free, so x >= 1: the cheap arm is raised to 1 alone, 2 / 0.5^2 = 8 pulls at 0.5. The other dear
    arm is on the threshold: any increase displaces a*, so its pulls are infinite.
    """
    instance = sf.Instance(costs=[0, 1, 3], means=[0.5, 1, 1], reward="gaussian")
    bound = regret(instance, sf.BestReward(alpha=0))
    np.testing.assert_allclose(bound.pulls, [8, math.inf, math.inf], rtol=1e-6)
    assert bound.regret == math.inf
    # With a mean of 0.8 instead: raised to 1, 2 / 0.2^2 = 50 pulls at 2 + 0.2; the cheap arm as before.
    other = sf.Instance(costs=[0, 1, 3], means=[0.5, 1, 0.8], reward="gaussian")
    assert regret(other, sf.BestReward(alpha=0)).regret == pytest.approx(8 * 0.5 + 50 * 2.2, rel=1e-6)


def test_no_bernoulli_mean_above_one() -> None:
    """a* = 0.7 with alpha 0.3: no mean is above 1, and nothing is cheaper: nobody has to be pulled."""
    instance = sf.Instance(costs=[1, 2], means=[0.7, 0.8])
    assert regret(instance, sf.BestReward(alpha=0.3)).regret == 0
    assert regret(instance, sf.BestReward(alpha=0.3), family="gaussian").regret > 0


def test_numbers_of_the_page() -> None:
    assert regret(sf.load_instance("movielens"), sf.BestReward(0.1)).regret == pytest.approx(2780.36, abs=0.01)
    hard = sf.load_instance("llm-routing:LiveMathBench").scaled_costs()
    assert regret(hard, sf.BestReward(0.2)).regret * math.log(200_000) == pytest.approx(7265, abs=1)


def test_whatever_the_units_of_costs_and_noise() -> None:
    """It ends, and the regret is in the unit of the costs where nothing else is lost, and in that of the variance."""
    means = [0.5, 0.85, 0.9, 0.9]
    one = regret(sf.Instance([0.1, 0.5, 1, 2], means, reward="gaussian"), sf.BestReward(0.1)).regret
    for sigma in (1e-50, 1e-7, 1e-3, 1e6, 1e50):
        other = regret(sf.Instance([0.1, 0.5, 1, 2], means, reward="gaussian", sigma=sigma), sf.BestReward(0.1))
        assert other.regret == pytest.approx(one * sigma**2, rel=1e-6)
    dear = [regret(sf.Instance(np.array([1.0, 5, 10, 20]) * c, means), sf.BestReward(0.1)).regret for c in (1e9, 1e60)]
    assert dear[1] == pytest.approx(dear[0] * 1e51, rel=1e-6)
    tiny = [
        regret(sf.Instance(np.array([1.0, 5, 10, 20]) * c, means), sf.BestReward(0.1)).regret for c in (1e-9, 1e-60)
    ]
    assert tiny[1] == pytest.approx(tiny[0], rel=1e-3)


def test_alternatives_that_are_told_by_next_to_nothing() -> None:
    """Gaussian, s = 1e-6: an arm must have a mean of 2e5 to displace the first, which 2 / (2e5)^2 pulls rule out."""
    instance = sf.Instance([0, 0, 0], [0.2, 0, 0], reward="gaussian")
    bound = regret(instance, sf.ReferenceArm(1, 0.999999))
    assert bound.regret == 0
    bound = regret(instance.replace(costs=[0, 1, 1]), sf.BestReward(0.999999))
    assert bound.regret == pytest.approx(2 * 2 / 2e5**2, rel=1e-5)
    assert regret(sf.Instance([2, 1], [1, 0]), sf.ReferenceArm(0, 0.999999)).regret > 0


def test_no_bernoulli_mean_rises_above_one() -> None:
    """The threshold is 1/2 at most, which the right arm reaches: nothing can displace it, as `lower` says, too."""
    instance = sf.Instance([0.4, 0.8, 0.2], [1, 0.2, 0.5])
    assert regret(instance, sf.BestReward(0.5)).regret == summed(instance, sf.BestReward(0.5)) == 0
    # Three of mean 1, which set the threshold of the cheapest: n_1 kl(1/2, x) + n_3 log(1 / x) >= 1 for all x.
    bound = regret(sf.Instance([0.1, 0.5, 1.0], [0.5, 1, 1]), sf.ReferenceArm(2))
    x = np.linspace(0.5, 1, 10_001)[:-1]
    flips = 0.5 * np.log(0.5 / x) + 0.5 * np.log(0.5 / (1 - x))
    other = linprog([0.5, 0.5], A_ub=-np.column_stack([flips, -np.log(x)]), b_ub=-np.ones(len(x)))
    assert bound.regret == pytest.approx(other.fun, rel=1e-4)


def test_what_it_refuses() -> None:
    with pytest.raises(NoFeasibleArm):
        regret(sf.Instance([1, 2], [0.1, 0.2]), sf.FixedThreshold(0.5))
    with pytest.raises(InvalidInstance, match="changes"):
        regret(sf.Instance([1, 2], [0.1, 0.2]).changing([(10, [0.2, 0.1])]), sf.BestReward(0.1))
    for sigma in ("wide", 0, 1e-200, 1e200):
        with pytest.raises(InvalidInstance, match="sigma"):
            regret(sf.Instance([1, 2], [0.1, 0.2]), sf.BestReward(0.1), "gaussian", sigma)  # type: ignore[arg-type]
    with pytest.raises(InvalidInstance, match="needs a family"):
        regret(
            sf.Instance([1, 2], reward="categorical", values=[0, 0.5, 1], probabilities=[[0.2, 0.3, 0.5]] * 2),
            sf.FixedThreshold(0.5),
        )


def programs() -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    entry = st.floats(0.0, 5.0).map(lambda x: 0.0 if x < 1 else x)
    return st.tuples(st.integers(1, 5), st.integers(1, 8)).flatmap(
        lambda shape: st.tuples(
            st.lists(st.floats(0.01, 10), min_size=shape[0], max_size=shape[0]).map(np.array),
            st.lists(
                st.lists(entry, min_size=shape[0], max_size=shape[0]).filter(any), min_size=shape[1], max_size=shape[1]
            ).map(np.array),
        )
    )


@given(programs())
@settings(max_examples=200, deadline=None)
def test_the_linear_program_agrees_with_scipy(program: tuple[np.ndarray, np.ndarray]) -> None:
    prices, needs = program
    n = cover(prices, needs)
    other = linprog(prices, A_ub=-needs, b_ub=-np.ones(len(needs)))
    assert (n >= -1e-9).all() and (needs @ n >= 1 - 1e-9).all()
    assert prices @ n == pytest.approx(other.fun, rel=1e-7)


@st.composite
def problems(draw: st.DrawFn) -> tuple[sf.Instance, sf.Setting]:
    arms = draw(st.integers(2, 6))
    means = draw(st.lists(st.floats(0.05, 0.95), min_size=arms, max_size=arms))
    costs = draw(st.lists(st.integers(0, 10), min_size=arms, max_size=arms))
    rewards: list[Literal["bernoulli", "gaussian"]] = ["bernoulli", "gaussian"]
    reward = draw(st.sampled_from(rewards))
    alpha = draw(st.floats(0, 0.6))
    setting = draw(st.sampled_from([sf.BestReward(alpha), sf.ReferenceArm(draw(st.integers(0, arms - 1)), alpha)]))
    return sf.Instance(costs, means, reward=reward), setting


@given(problems())
@settings(max_examples=150, deadline=None)
def test_never_below_one_arm_at_a_time_and_rules_out_random_alternatives(
    problem: tuple[sf.Instance, sf.Setting],
) -> None:
    instance, setting = problem
    bound = regret(instance, setting)
    single = summed(instance, setting)
    assert bound.regret >= single * (1 - 1e-6) or math.isinf(single)
    if math.isinf(bound.regret):
        return
    # No alternative that leaves the optimal arms as they are and has another optimal arm is closer than 1.
    free = np.isinf(bound.pulls)
    best = instance.costs[setting.optimal_arm(instance)]
    rng = np.random.default_rng(0)
    distance = kl_bernoulli if instance.reward == "bernoulli" else kl_gaussian
    for _ in range(200):
        means = np.clip(
            instance.means + rng.normal(0, 0.2, instance.arms) * rng.integers(0, 2, instance.arms), 0.01, 0.99
        )
        means[free] = instance.means[free]
        other = sf.Instance(instance.costs, means, reward=instance.reward)
        cheapest = other.costs[setting.optimal_arm(other)]
        displaced = not setting.feasible(other)[free].any()
        if cheapest < best or displaced:
            moved = ~free
            assert bound.pulls[moved] @ distance(instance.means[moved], means[moved]) >= 1 - 1e-6
