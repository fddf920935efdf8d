"""Rehearse a live study on an instance: what it would do, and its regret, with late, missing and failing answers."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidInstance, InvalidStudy
from satisfice.policies import Policy
from satisfice.problem import Instance, Setting
from satisfice.studies.storages.memory import MemoryLedger
from satisfice.studies.study import Study

if TYPE_CHECKING:
    from satisfice.studies.records import Decision

# How late a reward is, in decisions: always the same, or by the arm (its place in the instance) and the reward.
Delay = int | Callable[[np.random.Generator, int, float], int]

MOST = 10_000  # decisions asked for at once


@dataclass(frozen=True)
class Rehearsal:
    """What came of a rehearsal. Regret is the paper's: gaps of the means times the decisions for every arm."""

    study: Study
    checkpoints: NDArray[np.int64]  # (checkpoints,): numbers of decisions
    decisions: NDArray[np.int64]  # (checkpoints, arms): how many of them were for each arm
    cost_regret: NDArray[np.float64]  # (checkpoints,)
    quality_regret: NDArray[np.float64]  # (checkpoints,)

    @property
    def regret(self) -> float:
        """Both regrets together, at the end: their sum only makes sense when they are on one scale."""
        return float(self.cost_regret[-1] + self.quality_regret[-1])


def rehearse(
    instance: Instance,
    setting: Setting,
    decisions: int,
    *,
    policy: str | Policy | type[Policy] = "glr",
    delay: Delay = 0,
    missing: float = 0.0,
    failing: Collection[str] = (),
    sessions: int = 0,
    guesses: Collection[float] | None = None,
    checkpoints: int = 50,
    seed: int = 0,
    horizon: int | None = None,
    watch: Callable[[Study], None] | None = None,
    **terms: object,
) -> Rehearsal:
    """Run a live study, in memory, on the arms of an instance.

    Parameters
    ----------
    instance : Instance
        Rewards are drawn from it, and costs, where its `cost_spread` says that they vary.
    setting : Setting
        What is good enough.
    decisions : int
        How many decisions to make.
    policy : str or Policy
        As in `create_study`.
    delay : int or callable
        After how many further decisions the reward of one is told; or a function of a generator, the arm's place in
        the instance and the reward, for delays that are random, or that depend on the reward.
    missing : float
        The share of rewards that never come; their decisions stay open.
    failing : names of arms
        Arms that never answer: their decisions are abandoned at once.
    sessions : int
        So many conversations go on at the same time, each of which ends with a probability of 1/5 after a call.
    guesses : numbers, optional
        With `costs="told"`, what is given as the costs of the arms; by default the cost of one call of each.
    checkpoints : int
        How many times on the way, evenly spaced, the regret is noted.
    seed : int
        Of the rewards, costs and delays, and of the study.
    horizon : int, optional
        As in `create_study`; `decisions` by default.
    watch : callable, optional
        It is given the study at every checkpoint.
    **terms
        The other terms of `create_study`: `confidence`, `costs`, `baseline`, `holdout`, `budget`, ...

    Returns
    -------
    Rehearsal
        The study, to be looked at, and both regrets at the checkpoints.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> inst = Instance(costs=[1.0, 9.0], means=[0.85, 0.9], names=["small", "large"])
    >>> done = rehearse(inst, BestReward(0.1), 300, delay=20, seed=1)
    >>> done.decisions[-1].sum(), done.study.status().spending.decisions
    (np.int64(300), 300)
    """
    from satisfice.studies import create_study

    if not instance.bounded:
        raise InvalidInstance("a study takes rewards within a range; this instance's have none, or are beyond [0, 1]")
    if isinstance(decisions, bool) or not isinstance(decisions, int) or decisions < 1:
        raise InvalidStudy(f"decisions = {decisions!r}; it must be a whole number of at least 1", parameter="decisions")
    rng, costs = np.random.default_rng(seed), instance.costs.tolist()
    if terms.get("costs") == "told":
        costs = list(guesses) if guesses is not None else [_price(instance, k, rng) for k in range(instance.arms)]
    study = create_study(
        "rehearsal",
        dict(zip(instance.names, costs, strict=True)),
        setting,
        policy,
        horizon=decisions if horizon is None else horizon,
        seed=seed,
        **terms,  # type: ignore[arg-type]
    )
    stage = _Stage(study, instance, rng, delay, missing, frozenset(failing), sessions)
    times = np.unique(np.linspace(0, decisions, checkpoints + 1).astype(np.int64)[1:])
    counts = np.zeros((len(times), instance.arms), dtype=np.int64)
    for place, stop in enumerate(times.tolist()):
        stage.play_until(stop)
        counts[place] = stage.counts
        if watch is not None:
            watch(study)
    stage.tell_the_rest()
    return Rehearsal(
        study, times, counts, counts @ setting.cost_gaps(instance), counts @ setting.quality_gaps(instance)
    )


