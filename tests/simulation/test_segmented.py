"""Worlds with segments: the engine against going step by step, what is shared, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidData, InvalidInstance, InvalidPolicy, InvalidRun
from satisfice.policies.contract import make_problem, new_state
from satisfice.policies.kin import borrow, longest, new_kin

CODE = sf.Instance(costs=[0.1, 1.0], means=[0.85, 0.9], names=["small", "large"])
LAW = sf.Instance(costs=[0.1, 1.0], means=[0.4, 0.9], names=["small", "large"])
WORLD = sf.SegmentedInstance({"code": CODE, "law": LAW, "news": LAW}, shares={"code": 5, "law": 3, "news": 1})


def step_by_step(seed: int, horizon: int, shared: bool) -> np.ndarray:
    """Pulls, (segments, arms), of GLR whose segments are drawn one by one, with their rewards."""
    policy, setting = sf.GLR(), sf.BestReward(0.1)
    rng = np.random.default_rng([seed, 99])
    segments, arms = len(WORLD.names), WORLD.arms
    order = np.arange(arms)
    kin = new_kin(segments, arms)
    states = [new_state(policy, arms) for _ in range(segments)]
    leases: list[list[int]] = [[] for _ in range(segments)]
    held: list[list[float]] = [[] for _ in range(segments)]
    pulls = np.zeros((segments, arms), dtype=np.int64)
    lent, sums = np.zeros(arms, dtype=np.int64), np.zeros(arms)
    for _ in range(horizon):
        s = int(rng.choice(segments, p=WORLD.shares))
        if not leases[s]:
            share = max(round(horizon * float(WORLD.shares[s])), 1)
            problem = make_problem(policy, setting, CODE.costs, order, share, bounded=True, binary=True)
            if shared:
                borrow(kin, s, problem, order, lent, sums)
            state = states[s]
            state.pulls[:], state.totals[:] = kin.pulls[s] + lent, kin.totals[s] + sums
            t = int(kin.pulls[s].sum())
            arm, count = policy.decide(problem, state, t, rng)
            leases[s] = [arm] * (min(count, longest(t)) if shared else count)
        arm = leases[s].pop()
        pulls[s, arm] += 1
        held[s].append(float(rng.random() < WORLD.means[s, arm]))
        if not leases[s]:  # what a lease has found counts when it ends
            kin.pulls[s, arm] += len(held[s])
            kin.totals[s, arm] += sum(held[s])
            held[s] = []
    return pulls


@pytest.mark.parametrize("shared", [True, False])
def test_the_engine_has_the_law_of_going_step_by_step(shared: bool) -> None:
    """Mean pulls of every arm in every segment, 60 runs of 60 steps each way: 6 comparisons of two means, each beyond
    four standard errors with a probability of 6e-5."""
    runs, horizon = 60, 60
    slow = np.stack([step_by_step(seed, horizon, shared) for seed in range(runs)])
    fast = sf.simulate_segments(
        WORLD,
        sf.BestReward(0.1),
        horizon=horizon,
        runs=runs,
        sharing="shared" if shared else "separate",
        compiled=False,
        seed=7,
    ).pulls
    assert (slow.sum(axis=(1, 2)) == horizon).all() and (fast.sum(axis=(1, 2)) == horizon).all()
    error = np.sqrt((slow.var(axis=0) + fast.var(axis=0)) / runs)
    assert (np.abs(slow.mean(axis=0) - fast.mean(axis=0)) <= 4.0 * error + 1e-9).all()


def test_regret_is_the_sum_over_segments() -> None:
    done = sf.simulate_segments(WORLD, sf.BestReward(0.1), horizon=500, runs=2, compiled=False)
    gaps = np.array([[0.0, 0.9], [0.41, 0.0], [0.41, 0.0]])
    assert done.regret == pytest.approx((done.pulls * gaps).sum(axis=(1, 2)))
    assert done.pulls.sum(axis=(1, 2)).tolist() == [500, 500]
    again = sf.simulate_segments(WORLD, sf.BestReward(0.1), horizon=500, runs=2, compiled=False)
    assert (again.pulls == done.pulls).all()
    pooled = sf.simulate_segments(WORLD, sf.BestReward(0.1), horizon=500, runs=2, sharing="pooled", compiled=False)
    # One rule for all: segments get its arms in the proportion of the traffic.
    assert pooled.pulls.sum() == 1000 and pooled.pulls[0].sum(axis=1)[0] > pooled.pulls[0].sum(axis=1)[2]


def test_sharing_finds_out_who_differs_and_follows_otherwise() -> None:
    """20 segments, one of which needs the dear arm; regret of 10 runs against both others, by a factor of 2."""
    rows = {f"s{i}": LAW if i == 7 else CODE for i in range(20)}
    world, setting = sf.SegmentedInstance(rows), sf.BestReward(0.1)
    regret = {
        kind: sf.simulate_segments(world, setting, horizon=20_000, runs=10, sharing=kind, seed=3).regret.mean()
        for kind in ("shared", "separate", "pooled")
    }
    assert 2.0 * regret["shared"] < min(regret["separate"], regret["pooled"]), regret


def test_settings_orders_and_rules() -> None:
    dear = sf.Instance(costs=[1.0, 0.2], means=[0.85, 0.9], names=["small", "large"])
    world = sf.SegmentedInstance({"code": CODE, "dear": dear})
    for setting in (sf.FixedThreshold(0.8), sf.BestReward(0.1)):
        done = sf.simulate_segments(world, setting, "pe-cs" if setting.alpha else "ft-ucb", horizon=300, compiled=False)
        assert done.pulls.sum() == 300
    with pytest.raises(InvalidInstance, match="dearer than the reference arm"):
        sf.simulate_segments(world, sf.ReferenceArm("large", 0.1), horizon=100)
    done = sf.simulate_segments(WORLD, sf.ReferenceArm("large", 0.1), horizon=300, planned=False, compiled=False)
    assert done.pulls.sum() == 300
    alone = sf.simulate_segments(WORLD, sf.BestReward(0.1), "ts-cs", horizon=100, sharing="separate", compiled=False)
    assert alone.pulls.sum() == 100
    with pytest.raises(InvalidPolicy, match="all that segments can share"):
        sf.simulate_segments(WORLD, sf.BestReward(0.1), "ts-cs", horizon=200)


def test_what_is_refused() -> None:
    other = sf.Instance(costs=[0.1, 1.0], means=[0.4, 0.9], names=["a", "b"])
    noisy = sf.Instance(costs=[0.1, 1.0], means=[0.4, 0.9], names=["small", "large"], reward="gaussian")
    for segments, shares in (
        ({}, None),
        ({"a": CODE, "b": other}, None),
        ({"a": noisy}, None),
        ({"a": CODE, "b": noisy}, None),
        ({"a": CODE}, [0.0]),
        ({"a": CODE}, [math.nan]),
        ({"a": CODE, "b": LAW}, {"a": 1.0}),
        ({"a": CODE, "b": LAW}, [1.0]),
    ):
        with pytest.raises(InvalidInstance):
            sf.SegmentedInstance(segments, shares)
    with pytest.raises(InvalidRun, match="sharing"):
        sf.simulate_segments(WORLD, sf.BestReward(0.1), horizon=10, sharing="half")
    with pytest.raises(InvalidRun, match="SegmentedInstance"):
        sf.simulate_segments(CODE, sf.BestReward(0.1), horizon=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="routellm"):
        sf.load_segments("nothing")
