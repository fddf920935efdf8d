"""Kullback-Leibler divergences, and the paper's key quantities D_inf and its twin.

`D_inf(nu, x)` is the smallest divergence from `nu` to a distribution of its family whose mean is above `x`;
the twin asks for a mean of at most `x` (Appendix E). In the two families here a distribution is known by its
mean and the divergence grows with the distance of the means, so both are the divergence to `x` itself.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from satisfice.errors import InvalidInstance
from satisfice.problem import Floats
from satisfice.words import is_number

Family = Literal["bernoulli", "gaussian"]
FAMILIES: tuple[Family, ...] = ("bernoulli", "gaussian")


def kl_bernoulli(p: ArrayLike, q: ArrayLike) -> Floats:
    """Divergence `kl(p, q)` between two Bernoulli distributions, in nats.

    Exact at the edges (`kl(0, q) = -log(1 - q)`, infinite where `q` rules out what `p` allows) and accurate
    where `p` and `q` are almost equal, where the textbook formula loses every digit.

    Parameters
    ----------
    p, q : array_like
        Means within [0, 1]; they are broadcast together.

    Raises
    ------
    InvalidInstance
        When a mean is outside [0, 1].

    Examples
    --------
    >>> float(kl_bernoulli(0.5, 0.25).round(6))
    0.143841
    >>> kl_bernoulli([0.0, 1.0, 0.3], [0.5, 0.0, 0.3]).tolist()
    [0.6931471805599453, inf, 0.0]
    """
    a, b = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    for array in (a, b):
        if not np.all((array >= 0) & (array <= 1)):
            raise InvalidInstance(f"a Bernoulli mean must be within [0, 1]; got {array[()]}")
    return _excess(a, b, b - a) + _excess(1 - a, 1 - b, a - b)


def kl_gaussian(mean: ArrayLike, other: ArrayLike, sigma: float = 1.0) -> Floats:
    """Divergence between two Gaussian distributions of the same standard deviation, in nats.

    `(mean - other)^2 / (2 sigma^2)`; the order of the two means does not matter.

    Examples
    --------
    >>> float(kl_gaussian(0.5, 0.7, sigma=0.5).round(6))
    0.08
    """
    check_sigma(sigma)
    distance = (np.asarray(mean, dtype=np.float64) - np.asarray(other, dtype=np.float64)) / sigma
    return np.asarray(distance * distance / 2)


def d_inf(family: Family, mean: float, x: float, sigma: float = 1.0) -> float:
    """`D_inf(nu, x)`: divergence to the nearest distribution of the family with a mean above `x`.

    0 when `mean >= x`, since a distribution as near as one likes will do; infinite when no mean is above `x`,
    as in the Bernoulli family with `x >= 1`.

    Parameters
    ----------
    family : {"bernoulli", "gaussian"}
        The family that the reward distribution is known to belong to.
    mean, x : float
        The mean of `nu`, and the mean to exceed.
    sigma : float
        Standard deviation of the Gaussian family; the Bernoulli family has no use for it.

    Raises
    ------
    InvalidInstance
        For an unknown family, a Bernoulli mean outside [0, 1] or a `sigma` that is not above 0.

    Examples
    --------
    >>> d_inf("gaussian", mean=0.5, x=1.0)
    0.125
    >>> d_inf("bernoulli", mean=0.5, x=1.0)
    inf
    """
    if check_family(family) == "bernoulli" and x >= 1:
        return math.inf
    return 0.0 if mean >= x else _between(family, mean, x, sigma)


def d_inf_twin(family: Family, mean: float, x: float, sigma: float = 1.0) -> float:
    """The modified `D_inf(nu, x)`: divergence to the nearest distribution with a mean of at most `x`.

    0 when `mean <= x`; infinite when no mean is at most `x`, as in the Bernoulli family with `x < 0`.
    Parameters and errors are those of `d_inf`.

    Examples
    --------
    >>> d_inf_twin("gaussian", mean=1.0, x=0.5, sigma=0.5)
    0.5
    """
    if check_family(family) == "bernoulli" and x < 0:
        return math.inf
    return 0.0 if mean <= x else _between(family, mean, x, sigma)


def check_family(family: str) -> str:
    """The family, or `InvalidInstance` when there is no such one."""
    if family not in FAMILIES:
        raise InvalidInstance(f"there is no reward family {family!r}; use {' or '.join(FAMILIES)}")
    return family


def check_sigma(sigma: float) -> float:
    """The standard deviation, or `InvalidInstance` when it is not above 0, or its square is no number."""
    if not (is_number(sigma) and sigma > 0):
        raise InvalidInstance(f"sigma = {sigma}; the standard deviation of a Gaussian reward must be above 0")
    if not 1e-100 <= sigma <= 1e100:
        raise InvalidInstance(f"sigma = {sigma}; bounds take a standard deviation within [1e-100, 1e100]")
    return float(sigma)


def _between(family: Family, mean: float, x: float, sigma: float) -> float:
    return float(kl_bernoulli(mean, x) if family == "bernoulli" else kl_gaussian(mean, x, sigma))


def _excess(a: Floats, b: Floats, difference: Floats) -> Floats:
    """`a log(a / b) + b - a`, at least 0, given `difference = b - a`.

    The two excesses of a Bernoulli divergence add up to it, because the differences cancel. Neither is ever
    negative, so unlike the two summands of the textbook formula they cannot cancel each other.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = difference / a
        # u - log(1 + u) by its series where u is small: computed directly it would be lost in rounding.
        series = a * u * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u * (1 / 7 - u / 8))))))
        direct = difference - a * np.where(np.abs(u) < 0.5, np.log1p(u), np.log(b) - np.log(a))
    return np.where(a == 0, b, np.where(np.abs(u) < 0.01, series, direct))
