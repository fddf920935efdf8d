"""Promises about data: what was acknowledged is there, whatever happens to the process, the file or the clock."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import (
    InvalidData,
    InvalidStudy,
    OutcomeUnknown,
    SatisficeError,
    StorageError,
    UnknownDecision,
    UnknownStudy,
)
from satisfice.studies import Study, archive, create_study, get_storage, list_studies, load_study, machine
from satisfice.studies.serving import NOBODY
from satisfice.studies.storages import Storage, sql
from satisfice.studies.storages.base import Transaction, View
from satisfice.studies.storages.links import SQLiteLink
from satisfice.studies.storages.transactions import SQLTransaction

ARMS = {"small": 1.0, "large": 3.0}


def new(storage: object = None, name: str = "study", **terms: object) -> Study:
    terms = {"policy": "ucb-cs", "horizon": 100_000, "seed": 1} | terms
    return create_study(name, ARMS, sf.BestReward(0.1), storage=storage, **terms)  # type: ignore[arg-type]


def pairs(study: Study, count: int) -> list[int]:
    told = []
    for _ in range(count):
        decision = study.ask()
        study.tell(decision.id, 1.0)
        told.append(decision.id)
    return told


def in_child(work: Callable[[], object]) -> int:
    """Do something in a fork of this process; its exit code."""
    child = os.fork()
    if not child:
        signal.alarm(300)  # a child that hangs is a failure, not a wait
        code = 1
        with contextlib.suppress(BaseException):
            code = int(work() is False)
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# A fork


def test_what_a_forked_child_is_told_is_there(sqlite_url: str) -> None:
    """The parent ends, another process opens and closes the file, and the child goes on."""
    ready, ended = os.pipe(), os.pipe()
    first = os.fork()
    if not first:
        study = new(sqlite_url)
        study.ask()
        if os.fork():
            os._exit(0)
        os.read(ready[0], 1)
        pairs(study, 23)
        os.write(ended[1], b"x")
        os._exit(0)
    os.waitpid(first, 0)
    assert in_child(lambda: load_study("study", sqlite_url).status()) == 0
    os.write(ready[1], b"x")
    assert os.read(ended[0], 1) == b"x"
    for end in (*ready, *ended):
        os.close(end)
    study = load_study("study", sqlite_url)
    assert study.status().spending.decisions >= 24
    assert sum(arm.pulls for arm in study.status().arms) == 23
    assert study.check().agrees


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_fork_during_a_transaction_of_another_thread(kind: str, request: pytest.FixtureRequest) -> None:
    study = new(request.getfixturevalue(f"{kind}_url"))
    going = True

    def work() -> None:
        while going:
            pairs(study, 1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert [in_child(lambda: len(pairs(study, 3)) == 3) for _ in range(8)] == [0] * 8
    finally:
        going = False
        thread.join()
    assert study.check().agrees


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_fork_while_another_thread_has_a_lock(kind: str, request: pytest.FixtureRequest) -> None:
    """A study in memory in the middle of a transaction, half of which is mended; and the list of all databases."""
    url = None if kind == "memory" else request.getfixturevalue("sqlite_url")
    storage = get_storage(url)
    study = new(storage)
    pairs(study, 3)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        def work(tx: Transaction) -> None:
            study._ask(tx, 2, NOBODY, (), None)
            held.set()
            over.wait(60.0)

        if kind == "memory":
            storage._lock.acquire()  # type: ignore[attr-defined]
            study._ledger.run(work)
            storage._lock.release()  # type: ignore[attr-defined]
        else:
            with sql._hubs_lock:
                held.set()
                over.wait(60.0)

    def use() -> bool:
        signal.alarm(10)
        other = new(storage if url is None else url, "other")
        decisions = 3 if kind == "memory" else study.status().spending.decisions
        numbers = pairs(study, 2) + pairs(other, 1)
        return numbers == [decisions + 1, decisions + 2, 1] and study.check().agrees

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60.0)
    assert in_child(use) == 0
    over.set()
    thread.join()
    assert study.check().agrees


# Files that are not what they were


def test_a_backup_that_is_restored_under_a_running_process(sqlite_url: str, tmp_path: Path) -> None:
    file = tmp_path / "studies.db"
    study = new(sqlite_url)
    pairs(study, 20)
    with contextlib.closing(sqlite3.connect(file)) as source, contextlib.closing(sqlite3.connect(tmp_path / "b")) as to:
        source.backup(to)
    pairs(study, 20)
    with contextlib.closing(sqlite3.connect(tmp_path / "b")) as source, contextlib.closing(sqlite3.connect(file)) as to:
        source.backup(to)
    told = pairs(study, 5)
    assert told[0] == 21
    assert study.status().spending.decisions == 25
    assert study.check().agrees and load_study("study", sqlite_url).check().agrees


def test_a_file_that_is_replaced_by_another_database(sqlite_url: str, tmp_path: Path) -> None:
    study = new(sqlite_url)
    pairs(study, 5)
    other = new(f"sqlite:///{tmp_path}/other.db", policy="pe-cs")
    pairs(other, 7)
    other.close()
    for end in ("-wal", "-shm"):
        (tmp_path / f"studies.db{end}").unlink()
    (tmp_path / "other.db").replace(tmp_path / "studies.db")
    with pytest.raises(StorageError, match="another database"):
        study.ask()
    with pytest.raises(SatisficeError):
        study.tell(1, 1.0)
    assert load_study("study", sqlite_url).status().spending.decisions == 7


def test_a_backup_that_is_put_in_place_while_a_writer_waits_in_line(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told then is in the file that is there, not in the one that was."""
    new(sqlite_url).close()
    shutil.copy(tmp_path / "studies.db", tmp_path / "backup")
    study = load_study("study", sqlite_url)
    pairs(study, 5)
    line_up = SQLiteLink.line_up

    def wait(link: SQLiteLink) -> None:
        line_up(link)
        if (tmp_path / "backup").exists():
            for end in ("-wal", "-shm"):
                (tmp_path / f"studies.db{end}").unlink()
            (tmp_path / "backup").replace(tmp_path / "studies.db")

    monkeypatch.setattr(SQLiteLink, "line_up", wait)
    study.record("small", 1.0)
    with contextlib.closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
        assert connection.execute("SELECT id, reason FROM satisfice_decisions").fetchall() == [(1, "recorded")]
    assert study.status().spending.decisions == 1 and study.check().agrees


