"""The test for a change of a mean: what it pays, what it promises, when it notices, where it says it happened."""

from __future__ import annotations

import math
import random
from itertools import chain

import numpy as np
import pytest
from numpy.typing import NDArray

from satisfice.changes import (
    ALTERNATIVES,
    SIZE,
    Watch,
    begin,
    feed,
    feed_each,
    insert,
    limit,
    new_watch,
    plain_watch,
    release,
    replace,
    safe,
    shift,
    stakes,
    view,
    watch,
    where,
)
from satisfice.policies.compiled import compile_native
from satisfice.statistics import interval


def alarms(
    rng: np.random.Generator,
    mean: float,
    changed: float,
    at: int,
    end: int,
    step: int,
    delta: float,
    when: NDArray[np.float64],
) -> None:
    """When each run has its alarm (0: never), and where it says that the change was."""
    memory = view(np.zeros(SIZE), 0)
    for r in range(len(when)):
        begin(memory, 0.0, 0.0)
        t = 0
        while t < end:
            mu = mean if t < at else changed
            total = (1.0 if rng.random() < mu else 0.0) if step == 1 else float(rng.binomial(step, mu))
            if watch(memory, step, total, t, delta):
                when[r, 0], when[r, 1] = t + step, where(memory).stamp
                break
            t += step


def run(
    mean: float, changed: float, at: int, end: int, runs: int, delta: float, step: int = 1, seed: int = 7
) -> NDArray[np.float64]:
    when = np.zeros((runs, 2))
    compile_native(alarms)(np.random.default_rng(seed), mean, changed, at, end, step, delta, when)
    return when


def test_expected_factor_is_one_at_the_end_of_the_interval_and_less_inside() -> None:
    memory = new_watch()
    begin(memory, 400, 300.0)
    watch(memory, 1, 1.0, 0, 0.05)
    low, high = interval(400, 0.75, 0.025)
    assert memory.head[0].low == pytest.approx(low, abs=1e-6) and memory.head[0].low <= low
    assert memory.head[0].high == pytest.approx(high, abs=1e-6) and memory.head[0].high >= high
    for k in range(ALTERNATIVES):
        p = memory.head[0].high if shift(k) > 0 else memory.head[0].low
        q = 1.0 / (1.0 + math.exp(-(math.log(p / (1.0 - p)) + shift(k))))
        assert memory.win[k] == pytest.approx(q / p) and memory.fail[k] == pytest.approx((1 - q) / (1 - p))
        for mu, most in ((p, 1.0 + 1e-12), (0.75, 1.0)):
            assert mu * memory.win[k] + (1 - mu) * memory.fail[k] <= most


def test_all_stakes_are_one_unit() -> None:
    given = [stakes(n) for n in (0, 1, 10, 1e6, 1e18)]
    assert given == sorted(given) and given[0] == 0.0 and given[-1] < 1.0
    assert limit(0.01) == 2 * ALTERNATIVES / 0.01


def test_rewards_of_zero_and_one_may_be_watched_by_their_sum() -> None:
    """The bet that was begun before all of them is the same product, in whatever order and grouping."""
    one, many = new_watch(), new_watch()
    for memory in (one, many):
        begin(memory, 1000, 500.0)
    rewards = [1.0] * 6 + [0.0] * 2
    for t, reward in enumerate(rewards):
        watch(one, 1, reward, t, 0.01)
    watch(many, 8, 6.0, 0, 0.01)
    kept = [k for k in range(ALTERNATIVES) if one.since[k] == many.since[k] and many.best[k] > 1.0]
    assert len(kept) > 3  # the others were begun anew in between
    assert all(one.best[k] == pytest.approx(many.best[k]) for k in kept)


