"""Studies outlive releases: databases of older ones, rules that change, and what a newer release has written."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

import satisfice as sf
from satisfice.errors import StorageError
from satisfice.studies import Study, create_study, get_storage, list_studies, load_study
from satisfice.studies.storages import Storage
from satisfice.studies.storages.schema import VERSION

RECORDED = Path(__file__).parent / "recorded"
RELEASES = sorted(path.stem for path in RECORDED.glob("*.json"))
SQL = ("sqlite", "postgresql")


@pytest.fixture(params=SQL)
def url(request: pytest.FixtureRequest) -> str:
    """A new database of either kind."""
    return str(request.getfixturevalue(f"{request.param}_url"))


def connect(url: str) -> Any:
    """The database behind a URL."""
    if url.startswith("sqlite"):
        return sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0], isolation_level=None)
    return psycopg.connect(url, autocommit=True)


def change(url: str, *statements: str) -> None:
    """Change a database behind the back of the package."""
    connection = connect(url)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def restore(release: str, url: str) -> None:
    """Put the recorded database of a release where a URL leads."""
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///").partition("?")[0])
        file.write_bytes(gzip.decompress((RECORDED / f"{release}.db.gz").read_bytes()))
        return
    text = gzip.decompress((RECORDED / f"{release}.sql.gz").read_bytes()).decode()
    connection = connect(url)
    here = connection.execute("SELECT current_schema()").fetchone()[0]
    # A dump names its schema; ours is another one.
    connection.execute(text.replace("public.", f"{here}."))
    connection.close()


@pytest.mark.parametrize("release", RELEASES)
def test_a_recorded_database_opens_and_goes_on(release: str, url: str) -> None:
    """With open, told, corrected, expired and abandoned decisions and changed arms, of every policy."""
    restore(release, url)
    expected = json.loads((RECORDED / f"{release}.json").read_text())
    assert sorted(list_studies(url)) == sorted(expected)
    for name, was in expected.items():
        study = load_study(name, url, clock=partial(float, was["clock"]))
        assert study.check().agrees, study.check()
        status = study.status()
        arms = {
            arm.name: {
                "cost": arm.cost,
                "pulls": arm.pulls,
                "pending": arm.pending,
                "dropped": arm.dropped,
                "mean": arm.mean if arm.pulls else None,
                "verdict": arm.verdict,
            }
            for arm in status.arms
        }
        assert arms == was["arms"]
        assert (status.verdict.state, status.leader, status.ended) == (was["state"], was["leader"], was["closed"])
        assert status.spending.total == pytest.approx(was["spent"])
        log = study.log()
        assert len(log) == was["decisions"]
        found = dict(log["status"].value_counts().iter_rows())
        assert {key: found.get(key, 0) for key in was["log"]} == was["log"]
        open_ids = log.filter(log["status"] == "open")["id"].to_list()
        assert study.tell(open_ids[0], study.config.high)  # also if the study was ended
        study.reopen()
        for step in range(30):
            decision = study.ask(subject=f"new user {step % 3}", key=f"new key {step}")
            study.tell(decision.id, study.config.low if step % 3 else study.config.high)
        study.tell(1, study.config.high, correct=True)
        assert study.explain(was["decisions"] + 1).sentence
        assert len(study.log()) == was["decisions"] + 30
        assert study.check().agrees, study.check()
        study.repair()
        assert study.check().agrees, study.check()


def test_there_is_a_recording_of_the_first_release() -> None:
    assert "0.1.0" in RELEASES


# Rules that change


def running(storage: Storage, policy: str) -> Study:
    """A study that is under way."""
    study = create_study("s", {"a": 1.0, "b": 2.0, "c": 4.0}, sf.BestReward(0.1), policy, storage, 10_000, seed=1)
    for step in range(60):
        study.tell(study.ask().id, float(step % 3 > 0))
    return study


def kinds(study: Study) -> list[str]:
    return study._ledger.look(lambda view: [event.kind for event in view.events()])


@pytest.mark.parametrize("policy", ["glr", "ts-cs", "pe-cs", "ucb-cs"])
def test_a_newer_rule_is_an_event_and_starts_anew(
    reopen: Callable[[], Storage], policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = running(reopen(), policy)
    before = {arm.name: (arm.pulls, arm.mean) for arm in study.status().arms}
    assert "start_anew" not in kinds(study)
    rule = type(study.config.policy)
    monkeypatch.setattr(rule, "version", rule.version + 1)
    study = load_study("s", reopen())
    assert study.check().agrees, study.check()  # what the older rule did is in the log
    study.ask()
    assert kinds(study).count("start_anew") == 1
    anew, lease = study._ledger.look(lambda view: [e for e in view.events() if e.kind != "judge"][-2:])
    assert (anew.kind, anew.data) == ("start_anew", {"version": rule.version})
    assert (lease.kind, lease.data["version"]) == ("make_lease", rule.version)
    assert {arm.name: (arm.pulls, arm.mean) for arm in study.status().arms} == before  # the sums stay
    for step in range(20):
        study.tell(study.ask().id, float(step % 2))
    assert kinds(study).count("start_anew") == 1
    assert study.check().agrees, study.check()


@pytest.mark.parametrize(("policy", "ints", "floats"), [("glr", 1, 0), ("glr", 0, 1), ("ts-cs", 1, 0)])
def test_a_rule_that_remembers_more_without_saying_so(
    reopen: Callable[[], Storage], policy: str, ints: int, floats: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = running(reopen(), policy)
    rule = type(study.config.policy)
    older = rule.memory
    monkeypatch.setattr(rule, "memory", lambda self, arms: (older(self, arms)[0] + ints, older(self, arms)[1] + floats))
    study = load_study("s", reopen())
    study.repair()
    assert study.check().agrees, study.check()
    for step in range(20):
        study.tell(study.ask().id, float(step % 2))
    assert study.check().agrees, study.check()
    machine_ints = study._ledger.look(lambda view: len(view.machine.ints or ()))
    assert machine_ints == older(study.config.policy, 3)[0] + ints


def test_a_rule_that_decides_otherwise_changes_nothing_of_the_past(
    reopen: Callable[[], Storage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One constant of a rule is changed, and its version is not: the log says what it did, so the audit agrees."""
    study = running(reopen(), "glr")
    rule = sf.GLR
    monkeypatch.setattr(rule, "decide", staticmethod(lambda problem, state, t, rng: (0, 3)))
    study = load_study("s", reopen())
    assert study.check().agrees
    for _ in range(20):
        study.tell(study.ask().id, 1.0)
    assert study.check().agrees, study.check()


