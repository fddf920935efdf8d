"""Divergences: by hand, against 50-digit arithmetic, against numerical minimisation, and at the edges."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from satisfice.bounds.divergences import FAMILIES, Family, d_inf, d_inf_twin, kl_bernoulli, kl_gaussian
from satisfice.errors import InvalidInstance

unit = st.floats(0, 1)
inside = st.floats(0.001, 0.999)


def exact_kl(p: float, q: float) -> float:
    """The textbook formula in 60 digits, for 0 < p, q < 1."""
    with decimal.localcontext() as context:
        context.prec = 60
        a, b = decimal.Decimal(p), decimal.Decimal(q)
        return float(a * (a / b).ln() + (1 - a) * ((1 - a) / (1 - b)).ln())


def test_bernoulli_by_hand() -> None:
    # kl(1/2, 1/4) = 1/2 log 2 + 1/2 log(2/3) = 1/2 log(4/3)
    assert kl_bernoulli(0.5, 0.25) == pytest.approx(0.5 * math.log(4 / 3), rel=1e-14)
    # kl(0, q) = -log(1 - q); kl(1, q) = -log q
    assert kl_bernoulli(0.0, 0.2) == pytest.approx(-math.log(0.8), rel=1e-14)
    assert kl_bernoulli(1.0, 0.2) == pytest.approx(-math.log(0.2), rel=1e-14)


def test_bernoulli_at_the_corners() -> None:
    p, q = np.meshgrid([0.0, 0.3, 1.0], [0.0, 0.3, 1.0], indexing="ij")
    expected = [
        [0.0, -math.log(0.7), math.inf],
        [math.inf, 0.0, math.inf],
        [math.inf, -math.log(0.3), 0.0],
    ]
    np.testing.assert_allclose(kl_bernoulli(p, q), expected, rtol=1e-14)


@given(unit, unit)
def test_bernoulli_is_a_divergence(p: float, q: float) -> None:
    value = float(kl_bernoulli(p, q))
    assert value >= 0
    assert not math.isnan(value)
    assert (value == 0) == (p == q) or abs(p - q) < 1e-150  # a squared difference that small underflows
    assert value >= 2 * (p - q) ** 2 * (1 - 1e-9)  # Pinsker's inequality


@given(inside, inside)
def test_bernoulli_against_sixty_digits(p: float, q: float) -> None:
    assert kl_bernoulli(p, q) == pytest.approx(exact_kl(p, q), rel=1e-9, abs=1e-300)


@given(st.floats(0.01, 0.99), st.floats(-13, -1))
def test_bernoulli_keeps_its_digits_where_the_means_almost_agree(p: float, exponent: float) -> None:
    # The textbook formula in double precision is pure noise here: kl is about 1e-26 at a distance of 1e-13.
    q = p + 10**exponent * 0.009
    assert kl_bernoulli(p, q) == pytest.approx(exact_kl(p, q), rel=1e-9)


@given(st.floats(1e-300, 1e-3), st.floats(1e-300, 1e-3))
def test_bernoulli_near_zero_and_near_one(p: float, q: float) -> None:
    assert kl_bernoulli(p, q) == pytest.approx(exact_kl(p, q), rel=1e-6)
    assert kl_bernoulli(1 - p, 1 - q) == pytest.approx(
        float(kl_bernoulli(1 - (1 - p), 1 - (1 - q))), rel=1e-6, abs=1e-30
    )


def test_gaussian_closed_form() -> None:
    # (0.9 - 0.6)^2 / (2 x 0.5^2) = 0.09 / 0.5 = 0.18
    assert kl_gaussian(0.9, 0.6, sigma=0.5) == pytest.approx(0.18, rel=1e-14)
    assert kl_gaussian([0.0, 1.0], 1.0).tolist() == [0.5, 0.0]


@given(inside, inside)
def test_bernoulli_d_inf_is_the_smallest_divergence(mean: float, x: float) -> None:
    """A numerical minimisation over the means above x, and over those at most x."""
    above = minimize_scalar(lambda q: float(kl_bernoulli(mean, q)), bounds=(x, 1.0), options={"xatol": 1e-12})
    below = minimize_scalar(lambda q: float(kl_bernoulli(mean, q)), bounds=(0.0, x), options={"xatol": 1e-12})
    for found, value in ((above, d_inf("bernoulli", mean, x)), (below, d_inf_twin("bernoulli", mean, x))):
        assert value <= found.fun + 1e-12
        assert value == pytest.approx(found.fun, rel=1e-4, abs=1e-9)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(0.01, 10))
def test_gaussian_d_inf_is_its_closed_form(mean: float, x: float, sigma: float) -> None:
    closed = (mean - x) ** 2 / (2 * sigma**2)
    assert d_inf("gaussian", mean, x, sigma) == pytest.approx(closed if mean < x else 0.0, rel=1e-12, abs=1e-300)
    assert d_inf_twin("gaussian", mean, x, sigma) == pytest.approx(closed if mean > x else 0.0, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("family", FAMILIES)
@given(mean=unit, x=st.floats(-1, 2), step=st.floats(0, 1))
def test_d_inf_grows_with_the_distance(family: Family, mean: float, x: float, step: float) -> None:
    assert d_inf(family, mean, x + step) >= d_inf(family, mean, x) >= 0
    assert d_inf_twin(family, mean, x - step) >= d_inf_twin(family, mean, x) >= 0
    # A mean is above x or at most x: one of the two changes is free.
    assert 0 in (d_inf(family, mean, x), d_inf_twin(family, mean, x)) or family == "bernoulli"


def test_where_no_bernoulli_mean_will_do() -> None:
    assert d_inf("bernoulli", 0.4, 1.0) == d_inf("bernoulli", 1.0, 1.0) == d_inf("bernoulli", 0.4, 1.5) == math.inf
    assert d_inf_twin("bernoulli", 0.4, -0.1) == d_inf_twin("bernoulli", 0.0, -0.1) == math.inf
    # A mean of at most 0 exists, but 0 rules out the ones that 0.4 allows.
    assert d_inf_twin("bernoulli", 0.4, 0.0) == math.inf
    assert d_inf_twin("bernoulli", 0.0, 0.0) == 0
    assert d_inf("gaussian", 0.4, math.inf) == math.inf


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidInstance, match=r"within \[0, 1\]; got 1\.5"):
        kl_bernoulli(1.5, 0.5)
    with pytest.raises(InvalidInstance, match="got nan"):
        kl_bernoulli(math.nan, 0.5)
    with pytest.raises(InvalidInstance, match="sigma = 0"):
        kl_gaussian(0.1, 0.2, sigma=0)
    with pytest.raises(InvalidInstance, match="no reward family 'poisson'; use bernoulli or gaussian"):
        d_inf("poisson", 0.1, 0.2)  # type: ignore[arg-type]