def test_a_file_that_is_deleted_takes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    study = new(sqlite_url)
    decision = study.ask()
    for file in tmp_path.glob("studies.db*"):
        file.unlink()
    with pytest.raises(StorageError, match="gone"):
        study.tell(decision.id, 1.0)
    with pytest.raises(StorageError):
        study.ask()
    assert not (tmp_path / "studies.db").exists()


@pytest.mark.parametrize("state", ["", "garbage", "{}", "[1]", '{"format": 2}', '{"format": 2, "arms": 7}'])
def test_a_damaged_snapshot_is_made_anew_from_the_log(sqlite_url: str, tmp_path: Path, state: str) -> None:
    study = new(sqlite_url)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(1200)})
    study.ask()
    study.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
        assert connection.execute("UPDATE satisfice_snapshots SET state = ?", (state,)).rowcount == 1
        connection.commit()
    study = load_study("study", sqlite_url)
    assert study.status().spending.decisions == 1201
    study.repair()
    assert study.check().agrees


@pytest.mark.parametrize(
    "damage", ["data = '{'", "data = '[1]'", "data = '{\"x\": 1}'", "kind = 'no_kind'", "kind = 'happen'"]
)
def test_a_damaged_log_is_an_error_of_the_storage(sqlite_url: str, tmp_path: Path, damage: str) -> None:
    """Also for a look at one decision, which folds the log by itself."""
    study = new(sqlite_url)
    study.ask()
    with contextlib.closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
        connection.execute(f"UPDATE satisfice_events SET {damage} WHERE seq = 1")
        connection.execute("UPDATE satisfice_snapshots SET state = ''")
        connection.commit()
    with pytest.raises(StorageError, match="cannot be followed"):
        study.explain(1)
    study.close()
    study = load_study("study", sqlite_url)
    for call in (study.status, study.ask, study.repair):
        with pytest.raises(StorageError, match="cannot be followed"):
            call()


