"""A rule that has cost enough time is compiled in the background, and goes on with the same decisions."""

from __future__ import annotations

import time

import numpy as np
import pytest

import satisfice as sf
from satisfice.studies import create_study, rules

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
    monkeypatch.setattr(rules, "_native", {})
    monkeypatch.setattr(rules, "_spent", {})
    monkeypatch.setattr(rules, "WORTH_COMPILING", 1e9)
    plain = played(1500)
    assert not rules._native
    monkeypatch.setattr(rules, "_spent", {})
    monkeypatch.setattr(rules, "WORTH_COMPILING", 0.0)
    played(1)
    deadline = time.monotonic() + 120
    while not rules._native:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert played(1500) == plain


def test_a_rule_that_remembers_floats_stays_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_spent", {})
    monkeypatch.setattr(rules, "WORTH_COMPILING", 0.0)
    study = create_study("s", ARMS, sf.BestReward(0.1), "ts-cs", seed=1)
    for _ in range(20):
        study.tell(study.ask().id, 1.0)
    assert not rules._spent
