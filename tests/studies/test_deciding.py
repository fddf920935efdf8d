"""A rule that has cost enough time is compiled in the background, and goes on with the same decisions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies.contract import Lease, Policy, Problem, State, registered
from satisfice.studies import create_study, deciding
from satisfice.studies.looking import Looking

ARMS = {f"arm-{i}": 1.0 + i for i in range(6)}


def played(steps: int) -> list[str]:
    study = create_study("s", ARMS, sf.BestReward(0.1), "glr", seed=1)
    rng = np.random.default_rng(5)
    means = dict(zip(ARMS, np.linspace(0.3, 0.9, 6), strict=True))
    arms = []
    for _ in range(steps):
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < means[decision.arm]))
        arms.append(decision.arm)
    assert study.check().agrees
    return arms


def test_compiled_in_the_background_with_the_same_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "_native", {})
    monkeypatch.setattr(deciding, "_spent", {})
    monkeypatch.setattr(deciding, "WORTH_COMPILING", 1e9)
    plain = played(1500)
    assert not deciding._native
    monkeypatch.setattr(deciding, "_spent", {})
    monkeypatch.setattr(deciding, "WORTH_COMPILING", 0.0)
    played(1)
    deadline = time.monotonic() + 600
    while not deciding._native:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert played(1500) == plain


def test_a_compiled_rule_may_differ_in_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule remembers is in the log, so an audit need not compute it again to the last bit."""
    policy = sf.TSCS

    def nearly(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        lease = policy.decide(problem, state, t, rng)
        state.floats[:] = np.nextafter(state.floats, np.inf)
        return lease

    study = create_study("s", ARMS, sf.BestReward(0.1), policy, seed=1)
    for step in range(40):
        if step == 20:
            monkeypatch.setattr(deciding, "_native", {policy: nearly})
        study.tell(study.ask().id, float(step % 2))
    assert study.check().agrees


@pytest.mark.parametrize("terms", [{"costs": "told"}, {"drift": "adapt"}], ids=str)
def test_a_rule_that_raises_changes_nothing(terms: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), seed=1, **terms)
    for _ in range(4):
        study.tell(study.ask().id, 1.0)
    study.record_many([("a", 1.0, 9.0), ("b", 1.0, 1.0)])  # by what was told, the other arm is cheaper
    machine = study._ledger.look(lambda view: view.machine)
    notes = machine.looking or Looking(machine)
    notes.found = True
    before = machine.to_dict()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("satisfice.studies.machine.decide", fail)
        with pytest.raises(ZeroDivisionError):
            study.ask()
    assert machine.to_dict() == before and before["ints"] is not None
    assert notes.found
    study.ask()
    assert machine.looking is None or not notes.found
    assert study.check().agrees


@pytest.mark.parametrize("answer", [None, 0, (1,), (0, 1, 2), "no", ("a", 1), (0, float("nan")), (0, float("inf"))])
def test_a_rule_that_answers_with_no_lease(answer: object) -> None:
    class Wrong(Policy, register=False):
        id = "wrong-for-studies"
        settings = (sf.BestReward,)
        summary = "a mistake"
        needs_horizon = False

        @staticmethod
        def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
            return answer  # type: ignore[return-value]

    with registered(Wrong):
        study = create_study("s", ARMS, sf.BestReward(0.1), Wrong(), seed=1)
        with pytest.raises(InvalidPolicy, match="wrong-for-studies: its rule answered with no lease after 0 pulls"):
            study.ask()
        assert study.status().spending.decisions == 0 and study.check().agrees
