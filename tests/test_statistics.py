"""The statistics behind GLR: formulas by hand, Z against brute force, and the promises that hold at any time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special

from satisfice.bounds.divergences import kl_bernoulli
from satisfice.proofs import fixed, pair
from satisfice.statistics import evidence, interval, kl, nearest, penalty

means = st.floats(0.0, 1.0, allow_subnormal=False)  # no mean of rewards is closer to 0
counts = st.integers(0, 10_000)
scales = st.floats(0.0, 1.0)


def test_kl_by_hand() -> None:
    # 0.5 log(0.5 / 0.25) + 0.5 log(0.5 / 0.75) = 0.5 (0.693147 - 0.405465)
    assert kl(0.5, 0.25) == pytest.approx(0.143841, abs=1e-6)
    assert kl(0.0, 0.25) == pytest.approx(-math.log(0.75))
    assert kl(1.0, 0.25) == pytest.approx(-math.log(0.25))
    assert kl(0.0, 0.0) == kl(1.0, 1.0) == kl(0.3, 0.3) == 0.0
    assert kl(0.3, 0.0) == kl(0.3, 1.0) == kl(0.3, 1.2) == math.inf
    assert kl(1.0, 3.0, sigma=2.0) == 0.5  # (1 - 3)^2 / (2 * 4)


@given(means, st.floats(0.001, 0.999))
def test_kl_agrees_with_the_bounds(p: float, q: float) -> None:
    assert kl(p, q) == pytest.approx(float(kl_bernoulli(p, q)), rel=1e-6, abs=1e-12)


def brute_force(n_i: int, m_i: float, n_j: int, m_j: float, scale: float) -> float:
    """Z by a grid over x, refined around its smallest value; xlogy-exact at the edges."""

    def cost(x: NDArray[np.float64]) -> NDArray[np.float64]:
        value: NDArray[np.float64] = n_i * special.kl_div(m_i, scale * x) + n_j * special.kl_div(m_j, x)
        value += n_i * special.kl_div(1 - m_i, 1 - scale * x) + n_j * special.kl_div(1 - m_j, 1 - x)
        return value

    low, high = 0.0, 1.0
    best = math.inf
    for _ in range(12):
        x = np.linspace(low, high, 401)
        with np.errstate(all="ignore"):
            values = np.nan_to_num(cost(x), nan=np.inf)
        k = int(np.argmin(values))
        best = min(best, float(values[k]))
        low, high = x[max(k - 1, 0)], x[min(k + 1, 400)]
    return best


@given(counts, means, counts, means, st.floats(0.01, 1.0))
def test_evidence_is_the_smallest_divergence(n_i: int, m_i: float, n_j: int, m_j: float, scale: float) -> None:
    expected = brute_force(n_i, m_i, n_j, m_j, scale)
    assert evidence(n_i, m_i, n_j, m_j, scale) == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert 0.0 <= nearest(n_i, m_i, n_j, m_j, scale) <= 1.0


@given(counts, means, counts, means, scales, st.integers(1, 1000))
def test_more_of_the_same_is_never_less_evidence(
    n_i: int, m_i: float, n_j: int, m_j: float, scale: float, more: int
) -> None:
    before = evidence(n_i, m_i, n_j, m_j, scale)
    assert evidence(n_i + more, m_i, n_j, m_j, scale) >= before * (1 - 1e-9) - 1e-9
    assert evidence(n_i, m_i, n_j + more, m_j, scale) >= before * (1 - 1e-9) - 1e-9


def test_evidence_by_hand() -> None:
    # scale 1: both means move to that of all rewards, (10 * 0.5 + 30 * 0.9) / 40 = 0.8
    assert nearest(10, 0.5, 30, 0.9, 1.0) == pytest.approx(0.8)
    assert evidence(10, 0.5, 30, 0.9, 1.0) == pytest.approx(10 * kl(0.5, 0.8) + 30 * kl(0.9, 0.8))
    # on the line mu_i = 0.8 mu_j there is no evidence
    assert evidence(100, 0.72, 50, 0.9, 0.8) == pytest.approx(0.0, abs=1e-12)
    # nothing is known of j, but its mean is at most 1: mu_i = 0.9 reaches 0.75 x 1
    assert evidence(100, 0.9, 0, 0.0, 0.75) == pytest.approx(100 * kl(0.9, 0.75))
    assert evidence(100, 0.6, 0, 0.0, 0.75) == 0.0
    # alpha = 1: one success proves a mean above 0
    assert evidence(1, 1.0, 5, 0.5, 0.0) == math.inf
    # Gaussian: (m_i - scale m_j)^2 / (2 sigma^2 (1/n_i + scale^2/n_j)) = 0.04 / (2 * 4 * (1/10 + 0.25/5))
    assert evidence(10, 0.7, 5, 1.0, 0.5, sigma=2.0) == pytest.approx(0.04 / (8 * 0.15))
    assert evidence(0, 0.0, 5, 1.0, 0.5, sigma=2.0) == 0.0


def test_penalty_by_hand() -> None:
    # one success: likelihood 1 against the mixture's B(1.5, 0.5) / B(0.5, 0.5) = 1/2
    assert penalty(1, 1.0) == pytest.approx(math.log(2))
    # two of each: (1/2)^4 against B(2.5, 2.5) / B(0.5, 0.5) = 3/128
    assert penalty(4, 0.5) == pytest.approx(math.log((1 / 16) / (3 / 128)))
    assert penalty(3, 0.0, sigma=1.0) == pytest.approx(0.5 * math.log(4))
    assert penalty(0, 0.0) == 0.0


@given(st.integers(1, 100_000), means)
def test_penalty_is_about_half_a_logarithm(n: int, m: float) -> None:
    # The Beta(1/2, 1/2) mixture loses at most log(n)/2 + log 2 on any sequence (Krichevsky and Trofimov, 1981).
    wins = round(n * m)
    assert -1e-9 <= penalty(n, wins / n) <= 0.5 * math.log(n) + math.log(2) + 1e-7


def test_interval_holds_what_is_not_disproved() -> None:
    low, high = interval(200, 0.3, 0.05)
    assert low < 0.3 < high
    for mu in (low, high):
        assert abs(fixed(200, 60, mu)) == pytest.approx(math.log(20), abs=1e-6)
    assert interval(0, 0.0, 0.05) == (0.0, 1.0)
    assert interval(50, 0.0, 0.05)[0] == 0.0
    assert interval(50, 1.0, 0.05)[1] == 1.0
    # Gaussian: n^2/(n+1) (m - mu)^2 / (2 sigma^2) = log(1/delta) + log(1 + n)/2
    low, high = interval(9, 1.0, 0.05, sigma=2.0)
    width = 2.0 * math.sqrt(2 * (math.log(20) + 0.5 * math.log(10)) * 10 / 81)
    assert (low, high) == (pytest.approx(1 - width), pytest.approx(1 + width))


@pytest.mark.parametrize(
    ("law", "mean", "sigma"),
    [("bernoulli", 0.2, 0.0), ("beta", 0.2, 0.0), ("bernoulli", 0.97, 0.0), ("gaussian", 0.3, 1.5)],
)
def test_interval_never_misses_at_any_time(law: str, mean: float, sigma: float) -> None:
    # delta = 0.1, 500 sequences, looked at at 60 times: at most 10% of the sequences may ever miss. Were it exactly
    # 10%, more than 72 misses would have probability 0.1% (binomial).
    rng = np.random.default_rng(4)
    times = np.unique(np.geomspace(1, 2000, 60).astype(int))
    missed = 0
    for _ in range(500):
        if law == "bernoulli":
            rewards = (rng.random(2000) < mean).astype(float)
        elif law == "beta":
            rewards = rng.beta(mean, 1 - mean, 2000)
        else:
            rewards = rng.normal(mean, sigma, 2000)
        sums = np.cumsum(rewards)
        totals = [min(sums[n - 1], float(n)) if sigma == 0 else sums[n - 1] for n in times]
        missed += any(abs(fixed(n, s, mean, sigma)) > math.log(10) for n, s in zip(times, totals, strict=True))
    assert missed <= 72


@pytest.mark.parametrize("sigma", [0.0, 1.0])
def test_a_pair_on_the_line_is_hardly_ever_told_apart(sigma: float) -> None:
    # mu_i = 0.8 mu_j: whatever is proved is wrong. delta = 0.1, 400 pairs, uneven and adaptive pulls, looked at all
    # along. Were the error exactly 10%, more than 60 would have probability 0.1% (binomial).
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(400):
        n, s = [0, 0], [0.0, 0.0]
        for step in range(150):
            k = 0 if step % 3 == 0 or (n[1] > 0 and s[1] / n[1] > 0.55) else 1
            mu = (0.4, 0.5)[k]
            m = int(rng.integers(1, 20))
            s[k] += rng.binomial(m, mu) if sigma == 0 else rng.normal(m * mu, math.sqrt(m))
            n[k] += m
            if min(n) > 0 and abs(pair(n[0], s[0], n[1], s[1], 0.8, sigma)) > math.log(10):
                wrong += 1
                break
    assert wrong <= 60


def test_a_mean_that_misses_1_by_rounding_proves_nothing() -> None:
    # Sums of rewards are rounded: three times 1 may have the mean 0.9999999999999999, which must not be infinitely far
    # from 1. The same near 0, and where both roots of `nearest` nearly coincide.
    assert evidence(1, 1.0, 1, 0.9999999999999999, 1.0) < 1e-12
    assert evidence(1, 0.0, 1, 5e-324, 1.0) < 1e-12
    assert evidence(0, 0.0, 91, 1.0, 0.9999999999999999) < 1e-12