def test_other_rewards_are_watched_at_least_as_well_one_by_one() -> None:
    one, many = new_watch(), new_watch()
    for memory in (one, many):
        begin(memory, 1000, 500.0)
    for t in range(8):
        watch(one, 1, 0.7, t, 0.01)
    watch(many, 8, 5.6, 0, 0.01)
    assert all(one.best[k] >= many.best[k] * (1 - 1e-12) for k in range(ALTERNATIVES // 2))


@pytest.mark.parametrize(("mean", "step"), [(0.5, 1), (0.95, 1), (0.8, 16)])
def test_false_alarms_are_rarer_than_promised(mean: float, step: int) -> None:
    """300 runs of 10,000 pulls at a promise of 0.1 each: more than 52 alarms have a probability below 1e-4 if they have
    one of 0.1 each. In fact they are far rarer; benchmarks/drift.py counts them over 1,000,000 pulls."""
    when = run(mean, mean, 0, 10_000, runs=300, delta=0.1, step=step)
    assert np.count_nonzero(when[:, 0]) <= 52


@pytest.mark.parametrize("at", [200, 2_000, 50_000])
def test_a_great_fall_is_noticed_within_fifty_rewards(at: int) -> None:
    """From 0.95 to 0.3, at a promise of 0.01 for three arms. The mean delay is about 18 with a standard deviation of 6;
    the mean of 40 runs is above 30 with a probability below 1e-6."""
    when = run(0.95, 0.3, at, at + 1_000, runs=40, delta=0.01 / 3)
    delays = when[:, 0] - at
    assert (delays > 0).all() and delays.mean() <= 30 and np.median(delays) <= 50
    assert abs(np.median(when[:, 1]) - at) <= 5


def test_a_rise_and_a_small_fall_are_noticed() -> None:
    rise = run(0.5, 0.97, 300, 1_300, runs=40, delta=0.01)
    assert np.median(rise[:, 0]) - 300 <= 60
    fall = run(0.8, 0.76, 50_000, 80_000, runs=20, delta=0.01, step=10)
    assert np.median(fall[:, 0]) - 50_000 <= 10_000


def test_feeding_holds_back_what_is_no_news_and_loses_nothing() -> None:
    memory = new_watch()
    rng = np.random.default_rng(3)
    for t in range(5_000):
        assert not feed(memory, float(rng.random() < 0.9), t, 0.01)
    release(memory, 0.01)
    assert memory.head[0].pulls == 5_000 and memory.head[0].held == 0
    for t in range(5_000, 5_060):
        if feed(memory, float(rng.random() < 0.3), t, 0.01):
            break
    assert t < 5_050 and abs(where(memory).stamp - 5_000) <= 32
    found = where(memory)
    assert found.pulls_before + found.pulls == memory.head[0].pulls
    assert found.total / found.pulls < 0.5 < 0.88 < found.total_before / found.pulls_before


def test_fractions_are_not_held_back() -> None:
    """Rewards of little variance carry more than rewards of 0 and 1 with the same mean."""
    memory = new_watch()
    rng = np.random.default_rng(5)
    for t in range(1_000):
        assert not feed(memory, 0.75 + 0.1 * rng.random(), t, 0.01)
    late = next(t for t in range(1_000, 2_000) if feed(memory, 0.5 + 0.1 * rng.random(), t, 0.01))
    assert late < 1_050


def test_a_replaced_reward_never_speaks_for_a_change() -> None:
    memory = new_watch()
    begin(memory, 1000, 900.0)
    for t in range(6):
        watch(memory, 1, 0.0, t, 0.01)
    for old, new in ((0.0, 1.0), (1.0, 0.0)):
        before = list(memory.bets)
        replace(memory, old, new)
        assert all(after <= was for after, was in zip(memory.bets, before, strict=True))
    before = list(memory.bets)
    insert(memory, 0.0)
    assert all(after <= was for after, was in zip(memory.bets, before, strict=True))
    assert memory.head[0].total == 900.0 and memory.head[0].pulls == 1007


def test_every_reward_a_success_and_then_none() -> None:
    """There is no mean beyond 1, so that nothing is bet on a rise."""
    memory = new_watch()
    for t in range(500):
        assert not watch(memory, 1, 1.0, t, 0.01)
    assert memory.head[0].high == 1.0 and not any(memory.bets[: ALTERNATIVES // 2])
    assert next(t for t in range(500, 600) if watch(memory, 1, 0.0, t, 0.01)) < 512


def test_memory_is_some_hundred_numbers() -> None:
    assert len(list(chain(*plain_watch(new_watch())))) == SIZE < 200
    assert isinstance(view(np.zeros(3 * SIZE), 2), Watch)


@pytest.mark.parametrize("delta", [0.2, 0.01, 1e-4])
def test_rewards_that_wait_are_watched_as_if_one_by_one(delta: float) -> None:
    """Alarms come with the same reward and say the same; in between every number is equal to the last bit."""
    waited = alarms = 0
    for seed in range(40):
        rng = random.Random(seed)
        one, many = new_watch(), new_watch()
        means, at = (rng.random(), rng.random()), rng.randrange(400)
        rewards: list[float] = []
        stamps: list[float] = []
        room = 0
        for t in range(800):
            reward = float(rng.random() < means[t >= at])
            if seed % 4 == 0:
                reward *= rng.random()  # ratings, not only 0 and 1
            alarm = feed(one, reward, t, delta)
            rewards.append(reward)
            stamps.append(t)
            early = rng.random() < 0.01  # somebody looks
            if len(rewards) <= room and not early:
                assert not alarm
                waited += 1
                continue
            early = len(rewards) <= room
            assert feed_each(many, rewards, stamps, delta) == alarm
            assert one == many
            if alarm:
                alarms += 1
                assert where(one) == where(many)
                break
            rewards, stamps, room = [], [], 0 if early else safe(many, delta)
    assert waited > 2000
    assert alarms > 5
