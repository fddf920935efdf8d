"""Worlds that change: against a literal twin, by hand, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import satisfice as sf
from satisfice.errors import InvalidInstance, NoFeasibleArm
from satisfice.policies import get_policy
from satisfice.policies.contract import SWEEP, Policy, arrange, make_problem, new_state
from stats import reject

Floats = NDArray[np.float64]
BASE = sf.Instance(costs=[0.2, 0.5, 1.0], means=[0.5, 0.8, 0.9])
WORLD = BASE.changing([(300, [0.9, 0.8, 0.9]), (700, [0.2, 0.85, 0.9])], costs=[(500, [0.2, 1.5, 1.0])])


def twin(
    policy: Policy, world: sf.ChangingInstance, setting: sf.Setting, horizon: int, seed: int
) -> NDArray[np.float64]:
    """Pull by pull: both regrets, and the pulls of every arm."""
    rng = np.random.default_rng(seed)
    pulls, totals = np.zeros(world.arms, dtype=np.int64), np.zeros(world.arms)
    counts, regret = np.zeros(world.arms), np.zeros(2)
    t, costs = 0, None
    while t < horizon:
        piece = world.pieces[int(np.searchsorted(world.times, t, side="right")) - 1]
        if costs is None or not np.array_equal(costs, piece.costs):
            costs = piece.costs
            order = arrange(costs, setting, world.names)
            problem = make_problem(policy, setting, costs, order, horizon, bounded=True, binary=True, sigma=0.5)
            state = new_state(policy, len(order))
            state.pulls[:], state.totals[:] = pulls[order], totals[order]
            policy.start(problem, state)
            for k in range(len(order)):
                if state.pulls[k]:
                    policy.learn(problem, state, k, int(state.pulls[k]), float(state.totals[k]), rng)
        rank, lease = policy.decide(problem, state, t, rng)
        sums: dict[int, list[float]] = {}
        for step in range(lease * (len(order) if rank == SWEEP else 1)):
            if t == horizon:
                break
            piece = world.pieces[int(np.searchsorted(world.times, t, side="right")) - 1]
            if not np.array_equal(costs, piece.costs):
                break
            k = step % len(order) if rank == SWEEP else rank
            arm = order[k]
            sums.setdefault(k, []).append(float(rng.random() < piece.means[arm]))
            counts[arm] += 1
            regret += setting.cost_gaps(piece)[arm], setting.quality_gaps(piece)[arm]
            t += 1
        for k, rewards in sums.items():
            state.pulls[k] += len(rewards)
            state.totals[k] += sum(rewards)
            policy.learn(problem, state, k, len(rewards), sum(rewards), rng)
        pulls[order], totals[order] = state.pulls, state.totals
    return np.concatenate([regret, counts])


@pytest.mark.parametrize("name", ["glr"])
def test_against_the_twin(name: str) -> None:
    """Regrets and pulls of 120 runs each. Runs of one law are told apart with a probability of at most 1e-6."""
    setting, horizon, runs = sf.BestReward(0.1), 900, 120
    policy = get_policy(name)
    slow = np.array([twin(policy, WORLD, setting, horizon, seed) for seed in range(runs)])
    result = sf.simulate(WORLD, setting, policy, horizon, runs=runs, seed=5)[policy.label]
    fast = np.column_stack([result.cost_regret, result.quality_regret, result.pulls])
    columns = [{str(i): table[:, i] for i in range(table.shape[1])} for table in (slow, fast)]
    assert not reject(columns[0], columns[1], error=1e-6)


def test_regret_is_against_the_arm_that_is_right_at_each_time() -> None:
    """A rule that always plays arm 0: 300 pulls miss 0.72 by 0.22, 400 are right, 200 miss 0.81 by 0.61."""

    class Stubborn(Policy, register=False):
        id = "stubborn"
        settings = (sf.BestReward,)
        summary = "arm 0 for good"
        needs_horizon = False

        @staticmethod
        def decide(problem, state, t, rng):  # type: ignore[no-untyped-def]
            return 0, 1_000_000

    world = BASE.changing([(300, [0.9, 0.8, 0.9]), (700, [0.2, 0.85, 0.9])])
    setting = sf.BestReward(0.1)
    for compiled in (True, False):
        found = sf.simulate(world, setting, Stubborn(), 900, checkpoints=[100, 300, 500, 800], compiled=compiled)
        (result,) = found.values()
        assert result.quality_curve[0].tolist() == pytest.approx([31, 93, 93, 93 + 61, 93 + 122])
        assert result.quality_regret[0] == pytest.approx(215) and result.cost_regret[0] == 0.0
        assert result.pulls.tolist() == [[900, 0, 0]]


def test_a_world_that_does_not_change_is_the_same_world() -> None:
    """A change to the same means: regrets have the same law (told apart with a probability of at most 1e-6), and what
    comes after the horizon does not matter."""
    setting = sf.BestReward(0.1)
    same = BASE.changing([(400, BASE.means), (5_000, [0.0, 0.0, 0.1])])
    one, two = (sf.simulate(inst, setting, "glr", 1_000, runs=200, seed=s)["glr"] for inst, s in ((BASE, 1), (same, 2)))
    assert not reject({"regret": one.regret}, {"regret": two.regret}, error=1e-6)


def test_plain_and_compiled_are_the_same() -> None:
    results = [
        sf.simulate(WORLD, sf.BestReward(0.1), "glr", 900, runs=2, seed=1, compiled=c)["glr"] for c in (True, False)
    ]
    assert results[0].pulls.tolist() == results[1].pulls.tolist()
    assert results[0].cost_curve.tolist() == results[1].cost_curve.tolist()


def test_results_with_workers_and_in_files(tmp_path: Path) -> None:
    one = sf.simulate(WORLD, sf.BestReward(0.1), "glr", 900, runs=4, seed=1)
    two = sf.simulate(WORLD, sf.BestReward(0.1), "glr", 900, runs=4, seed=1, workers=2)
    assert one["glr"].cost_curve.tolist() == two["glr"].cost_curve.tolist()
    one.save(tmp_path / "x.parquet")
    again = sf.load_results(tmp_path / "x.parquet")["glr"]
    assert again.instance == WORLD and again.instance != BASE
    assert again.quality_regret.tolist() == one["glr"].quality_regret.tolist()
    sf.save_instance(WORLD, tmp_path / "w.json")
    assert sf.load_instance(str(tmp_path / "w.json")) == WORLD


def test_walks_stay_within_bounds_and_are_the_same_for_the_same_seed() -> None:
    walk = BASE.walking(0.2, every=10, horizon=2_000, seed=3)
    means = np.array([piece.means for piece in walk.pieces])
    assert means.shape == (200, 3) and means.min() >= 0.0 and means.max() <= 1.0
    assert walk == BASE.walking(0.2, every=10, horizon=2_000, seed=3)
    # Steps of standard deviation 0.2, but for those that are reflected.
    assert 0.1 < np.diff(means, axis=0).std() < 0.2
    result = sf.simulate(walk, sf.BestReward(0.1), "glr", 2_000, runs=3)["glr"]
    assert result.pulls.sum(axis=1).tolist() == [2_000] * 3


def test_other_rewards_change_too() -> None:
    gauss = sf.Instance([1, 2], [1.0, 2.0], reward="gaussian").changing([(50, [2.0, 1.0])])
    stars = sf.Instance([1, 2], reward="categorical", values=[0, 0.5, 1], probabilities=[[1, 0, 0], [0, 0, 1]])
    turned = stars.changing([(50, [[0, 0, 1], [1, 0, 0]])])
    for world in (gauss, turned):
        result = sf.simulate(world, sf.BestReward(0.1), "glr", 100, runs=2)["glr"]
        assert result.pulls.sum() == 200
    assert [piece.means.tolist() for piece in turned.pieces] == [[0.0, 1.0], [1.0, 0.0]]
    assert sf.Instance.from_dict(turned.to_dict()) == turned


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInstance, match="the mean of arm 0 is"):
        BASE.changing([(10, [1.2, 0.5, 0.5])])
    with pytest.raises(InvalidInstance, match="3 costs but 2 means"):
        BASE.changing([(10, [0.5, 0.5])])
    with pytest.raises(InvalidInstance, match="two changes of the means after 10 pulls"):
        BASE.changing([(10, [0.5, 0.5, 0.5]), (10, [0.5, 0.5, 0.6])])
    with pytest.raises(sf.SatisficeError, match="the pulls before a change"):
        BASE.changing([(0, [0.5, 0.5, 0.5])])
    with pytest.raises(InvalidInstance, match="is no change"):
        BASE.changing([[0.5, 0.5, 0.5]])  # type: ignore[list-item]
    with pytest.raises(NoFeasibleArm):
        sf.simulate(BASE.changing([(10, [0.1, 0.1, 0.1])]), sf.FixedThreshold(0.5), "glr", 100)
    with pytest.raises(InvalidInstance, match="this needs one that does not"):
        WORLD.changing([(10, [0.5, 0.5, 0.5])])
    with pytest.raises(InvalidInstance, match="this needs one that does not"):
        sf.bounds.lower(WORLD, sf.BestReward(0.1))
    with pytest.raises(InvalidInstance, match="this needs one that does not"):
        sf.bounds.upper("pe-cs", WORLD, sf.BestReward(0.1), 1000)
    assert WORLD.scaled_costs().pieces[-1].costs.tolist() == pytest.approx([0.2 / 1.5, 1.0, 1.0 / 1.5])
    assert "3 changes" in repr(WORLD)
