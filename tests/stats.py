"""Two-sample tests that hold at any sample size and for any law: continuous, discrete or constant.

`reject` splits an error probability over many small tests (Bonferroni), each of which is valid as it stands, so
that two samples of one law are told apart with at most that probability. No test relies on a law without
atoms: constants that are equal always pass, constants that differ always fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import hypergeom

# The sets of values whose frequency is compared by itself: the commonest values and the tails.
COMMONEST = 4
TAILS = (0.005, 0.03, 0.15)
TESTS_PER_COLUMN = 1 + COMMONEST + 2 * len(TAILS)


def kolmogorov_smirnov(x: ArrayLike, y: ArrayLike) -> float:
    """A bound on the p-value of the largest distance D between two empirical distribution functions.

    P(D >= d) <= e exp(-2 d^2 n m / (n + m)): the Dvoretzky-Kiefer-Wolfowitz-Massart inequality for two samples
    (Wei and Dudley, Statistics and Probability Letters, 2012). Ties only make D smaller.
    """
    x, y = np.sort(np.asarray(x, dtype=float)), np.sort(np.asarray(y, dtype=float))
    pooled = np.concatenate([x, y])
    distance = np.abs(
        np.searchsorted(x, pooled, side="right") / len(x) - np.searchsorted(y, pooled, side="right") / len(y)
    ).max()
    return min(1.0, math.exp(1 - 2 * distance**2 * len(x) * len(y) / (len(x) + len(y))))


def fisher(x: NDArray[np.bool_], y: NDArray[np.bool_]) -> float:
    """Fisher's exact p-value (twice the smaller tail) for one event that happened in x and in y.

    Given how often it happened in both together, the count in x is hypergeometric when the laws are equal.
    """
    count = int(x.sum())
    law = (len(x) + len(y), count + int(y.sum()), len(x))
    return min(1.0, 2 * float(min(hypergeom.cdf(count, *law), hypergeom.sf(count - 1, *law))))


def p_values(x: ArrayLike, y: ArrayLike) -> Iterator[float]:
    """The p-values of one column of results: at most `TESTS_PER_COLUMN` of them.

    The Kolmogorov-Smirnov test sees shifts of the middle; Fisher's tests see what it does not, rare outcomes:
    how often each of the commonest values occurs, and how often the tails of the pooled sample do (these
    events depend on the pooled sample alone, so Fisher's argument holds for them).
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    pooled = np.concatenate([x, y])
    values, counts = np.unique(pooled, return_counts=True)
    yield kolmogorov_smirnov(x, y)
    for value in values[np.argsort(-counts, kind="stable")[:COMMONEST]]:
        yield fisher(x == value, y == value)
    for tail in TAILS:
        low, high = np.quantile(pooled, [tail, 1 - tail])
        yield fisher(x <= low, y <= low)
        yield fisher(x >= high, y >= high)


def reject(first: Mapping[str, ArrayLike], second: Mapping[str, ArrayLike], error: float) -> list[tuple[str, float]]:
    """The columns in which two samples of runs differ, with the smallest p-value of each.

    Under equal laws of all columns the list is empty with probability at least 1 - `error`, whatever the
    dependence between the columns. Columns are rounded to 9 decimals: sums taken in another order are equal.
    """
    if first.keys() != second.keys():
        raise ValueError(f"different columns: {sorted(first.keys() ^ second.keys())}")
    level = error / (len(first) * TESTS_PER_COLUMN)
    smallest = {name: min(p_values(_rounded(first[name]), _rounded(second[name]))) for name in first}
    return [(name, p) for name, p in smallest.items() if p <= level]


def _rounded(values: ArrayLike) -> NDArray[np.float64]:
    return np.round(np.asarray(values, dtype=float), 9)
