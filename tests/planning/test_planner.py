"""Planning: when a run settles, by hand; trajectories against the simulator; what a plan adds up to."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import satisfice as sf
from satisfice.errors import InvalidInstance, InvalidPolicy, InvalidRun, InvalidSetting, NoFeasibleArm
from satisfice.planning import plan
from satisfice.planning.outlook import settling
from satisfice.planning.planner import default_policies, trajectory
from satisfice.policies import get_policy
from satisfice.simulation.job import Job

Ints = NDArray[np.int64]
TIMES = np.arange(1, 101)


def job_of(policy: str, instance: sf.Instance, setting: sf.Setting, times: Ints, seed: int = 0) -> Job:
    return Job(get_policy(policy), instance, setting, horizon=int(times[-1]), seed=seed, checkpoints=times)


def history(arms: list[int]) -> Ints:
    """Pulls after every step of a sequence of arms."""
    return np.eye(max(arms) + 1, dtype=np.int64)[arms].cumsum(axis=0)


def test_settled_by_hand() -> None:
    # 10 pulls of arm 0, then arm 1 for good. From 9 to 18 arm 1 has 8 of 9; from 10 to 20 it has 10 of 10.
    assert settling(history([0] * 10 + [1] * 90), TIMES) == (10, 1)
    # One arm from the start.
    assert settling(history([2] * 100), TIMES) == (0, 2)
    # One pull astray, step 41: the shortest window with it is from 21 to 42, 20 of 21 (95.2%), so still settled at 10.
    assert settling(history([0] * 10 + [1] * 30 + [0] + [1] * 59), TIMES) == (10, 1)
    # Three astray, steps 41 to 43: from 40 to 80 arm 1 has 37 of 40 (92.5%), from 41 to 82 it has 39 of 41 (95.1%).
    assert settling(history([0] * 10 + [1] * 30 + [0] * 3 + [1] * 57), TIMES) == (41, 1)


def test_not_settled_by_hand() -> None:
    # Turns between two arms, and a choice that comes after half of the horizon.
    assert math.isnan(settling(history([0, 1] * 50), TIMES)[0])
    when, choice = settling(history([0] * 60 + [1] * 40), TIMES)
    assert math.isnan(when)
    assert choice == 1
    # At half it still counts: from 47 to 94 arm 1 has 44 of 47 (93.6%), from 48 to 96 it has 46 of 48 (95.8%).
    assert settling(history([0] * 50 + [1] * 50), TIMES) == (48, 1)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=60))
def test_settling_is_always_defined(arms: list[int]) -> None:
    when, choice = settling(history(arms), np.arange(1, len(arms) + 1))
    assert 0 <= choice <= max(arms)
    assert math.isnan(when) or 0 <= when <= len(arms) / 2


@pytest.mark.parametrize(
    ("policy", "setting"),
    [
        ("pe-cs", sf.BestReward(0.1)),
        ("ucb-cs", sf.BestReward(0.1)),
        ("pe", sf.ReferenceArm(1, 0.1)),  # arm 0 is dearer than the reference: pruned
        ("ft-ucb", sf.FixedThreshold(0.8)),
    ],
)
def test_trajectories_are_runs(policy: str, setting: sf.Setting) -> None:
    instance = sf.Instance(costs=[8, 4, 1, 0.2, 2], means=[0.9, 0.85, 0.86, 0.73, 0.3])
    times = np.array([1, 5, 100, 2_000, 20_000])
    mine, other = (job_of(policy, instance, setting, times, seed) for seed in (0, 1))
    pulls = trajectory(mine, 3)
    np.testing.assert_array_equal(pulls.sum(axis=1), times)
    assert (np.diff(pulls, axis=0) >= 0).all()
    np.testing.assert_array_equal(pulls, trajectory(mine, 3))
    # Rounds make PE nearly deterministic, so that one other seed would not be enough.
    assert any((trajectory(other, run) != pulls).any() for run in range(40))
    if policy == "pe":
        assert not pulls[:, 0].any()


def test_what_was_known_before_is_not_counted_again() -> None:
    world = sf.Instance(costs=[1.0, 2.0], means=[0.5, 0.9])
    times = np.array([10, 1000])
    job = Job(get_policy("glr"), world, sf.BestReward(0.1), horizon=1000, seed=0, checkpoints=times)
    pulls = job.trajectory(np.random.default_rng(0), (np.array([500, 500]), np.array([250.0, 450.0])))
    assert pulls.sum(axis=1).tolist() == [10, 1000] and (pulls >= 0).all()
    assert pulls[1, 1] > 990  # by 500 rows of each the second arm is known to be the one


def test_trajectories_as_long_as_they_get() -> None:
    instance, setting = sf.Instance(costs=[1, 2, 3, 4, 5], means=[0.3, 0.4, 0.75, 0.5, 0.8]), sf.BestReward(0.2)
    times = np.array([50, 10**5, 2**26, 10**15])
    pulls = trajectory(job_of("pe-cs", instance, setting, times), 0)
    np.testing.assert_array_equal(pulls.sum(axis=1), times)
    assert pulls[-1, 2] > 0.9 * 10**15


def test_trajectories_follow_the_law_of_the_simulator() -> None:
    # Mean pulls of the optimal arm over 400 runs each; both have a standard error of at most 1% of T, so the
    # difference is beyond 5 of its standard errors with a probability below 6e-7 (normal approximation).
    instance, setting = sf.Instance(costs=[1, 2, 3], means=[0.3, 0.75, 0.8]), sf.BestReward(0.2)
    job = job_of("ucb-cs", instance, setting, np.array([10_000]), seed=1)
    mine = np.array([trajectory(job, run)[0, 1] for run in range(400)])
    theirs = sf.simulate(instance, setting, "ucb-cs", 10_000, runs=400, seed=2, checkpoints=1)["ucb-cs"].pulls[:, 1]
    error = math.sqrt(mine.var(ddof=1) / 400 + theirs.var(ddof=1) / 400)
    assert error < 150
    assert abs(mine.mean() - theirs.mean()) < 5 * error


def test_a_plan_adds_up() -> None:
    guess, names = [0.5, 0.85, 0.9], ["s", "m", "l"]
    result = plan([0.2, 1, 8], guess, sf.BestReward(0.1), 1e6, policies=["pe-cs", "etc-cs"], runs=20, names=names)
    assert [outlook.policy for outlook in result.outlooks] == ["pe-cs", "etc-cs"]
    for outlook in result.outlooks:
        # mu_CS = 0.81: m is the cheapest good enough. It saves 8 - 1 = 7 per pull and gives up 0.9 - 0.85 = 0.05.
        assert outlook.share == outlook.right.mean() == 1
        np.testing.assert_array_equal(outlook.choice, 1)
        np.testing.assert_allclose(outlook.saved, 7000)
        np.testing.assert_allclose(outlook.lost, 50)
        # Spending so far and savings so far are what always playing l would have cost.
        assert (outlook.spend >= outlook.settled * 0.2).all()
        assert (outlook.spend <= outlook.settled * 8).all()
        np.testing.assert_allclose(outlook.savings[:, -1], 8e6 - 1e6 - outlook.cost_regret, rtol=0.05)
    # ETC-CS: ceil(5 (1e6 / 3)^(2/3)) = 24,038 pulls of each arm, then m; read on a grid with steps of about 6%.
    etc = result.outlooks[1]
    assert 72_114 * 0.94 <= etc.settled.min() <= etc.settled.max() <= 72_114 * 1.12
    assert not result.searched
    assert result.dropped == 0


def test_savings_are_against_the_reference_arm_where_there_is_one() -> None:
    result = plan([1, 2, 4], [0.8, 0.95, 0.8], sf.ReferenceArm(2, 0.25), 1e5, policies=["pe"], runs=5)
    assert result.against == "the reference arm"
    np.testing.assert_allclose(result.outlooks[0].saved, 3000)
    best = plan([1, 2, 4], [0.8, 0.95, 0.8], sf.BestReward(0.3), 1e5, policies=["glr"], runs=5)
    np.testing.assert_allclose(best.outlooks[0].saved, 1000)


def test_ranges_are_drawn_and_shared_by_the_policies() -> None:
    result = plan([1, 2], [(0.2, 0.8), (0.6, 0.7)], sf.FixedThreshold(0.75), 1e4, policies=["ft-ucb", "glr"], runs=60)
    # Arm 1 is never feasible, arm 0 in (0.8 - 0.75) / 0.6 = 8% of the draws: between 45 and 60 of 60 are left out
    # with probability 1 - 5e-5 (binomial).
    assert 45 <= result.dropped < 60
    for outlook in result.outlooks:
        assert len(outlook.settled) == 60 - result.dropped
    one = plan([1, 2], [(0.2, 0.8), 0.9], sf.BestReward(0.5), 1e4, policies=["pe-cs"], runs=10, seed=5)
    same = plan([1, 2], [(0.2, 0.8), 0.9], sf.BestReward(0.5), 1e4, policies=["pe-cs"], runs=10, seed=5)
    other = plan([1, 2], [(0.2, 0.8), 0.9], sf.BestReward(0.5), 1e4, policies=["pe-cs"], runs=10, seed=6)
    np.testing.assert_array_equal(one.outlooks[0].spend, same.outlooks[0].spend)
    assert (one.outlooks[0].spend != other.outlooks[0].spend).any()


def test_the_horizon_is_found() -> None:
    easy = plan([1, 2], [0.1, 0.9], sf.FixedThreshold(0.5), policies=["ft-ucb"], runs=20)
    hard = plan([1, 2], [0.45, 0.9], sf.FixedThreshold(0.5), policies=["ft-ucb"], runs=20)
    assert easy.searched
    assert hard.searched
    assert easy.horizon < hard.horizon
    # One power of ten less does not do: there FT-UCB still tests arm 0, all the time, which is not called settled.
    shorter = plan([1, 2], [0.45, 0.9], sf.FixedThreshold(0.5), hard.horizon / 10, policies=["ft-ucb"], runs=20)
    assert shorter.outlooks[0].share < 0.9 <= hard.outlooks[0].share


def test_default_policies_serve_the_setting() -> None:
    for setting in (sf.BestReward(0.1), sf.ReferenceArm(0, 0.1), sf.FixedThreshold(0.5)):
        policies = default_policies(setting)
        assert policies[0].id == "glr"
        assert all(isinstance(setting, policy.settings) and policy.id != "ts-cs" for policy in policies)


def test_bad_requests_are_named() -> None:
    setting = sf.BestReward(0.1)
    with pytest.raises(InvalidInstance, match="2 costs but 1 guesses"):
        plan([1, 2], [0.5], setting, 1e3)
    with pytest.raises(InvalidInstance, match=r"the guess \(0\.8, 0\.5\) is not"):
        plan([1, 2], [0.5, (0.8, 0.5)], setting, 1e3)
    with pytest.raises(InvalidInstance, match=r"the guess 1\.2"):
        plan([1, 2], [0.5, 1.2], setting, 1e3)
    with pytest.raises(InvalidRun, match=r"horizon = 0\.5"):
        plan([1, 2], [0.5, 0.6], setting, 0.5)
    with pytest.raises(InvalidRun, match="runs = 0"):
        plan([1, 2], [0.5, 0.6], setting, 1e3, runs=0)
    with pytest.raises(InvalidPolicy, match="no policy was given"):
        plan([1, 2], [0.5, 0.6], setting, 1e3, policies=[])
    with pytest.raises(InvalidPolicy, match="pe does not serve BestReward"):
        plan([1, 2], [0.5, 0.6], setting, 1e3, policies=["pe"])
    with pytest.raises(InvalidSetting, match="no arm 'x'"):
        plan([1, 2], [0.5, 0.6], sf.ReferenceArm("x"), 1e3)
    with pytest.raises(NoFeasibleArm, match=r"no arm reaches the threshold 0\.9"):
        plan([1, 2], [0.5, 0.6], sf.FixedThreshold(0.9), 1e3)


def test_an_arm_on_the_threshold_as_the_page_says() -> None:
    """A policy that waits for a proof does not settle; those that take what is not shown to be too bad do."""
    result = plan([0.2, 1, 8], [0.6, 0.81, 0.9], sf.BestReward(0.1), 1e5, policies=["glr", "etc-cs", "pe-cs"], runs=10)
    glr, etc, pe = (outlook.share for outlook in result.outlooks)
    assert glr >= 0.8 and etc == 1 and pe == 0
