"""Intervals that know how much rewards vary: how long they are, and how often they ever miss."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import satisfice as sf
from satisfice.between import against_mean, between, interval
from satisfice.statistics import interval as flips

Floats = NDArray[np.float64]


def test_nats_grow_as_the_mean_moves_away() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(1, 2000))
        a, b = rng.uniform(0.2, 5, 2)
        rewards = rng.beta(float(a), float(b), size=n)
        total, squares = float(rewards.sum()), float((rewards**2).sum())
        m, d = total / n, between(n, total, squares)
        nats = np.array([against_mean(n, m, d, float(mean)) for mean in np.linspace(m, 0.999, 40)])
        # Where nothing is said yet, the penalty of the stretched mean may take back a little.
        assert (np.diff(nats)[nats[1:] > 0.0] >= -1e-9).all()
        # The least mean that an interval leaves out takes all beyond it along.
        high = interval(n, total, squares, 0.05)[1]
        beyond = [against_mean(n, m, d, float(mean)) for mean in np.linspace(high + 1e-9, 0.9999, 40) if high < 0.9999]
        assert all(seen >= math.log(1 / 0.05) for seen in beyond)


def test_rewards_of_0_and_1_lose_nothing_and_ratings_gain() -> None:
    assert interval(400, 120.0, 120.0, 0.05) == flips(400, 0.3, 0.05)
    # Mean 0.7 and standard deviation 0.2: 0.04 instead of 0.21 of variance.
    low, high = interval(5000, 3500.0, 5000 * (0.49 + 0.04), 0.05)
    least, most = flips(5000, 0.7, 0.05)
    assert least < low < 0.7 < high < most and high - low < 0.6 * (most - least)
    assert interval(0, 0.0, 0.0, 0.05) == (0.0, 1.0)
    assert interval(3, 3.0, 3.0, 0.05)[1] == 1.0 and interval(3, 0.0, 0.0, 0.05)[0] == 0.0


LAWS: dict[str, tuple[float, Callable[[np.random.Generator, int], Floats]]] = {
    "binary": (0.3, lambda rng, n: (rng.random(n) < 0.3).astype(float)),
    "categorical": (0.7, lambda rng, n: rng.choice([0.0, 0.5, 0.75, 1.0], n, p=[0.1, 0.2, 0.4, 0.3])),
    "continuous": (0.8, lambda rng, n: rng.beta(8, 2, n)),
    "rare": (0.019, lambda rng, n: np.where(rng.random(n) < 0.02, 0.95, 0.0)),
}


@pytest.mark.parametrize("law", LAWS)
def test_how_often_an_interval_ever_misses(law: str) -> None:
    """Looked at after rewards 1, 2, 3, 4, 5, ... of 600: 300 runs at delta = 0.2 miss at most 82 times.

    A binomial of 300 with 0.2 exceeds 82 with a probability of 1e-3; what is seen is far less.
    """
    mean, draw = LAWS[law]
    rng = np.random.default_rng(5)
    looks = np.unique(np.geomspace(1, 600, 40).astype(int))
    misses = 0
    for _ in range(300):
        rewards = draw(rng, 600)
        totals, squares = rewards.cumsum(), (rewards**2).cumsum()
        enough = math.log(1 / 0.2)
        for n in looks:
            total, square = float(totals[n - 1]), float(squares[n - 1])
            if against_mean(int(n), total / int(n), between(int(n), total, square), mean) > enough:
                misses += 1
                break
    assert misses <= 82
    found = [interval(600, float(r.sum()), float((r**2).sum()), 0.2) for r in (draw(rng, 600) for _ in range(20))]
    assert sum(not low <= mean <= high for low, high in found) <= 8


def test_a_study_and_an_analysis_show_them() -> None:
    """Ratings of 0.6 and 0.8 in turn: the mean is 0.7 and the standard deviation 0.1."""
    study = sf.create_study("ratings", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.9), policy="ft-ucb", confidence=0.95)
    rewards: dict[str, list[float]] = {"a": [], "b": []}
    for k in range(200):
        decision = study.ask()
        rewards[decision.arm].append(0.6 + 0.2 * (k % 2))
        study.tell(decision.id, rewards[decision.arm][-1])
    for arm in study.status().arms:
        seen = np.array(rewards[arm.name])
        if len(seen) > 50:
            least, most = flips(len(seen), float(seen.mean()), 0.025)
            assert least < arm.interval[0] < seen.mean() < arm.interval[1] < most
            assert arm.interval[1] - arm.interval[0] < 0.9 * (most - least)
    log = pl.DataFrame({"arm": ["a"] * 200 + ["b"] * 200, "reward": [0.6, 0.8] * 200})
    found = sf.analyse(log, setting=sf.FixedThreshold(0.5), costs={"a": 1.0, "b": 2.0}, confidence=0.95, plan=False)
    for row in found.arms:
        assert row.anytime == pytest.approx(interval(200, 140.0, 100.0, 0.025), abs=1e-6)
