"""What rewards prove: likelihood ratio evidence, what it is worth when looked at any time, confidence intervals.

Plain functions on numbers. The GLR policy calls them compiled; a live study calls them as they are, to say
how sure a verdict is. Rewards are of one of two kinds, told apart by `sigma`: 0 stands for rewards within
[0, 1] (Bernoulli divergence), a positive number for Gaussian rewards of that standard deviation.

Two results are behind the guarantees. The likelihood ratio of a mixture over all means to the true mean is a
nonnegative martingale that starts at 1, whichever arm is pulled when, so by Ville's inequality it ever exceeds
1 / delta with probability at most delta; the product over two arms is such a martingale, too. For rewards within
[0, 1] that are not 0 or 1 it is a supermartingale, since the ratio is a convex function of the reward, which
lies below its chord. (Robbins, 1970; Kaufmann and Koolen, 2021, for pairs and sets of arms.)
"""

from __future__ import annotations

import math

# The share of the allowed error that is kept for arms that come later.
LATER = 0.05
LOG_PI = math.log(math.pi)  # log B(1/2, 1/2): the mixture for rewards within [0, 1] is Beta(1/2, 1/2)


def kl(p: float, q: float, sigma: float = 0.0) -> float:
    """Divergence from mean `p` to mean `q`, in nats.

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
        return 0.0 if (q <= 0.0 and p <= 0.0) or (q >= 1.0 and p >= 1.0) else math.inf
    value = 0.0
    if p > 0.0:
        value += p * math.log(p / q)
    if p < 1.0:
        value += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return 0.0 if value < 0.0 else value  # plain code takes several times as long to call `max`


# The neighbours of 1 and (nearly) of 0 among floating point numbers.
BELOW_ONE = 1.0 - 2.0**-53
TINY = 1e-300


def nearest(n_i: float, m_i: float, n_j: float, m_j: float, scale: float) -> float:
    """The `x` within [0, 1] for which `n_i kl(m_i, scale x) + n_j kl(m_j, x)` is smallest (Bernoulli).

    Where the derivative is zero, `a x^2 - b x + c = 0` with the coefficients below; the smaller root is the one
    within [0, 1].

    Examples
    --------
    >>> round(nearest(10, 0.5, 30, 0.9, scale=1.0), 6)  # scale 1: the mean of all 40 rewards
    0.8
    """
    b = n_i * (scale + m_i) + n_j * (1.0 + scale * m_j)
    c = n_i * m_i + n_j * m_j
    if c <= 0.0:
        return 0.0
    # b^2 - 4 a c with a = scale (n_i + n_j), written so that no digits are lost where the two roots nearly coincide.
    half = n_i * (scale - m_i) + n_j * (1.0 - scale * m_j)
    square = half * half + 4.0 * n_i * n_j * (1.0 - scale) * (m_i - scale * m_j)
    x = 2.0 * c / (b + math.sqrt(square if square > 0.0 else 0.0))
    # The root lies strictly within (0, 1) unless both means are 0 or 1; rounding to an end would make kl infinite.
    most = 1.0 if m_i >= 1.0 and m_j >= 1.0 else BELOW_ONE
    return TINY if x < TINY else most if x > most else x


def meeting(n_i: float, m_i: float, n_j: float, m_j: float, scale: float, sigma: float = 0.0) -> float:
    """The `x` for which `n_i kl(m_i, scale x) + n_j kl(m_j, x)` is smallest; within [0, 1] if `sigma` is 0.

    Examples
    --------
    >>> round(meeting(10, 0.5, 30, 0.9, scale=1.0), 6), meeting(10, 0.5, 30, 0.9, scale=1.0, sigma=2.0)
    (0.8, 0.8)
    """
    if sigma > 0.0:
        return (n_i * scale * m_i + n_j * m_j) / (n_i * scale * scale + n_j)
    return nearest(n_i, m_i, n_j, m_j, scale)


def evidence(n_i: float, m_i: float, n_j: float, m_j: float, scale: float, sigma: float = 0.0) -> float:
    """The statistic `Z = min over x of n_i kl(m_i, scale x) + n_j kl(m_j, x)`, in nats.

    How far what was seen of arms `i` and `j` is from the line `mu_i = scale mu_j`: evidence that `i` misses the
    threshold `scale mu_j` where `m_i < scale m_j`, that it reaches it otherwise.

    Parameters
    ----------
    n_i, m_i, n_j, m_j : float
        Pulls and mean reward of the two arms; the mean of an arm without pulls does not matter.
    scale : float
        `1 - alpha`.
    sigma : float
        Standard deviation of Gaussian rewards; 0 for rewards within [0, 1].

    Examples
    --------
    >>> round(evidence(100, 0.5, 100, 0.9, scale=0.9), 3)
    13.738
    >>> evidence(4, 1.0, 1, 0.0, scale=1.0, sigma=2.0)  # (1 - 0)^2 / (2 * 4 * (1/4 + 1/1))
    0.1
    """
    if sigma > 0.0:
        if n_i <= 0.0 or (n_j <= 0.0 and scale > 0.0):
            return 0.0
        spread = 1.0 / n_i + (scale * scale / n_j if scale > 0.0 else 0.0)
        gap = m_i - scale * m_j
        return gap * gap / (2.0 * sigma * sigma * spread)
    x = nearest(n_i, m_i, n_j, m_j, scale)
    value = 0.0
    if n_i > 0.0:
        value += n_i * kl(m_i, scale * x)
    if n_j > 0.0:
        value += n_j * kl(m_j, x)
    return value


def penalty(n: float, m: float, sigma: float = 0.0) -> float:
    """What looking at any time costs one arm, in nats.

    Rewards within [0, 1]: the log of the largest likelihood over that of the Beta(1/2, 1/2) mixture, about
    `log(n) / 2 + 0.23` (at means of 0 and 1 `+ 0.57`). Gaussian: `log(1 + n) / 2`, for a mixture whose mean is one
    pull's worth of doubt away.

    Examples
    --------
    >>> penalty(0, 0.0), round(penalty(1, 1.0), 6), round(penalty(100, 0.5), 3)
    (0.0, 0.693147, 2.531)
    """
    if n <= 0.0:
        return 0.0
    if sigma > 0.0:
        return 0.5 * math.log(1.0 + n)
    wins = n * m
    fails = n - wins
    best = (wins * math.log(m) if m > 0.0 else 0.0) + (fails * math.log(1.0 - m) if m < 1.0 else 0.0)
    return best - (math.lgamma(wins + 0.5) + math.lgamma(fails + 0.5) - math.lgamma(n + 1.0) - LOG_PI)


def weight_of(n: float, sigma: float = 0.0) -> float:
    """Pulls that count when one may look at any time: all of them, but for Gaussian rewards `n^2 / (n + 1)`."""
    return n * n / (n + 1.0) if sigma > 0.0 else n


def share_of(born: int, first: int = 1) -> float:
    """The share of the allowed error for what is said of an arm.

    The `first` arms, which are there from the beginning (`born` is 0), have all of it but `LATER` together; the q-th
    of those that come later, or begin anew after a change, has `LATER x 6 / (pi q)^2`.

    Examples
    --------
    >>> share_of(0), share_of(0, first=5), round(sum(share_of(q) for q in range(1, 10_000)), 4)
    (0.95, 0.19, 0.05)
    """
    return LATER * 6.0 / (math.pi * born) ** 2 if born > 0 else (1.0 - LATER) / first


def interval(n: int, m: float, delta: float, sigma: float = 0.0) -> tuple[float, float]:
    """A confidence interval for one mean that holds at all times at once with probability `1 - delta`.

    All `mu` against which at most `log(1 / delta)` nats speak (`satisfice.proofs.fixed`); it may be looked at after
    every reward, and looking decides nothing.

    Parameters
    ----------
    n : int
        Rewards seen.
    m : float
        Their mean.
    delta : float
        Probability, within (0, 1), that the interval ever misses the true mean.
    sigma : float
        Standard deviation of Gaussian rewards; 0 for rewards within [0, 1].

    Examples
    --------
    >>> low, high = interval(100, 0.5, delta=0.05)
    >>> round(low, 3), round(high, 3)
    (0.338, 0.662)
    >>> interval(0, 0.0, delta=0.05)
    (0.0, 1.0)
    """
    if n <= 0:
        return (0.0, 1.0) if sigma <= 0.0 else (-math.inf, math.inf)
    room = (math.log(1.0 / delta) + penalty(n, m, sigma)) / weight_of(n, sigma)
    if sigma > 0.0:
        width = sigma * math.sqrt(2.0 * room)
        return m - width, m + width
    return _below(m, room), 1.0 - _below(1.0 - m, room)


def _below(m: float, room: float) -> float:
    """The mean below `m` at divergence `room` from it; 0 where there is none.

    The divergence is convex, so Newton's steps from beyond never pass it. They begin where a lower bound of it has the
    value `room`: Pinsker's, or its first term with the least that the second may be.
    """
    if m <= 0.0:
        return 0.0
    rest = (1.0 - m) * math.log(1.0 - m) if m < 1.0 else 0.0
    q = max(m - math.sqrt(0.5 * room), m * math.exp((rest - room) / m), TINY)
    for _ in range(60):
        step = (kl(m, q) - room) * q * (1.0 - q) / (m - q) if q < m else 0.0
        if step <= 1e-16 * q:
            break
        q += step
    return q