@dataclass
class _Stage:
    """A study and the world that answers it."""

    study: Study
    instance: Instance
    rng: np.random.Generator
    delay: Delay
    missing: float
    failing: frozenset[str]
    sessions: int
    done: int = 0
    waiting: list[tuple[int, int, float, float | None]] = field(default_factory=list)  # due, id, reward, cost

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.instance.arms, dtype=np.int64)
        self.place = {name: k for k, name in enumerate(self.instance.names)}
        self.chats = [0] * self.sessions
        assert isinstance(self.study._ledger, MemoryLedger)
        self.ledger = self.study._ledger
        config = self.study.config
        self.plain = not self.sessions and not self.failing and config.budget is None and not config.holdout
        self.plain &= config.costs == "fixed"  # a told cost may change the order of the arms, and end the lease

    def play_until(self, stop: int) -> None:
        """Make decisions, and tell what is due between them."""
        while self.done < stop:
            self._tell(self.done)
            for decision in self._ask(min(self._block(), stop - self.done)):
                self._answer(decision)
                self.done += 1

    def tell_the_rest(self) -> None:
        """Tell what is due after the last decision."""
        self._tell(self.done)

    def _block(self) -> int:
        """How many decisions can be asked for at once without any difference: pulls of the lease that are certain
        before its last reward is in, whatever is told between them."""
        machine = self.ledger.machine
        return max(min(machine.block(), machine.left, MOST), 1) if self.plain and not machine.lease_due else 1

    def _ask(self, count: int) -> list[Decision]:
        if self.sessions:
            chat = int(self.rng.integers(self.sessions))
            decision = self.study.ask(session=f"chat {chat}/{self.chats[chat]}")
            self.chats[chat] += self.rng.random() < 0.2
            return [decision]
        return self.study.ask_many(count) if count > 1 else [self.study.ask()]

    def _answer(self, decision: Decision) -> None:
        arm = self.place[decision.arm]
        self.counts[arm] += 1
        if decision.arm in self.failing:
            self.study.abandon(decision.id)
            return
        reward, cost = self._draw(arm)
        if self.missing and self.rng.random() < self.missing:
            return
        late = self.delay if isinstance(self.delay, int) else self.delay(self.rng, arm, reward)
        heapq.heappush(self.waiting, (decision.id + late, decision.id, reward, cost))

    def _draw(self, arm: int) -> tuple[float, float | None]:
        inst, spread = self.instance, self.instance.cost_spread
        if inst.reward == "bernoulli":
            reward = float(self.rng.random() < inst.means[arm])
        else:
            reward = float(self.rng.choice(inst.values, p=inst.probabilities[arm]))
        return reward, _price(inst, arm, self.rng) if spread or self.study.config.costs == "told" else None

    def _tell(self, now: int) -> None:
        rewards = list(self._due(now))
        if len(rewards) == 1:
            self.study.tell(*rewards[0])
        elif rewards:
            self.study.tell_many(rewards)  # type: ignore[arg-type]

    def _due(self, now: int) -> Iterator[tuple[int, float, float | None]]:
        while self.waiting and self.waiting[0][0] <= now:
            _, number, reward, cost = heapq.heappop(self.waiting)
            yield number, reward, cost


def _price(instance: Instance, arm: int, rng: np.random.Generator) -> float:
    """The cost of one call: a gamma distribution of shape 1 / spread^2 has that coefficient of variation."""
    price, spread = float(instance.costs[arm]), instance.cost_spread
    return float(rng.gamma(spread**-2, price * spread**2)) if spread and price else price


def late_by_value(low: int, high: int) -> Callable[[np.random.Generator, int, float], int]:
    """A delay for `rehearse`: `low` decisions for a reward of 0, `high` for one of 1.

    Examples
    --------
    >>> late_by_value(0, 100)(np.random.default_rng(0), 0, 1.0)
    100
    """
    return lambda rng, arm, reward: math.floor(low + (high - low) * reward)


__all__ = ["Delay", "Rehearsal", "late_by_value", "rehearse"]
