"""Parts of Beta distributions, against SciPy's incomplete beta function."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import betainc, betaincc
from scipy.stats import norm

from satisfice.policies.beta import (
    inner_draw,
    log_density,
    normal_spread,
    stirling_error,
    tail_bound,
    tail_draw,
    tail_rate,
    tail_rise,
)
from satisfice.policies.compiled import compile_native

COUNTS = [0, 1, 2, 15, 16, 17, 300, 70_000, 5_000_000]


@compile_native
def tail_draws(
    S: float, F: float, h: float, rate: float, rise: float, shift: float, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    drawn = np.empty(count)
    for i in range(count):
        drawn[i] = tail_draw(S, F, h, rate, rise, shift, rng)
    return drawn


@compile_native
def inner_draws(
    S: float, F: float, lo: float, hi: float, spread: float, count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    drawn = np.empty(count)
    for i in range(count):
        drawn[i] = inner_draw(S, F, lo, hi, spread, rng)
    return drawn


def exact_log_density(S: int, F: int, x: float) -> float:
    """With 50 digits: SciPy's log probabilities are off by up to 1e-8 at millions of pulls."""

    def log_factorial(n: int) -> Decimal:
        if n < 50:
            return Decimal(math.factorial(n)).ln()
        two_pi = Decimal("6.28318530717958647692528676655900576839433879875021")
        # Stirling's series; with n >= 50 the first term left out is below 1e-20.
        terms = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360)]
        series = sum((Decimal(p) / q / Decimal(n) ** (2 * i + 1) for i, (p, q) in enumerate(terms)), Decimal(0))
        return n * Decimal(n).ln() - n + (two_pi * n).ln() / 2 + series

    with localcontext() as context:
        context.prec = 50
        place = Decimal(x)
        logs = S * place.ln() + F * (1 - place).ln()
        return float(log_factorial(S + F + 1) - log_factorial(S) - log_factorial(F) + logs)


def test_stirling_error() -> None:
    # 1! = 1 and Stirling's formula gives sqrt(2 pi) / e = 0.92213700889579, log -0.0810614667953273.
    assert stirling_error(1.0) == pytest.approx(0.0810614667953273, abs=1e-15)
    # The series and the logarithm of the exact factorial meet: 16! = 20922789888000.
    stirling = 16.5 * math.log(16) - 16 + 0.5 * math.log(2 * math.pi)
    assert stirling_error(16.0) == pytest.approx(math.log(20_922_789_888_000) - stirling, abs=2e-14)


def test_densities_that_can_be_checked_by_hand() -> None:
    # Beta(1, 1) is uniform; Beta(3, 1) has density 3 x^2; Beta(2, 3) has density 12 x (1 - x)^2.
    assert log_density(0.0, 0.0, 0.3) == pytest.approx(0.0, abs=1e-15)
    assert math.exp(log_density(2.0, 0.0, 0.5)) == pytest.approx(0.75, rel=1e-14)
    assert math.exp(log_density(1.0, 2.0, 0.25)) == pytest.approx(12 * 0.25 * 0.75**2, rel=1e-14)


@pytest.mark.parametrize("S", COUNTS)
@pytest.mark.parametrize("F", COUNTS)
def test_density_within_eight_standard_deviations(S: int, F: int) -> None:
    n = S + F
    mean = (S + 1) / (n + 2)
    sd = math.sqrt(mean * (1 - mean) / (n + 3))
    for z in (-8, -3, -0.5, 0, 0.5, 3, 8):
        x = mean + z * sd
        if 0 < x < 1:
            assert log_density(float(S), float(F), x) == pytest.approx(exact_log_density(S, F, x), rel=0, abs=1e-11)


