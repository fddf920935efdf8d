"""The schedule: every run once, in pieces of any size, whoever does the work."""

from __future__ import annotations

import importlib
import random
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import satisfice as sf
from satisfice.errors import InvalidPolicy, InvalidRun
from satisfice.policies import get_policy
from satisfice.policies.compiled import dispatcher
from satisfice.policies.contract import registered
from satisfice.simulation import schedule
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.engine import _many, run_many
from satisfice.simulation.job import Job, Output, Piece
from satisfice.simulation.processes import in_processes, prepare
from satisfice.simulation.schedule import carry_out, split, start_here

INSTANCE = sf.Instance([0.1, 0.5, 0.9], [0.3, 0.7, 0.8])


def job(policy: str = "etc-cs") -> Job:
    return Job(get_policy(policy), INSTANCE, sf.BestReward(0.2), horizon=500, seed=1, checkpoints=even_times(500, 3))


@given(st.integers(1, 300), st.integers(1, 100), st.integers(0, 2))
def test_pieces_have_every_run_once(runs: int, pieces: int, first: int) -> None:
    first = min(first, runs - 1)
    made = split([job()], runs, pieces, first)
    assert [run for piece in made for run in range(piece.first, piece.first + piece.runs)] == list(range(first, runs))
    assert len(made) <= pieces


def pulls(done: dict[int, Output]) -> list[list[int]]:
    return [row for _, output in sorted(done.items()) for row in output.pulls.tolist()]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_outputs_are_those_of_the_job(workers: int) -> None:
    work = job()
    done = {piece.first: output for piece, output in carry_out(split([work], 10, 4), workers=workers)}
    whole = work.run(0, 10)
    assert pulls(done) == whole.pulls.tolist()
    result = work.result(done)
    np.testing.assert_array_equal(result.cost_curve, whole.cost_curve)
    np.testing.assert_array_equal(result.quality_curve, whole.quality_curve)
    assert result.terms.runs == 10


def test_no_work_is_done_at_once_and_bad_numbers_of_workers_are_refused() -> None:
    assert list(carry_out([])) == []
    with pytest.raises(InvalidRun, match="workers = 0"):
        list(carry_out(split([job()], 1, 1), workers=0))


def test_long_work_moves_to_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as half a second is spent and more than `WORTH_PROCESSES` lies ahead: here after the first job."""
    clock = iter(range(10**6))
    monkeypatch.setattr("satisfice.simulation.schedule.time.perf_counter", lambda: float(next(clock)))
    moved: list[int] = []

    def watched(pieces: list[Piece], workers: int) -> Iterator[tuple[Piece, Output]]:
        moved.append(sum(piece.runs for piece in pieces))
        return in_processes(pieces, workers)

    monkeypatch.setattr(schedule, "in_processes", watched)
    first, second = job(), job("pe-cs")
    done = list(start_here([first, second], 6, most=2))
    assert len(moved) == 1 and 0 < moved[0] < 12
    for one in (first, second):
        assert (
            pulls({piece.first: output for piece, output in done if piece.job is one}) == one.run(0, 6).pulls.tolist()
        )
    moved.clear()
    assert sum(piece.runs for piece, _ in start_here([first, second], 6, most=1)) == 12
    assert not moved


RULES = """
from satisfice import BestReward
from satisfice.policies.contract import Policy

class First(Policy):
    id, settings, summary = "first-of-two-{key}", (BestReward,), "one arm"
    @staticmethod
    def decide(problem, state, t, rng): return 0, {pulls}

class Second(Policy):
    id, settings, summary = "second-of-two-{key}", (BestReward,), "another arm"
    @staticmethod
    def decide(problem, state, t, rng): return {arm}, {pulls}
"""


@contextmanager
def two_new_rules(folder: Path, monkeypatch: pytest.MonkeyPatch, arm: str) -> Iterator[list[Job]]:
    """Two jobs with rules that nobody has compiled before."""
    key, pulls = uuid.uuid4().hex[:8], random.SystemRandom().randrange(1, 1 << 60)
    (folder / f"rules_{key}.py").write_text(RULES.format(key=key, pulls=pulls, arm=arm))
    monkeypatch.syspath_prepend(folder)
    with registered():
        importlib.import_module(f"rules_{key}")
        yield [job(f"first-of-two-{key}"), job(f"second-of-two-{key}")]


def test_new_rules_are_compiled_by_other_processes_and_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_new_rules(tmp_path, monkeypatch, arm="1") as jobs:
        assert not any(job.prepared for job in jobs)
        prepare(jobs, workers=2)
        for each, pulls in zip(jobs, ([500, 0, 0], [0, 500, 0]), strict=True):
            made = dispatcher(run_many, **_many(each.policy))
            assert each.prepared and made.stats.cache_hits and not made.stats.cache_misses
            assert each.run(0, 1).pulls.tolist() == [pulls]


def test_alone_it_compiles_by_itself_and_what_is_wrong_with_a_rule_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with two_new_rules(tmp_path, monkeypatch, arm="{} and 1") as jobs:
        for workers in (1, 2):
            with pytest.raises(InvalidPolicy, match=r"Second\.decide cannot be compiled"):
                prepare(jobs, workers=workers)
        assert dispatcher(run_many, **_many(jobs[0].policy)).stats.cache_misses
