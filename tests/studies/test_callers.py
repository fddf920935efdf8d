"""Many callers of one process: decisions are taken in advance for them, each is handed out once, and none is kept."""

from __future__ import annotations

import contextlib
import gc
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import satisfice as sf
from satisfice.errors import OutcomeUnknown, StorageBusy, StudyClosed, UnknownDecision
from satisfice.studies import create_study, load_study
from satisfice.studies.storages import hub
from satisfice.studies.storages.base import Transaction
from satisfice.studies.storages.requests import Relay, Request
from satisfice.studies.storages.sql import AHEAD, SQLLedger
from satisfice.studies.telling import LOOK_AFTER

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
    deadline = time.monotonic() + 300.0  # on a busy machine
    while (ledger.stock or pending(study)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not ledger.stock and not pending(study)
    log = study.log()
    assert sorted(log.filter(log["status"] == "told")["id"]) == sorted(made)
    assert not study.check().differences


def test_whoever_wakes_wakes_the_next_one(path: Path) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=f"sqlite:///{path}")
    ledger = study._ledger
    assert isinstance(ledger, SQLLedger)
    relay, order = Relay(), list[int]()
    requests = [Request(ledger, lambda tx: None, False) for _ in range(4)]
    requests[2].claim()

    def wait(place: int) -> None:
        requests[place].wait(0.01 if place == 2 else 60.0, ledger.hub)
        order.append(place)

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(wait, place) for place in (0, 1, 3)]
        gone = pool.submit(wait, 2)
        assert isinstance(gone.exception(), OutcomeUnknown)  # it was begun, and there was no answer in time
        relay.start(requests)
        assert [future.result() for future in waiting] == [None] * 3
    assert order == [0, 1, 3] and not relay
    relay.wake()
    assert all(request.finish() for request in requests[:2])  # more than once is as good as once


def test_nothing_new_is_begun_before_everybody_was_woken(path: Path) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=f"sqlite:///{path}")
    ledger = study._ledger
    assert isinstance(ledger, SQLLedger)

    def some() -> list[Request]:
        return [Request(ledger, lambda tx: None, False) for _ in range(CALLERS)]

    relay = Relay()
    for _ in range(20):
        requests = some()
        with ThreadPoolExecutor(CALLERS) as pool:
            waiting = [pool.submit(request.wait, 60.0, ledger.hub) for request in requests]
            relay.start(requests)
            relay.over(60.0)
            assert not relay
            assert [future.result() for future in waiting] == [None] * CALLERS
    requests = some()  # of callers that do not get on once they are woken
    relay.start(requests)
    assert len(relay) == CALLERS - 1
    relay.over(0.001)
    assert not relay and all(request.finish() for request in requests)


@pytest.mark.parametrize("where", ["before it wakes the next", "while it wakes the next"])
def test_a_caller_that_is_interrupted_as_it_wakes_holds_nobody_up(
    path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """What an interrupt may do at the worst moment, to every third caller."""
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=f"sqlite:///{path}?timeout=20")
    wake, finish, calls = Relay.wake, Request.finish, iter(range(10**9))

    def interrupted(relay: Relay) -> None:
        if threading.current_thread().name != "satisfice-writer" and next(calls) % 3 == 0:
            if where == "while it wakes the next":
                with contextlib.suppress(IndexError):
                    finish(relay._done[0])
            raise KeyboardInterrupt
        wake(relay)

    monkeypatch.setattr(Relay, "wake", interrupted)
    hit = list[int]()

    def call(number: int) -> None:
        for _ in range(20):
            try:
                study.record("small", 1.0)
            except KeyboardInterrupt:
                hit.append(number)

    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
    # Were anybody held up until somebody else calls, the last ones would wait for 20 seconds.
    assert hit and time.monotonic() - began < 15.0
    assert study.log().height == 160 and study.check().agrees


def test_who_calls_alone_takes_nothing_in_advance(study: sf.Study) -> None:
    ledger = study._ledger
    assert isinstance(ledger, SQLLedger)
    for number in range(1, 41):
        assert study.ask().id == number and not ledger.stock
        study.tell(number, 1.0)


