"""The regret per log T that no consistent policy can beat: the program of Graves and Lai, in the three settings.

`lower` changes one arm at a time. A policy must also rule out alternatives in which several arms move at once: a
cheaper arm becomes feasible when every arm above `x` is lowered to `x` and the cheap one is raised to `(1 - alpha) x`.
With `n_k log T` pulls of arm `k`, an alternative of means `lambda` is ruled out only if the sum of `n_k kl(mu_k,
lambda_k)` is at least 1 (Graves and Lai, 1997; Combes, Magureanu and Proutiere, 2017). The smallest regret that rules
out all of them is a linear program with infinitely many constraints, solved here by cutting planes: solve with the
constraints so far, find the alternative that is ruled out least, add it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from satisfice.bounds.divergences import Family, kl_bernoulli, kl_gaussian
from satisfice.bounds.layout import snap
from satisfice.bounds.lower_bound import known_family
from satisfice.bounds.terms import times
from satisfice.covering import cover
from satisfice.problem import Floats, Instance, Setting

# The answer is at most this far, relatively, from the optimum.
PRECISION = 1e-7
# So often it looks for alternatives at most; a few dozen times do, unless rounding is in the way.
ROUNDS = 1000


@dataclass(frozen=True)
class RegretBound:
    """The least regret per log T, as `T` grows, and pulls that attain it; arms in the caller's order."""

    family: Family
    sigma: float  # of the Gaussian family; nan for Bernoulli
    pulls: Floats  # (arms,) pulls per log T of an optimal allocation; infinite for optimal arms, whose pulls are free
    cost_regret: float  # per log T, of that allocation
    quality_regret: float  # per log T, of that allocation

    @property
    def regret(self) -> float:
        """The constant: lim inf of the summed regret over log T is at least this, for every consistent policy."""
        return self.cost_regret + self.quality_regret


def regret(
    instance: Instance, setting: Setting, family: Family | None = None, sigma: float | None = None
) -> RegretBound:
    """The smallest summed regret per log T of any consistent policy: the program of Graves and Lai.

    Parameters
    ----------
    instance : Instance
        The arms, in any order. Costs count as they are: scale them first where they are not in units of reward.
    setting : Setting
        Any of the three.
    family : {"bernoulli", "gaussian"}, optional
        The family that the rewards are known to belong to; the instance's own reward model by default.
    sigma : float, optional
        Standard deviation of the Gaussian family: the instance's by default, or 1 as in the paper.

    Returns
    -------
    RegretBound
        At least as large as the regrets of `lower`, which moves one arm at a time. Infinite where the optimal arm is
        exactly on the threshold.

    Raises
    ------
    InvalidInstance
        When the family is unknown or does not contain the instance, or must be named (categorical rewards).
    NoFeasibleArm
        When no arm reaches a fixed threshold.

    Examples
    --------
    >>> from satisfice import FixedThreshold, Instance, load_instance, BestReward
    >>> instance = Instance(costs=[0.1, 0.5], means=[0.3, 0.7])
    >>> regret(instance, FixedThreshold(0.5), family="gaussian").regret  # 0.2 x 2 / (0.5 - 0.3)^2
    10.0
    >>> round(regret(load_instance("movielens"), BestReward(alpha=0.1)).regret)
    2780
    """
    instance = instance.steady()
    kind, spread = known_family(instance, family, sigma)
    gaps = setting.cost_gaps(instance) + setting.quality_gaps(instance)
    truth = _Truth(instance.means, kind, spread)
    free, threats = _threats(instance, setting, truth, gaps == 0)
    pulls = np.where(free, math.inf, 0.0)
    paid = np.flatnonzero(~free)
    cuts: list[Floats] = []
    for left in reversed(range(ROUNDS if threats and len(paid) else 0)):
        pulls[paid] = cover(gaps[paid], np.array([cut[paid] for cut in cuts]).reshape(-1, len(paid)))
        found = [cut for cut in (_worst(truth, threat, pulls) for threat in threats) if np.isfinite(cut).all()]
        ruled_out = min((float(cut[paid] @ pulls[paid]) for cut in found), default=1.0)
        if ruled_out >= 1 - PRECISION or not left:
            pulls[paid] /= min(ruled_out, 1.0)  # so that every alternative is ruled out in full
            break
        cuts += found
    return RegretBound(
        family=kind,
        sigma=spread if kind == "gaussian" else math.nan,
        pulls=pulls,
        cost_regret=sum(map(times, setting.cost_gaps(instance).tolist(), pulls.tolist())),
        quality_regret=sum(map(times, setting.quality_gaps(instance).tolist(), pulls.tolist())),
    )


