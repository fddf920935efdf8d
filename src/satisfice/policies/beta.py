"""Tails of Beta distributions, sampled without the incomplete beta function.

The density of Beta(S + 1, F + 1) is log-concave, so beyond any point `h` it lies below the exponential that
touches it there. The mass of that exponential bounds the tail, and a point of it, kept with the probability
`density / exponential`, is an exact draw: a bound is enough where a probability would have to be computed.
Lower tails are upper tails of `1 - x`, with `S` and `F` exchanged. Plain functions, compiled with the rule.
"""

from __future__ import annotations

import math

import numpy as np

LOG_2PI = math.log(2.0 * math.pi)


def stirling_error(k: float) -> float:
    """`log k!` minus Stirling's formula, for `k >= 1`, to about 1e-15."""
    if k < 16.0:
        return math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - 0.5 * LOG_2PI
    square = k * k
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / k


def deviance(k: float, expected: float) -> float:
    """`k log(k / expected) + expected - k`, without the cancellation."""
    off = (expected - k) / k
    return k * (off - math.log1p(off))


def log_density(S: float, F: float, x: float) -> float:
    """Log density of Beta(S + 1, F + 1) at `0 < x < 1`.

    `n + 1` times a binomial probability in Loader's form: differences of log-gammas would lose eight digits
    at millions of pulls.
    """
    n = S + F
    if S == 0.0:
        return math.log(n + 1.0) + F * math.log1p(-x)
    if F == 0.0:
        return math.log(n + 1.0) + S * math.log(x)
    error = stirling_error(n) - stirling_error(S) - stirling_error(F)
    scale = math.log(n + 1.0) + 0.5 * (math.log(n / S / F) - LOG_2PI)
    return scale + error - deviance(S, n * x) - deviance(F, n * (1.0 - x))


def tail_bound(S: float, F: float, h: float) -> float:
    """Mass above `h` of the exponential that touches the density of Beta(S + 1, F + 1) there.

    It bounds the tail of Beta(S' + 1, F' + 1) too when `S' <= S`, `F' >= F` and `h` is at least the mean
    `(S + 1) / (S + F + 2)`: one success more multiplies the density by `x` over the mean, one failure more by
    `1 - x` over one minus the mean.
    """
    width = 1.0 - h
    slope = (S / h - F / width) * width
    share = math.expm1(slope) / slope if abs(slope) > 1e-9 else 1.0
    return math.exp(log_density(S, F, h)) * width * share


def tail_draw(S: float, F: float, most: float, least: float, h: float, rng: np.random.Generator) -> float:
    """A point above `h`, with the density of Beta(S + 1, F + 1) over `tail_bound(most, least, h)`, else -1.

    So an event of probability `tail_bound` that is followed by this draw, and undone when the draw is -1, is
    exactly the event that a sample of Beta(S + 1, F + 1) lies above `h`, with that sample's law.
    """
    width = 1.0 - h
    rate = most / h - least / width
    slope = rate * width
    over = width * rng.random()
    if abs(slope) > 1e-9:
        over = math.log1p(over / width * math.expm1(slope)) / rate
    if over >= width:
        return -1.0
    keep = S * math.log1p(over / h) + F * math.log1p(-over / width) - rate * over
    if most > S or least < F:
        keep += log_density(S, F, h) - log_density(most, least, h)
    return h + over if rng.standard_exponential() > -keep else -1.0
