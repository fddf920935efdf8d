"""Promises about proofs: they hold whatever the delay, and whichever arms come and go after looking.

The studies are those of `benchmarks/verdicts.py`, which has the numbers for thousands of them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import satisfice as sf
from satisfice.studies import Storage, Study, create_study
from satisfice.studies.evidence import Evidence


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("verdicts", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdicts"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "kind",
    [
        "fixed threshold, failures first",
        "fixed threshold, silence is success",
        "best reward, successes first",
        "reference arm, failures first",
    ],
)
def test_delays_that_depend_on_the_reward_prove_nothing_wrong(verdicts: ModuleType, kind: str) -> None:
    """Of 6 studies at most 2 are wrong: at 10% each, more are with probability 1.6%, and the seeds are fixed.

    By the sums of the moment, 32% to 100% were.
    """
    assert sum(verdicts.scenario(kind, seed, 2000)[0] for seed in range(6)) <= 2


@pytest.mark.parametrize("arms", [24, 50, 100])
def test_retiring_arms_after_looking_does_not_lower_the_bar(verdicts: ModuleType, arms: int) -> None:
    """Of 60 studies at most 8 are wrong: at 5% each, more are with probability 0.3%. By a bar for the two arms that are
    left most are."""
    results = [verdicts.equal_arms(arms, seed) for seed in range(60)]
    assert sum(wrong for wrong, _ in results) <= 8
    assert sum(naive for _, naive in results) > 8


def played(study: Study, rewards: dict[str, float], count: int) -> None:
    for _ in range(count):
        decision = study.ask()
        study.tell(decision.id, rewards[decision.arm])


def levels(study: Study) -> list[float]:
    return study._ledger.look(lambda view: [float(level) for level in Evidence(view.machine).levels])


def test_arms_that_come_later_leave_the_bar_of_the_others_as_it_was() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), "ucb-cs", horizon=1_000)
    (before,) = set(levels(study))
    for k in range(3, 60):
        study.add_arm(f"arm {k}", float(k))
    bars = levels(study)
    assert bars[:2] == [before, before]
    assert bars[2:] == sorted(bars[2:]) and bars[2] > before
    # All comparisons, of any number of arms to come, share what is allowed: no arm's share depends on later ones.
    from math import exp

    spent = exp(-before) + sum(number * exp(-bar) for number, bar in enumerate(bars[2:], start=2))
    assert spent <= 0.05
    study.retire_arm("a")
    assert levels(study)[0] == before


def test_silence_does_not_stop_proofs_for_ever() -> None:
    """One reward that never comes holds proofs up until the decision is of age, or abandoned."""
    for way in ("mature", "abandon", "expire"):
        clock = [0.0]
        terms = {"mature": {"mature_after": 100.0}, "expire": {"expire_after": 100.0}}.get(way, {})
        study = create_study(
            *("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb"),
            horizon=10_000,
            clock=lambda clock=clock: clock[0],  # type: ignore[misc]
            **terms,  # type: ignore[arg-type]
        )
        lost = study.ask()
        played(study, {"a": 1.0, "b": 1.0}, 300)
        counted = study._ledger.look(lambda view: sum(arm.sure_pulls for arm in view.machine.arms))
        assert counted == 0
        clock[0] += 101.0
        if way == "abandon":
            study.abandon(lost.id)
        played(study, {"a": 1.0, "b": 1.0}, 2)
        counted = study._ledger.look(lambda view: sum(arm.sure_pulls for arm in view.machine.arms))
        assert counted == 302, way
        assert study.check().agrees


def unanswered(storage: Storage, now: list[float]) -> Study:
    """A hundred decisions for one arm, which are waited for a minute each."""
    study = create_study(
        "s",
        {"a": 1.0, "b": 2.0},
        sf.FixedThreshold(0.5),
        storage=storage,
        mature_after=60.0,
        clock=lambda: now[0],
        seed=1,
    )
    study.ask_many(100, exclude=["b"])
    return study


def test_what_is_too_old_to_be_waited_for_is_passed_by_a_look(reopen: Callable[[], Storage]) -> None:
    """On every storage: also where nobody asks or tells any more."""
    now = [1e9]
    study = unanswered(reopen(), now)
    study.record_many([("a", 1.0)] * 100)
    low, _ = study.status().arms[0].interval
    now[0] += 61.0
    later, _ = study.status().arms[0].interval
    assert low < 0.5 < 0.9 < later
    assert study.verdict().state == "certified" and study.check().agrees


def test_a_clock_that_was_ahead_holds_up_no_proof(reopen: Callable[[], Storage]) -> None:
    """Decisions that nobody tells, said to be of next year: those that were made after them are too old by now."""
    now = [1e9 + 3e7]
    study = unanswered(reopen(), now)
    now[0] = 1e9
    study.record_many([("a", 1.0)] * 100)
    assert study.verdict().state == "exploring"
    now[0] += 61.0
    assert study.verdict().state == "certified" and study.check().agrees


def test_what_is_overdue_and_not_expired_yet_is_no_proof(reopen: Callable[[], Storage]) -> None:
    """Silence is a success and complaints come in time, one of five. Whoever tells the last ones does so when the
    others are overdue, before anybody asks again."""
    clock = [1e9]
    study = create_study(
        *("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "glr", reopen()),
        confidence=0.9,
        expire_after=100.0,
        expire_as=1.0,
        clock=lambda: clock[0],
        seed=1,
    )
    for _ in range(10):
        decisions = study.ask_many(50)
        clock[0] += 99.0
        study.tell_many({decision.id: 0.0 for decision in decisions[:25:3]})
        clock[0] += 1.0
        study.record("b", 1.0)
        verdict = study.verdict()
        assert verdict.state != "none"
        assert not verdict.refuted
    assert study.check().agrees
