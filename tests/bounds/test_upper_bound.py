"""The upper bounds: each formula by hand with its theorem's name, then edges, then properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import satisfice as sf
from satisfice.bounds import UpperBound, upper
from satisfice.bounds.theorems.elimination import mistermination
from satisfice.errors import InvalidPolicy, InvalidRun, NoFeasibleArm

T = 1_000_000
PI = math.pi**2 / 6


def terms(bound: UpperBound) -> tuple[dict[str, float], dict[str, float]]:
    return {one.name: one.value for one in bound.cost_terms}, {one.name: one.value for one in bound.quality_terms}


# Known reference arm: mu_CS = 0.75 x 0.8 = 0.6, so a* is "mid". In the paper's order:
#   cheap  c = 1  mu = 0.30  Delta_Q =  0.30               low-cost
#   mid    c = 2  mu = 0.75  Delta_Q = -0.15               a*
#   poor   c = 3  mu = 0.40  Delta_Q =  0.20  Delta_C = 1  high-cost
#   ell    c = 5  mu = 0.80  Delta_Q = -0.20  Delta_C = 3  reference
#   luxury c = 9                                           pruned
# given to the library in another order.
REFERENCE = sf.Instance(
    costs=[5, 3, 9, 1, 2], means=[0.8, 0.4, 0.95, 0.3, 0.75], names=["ell", "poor", "luxury", "cheap", "mid"]
)


def test_pe_by_hand() -> None:
    """Theorem 3.2 (instance dependent upper bound for PE); Lemmas F.2, F.3 and F.7."""
    bound = upper("pe", REFERENCE, sf.ReferenceArm("ell", alpha=0.25), T)
    cost, quality = terms(bound)
    # log(1e6 x 0.30^2) = log  90,000 = 11.407565; 32 x 11.407565 / 0.0900 =  4,056.0231
    # log(1e6 x 0.15^2) = log  22,500 = 10.021271; 32 x 10.021271 / 0.0225 = 14,252.4737
    assert cost["reference_nominal"] == pytest.approx((1 + 14252.4737) * 3, rel=1e-7)
    # 43 / 0.09 + 43 / 0.0225 = 477.777778 + 1,911.111111 = 2,388.888889
    assert cost["reference_mistermination"] == pytest.approx(2388.888889 * 3, rel=1e-8)
    # the largest cost gap after a* is ell's
    assert cost["later_episodes"] == pytest.approx(1911.111111 * 3, rel=1e-8)
    assert quality["low_cost_nominal"] == pytest.approx(0.3 + 0.3 * 4056.0231, rel=1e-7)
    assert quality["low_cost_mistermination"] == pytest.approx(43 / 0.3)
    # the largest clipped quality gap strictly between a* and ell is "poor"'s
    assert quality["later_episodes"] == pytest.approx(1911.111111 * 0.2, rel=1e-8)
    assert bound.cost_regret == pytest.approx(42760.4211 + 7166.6667 + 5733.3333, rel=1e-7)
    assert bound.quality_regret == pytest.approx(1217.1069 + 143.3333 + 382.2222, rel=1e-7)
    # Pulls: ell 1 + 14,252.4737 + 2,388.8889 and once more 1,911.1111 (Z > a*); high-cost arms 1,911.1111 in
    # all; the pruned arm none; the low-cost arm 1 + 4,056.0231 + 477.7778; a* up to all T.
    expected = [18553.4737, 1911.1111, 0.0, 4534.8009, T]
    np.testing.assert_allclose(bound.pulls, expected, rtol=1e-7)
    assert bound.roles == ("reference", "high-cost", "pruned", "low-cost", "optimal")
    # No policy can do worse than this; "luxury" is never played, so it does not count.
    assert bound.trivial_cost_regret == 3 * T
    assert bound.trivial_quality_regret == pytest.approx(0.3 * T)


def test_asymmetric_pe_by_hand() -> None:
    """Theorem 3.2 with kappa as in Appendix F: 43 is 32 + 16 (4^kappa + 1) / 3, rounded up."""
    assert mistermination(0) == 43  # 32 + 10.67
    assert mistermination(1) == 59  # 32 + 26.67
    assert mistermination(5) == 5499  # 32 + 16 x 1025 / 3 = 32 + 5,466.67
    setting = sf.ReferenceArm("ell", alpha=0.25)
    assert terms(upper("asymmetric-pe(kappa=0)", REFERENCE, setting, T)) == terms(upper("pe", REFERENCE, setting, T))
    cost, quality = terms(upper("asymmetric-pe", REFERENCE, setting, T))  # kappa = 5
    assert cost["reference_nominal"] == pytest.approx((1 + 14252.4737) * 3, rel=1e-7)
    assert cost["later_episodes"] == pytest.approx(5499 / 0.0225 * 3)
    assert quality["low_cost_mistermination"] == pytest.approx(5499 / 0.3)
    assert math.isfinite(upper("asymmetric-pe(kappa=1000)", REFERENCE, setting, T).cost_regret)


# Subsidized best reward: mu_CS = 0.75 x 0.8 = 0.6. In the paper's order:
#   cheap  c = 1  mu = 0.3  Delta_Q =  0.3               Delta = 0.5
#   mid    c = 2  mu = 0.7  Delta_Q = -0.1               Delta = 0.1  a*
#   poor   c = 3  mu = 0.5  Delta_Q =  0.1  Delta_C = 1  Delta = 0.3
#   best   c = 4  mu = 0.8                  Delta_C = 2               i*
# so Delta_min = 0.1.
BEST = sf.Instance(costs=[4, 3, 2, 1], means=[0.8, 0.5, 0.7, 0.3], names=["best", "poor", "mid", "cheap"])


def test_pe_cs_by_hand() -> None:
    """Theorem 3.4 (instance dependent upper bound for PE-CS); Lemmas G.2 to G.5."""
    bound = upper("pe-cs", BEST, sf.BestReward(alpha=0.25), T)
    cost, quality = terms(bound)
    # The largest over {Delta_min = 0.1} and {0.3, 0.1}: log(1e6 x 0.01) = log 10,000 = 9.210340,
    # 32 x 9.210340 / 0.01 = 29,473.0892.
    assert cost["best_nominal"] == pytest.approx(2 * 29474.0892, rel=1e-7)
    # 43 / 0.09 = 477.7778; 32 / 0.01 + 43 / 0.01 = 7,500 (episode a*)
    assert cost["best_mistermination"] == pytest.approx(2 * (477.777778 + 7500), rel=1e-7)
    assert cost["later_episodes"] == pytest.approx(2 * 7500)
    # "poor" is the only dearer arm but i*: 32 log(1e6 x 0.09) / 0.09 = 4,056.0231
    assert cost["high_cost_identification"] == pytest.approx(1 * 4057.0231, rel=1e-7)
    # 11 / 0.01 + 32 / 0.25 + 32 / 0.01 + 32 / 0.09 = 1,100 + 128 + 3,200 + 355.5556 = 4,783.5556
    assert cost["improper_identification"] == pytest.approx(2 * 4783.555556, rel=1e-8)
    assert quality["low_cost_nominal"] == pytest.approx(0.3 + 0.3 * 4056.0231, rel=1e-7)
    assert quality["low_cost_mistermination"] == pytest.approx(43 / 0.3)
    assert quality["later_episodes"] == pytest.approx(0.1 * 7500)
    assert quality["high_cost_identification"] == pytest.approx(0.1 * 4057.0231, rel=1e-7)
    assert quality["improper_identification"] == pytest.approx(0.3 * 4783.555556, rel=1e-8)
    # Pulls: i* 29,474.0892 + 477.7778 + 7,500 (mis-termination) + 7,500 (Z > a*) + 4,783.5556 (BAI);
    # poor 4,057.0231 + 7,500 + 4,783.5556; cheap 1 + 4,056.0231 + 477.7778 + 4,783.5556.
    np.testing.assert_allclose(bound.pulls, [49735.4225, 16340.5787, T, 9318.3565], rtol=1e-7)
    assert bound.roles == ("best", "high-cost", "optimal", "low-cost")


def test_pe_cs_with_kappa_by_hand() -> None:
    """Theorem 3.4 with kappa = 1: 43 becomes 59 in the PE stage; BAI has no kappa and keeps its 11 and 32."""
    cost, quality = terms(upper(sf.PECS(kappa=1), BEST, sf.BestReward(alpha=0.25), T))
    assert cost["later_episodes"] == pytest.approx(2 * (32 + 59) / 0.01)
    assert cost["best_mistermination"] == pytest.approx(2 * (59 / 0.09 + 32 / 0.01 + 59 / 0.01))
    assert cost["improper_identification"] == pytest.approx(2 * 4783.555556, rel=1e-8)
    assert quality["low_cost_mistermination"] == pytest.approx(59 / 0.3)


# Fixed threshold 0.6: a* is "mid". cheap Delta_Q = 0.2; poor Delta_Q = 0.1, Delta_C = 1; best Delta_C = 2.
FIXED = sf.Instance(costs=[4, 3, 2, 1], means=[0.9, 0.5, 0.7, 0.4], names=["best", "poor", "mid", "cheap"])


def test_ft_ucb_by_hand() -> None:
    """Theorem H.1 (instance dependent upper bound for FT-UCB); Lemmas H.1 and H.2."""
    bound = upper("ft-ucb", FIXED, sf.FixedThreshold(0.6), T)
    cost, quality = terms(bound)
    assert cost == {"high_cost_initial": 3, "optimal_excluded": pytest.approx(2 * 1.6449341, rel=1e-7)}
    # 8 log 1e6 / 0.2 = 8 x 13.815511 / 0.2 = 552.62042
    assert quality["low_cost_logarithmic"] == pytest.approx(552.62042, rel=1e-7)
    assert quality["low_cost_constant"] == pytest.approx(2.6449341 * 0.2, rel=1e-7)
    assert quality["optimal_excluded"] == pytest.approx(1.6449341 * 0.2, rel=1e-7)
    # The proof's sum of Delta_Q over i > a*, which the printed theorem drops: "poor" is pulled once at the start.
    assert quality["high_cost_initial"] == pytest.approx(0.1)
    # cheap: 8 x 13.815511 / 0.04 + 1 + 2 x 1.6449341; dearer arms 1 + 1.6449341
    np.testing.assert_allclose(bound.pulls, [1 + PI, 1 + PI, T, 2763.1021 + 1 + 2 * PI], rtol=1e-7)


def test_printed_ft_ucb_theorem_is_too_small() -> None:
    """Why the dropped term is here: one pull each of nine bad dear arms is certain, and beyond the printed bound."""
    instance = sf.Instance(costs=range(1, 11), means=[1.0] + [0.0] * 9)
    setting = sf.FixedThreshold(0.9)
    bound = upper("ft-ucb", instance, setting, 1000)
    certain = 9 * 0.9
    printed = PI * 0.9  # no arm is cheaper than a*, so only the last term of the printed theorem is left
    simulated = sf.simulate(instance, setting, "ft-ucb", horizon=1000, runs=3)["ft-ucb"].quality_regret
    assert (simulated >= certain).all()
    assert printed < certain <= simulated.mean() <= bound.quality_regret


def test_optimal_arm_is_the_reference() -> None:
    # mu_CS = 0.8; only ell reaches it: episode a* does not exist and ell has no cost gap.
    instance = sf.Instance(costs=[1, 2, 3], means=[0.5, 0.6, 0.8], names=["a", "b", "ell"])
    bound = upper("pe", instance, sf.ReferenceArm("ell"), T)
    assert bound.cost_regret == 0
    assert all("the reference arm ell itself" in one.reason for one in bound.cost_terms)
    assert bound.quality_regret > 0
    assert bound.term("quality.later_episodes").value == 0
    assert bound.roles == ("low-cost", "low-cost", "optimal")
    np.testing.assert_array_equal(bound.pulls[2], T)


def test_optimal_arm_is_the_best_arm() -> None:
    instance = sf.Instance(costs=[1, 2, 3], means=[0.3, 0.8, 0.6], names=["a", "best", "dear"])
    bound = upper("pe-cs", instance, sf.BestReward(alpha=0.1), T)
    for name in ("best_nominal", "best_mistermination", "later_episodes"):
        assert bound.term(f"cost.{name}").value == 0
    # what is left is BAI: 1 + 32 log(1e6 x 0.04) / 0.04 for "dear", and its improper end
    assert bound.term("cost.high_cost_identification").value == pytest.approx(1 + 32 * math.log(40000) / 0.04)
    assert bound.term("cost.improper_identification").value == pytest.approx(11 / 0.04 + 32 / 0.25 + 32 / 0.04)
    assert "there is no episode a*" in bound.cost_terms[2].reason


def test_gap_of_zero_is_infinite_with_its_reason() -> None:
    # alpha = 0 and the same mean: "b" is exactly on the threshold.
    instance = sf.Instance(costs=[1, 2, 3], means=[0.5, 0.8, 0.8], names=["a", "b", "ell"])
    bound = upper("pe", instance, sf.ReferenceArm("ell"), T)
    assert bound.cost_regret == math.inf
    assert all("b is exactly on the threshold" in one.reason for one in bound.cost_terms)
    assert math.isfinite(bound.quality_regret)  # no dearer arm is infeasible
    assert bound.pulls.tolist() == [pytest.approx(1 + (32 * math.log(T * 0.09) + 43) / 0.09), T, math.inf]
    assert "exactly on the threshold" in bound.reasons[2]


def test_two_best_arms_are_infinite_with_their_names() -> None:
    instance = sf.Instance(costs=[1, 2, 3], means=[0.7, 0.8, 0.8], names=["a", "b", "c"])
    bound = upper("pe-cs", instance, sf.BestReward(alpha=0.2), T)
    assert bound.cost_regret == math.inf
    assert "b and c share the best mean" in bound.term("cost.best_nominal").reason
    assert bound.quality_regret == 0  # everything is feasible
    assert bound.trivial_cost_regret == 2 * T


def test_logarithm_of_a_tiny_gap_is_clipped_and_the_bound_stays_true() -> None:
    # Delta_Q = 1e-4 at T = 1e6: T Delta^2 = 0.01 and log = -4.6. Unclipped, Lemma F.2 would be
    # 1 + 32 x (-4.6) / 1e-8 + 43 / 1e-8 = -1.04e10 pulls.
    instance = sf.Instance(costs=[1, 2], means=[0.5999, 0.6], names=["a", "ell"])
    bound = upper("pe", instance, sf.ReferenceArm("ell"), T)
    assert bound.pulls[0] == pytest.approx(1 + 43 / 1e-8, rel=1e-6)
    assert bound.quality_regret > bound.trivial_quality_regret == pytest.approx(1e-4 * T)


def test_rewards_beyond_the_theorem() -> None:
    wide = sf.Instance(costs=[1, 2, 3], means=[0.1, 0.7, 0.9], reward="gaussian", sigma=1.0)
    bound = upper("pe", wide, sf.ReferenceArm(2, alpha=0.25), T)
    assert "sigma = 1" in bound.caveat
    assert bound.cost_regret == bound.quality_regret == math.inf
    assert bound.pulls.tolist() == [math.inf, T, math.inf]
    # With sigma = 1/2 the proofs go through word for word.
    narrow = upper("pe", wide.replace(sigma=0.5), sf.ReferenceArm(2, alpha=0.25), T)
    bernoulli = upper("pe", sf.Instance(wide.costs, wide.means), sf.ReferenceArm(2, alpha=0.25), T)
    assert terms(narrow) == terms(bernoulli)
    # Gaps beyond 4 count as 4: the first round alone is 2 log T = 27.6 pulls, 32 log(T Delta^2) / Delta^2 is 1.3.
    far = sf.Instance(costs=[1, 2], means=[0, 20], reward="gaussian", sigma=0.5)
    assert upper("pe", far, sf.ReferenceArm(1), T).pulls[0] >= math.ceil(2 * math.log(T))


def test_smallest_problems() -> None:
    one = sf.Instance(costs=[1], means=[0.5])
    for policy, setting in (
        ("pe", sf.ReferenceArm(0)),
        ("pe-cs", sf.BestReward(0.1)),
        ("ft-ucb", sf.FixedThreshold(0.2)),
    ):
        bound = upper(policy, one, setting, 1)
        assert (bound.cost_regret, bound.quality_regret) == (0, 0)
        assert bound.pulls.tolist() == [1]


def test_same_cost_as_the_optimal_arm() -> None:
    # FT-UCB prefers the larger UCB among equal costs: an infeasible arm of a*'s cost is bounded as a cheaper one.
    instance = sf.Instance(costs=[1, 1, 1], means=[0.8, 0.3, 0.9])
    bound = upper("ft-ucb", instance, sf.FixedThreshold(0.6), T)
    assert bound.roles == ("optimal", "low-cost", "tied")
    assert bound.pulls[1] == pytest.approx(8 * math.log(T) / 0.09 + 1 + 2 * PI)
    assert bound.cost_regret == 0


def test_bad_requests_are_named() -> None:
    with pytest.raises(
        InvalidPolicy, match="no upper bound for ucb-cs; it has one for pe, asymmetric-pe, pe-cs, ft-ucb"
    ):
        upper("ucb-cs", BEST, sf.BestReward(0.1), T)
    with pytest.raises(InvalidPolicy, match="pe does not serve BestReward; it serves ReferenceArm"):
        upper("pe", BEST, sf.BestReward(0.1), T)
    with pytest.raises(InvalidRun, match="horizon = 0"):
        upper("pe-cs", BEST, sf.BestReward(0.1), 0)
    with pytest.raises(InvalidRun, match=r"horizon = 1\.5"):
        upper("pe-cs", BEST, sf.BestReward(0.1), 1.5)
    with pytest.raises(NoFeasibleArm):
        upper("ft-ucb", FIXED, sf.FixedThreshold(0.95), T)
    with pytest.raises(KeyError, match=r"cost\.best_nominal"):
        upper("pe-cs", BEST, sf.BestReward(0.1), T).term("cost.nonsense")


# A coarse lattice, so that ties, zero gaps and a* = ell or i* are common.
levels = st.integers(0, 6)
cases = st.lists(st.tuples(levels, levels), min_size=1, max_size=6)


def bounds_of(costs: list[float], means: list[float], alpha: float, horizon: int) -> list[UpperBound]:
    instance = sf.Instance(costs, means)
    result = [upper("pe-cs", instance, sf.BestReward(alpha), horizon)]
    result += [upper("pe", instance, sf.ReferenceArm(i, alpha), horizon) for i in range(instance.arms)]
    result.append(upper("ft-ucb", instance, sf.FixedThreshold((1 - alpha) * max(means)), horizon))
    return result


@given(cases, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([1, 100, 10**6, 10**12]))
def test_never_negative_never_nan_and_every_end_has_a_reason(
    arms: list[tuple[int, int]], alpha: float, horizon: int
) -> None:
    for bound in bounds_of([c / 2 for c, _ in arms], [m / 6 for _, m in arms], alpha, horizon):
        for one in (*bound.cost_terms, *bound.quality_terms):
            assert one.value >= 0  # also false for nan
            assert (one.reason != "") == (one.value in (0, math.inf))
        assert (bound.pulls >= 0).all()
        for pulls, reason in zip(bound.pulls, bound.reasons, strict=True):
            assert reason or 0 < pulls < math.inf


@given(cases, st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.randoms(use_true_random=False))
def test_the_order_of_the_caller_does_not_matter(arms: list[tuple[int, int]], alpha: float, random: object) -> None:
    # Distinct costs: among equal ones the order decides who is a*.
    costs, means = [c / 20 + i for i, (c, _) in enumerate(arms)], [m / 6 for _, m in arms]
    order = list(range(len(arms)))
    random.shuffle(order)  # type: ignore[attr-defined]
    instance, shuffled = sf.Instance(costs, means), sf.Instance([costs[i] for i in order], [means[i] for i in order])
    for policy, one, other in (
        ("pe-cs", sf.BestReward(alpha), sf.BestReward(alpha)),
        ("pe", sf.ReferenceArm(order[0], alpha), sf.ReferenceArm(0, alpha)),
        ("ft-ucb", sf.FixedThreshold(max(means) / 2), sf.FixedThreshold(max(means) / 2)),
    ):
        first, second = upper(policy, instance, one, T), upper(policy, shuffled, other, T)
        assert first.cost_regret == pytest.approx(second.cost_regret)
        assert first.quality_regret == pytest.approx(second.quality_regret)
        np.testing.assert_allclose(first.pulls[order], second.pulls)


@given(st.floats(1e-9, 0.4), st.sampled_from([10, 1000, 10**6, 10**9]))
def test_wherever_the_logarithm_is_clipped_the_theorem_says_nothing(gap: float, horizon: int) -> None:
    if horizon * gap * gap >= 1:
        return
    instance = sf.Instance(costs=[1, 2, 3], means=[0.5 - gap, 0.5 + gap, 0.5])
    assert upper("pe", instance, sf.ReferenceArm(2), horizon).pulls[0] > horizon
    pe_cs = upper("pe-cs", sf.Instance(costs=[1, 2], means=[0.5 - gap, 0.5]), sf.BestReward(0), horizon)
    assert pe_cs.quality_regret > pe_cs.trivial_quality_regret


@given(cases, st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_bounds_grow_with_the_horizon(arms: list[tuple[int, int]], alpha: float) -> None:
    costs, means = [c / 2 for c, _ in arms], [m / 6 for _, m in arms]
    for short, long in zip(bounds_of(costs, means, alpha, 100), bounds_of(costs, means, alpha, 10**6), strict=True):
        assert short.cost_regret <= long.cost_regret
        assert short.quality_regret <= long.quality_regret


@pytest.mark.parametrize("policy", ["pe", "asymmetric-pe"])
def test_a_reference_arm_below_its_own_threshold_is_refused_in_a_sentence(policy: str) -> None:
    """3/4 of a negative mean is above it, and dearer arms, which would do, are never pulled."""
    instance = sf.Instance([1, 2, 3], [-0.26, 0.4, -0.3], reward="gaussian")
    with pytest.raises(NoFeasibleArm, match="negative mean"):
        upper(policy, instance, sf.ReferenceArm(0, 0.25), 1000)
