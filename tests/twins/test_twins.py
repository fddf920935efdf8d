"""The twins by hand: on instances whose rewards are certain, every pull follows from the paper's formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from satisfice.problem import BestReward, FixedThreshold, Instance, ReferenceArm, Setting
from twins import run_twin
from twins.bandit import Bandit, arms_by_cost
from twins.elimination import tau_and_beta
from twins.indices import exploration_budget


def certain(costs: list[float], rewards: list[float]) -> Instance:
    """Arms that always give the same reward."""
    levels = sorted(set(rewards))
    table = [[float(level == reward) for level in levels] for reward in rewards]
    return Instance(costs, reward="categorical", values=levels, probabilities=table)


def pulls(
    policy: str, instance: Instance, setting: Setting, horizon: int, kappa: float | None = None, c: float = 5.0
) -> list[int]:
    result = run_twin(policy, instance, setting, horizon, np.random.default_rng(1), kappa=kappa, c=c)
    return [int(count) for count in result]


@pytest.mark.parametrize(
    ("round_", "tau", "beta"),
    [
        (0, 14, 0.49670),  # ceil(2 log 1000 = 13.82); sqrt(6.90776 / 28)
        (1, 45, 0.24769),  # ceil(8 log 250 = 44.17); sqrt(5.52146 / 90)
        (2, 133, 0.12468),  # ceil(32 log 62.5 = 132.33); sqrt(4.13517 / 266)
        (3, 352, 0.06249),  # ceil(128 log 15.625 = 351.86); sqrt(2.74887 / 704)
    ],
)
def test_tau_and_beta_of_the_first_rounds(round_: int, tau: int, beta: float) -> None:
    assert tau_and_beta(1000, round_) == pytest.approx((tau, beta), abs=1e-5)


def test_arms_come_by_cost_and_the_reference_last() -> None:
    instance = Instance([0.5, 0.2, 0.5, 0.2, 0.9], [0.5] * 5)
    assert arms_by_cost(instance, BestReward(0.1)) == [1, 3, 0, 2, 4]
    assert arms_by_cost(instance, ReferenceArm(0)) == [1, 3, 2, 0]  # 4 is dearer; 2 costs the same, and comes before
    assert arms_by_cost(instance, ReferenceArm(1)) == [3, 1]


def test_pe_rejects_after_one_round() -> None:
    # 0 + 0.4967 < 1 - 0.4967: out after 14 pulls each. The second candidate needs no new pull of the reference.
    assert pulls("pe", certain([1, 2], [0, 1]), ReferenceArm(1), 1000) == [14, 986]
    assert pulls("pe", certain([1, 2, 3], [0, 0, 1]), ReferenceArm(2), 1000) == [14, 14, 972]


def test_pe_finds_a_winner_after_one_round() -> None:
    assert pulls("pe", certain([1, 2], [1, 0]), ReferenceArm(1), 1000) == [986, 14]


def test_pe_that_has_not_finished_has_explored() -> None:
    # Equal arms are never told apart: 352 pulls each by round 3, then the candidate works towards 698.
    assert pulls("pe", certain([1, 2], [1, 1]), ReferenceArm(1), 1000) == [648, 352]


def test_the_subsidy_multiplies_mean_and_buffer() -> None:
    # T = 2000, round 3: tau = 441, beta = 0.06247; 0.5 (1 + beta) = 0.5312 < 0.6 - beta = 0.5375: a win.
    # With the buffer outside, 0.5 + beta = 0.5625 would not have won.
    assert pulls("pe", certain([1, 2], [0.6, 1]), ReferenceArm(1, alpha=0.5), 2000) == [2000 - 441, 441]


@pytest.mark.parametrize(("kappa", "second"), [(0, 155), (1, 50), (5, 50)])
def test_asymmetric_pe_uses_the_rounds_of_the_reference(kappa: int, second: int) -> None:
    # T = 2000: beta is 0.2492 in round 1 (tau 50) and 0.1248 in round 2 (tau 155).
    # 0.5 against 0.75: 0.6248 < 0.6252 in round 2. 0.3 against 0.75: not in round 1 with two large buffers
    # (0.5492 > 0.5008), but with the reference's own from round 2 (0.5492 < 0.6252).
    instance = certain([1, 2, 3], [0.5, 0.3, 0.75])
    assert pulls("asymmetric-pe", instance, ReferenceArm(2), 2000, kappa=kappa) == [155, second, 2000 - 155 - second]


def test_pe_cs_identifies_then_compares() -> None:
    # BAI ends with round 2 (twice beta = 0.2496 < 0.25). PE starts where it ended: 0.3 is out without a pull.
    assert pulls("pe-cs", certain([1, 2, 3], [0.3, 0.75, 0.5]), BestReward(0), 2000) == [155, 1690, 155]
    # alpha = 0.5: 0.3 against 0.375 is open in rounds 2 (0.4248 > 0.3126) and 3 (0.3625 > 0.3438); tau is then
    # 1053 for the candidate, and the reference uses what is left: 2000 - 1053 - 155.
    assert pulls("pe-cs", certain([1, 2, 3], [0.3, 0.75, 0.5]), BestReward(0.5), 2000) == [1053, 792, 155]


def test_pe_cs_plays_the_best_arm_when_it_is_the_cheapest() -> None:
    assert pulls("pe-cs", certain([3, 1, 2], [0.5, 0.75, 0.3]), BestReward(0), 2000) == [155, 1690, 155]


def test_rounds_that_are_not_opened() -> None:
    # T = 40: tau = 8, then 19; 40 / 16 = 2.5 < e. After 38 pulls the means decide, for the candidate when equal.
    assert pulls("pe", certain([1, 2], [1, 1]), ReferenceArm(1), 40) == [21, 19]
    assert pulls("pe", certain([1, 2], [0.9, 1]), ReferenceArm(1), 40) == [19, 21]
    # BAI pulls a random arm before it finds the round closed; the cheaper of equal arms is then the best.
    assert pulls("pe-cs", certain([2, 1], [1, 1]), BestReward(0), 40) in ([19, 21], [20, 20])
    # T <= 2: no round at all, and no pull: 0 >= 0 for the cheapest arm.
    assert pulls("pe", certain([2, 1], [1, 0]), ReferenceArm(0), 2) == [0, 2]
    assert pulls("pe-cs", certain([2, 1], [1, 0]), BestReward(0), 2) == [0, 2]


def test_ucb_cs() -> None:
    # sqrt(2 log 100 / n) >= 1 up to n = 9, >= 0.5 up to n = 36: arm 0 is pulled once more at each.
    instance = certain([1, 2, 3], [0, 1, 1])
    assert pulls("ucb-cs", instance, BestReward(0), 100) == [10, 89, 1]
    assert pulls("ucb-cs", instance, BestReward(0.5), 100) == [37, 62, 1]
    assert pulls("ucb-cs", instance, ReferenceArm(1, alpha=0.5), 100) == [37, 63, 0]


def test_cost_ties_go_to_the_larger_index() -> None:
    # UCBs start cut at 1, and equal ones go to the first; once 2 log 100 / n < 1 the arm with mean 1 leads.
    assert pulls("ucb-cs", certain([2, 1, 1], [1, 0, 1]), BestReward(0), 100) == [1, 10, 89]
    # ETC-CS: equal pulls, so the larger mean from the start.
    assert pulls("etc-cs", certain([1, 1], [0, 1]), BestReward(1), 1000, c=1) == [63, 937]


def test_etc_cs() -> None:
    assert exploration_budget(1000, 2, 1) == 63  # 500^(2/3) = 62.996
    assert exploration_budget(1000, 1, 5) == 500
    # beta = sqrt(2 log 1000 / 63) = 0.4683: 0.4683 < 1 - 0.4683, so arm 0 is out at once with alpha = 0 ...
    assert pulls("etc-cs", certain([1, 2], [0, 1]), BestReward(0), 1000, c=1) == [63, 937]
    # ... and with alpha = 0.5 when sqrt(13.8155 / n) < 0.26585, that is after n = 195.
    assert pulls("etc-cs", certain([1, 2], [0, 1]), BestReward(0.5), 1000, c=1) == [196, 804]
    # tau = 5 (10 / 2)^(2/3) = 14.6 is more than there is time for: in turns.
    assert pulls("etc-cs", certain([1, 2, 3], [0, 1, 1]), BestReward(0), 10) == [4, 3, 3]


def test_ft_ucb() -> None:
    # Arm 0 is played at t when sqrt(2 log t / n) >= 0.5, n <= 8 log t; 8 log 91 = 36.09, 8 log 100 = 36.84.
    assert pulls("ft-ucb", certain([1, 2], [0, 1]), FixedThreshold(0.5), 100) == [37, 63]


def test_ft_ucb_is_uniform_when_nobody_qualifies() -> None:
    shares = np.array(pulls("ft-ucb", certain([1, 2, 3], [0, 0, 0]), FixedThreshold(50.0), 3003)) - 1
    # 3000 pulls, sd 25.8 each: beyond 130 (5 sd) with probability below 2e-6.
    assert np.abs(shares - 1000).max() < 130


def test_ts_cs_counts_failures() -> None:
    # After one success and one failure, Beta(2, 1) exceeds Beta(1, 2) with probability 5/6; with the misprint
    # F + r_t it would be 1/2. 2000 runs, sd 0.0083: beyond 0.042 (5 sd) with probability below 1e-6.
    rng = np.random.default_rng(5)
    thirds = [run_twin("ts-cs", certain([1, 2], [1, 0]), BestReward(0), 3, rng, trace=True)[2] for _ in range(2000)]
    assert abs(1 - np.mean(thirds) - 5 / 6) < 0.042


def test_ts_cs_bernoulli_trick() -> None:
    # Arm 1 gives 1 for sure, arm 0 always 1/2: posterior Beta(2, 1) or Beta(1, 2) with probability 1/2 each,
    # against Beta(2, 1): arm 0 leads with probability (1/2) (1/2) + (1/2) (1/6) = 1/3. Bound as above (sd 0.0105).
    rng = np.random.default_rng(6)
    thirds = [run_twin("ts-cs", certain([1, 2], [0.5, 1]), BestReward(0), 3, rng, trace=True)[2] for _ in range(2000)]
    assert abs(1 - np.mean(thirds) - 1 / 3) < 0.053


def test_ts_cs_plays_the_cheapest_arm_when_everything_is_good_enough() -> None:
    assert pulls("ts-cs", certain([3, 1, 2], [1, 0, 1]), BestReward(1), 50) == [1, 48, 1]


POLICIES = [
    ("pe", ReferenceArm(0)),
    ("asymmetric-pe", ReferenceArm(0)),
    ("ucb-cs", ReferenceArm(0)),
    ("ucb-cs", BestReward(0.2)),
    ("pe-cs", BestReward(0.2)),
    ("etc-cs", BestReward(0.2)),
    ("ts-cs", BestReward(0.2)),
    ("ft-ucb", FixedThreshold(0.5)),
]


@pytest.mark.parametrize(("policy", "setting"), POLICIES)
@pytest.mark.parametrize("horizon", [1, 2, 3, 100])
@pytest.mark.parametrize("arms", [1, 5])
def test_every_horizon_and_number_of_arms(policy: str, setting: Setting, horizon: int, arms: int) -> None:
    instance = Instance([0.5, 0.2, 0.5, 0.2, 0.9][:arms], [0.9, 0.2, 0.5, 0.7, 0.6][:arms])
    result = pulls(policy, instance, setting, horizon)
    assert len(result) == arms and sum(result) == horizon and min(result) >= 0
    if policy not in ("pe", "asymmetric-pe", "pe-cs") and horizon == 3 and arms == 5:
        first = arms_by_cost(instance, setting)[:3]  # not time enough for one pull each: the cheapest come first
        assert result == [int(k in first) for k in range(arms)]


def test_means_of_rewards() -> None:
    # sd of a mean over 4000 pulls: 0.5 / sqrt(4000) = 0.0079 at most (1 / sqrt(4000) = 0.0158 for the Gaussian).
    scale = Instance([1], reward="categorical", values=[0, 0.5, 1], probabilities=[[0.2, 0.5, 0.3]])
    for instance, sd in (
        (Instance([1], [0.3]), 0.0079),
        (Instance([1], [2.0], reward="gaussian"), 0.0158),
        (scale, 0.0079),
    ):
        bandit = Bandit(instance, [0], 4000, np.random.default_rng(2))
        for _ in range(4000):
            bandit.sample_and_update(0)
        assert math.isclose(bandit.mu[0], instance.means[0], abs_tol=5 * sd)  # error probability below 1e-6
