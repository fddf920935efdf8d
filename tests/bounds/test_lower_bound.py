"""The lower bounds: each theorem by hand, both families, both cases of the indicator; then edges and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import satisfice as sf
from satisfice.bounds import LowerBound, kl_bernoulli, lower
from satisfice.bounds.divergences import Family
from satisfice.errors import InvalidInstance, NoFeasibleArm


def cases_of(bound: LowerBound) -> dict[str, float]:
    return {case.name: case.value for case in bound.cases}


# Known reference arm, alpha = 0.25: mu_CS = 0.6, a* = "mid".
#   cheap mu = 0.30 Delta_Q = 0.30; near mu = 0.50 Delta_Q = 0.10; mid mu = 0.75 Delta_Q = -0.15
REFERENCE = sf.Instance(
    costs=[5, 3, 1, 2, 4], means=[0.8, 0.75, 0.3, 0.5, 0.4], names=["ell", "mid", "cheap", "near", "poor"]
)


def test_known_reference_gaussian_by_hand() -> None:
    """Theorem 3.1, which is Theorems E.1 and E.2 with Gaussian rewards of variance 1."""
    bound = lower(REFERENCE, sf.ReferenceArm("ell", alpha=0.25), family="gaussian")
    # low-cost arms, 2 / Delta_Q^2: cheap 2 / 0.09 = 22.2222, near 2 / 0.01 = 200
    # ell, the largest over i <= a* of 2 x 0.75^2 / Delta_Q,i^2 = 1.125 / Delta_Q,i^2:
    #   raised, by a*: 1.125 / 0.0225 = 50; lowered, by near: 1.125 / 0.01 = 112.5
    assert cases_of(bound) == {"raised": pytest.approx(50), "lowered": pytest.approx(112.5)}
    np.testing.assert_allclose(bound.pulls, [112.5, math.inf, 22.222222, 200, 0], rtol=1e-7)
    # cost: (5 - 3) x 112.5; quality: 0.3 x 22.2222 + 0.1 x 200 = 26.6667
    assert bound.cost_regret == pytest.approx(225)
    assert bound.quality_regret == pytest.approx(26.666667, rel=1e-7)
    assert bound.roles == ("reference", "optimal", "low-cost", "low-cost", "high-cost")
    assert "a constant number of pulls can do" in bound.reasons[4]


def test_known_reference_bernoulli_by_hand() -> None:
    """Theorems E.1 and E.2 with Bernoulli rewards."""
    bound = lower(REFERENCE, sf.ReferenceArm("ell", alpha=0.25), family="bernoulli")
    # cheap: kl(0.3, 0.6) = 0.3 log(0.3/0.6) + 0.7 log(0.7/0.4) = -0.2079442 + 0.3917310 = 0.1837868; 1/ = 5.441084
    # near: kl(0.5, 0.6) = 0.5 log(0.5/0.6) + 0.5 log(0.5/0.4) = -0.0911608 + 0.1115718 = 0.0204110; 1/ = 48.99319
    # ell raised beyond 0.75 / 0.75 = 1: no Bernoulli mean is above 1, so this case is empty
    # ell lowered to 0.5 / 0.75 = 2/3: kl(0.8, 2/3) = 0.8 log 1.2 + 0.2 log 0.6 = 0.1458572 - 0.1021651 = 0.0436921
    assert cases_of(bound) == {"raised": 0, "lowered": pytest.approx(22.88743, rel=1e-5)}
    assert "no bernoulli mean is above 1" in bound.cases[0].reason
    np.testing.assert_allclose(bound.pulls, [22.88743, math.inf, 5.441084, 48.99319, 0], rtol=1e-5)
    assert math.isnan(bound.sigma)


def test_variance_scales_the_gaussian_bounds() -> None:
    """D_inf = (mu - x)^2 / (2 sigma^2): pulls are proportional to the variance."""
    setting = sf.ReferenceArm("ell", alpha=0.25)
    unit = lower(REFERENCE, setting, family="gaussian")
    np.testing.assert_allclose(lower(REFERENCE, setting, "gaussian", sigma=3).pulls, 9 * unit.pulls)
    own = REFERENCE.replace(reward="gaussian", sigma=3.0)
    np.testing.assert_allclose(lower(own, setting).pulls, 9 * unit.pulls)


# Subsidized best reward, alpha = 0.2, mu* = 0.9: mu_CS = 0.72, a* = "mid".
#   cheap mu = 0.40; near mu = 0.70 Delta_Q = 0.02; mid mu = 0.80 Delta_Q = -0.08; dear mu = 0.60; best mu = 0.90
# The second best mean is mid's 0.80, so Delta_min = 0.1, and near's 0.70 >= 0.8 x 0.80 = 0.64: the indicator is 1.
BEST = sf.Instance(
    costs=[1, 2, 3, 4, 5], means=[0.4, 0.7, 0.8, 0.6, 0.9], names=["cheap", "near", "mid", "dear", "best"]
)


def test_best_reward_gaussian_by_hand_indicator_one() -> None:
    """Theorem 3.3, which is Theorems E.3, E.4 and E.5 with Gaussian rewards of variance 1."""
    bound = lower(BEST, sf.BestReward(alpha=0.2), family="gaussian")
    # low-cost: cheap 2 / 0.32^2 = 19.53125; near 2 / 0.02^2 = 5,000
    # high-cost: dear 2 / (0.8 / 0.8 - 0.6)^2 = 2 / 0.16 = 12.5
    # best: 2 x 0.64 x max(1 / 0.08^2, 1 / 0.02^2) = 1.28 x max(156.25, 2,500): raised 200, lowered 3,200
    assert cases_of(bound) == {"raised": pytest.approx(200), "lowered": pytest.approx(3200)}
    np.testing.assert_allclose(bound.pulls, [19.53125, 5000, math.inf, 12.5, 3200], rtol=1e-9)
    # cost: 1 x 12.5 + 2 x 3,200; quality: 0.32 x 19.53125 + 0.02 x 5,000 + 0.12 x 12.5
    assert bound.cost_regret == pytest.approx(6412.5)
    assert bound.quality_regret == pytest.approx(6.25 + 100 + 1.5)


def test_best_reward_gaussian_by_hand_indicator_zero() -> None:
    """Theorem 3.3 where min Delta_Q,i > (1 - alpha) Delta_min: only the gap of a* is left for the best arm."""
    # dear at 0.89: Delta_min = 0.01; near's 0.70 < 0.8 x 0.89 = 0.712, so the second best arm rules near out.
    instance = BEST.replace(means=[0.4, 0.7, 0.8, 0.89, 0.9])
    bound = lower(instance, sf.BestReward(alpha=0.2), family="gaussian")
    assert cases_of(bound) == {"raised": pytest.approx(200), "lowered": 0}
    assert "below (1 - alpha) times the second best mean" in bound.cases[1].reason
    assert bound.pulls[4] == pytest.approx(200)
    assert bound.pulls[3] == pytest.approx(2 / (1 - 0.89) ** 2)


def test_best_reward_bernoulli_by_hand() -> None:
    """Theorems E.3 to E.5 with Bernoulli rewards, alpha = 0.1: mu_CS = 0.54, a* is "b"."""
    instance = sf.Instance(costs=[1, 2, 3, 4], means=[0.5, 0.58, 0.4, 0.6], names=["a", "b", "c", "best"])
    bound = lower(instance, sf.BestReward(alpha=0.1))
    # a: kl(0.5, 0.54) = 0.5 log(0.5/0.54) + 0.5 log(0.5/0.46) = -0.0384805 + 0.0416908 = 0.0032103
    # c, up to 0.58 / 0.9 = 0.6444444: kl(0.4, 0.6444444) = 0.4 log(0.6206897) + 0.6 log(1.6875)
    #   = -0.1907698 + 0.3139502 = 0.1231804
    # best raised: kl(0.6, 0.6444444) = 0.6 log(0.9310345) + 0.4 log(1.125) = -0.0428754 + 0.0471132 = 0.0042378
    # best lowered (0.5 >= 0.9 x 0.58 = 0.522 is false): indicator 0
    assert bound.pulls[0] == pytest.approx(1 / 0.0032103, rel=1e-4)
    assert bound.pulls[2] == pytest.approx(1 / 0.1231804, rel=1e-5)
    assert bound.pulls[3] == pytest.approx(1 / 0.0042378, rel=1e-4)
    assert cases_of(bound)["lowered"] == 0
    # With b at 0.55 the indicator is 1 (0.5 >= 0.9 x 0.55 = 0.495): lowered to 0.5 / 0.9 = 0.5555556,
    # kl(0.6, 0.5555556) = 0.6 log 1.08 + 0.4 log 0.9 = 0.0461766 - 0.0421442 = 0.0040324
    other = lower(instance.replace(means=[0.5, 0.55, 0.4, 0.6]), sf.BestReward(alpha=0.1))
    assert cases_of(other)["lowered"] == pytest.approx(1 / 0.0040324, rel=1e-4)


def test_fixed_threshold_by_hand() -> None:
    """Theorem E.6 (fixed threshold), both families."""
    instance = sf.Instance(costs=[4, 3, 2, 1], means=[0.9, 0.5, 0.7, 0.4])
    bound = lower(instance, sf.FixedThreshold(0.6), family="gaussian")
    # 2 / (0.4 - 0.6)^2 = 50 for the cheap arm, nothing for the dear ones
    np.testing.assert_allclose(bound.pulls, [0, 0, math.inf, 50])
    assert (bound.cost_regret, bound.quality_regret) == pytest.approx((0, 0.2 * 50))
    assert bound.cases == ()
    # kl(0.4, 0.6) = 0.4 log(2/3) + 0.6 log(3/2) = 0.2 log 1.5 = 0.0810930
    assert lower(instance, sf.FixedThreshold(0.6)).pulls[3] == pytest.approx(1 / 0.0810930, rel=1e-6)


def test_the_optimal_arm_is_the_reference_or_the_best() -> None:
    instance = sf.Instance(costs=[1, 2, 3], means=[0.5, 0.9, 0.6])
    bound = lower(instance, sf.BestReward(alpha=0.1), family="gaussian")
    # high-cost: up to 0.9 / 0.9 = 1: 2 / (1 - 0.6)^2 = 12.5
    np.testing.assert_allclose(bound.pulls, [2 / 0.31**2, math.inf, 12.5])
    assert bound.cases == ()
    reference = lower(instance, sf.ReferenceArm(1), family="gaussian")
    np.testing.assert_allclose(reference.pulls, [2 / 0.4**2, math.inf, 0])


def test_optimal_arm_exactly_on_the_threshold() -> None:
    """D_inf(nu, mu) = 0: the least change of the reference displaces a*, so no multiple of log T is enough."""
    instance = sf.Instance(costs=[1, 2], means=[0.76, 0.95], names=["a", "ell"])  # 0.76 = 0.8 x 0.95
    for setting in (sf.ReferenceArm("ell", 0.2), sf.BestReward(0.2)):
        for family in ("gaussian", "bernoulli"):
            bound = lower(instance, setting, family)
            assert bound.pulls[1] == bound.cost_regret == math.inf
            assert "exactly on the threshold" in bound.reasons[1]
            assert bound.quality_regret == 0


def test_subsidy_of_one_leaves_nothing_to_learn() -> None:
    instance = sf.Instance(costs=[1, 2], means=[0.0, 0.9])
    for setting in (sf.ReferenceArm(1, 1.0), sf.BestReward(1.0)):
        for family in ("gaussian", "bernoulli"):
            bound = lower(instance, setting, family)
            assert bound.pulls.tolist() == [math.inf, 0]
            assert (bound.cost_regret, bound.quality_regret) == (0, 0)


def test_equal_costs() -> None:
    # b and c cost the same and are both feasible: pulling either is free, and to displace a* a change must beat both.
    instance = sf.Instance(costs=[1, 2, 2, 3], means=[0.3, 0.7, 0.8, 0.85])
    bound = lower(instance, sf.ReferenceArm(3, alpha=0.25), family="gaussian")
    assert bound.roles == ("low-cost", "optimal", "tied", "reference")
    assert bound.pulls[2] == 0
    assert cases_of(bound)["raised"] == pytest.approx(2 / (0.8 / 0.75 - 0.85) ** 2)


def test_bad_requests_are_named() -> None:
    setting = sf.BestReward(0.2)
    with pytest.raises(InvalidInstance, match="no reward family 'poisson'"):
        lower(BEST, setting, family="poisson")  # type: ignore[arg-type]
    with pytest.raises(InvalidInstance, match="sigma = -1"):
        lower(BEST, setting, "gaussian", sigma=-1)
    with pytest.raises(InvalidInstance, match=r"means within \[0, 1\]"):
        lower(sf.Instance([1, 2], [0, 3], reward="gaussian"), setting, "bernoulli")
    stars = sf.Instance([1, 2], reward="categorical", values=[0, 1], probabilities=[[0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(InvalidInstance, match="needs a family: bernoulli or gaussian"):
        lower(stars, setting)
    assert lower(stars, setting, "bernoulli").family == "bernoulli"
    with pytest.raises(NoFeasibleArm):
        lower(BEST, sf.FixedThreshold(0.95))


levels = st.integers(0, 6)


@given(
    st.lists(st.tuples(levels, levels), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.sampled_from(["gaussian", "bernoulli"]),
)
def test_never_nan_and_every_end_has_a_reason(arms: list[tuple[int, int]], alpha: float, family: Family) -> None:
    instance = sf.Instance([c / 2 for c, _ in arms], [m / 6 for _, m in arms])
    top = float(instance.means.max())
    settings: list[sf.Setting] = [sf.BestReward(alpha), sf.FixedThreshold((1 - alpha) * top)]
    settings += [sf.ReferenceArm(i, alpha) for i in range(instance.arms)]
    for setting in settings:
        bound = lower(instance, setting, family)
        assert (bound.pulls >= 0).all()
        assert bound.cost_regret >= 0
        assert bound.quality_regret >= 0
        for pulls, reason in zip(bound.pulls, bound.reasons, strict=True):
            assert (reason != "") == (pulls in (0, math.inf))


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=6), st.floats(0, 0.9))
def test_bernoulli_rewards_never_need_more_than_gaussian_ones_of_half_width(means: list[float], alpha: float) -> None:
    """Pinsker: kl(p, q) >= 2 (p - q)^2, the Gaussian divergence with sigma = 1/2."""
    instance = sf.Instance(range(len(means)), means)
    for setting in (sf.BestReward(alpha), sf.ReferenceArm(len(means) - 1, alpha)):
        bernoulli, gaussian = lower(instance, setting), lower(instance, setting, "gaussian", sigma=0.5)
        assert (bernoulli.pulls <= gaussian.pulls * (1 + 1e-9)).all()


@given(st.lists(st.floats(0.01, 0.99), min_size=3, max_size=6, unique=True), st.floats(0, 0.9))
def test_low_cost_bounds_are_ordered_by_their_gaps(means: list[float], alpha: float) -> None:
    instance = sf.Instance(range(len(means)), means)
    setting = sf.BestReward(alpha)
    bound = lower(instance, setting, "gaussian")
    low = [i for i, role in enumerate(bound.roles) if role == "low-cost"]
    gaps = setting.quality_gaps(instance)
    assert sorted(low, key=lambda i: bound.pulls[i]) == sorted(low, key=lambda i: -gaps[i])
    for i in low:
        assert lower(instance, setting).pulls[i] == pytest.approx(
            1 / float(kl_bernoulli(means[i], setting.threshold(instance)))
        )