@given(
    S=st.integers(0, 5000),
    F=st.integers(0, 5000),
    z=st.floats(0, 8),
    fewer=st.integers(0, 60),
    more=st.integers(0, 60),
)
def test_the_bound_bounds_the_tail(S: int, F: int, z: float, fewer: int, more: int) -> None:
    mean = (S + 1) / (S + F + 2)
    h = mean + z * math.sqrt(mean * (1 - mean) / (S + F + 3))
    if h >= 1:
        return
    bound = tail_bound(float(S), float(F), h)
    assert bound >= betaincc(S + 1, F + 1, h) * (1 - 1e-9)
    # Also for fewer successes and more failures.
    assert bound >= betaincc(max(S - fewer, 0) + 1, F + more + 1, h) * (1 - 1e-9)


@pytest.mark.parametrize("S, F", [(5, 30), (700, 300), (3_500_000, 1_500_000), (0, 200)])
def test_the_bound_is_close_far_out(S: int, F: int) -> None:
    # With a normal tail z standard deviations out, the exponential has the mass phi(z) / z, the tail about
    # phi(z) / z (1 - 1 / z^2): a ratio of 1.08 at z = 4. Small counts have fatter tails; 1.3 leaves room for them.
    mean = (S + 1) / (S + F + 2)
    h = mean + 4 * math.sqrt(mean * (1 - mean) / (S + F + 3))
    assert tail_bound(float(S), float(F), h) < 1.3 * betaincc(S + 1, F + 1, h)


@pytest.mark.parametrize(
    "S, F, most, least, h",
    [
        (0, 0, 0, 0, 0.9),
        (1, 0, 1, 0, 0.92),
        (7, 0, 7, 0, 0.9),
        (3, 2, 3, 2, 0.7),
        (20, 30, 22, 28, 0.5),
        (700, 300, 706, 297, 0.73),
        (3_500_000, 1_500_000, 3_500_400, 1_499_900, 0.7004),
    ],
)
def test_a_draw_is_an_exact_sample_of_the_tail(S: int, F: int, most: int, least: int, h: float) -> None:
    rng = np.random.default_rng(20250101)
    tries = 40_000
    rate = tail_rate(float(most), float(least), h)
    rise, shift = tail_rise(rate, h), log_density(float(S), float(F), h) - log_density(float(most), float(least), h)
    drawn = tail_draws(float(S), float(F), h, rate, rise, shift, tries, rng)
    kept = np.sort(drawn[drawn >= 0])
    tail = betaincc(S + 1, F + 1, h)
    share = tail / tail_bound(float(most), float(least), h)
    # Five standard deviations: wrong with probability 6e-7 for each of the seven cases.
    assert abs(len(kept) - tries * share) < 5 * math.sqrt(tries * share * (1 - share)) + 1e-6
    # Kolmogorov-Smirnov with the Dvoretzky-Kiefer-Wolfowitz bound 2 exp(-2 n d^2) = 1e-6.
    law = (betainc(S + 1, F + 1, kept) - betainc(S + 1, F + 1, h)) / tail
    n = len(kept)
    distance = max((np.arange(1, n + 1) / n - law).max(), (law - np.arange(n) / n).max())
    assert distance < math.sqrt(math.log(2e6) / (2 * n))


def test_a_normal_law_that_is_large_enough() -> None:
    # x (1 - x) is 0.25 in the middle: sqrt(0.25 / 100) = 0.05, wherever the mode is, if the interval reaches there.
    assert normal_spread(50.0, 50.0, 0.4, 0.6) == pytest.approx(0.05)
    assert normal_spread(70.0, 30.0, 0.0, 1.0) == pytest.approx(0.05)
    # On [0.64, 0.9] it is largest at 0.64: 0.2304 / 100 = 0.048^2. Below the middle, at the upper end.
    assert normal_spread(70.0, 30.0, 0.64, 0.9) == pytest.approx(0.048)
    assert normal_spread(30.0, 70.0, 0.1, 0.36) == pytest.approx(0.048)
    # The mode counts, too, where it lies outside: 0.36 x 0.64 again.
    assert normal_spread(64.0, 36.0, 0.8, 0.9) == pytest.approx(0.048)
    # Hardly any pulls, or a mode so near 1 that the normal law would be more than twice as wide.
    assert normal_spread(3.0, 50.0, 0.0, 0.1) == 0.0
    assert normal_spread(960.0, 40.0, 0.0, 1.0) == 0.0


