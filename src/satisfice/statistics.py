"""What the rewards prove: likelihood ratio evidence, thresholds that hold at any time, confidence intervals.

Plain functions on numbers. The GLR policy calls them compiled; a live study calls them as they are, to say
how sure a verdict is. Rewards are of one of two kinds, told apart by `sigma`: 0 stands for rewards within
[0, 1] (Bernoulli divergence), a positive number for Gaussian rewards of that standard deviation.
"""

from __future__ import annotations

import math

# Beta(1/2, 1/2) is the prior of the mixtures for rewards within [0, 1]; log B(1/2, 1/2) = log pi.
LOG_PI = math.log(math.pi)


def kl(p: float, q: float, sigma: float = 0.0) -> float:
    """Divergence in nats from mean `p` to mean `q`.

    Examples
    --------
    >>> round(kl(0.5, 0.25), 6), kl(0.0, 0.0), kl(0.3, 1.0), kl(1.0, 3.0, sigma=2.0)
    (0.143841, 0.0, inf, 0.5)
    """
    if sigma > 0.0:
        return (p - q) * (p - q) / (2.0 * sigma * sigma)
    if p == q:
        return 0.0
    if q <= 0.0 or q >= 1.0:
        if (q <= 0.0 and p <= 0.0) or (q >= 1.0 and p >= 1.0):
            return 0.0
        return math.inf
    value = 0.0
    if p > 0.0:
        value += p * math.log(p / q)
    if p < 1.0:
        value += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return max(value, 0.0)


def evidence(n_i: float, m_i: float, n_j: float, m_j: float, scale: float, sigma: float = 0.0) -> float:
    """The statistic `Z = min over x of n_i kl(m_i, scale x) + n_j kl(m_j, x)`, in nats.

    How far the data of arms `i` and `j` (pulls `n`, means `m`) are from the line `mu_i = scale mu_j`: evidence
    against feasibility of `i` where `m_i < scale m_j`, for it otherwise.
    """
    if sigma > 0.0:
        if n_i == 0 or (n_j == 0 and scale > 0.0):
            return 0.0
        spread = 1.0 / n_i
        if scale > 0.0:
            spread += scale * scale / n_j
        gap = m_i - scale * m_j
        return gap * gap / (2.0 * sigma * sigma * spread)
    x = nearest(n_i, m_i, n_j, m_j, scale)
    value = 0.0
    if n_i > 0:
        value += n_i * kl(m_i, scale * x)
    if n_j > 0:
        value += n_j * kl(m_j, x)
    return value


def nearest(n_i: float, m_i: float, n_j: float, m_j: float, scale: float) -> float:
    """The `x` within [0, 1] at which `n_i kl(m_i, scale x) + n_j kl(m_j, x)` is smallest.

    Setting the derivative to zero gives `a x^2 - b x + c = 0` with the coefficients below, whose smaller root
    is the one within [0, 1].
    """
    a = scale * (n_i + n_j)
    b = n_i * (scale + m_i) + n_j * (1.0 + scale * m_j)
    c = n_i * m_i + n_j * m_j
    if b <= 0.0:
        return 0.0
    root = math.sqrt(max(b * b - 4.0 * a * c, 0.0))
    return min(max(2.0 * c / (b + root), 0.0), 1.0)


def penalty(n: float, m: float, sigma: float = 0.0) -> float:
    """What looking at any time costs one arm: log of the largest likelihood over the mixture's likelihood.

    The mixture is Beta(1/2, 1/2) for rewards within [0, 1] and N(m', sigma^2) ... for Gaussian ones.
    """
    if n == 0:
        return 0.0
    if sigma > 0.0:
        return 0.5 * math.log(1.0 + n) + 0.5
    s = n * m
    f = n - s
    best = 0.0
    if s > 0.0:
        best += s * math.log(m)
    if f > 0.0:
        best += f * math.log(1.0 - m)
    return best - (math.lgamma(s + 0.5) + math.lgamma(f + 0.5) - math.lgamma(n + 1.0) - LOG_PI)
