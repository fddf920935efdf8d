"""Rehearsals at full length: the compiled run decides as a study does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import satisfice as sf
from satisfice.errors import InvalidInstance, InvalidStudy
from satisfice.policies.compiled import link
from satisfice.policies.contract import arrange, make_problem, new_state
from satisfice.simulation.world import World, make_world
from satisfice.studies import create_study
from satisfice.studies.config import make_config
from satisfice.studies.late import Feed, arrive, linked, new_accounts, rehearse_late, run_late
from satisfice.studies.rehearsal import rehearse

INST = sf.Instance(costs=[1.0, 1.2, 3.0, 9.0], means=[0.6, 0.8, 0.85, 0.9], names=["a", "b", "c", "d"], cost_spread=1.0)
SETTING = sf.BestReward(0.1)
DECISIONS = 1_500


def tables(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The rewards and the costs of the calls of every arm, in order, and what is guessed before the first."""
    rng = np.random.default_rng(seed)
    rewards = (rng.random((DECISIONS, 4)) < INST.means).astype(float)
    return rewards, rng.gamma(1.0, INST.costs, (DECISIONS, 4)), rng.gamma(1.0, INST.costs)


def by_study(policy: str, delay: int, costs: str, seed: int) -> list[int]:
    """The arms that a study serves."""
    rewards, prices, guesses = tables(seed)
    given = guesses if costs == "told" else INST.costs
    arms = dict(zip(INST.names, given.tolist(), strict=True))
    study = create_study("late", arms, SETTING, policy, horizon=DECISIONS, costs=costs, seed=seed)
    served: list[int] = []
    for done in range(DECISIONS):
        if done - delay >= 1:
            number = done - delay
            arm = served[number - 1]
            place = served[: number - 1].count(arm)
            study.tell(number, rewards[place, arm], prices[place, arm] if costs == "told" else None)
        served.append(INST.names.index(study.ask().arm))
    return served


def by_run(policy: str, delay: int, costs: str, seed: int) -> list[int]:
    """The arms that the compiled run serves, run as plain Python with the same rewards and costs."""
    rewards, prices, guesses = tables(seed)
    drawn, paid = np.zeros(4, dtype=int), np.zeros(4, dtype=int)

    def draw(world: World, arm: int, count: int, rng: np.random.Generator) -> tuple[float, float]:
        drawn[arm] += count
        told = rewards[drawn[arm] - count : drawn[arm], arm]
        return float(told.sum()), float((told**2).sum())

    def price(feed: Feed, arm: int, count: int, rng: np.random.Generator) -> float:
        paid[arm] += count
        return float(prices[paid[arm] - count : paid[arm], arm].sum())

    told = costs == "told"
    config = make_config("late", {"a": 1.0}, SETTING, policy=policy, horizon=DECISIONS)
    cls, accounts = type(config.policy), new_accounts(INST)
    if told:
        accounts.guesses[:] = guesses
    order = arrange(accounts.guesses, SETTING, INST.names)
    problem = make_problem(config.policy, SETTING, accounts.guesses, order, DECISIONS, bounded=True)
    record = np.zeros((DECISIONS, 4), dtype=np.int64)
    parts = {"decide": cls.decide, "arrive": link(arrive, draw=draw, price=price), **linked(cls)}
    feed = Feed(delay, told, INST.costs, 1.0, cls.bounded_only)
    rng, world = np.random.default_rng(0), make_world(INST, np.arange(4))
    state, times = new_state(config.policy, len(order)), np.arange(1, DECISIONS + 1)
    assert link(run_late, **parts)(problem, state, world, feed, accounts, order, times, record, rng) == DECISIONS
    steps: list[int] = np.diff(record, axis=0, prepend=0).argmax(axis=1).tolist()
    return steps


@pytest.mark.parametrize("costs", ["fixed", "told"])
@pytest.mark.parametrize("delay", [0, 7, 300])
@pytest.mark.parametrize("policy", ["glr", "ucb-cs", "etc-cs"])
def test_the_same_decisions(policy: str, delay: int, costs: str) -> None:
    """Policies without random numbers, the same rewards and costs: the same arm in every decision."""
    assert by_run(policy, delay, costs, seed=delay) == by_study(policy, delay, costs, seed=delay)


@pytest.mark.parametrize("policy", ["glr", "pe-cs"])
def test_compiled_and_in_blocks(policy: str) -> None:
    """Few checkpoints, so that decisions come in blocks, and compiled: the decisions are those of a study by law.

    The mean regret of 40 compiled runs and of 8 rehearsals is within a factor of 2 of each other: with these seeds it
    is; the standard deviation of one run is about a third of the mean.
    """
    inst = INST.scaled_costs()
    runs = rehearse_late(inst, SETTING, 600, policy=policy, delay=50, runs=40, seed=1, checkpoints=3)
    assert runs.decisions.sum(axis=2).tolist() == [[200, 400, 600]] * 40
    gaps = SETTING.cost_gaps(inst) + SETTING.quality_gaps(inst)
    assert runs.regret == pytest.approx(runs.decisions[:, -1] @ gaps)
    slow = [rehearse(inst, SETTING, 600, policy=policy, delay=50, seed=seed).regret for seed in range(8)]
    assert 0.5 < runs.regret.mean() / np.mean(slow) < 2.0


def test_blocks_change_nothing() -> None:
    """A rule without random numbers and rewards that are certain: one checkpoint or many, the same decisions."""
    inst = sf.Instance(costs=[1.0, 2.0, 3.0], means=[0.0, 1.0, 1.0])
    few = rehearse_late(inst, SETTING, 500, delay=40, checkpoints=1)
    many = rehearse_late(inst, SETTING, 500, delay=40, checkpoints=500)
    assert few.decisions[0, -1].tolist() == many.decisions[0, -1].tolist()


def test_what_cannot_be_rehearsed() -> None:
    with pytest.raises(InvalidInstance):
        rehearse_late(sf.Instance([1.0], [0.5], reward="gaussian"), SETTING, 10)
    with pytest.raises(InvalidStudy, match="delay"):
        rehearse_late(INST, SETTING, 10, delay=-1)
    with pytest.raises(InvalidStudy, match="reference arm"):
        rehearse_late(INST, sf.ReferenceArm("d", 0.1), 10, costs="told")
