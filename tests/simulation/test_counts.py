"""Poisson and negative binomial numbers against SciPy's laws; leases that rewards of 1 prolong."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, nbinom, norm
from scipy.stats import poisson as poisson_law

import satisfice as sf
from satisfice.policies.compiled import compile_native
from satisfice.simulation.counts import ones_before, poisson
from satisfice.simulation.world import World, make_world, stretch

# The chance that one of the tests here fails although the laws are equal; there are about 30.
ERROR = 1e-6
DRAWS = 100_000


@compile_native
def many_poisson(expected: float, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = np.empty(DRAWS, dtype=np.int64)
    for i in range(DRAWS):
        drawn[i] = poisson(expected, rng)
    return drawn


@compile_native
def many_ones(zeros: int, mean: float, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = np.empty(DRAWS, dtype=np.int64)
    for i in range(DRAWS):
        drawn[i] = ones_before(zeros, mean, rng)
    return drawn


@compile_native
def many_stretches(world: World, zeros: int, most: int, runs: int, rng: np.random.Generator) -> NDArray[np.int64]:
    drawn = np.empty((runs, 2), dtype=np.int64)
    for i in range(runs):
        pulls, total = stretch(world, 0, zeros, most, rng)
        drawn[i, 0], drawn[i, 1] = pulls, int(total)
    return drawn


def follows(drawn: NDArray[np.int64], law: object) -> bool:
    """Chi-square on up to forty parts of about the same probability."""
    cuts = np.unique(law.ppf(np.linspace(0, 1, 41)[1:-1])).astype(int)  # type: ignore[attr-defined]
    shares = np.diff(np.concatenate([[0.0], law.cdf(cuts), [1.0]]))  # type: ignore[attr-defined]
    counts = np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1)
    used = shares * len(drawn) > 5
    counts, shares = np.append(counts[used], counts[~used].sum()), np.append(shares[used], shares[~used].sum())
    counts, shares = counts[shares > 1e-12], shares[shares > 1e-12]
    return len(shares) == 1 or bool(chisquare(counts, shares / shares.sum() * len(drawn)).pvalue > ERROR)


@pytest.mark.parametrize("expected", [0.01, 0.7, 3.0, 9.99, 10.0, 10.5, 27.0, 300.0, 12_345.6, 1e6, 1e9])
def test_poisson(expected: float) -> None:
    rng = np.random.default_rng(1)
    assert follows(many_poisson(expected, rng), poisson_law(expected))


def test_poisson_of_a_very_large_expectation() -> None:
    # Normal but for a skewness of 1e-6. Kolmogorov-Smirnov with the bound 2 exp(-2 n d^2) = 1e-6.
    rng = np.random.default_rng(5)
    law = np.sort(norm.cdf((many_poisson(1e12, rng) - 1e12) / 1e6))
    distance = max((np.arange(1, DRAWS + 1) / DRAWS - law).max(), (law - np.arange(DRAWS) / DRAWS).max())
    assert distance < np.sqrt(np.log(2 / ERROR) / (2 * DRAWS))


@pytest.mark.parametrize("zeros", [1, 2, 7, 100, 12_345])
@pytest.mark.parametrize("mean", [0.001, 0.3, 0.75, 0.999])
def test_ones_before_so_many_zeros(zeros: int, mean: float) -> None:
    rng = np.random.default_rng(2)
    assert follows(many_ones(zeros, mean, rng), nbinom(zeros, 1 - mean))


@pytest.mark.parametrize("zeros, mean, most", [(1, 0.5, 3), (3, 0.7, 9), (5, 0.2, 6), (40, 0.9, 400)])
def test_a_lease_ends_with_a_zero_or_at_the_end(zeros: int, mean: float, most: int) -> None:
    # Against a loop over single rewards: pulls and sum together as one number.
    rng, world = np.random.default_rng(3), make_world(sf.Instance([1], [mean]), np.array([0]), until_zeros=True)
    runs = 40_000
    fast = many_stretches(world, zeros, most, runs, rng)
    rewards = rng.random((runs, most)) < mean
    before = np.cumsum(~rewards, axis=1)
    pulls = np.minimum((before < zeros).sum(axis=1) + 1, most)
    ones = pulls - before[np.arange(runs), pulls - 1]
    pairs = np.concatenate([fast @ [1, 10_000], pulls + 10_000 * ones])
    values, place = np.unique(pairs, return_inverse=True)
    table = np.array([np.bincount(part, minlength=len(values)) for part in (place[:runs], place[runs:])])
    rare = table.sum(axis=0) < 25
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    both = table[:, table.sum(axis=0) > 0]
    # Half of each column is expected in either row.
    assert chisquare(both.ravel(), np.tile(both.sum(axis=0) / 2, 2), ddof=both.shape[1]).pvalue > ERROR


def test_a_lease_that_nothing_prolongs() -> None:
    rng, order = np.random.default_rng(4), np.array([0])
    bernoulli, normal = sf.Instance([1], [0.5]), sf.Instance([1], [0.5], reward="gaussian")
    for world in (make_world(bernoulli, order), make_world(normal, order, until_zeros=True)):
        assert stretch(world, 0, 7, 100, rng) == (7, -1.0) and stretch(world, 0, 7, 5, rng) == (5, -1.0)
    # Nor a sweep, nor an arm without zeros.
    sure = make_world(sf.Instance([1], [1.0]), order, until_zeros=True)
    assert stretch(sure, 0, 7, 100, rng) == (7, -1.0)
    assert stretch(make_world(bernoulli, order, until_zeros=True), -1, 7, 100, rng) == (7, -1.0)
    assert stretch(make_world(sf.Instance([1], [0.0]), order, until_zeros=True), 0, 7, 100, rng) == (7, 0.0)
