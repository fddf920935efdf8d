"""How sure an instance is of itself: one from a log rests on a number of rows, and so does its optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.problem import TOLERANCE, Floats, Instance, Setting

DRAWS = 4000
# A prior of half a row at each end of the scale, as Jeffreys has it: an arm without a success may still have one.
PRIOR = 0.5


@dataclass(frozen=True)
class Doubt:
    """What the rows behind an instance make of its optimum.

    Parameters
    ----------
    rows : int
        The rows of all arms.
    shares : array, shape (arms,)
        The believed probability of each arm to be the optimal one: a share of draws of all means, no proof.
    none : float
        The believed probability that no arm is good enough.
    arm : int
        The optimal arm, if the means of the log were the truth; -1 where none is good enough.
    """

    rows: int
    shares: Floats
    none: float
    arm: int

    @property
    def sure(self) -> float:
        """The believed probability that this is right."""
        return self.none if self.arm < 0 else float(self.shares[self.arm])

    def sentence(self, names: tuple[str, ...]) -> str:
        """The same in words."""
        order = [int(i) for i in np.argsort(-self.shares, kind="stable") if self.shares[i] >= 0.005 and i != self.arm]
        rivals = ", ".join(f"{names[i]} ({self.shares[i]:.0%})" for i in order[:3])
        what = f"{names[self.arm]} is the right arm" if self.arm >= 0 else "no arm is good enough"
        rest = f"; others that may be: {rivals}" if rivals else ""
        none = f"; no arm may be good enough ({self.none:.0%})" if self.arm >= 0 and self.none >= 0.005 else ""
        return (
            f"how sure: by the {self.rows:,} rows that the means come from, {what} with a probability of "
            f"{share(self.sure)}{rest}{none}. The simulation takes the means for certain."
        )


def share(value: float) -> str:
    """A probability as people write it; never 100% of what is only nearly sure.

    Examples
    --------
    >>> share(0.312), share(0.9999), share(1.0), share(0.0003)
    ('31%', '> 99.9%', '> 99.9%', '< 0.1%')
    """
    if value > 0.999:
        return "> 99.9%"
    if value < 0.001:
        return "< 0.1%"
    return f"{value:.0%}" if 0.01 <= value <= 0.99 else f"{value:.1%}"


def draw_means(instance: Instance, draws: int, rng: np.random.Generator) -> Floats:
    """Means that the arms may have by their counts, (draws, arms).

    Rewards of 0 and 1, and rewards between them, which vary less: Beta. Levels: their shares drawn from a Dirichlet
    distribution around those seen (the Bayesian bootstrap), with a little weight on both ends of the scale. Gaussian
    rewards: normal.
    """
    if instance.counts is None:
        return np.tile(instance.means, (draws, 1))
    rows = np.maximum(instance.counts, 0).astype(np.float64)
    if instance.reward == "gaussian":
        error = instance.sigma / np.sqrt(np.maximum(rows, 1e-9))
        return np.asarray(rng.normal(instance.means, error, (draws, instance.arms)))
    if instance.reward == "bernoulli":
        good = rows * instance.means
        return np.asarray(rng.beta(good + PRIOR, rows - good + PRIOR, (draws, instance.arms)))
    return draw_levels(instance.values, rows[:, None] * instance.probabilities, draws, rng)


def draw_levels(values: Floats, counts: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Means of arms with `counts`, (arms, levels), of rewards `values`, (levels,), drawn anew: (draws, arms)."""
    result = np.zeros((draws, len(counts)))
    for arm, weight in enumerate(weights(values, counts)):
        at = weight > 0
        parts = rng.standard_gamma(weight[at], (draws, int(at.sum())))
        result[:, arm] = parts @ values[at] / parts.sum(axis=1)
    return result


def weights(values: Floats, counts: Floats) -> Floats:
    """The counts with the prior added: half a row at each end where there are two levels, less where there are more."""
    prior = np.zeros(len(values))
    prior[[int(values.argmin()), int(values.argmax())]] += PRIOR / max(len(values) / 2, 1)
    return np.asarray(counts + prior)


def draw_instances(instance: Instance, draws: int, rng: np.random.Generator) -> list[Instance]:
    """Instances that this one may be by its counts."""
    if instance.counts is None or instance.reward != "categorical":
        return [instance.replace(means=means) for means in draw_means(instance, draws, rng)]
    weight = weights(instance.values, instance.counts[:, None] * instance.probabilities)
    tables = rng.standard_gamma(weight, (draws, *weight.shape))
    return [instance.replace(probabilities=table / table.sum(axis=1, keepdims=True)) for table in tables]


def optimal_of(setting: Setting, costs: Floats, means: Floats, names: tuple[str, ...]) -> NDArray[np.int64]:
    """The optimal arm of every row of `means`, (draws, arms); -1 where none is good enough.

    `costs` are those of all arms, or drawn as the means are.
    """
    feasible = means >= setting.thresholds(means, names)[:, None] - TOLERANCE
    best = np.where(feasible, np.broadcast_to(costs, means.shape), np.inf).argmin(axis=1)
    return np.where(feasible.any(axis=1), best, -1)


def doubt_of(instance: Instance, setting: Setting, *, draws: int = DRAWS, seed: int = 0) -> Doubt | None:
    """How sure the optimum of an instance is by the rows behind it; None for one whose means are no estimates.

    Examples
    --------
    >>> from satisfice.problem import BestReward
    >>> log = Instance([1, 2], [0.5, 0.6], ["small", "large"], counts=[100, 100])
    >>> found = doubt_of(log, BestReward(0.1))
    >>> found.arm, 0.6 < found.sure < 0.8  # 0.5 against 0.54: it takes more than a hundred rows to tell
    (1, True)
    """
    if instance.counts is None:
        return None
    means = draw_means(instance, draws, np.random.default_rng(seed))
    arms = optimal_of(setting, instance.costs, means, instance.names)
    shares = np.bincount(arms[arms >= 0], minlength=instance.arms) / draws
    (best,) = optimal_of(setting, instance.costs, instance.means[None], instance.names).tolist()
    return Doubt(int(instance.counts.sum()), shares, float(np.mean(arms < 0)), int(best))