def test_a_wrong_snapshot_is_found_and_repaired(sqlite_url: str, tmp_path: Path) -> None:
    study = new(sqlite_url)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(1200)})
    study.ask()
    study.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
        connection.execute(
            "UPDATE satisfice_snapshots SET state = replace(state, '\"corrections\": 0', '\"corrections\": 3')"
        )
        connection.commit()
    study = load_study("study", sqlite_url)
    assert not study.check().agrees
    study.repair()
    assert study.check().agrees


# Interrupts


class Hit(BaseException):
    """What an interrupt raises."""


def interrupted(seconds: float, work: Callable[[], object]) -> bool:
    """Do something that an interrupt ends after so many seconds; whether one did."""

    def hit(number: int, frame: FrameType | None) -> None:
        # Once more if it is in vain: Python ignores what is raised where nothing can be, in a finalizer for example;
        # and at once where Hypothesis counts how long the garbage collector takes.
        vain = frame is not None and frame.f_code.co_name == "gc_callback"
        signal.setitimer(signal.ITIMER_REAL, 1e-4 if vain else 1.0)
        if inside and not vain:
            raise Hit

    inside, before = False, signal.signal(signal.SIGALRM, hit)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            inside = True
            work()
        finally:
            inside = False
        return False
    except Hit:
        return True
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_interrupts_at_any_moment(reopen: Callable[[], Storage]) -> None:
    """A timer hits calls of every kind at random moments; nothing is damaged, and nobody is locked out."""
    study = new(reopen(), expire_after=1e9)
    rng = random.Random(0)
    acknowledged = set()

    def work(turn: int) -> None:
        while True:
            decision = study.ask(subject=f"s{turn % 7}") if turn % 3 else study.ask()
            if study.tell(decision.id, float(turn % 2)):
                acknowledged.add(decision.id)
            if turn % 4 == 0:
                study.status()
            if turn % 5 == 0:
                study.forget("s3")

    assert all(interrupted(rng.uniform(1e-5, 2e-3), partial(work, turn)) for turn in range(300))
    pairs(study, 3)
    assert study.check().agrees
    told = set(study.log().filter(status="told")["id"].to_list())
    assert acknowledged <= told
    assert study.status().spending.decisions == load_study("study", reopen()).status().spending.decisions


def interrupted_at_line(number: int, file: str, work: Callable[[], object]) -> bool:
    """Do something that an interrupt ends before so many lines of a file have run; whether one did."""
    left = number

    def line(frame: FrameType, event: str, value: Any) -> Callable[..., Any]:
        nonlocal left
        left -= event == "line"
        if event == "line" and not left:
            raise Hit
        return line

    def call(frame: FrameType, event: str, value: Any) -> Callable[..., Any] | None:
        return line if left > 0 and frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    except Hit:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_every_line_of_the_first_decision() -> None:
    """Nothing that is made once, when it is first needed, stays half made."""
    for number in range(1, 1000):
        study = new()
        hit = interrupted_at_line(number, str(machine.__file__), lambda: pairs(study, 1))  # noqa: B023
        pairs(study, 2)
        assert study.check().agrees
        if not hit:
            break
    assert 20 < number < 999


