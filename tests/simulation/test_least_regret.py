"""The least regret of any policy, as the benchmarks of changes and of segments compute it: lower bounds that hold."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from satisfice.statistics import kl


def load(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"bench_{name}"] = module
    spec.loader.exec_module(module)
    return module


drift, segments = load("drift"), load("segments")
Pair = tuple[float, float]


def exact(means: Pair, pull: Pair, leave: Pair, horizon: int, chance: float) -> float:
    """The same by going through all histories: what was seen, and the joint probability with every time of change."""
    start = [chance / horizon] * horizon + [1.0 - chance]  # of a change at time 0, 1, ..., and of none

    def value(t: int, weights: tuple[float, ...]) -> float:
        if t == horizon:
            return 0.0
        since, before = sum(weights[: t + 1]), sum(weights[t + 1 :])
        left = before * leave[0] + since * leave[1] + value(t + 1, weights)
        pulled = before * pull[0] + since * pull[1]
        for x in (0.0, 1.0):
            seen = [w * abs(1.0 - x - means[1 if at <= t else 0]) for at, w in enumerate(weights)]
            pulled += value(t + 1, tuple(seen))
        return min(left, pulled)

    return value(0, tuple(start))


@pytest.mark.parametrize("chance", [1.0, 0.3])
@pytest.mark.parametrize(
    "case",
    [((0.6, 0.97), (0.25, 0.0), (0.0, 0.3)), ((0.95, 0.3), (0.0, 0.6), (0.3, 0.0)), ((0.2, 0.5), (0.1, 0), (0, 1))],
)
def test_the_bound_is_below_the_best_policy_and_hardly(case: tuple[Pair, Pair, Pair], chance: float) -> None:
    means, pull, leave = case
    bound = drift.least(means, pull, leave, 7, chance, compiled=False)
    best = exact(means, pull, leave, 7, chance)
    assert best - 1e-3 * best - 1e-6 <= bound <= best + 1e-9


def earliest(means: Pair, horizon: int, chance: float, fine: float) -> float:
    """What the best test loses, by going through all histories: 1 for a reward since the change, `fine` for a false
    alarm; nothing after the horizon."""

    def value(t: int, weights: tuple[float, ...]) -> float:
        since, before = sum(weights[: t + 1]), sum(weights[t + 1 :])
        if t == horizon:
            return 0.0
        more = since
        for x in (0.0, 1.0):
            more += value(t + 1, tuple(w * abs(1.0 - x - means[1 if at <= t else 0]) for at, w in enumerate(weights)))
        return min(fine * before, more)

    return value(0, tuple([chance / horizon] * horizon + [1.0 - chance]))


@pytest.mark.parametrize("chance", [1.0, 0.3])
@pytest.mark.parametrize("means", [(0.95, 0.3), (0.3, 0.95)])
def test_the_soonest_alarm_by_all_histories(means: Pair, chance: float) -> None:
    grid, fine = np.linspace(0.0, 1.0, 4_001), 5.0
    value = drift.backwards(grid, np.array(means), np.array([0.0, 1.0]), np.array([fine, 0.0]), 7, chance, 0.0)
    best = earliest(means, 7, chance, fine)
    assert best * (1 - 1e-3) <= np.interp(chance / 7, grid, value) <= best + 1e-9


def test_no_test_with_a_promise_is_sooner() -> None:
    """CUSUM, told both means, at the threshold at which at most 5% of its runs have a false alarm, is later than the
    bound, by less than a third. A promise that is kept more often costs more."""
    rng, means, horizon, runs = np.random.default_rng(3), (0.9, 0.4), 400, 2_000
    steps = np.log([(1 - means[1]) / (1 - means[0]), means[1] / means[0]])

    def heights(rewards: np.ndarray) -> np.ndarray:
        height, found = np.zeros(len(rewards)), np.zeros(rewards.shape)
        for t in range(rewards.shape[1]):
            height = np.maximum(height, 0.0) + steps[rewards[:, t]]
            found[:, t] = height
        return found

    steady = heights((rng.random((runs, horizon)) < means[0]).astype(int))
    bar = float(np.quantile(steady.max(axis=1), 0.95))
    at = rng.integers(horizon, size=runs)
    times = np.arange(2 * horizon)
    changed = heights((rng.random((runs, 2 * horizon)) < np.where(times < at[:, None], *means)).astype(int))
    alarm = (changed > bar).argmax(axis=1)
    delay = np.maximum(alarm + 1 - at, 0).mean()
    bound = drift.soonest(means, horizon, 0.05)
    assert bound <= delay <= 1.33 * bound
    assert drift.soonest(means, horizon, 0.01) > bound


def test_one_step_by_hand() -> None:
    """One pull, and all is over: with probability 0.4 the arm is the better one, by 3; else it is worse by 1."""
    assert drift.least((0.5, 0.9), (1.0, 0.0), (0.0, 3.0), 1, 0.4, compiled=False) == pytest.approx(0.6)
    assert drift.least((0.5, 0.9), (1.0, 0.0), (0.0, 3.0), 1, 0.1, compiled=False) == pytest.approx(0.3)


def test_whoever_spends_little_where_nothing_changes_finds_out_late() -> None:
    """Known change, unknown time: a tighter limit costs more, and no limit is that of a sure change."""
    case = (0.6, 0.97), (0.255, 0.0), (0.0, 0.3), 20_000
    free = drift.least(*case)
    few, many = drift.least_within(2.0, *case), drift.least_within(20.0, *case)
    assert free <= many < few and drift.least_within(1e6, *case) == pytest.approx(free)
    # By hand, roughly: a look takes 1 / 0.4 pulls that lose 0.255, so that 20 pay for 31 of them. They find out after
    # 319 pulls on average, which lose 0.3 each, and half of them come before the change.
    assert many > 0.8 * 0.3 * 319


def test_a_segment_must_be_told_apart() -> None:
    """Where a miss is allowed, nothing need be found out; else `kl(luck, 1 - miss) / nats` pulls at the best share."""
    assert segments.least([[segments.Doubt(0.31, 0.34, 0.9, 20_000.0)]], 20_000.0) == pytest.approx(0.0, abs=1e-6)
    doubt = segments.Doubt(0.31, 0.34, 0.9, 111.0)
    found = segments.least([[doubt]], 20_000.0)
    shares = np.linspace(0.01, 0.9, 90)
    pulls = [kl(found / (0.31 * 20_000 * x), 1.0 - 111.0 / (0.9 * 20_000 * (1.0 - x))) / 0.34 for x in shares]
    assert found == pytest.approx(0.31 * max(pulls), rel=1e-6) and 1.0 < found < 10.0
    # Two arms that must be told apart cost about twice as much, and a world in which more is allowed less.
    less = doubt._replace(allowed=1_000.0)
    assert segments.least([[doubt], [doubt]], 20_000.0) > 1.7 * found
    assert segments.least([[less]], 20_000.0) < found
    # Of several worlds that differ in the same arm the one counts that costs most.
    assert segments.least([[less, doubt]], 20_000.0) == pytest.approx(found)
