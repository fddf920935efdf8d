"""The world: what the simulator knows and a policy does not, and how its rewards are drawn."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.compiled import inline
from satisfice.problem import REWARD_MODELS, Instance
from satisfice.simulation.counts import ones_before

# The reward models as numbers, which compiled code can compare.
BERNOULLI = REWARD_MODELS.index("bernoulli")
GAUSSIAN = REWARD_MODELS.index("gaussian")
CATEGORICAL = REWARD_MODELS.index("categorical")


class World(NamedTuple):
    """The arms as they are. In the policy's order."""

    model: int  # BERNOULLI, GAUSSIAN or CATEGORICAL
    means: NDArray[np.float64]  # (arms,)
    sigma: float  # of Gaussian rewards; nan for others
    values: NDArray[np.float64]  # (levels,) of categorical rewards
    probabilities: NDArray[np.float64]  # (arms, levels)
    squares: bool = False  # whether squares of Gaussian rewards are drawn, too
    until_zeros: bool = False  # whether rewards of 1 prolong a lease (`Policy.until_zeros`)


def make_world(instance: Instance, order: NDArray[np.int64], squares: bool = False, until_zeros: bool = False) -> World:
    """The world of an instance, with its arms in `order`.

    Examples
    --------
    >>> make_world(Instance(costs=[2, 1], means=[0.9, 0.7]), np.array([1, 0])).means.tolist()
    [0.7, 0.9]
    """
    return World(
        model=REWARD_MODELS.index(instance.reward),
        means=instance.means[order],
        sigma=float(instance.sigma),
        values=np.ascontiguousarray(instance.values),
        probabilities=np.ascontiguousarray(instance.probabilities[order]),
        squares=squares,
        until_zeros=until_zeros and instance.reward == "bernoulli",
    )


@inline
def stretch(world: World, arm: int, zeros: int, most: int, rng: np.random.Generator) -> tuple[int, float]:
    """How many pulls of an arm, at most `most`, until so many of its rewards are 0, and the sum of the rewards.

    Where rewards of 1 do not prolong a lease, or hardly ever end, it is `zeros` pulls, and -1 for a sum to be drawn.
    """
    chance = 1.0 - world.means[arm] if world.until_zeros and arm >= 0 else 0.0
    if not 0.0 < zeros < 1e15 * chance:
        return min(zeros, most), -1.0
    ones = ones_before(zeros, world.means[arm], rng)
    if ones <= most - zeros:
        return zeros + ones, float(ones)
    # There are fewer zeros among the first `most` rewards, which is all that is known of them.
    while True:
        ones = int(rng.binomial(most, world.means[arm]))
        if most - ones < zeros:
            return most, float(ones)


@inline
def draw(world: World, arm: int, pulls: int, rng: np.random.Generator) -> tuple[float, float]:
    """The sum of `pulls` independent rewards of an arm and that of their squares, drawn at once."""
    if world.model == BERNOULLI:
        mean = world.means[arm]
        if pulls == 1:
            return (1.0, 1.0) if rng.random() < mean else (0.0, 0.0)
        total = float(rng.binomial(pulls, mean))
        return total, total
    if world.model == GAUSSIAN:
        total = float(pulls * world.means[arm] + math.sqrt(pulls) * world.sigma * rng.standard_normal())
        squares = total * total / pulls
        if world.squares and pulls > 1:  # the deviations from their mean are independent of it (Cochran's theorem)
            squares += world.sigma * world.sigma * rng.chisquare(pulls - 1)
        return total, squares
    # A multinomial draw, level by level: given the levels before, each count is binomial.
    total, squares = 0.0, 0.0
    left = pulls
    mass = 1.0
    for level in range(len(world.values)):
        share = world.probabilities[arm, level]
        if left > 0 and share > 0.0:
            count = left if share >= mass else rng.binomial(left, share / mass)
            total += count * world.values[level]
            squares += count * world.values[level] ** 2
            left -= count
        mass -= share
    if left > 0:  # rounding left a sliver of mass: it belongs to the last possible level
        level = len(world.values) - 1
        while world.probabilities[arm, level] == 0.0:
            level -= 1
        total += left * world.values[level]
        squares += left * world.values[level] ** 2
    return total, squares