class Gate:
    """A lock after whose taking the main thread is interrupted, if it takes it by `acquire`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.locked, self.release = self.lock.locked, self.lock.release

    def acquire(self, timeout: float = -1) -> bool:
        taken = self.lock.acquire(timeout=timeout)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return taken

    def __enter__(self) -> bool:
        return self.lock.__enter__()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def test_an_interrupt_while_connections_are_let_go_of_locks_nobody_out(sqlite_url: str) -> None:
    study = new(sqlite_url + "&timeout=5")
    pairs(study, 2)
    assert isinstance(study._ledger, sql.SQLLedger)
    for user in study._ledger.hub._users:
        user.gate = Gate()  # type: ignore[assignment]
    with contextlib.suppress(KeyboardInterrupt):
        study.close()
    for user in study._ledger.hub._users:
        user.gate = user.gate.lock  # type: ignore[attr-defined]
    study = load_study("study", sqlite_url + "&timeout=5")
    pairs(study, 2)
    assert study.check().agrees


def test_an_archive_that_is_interrupted_loses_nothing(reopen: Callable[[], Storage], tmp_path: Path) -> None:
    study = new(reopen(), clock=lambda: 0.0)
    pairs(study, 400)
    rng = random.Random(0)
    files = [tmp_path / f"{turn}.parquet" for turn in range(40)]
    for file in files:
        pairs(study, 5)
        interrupted(rng.uniform(1e-4, 2e-2), partial(study.archive, 1.0, file))
    pairs(study, 2)
    assert study.check().agrees
    kept = [pl.read_parquet(file)["id"].to_list() for file in files if file.exists()]
    assert {*(number for ids in kept for number in ids), *study.log()["id"].to_list()} == set(range(1, 603))


def while_written(patch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """Do something whenever an archive was written and nothing is deleted yet."""
    write = archive.write_log

    def written(view: View, path: Path, last: int | None = None, *, new: bool = False) -> Path:
        answer = write(view, path, last, new=new)
        deed()
        return answer

    patch.setattr(archive, "write_log", written)


def test_what_is_said_while_an_archive_is_written_is_in_it(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, file = new(sqlite_url, clock=lambda: 0.0), tmp_path / "old.parquet"
    first = study.ask(subject="me")
    study.tell(first.id, 1.0)
    pairs(study, 5)
    deeds: list[Callable[[], object]] = [lambda: study.tell(3, 0.0, correct=True), lambda: study.forget("me")]
    while_written(monkeypatch, lambda: deeds and deeds.pop()())
    assert study.archive(1.0, file) == 6
    log = pl.read_parquet(file)
    assert log["reward"].to_list() == [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]
    assert log["subject"].null_count() == 6
    assert sum(arm.mean * arm.pulls for arm in study.status().arms) == pytest.approx(5.0)
    assert study.check().agrees


def test_leases_and_changes_while_an_archive_is_written_are_counted_as_they_are(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the decisions amount to is added up before anybody has to wait; leases may go on, and an arm begin anew."""
    study, file = new(sqlite_url, clock=lambda: 0.0), tmp_path / "old.parquet"
    pairs(study, 60)
    written: list[Path] = []

    def go_on() -> None:
        written.append(file)
        pairs(study, 40)
        while len(written) == 1 and not study.status().drifts:
            study.record_many([(arm, 0.0) for arm in ARMS for _ in range(20)])

    while_written(monkeypatch, go_on)
    monkeypatch.setattr(SQLTransaction, "chains", None)  # nothing of that length is read while others wait
    assert study.archive(1.0, file) == 60
    assert len(written) == 2  # once more since an arm had changed, and once with newer leases alone
    monkeypatch.undo()
    assert study.check().agrees
    before = study.status()
    study.repair()
    assert study.status() == before
    assert study.check().agrees


