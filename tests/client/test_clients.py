"""Clients of the service: what local studies answer, they answer, and a lost answer costs nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import polars as pl
import pytest

import satisfice as sf
from satisfice.client import wire
from satisfice.client.waiting import Client, RemoteStudy
from satisfice.studies import get_storage, load_study
from service.running import Running, running

ARMS = {"small": 0.2, "large": 8.0}


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    with running(get_storage(f"sqlite:///{tmp_path}/studies.db?synchronous=normal")) as service:
        yield service


@pytest.fixture
def client(up: Running) -> Iterator[Client]:
    with sf.connect(up.url, key=up.key("admin")) as made:
        yield made


@pytest.fixture
def study(client: Client) -> RemoteStudy:
    return client.create_study("answers", ARMS, sf.BestReward(0.1), horizon=5000, seed=3)


def test_a_remote_study_has_the_methods_of_a_local_one(up: Running, study: RemoteStudy, tmp_path: Path) -> None:
    here = load_study("answers", up.storage)
    decision = study.ask(subject="me")
    assert (study.tell(decision.id, 1.0), study.tell(decision.id, 1.0)) == (True, False)
    with pytest.raises(sf.RewardConflict):
        study.tell(decision.id, 0.0)
    assert study.tell(decision.id, 0.5, correct=True)
    many = study.ask_many(3, exclude="large")
    assert study.tell_many({many[0].id: 1.0, many[1].id: 0.0}) == 2
    assert study.abandon(many[2].id)
    assert study.record("large", 1.0, key="mine").reason == "recorded"
    study.set_cost("small", 0.3)
    study.add_arm("mid", 1.0)
    study.retire_arm("mid")
    theirs, ours = study.status(), here.status()
    assert str(theirs) == str(ours) and theirs.arms[0] == ours.arms[0]
    assert study.verdict().leader == ours.verdict.leader
    assert study.explain(decision.id).arm == decision.arm
    assert study.log()["decision"].to_list()[0] == decision.id
    assert pl.read_parquet(study.export(tmp_path / "log.parquet")).height == study.log().height
    study.end()
    with pytest.raises(sf.StudyClosed):
        study.ask()
    study.reopen()
    assert study.terms()["closed"] is False
    with pytest.raises(sf.UnknownDecision):
        study.tell("nobody0000", 1.0)
    with pytest.raises(sf.InvalidStudy):
        study.pause()  # it has no baseline
    assert study.client.list_studies() == ["answers"]
    study.client.delete_study("answers")
    with pytest.raises(sf.UnknownStudy):
        study.status()


def test_segments(client: Client) -> None:
    study = client.create_study("kinds", ARMS, sf.BestReward(0.1), segments=["code", "law"])
    decision = study.ask(segment="law")
    assert decision.segment == "law" and study.tell(decision.id, 1.0)
    assert {line.segment for line in study.ask_many(2, segment="code")} == {"code"}
    assert study.record("large", 1.0, segment="code").segment == "code"
    with pytest.raises(sf.InvalidStudy, match="the segments of the study are 'code', 'law'"):
        study.ask()
    status = study.status()
    assert [(line.name, line.rewards, line.decisions) for line in status.segments] == [("code", 1, 3), ("law", 1, 1)]
    assert study.explain(decision.id).segment == "law"
    assert study.terms()["segments"] == ["code", "law"]


def test_an_asynchronous_client_says_the_same(up: Running) -> None:
    async def use() -> tuple[bool, int, list[str]]:
        async with sf.connect_async(up.url, key=up.key("admin")) as client:
            study = await client.create_study("answers", ARMS, sf.BestReward(0.1))
            decisions = await asyncio.gather(*(study.ask() for _ in range(5)))
            told = await study.tell(decisions[0].id, 1.0)
            many = await study.tell_many([(decision.id, 1.0) for decision in decisions[1:]])
            assert (await study.status()).arms[0].pulls == 5
            return told, many, await client.list_studies()

    assert asyncio.run(use()) == (True, 4, ["answers"])


class Lossy(httpx.BaseTransport):
    """A network that loses every second answer, after the service has seen the question."""

    def __init__(self) -> None:
        self._inner, self._count = httpx.HTTPTransport(), 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._count += 1
        answer = self._inner.handle_request(request)
        if self._count % 2:
            answer.read()
            answer.close()
            raise httpx.ReadError("lost")
        return answer


def test_a_lost_answer_decides_and_counts_nothing_twice(up: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "pause", lambda attempt, answer: 0.0)
    client = sf.connect(up.url, key=up.key("admin"))
    client._http = httpx.Client(base_url=up.url, headers=client._http.headers, transport=Lossy())
    study = client.create_study("answers", ARMS, sf.BestReward(0.1))
    for _ in range(20):
        study.tell(study.ask().id, 1.0)
    study.record("large", 1.0)
    status = load_study("answers", up.storage).status()
    assert status.spending.decisions == 21
    assert sum(arm.pulls for arm in status.arms) == 21
    client.delete_study("answers")
    assert client.list_studies() == []


def test_a_service_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "pause", lambda attempt, answer: 0.0)
    with sf.connect("http://127.0.0.1:9", tries=3) as client, pytest.raises(sf.StorageError, match="does not answer"):
        client.list_studies()


# Leased


def test_a_leased_study_counts_every_reward_and_gives_back_the_rest(up: Running, study: RemoteStudy) -> None:
    with study.leased() as leased:

        def use() -> None:
            for _ in range(100):
                decision = leased.ask()
                leased.tell(decision.id, float(decision.arm == "large"))

        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert leased.flush()
        assert (leased.away, leased.problems) == (0, 0)
    status = load_study("answers", up.storage).status()
    assert sum(arm.pulls for arm in status.arms) == 300
    assert sum(arm.pending for arm in status.arms) == 0
    large = next(arm for arm in status.arms if arm.name == "large")
    assert large.pulls and large.mean == 1.0
    assert load_study("answers", up.storage).check().agrees


def test_a_leased_study_has_the_decisions_of_its_segment(client: Client) -> None:
    study = client.create_study("kinds", ARMS, sf.BestReward(0.1), segments=["code", "law"])
    with study.leased(segment="law") as leased:
        for _ in range(40):
            leased.tell(leased.ask().id, 1.0)
        assert leased.flush()
    with study.leased(patience=0.2) as leased, pytest.raises(sf.SatisficeError, match="the segments of the study"):
        leased.ask()
    assert {part.name: part.rewards for part in study.status().segments} == {"code": 0, "law": 40}


def test_a_forked_process_has_connections_of_its_own(client: Client) -> None:
    study = client.create_study("forked", ARMS, sf.BestReward(0.1))
    with study.leased() as leased:
        leased.tell(leased.ask().id, 1.0)
        connections = client._http
        child = os.fork()
        if not child:
            signal.alarm(60)
            leased.tell(leased.ask().id, 1.0)
            right = leased.flush() and client._http is not connections
            leased.close()
            os._exit(int(not right))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        leased.tell(leased.ask().id, 1.0)
        assert leased.flush()
        assert client._http is connections
    assert sum(arm.pulls for arm in study.status().arms) == 3


def test_a_leased_study_whose_lines_the_service_cannot_read_goes_on(client: Client) -> None:
    study = client.create_study("lines", ARMS, sf.BestReward(0.1))
    with study.leased() as leased:
        made = [leased.ask() for _ in range(3)]
        leased.tell(made[0].id, 1.0, cost=-1.0)
        leased.unused("nobody's")
        leased.unused(made[1].id)
        leased.tell(made[2].id, 1.0)
        assert leased.flush()
        assert leased.problems == 2
    assert sum(arm.pulls for arm in study.status().arms) == 1


def test_a_leased_study_serves_the_leader_while_the_service_is_away(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/studies.db?synchronous=normal"
    with running(get_storage(url)) as up:
        client = sf.connect(up.url, key=up.key("admin"), tries=1, timeout=5.0)
        study = client.create_study("answers", ARMS, sf.BestReward(0.1))
        leased = study.leased(patience=0.2)
        first = leased.ask()
        leased.tell(first.id, 1.0)
        assert leased.flush()
    # The service is down: what is in stock is served first, then the leader.
    made = [leased.ask() for _ in range(40)]
    assert leased.away > 0 and made[-1].reason == "away" and made[-1].arm in ARMS
    for decision in made:
        leased.tell(decision.id, 1.0)
    assert not leased.flush(timeout=0.3)
    with running(get_storage(url)) as again:
        client._http.base_url = httpx.URL(again.url)
        assert leased.flush()
        leased.close()
        status = load_study("answers", again.storage).status()
    assert sum(arm.pulls for arm in status.arms) == 41
    assert sum(arm.pending for arm in status.arms) == 0
