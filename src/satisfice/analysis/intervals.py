"""Confidence intervals for the mean of rewards of any kind within a range, for a log that is looked at once.

A mean is believed as long as some distribution within the range that has it makes the rewards that were seen at most
`exp(nats)` times less likely than the best one does: Owen's empirical likelihood, which for rewards of 0 and 1 is the
likelihood ratio interval. With `nats = z^2 / 2` it has the usual coverage (Wilks' theorem, as rows grow), without a
normal approximation: it is not symmetric where the rewards are not, and knows that no mean is outside the range.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from satisfice.problem import Floats

STEPS = 48


def nats_of(delta: float) -> float:
    """`z^2 / 2` for a two-sided interval that misses with probability `delta`.

    Examples
    --------
    >>> round(nats_of(0.05), 3)
    1.921
    """
    return float(NormalDist().inv_cdf(1 - delta / 2) ** 2 / 2)


def likelihood_interval(
    values: Floats, counts: Floats, limits: tuple[float, float], nats: float
) -> tuple[float, float]:
    """All means that the rewards allow at `nats`.

    Parameters
    ----------
    values, counts : array, shape (levels,)
        The rewards and how often each was seen.
    limits : (low, high)
        No reward is outside.
    nats : float
        From `nats_of`.

    Examples
    --------
    >>> low, high = likelihood_interval(np.array([0.0, 1.0]), np.array([50.0, 50.0]), (0.0, 1.0), nats_of(0.05))
    >>> round(low, 4), round(high, 4)
    (0.4029, 0.5971)
    >>> round(likelihood_interval(np.array([0.0]), np.array([100.0]), (0.0, 1.0), nats_of(0.05))[1], 4)
    0.019
    """
    seen = counts > 0
    points, weight = values[seen], counts[seen]
    if not len(points):
        return limits
    upper = _end(points, weight, limits[1], nats)
    return -_end(-points, weight, -limits[0], nats), upper


def _end(points: Floats, weight: Floats, top: float, nats: float) -> float:
    """The largest mean, by bisection."""
    rows = weight.sum()
    low, high = float(weight @ points / rows), top
    if high - low <= 1e-12 * max(abs(high), 1.0):
        return top
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if _divergence(points, weight, top, middle) <= nats:
            low = middle
        else:
            high = middle
    return high


def _divergence(points: Floats, weight: Floats, top: float, mean: float) -> float:
    """Nats that speak against a mean above that of the rewards.

    `max over l of the sum of weight x log(1 - l (x - mean))` for `l` within `[0, 1 / (top - mean)]`, where it is
    concave (Honda and Takemura, 2010).
    """
    gap = points - mean
    low, high = 0.0, 1.0 / (top - mean)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if float(weight @ (gap / (1.0 - middle * gap))) < 0.0:
            low = middle
        else:
            high = middle
    return float(weight @ np.log1p(-low * gap))
