"""The two-sample machinery: what must pass passes, what must fail fails, and chance fails as rarely as promised."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stats import TESTS_PER_COLUMN, fisher, kolmogorov_smirnov, p_values, reject


def test_equal_constants_pass_and_different_ones_fail() -> None:
    assert list(p_values([3] * 300, [3] * 900)) == [1.0] * (TESTS_PER_COLUMN - 3)  # there is one value only
    assert reject({"x": [3] * 300}, {"x": [3] * 900}, 1e-3) == []
    assert [name for name, _ in reject({"x": [3] * 300}, {"x": [4] * 900}, 1e-9)] == ["x"]


def test_sums_in_another_order_are_equal() -> None:
    assert reject({"x": [0.1 + 0.2] * 300}, {"x": [0.3] * 300}, 1e-3) == []


def test_kolmogorov_smirnov_by_hand() -> None:
    # Half of x below all of y: D = 1/2, so e exp(-2 / 4 * 100 * 100 / 200) = e^-24.
    x = np.repeat([0.0, 1.0], 50)
    assert kolmogorov_smirnov(x, np.ones(100)) == pytest.approx(math.exp(-24))


def test_fisher_by_hand() -> None:
    # 4 of 4 against 0 of 4: one of C(8, 4) = 70 ways, doubled.
    yes, no = np.ones(4, dtype=bool), np.zeros(4, dtype=bool)
    assert fisher(yes, no) == pytest.approx(2 / 70)
    assert fisher(no, yes) == pytest.approx(2 / 70)
    assert fisher(yes, yes) == fisher(no, no) == 1.0


def test_rare_outcomes_are_seen() -> None:
    # 5% of outliers are far below what a Kolmogorov-Smirnov test of this size can see.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=300), rng.normal(size=2000)
    x[:15] += 100
    assert kolmogorov_smirnov(x, y) > 0.01
    assert reject({"x": x}, {"x": y}, 1e-6)


def test_columns_must_agree() -> None:
    with pytest.raises(ValueError, match="'y'"):
        reject({"x": [1]}, {"y": [1]}, 0.5)


@pytest.mark.parametrize("law", ["normal", "poisson", "rare"])
def test_chance_fails_as_rarely_as_promised(law: str) -> None:
    # 400 pairs of samples of one law at an error of 10%: 40 failures at most on average (sd 6), and more than 70
    # with probability below 2e-6 (binomial).
    rng = np.random.default_rng(1)
    laws: dict[str, Callable[[int], NDArray[Any]]] = {
        "normal": lambda n: rng.normal(size=n),
        "poisson": lambda n: rng.poisson(1.0, size=n),
        "rare": lambda n: rng.random(n) < 0.01,
    }
    failures = sum(bool(reject({"x": laws[law](100)}, {"x": laws[law](300)}, 0.1)) for _ in range(400))
    assert failures <= 70


def test_number_of_tests_is_counted() -> None:
    assert len(list(p_values(range(50), range(60)))) == TESTS_PER_COLUMN
