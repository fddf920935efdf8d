"""GLR in a world that changes, the looks at arms that are passed over, and the two baselines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidPolicy, InvalidStudy
from satisfice.policies import get_policy
from satisfice.policies.contract import Problem, State, make_problem, new_state
from satisfice.policies.leader import leader_of
from satisfice.policies.looks import gaps_of, goes_on, look_price, price_of, stake_of
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


def test_after_an_alarm_other_arms_count_as_fifty_pulls() -> None:
    policy = sf.GLRDrift()
    p = make_problem(policy, SETTING, [1.0, 4.0, 10.0], np.arange(3), 100_000, bounded=True)
    state, rng = new_state(policy, 3), np.random.default_rng(0)
    policy.start(p, state)

    def tell(arm: int, pulls: int, total: float) -> None:
        state.pulls[arm] += pulls
        state.totals[arm] += total
        state.squares[arm] += total
        policy.learn(p, state, arm, pulls, total, rng)

    for arm, pulls in ((0, 500), (1, 200), (2, 30)):
        tell(arm, pulls, 0.9 * pulls)
    for _ in range(40):
        if state.pulls[0] >= 500:
            tell(0, 1, 0.0)
    assert state.pulls[0] < 40 and state.totals[0] < 2.0
    assert state.pulls[1:].tolist() == [50, 30] and state.totals[1:].tolist() == pytest.approx([45.0, 27.0])
    assert state.squares[1:].tolist() == pytest.approx([45.0, 27.0])


def test_squares_are_kept_in_a_world_that_changes() -> None:
    """Of rewards of 0 and 1 they are the totals; without them a rule would take an arm that began anew for certain."""
    seen: list[bool] = []

    class Nosy(sf.GLR, register=False):
        @staticmethod
        def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
            seen.append(bool(np.array_equal(state.squares, state.totals)))

    world = sf.Instance([0.1, 1.0], [0.5, 0.9]).changing([(50, [0.9, 0.5])], costs=[(70, [0.2, 1.0])])
    sf.simulate(world, SETTING, Nosy(), 100, runs=1, compiled=False)
    assert len(seen) > 5 and all(seen)


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
    # All looks together cost no more than is allowed: 20 and a share of the rest, for each change that is expected.
    assert 100_000 / gaps[0] * look_price(best, means, 1, 0) <= 20.0 + 1e-9
    assert gaps_of(best, means, 1, 0, 10.0, 0.0)[0] == pytest.approx(gaps[0] / 10.0)
    assert gaps_of(best, means, 1, 0, 1.0, 1e6)[0] < gaps[0]
    # Without a horizon looks become rarer, and there are never too few.
    endless = problem(SETTING, None)
    assert gaps_of(endless, means, 1, 100, 1.0, 0.0)[0] < gaps_of(endless, means, 1, 10_000, 1.0, 0.0)[0]


def test_looks_are_spent_where_they_find_out_most() -> None:
    """A dearer arm that can hardly matter leaves the price of looks to the cheap one that can: by gaps in the ratio of
    sqrt(price / stake), all together within what is allowed."""
    best, means = problem(SETTING), np.array([0.6, 0.895, 0.95])
    gaps = gaps_of(best, means, 1, 0, 1.0, 0.0)
    prices = np.array([look_price(best, means, 1, k) for k in (0, 2)])
    stakes = np.array([stake_of(best, means, 1, k) for k in (0, 2)])
    assert stakes == pytest.approx([0.3, 0.005])
    assert gaps[0] / gaps[2] == pytest.approx(math.sqrt(prices[0] / stakes[0]) / math.sqrt(prices[1] / stakes[1]))
    spent = 100_000 * prices / gaps[[0, 2]]
    assert spent.sum() == pytest.approx(20.0) and spent[0] > spent[1]


def test_a_look_costs_what_is_said() -> None:
    """4,000 looks at an arm whose mean has not changed, against the price of one: within a tenth, some four standard
    errors."""
    rng, means = np.random.default_rng(1), np.array([0.6, 0.9, 0.95])
    p = problem(SETTING)
    pulls = []
    for _ in range(4_000):
        n, total = 1, float(rng.random() < 0.6)
        while goes_on(0.855, n, total, 10**9, 0.6e9):
            n, total = n + 1, total + float(rng.random() < 0.6)
        pulls.append(n)
    price = price_of(p, means, 1, 0)
    assert price == pytest.approx(0.255)
    # 0.255 times log(0.4 / 0.145) / kl(0.6, 0.855), and (1 + 0.4) / 2 of that, since 0.4 of the rewards are failures
    assert look_price(p, means, 1, 0) == pytest.approx(0.255 * 0.7 * 1.0147 / 0.1933, rel=1e-3)
    assert np.mean(pulls) * price == pytest.approx(look_price(p, means, 1, 0), rel=0.1)


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