@given(S=st.integers(4, 5000), F=st.integers(4, 5000), ends=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_the_density_is_below_the_normal_law(S: int, F: int, ends: tuple[float, float]) -> None:
    lo, hi = sorted(ends)
    spread = normal_spread(float(S), float(F), lo, hi)
    if spread > 0:
        mode = S / (S + F)
        for x in np.clip(np.linspace(lo, hi, 25), 1e-9, 1 - 1e-9):
            density = S * math.log(x / mode) + F * math.log((1 - x) / (1 - mode))
            assert density <= -(((x - mode) / spread) ** 2) / 2 + 1e-9


@pytest.mark.parametrize(
    "S, F, lo, hi",
    [
        (0, 0, 0.2, 0.9),
        (1, 0, 0.0, 1.0),
        (4, 4, 0.0, 1.0),
        (4, 9, 0.1, 0.6),
        (30, 5, 0.0, 1.0),
        (5, 30, 0.05, 0.3),
        (40, 13, 0.75, 0.97),
        (700, 300, 0.0, 1.0),
        (700, 300, 0.71, 0.8),
        (700, 300, 0.6, 0.7),
        (1000, 4, 0.0, 1.0),
        (4, 100_000, 0.0, 1.0),
        (70_000, 30_000, 0.69, 0.71),
        (3_500_000, 1_500_000, 0.6995, 0.7005),
        (900_000_000_000, 100_000_000_000, 0.8999, 0.9001),
    ],
)
def test_a_draw_is_an_exact_sample_of_the_inside(S: int, F: int, lo: float, hi: float) -> None:
    rng = np.random.default_rng(20250102)
    n = 100_000
    spread = normal_spread(float(S), float(F), lo, hi)
    drawn = np.sort(inner_draws(float(S), float(F), lo, hi, spread, n, rng))
    assert lo <= drawn[0] and drawn[-1] <= hi
    if S + F > 10**11:  # normal but for a skewness of 5e-6, of which [lo, hi] cuts off nothing; SciPy takes seconds
        mean = (S + 1) / (S + F + 2)
        law = norm.cdf((drawn - mean) / math.sqrt(mean * (1 - mean) / (S + F + 3)))
    else:
        below = betainc(S + 1, F + 1, lo)
        law = (betainc(S + 1, F + 1, drawn) - below) / (betainc(S + 1, F + 1, hi) - below)
    # Kolmogorov-Smirnov as above, error 1e-6 for each case: a distance of 0.0085.
    distance = max((np.arange(1, n + 1) / n - law).max(), (law - np.arange(n) / n).max())
    assert distance < math.sqrt(math.log(2e6) / (2 * n))
    # Tenths of the law, for mistakes that a distance does not show: chi-square with nine degrees of freedom is above
    # 53.2 with probability 2.7e-8.
    counts = np.bincount(np.minimum((law * 10).astype(int), 9), minlength=10)
    assert ((counts - n / 10) ** 2 / (n / 10)).sum() < 53.2


@pytest.mark.parametrize("S, F", [(4, 4), (40, 13), (700, 300), (70_000, 30_000)])
def test_what_bounds_decide_is_what_logarithms_would(S: int, F: int) -> None:
    # The literal acceptance, from the same random numbers, gives the same samples, one by one.
    def literal(rng: np.random.Generator, spread: float) -> float:
        mode = S / (S + F)
        while True:
            z = rng.standard_normal()
            x = mode + z * spread
            if 0 <= x <= 1:
                keep = S * math.log(x / mode) + F * math.log((1 - x) / (1 - mode)) + z * z / 2
                if rng.standard_exponential() > -keep:
                    return x

    spread = normal_spread(float(S), float(F), 0.0, 1.0)
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(3000):
        assert inner_draw(float(S), float(F), 0.0, 1.0, spread, first) == pytest.approx(
            literal(second, spread), abs=1e-12
        )
