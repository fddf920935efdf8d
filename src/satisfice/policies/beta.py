"""Parts of Beta distributions, sampled without the incomplete beta function.

The density of Beta(S + 1, F + 1) is log-concave, so beyond any point `h` it lies below the exponential that
touches it there. The mass of that exponential bounds the tail, and a point of it, kept with the probability
`density / exponential`, is an exact draw: a bound is enough where a probability would have to be computed.
Lower tails are upper tails of `1 - x`, with `S` and `F` exchanged. Inside an interval a normal law is large enough, and
nearly the density itself (`normal_spread`). Plain functions, compiled with the rule.
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


def tail_rate(S: float, F: float, h: float) -> float:
    """The rate at which the exponential of `tail_bound` grows beyond `h`."""
    return S / h - F / (1.0 - h)


def tail_rise(rate: float, h: float) -> float:
    """How much that exponential grows up to 1, less 1; 0 where it is nearly flat."""
    slope = rate * (1.0 - h)
    return math.expm1(slope) if abs(slope) > 1e-9 else 0.0


def tail_draw(S: float, F: float, h: float, rate: float, rise: float, shift: float, rng: np.random.Generator) -> float:
    """A point above `h`, with the density of Beta(S + 1, F + 1) over the mass of an exponential, else -1.

    The exponential is that of `tail_bound(most, least, h)`, given by its `rate`, its `rise` and `shift`, the log
    density of Beta(S + 1, F + 1) at `h` less that of Beta(most + 1, least + 1); `most >= S` and `least <= F`. So an
    event of probability `tail_bound` that is followed by this draw, and undone when the draw is -1, is exactly the
    event that a sample of Beta(S + 1, F + 1) lies above `h`, with that sample's law.
    """
    width = 1.0 - h
    over = width * rng.random()
    if rise != 0.0:
        over = math.log1p(over / width * rise) / rate
    if over >= width:
        return -1.0
    limit = rng.standard_exponential()
    a, b = over / h, over / width
    # With log(1 + a) = a - a^2 / 2 + ... and -log(1 - b) = b + b^2 / 2 + ..., cut off: two bounds that nearly always
    # say what the logarithms would.
    straight = rate * over - S * a + F * b - shift
    bend_a, bend_b = 0.5 * S * a * a, 0.5 * F * b * b
    if limit > straight + bend_a + bend_b / (1.0 - b):
        return h + over
    if limit <= straight + bend_a * (1.0 - a / 1.5) + bend_b:
        return -1.0
    keep = S * math.log1p(a) + F * math.log1p(-b) - rate * over + shift
    return h + over if limit > -keep else -1.0


def normal_spread(S: float, F: float, lo: float, hi: float) -> float:
    """The standard deviation of a normal law around the mode that `inner_draw` can use, 0 if there is none.

    With the mode `m = S / n`, the log density of Beta(S + 1, F + 1) has the slope `n (m - x) / (x (1 - x))`, that of a
    normal law `(m - x) / s^2`. Where `x (1 - x) <= n s^2` between `m` and every point of the interval, the density
    falls faster than the normal one on both sides of `m`: divided by their values there, it is never the larger one.
    """
    if S < 4.0 or F < 4.0:
        return 0.0
    n = S + F
    mode = S / n
    nearest = min(max(0.5, min(lo, mode)), max(hi, mode))
    most = nearest * (1.0 - nearest)
    return math.sqrt(most / n) if mode * (1.0 - mode) > 0.25 * most else 0.0


def inner_draw(S: float, F: float, lo: float, hi: float, spread: float, rng: np.random.Generator) -> float:
    """A sample of Beta(S + 1, F + 1) that lies within [lo, hi]; `spread` is from `normal_spread`."""
    if spread == 0.0:
        while True:
            theta = float(rng.beta(S + 1.0, F + 1.0))
            if lo <= theta <= hi:
                return theta
    mode = S / (S + F)
    while True:
        z = rng.standard_normal()
        off = z * spread
        theta = mode + off
        if not lo <= theta <= hi:
            continue
        limit = rng.standard_exponential() + 0.5 * z * z
        a, b = off / mode, -off / (1.0 - mode)
        # log(1 + a) = a - a^2 / 2 + a^3 / 3 - ..., of which the first terms of `a` and `b` cancel. The first three are
        # too much, by no more than half the fourth power where |a| is at most 1/2. The logarithms are seldom needed.
        a_square, b_square = a * a, b * b
        keep = S * a_square * (a / 3.0 - 0.5) + F * b_square * (b / 3.0 - 0.5)
        if limit <= -keep:
            continue
        more = 0.5 * (S * a_square * a_square + F * b_square * b_square)
        if abs(a) <= 0.5 and abs(b) <= 0.5 and limit > more - keep:
            return theta
        if limit > -S * math.log1p(a) - F * math.log1p(b):
            return theta
