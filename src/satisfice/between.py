"""What rewards that lie between 0 and 1 tell beyond coin flips of the same sum.

The inequality. Let a reward `X` within [0, 1] have the mean `mu`, and let `q` be any other mean within (0, 1). With the
odds ratio `r = q (1 - mu) / (mu (1 - q))` and `c(v) = v - 1 + exp(-v)`,

    (q / mu)^X ((1 - q) / (1 - mu))^(1 - X) exp(c(|log r|) X (1 - X))  <=  (1 - X) (1 - q) / (1 - mu) + X q / mu.

Proof: let `r >= 1` (else look at `1 - X`), divide by `(1 - q) / (1 - mu)` and take logs. Then `h(X) = log(1 - X + r X)`
is to be at least the parabola `X log r + c X (1 - X)`, which has its values at 0 and 1 and its slope `1 - 1 / r` at 1.
So they differ by `X (1 - X)^2 / 6` times the third derivative of `h` somewhere within [0, 1], which is at least 0.

The martingale. The mean of the right side is 1, so the product of the left sides over the rewards of an arm is a
nonnegative supermartingale that starts at 1, whichever arm is pulled when, and so is its mixture `M(mu)` over all `q`
with the weights Beta(1/2, 1/2). That is the mixture of coin flips (`satisfice.statistics`) with `exp(c D)` inside the
integral: `D`, the sum of `X (1 - X)`, is the sum `S` of the rewards less the sum of their squares, and 0 for rewards of
0 and 1. It covers means above and below at once.

The number. `c` is convex and at least 0, so it lies above its tangents, `c(|v|) >= b v - k(|b|)` for all `v`, with a
slope `b` within (-1, 1) and `k(b) = b + (1 - b) log(1 - b)`. Now `exp(b D log r)` is what moving `b D` from the rewards
of 0 to those of 1 would be. So for all `mu` and all `b` at once, chosen after looking or not,

    log M(mu)  >=  n kl(p, mu) - penalty(n, p) - D k(|b|),    p = (S + b D) / n.

Rewards count as coin flips of a mean that is further away, at a price. `b = 0` are coin flips. For rewards of variance
`v` whose mean `m` is close to `mu`, the best `b` makes it about `n (m - mu)^2 / (2 v)`.

Late rewards. Since `c >= 0`, a reward that is still to come tells at least as much as if it had no part in `D`, that
is, as coin flips do; and those tell least at 0 or at 1.
"""

from __future__ import annotations

import math

from satisfice import statistics
from satisfice.statistics import BELOW_ONE, TINY, kl, penalty

# Steps towards the means at which two arms meet, and how far they may be off; what is answered is proved at any point.
STEPS, CLOSE = 8, 0.05
# Bisections that an end of an interval takes; what is answered is on the outside.
HALVINGS = 32
# Rewards that lie between 0 and 1 by less than this share of what is possible are taken for coin flips.
ALIKE = 1e-6


def between(n: float, total: float, squares: float) -> float:
    """The mean of `X (1 - X)`, from the number of rewards within [0, 1], their sum and the sum of their squares.

    Squares that cannot be, or are not kept, count as those of coin flips, which are never less: then it is 0.

    Examples
    --------
    >>> between(4, 3, 3), between(4, 2, 1), between(4, 2, 0)  # coin flips; four times 1/2; not kept
    (0.0, 0.25, 0.0)
    """
    if n <= 0.0 or squares * n < total * total * (1.0 - 1e-9):
        return 0.0
    m = total / n
    most = m * (1.0 - m)
    d = min((total - squares) / n, most)
    return d if d > ALIKE * most else 0.0


def stretched(m: float, d: float, mu: float) -> tuple[float, float]:
    """The mean `p` that rewards of mean `m` count with against the mean `mu`, and what that costs for each, in nats.

    Where `kl(p, mu) - d k(b)` is largest, `1 - b = (1 - p) mu / (p (1 - mu))`, a quadratic equation for `b`.

    Examples
    --------
    >>> p, lost = stretched(0.5, 0.25, 5 / 11)  # rewards of 1/2, b = 1/2: (3/8) (5/11) / ((5/8) (6/11)) = 1/2
    >>> p, round(lost, 6) == round(0.25 * (0.5 + 0.5 * math.log(0.5)), 6)
    (0.625, True)
    >>> stretched(0.5, 0.0, 0.4)
    (0.5, 0.0)
    >>> stretched(2e-282, 2e-282, 1e-282)
    (2e-282, 0.0)
    """
    if d <= 0.0 or m == mu:
        return m, 0.0
    if m > mu:
        gap, half, square = m - mu, m * (1.0 - mu) - d, d * (1.0 - mu)
    else:
        gap, half, square = mu - m, (1.0 - m) * mu - d, d * mu
    half = max(half, 0.0)
    below = half + math.sqrt(half * half + 4.0 * square * gap)
    if below <= 0.0:  # of means around 1e-200 there is nothing left; without `b` less is proved, and nothing wrong
        return m, 0.0
    b = min(2.0 * gap / below, BELOW_ONE)
    return (m + b * d if m > mu else m - b * d), d * (b + (1.0 - b) * math.log1p(-b))


