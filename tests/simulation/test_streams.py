"""Streams made in bulk are those of NumPy, word by word."""

from __future__ import annotations

import numpy as np
import pytest

import satisfice as sf
from satisfice.policies import get_policy
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.job import Job
from satisfice.simulation.streams import reachable, settable, states


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**40 + 5, 2**63 - 1])
@pytest.mark.parametrize("label", [0, 123_456_789, 2**32 - 1])
def test_states_are_those_of_numpy(seed: int, label: int) -> None:
    made = states(seed, label, 3, 4)
    for run, words in enumerate(made.tolist(), start=3):
        expected = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(label, run))).state["state"]
        assert (words[0] + (words[1] << 64), words[2] + (words[3] << 64)) == (expected["state"], expected["inc"])


def test_a_generator_is_set_by_writing_to_its_memory() -> None:
    assert reachable()  # if NumPy changes its layout, runs are seeded one by one: the same numbers, more slowly
    generator, words, half = settable(np.random.PCG64(1))
    generator.integers(2**31, dtype=np.int32)  # leaves half a number over
    assert half[0] == 1
    words[:], half[0] = states(5, 6, 7, 1)[0], 0
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(6, 7))))
    assert (
        generator.integers(2**31, size=5, dtype=np.int32).tolist()
        == expected.integers(2**31, size=5, dtype=np.int32).tolist()
    )


def test_runs_at_once_are_the_runs_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = sf.Instance(costs=[3, 1, 2], means=[0.8, 0.3, 0.7])
    job = Job(get_policy("pe-cs"), instance, sf.BestReward(0.2), horizon=5000, seed=4, checkpoints=even_times(5000))
    at_once = job.run(2, 5)
    monkeypatch.setattr("satisfice.simulation.job.reachable", lambda: False)
    for first, second in zip(at_once, job.run(2, 5), strict=True):
        np.testing.assert_array_equal(first, second)
