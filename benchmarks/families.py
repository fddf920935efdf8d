"""The cells that GLR is measured in.

The second generation of the rule was developed on `grid`, `unseen`, `low`, `ratios`, `ties`, `ratings` and `horizons`:
what is measured there is not unseen. `fresh`, `many`, `fixed` and `reference` had no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import satisfice as sf
from satisfice.instances import builtin_instances


class Cell(NamedTuple):
    """One point of a grid."""

    family: str
    name: str
    x: float | str
    instance: sf.Instance
    setting: sf.Setting
    horizon: int
    worth: float = 1.0  # what one unit of quality regret counts, in units of cost


def grid() -> list[Cell]:
    """Subsidized best reward: MovieLens, Goodreads, the toy family and every llm-routing instance."""
    cells = []
    for name in ("movielens", "goodreads"):
        for alpha in np.arange(1, 10) / 20:
            cells.append(
                Cell(name, f"{name} {alpha:g}", alpha, sf.load_instance(name), sf.BestReward(alpha), 5_000_000)
            )
    for name in builtin_instances():
        family, _, member = name.partition(":")
        if family == "toy":
            cells.append(Cell("toy", name, float(member), sf.load_instance(name), sf.BestReward(0.2), 500_000))
    for alpha in (0.05, 0.1, 0.2):
        for name in builtin_instances():
            family, _, member = name.partition(":")
            if family == "llm-routing":
                instance = sf.load_instance(name).scaled_costs()
                cells.append(Cell(f"llm-routing, alpha {alpha:g}", f"{name} {alpha:g}", member, instance,
                                  sf.BestReward(alpha), 200_000))  # fmt: skip
    return cells


def reference() -> list[Cell]:
    """The grids of the paper's Figures 1: every shown reference arm with alpha = 0, every alpha with one arm."""
    cells = []
    for name, arms, ell in (("movielens", (2, 5, 8, 11, 14, 17, 20), 11), ("goodreads", (2, 4, 6, 8), 4)):
        instance = sf.load_instance(name)
        for arm in arms:
            cells.append(
                Cell(f"{name}, alpha 0", f"{name} ell={arm}", arm, instance, sf.ReferenceArm(arm - 1), 5_000_000)
            )
        for alpha in np.arange(0, 10) / 20:
            setting = sf.ReferenceArm(ell - 1, alpha)
            cells.append(
                Cell(f"{name}, ell {ell}", f"{name} ell={ell} alpha={alpha:g}", alpha, instance, setting, 5_000_000)
            )
    return cells


def fixed(count: int = 50) -> list[Cell]:
    """Random instances of 5 to 15 arms, all means within 0.1 of the threshold; the cheapest arm misses it."""
    rng = np.random.default_rng(2025)
    cells = []
    for k in range(count):
        arms = int(rng.integers(5, 16))
        mu0 = float(rng.uniform(0.3, 0.8))
        means = mu0 + rng.uniform(-0.1, 0.1, arms)
        means[0], means[rng.integers(1, arms)] = mu0 - rng.uniform(0.0, 0.1), mu0 + rng.uniform(0.0, 0.1)
        instance = sf.Instance(np.sort(rng.uniform(0.05, 1.0, arms)), means, label=f"random {k + 1}")
        cells.append(Cell("fixed threshold", f"random {k + 1}", k + 1, instance, sf.FixedThreshold(mu0), 500_000))
    return cells


def drawn(rng: np.random.Generator, arms: int, dear_is_good: bool, decades: float = 2.0) -> sf.Instance:
    """A random instance of any means and costs over some decades, the largest being 1."""
    means = rng.beta(*rng.uniform(1.0, 6.0, 2), arms)
    costs = 10 ** rng.uniform(-decades, 0.0, arms)
    if dear_is_good:
        rank = np.argsort(np.argsort(np.log10(costs) + rng.normal(0.0, 0.3, arms)))
        means = np.sort(means)[rank]
    return sf.Instance(costs / costs.max(), means)


def unseen(count: int = 60, seed: int = 2718) -> list[Cell]:
    """Random instances of 3 to 20 arms of any means; in every other one a dearer arm is mostly a better one."""
    rng = np.random.default_rng(seed)
    cells = []
    for k in range(count):
        instance = drawn(rng, int(rng.integers(3, 21)), bool(k % 2))
        setting = sf.BestReward(float(rng.uniform(0.02, 0.4)))
        family = "random, dear is mostly good" if k % 2 else "random"
        cells.append(Cell(family, f"unseen {k + 1}", k + 1, instance, setting, 500_000))
    return cells


def fresh() -> list[Cell]:
    """`unseen` with another seed, which nothing about the second generation was chosen by."""
    return unseen(seed=31_415)


