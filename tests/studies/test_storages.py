"""The conformance suite: what the contract in `storages/base.py` promises, of every storage."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import satisfice as sf
from satisfice.errors import StorageError, StudyExists, UnknownStudy
from satisfice.studies import create_study, get_storage, list_studies, load_study
from satisfice.studies.config import Config, make_config
from satisfice.studies.records import Asked, Changed, Settled
from satisfice.studies.storages import Ledger, Storage
from satisfice.studies.storages.schema import STEPS

Reopen = Callable[[], Storage]


def terms(name: str = "s") -> Config:
    return make_config(
        name, {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", None, 0.9, (0.0, 1.0), False, 9.0, None, 1
    )


def ask(ledger: Ledger, subject: str | None = None, at: float = 0.0) -> int:
    """One decision, as a study would book it."""
    with ledger as machine:
        arm, reason = machine.ask()
        machine.clock = at
        row = Asked(machine.version, machine.decisions, arm, reason, machine.lease.number, subject, at)
        ledger.add_decisions([row])
        return row.id


def test_names_are_unique_and_in_order(reopen: Reopen) -> None:
    storage = reopen()
    for name in ("b", "a", "c d"):
        storage.create(terms(name))
    with pytest.raises(StudyExists, match="already a study 'a'"):
        storage.create(terms("a"))
    assert reopen().names() == ["b", "a", "c d"]
    with pytest.raises(UnknownStudy, match=r"no study 'x'.*b, a, c d"):
        storage.open("x")


def test_terms_come_back_as_they_were(reopen: Reopen) -> None:
    for i, setting in enumerate((sf.BestReward(0.25), sf.ReferenceArm("b", 0.1), sf.FixedThreshold(0.5))):
        policy = sf.UCBCS() if i < 2 else sf.FTUCB()
        config = make_config(
            f"s{i}", {"a": 0.1, "b": 1 / 3}, setting, policy, 10**12, 0.99, (-1.0, 3.0), True, 60.0, -1.0, 2**63
        )
        reopen().create(config)
        assert reopen().open(f"s{i}").config == config


def test_a_transaction_is_seen_by_others_when_it_ends(reopen: Reopen) -> None:
    first = reopen().create(terms())
    second = reopen().open("s")
    ask(first)
    with second as machine:
        assert (machine.decisions, machine.version, machine.arms[0].asked) == (1, 1, 1)
    ask(second)
    with first as machine:
        assert machine.decisions == 2


def test_an_error_rolls_back(reopen: Reopen) -> None:
    ledger = reopen().create(terms())
    ask(ledger)
    with pytest.raises(ZeroDivisionError), ledger:
        raise ZeroDivisionError
    with ledger as machine:
        assert machine.decisions == 1
    assert [event.seq for event in ledger.log()] == [1]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_error_rolls_half_a_transaction_back(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    ledger = get_storage(url).create(terms())
    ask(ledger)
    with pytest.raises(ZeroDivisionError), ledger as machine:
        machine.ask()
        ledger.add_decisions([Asked(machine.version, machine.decisions, 1, "lease", 1, None, 0.0)])
        raise ZeroDivisionError
    with ledger as machine:
        assert (machine.decisions, sum(arm.asked for arm in machine.arms)) == (1, 1)
        assert ledger.find([1, 2]).keys() == {1}


def test_find_sees_the_last_entry_and_its_own_writes(reopen: Reopen) -> None:
    ledger = reopen().create(terms())
    for _ in range(3):
        ask(ledger)
    with ledger as machine:
        machine.settle(0, None, 0)
        ledger.add_settled([Settled(machine.version, 2, 1, "told", 0.25, 1.0)])
        machine.settle(0, 0, 0)
        ledger.add_settled([Settled(machine.version, 2, 2, "told", 0.75, 2.0)])
        rows = ledger.find([3, 2, 99])
    assert rows.keys() == {2, 3}
    assert (rows[2].status, rows[2].reward, rows[2].entries) == ("told", 0.75, 2)
    assert (rows[3].status, rows[3].reward, rows[3].entries) == ("open", None, 0)


def test_the_open_decision_of_a_subject(reopen: Reopen) -> None:
    ledger = reopen().create(terms())
    number = ask(ledger, "user 'x'")
    ask(ledger, "other")
    with ledger as machine:
        row = ledger.open_of("user 'x'")
        assert row is not None and (row.id, row.subject) == (number, "user 'x'")
        assert ledger.open_of("nobody") is None
        machine.settle(row.arm, None, None, 1)
        ledger.add_settled([Settled(machine.version, number, 1, "abandoned", None, 1.0)])
        assert ledger.open_of("user 'x'") is None
    again = ask(ledger, "user 'x'")
    with ledger:
        row = ledger.open_of("user 'x'")
        assert row is not None and row.id == again


def test_overdue_decisions_in_order(reopen: Reopen) -> None:
    ledger = reopen().create(terms())
    for at in (1.0, 2.0, 2.0, 5.0):
        ask(ledger, at=at)
    with ledger:
        assert [row.id for row in ledger.overdue(0, 2.0, 10)] == [1, 2, 3]
        assert [row.id for row in ledger.overdue(1, 2.0, 1)] == [2]
        assert ledger.overdue(3, 4.9, 10) == []
        assert (ledger.first_after(0), ledger.first_after(3), ledger.first_after(4)) == (1.0, 5.0, None)


def test_the_log_comes_back_in_order(reopen: Reopen) -> None:
    ledger = reopen().create(terms())
    ask(ledger, "u", at=1.5)
    with ledger as machine:
        machine.settle(0, None, 0)
        ledger.add_settled([Settled(machine.version, 1, 1, "told", 0.1, 2.5)])
        machine.set_cost(0, 0.7)
        ledger.add_change(Changed(machine.version, "set_cost", "a", 0.7, 3.5))
    ask(ledger, at=4.5)
    log = [
        Asked(1, 1, 0, "lease", 1, "u", 1.5),
        Settled(2, 1, 1, "told", 0.1, 2.5),
        Changed(3, "set_cost", "a", 0.7, 3.5),
        Asked(4, 2, 1, "lease", 2, None, 4.5),
    ]
    assert list(reopen().open("s").log()) == log
    assert list(reopen().open("s").log(until=2)) == log[:2]


def test_threads_may_share_a_study(reopen: Reopen) -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", reopen(), seed=1)
    seen: list[int] = []

    def work() -> None:
        for _ in range(25):
            decision = study.ask()
            study.tell(decision.id, 1.0)
            seen.append(decision.id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(1, 101))
    assert study.check().agrees


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_migrations_bring_an_old_database_up_to_date(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url)
    study.ask(subject="u")
    back_to_version(url, 1, "DROP INDEX decisions_of_subject")
    assert load_study("s", url).ask(subject="u").reason == "subject"
    assert version_of(url) == len(STEPS) == 2
    back_to_version(url, 99)
    with pytest.raises(StorageError, match=r"version 99 of the tables; .* knows 2"):
        list_studies(url)


def connection_of(url: str) -> sqlite3.Connection | psycopg.Connection[tuple[int]]:
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0], isolation_level=None)
    return psycopg.connect(url, autocommit=True)


def back_to_version(url: str, version: int, *also: str) -> None:
    connection = connection_of(url)
    for statement in (*also, f"UPDATE satisfice_schema SET version = {version}"):
        connection.execute(statement)
    connection.close()


def version_of(url: str) -> int:
    connection = connection_of(url)
    (version,) = connection.execute("SELECT version FROM satisfice_schema").fetchone()
    connection.close()
    return int(version)


def test_a_lost_connection_is_made_again(postgresql_url: str) -> None:
    url = postgresql_url
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url)
    first = study.ask()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    study.tell(first.id, 1.0)
    assert study.check().agrees


def test_bad_urls_say_what_is_accepted(tmp_path: Path) -> None:
    for url in ("mysql://x/y", "studies.db", 7):
        with pytest.raises(StorageError, match="use None"):
            get_storage(url)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="names no file"):
        get_storage("sqlite://")
    with pytest.raises(StorageError, match=r"full .* or normal"):
        get_storage(f"sqlite:///{tmp_path}/x.db?synchronous=off")
    with pytest.raises(StorageError, match="unable to open"):
        get_storage(f"sqlite:///{tmp_path}/missing/x.db")
    with pytest.raises(StorageError, match="postgres"):
        get_storage(f"postgresql://nobody@/nothing?host={tmp_path}")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, but long enough to look like one" * 100)
    with pytest.raises(StorageError, match="not a database"):
        get_storage(f"sqlite:///{tmp_path}/x.db")


def test_a_lock_that_stays_is_an_error_in_the_end(sqlite_url: str) -> None:
    from satisfice.studies.storages.sql import SQLStorage

    create_study("s", {"a": 1.0}, sf.FixedThreshold(0.5), "ft-ucb", sqlite_url)
    blocker = connection_of(sqlite_url)
    ledger = SQLStorage(sqlite_url, timeout=0.2).open("s")
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="locked"), ledger:
        pass
    blocker.execute("ROLLBACK")
    with ledger as machine:
        assert machine.version == 0


def test_odd_characters_survive(reopen: Reopen) -> None:
    names = ["50% off; --", "back\\slash", 'it\'s "quoted"', "%s %(x)s ?", "ünïcödé 模型", "a\nline"]
    study = create_study("o'%s", dict.fromkeys(names, 1.0), sf.FixedThreshold(0.5), "ft-ucb", reopen(), seed=1)
    for name in names:
        decision = study.ask(subject=name)
        assert study.ask(subject=name).id == decision.id
        study.tell(decision.id, 0.5)
    study.set_cost(names[0], 2.0)
    study.add_arm("100%", 0.5)
    again = load_study("o'%s", reopen())
    assert [arm.name for arm in again.status().arms] == [*names, "100%"]
    assert again.log()["subject"].to_list() == names
    assert again.check().agrees


def test_a_mistyped_path_makes_no_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/missing.db"
    for look in (lambda: load_study("s", url), lambda: list_studies(url)):
        with pytest.raises(StorageError, match=r"there is no database .*missing\.db; create_study makes it"):
            look()
    assert not list(tmp_path.iterdir())
    create_study("s", {"a": 1.0}, sf.BestReward(0.1), storage=url)
    assert list_studies(url) == [load_study("s", url).name] == ["s"]