class _Truth(NamedTuple):
    """The means, and the family that says how far another mean is."""

    means: Floats
    family: Family
    sigma: float

    def distance(self, to: Floats) -> Floats:
        """Divergence of every arm from its mean to another one."""
        return kl_bernoulli(self.means, to) if self.family == "bernoulli" else kl_gaussian(self.means, to, self.sigma)

    def slope(self, arm: int, to: float) -> float:
        """Derivative of the divergence of one arm with respect to the other mean."""
        variance = to * (1 - to) if self.family == "bernoulli" else self.sigma**2
        return (to - float(self.means[arm])) / variance


class _Threat(NamedTuple):
    """Alternatives in which another arm is optimal, one for each `x` from `low` to `high`.

    Arm `raised` moves up to `scale x`, and those of `lowered` that are above `x` move down to `x`.
    """

    raised: int
    scale: float
    lowered: tuple[int, ...]
    low: float
    high: float


def _threats(
    instance: Instance, setting: Setting, truth: _Truth, optimal: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], list[_Threat]]:
    """Arms whose number of pulls is infinite, and all alternatives that leave the means of those as they are."""
    means, price = instance.means, instance.costs[setting.optimal_arm(instance)]
    threshold = setting.threshold(instance)
    keep = 1.0 - setting.alpha
    # The arms that set the threshold: an increase of one of them beyond `displacing` makes the optimal arm infeasible.
    judges = np.zeros(instance.arms, dtype=bool)
    if setting.reference is not None:
        judges[instance.index(setting.reference)] = not optimal[instance.index(setting.reference)]
    elif not setting.fixed:
        judges[:] = True
    displacing = float(means[optimal].max()) / keep if keep > 0 else math.inf
    # No Bernoulli mean is above 1.
    possible = displacing < math.inf if truth.family == "gaussian" else snap(np.array(displacing - 1.0)) < 0
    at_once = judges & (snap(means - displacing) == 0 if possible else False)
    free = optimal | at_once
    threats = []
    if possible:
        threats += [_Threat(int(j), 1.0, (), displacing, displacing) for j in np.flatnonzero(judges & ~free)]
    floor = float(means[judges & free].max(initial=-math.inf))
    for i in np.flatnonzero((instance.costs < price) & ~free):
        lowered = tuple(int(j) for j in np.flatnonzero(judges & ~free) if j != i)
        if keep == 0 or not lowered:
            threats.append(_Threat(int(i), 1.0, (), threshold, threshold))
        else:
            low = max(floor, float(means[i]) / keep)
            threats.append(_Threat(int(i), keep, lowered, low, max(float(means[list(lowered)].max()), low)))
    return free, threats


def _worst(truth: _Truth, threat: _Threat, pulls: Floats) -> Floats:
    """Divergences of the arms to the alternative of `threat` that `pulls` rule out least: a convex problem in `x`."""
    low, high = threat.low, threat.high
    for _ in range(100 if low < high else 0):
        x = 0.5 * (low + high)
        if not low < x < high:
            break
        slope = pulls[threat.raised] * threat.scale * max(truth.slope(threat.raised, threat.scale * x), 0.0)
        slope += sum(pulls[j] * min(truth.slope(j, x), 0.0) for j in threat.lowered)
        low, high = (low, x) if slope > 0 else (x, high)
    if truth.family == "bernoulli" and threat.scale * high >= 1.0:
        high = low  # an arm that is raised to 1 is ruled out by any pull at all, one just below is not
    means = truth.means.copy()
    means[threat.raised] = max(means[threat.raised], threat.scale * high)
    for j in threat.lowered:
        means[j] = min(means[j], high)
    return truth.distance(means)