def test_the_size_of_a_log_is_what_reading_it_finds(reopen: Callable[[], Storage], tmp_path: Path) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=reopen(), seed=1)
    for number in range(30):
        decision = study.ask(subject=f"s{number}" if number % 3 else None)
        if number % 4:
            study.tell(decision.id, 1.0)
        if number % 5 == 1:
            study.tell(decision.id, 0.0, correct=True)
    study.forget("s2")

    def sizes(view: View) -> list[bool]:
        return [view.size(through) == View.size(view, through) for through in range(33)]

    assert all(study._ledger.look(sizes))
    study.abandon(1)
    assert study.archive(time.time() + 60.0, tmp_path / "old.parquet") == 4
    assert all(study._ledger.look(sizes))
    assert study._ledger.look(lambda view: view.size(4)) == (0, 0)


def test_an_archive_of_what_changes_all_the_time_deletes_nothing(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, file, reward = new(sqlite_url, clock=lambda: 0.0), tmp_path / "old.parquet", [0.0]
    pairs(study, 5)

    def correct() -> None:
        reward[0] += 0.1
        study.tell(3, reward[0], correct=True)

    while_written(monkeypatch, correct)
    with pytest.raises(InvalidStudy, match="change all the time"):
        study.archive(1.0, file)
    assert not file.exists()
    assert len(study.log()) == 5


def test_two_archives_of_one_name_at_once_lose_nothing(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, file = new(sqlite_url, clock=lambda: 0.0), tmp_path / "old.parquet"
    pairs(study, 5)
    write = archive._write
    other: list[Callable[[], object]] = [lambda: study.archive(1.0, file)]

    def slow(view: View, path: Path, kind: str, last: int | None) -> None:
        write(view, path, kind, last)
        if other:
            other.pop()()

    monkeypatch.setattr(archive, "_write", slow)
    with pytest.raises(InvalidData, match="File exists"):
        study.archive(1.0, file)
    assert len(pl.read_parquet(file)) == 5
    assert len(study.log()) == 0


@pytest.mark.parametrize("after", [False, True])
def test_the_file_of_an_archive_goes_only_where_nothing_was_deleted(
    after: bool, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, file = new(sqlite_url, clock=lambda: 0.0), tmp_path / "old.parquet"
    pairs(study, 5)
    run = study._ledger.run

    def fails(work: Callable[[Transaction], object], **terms: object) -> None:
        if after:
            run(work)
        raise RuntimeError("by chance")

    monkeypatch.setattr(study._ledger, "run", fails)
    with pytest.raises(RuntimeError):
        study.archive(1.0, file)
    assert (file.exists(), len(study.log())) == ((True, 0) if after else (False, 5))


# Clocks


def test_a_clock_a_year_ahead_holds_up_nobody(reopen: Callable[[], Storage]) -> None:
    now = 1e9
    study = new(reopen(), expire_after=60.0, clock=lambda: now)
    study.ask()
    ahead = load_study("study", reopen(), clock=lambda: now + 3e7)
    ahead.ask()
    mine = load_study("study", reopen(), clock=lambda: now)
    late = mine.ask()
    now += 61.0
    assert mine.expire() == 1
    assert mine.log().filter(id=late.id)["status"].to_list() == ["expired"]
    later = mine.ask()
    now += 61.0
    mine.ask()
    assert mine.log().filter(id=later.id)["status"].to_list() == ["expired"]


@pytest.mark.parametrize(("ahead", "count"), [(3e7, 1), (3e7, 300), (30.0, 1)])
def test_decisions_of_a_clock_that_was_ahead_do_not_hold_up_the_others(
    sqlite_url: str, ahead: float, count: int
) -> None:
    now = 1e9
    study = new(sqlite_url, expire_after=60.0, clock=lambda: now)
    now += ahead
    early = study.ask_many(count)
    now -= ahead
    study.ask_many(600)
    now += 50.0
    study.ask_many(100)
    assert study.expire() == 0
    now += 11.0
    assert pending(study) == count + 100
    # Another process goes on from what was kept.
    study.close()
    study = load_study("study", sqlite_url, clock=lambda: now)
    study.tell_many({decision.id: 1.0 for decision in early[: count // 2]})
    now += 50.0
    assert study.expire() == 100 + (count if ahead < 60.0 else 0)
    now += ahead
    assert study.expire() == (0 if ahead < 60.0 else count - count // 2)
    assert pending(study) == 0
    assert study.expire() == 0
    assert study.check().agrees


def pending(study: Study) -> int:
    return sum(arm.pending for arm in study.status().arms)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_another_process_asked_for_expires(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Two processes, told apart here by the timeout of their URLs: one asks, the other only looks after the study."""
    url, now = request.getfixturevalue(f"{kind}_url"), [1000.0]
    other = url + ("&" if "?" in url else "?") + "timeout=61"
    study = new(url, expire_after=10.0, clock=lambda: now[0])
    keeper = load_study("study", other, clock=lambda: now[0])
    assert keeper.expire() == 0
    study.ask_many(3)
    now[0] += 100.0
    assert keeper.expire() == 3
    # And by a look that began long before, beyond what is in an archive.
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(2500)})
    assert keeper.status().spending.decisions == 2503
    study.archive(now[0], tmp_path / "old.parquet")
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(1200)})
    study.ask_many(5)
    assert sum(arm.pending for arm in keeper.status().arms) == 5
    now[0] += 100.0
    assert sum(arm.pending for arm in keeper.status().arms) == 0
    assert keeper.check().agrees
    get_storage(other).close()


@pytest.mark.parametrize("time", [float("nan"), float("inf"), -float("inf"), 1.7e12, 1.7e18, -1e300])
def test_a_clock_that_says_nothing(reopen: Callable[[], Storage], time: float) -> None:
    study = new(reopen(), expire_after=60.0, clock=lambda: time)
    with pytest.raises(sf.InvalidStudy, match="clock"):
        study.ask()
    assert load_study("study", reopen(), clock=lambda: 0.0).ask().id == 1


def test_the_servers_time(postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    study = new(postgresql_url, expire_after=60.0)
    study.ask()
    true = time.time()
    monkeypatch.setattr(time, "time", lambda: true + 3e7)
    study.ask()
    assert study.status().arms[0].dropped == study.status().arms[1].dropped == 0
    assert all(abs(at - true) < 3600.0 for at in study.log()["asked_at"].to_list())


# What is said again


def test_saying_it_again_changes_nothing(reopen: Callable[[], Storage]) -> None:
    study = new(reopen())
    one = study.ask(key="one")
    assert study.ask(key="one")[:2] == one[:2]
    many = study.ask_many(5, key="many")
    assert [decision.id for decision in study.ask_many(5, key="many")] == [decision.id for decision in many]
    study.tell(one.id, 1.0)
    assert study.ask(key="one").id == one.id
    with pytest.raises(sf.InvalidStudy, match="key"):
        study.ask_many(4, key="many")
    assert [study.add_arm("new", 2.0), study.add_arm("new", 2.0)] == [True, False]
    assert [study.retire_arm("new"), study.retire_arm("new")] == [True, False]
    assert [study.set_cost("small", 1.5), study.set_cost("small", 1.5)] == [True, False]
    assert [study.end(), study.end(), study.reopen(), study.reopen()] == [True, False, True, False]
    assert study.status().spending.decisions == 6
    assert study.check().agrees


def test_what_was_made_before_the_end_can_be_said_again_after_it(reopen: Callable[[], Storage]) -> None:
    """The answer of a call was lost, and before it is made again somebody ends the study."""
    study = new(reopen())
    study.add_arm("z", 9.0)
    one, three = study.ask(key="one"), study.ask_many(3, key="three")
    called = study.record("z", 1.0, key="call")
    study.retire_arm("z")
    study.end()
    assert study.ask(key="one").id == one.id and study.ask(key="one", exclude=[one.arm]).arm == one.arm
    assert [d.id for d in study.ask_many(3, key="three")] == [d.id for d in three]
    assert study.record("z", 1.0, key="call").id == called.id
    assert study.record_many([("z", 1.0, None, "call")]) == 0
    assert not study.retire_arm("z") and not study.resume() and not study.set_cost("z", 9.0)
    for new_one in (
        lambda: study.ask(key="two"),
        lambda: study.record_many([("a", 1.0, None, "call"), ("a", 1.0, None, "other")]),
        lambda: study.add_arm("z", 9.0),
    ):
        with pytest.raises(sf.StudyClosed):
            new_one()
    assert study.check().agrees and study.status().spending.decisions == 5


# What is erased and put away


def test_a_study_is_deleted_while_others_use_it(reopen: Callable[[], Storage]) -> None:
    study, storage = new(reopen()), reopen()
    decision = study.ask()
    sf.delete_study("study", storage)
    assert list_studies(storage) == []
    if type(storage).__name__ != "MemoryStorage":
        with pytest.raises(UnknownStudy):
            study.tell(decision.id, 1.0)
    again = new(reopen())
    with pytest.raises(UnknownDecision):
        again.tell(decision.id, 1.0)


def test_a_subject_is_forgotten(reopen: Callable[[], Storage]) -> None:
    study = new(reopen())
    for subject in ("ann", "bob", "ann"):
        study.tell(study.ask(subject=subject).id, 1.0)
    assert study.forget("ann") == 2
    assert study.log()["subject"].to_list() == [None, "bob", None]
    assert study.check().agrees


@pytest.mark.parametrize(
    "text", ["'; DROP TABLE x; --", '{"a", \\b}', "%s %(x)s ?", "naïve 日本 \U0001f600", "a\nb\t\\N", "x" * 200]
)
def test_texts_are_the_same_on_every_storage(reopen: Callable[[], Storage], text: str) -> None:
    study = new(reopen(), name=text)
    decision = study.ask(subject=text)
    assert study.ask(subject=text).id == decision.id
    assert study.ask(key=text).id == study.ask(key=text).id
    assert load_study(text, reopen()).log()["subject"].to_list() == [text, None]
    assert text in list_studies(reopen())


@pytest.mark.parametrize("text", ["", " ", "x" * 201, "a\0b", "\ud800", 7, b"x"])
def test_texts_that_no_storage_takes(reopen: Callable[[], Storage], text: str) -> None:
    study = new(reopen())
    for call in (lambda: study.ask(subject=text), lambda: study.ask(key=text), lambda: study.forget(text)):
        with pytest.raises(sf.InvalidStudy, match="1 to 200"):
            call()
    with pytest.raises(SatisficeError):
        load_study(text, reopen())
    with pytest.raises(SatisficeError):
        new(reopen(), name=text)


def test_a_study_is_found_by_the_name_that_it_was_made_with(reopen: Callable[[], Storage]) -> None:
    new(reopen(), name=" the study ")
    assert load_study(" the study ", reopen()).name == "the study"
    for name in (["the study"], "", "\0"):
        with pytest.raises(sf.UnknownStudy):
            load_study(name, reopen())  # type: ignore[arg-type]
        with pytest.raises(sf.UnknownStudy):
            sf.studies.delete_study(name, reopen())  # type: ignore[arg-type]
    sf.studies.delete_study(" the study ", reopen())
    assert sf.list_studies(reopen()) == []


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    """The limit for the size of a file stands for a disk that is full."""
    url = f"sqlite:///{tmp_path}/studies.db"
    new(url)

    def work() -> bool:
        import resource

        study = load_study("study", url)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        known = 0
        with contextlib.suppress(OutcomeUnknown):
            while True:
                try:
                    known += len(study.ask_many(50))
                except StorageError:
                    break
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        (tmp_path / "known").write_text(str(known))
        return known > 0 and study.ask().id == known + 1

    assert in_child(work) == 0
    study = load_study("study", url)
    assert study.status().spending.decisions == int((tmp_path / "known").read_text()) + 1
    assert study.check().agrees
    shutil.rmtree(tmp_path)