# What was taken in advance comes to no harm. A second `timeout` makes a hub of its own, as another process has.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "studies.db"


def url_of(path: Path, timeout: float = 10.0) -> str:
    return f"sqlite:///{path}?synchronous=normal&timeout={timeout}"


def stocked(path: Path, timeout: float = 10.0, **options: Any) -> tuple[sf.Study, SQLLedger]:
    """A study with decisions that were taken in advance."""
    made = create_study("s", ARMS, sf.BestReward(0.1), storage=url_of(path, timeout), **options)
    ledger = made._ledger
    assert isinstance(ledger, SQLLedger)
    made.tell_many([(decision.id, 1.0) for decision in made.ask_many(800)])
    for _ in range(50):
        with ThreadPoolExecutor(CALLERS) as pool:
            list(pool.map(lambda _: made.tell(made.ask().id, 1.0), range(CALLERS)))
        if ledger.stock:
            break
    return made, ledger


def soon(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 300.0  # on a busy machine
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def whole(study: sf.Study) -> bool:
    """Whether every decision is settled, and proofs rest on all."""
    return study._ledger.look(lambda view: view.machine.frontier.last == view.machine.decisions)


def test_what_is_stale_does_not_bury_what_is_fresh(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another study keeps the writer of the file busy meanwhile."""
    monkeypatch.setattr("satisfice.studies.storages.sql.FRESH", 0.1)
    monkeypatch.setattr("satisfice.studies.storages.hub.TICK", 0.05)
    study, ledger = stocked(path)
    assert ledger.stock
    other = create_study("other", ARMS, sf.BestReward(0.1), storage=url_of(path))

    def gone() -> bool:
        other.tell(other.ask().id, 1.0)
        return not ledger.stock and not ledger.stale and whole(study)

    assert soon(gone)
    ledger.stock_up(study.ask_many(3))
    ledger.stock.extendleft([(0.0, study.ask_many(1)[0])])  # one that is stale before those that are not
    assert ledger.take() is not None and len(ledger.stock) == 2


def test_nothing_is_taken_in_advance_where_silence_counts_as_a_reward(path: Path) -> None:
    assert not stocked(path, expire_after=600.0, expire_as=0.0)[1].stock


def test_a_study_that_is_let_go_of_gives_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satisfice.studies.storages.sql.FRESH", 0.1)
    study, ledger = stocked(path)
    assert ledger.stock
    del study, ledger
    gc.collect()
    assert soon(lambda: whole(load_study("s", storage=url_of(path, 9.0))))


def test_what_could_not_be_given_back_is_given_back_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satisfice.studies.storages.sql.FRESH", 0.1)
    study, ledger = stocked(path, timeout=0.2)
    assert ledger.stock
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        assert soon(lambda: ledger._failed_at > 0.0)  # it was tried, in vain
        lock.execute("ROLLBACK")
    assert soon(lambda: not ledger.stock and not ledger.stale and whole(study))


def test_whoever_closes_waits_for_what_is_on_its_way_back(path: Path) -> None:
    study, ledger = stocked(path)
    assert ledger.stock
    ledger.give_back(wait=False)
    assert ledger.returning and not ledger.tidy()
    study.close()
    assert not ledger.returning and whole(load_study("s", storage=url_of(path, 9.0)))


def test_what_a_closing_could_not_give_back_is_given_back_later(path: Path) -> None:
    study, ledger = stocked(path, timeout=0.2)
    assert ledger.stock
    with closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageBusy):
            ledger.give_back()
        assert ledger.stale and ledger in ledger.hub.stocked
        lock.execute("ROLLBACK")
    assert soon(lambda: not ledger.stale and whole(study))


def test_what_can_never_be_given_back_is_let_go_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satisfice.studies.storages.sql.TRY_FOR", 0.1)
    monkeypatch.setattr("satisfice.studies.storages.sql.FRESH", 0.1)
    study, ledger = stocked(path)
    assert ledger.stock
    path.unlink()
    assert soon(lambda: not ledger.stock and not ledger.stale and ledger not in ledger.hub.stocked)
    del study


def test_what_others_change_is_heeded(path: Path) -> None:
    study, ledger = stocked(path)
    assert ledger.stock
    load_study("s", storage=url_of(path, 9.0)).end()
    with pytest.raises(StudyClosed):
        study.record("small", 1.0)
    with pytest.raises(StudyClosed):
        study.ask()
    assert soon(lambda: whole(study))


def test_a_backup_that_is_restored_loses_no_decision_of_others(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satisfice.studies.storages.sql.FRESH", 0.5)
    with closing(sqlite3.connect(":memory:")) as backup:
        study = create_study("s", ARMS, sf.BestReward(0.1), storage=url_of(path))
        study.tell_many([(decision.id, 1.0) for decision in study.ask_many(800)])
        with closing(sqlite3.connect(path)) as file:
            file.backup(backup)
        ledger = study._ledger
        assert isinstance(ledger, SQLLedger)
        ledger.stock_up(study.ask_many(20))
        with closing(sqlite3.connect(path)) as file:
            backup.backup(file)
    other = load_study("s", storage=url_of(path, 9.0))
    other.ask_many(40)
    assert soon(lambda: not ledger.stock and not ledger.stale)
    assert pending(other) == 40 and not other.check().differences


def test_a_deed_that_fails_after_the_commit_hurts_nobody(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: SQLLedger, *, wait: bool = True) -> None:
        raise IndexError

    study = create_study("s", ARMS, sf.BestReward(0.1), storage=url_of(path))
    monkeypatch.setattr(SQLLedger, "give_back", fail)
    study.set_cost("small", 0.3)
    assert study.arms["small"] == 0.3


def test_a_reward_that_is_durable_is_told(path: Path) -> None:
    """Somebody else takes the lock before the study is looked after, which is no matter of who told."""
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=url_of(path, 0.2))
    numbers = [decision.id for decision in study.ask_many(LOOK_AFTER + 1)]
    ledger = study._ledger
    assert isinstance(ledger, SQLLedger)
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as lock:

        def watch(callers: int, seconds: float) -> None:
            if ledger.told >= LOOK_AFTER and not lock.in_transaction:
                lock.execute("BEGIN IMMEDIATE")

        hub.watchers.append(watch)
        try:
            for number in numbers[:LOOK_AFTER]:
                assert study.tell(number, 1.0)
            assert lock.in_transaction
        finally:
            hub.watchers.remove(watch)
        lock.execute("ROLLBACK")
    assert pending(study) == 1


@pytest.mark.parametrize("first", ["archive", "tell"])
def test_an_archive_shares_its_transaction_with_nobody(path: Path, tmp_path: Path, first: str) -> None:
    """A correction that comes at the same moment is refused, or counted."""
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=url_of(path))
    study.tell_many([(decision.id, 0.0) for decision in study.ask_many(40)])
    time.sleep(0.01)
    before = time.time()
    time.sleep(0.01)
    study.tell_many([(decision.id, 0.0) for decision in study.ask_many(40)])
    ledger, held, came = study._ledger, threading.Event(), threading.Event()
    assert isinstance(ledger, SQLLedger)
    writer, gone = ledger.hub.writer(ledger), dict[str, object]()

    def hold(tx: Transaction) -> None:
        came.set()
        assert held.wait(20.0)

    def attempt(name: str) -> None:
        deeds: dict[str, Callable[[], object]] = {
            "archive": lambda: study.archive(before, tmp_path / "old.parquet"),
            "tell": lambda: study.tell(3, 1.0, correct=True),
        }
        try:
            gone[name] = deeds[name]()
        except sf.SatisficeError as error:
            gone[name] = error

    with ThreadPoolExecutor(3) as pool:
        pool.submit(ledger.run, hold)
        assert came.wait(20.0)
        for place, name in enumerate((first, "tell" if first == "archive" else "archive"), 1):
            pool.submit(attempt, name)
            assert soon(lambda: writer.queue.qsize() >= place)  # noqa: B023
        held.set()
    assert not study.check().differences
    study.ask()
    assert not study.check().differences
    if first == "tell":
        assert gone["tell"] is True
    else:
        assert isinstance(gone["tell"], UnknownDecision) and (tmp_path / "old.parquet").is_file()