def low() -> list[Cell]:
    """Low conversion: means of 0.1% to 2%. A unit of reward is worth the largest cost over the largest mean."""
    rng = np.random.default_rng(161_803)
    pair = sf.Instance([0.02, 0.2], [0.007, 0.01])
    cells = [Cell("low conversion", "low pair", 0, pair, sf.BestReward(0.1), 1_000_000, 20.0)]
    for k in range(24):
        arms = int(rng.integers(2, 9))
        means, costs = 10 ** rng.uniform(-3.0, math.log10(0.02), arms), 10 ** rng.uniform(-2.0, 0.0, arms)
        if k % 2:
            means, costs = np.sort(means), np.sort(costs)
        instance, setting = sf.Instance(costs / costs.max(), means), sf.BestReward(float(rng.uniform(0.02, 0.4)))
        worth = 1.0 / float(means.max())
        cells.append(Cell("low conversion", f"low {k + 1}", k + 1, instance, setting, 1_000_000, worth))
    return cells


def many() -> list[Cell]:
    """100 arms."""
    rng = np.random.default_rng(577)
    cells = []
    for k in range(12):
        instance, setting = drawn(rng, 100, bool(k % 2)), sf.BestReward(float(rng.uniform(0.02, 0.4)))
        cells.append(Cell("100 arms", f"many {k + 1}", k + 1, instance, setting, 500_000))
    return cells


def ratios() -> list[Cell]:
    """Costs of 1 : 1,000."""
    rng = np.random.default_rng(1_000)
    cells = []
    for k in range(20):
        instance = drawn(rng, int(rng.integers(3, 13)), bool(k % 2), decades=3.0)
        costs = instance.costs.copy()
        costs[costs.argmin()] = 0.001
        setting = sf.BestReward(float(rng.uniform(0.02, 0.4)))
        instance = sf.Instance(costs, instance.means)
        cells.append(Cell("costs 1 : 1,000", f"ratio {k + 1}", k + 1, instance, setting, 500_000))
    return cells


def horizons() -> list[Cell]:
    """The same six random instances with T = 500 to 100,000,000."""
    rng = np.random.default_rng(500)
    cells = []
    problems = [(drawn(rng, 3 + 2 * k, bool(k % 2)), float(rng.uniform(0.05, 0.3))) for k in range(6)]
    for horizon in (500, 5_000, 50_000, 5_000_000, 100_000_000):
        for k, (instance, alpha) in enumerate(problems):
            name = f"T={horizon:,} {k + 1}"
            cells.append(Cell(f"T = {horizon:,}", name, k + 1, instance, sf.BestReward(alpha), horizon))
    return cells


def ties() -> list[Cell]:
    """Near-ties: the best arm is the dearest, all others are within 0.01 of the threshold."""
    rng = np.random.default_rng(99)
    cells = []
    for k in range(20):
        arms, alpha, best = int(rng.integers(3, 9)), float(rng.uniform(0.05, 0.3)), float(rng.uniform(0.3, 0.95))
        means = np.clip((1 - alpha) * best + rng.uniform(-0.01, 0.01, arms), 0.0, best)
        means[-1] = best
        costs = np.sort(10 ** rng.uniform(-2.0, 0.0, arms))
        instance = sf.Instance(costs / costs.max(), means)
        cells.append(Cell("near-ties", f"tie {k + 1}", k + 1, instance, sf.BestReward(alpha), 500_000))
    return cells


# Where a policy of the paper has had much less regret than GLR.
BEATEN = ("toy:0.75", "llm-routing:GPQA 0.05", "llm-routing:Tau2-Bench 0.2", "unseen 4", "unseen 8", "unseen 36")


def mirrors() -> list[Cell]:
    """The cells where GLR is beaten, each also with the arm that misses the threshold by least as far above it."""
    cells = []
    for cell in grid() + unseen():
        if cell.name in BEATEN:
            instance, setting = cell.instance, cell.setting
            short = setting.threshold(instance) - instance.means
            short[(short <= 0) | (instance.costs >= instance.costs[setting.optimal_arm(instance)])] = np.inf
            arm = int(short.argmin())
            means = instance.means.copy()
            means[arm] += 2 * short[arm]
            mirror = cell._replace(name=f"{cell.name} mirrored", instance=instance.replace(means=means))
            short_name = cell.name.removeprefix("llm-routing:")
            cells += [cell._replace(family="where GLR is beaten", x=short_name)]
            cells += [mirror._replace(family="mirrored", x=short_name)]
    return cells


# Stars from 0.5 to 5, as people give them; tilted so that the mean is that of a genre. Standard deviation about 0.2.
STARS = np.array([0.015, 0.03, 0.015, 0.065, 0.05, 0.2, 0.125, 0.27, 0.085, 0.145])


def rated(instance: sf.Instance) -> sf.Instance:
    """An instance with ratings / 5 as rewards, and the same means."""
    levels = np.arange(1, 11) / 10
    rows = []
    for mean in instance.means:
        low, high = -50.0, 50.0
        for _ in range(200):
            tilt = 0.5 * (low + high)
            weights = STARS * np.exp(tilt * (levels - mean))
            weights /= weights.sum()
            low, high = (tilt, high) if weights @ levels < mean else (low, tilt)
        rows.append(weights)
    return sf.Instance(instance.costs, reward="categorical", values=levels, probabilities=rows)


def ratings() -> list[Cell]:
    """MovieLens and Goodreads with ratings as rewards."""
    return [
        cell._replace(name=f"{cell.name} rated", instance=rated(cell.instance))
        for cell in grid()
        if cell.family in ("movielens", "goodreads")
    ]


Maker = Callable[[], list[Cell]]