def rate(m: float, d: float, mu: float, sigma: float = 0.0) -> float:
    """Nats that each reward tells against the mean `mu`: `kl(m, mu)` where `d` is 0.

    Examples
    --------
    >>> [round(rate(0.7, d, 0.65), 4) for d in (0.0, 0.17, 0.21)]  # a standard deviation of 0.46, 0.2 and 0
    [0.0056, 0.0173, 0.0273]
    """
    p, lost = stretched(m, d, mu)
    return kl(p, mu, sigma) - lost


def crossing(n_i: float, m_i: float, d_i: float, n_j: float, m_j: float, d_j: float, scale: float) -> float:
    """About the `x` for which `n_i rate(m_i, d_i, scale x) + n_j rate(m_j, d_j, x)` is smallest.

    It is convex, so its slope has one zero, between `m_i / scale` and `m_j`: false position, from where the rewards
    would meet if they were normal.

    Examples
    --------
    >>> round(crossing(10, 0.5, 0.0, 30, 0.9, 0.0, scale=1.0), 6)
    0.8
    """
    own = min(m_i / max(scale, TINY), BELOW_ONE)
    other = min(m_j, BELOW_ONE)
    low, high = min(own, other), max(own, other)
    at_low = _slope(n_i, m_i, d_i, n_j, m_j, d_j, scale, low)
    at_high = _slope(n_i, m_i, d_i, n_j, m_j, d_j, scale, high)
    if at_low >= 0.0 or at_high <= 0.0:
        return low if at_low >= 0.0 else high
    weight = n_i * scale * scale * max(m_j * (1.0 - m_j) - d_j, 1e-12)
    rest = n_j * max(m_i * (1.0 - m_i) - d_i, 1e-12)
    x = (weight * own + rest * other) / (weight + rest)
    last = 0
    for _ in range(STEPS):
        slope = _slope(n_i, m_i, d_i, n_j, m_j, d_j, scale, x)
        if slope < 0.0:
            low, at_low = x, slope
            if last < 0:
                at_high *= 0.5
            last = -1
        else:
            high, at_high = x, slope
            if last > 0:
                at_low *= 0.5
            last = 1
        step = high - at_high * (high - low) / (at_high - at_low) - x
        x += step
        if abs(step) <= CLOSE * min(abs(x - own), abs(x - other)):
            break
    return x


def _slope(n_i: float, m_i: float, d_i: float, n_j: float, m_j: float, d_j: float, scale: float, x: float) -> float:
    """The slope of what `crossing` makes smallest, times `x` and what keeps it from growing without bound."""
    y = scale * x
    own, other = y - stretched(m_i, d_i, y)[0], x - stretched(m_j, d_j, x)[0]
    if own > 0.0 or other < 0.0:
        return n_i * own + n_j * other * (1.0 - y) / (1.0 - x)
    return n_i * own * (1.0 - x) / (1.0 - y) + n_j * other


def interval(n: int, total: float, squares: float, delta: float) -> tuple[float, float]:
    """A confidence interval for the mean of rewards within [0, 1] that holds at all times at once.

    For every slope `b`, what speaks against a mean grows as the mean moves away: a mean that is out takes all beyond
    it along.

    Parameters
    ----------
    n : int
        Rewards seen.
    total, squares : float
        Their sum, and the sum of their squares (where that is not known, the sum is never less).
    delta : float
        Probability, within (0, 1), that the interval ever misses the true mean.

    Examples
    --------
    >>> low, high = interval(1000, 500, 500, delta=0.05)  # coin flips
    >>> round(low, 3), round(high, 3)
    (0.442, 0.558)
    >>> low, high = interval(1000, 500, 260, delta=0.05)  # a standard deviation of 0.1
    >>> round(low, 3), round(high, 3)
    (0.476, 0.524)
    """
    if n <= 0:
        return 0.0, 1.0
    m = min(total / n, 1.0)
    low, high = statistics.interval(n, m, delta)  # what coin flips leave
    d = between(n, total, squares)
    if d <= 0.0:
        return low, high
    enough = math.log(1.0 / delta)
    return 1.0 - _high(n, 1.0 - m, d, 1.0 - low, enough), _high(n, m, d, high, enough)


def _high(n: float, m: float, d: float, outside: float, enough: float) -> float:
    """The largest mean that is left, by bisection; it is at most `outside`."""
    inside = m
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        if against_mean(n, m, d, middle) <= enough:
            inside = middle
        else:
            outside = middle
    return outside


def against_mean(n: float, m: float, d: float, mu: float) -> float:
    """Nats, valid at any time, of `n` rewards of mean `m` against the mean `mu`.

    Examples
    --------
    >>> round(against_mean(1000, 0.5, 0.0, 0.6), 2), round(against_mean(1000, 0.5, 0.24, 0.6), 2)  # flips; ratings
    (16.73, 61.66)
    """
    p, price = stretched(m, d, mu)
    return n * (kl(p, mu) - price) - penalty(n, p)