# What a newer release has written


def test_tables_of_a_newer_release(url: str) -> None:
    create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url).ask()
    change(url, "UPDATE satisfice_schema SET version = 99")
    for look in (lambda: list_studies(url), lambda: load_study("s", url), lambda: get_storage(url)):
        with pytest.raises(
            StorageError,
            match=r"made by a newer release of satisfice: it has version 99 of the tables, "
            rf"this release knows {VERSION}; upgrade satisfice to open it",
        ):
            look()
    change(url, f"UPDATE satisfice_schema SET version = {VERSION}")
    assert load_study("s", url).check().agrees


def test_a_state_of_a_newer_release(url: str) -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url)
    study.ask()
    study.repair()  # writes a snapshot
    study.close()
    connection = connect(url)
    state = json.loads(connection.execute("SELECT state FROM satisfice_snapshots").fetchone()[0])
    connection.close()
    change(url, f"UPDATE satisfice_snapshots SET state = '{json.dumps({**state, 'format': 99})}'")
    study = load_study("s", url)
    for act in (study.ask, study.status, study.check):
        with pytest.raises(StorageError, match=r"written by a newer release of satisfice \(format 99, .*upgrade"):
            act()


def test_terms_of_a_newer_release(url: str) -> None:
    create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url).close()
    connection = connect(url)
    config = json.loads(connection.execute("SELECT config FROM satisfice_studies").fetchone()[0])
    connection.close()
    change(url, f"UPDATE satisfice_studies SET config = '{json.dumps({**config, 'weather': 1, 'mood': 1})}'")
    with pytest.raises(StorageError, match=r"made by a newer release of satisfice \(it has mood, weather\); upgrade"):
        load_study("s", url)


def test_a_parameter_of_a_newer_release(url: str) -> None:
    create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url).close()
    connection = connect(url)
    config = json.loads(connection.execute("SELECT config FROM satisfice_studies").fetchone()[0])
    connection.close()
    config["policy"]["params"] |= {"mood": 1.0}
    change(url, f"UPDATE satisfice_studies SET config = '{json.dumps(config)}'")
    with pytest.raises(StorageError, match=r"made with a newer ft-ucb \(it has mood\); upgrade satisfice, or what the"):
        load_study("s", url)


def test_a_policy_of_a_newer_release(url: str) -> None:
    create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "ft-ucb", url).close()
    change(url, "UPDATE satisfice_studies SET config = REPLACE(config, 'ft-ucb', 'ft-new')")
    with pytest.raises(sf.SatisficeError, match="ft-new"):
        load_study("s", url)
