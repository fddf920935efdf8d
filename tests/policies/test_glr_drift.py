"""GLR in a world that changes, the looks at arms that are passed over, and the two baselines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidPolicy, InvalidStudy
from satisfice.policies import get_policy
from satisfice.policies.contract import Problem, make_problem, new_state
from satisfice.policies.looks import gaps_of, leader_of, price_of, stake_of
from satisfice.studies import create_study

HORIZON = 20_000
SETTING = sf.BestReward(0.1)


def regret(world: sf.Instance, policy: str, runs: int = 20) -> float:
    return float(sf.simulate(world, SETTING, policy, HORIZON, runs=runs, seed=3, workers=1)[policy].regret.mean())


def problem(setting: sf.Setting, horizon: int | None = 100_000) -> Problem:
    return make_problem(get_policy("glr"), setting, [1.0, 4.0, 10.0], np.arange(3), horizon, bounded=True)


@pytest.mark.parametrize(
    ("before", "after"), [([0.95, 0.96, 0.97], [0.3, 0.96, 0.97]), ([0.5, 0.9, 0.95], [0.97, 0.9, 0.95])]
)
def test_a_fall_and_a_rise_cost_a_fraction(before: list[float], after: list[float]) -> None:
    """The regret of glr is some thousand in both worlds; a fourth of it is many standard errors away from either."""
    world = sf.Instance([0.1, 0.4, 1.0], before).changing([(HORIZON // 2, after)])
    assert regret(world, "glr-drift") < 0.25 * regret(world, "glr")


def test_where_nothing_changes_it_costs_little_more() -> None:
    """Looks cost at most 60 and 10% of the rest, in expectation; with 20 runs and some for chance, 100."""
    world = sf.Instance([0.1, 0.4, 1.0], [0.7, 0.9, 0.95])
    assert regret(world, "glr-drift") < 1.15 * regret(world, "glr") + 100


def test_pulls_are_counted_though_the_rule_begins_anew() -> None:
    world = sf.Instance([0.1, 0.4, 1.0], [0.95, 0.96, 0.97]).changing([(5_000, [0.3, 0.96, 0.97])])
    result = sf.simulate(world, SETTING, "glr-drift", 10_000, runs=3, seed=1, workers=1)["glr-drift"]
    assert result.pulls.sum(axis=1).tolist() == [10_000] * 3
    assert (result.pulls[:, 0] > 4_000).all()
    steady = sf.simulate(world.pieces[0], SETTING, "glr-drift", 10_000, runs=3, seed=1, workers=1)["glr-drift"]
    assert steady.pulls.sum(axis=1).tolist() == [10_000] * 3


def test_who_is_worth_a_look() -> None:
    means = np.array([0.5, 0.9, 0.95])
    best, fixed, reference = (problem(s) for s in (SETTING, sf.FixedThreshold(0.8), sf.ReferenceArm(2, 0.1)))
    assert [leader_of(p, means) for p in (best, fixed, reference)] == [1, 1, 1]
    # A cheaper arm would save 3 of 10; what a look at it loses is what it misses of the threshold.
    assert stake_of(best, means, 1, 0) == pytest.approx(0.3)
    assert price_of(best, means, 1, 0) == pytest.approx(0.9 * 0.95 - 0.5)
    # A dearer arm cannot matter to a fixed threshold, nor if it could not raise the threshold above the leader.
    assert stake_of(fixed, means, 1, 2) == 0.0 and stake_of(best, means, 1, 2) == 0.0
    assert stake_of(best, np.array([0.5, 0.7, 0.75]), 1, 2) == pytest.approx(0.2)
    # The reference arm sets the threshold: by a fall the cheapest would do.
    assert stake_of(reference, means, 1, 2) == pytest.approx(0.3)
    gaps = gaps_of(best, means, 1, 0, 1.0, 0.0)
    assert math.isinf(gaps[1]) and math.isinf(gaps[2])
    # All looks together cost no more than is allowed: 60 and a share of the rest.
    assert 100_000 / gaps[0] * price_of(best, means, 1, 0) <= 60.0 + 1e-9
    assert gaps_of(best, means, 1, 0, 1.0, 1e6)[0] < gaps[0]
    # Without a horizon looks become rarer, and there are never too few.
    endless = problem(SETTING, None)
    assert gaps_of(endless, means, 1, 100, 1.0, 0.0)[0] < gaps_of(endless, means, 1, 10_000, 1.0, 0.0)[0]


def test_baselines_forget_by_hand() -> None:
    for policy, won in ((sf.DiscountedTSCS(discount=0.5), [0.5, 1.0]), (sf.WindowTSCS(window=2), [1.0, 1.0])):
        p = make_problem(policy, SETTING, [1.0, 2.0], np.arange(2), 100, bounded=True)
        state, rng = new_state(policy, 2), np.random.default_rng(0)
        for arm, reward in ((1, 1.0), (0, 1.0), (1, 1.0)):
            policy.learn(p, state, arm, 1, reward, rng)
        if isinstance(policy, sf.DiscountedTSCS):
            won = [0.5, 1.25]
        assert state.floats[:2].tolist() == won
        assert policy.decide(p, state, 5, rng)[1] == 1


@pytest.mark.parametrize("policy", ["discounted-ts-cs", "window-ts-cs(window=500)"])
def test_baselines_follow_a_change(policy: str) -> None:
    world = sf.Instance([0.1, 0.4, 1.0], [0.95, 0.96, 0.97]).changing([(2_000, [0.1, 0.96, 0.97])])
    result = sf.simulate(world, SETTING, policy, 6_000, runs=3, seed=1, workers=1)[policy]
    assert (result.pulls[:, 0] < 3_000).all()


def test_what_is_refused() -> None:
    for wrong in (
        "glr-drift(changes=-1)",
        "glr-drift(alarm=0)",
        "discounted-ts-cs(discount=2)",
        "window-ts-cs(window=0)",
    ):
        with pytest.raises(InvalidPolicy):
            get_policy(wrong)
    with pytest.raises(InvalidStudy, match="drift='adapt'"):
        create_study("s", {"a": 1.0, "b": 2.0}, SETTING, "glr-drift")
