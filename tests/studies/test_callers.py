"""Many callers of one process: decisions are taken in advance for them, each is handed out once, and none is kept."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import satisfice as sf
from satisfice.studies import create_study
from satisfice.studies.storages import hub
from satisfice.studies.storages.sql import AHEAD, FRESH, SQLLedger

ARMS = {"small": 0.2, "medium": 1.0, "large": 8.0}
CALLERS, PAIRS = 16, 60


@pytest.fixture(params=["sqlite", "postgresql"])
def study(request: pytest.FixtureRequest) -> sf.Study:
    return create_study("s", ARMS, sf.BestReward(0.1), storage=request.getfixturevalue(f"{request.param}_url"))


def pending(study: sf.Study) -> int:
    return sum(arm.pending for arm in study.status().arms)


def test_callers_share_what_was_taken_in_advance(study: sf.Study) -> None:
    ledger, shared = study._ledger, list[int]()
    assert isinstance(ledger, SQLLedger)

    def call(number: int) -> list[int]:
        made = []
        for place in range(PAIRS):
            decision = study.ask()
            assert len(ledger.stock) <= (AHEAD + 1) * CALLERS
            study.tell(decision.id, float((number + place) % 2))
            made.append(decision.id)
        return made

    def watch(callers: int, seconds: float) -> None:
        shared.append(callers)

    hub.watchers.append(watch)
    try:
        with ThreadPoolExecutor(CALLERS) as pool:
            made = [number for numbers in pool.map(call, range(CALLERS)) for number in numbers]
    finally:
        hub.watchers.remove(watch)
    assert len(made) == len(set(made)) == CALLERS * PAIRS
    # Every reward was waited for, and fewer than half of the decisions.
    assert CALLERS * PAIRS <= sum(shared) < 1.5 * CALLERS * PAIRS
    # What nobody asked for is given back.
    deadline = time.monotonic() + 20 * FRESH
    while (ledger.stock or pending(study)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not ledger.stock and not pending(study)
    log = study.log()
    assert sorted(log.filter(log["status"] == "told")["id"]) == sorted(made)
    assert not study.check().differences


def test_who_calls_alone_takes_nothing_in_advance(study: sf.Study) -> None:
    ledger = study._ledger
    assert isinstance(ledger, SQLLedger)
    for number in range(1, 41):
        assert study.ask().id == number and not ledger.stock
        study.tell(number, 1.0)
