"""The exact Bayes optimum for two Bernoulli arms: the least expected regret of any policy at a short horizon.

Both means are uniform on [0, 1] and independent. After `s` successes in `n` pulls a mean has a Beta(s + 1, n - s + 1)
law, so what is known is four numbers, and the best decision in each of these states follows from those after one more
pull: dynamic programming, backwards from the horizon. No normal approximation and no simulation is in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from satisfice.errors import InvalidInstance, InvalidSetting
from satisfice.limits import whole
from satisfice.problem import Floats, Setting

MOST = 300  # pulls; the states grow like the fourth power of the horizon


@dataclass(frozen=True)
class BayesOptimum:
    """The smallest expected summed regret of any policy, over all means, and how it begins."""

    regret: float
    first: int  # the arm to pull first, in the caller's order


def bayes(costs: ArrayLike, setting: Setting, horizon: int) -> BayesOptimum:
    """The least possible expected summed regret with two Bernoulli arms of uniform means.

    Parameters
    ----------
    costs : array_like
        The costs of the two arms, in units of reward.
    setting : Setting
        `BestReward`, or `ReferenceArm` with the dearer arm as the reference.
    horizon : int
        Number of pulls, at most 300; 150 take about a second.

    Raises
    ------
    InvalidInstance
        When there are not two finite costs.
    InvalidRun
        When the horizon is not a whole number from 1 to 300.
    InvalidSetting
        For a fixed threshold, which no arm may reach, and for a reference arm that is the cheaper one.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> round(bayes([0.0, 1.0], BestReward(alpha=0.0), horizon=1).regret, 6)  # E[(mu_2 - mu_1)^+] = 1 / 6
    0.166667
    >>> round(bayes([0.1, 1.0], BestReward(alpha=0.2), horizon=100).regret, 3)
    3.326
    """
    try:
        price = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInstance(f"the Bayes optimum is for two arms with finite costs; got {costs!r}") from error
    if price.shape != (2,) or not np.isfinite(price).all():
        raise InvalidInstance(f"the Bayes optimum is for two arms with finite costs; got {price.tolist()}")
    horizon = whole("horizon", horizon, 1, MOST)
    cheap, dear = np.argsort(price, kind="stable")
    if setting.fixed:
        raise InvalidSetting("the Bayes optimum serves BestReward and ReferenceArm: no arm may reach a fixed threshold")
    arm = setting.reference
    if arm is not None and arm != dear:
        raise InvalidSetting(f"arm {arm!r} as the reference; it must be the index of the dearer arm, {dear}")
    extra = float(price[dear] - price[cheap])
    losses = _last_losses(horizon, 1 - setting.alpha, extra, arm is None)
    regret, first = _backwards(losses, horizon)
    return BayesOptimum(regret, int((cheap, dear)[first]))


Layer = list[Floats]  # by pulls n of the cheap arm: (n + 1, t - n + 1), by successes of the cheap and of the dear arm


def _backwards(losses: tuple[Layer, Layer], horizon: int) -> tuple[float, int]:
    """The optimum before the first pull, and the arm to begin with; `losses` are those of layer `horizon - 1`.

    The expected loss of a pull is a posterior mean, hence a martingale: its value in any state is the mean over the
    outcomes of one more pull of either arm, so only the last layer has to be integrated.
    """
    cheap, dear = losses
    value = [np.minimum(a, b) for a, b in zip(cheap, dear, strict=True)]
    choice = int(cheap[0][0, 0] > dear[0][0, 0])
    for t in range(horizon - 2, -1, -1):
        cheap = [_after_cheap(cheap, n, t) for n in range(t + 1)]
        dear = [_after_cheap(dear, n, t) for n in range(t + 1)]
        both = [(cheap[n] + _after_cheap(value, n, t), dear[n] + _after_dear(value, n, t)) for n in range(t + 1)]
        value = [np.minimum(a, b) for a, b in both]
        choice = int(both[0][0][0, 0] > both[0][1][0, 0])
    return float(value[0][0, 0]), choice


def _after_cheap(layer: Layer, n: int, t: int) -> Floats:
    """Expectation of a function on layer `t + 1` after a pull of the cheap arm, pulled `n` of `t` times."""
    chance = ((np.arange(n + 1) + 1) / (n + 2))[:, None]
    return np.asarray(chance * layer[n + 1][1:] + (1 - chance) * layer[n + 1][:-1])


def _after_dear(layer: Layer, n: int, t: int) -> Floats:
    """The same after a pull of the dear arm."""
    chance = (np.arange(t - n + 1) + 1) / (t - n + 2)
    return np.asarray(chance * layer[n][:, 1:] + (1 - chance) * layer[n][:, :-1])


def _last_losses(horizon: int, keep: float, extra: float, best: bool) -> tuple[Layer, Layer]:
    """Expected regret of a pull of the cheap and of the dear arm in every state of layer `horizon - 1`.

    The cheap arm loses `(keep mu_2 - mu_1)^+`. The dear one costs `extra` where `mu_1 >= keep mu_2`, and loses
    `(keep mu_1 - mu_2)^+` where the threshold is set by the better arm. All of these are integrals of polynomials of
    degree at most `horizon + 2`, for which Gauss's rule with half as many nodes is exact.
    """
    t = horizon - 1
    nodes, weights = np.polynomial.legendre.leggauss(t // 2 + 4)
    nodes, weights = (nodes + 1) / 2, weights / 2
    cheap, dear = [], []
    for n in range(t + 1):
        below, short = _below(n, keep * nodes)
        density = _density(t - n, nodes) * weights
        cheap.append(short @ density.T)
        dear.append(extra * (1 - below @ density.T))
        if best:
            dear[-1] = dear[-1] + (_density(n, nodes) * weights) @ _below(t - n, keep * nodes)[1].T
    return cheap, dear


def _density(n: int, x: Floats) -> Floats:
    """(n + 1, len(x)): the density of Beta(s + 1, n - s + 1) at `x`, for every number of successes `s`."""
    s = np.arange(n + 1)[:, None]
    log = math.lgamma(n + 2) - np.array([[math.lgamma(k + 1) + math.lgamma(n - k + 1)] for k in range(n + 1)])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(s > 0, s * np.log(x), 0.0) + np.where(n - s > 0, (n - s) * np.log1p(-x), 0.0)
    return np.asarray(np.exp(log + terms))


def _below(n: int, c: Floats) -> tuple[Floats, Floats]:
    """For every number of successes: `P(mu < c)` and `E[(c - mu)^+]`, each (n + 1, len(c)).

    `P(Beta(s + 1, n - s + 1) < c)` is the chance of more than `s` successes among `n + 1` with success rate `c`.
    """
    tails = _tails(n + 1, c)
    below, above = tails[1:], _tails(n + 2, c)[2:]
    mean = ((np.arange(n + 1) + 1) / (n + 2))[:, None]
    # mu x density of Beta(s + 1, ..) = mean x density of Beta(s + 2, ..)
    return below, np.maximum(c * below - mean * above, 0.0)


def _tails(n: int, c: Floats) -> Floats:
    """(n + 1, len(c)): the chance of at least `k` successes among `n`, for `k` from 0 to `n`."""
    mass = _density(n, c) / (n + 1)
    return np.asarray(np.cumsum(mass[::-1], axis=0)[::-1])
