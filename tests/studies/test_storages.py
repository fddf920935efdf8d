"""Every storage is tried against the contract, and those in SQL also for what can happen to a database."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

import satisfice as sf
from satisfice.errors import InvalidData, StorageBusy, StorageError
from satisfice.problem import FixedThreshold
from satisfice.studies import create_study, get_storage, list_studies, load_study
from satisfice.studies.storages import Storage
from satisfice.studies.storages.memory import MemoryLedger, MemoryStorage
from satisfice.testing import StorageTests


class TestMemory(StorageTests):
    @pytest.fixture
    def reopen(self) -> Callable[[], Storage]:
        storage = MemoryStorage()
        return lambda: storage


class TestSQLite(StorageTests):
    @pytest.fixture
    def reopen(self, sqlite_url: str) -> Callable[[], Storage]:
        return lambda: get_storage(sqlite_url)


class TestPostgreSQL(StorageTests):
    @pytest.fixture
    def reopen(self, postgresql_url: str) -> Callable[[], Storage]:
        return lambda: get_storage(postgresql_url)


def test_the_page_on_storages_of_ones_own_tries_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "own-storage.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "test_mine.py").write_text(snippet)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 40 and "skipped" not in done.stdout


def test_the_package_does_not_need_pytest() -> None:
    code = "import sys, satisfice, satisfice.studies, satisfice.cli; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def connection_of(url: str) -> sqlite3.Connection | psycopg.Connection[tuple[int]]:
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0], isolation_level=None)
    return psycopg.connect(url, autocommit=True)


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
        with pytest.raises(StorageError, match=r"use None \(memory\), sqlite:///studies.db"):
            get_storage(url)  # type: ignore[arg-type]
    with pytest.raises(StorageError, match="names no file"):
        get_storage("sqlite://")
    with pytest.raises(StorageError, match=r"full .* or normal"):
        get_storage(f"sqlite:///{tmp_path}/x.db?synchronous=off")
    for strange in ("timout=5", "mode=ro", "cached_statements=few"):  # nobody would be told that it means nothing
        with pytest.raises(StorageError, match=strange.split("=")[0]):
            get_storage(f"sqlite:///{tmp_path}/x.db?{strange}")
    get_storage(f"sqlite:///{tmp_path}/x.db?check_same_thread=false").close()
    with pytest.raises(StorageError, match=r"No such file|unable to open"):
        get_storage(f"sqlite:///{tmp_path}/missing/x.db")
    with pytest.raises(StorageError, match="postgres"):
        get_storage(f"postgresql://nobody@/nothing?host={tmp_path}")


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    study = create_study("s", {"a": 1.0}, sf.FixedThreshold(0.5), "ft-ucb")
    for write in (study.export, lambda path: study.archive(1.0, path)):
        with pytest.raises(InvalidData, match="is no name of a file"):
            write(tmp_path / "\0.parquet")


def test_closing_leaves_no_file_open(sqlite_url: str) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        study = create_study("s", {"a": 1.0}, sf.FixedThreshold(0.5), "ft-ucb", sqlite_url)
        study.tell(study.ask().id, 1.0)
        study.copy("t").close()
        study.close()
    assert not [str(warning.message) for warning in said if warning.category is ResourceWarning]


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database, but long enough to look like one" * 100)
    with pytest.raises(StorageError, match="not a database"):
        get_storage(f"sqlite:///{tmp_path}/x.db")


def test_a_lock_that_stays_is_an_error_in_the_end(sqlite_url: str) -> None:
    create_study("s", {"a": 1.0}, sf.FixedThreshold(0.5), "ft-ucb", sqlite_url)
    blocker = connection_of(sqlite_url)
    study = load_study("s", f"{sqlite_url}&timeout=0.2")
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy, match="locked"):
        study.ask()
    blocker.execute("ROLLBACK")
    blocker.close()
    assert study.ask().id == 1
    assert study.check().agrees


def test_a_mistyped_path_makes_no_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/missing.db"
    for look in (lambda: load_study("s", url), lambda: list_studies(url)):
        with pytest.raises(StorageError, match=r"there is no database .*missing\.db; create_study makes it"):
            look()
    assert not list(tmp_path.iterdir())
    create_study("s", {"a": 1.0}, sf.BestReward(0.1), storage=url)
    assert list_studies(url) == [load_study("s", url).name] == ["s"]


@pytest.mark.parametrize("use", ["create", "status", "ask"])
def test_what_was_closed_is_one_file(tmp_path: Path, use: str) -> None:
    """Whoever copies the file of a study that was closed has all of it."""
    study = create_study("s", {"a": 1.0}, sf.FixedThreshold(0.5), "ft-ucb", f"sqlite:///{tmp_path}/x.db")
    if use != "create":
        study.ask()
    if use == "status":
        study.status()
    study.close()
    (tmp_path / "copy.db").write_bytes((tmp_path / "x.db").read_bytes())
    copy = load_study("s", f"sqlite:///{tmp_path}/copy.db")
    assert copy.status().spending.decisions == (0 if use == "create" else 1)


def test_an_interrupt_between_a_key_and_its_first_decision() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, FixedThreshold(0.5), "ft-ucb", seed=1)
    study.ask()

    class Interrupted(dict[str, list[int]]):
        def setdefault(self, key: str, default: list[int]) -> list[int]:
            super().setdefault(key, default)
            raise KeyboardInterrupt

    ledger = study._ledger
    assert isinstance(ledger, MemoryLedger)
    ledger._keys = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        study.ask(key="k")
    ledger._keys = dict(ledger._keys)
    assert study.check().agrees
    assert study.ask(key="k").id == study.ask(key="k").id == 2


def test_a_process_that_goes_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was named from the folder of that time stays the same one, be there another of its name."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", "sqlite:///studies.db")
    study.ask()
    study.close()
    shutil.copy("studies.db", tmp_path / "there")  # as a backup
    study = load_study("s", "sqlite:///studies.db")
    study.ask()
    monkeypatch.chdir(tmp_path / "there")
    study.tell(study.ask().id, 1.0)
    assert study.log().height == 3
    assert load_study("s", f"sqlite:///{tmp_path}/here/studies.db").log().height == 3
    assert load_study("s", "sqlite:///studies.db").log().height == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_version_that_is_not_said(kind: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url).close()
    with contextlib.closing(connection_of(url)) as connection:
        connection.execute("DELETE FROM satisfice_schema")
    with pytest.raises(StorageError, match="damaged"):
        load_study("s", url)
