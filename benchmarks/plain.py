"""Plain NumPy step loops of the paper's policies: what a researcher would write, and what speed is measured against.

One step at a time; a step of an index policy is a few NumPy operations over all arms, a step of an elimination
policy a few operations on numbers. Arms are sorted by cost once, so the cheapest feasible arm is the first one
(`argmax` of a boolean array). Ties in cost are not looked after: the instances timed here have none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from satisfice.problem import BestReward, FixedThreshold, Instance, ReferenceArm, Setting


class Arms:
    """The arms by cost, with the number of pulls and the sum of rewards of each."""

    def __init__(self, instance: Instance, setting: Setting, rng: np.random.Generator) -> None:
        order = np.argsort(instance.costs, kind="stable")
        self.ell = -1
        if isinstance(setting, ReferenceArm):
            ell = instance.index(setting.arm)
            order = np.append(order[(instance.costs[order] <= instance.costs[ell]) & (order != ell)], ell)
            self.ell = len(order) - 1
        if instance.reward != "bernoulli":
            raise ValueError(f"the plain loops draw Bernoulli rewards, not {instance.reward} ones")
        self.means = instance.means[order]
        self.rng = rng
        self.n = np.zeros(len(order))
        self.total = np.zeros(len(order))

    def pull(self, k: int) -> bool:
        reward = self.rng.random() < self.means[k]
        self.n[k] += 1
        self.total[k] += reward
        return reward


def ucb_cs(arms: Arms, setting: Setting, horizon: int, steps: int, start: int = 0) -> None:
    n, total, ell = arms.n, arms.total, arms.ell
    scale, width = 1 - setting.alpha, 2 * math.log(horizon)
    for t in range(start, steps):
        if t < len(n):
            k = t
        else:
            ucb = np.minimum(total / n + np.sqrt(width / n), 1)
            reference = ucb.max() if ell < 0 else ucb[ell]
            k = (ucb >= scale * reference).argmax()
        arms.pull(k)


def ft_ucb(arms: Arms, setting: Setting, horizon: int, steps: int, start: int = 0) -> None:
    n, total = arms.n, arms.total
    for t in range(start, steps):
        if t < len(n):
            k = t
        else:
            feasible = total / n + np.sqrt(2 * math.log(t + 1) / n) >= setting.mu0
            k = feasible.argmax()
            if not feasible[k]:
                k = arms.rng.integers(len(n))
        arms.pull(k)


def etc_cs(arms: Arms, setting: Setting, horizon: int, steps: int, start: int = 0) -> None:
    n, total = arms.n, arms.total
    scale, width = 1 - setting.alpha, 2 * math.log(horizon)
    exploration = etc_exploration(horizon, len(n))
    for t in range(start, steps):
        if t < exploration:
            k = t % len(n)
        else:
            mean, beta = total / n, np.sqrt(width / n)
            ucb, lcb = np.minimum(mean + beta, 1), np.maximum(mean - beta, 0)
            k = (ucb >= scale * lcb.max()).argmax()
        arms.pull(k)


def etc_exploration(horizon: int, arms: int, c: float = 5.0) -> int:
    """Steps of the exploration of all arms."""
    return arms * math.ceil(c * (horizon / arms) ** (2 / 3))


def ts_cs(arms: Arms, setting: Setting, horizon: int, steps: int, start: int = 0) -> None:
    scale = 1 - setting.alpha
    successes, failures = np.ones(len(arms.n)), np.ones(len(arms.n))
    beta = arms.rng.beta
    for t in range(start, steps):
        if t < len(arms.n):
            k = t
        else:
            theta = beta(successes, failures)
            k = (theta >= scale * theta.max()).argmax()
        if arms.pull(k):
            successes[k] += 1
        else:
            failures[k] += 1


class Elimination:
    """What PE, Asymmetric-PE and PE-CS share. tau and beta are computed when a round begins, not at every step."""

    def __init__(self, arms: Arms, setting: Setting, horizon: int, kappa: int) -> None:
        self.arms, self.ell, self.kappa, self.scale = arms, arms.ell, kappa, 1 - setting.alpha
        self.omega = [0] * len(arms.n)
        self.tau, self.beta = [], []
        while horizon * 0.25 ** len(self.tau) > math.e:
            log, square = math.log(horizon * 0.25 ** len(self.tau)), 0.25 ** len(self.tau)
            self.tau.append(math.ceil(2 * log / square))
            self.beta.append(math.sqrt(log / (2 * self.tau[-1])))
        self.active = np.arange(len(arms.n)) if self.ell < 0 else np.array([self.ell])
        self.episode, self.winner = 0, -1

    def mean(self, k: int) -> float:
        return self.arms.total[k] / self.arms.n[k]

    def next_arm(self) -> int:
        if len(self.active) > 1:
            k = self.identify()
            if k >= 0:
                return k
        if self.winner < 0 and self.episode != self.ell:
            return self.compare()
        return self.ell if self.winner < 0 else self.winner

    def identify(self) -> int:
        active, n = self.active, self.arms.n
        omega = self.omega[active[0]]
        if omega < len(self.tau):
            short = n[active] < self.tau[omega]
            if short.any():
                return active[short.argmax()]
            mean = self.arms.total[active] / n[active]
            self.active = active[mean + self.beta[omega] >= mean.max() - self.beta[omega]]
            if len(self.active) > 1:
                for k in self.active:
                    self.omega[k] += 1
                return self.arms.rng.choice(self.active)
        else:
            self.active = active[[np.argmax(self.arms.total[active] / n[active])]]
        self.ell = self.active[0]
        return -1

    def compare(self) -> int:
        i, ell, n, omega, scale = self.episode, self.ell, self.arms.n, self.omega, self.scale
        won = lost = False
        if omega[i] < len(self.tau):
            if n[i] < self.tau[omega[i]]:
                return i
            at = min(omega[i] + self.kappa, omega[ell], len(self.tau) - 1)
            if n[ell] < self.tau[at]:
                return ell
            mean_i, mean_ell, beta_i, beta_ell = self.mean(i), self.mean(ell), self.beta[omega[i]], self.beta[at]
            won = scale * (mean_ell + beta_ell) < mean_i - beta_i
            lost = mean_i + beta_i < scale * (mean_ell - beta_ell)
        if not (won or lost) and omega[i] + 1 >= len(self.tau):
            won = self.mean(i) >= scale * self.mean(ell)
            lost = not won
        if won:
            self.winner = i
        elif lost:
            self.episode = i + 1
        else:
            omega[i] += 1
            omega[ell] = max(omega[i], omega[ell])
        return self.episode


def elimination(kappa: int) -> Callable[..., None]:
    def loop(arms: Arms, setting: Setting, horizon: int, steps: int, start: int = 0) -> None:
        policy = Elimination(arms, setting, horizon, kappa)
        for _ in range(start, steps):
            arms.pull(policy.next_arm())

    return loop


LOOPS: dict[str, Callable[..., None]] = {
    "pe": elimination(0),
    "asymmetric-pe": elimination(5),
    "pe-cs": elimination(0),
    "ucb-cs": ucb_cs,
    "ft-ucb": ft_ucb,
    "etc-cs": etc_cs,
    "ts-cs": ts_cs,
}
SERVED: dict[str, type[Setting] | tuple[type[Setting], ...]] = {
    "pe": ReferenceArm,
    "asymmetric-pe": ReferenceArm,
    "pe-cs": BestReward,
    "ucb-cs": (BestReward, ReferenceArm),
    "ft-ucb": FixedThreshold,
    "etc-cs": BestReward,
    "ts-cs": BestReward,
}


def play(
    policy_id: str, instance: Instance, setting: Setting, horizon: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """One run of the plain loop: the pulls of the arms, by cost (without those dearer than a reference arm)."""
    arms = Arms(instance, setting, rng)
    LOOPS[policy_id](arms, setting, horizon, horizon)
    return arms.n


def steps_per_second(
    policy_id: str, instance: Instance, setting: Setting, horizon: int, seconds: float = 1.0, seed: int = 0
) -> float:
    """Steps a second of the plain loop of a policy, on Bernoulli rewards.

    The index policies take the same time for every step of a kind and are timed for at least `seconds` seconds;
    ETC-CS for each of its two kinds, which are then weighted by their share of the horizon. The elimination
    policies get faster when an arm has won, so they are timed over the whole horizon, however long it takes.
    """
    if not isinstance(setting, SERVED[policy_id]):
        raise ValueError(f"no plain loop of {policy_id!r} for {setting!r}")

    def timed(start: int, end: int) -> float:
        arms = Arms(instance, setting, np.random.default_rng(seed))
        if start:  # only ETC-CS starts late: after its exploration
            arms.n[:] = start // len(arms.n)
            arms.total[:] = arms.rng.binomial(start // len(arms.n), arms.means)
        begin = time.process_time()
        LOOPS[policy_id](arms, setting, horizon, end, start)
        return time.process_time() - begin

    if policy_id in ("pe", "asymmetric-pe", "pe-cs"):
        return horizon / timed(0, horizon)
    exploration = min(etc_exploration(horizon, instance.arms), horizon)
    if policy_id != "etc-cs" or exploration == horizon:
        return _rate(timed, 0, horizon, seconds)
    explore = _rate(timed, 0, exploration, seconds / 2)
    commit = _rate(timed, exploration, horizon, seconds / 2)
    return horizon / (exploration / explore + (horizon - exploration) / commit)


def _rate(timed: Callable[[int, int], float], start: int, end: int, seconds: float) -> float:
    """Steps a second from step `start` on, over at least `seconds` seconds or up to step `end`."""
    steps = min(5_000, end - start)
    while True:
        elapsed = timed(start, start + steps)
        if elapsed >= seconds or start + steps == end:
            return steps / elapsed
        steps = min(end - start, max(2 * steps, int(1.1 * steps * seconds / elapsed)))
