"""Simulated and live agree: a study that is fed the simulator's rewards makes its decisions, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pytest

import satisfice as sf
from satisfice.policies import Policy, all_policies, get_policy
from satisfice.policies.compiled import link
from satisfice.policies.contract import SWEEP, Lease, Problem, State, arrange, make_problem, new_state
from satisfice.simulation.engine import run
from satisfice.simulation.world import make_world
from satisfice.studies import create_study, load_study
from satisfice.studies.storages import Storage

COSTS = {"large": 8.0, "small": 0.2, "medium": 1.0, "tiny": 0.1, "medium-too": 1.0}
MEANS = [0.9, 0.6, 0.85, 0.4, 0.8]
SETTINGS = {
    "best": sf.BestReward(alpha=0.1),
    "reference": sf.ReferenceArm("large", alpha=0.1),
    "fixed": sf.FixedThreshold(0.75),
}


def cases() -> list[tuple[str, str, int | None]]:
    """Every policy in every setting that it serves; with a horizon, and without where it does without."""
    return [
        (name, kind, horizon)
        for name, cls in all_policies().items()
        if cls.live and cls.__module__.startswith("satisfice.")  # not those of other tests
        for kind, setting in SETTINGS.items()
        if isinstance(setting, cls.settings)
        for horizon in ([1] if cls.needs_horizon else [1, None])
    ]


def tape(seed: int, binary: bool) -> list[np.ndarray]:
    """The rewards of every arm in the order of its pulls; not binary: multiples of 1/8, whose sums are exact."""
    rng = np.random.default_rng(seed)
    draws = [rng.binomial(1 if binary else 8, mean, size=4000) / (1 if binary else 8) for mean in MEANS]
    return [np.asarray(d, dtype=float) for d in draws]


def simulated(
    policy: Policy, setting: sf.Setting, horizon: int | None, steps: int, seed: int, binary: bool
) -> Iterator[str]:
    """The arms that the simulator's engine plays, when `draw` reads the tape."""
    names = list(COSTS)
    rewards = tape(seed, binary)
    instance = sf.Instance(list(COSTS.values()), MEANS, names)
    order = arrange(instance.costs, setting, names)
    problem = make_problem(policy, setting, instance.costs, order, horizon, bounded=True, binary=binary)
    used = [0] * len(names)
    leases: list[tuple[int, int]] = []

    def draw(world: object, k: int, pulls: int, rng: np.random.Generator) -> tuple[float, float]:
        arm = order[k]
        used[arm] += pulls
        drawn = rewards[arm][used[arm] - pulls : used[arm]]
        return float(drawn.sum()), float((drawn * drawn).sum())

    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        leases.append(type(policy).decide(problem, state, t, rng))
        return leases[-1]

    engine = link(run, start=type(policy).start, decide=decide, learn=type(policy).learn, draw=draw)
    record = np.zeros((1, len(order)), dtype=np.int64)
    rng = np.random.Generator(np.random.PCG64(seed))
    engine(problem, new_state(policy, len(order)), make_world(instance, order), np.array([steps]), record, rng)
    for arm, pulls in leases:
        for i in range(min(int(pulls), steps) * (len(order) if arm == SWEEP else 1)):
            yield names[order[i % len(order) if arm == SWEEP else arm]]


def lived(
    storage: Storage | None,
    policy: Policy,
    setting: sf.Setting,
    horizon: int | None,
    steps: int,
    seed: int,
    binary: bool,
) -> Iterator[str]:
    """The arms that a study plays; it is opened anew every 50 steps where its storage outlives it."""
    rewards = {name: iter(values) for name, values in zip(COSTS, tape(seed, binary), strict=True)}
    study = create_study("live", COSTS, setting, policy, storage, horizon, seed=seed, binary=binary)
    for step in range(steps):
        if storage is not None and step % 50 == 49:
            study = load_study("live", storage)
        decision = study.ask()
        study.tell(decision.id, next(rewards[decision.arm]))
        yield decision.arm
    assert study.check().agrees


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "fractions"])
@pytest.mark.parametrize(("name", "kind", "horizon"), cases())
def test_memory_agrees_with_the_simulator(name: str, kind: str, horizon: int | None, binary: bool) -> None:
    steps = 1000
    terms = get_policy(name), SETTINGS[kind], horizon and steps, steps, 11, binary
    expected = list(islice(simulated(*terms), steps))
    assert list(lived(None, *terms)) == expected
    assert len(set(expected)) > 1


@pytest.mark.parametrize(("name", "kind", "horizon"), cases())
def test_every_storage_agrees_with_the_simulator(
    name: str, kind: str, horizon: int | None, reopen: Callable[[], Storage]
) -> None:
    steps = 150
    terms = get_policy(name), SETTINGS[kind], horizon and steps, steps, 5, True
    assert list(lived(reopen(), *terms)) == list(islice(simulated(*terms), steps))
