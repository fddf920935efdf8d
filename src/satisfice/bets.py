"""Confidence sequences that know how much rewards vary, from their number, their sum and the sum of their squares.

For rewards within [0, 1] of mean `mu`, `x = mu - X` (or `X - mu`) is at least -1. For `0 <= l < 1` and
`psi(l) = -log(1 - l) - l`, `exp(l x - psi(l) x^2) <= 1 + l x` (Fan, Grama and Liu, 2015). So the product of the left
sides over rewards is a supermartingale, whichever arm is pulled when. Its log is
`l (n mu - S) - psi(l) (Q - 2 mu S + n mu^2)`, with the sum `S` and the sum of squares `Q`. A mixture over a grid of `l`
of both signs, with the mixture martingale that takes rewards for coin flips (`satisfice.statistics`), is one, too, and
by Ville's inequality it ever exceeds `1 / delta` with probability at most `delta`. The coin flips have a share of
`FLIPS`: rewards of 0 and 1 lose 0.01 nats.
"""

from __future__ import annotations

import math

import numpy as np

from satisfice import statistics
from satisfice.statistics import kl, penalty

# The share of the mixture that takes rewards for coin flips; the rest is split between means above and below.
FLIPS = 0.99
# The grid of `l`. Up to 0.58, where `psi(l) = l / 2`, what speaks against a mean grows as the mean moves away.
BETS = 0.55 * 1.5 ** -np.arange(30.0)
COSTS = -np.log1p(-BETS) - BETS
# Shares of 1 / ((g + 1) (g + 2)): a reward that varies more, or an earlier look, has a larger share.
SHARES = 0.5 * (1.0 - FLIPS) / ((1.0 + np.arange(30.0)) * (2.0 + np.arange(30.0)))
STEPS = 32
# Rewards that vary by less than this share less than coin flips are taken for coin flips: bets would not tell more.
ALIKE = 0.1


def nats_below(n: float, total: float, squares: float, mean: float) -> float:
    """Nats, valid at any time, against a mean of at least `mean`, which is above that of the rewards.

    Examples
    --------
    >>> round(nats_below(1000, 500, 500, 0.6), 2), round(nats_below(1000, 500, 260, 0.6), 2)  # coin flips; ratings
    (16.72, 44.04)
    """
    around = squares - 2.0 * mean * total + n * mean * mean
    flips = math.log(FLIPS) + n * kl(total / n, mean) - penalty(n, total / n)
    bets = np.log(SHARES) + BETS * (n * mean - total) - COSTS * around
    most = max(flips, float(bets.max()))
    if math.isinf(most):
        return most
    return most + math.log(math.exp(flips - most) + float(np.exp(bets - most).sum()))


def interval(n: int, total: float, squares: float, delta: float) -> tuple[float, float]:
    """A confidence interval for the mean of rewards within [0, 1] that holds at all times at once.

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
    (0.479, 0.521)
    """
    if n <= 0:
        return 0.0, 1.0
    low, high = statistics.interval(n, min(total / n, 1.0), FLIPS * delta)  # what coin flips leave
    squares = max(squares, total * total / n)
    if total - squares <= ALIKE * (total - total * total / n):
        return low, high
    enough = math.log(1.0 / delta)
    return (
        1.0 - _high(n, n - total, n - 2.0 * total + squares, 1.0 - low, enough),
        _high(n, total, squares, high, enough),
    )


def _high(n: int, total: float, squares: float, outside: float, enough: float) -> float:
    """The largest mean that is left, by bisection; it is at most `outside`."""
    inside = min(total / n, 1.0)
    for _ in range(STEPS):
        middle = 0.5 * (inside + outside)
        if nats_below(n, total, squares, middle) <= enough:
            inside = middle
        else:
            outside = middle
    return outside
