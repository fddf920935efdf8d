"""The bandit that a twin plays: arms in the paper's order, one reward for every pull."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np

from satisfice.problem import Instance, ReferenceArm, Setting


def arms_by_cost(instance: Instance, setting: Setting) -> list[int]:
    """The caller's indices in the paper's order: ascending cost, the caller's order among equals.

    With a known reference arm `ell`, arms strictly dearer than it are pruned and it comes last: the paper's
    "think of arm ell as the arm with index K + 1" (Section 3.1).
    """
    order = sorted(range(instance.arms), key=lambda k: instance.costs[k])
    if isinstance(setting, ReferenceArm):
        ell = instance.index(setting.arm)
        order = [k for k in order if instance.costs[k] <= instance.costs[ell] and k != ell] + [ell]
    return order


class Bandit:
    """The state that the paper's algorithms share, and its function sample_and_update()."""

    def __init__(self, instance: Instance, order: list[int], horizon: int, rng: np.random.Generator) -> None:
        self.K = len(order)
        self.c = [float(instance.costs[k]) for k in order]
        self.bounded = instance.bounded
        self.n = [0] * self.K
        self.mu = [0.0] * self.K  # the empirical means, 0 before the first pull
        self.total = [0.0] * self.K
        self.played: list[int] = []
        self.sample = _sampler(instance, order, horizon, rng)

    def sample_and_update(self, k: int) -> float:
        """Function sample_and_update(), which also gives the reward."""
        r = self.sample(k)
        self.total[k] += r
        self.n[k] += 1
        # The paper's (mu n + r) / (n + 1) without its accumulated rounding: equal counts give equal means,
        # so that exact ties between arms stay ties.
        self.mu[k] = self.total[k] / self.n[k]
        self.played.append(k)
        return r


def _sampler(instance: Instance, order: list[int], horizon: int, rng: np.random.Generator) -> Callable[[int], float]:
    """`sample(k)`: the reward of the next pull. Each pull uses one draw, whichever arm it is of."""
    means = [float(instance.means[k]) for k in order]
    if instance.reward == "gaussian":
        normal = iter(rng.standard_normal(horizon).tolist()).__next__
        sigma = instance.sigma
        return lambda k: means[k] + sigma * normal()
    uniform = iter(rng.random(horizon).tolist()).__next__
    if instance.reward == "bernoulli":
        return lambda k: 1.0 if uniform() < means[k] else 0.0
    values = instance.values.tolist()
    # Without the last edge, which rounding may leave below 1: a draw beyond the others is the last level.
    edges = [np.cumsum(instance.probabilities[k])[:-1].tolist() for k in order]
    return lambda k: values[bisect_right(edges[k], uniform())]
