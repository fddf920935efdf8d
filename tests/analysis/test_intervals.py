"""Intervals for one look: against closed forms, and their coverage on rare conversions and on revenue."""

from __future__ import annotations

import math

import numpy as np
import pytest

from satisfice.analysis.evidence import merge_levels
from satisfice.analysis.intervals import _divergence, likelihood_interval, nats_of
from satisfice.statistics import kl

BINARY = np.array([0.0, 1.0])


@pytest.mark.parametrize(("wins", "rows"), [(50, 100), (6, 1000), (1, 5000), (999, 1000)])
def test_for_rewards_of_0_and_1_it_is_the_likelihood_ratio_interval(wins: int, rows: int) -> None:
    """The ends are where `rows x kl(mean, end)` is `nats`."""
    nats = nats_of(0.05)
    for end in likelihood_interval(BINARY, np.array([rows - wins, wins], dtype=float), (0.0, 1.0), nats):
        assert rows * kl(wins / rows, end) == pytest.approx(nats, rel=1e-6)


def test_nothing_but_zeros() -> None:
    """`rows x log(1 / (1 - end)) = nats`: end = 1 - exp(-nats / rows); and the lower end is 0."""
    low, high = likelihood_interval(BINARY, np.array([500.0, 0.0]), (0.0, 1.0), 2.0)
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high == pytest.approx(1 - math.exp(-2 / 500))


def test_it_moves_with_the_scale() -> None:
    values, counts = np.array([0.0, 10.0, 80.0, 300.0]), np.array([990.0, 4.0, 4.0, 2.0])
    one = likelihood_interval(values, counts, (0.0, 500.0), 2.0)
    other = likelihood_interval(values / 500, counts, (0.0, 1.0), 2.0)
    assert np.array(one) == pytest.approx(500 * np.array(other), rel=1e-6)
    mirrored = likelihood_interval(-values, counts, (-500.0, 0.0), 2.0)
    assert mirrored == pytest.approx((-one[1], -one[0]), rel=1e-6)


@pytest.mark.parametrize("money", [False, True])
def test_coverage_at_a_conversion_rate_of_half_a_percent(money: bool) -> None:
    """2,000 rows, 10 buyers: 95% intervals. Of 300, at least 269 hold: with a coverage of 0.93, which is what such few
    buyers of uneven baskets leave of 0.95, fewer do with probability 0.006."""
    rng = np.random.default_rng(5)
    baskets = np.array([10.0, 20.0, 40.0, 80.0, 200.0]) if money else np.array([1.0])
    values = np.append(0.0, baskets)
    share = np.append(0.995, np.full(len(baskets), 0.005 / len(baskets)))
    truth = float(values @ share)
    held = 0
    for _ in range(300):
        counts = rng.multinomial(2000, share).astype(float)
        # The truth is in the interval where it is not refuted, which takes one step of the search for the ends.
        side = 1.0 if truth > values @ counts / 2000 else -1.0
        top = (500.0 if money else 1.0) if side > 0 else 0.0
        held += _divergence(side * values, counts, top, side * truth) <= nats_of(0.05)
    assert held >= 269


def test_levels_that_are_put_together_keep_every_mean_nearly_and_the_total_exactly() -> None:
    rng = np.random.default_rng(1)
    values = np.sort(rng.lognormal(4, 1, 3000))
    counts = rng.poisson(3, (4, 3000)).astype(float)
    merged, table = merge_levels(values, counts, 100)
    assert len(merged) <= 100
    assert (merged[0], merged[-1]) == (values[0], values[-1])
    assert table.sum() == counts.sum()
    assert table.sum(axis=0) @ merged == pytest.approx(counts.sum(axis=0) @ values)
    assert table @ merged / table.sum(axis=1) == pytest.approx(counts @ values / counts.sum(axis=1), rel=0.01)
