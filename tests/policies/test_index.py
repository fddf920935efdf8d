"""The index policies: formulas by hand, and leaps that no sequence of rewards can make wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import get_policy
from satisfice.policies.contract import SWEEP, Problem, State, arrange, make_problem, new_state
from satisfice.policies.etc_cs import exploration
from satisfice.policies.index import lower, safe_lower, safe_upper, upper

RNG = np.random.default_rng(0)


def setup(policy: str, setting: sf.Setting, costs: list[float], horizon: int = 1000) -> tuple[Problem, State]:
    chosen = get_policy(policy)
    order = arrange(costs, setting, [f"arm-{i}" for i in range(len(costs))])
    return make_problem(chosen, setting, costs, order, horizon, True), new_state(chosen, len(order))


def test_exploration_budget_of_etc() -> None:
    # c (T / K)^(2/3): T = 8000, K = 8 gives 1000^(2/3) = 100, times 5.
    assert exploration(8000, 8, 5) == 500
    # T = 5,000,000, K = 20: 250000^(2/3) = 3968.5, times 5 = 19842.5, up to 19843.
    assert exploration(5_000_000, 20, 5) == 19843
    assert exploration(1, 5, 0.001) == 1


def test_bounds_are_cut_to_the_unit_interval() -> None:
    _, state = setup("ucb-cs", sf.BestReward(0), [1.0, 2.0])
    state.pulls[:] = [100, 4]
    state.totals[:] = [50, 2]
    # 0.5 + 2 / 10 = 0.7 and 0.5 - 2 / 10 = 0.3; 0.5 + 2 / 2 is cut to 1, 0.5 - 2 / 2 to 0.
    n, total = state.pulls, state.totals
    assert upper(n[0], total[0], 2.0) == pytest.approx(0.7) and lower(n[0], total[0], 2.0) == pytest.approx(0.3)
    assert upper(n[1], total[1], 2.0) == 1 and lower(n[1], total[1], 2.0) == 0


def test_every_arm_first() -> None:
    for policy, setting in (("ucb-cs", sf.BestReward(0.1)), ("ft-ucb", sf.FixedThreshold(0.5))):
        problem, state = setup(policy, setting, [1.0, 2.0, 3.0])
        assert get_policy(policy).decide(problem, state, 0, RNG) == (SWEEP, 1)


def test_ucb_cs_by_hand() -> None:
    # T = 1000, sqrt(2 log 1000) = 3.7169; with n = 400 the buffer is 0.1858.
    problem, state = setup("ucb-cs", sf.BestReward(0.2), [1.0, 2.0, 3.0])
    state.pulls[:] = 400
    state.totals[:] = [0.40 * 400, 0.53 * 400, 0.70 * 400]
    # UCBs 0.586, 0.716, 0.886; 0.8 * 0.886 = 0.709: the first falls short, the second does not.
    arm, pulls = get_policy("ucb-cs").decide(problem, state, 1200, RNG)
    assert arm == 1
    # It stays until its UCB falls below 0.709: the margin is 0.007, and zeros cost about 0.716 / 400 (mean and buffer
    # both fall): between 1 and 10 pulls.
    assert 1 <= pulls <= 10
    # With a known reference arm that has the smallest UCB, the cheapest arm is feasible.
    problem, state = setup("ucb-cs", sf.ReferenceArm(2, alpha=0.2), [1.0, 2.0, 3.0])
    state.pulls[:] = 400
    state.totals[:] = [0.40 * 400, 0.53 * 400, 0.30 * 400]
    assert get_policy("ucb-cs").decide(problem, state, 1200, RNG)[0] == 0


def test_etc_cs_by_hand() -> None:
    problem, state = setup("etc-cs", sf.BestReward(0.2), [1.0, 2.0, 3.0])
    assert get_policy("etc-cs").decide(problem, state, 0, RNG) == (SWEEP, exploration(1000, 3, 5))
    state.pulls[:] = 400
    state.totals[:] = [0.20 * 400, 0.40 * 400, 0.70 * 400]
    # LCB of the third: 0.7 - 0.1858 = 0.514, times 0.8 = 0.411. UCBs 0.386 and 0.586: the second is the cheapest.
    assert get_policy("etc-cs").decide(problem, state, 1200, RNG)[0] == 1


def test_ft_ucb_by_hand() -> None:
    problem, state = setup("ft-ucb", sf.FixedThreshold(0.6), [1.0, 2.0])
    state.pulls[:] = [100, 10]
    state.totals[:] = [30, 7]
    # t = 111: sqrt(2 log 111 / 100) = 0.3069, 0.3 + 0.3069 >= 0.6: the first.
    assert get_policy("ft-ucb").decide(problem, state, 110, RNG)[0] == 0
    state.totals[0] = 25
    # 0.25 + 0.3069 < 0.6: the second. The first comes back when log t = 100 * 0.35^2 / 2 = 6.125, t = 457.1.
    arm, pulls = get_policy("ft-ucb").decide(problem, state, 110, RNG)
    assert arm == 1 and pulls <= 457 - 110


def test_ft_ucb_explores_at_random_when_no_arm_may_reach_the_threshold() -> None:
    problem, state = setup("ft-ucb", sf.FixedThreshold(0.99), [1.0, 2.0, 3.0])
    state.pulls[:] = 1000
    rng = np.random.default_rng(5)
    counts = np.bincount([get_policy("ft-ucb").decide(problem, state, 3000, rng)[0] for _ in range(3000)], minlength=3)
    # 1000 each, standard deviation 26: 130 is 5 of them, error probability about 2e-6.
    assert (abs(counts - 1000) < 130).all()


def test_equal_costs_go_to_the_larger_index() -> None:
    for policy, setting in (
        ("ucb-cs", sf.BestReward(0.5)),
        ("etc-cs", sf.BestReward(0.5)),
        ("ft-ucb", sf.FixedThreshold(0.3)),
    ):
        problem, state = setup(policy, setting, [1.0, 1.0, 1.0, 2.0], horizon=100)
        state.pulls[:] = 900
        state.totals[:] = [450, 630, 540, 540]
        assert get_policy(policy).decide(problem, state, 3600, RNG)[0] == 1


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0.5, 7), st.floats(0.001, 1))
def test_a_leap_of_an_upper_bound_is_safe_and_not_timid(n: int, mean: float, width: float, level: float) -> None:
    total = mean * n
    pulls = safe_upper(n, total, width, level)
    if total / n + width / math.sqrt(n) < level:
        assert pulls == 1
    else:
        last = n + pulls - 1  # before the last pull of the lease, after zeros only
        assert total / last + width / math.sqrt(last) >= level - 1e-12 or pulls == 1
        far = n + max(2 * pulls, 10) + 1e-6 * n  # and a lease twice as long would not be safe
        assert total / far + width / math.sqrt(far) < level * (1 + 2e-9) + 1e-6 / n or pulls >= 1 << 60


@given(st.integers(1, 10**6), st.floats(0, 1), st.floats(0.5, 7), st.floats(0.001, 1))
def test_a_leap_of_a_lower_bound_is_safe(n: int, mean: float, width: float, level: float) -> None:
    total = mean * n
    pulls = safe_lower(n, total, width, level)
    if pulls > 1:
        for step in {1, pulls // 2, pulls - 1}:
            assert total / (n + step) - width / math.sqrt(n + step) >= level - 1e-12


@st.composite
def situations(draw: st.DrawFn) -> tuple[str, sf.Setting, list[float], list[int], list[float]]:
    arms = draw(st.integers(1, 5))
    costs = [float(draw(st.integers(1, 3))) for _ in range(arms)]
    pulls = [draw(st.integers(20, 4000)) for _ in range(arms)]
    means = [draw(st.floats(0, 1)) for _ in range(arms)]
    alpha = draw(st.sampled_from([0.0, 0.1, 0.4, 1.0]))
    policy, setting = draw(
        st.sampled_from(
            [
                ("ucb-cs", sf.BestReward(alpha)),
                ("ucb-cs", sf.ReferenceArm(arms - 1, alpha)),
                ("etc-cs", sf.BestReward(alpha)),
                ("ft-ucb", sf.FixedThreshold(alpha)),
            ]
        )
    )
    return policy, setting, costs, pulls, means


@settings(max_examples=300, deadline=None)
@given(situations(), st.integers(0, 2**32 - 1), st.sampled_from(["zeros", "ones", "coins"]))
def test_inside_a_lease_the_choice_never_changes(
    situation: tuple[str, sf.Setting, list[float], list[int], list[float]], seed: int, rewards: str
) -> None:
    """The lease against the literal rule: asked again after any of its pulls, the policy names the same arm."""
    policy, setting, costs, pulls, means = situation
    problem, state = setup(policy, setting, costs, horizon=100)
    k = len(problem.costs)
    state.pulls[:] = pulls[:k]
    state.totals[:] = np.array(means[:k]) * state.pulls
    rule = get_policy(policy).decide
    t = int(state.pulls.sum())
    rng = np.random.default_rng(seed)
    arm, lease = rule(problem, state, t, np.random.default_rng(seed))
    if arm == SWEEP:
        return
    for _ in range(min(lease, 60) - 1):
        state.pulls[arm] += 1
        state.totals[arm] += {"zeros": 0.0, "ones": 1.0, "coins": float(rng.random() < 0.5)}[rewards]
        t += 1
        assert rule(problem, state, t, np.random.default_rng(seed))[0] == arm


@settings(max_examples=300, deadline=None)
@given(situations(), st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.9, 0.99]))
def test_rewards_of_1_prolong_a_lease(
    situation: tuple[str, sf.Setting, list[float], list[int], list[float]], seed: int, share: float
) -> None:
    """`until_zeros`: before so many rewards are 0, the policy names the same arm, whatever came between."""
    policy, setting, costs, pulls, means = situation
    if not type(get_policy(policy)).until_zeros:
        return
    problem, state = setup(policy, setting, costs, horizon=100)
    k = len(problem.costs)
    state.pulls[:] = pulls[:k]
    state.totals[:] = np.floor(np.array(means[:k]) * state.pulls)
    rule, t, rng = get_policy(policy).decide, int(state.pulls.sum()), np.random.default_rng(seed)
    arm, zeros = rule(problem, state, t, rng)
    for step in range(200):
        reward = float(rng.random() < share)
        state.pulls[arm] += 1
        state.totals[arm] += reward
        zeros -= reward == 0.0
        if zeros == 0:
            return
        assert rule(problem, state, t + step + 1, rng)[0] == arm


@pytest.mark.parametrize("c", [0, -1, float("nan")])
def test_wrong_c(c: float) -> None:
    with pytest.raises(InvalidPolicy, match="c = "):
        sf.ETCCS(c)
