"""The real proxy of LiteLLM, twice, on one study: the configuration of the example, with keys, streams and rewards."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import polars as pl
import pytest
from fake_openai import FakeOpenAI

import satisfice as sf

CONFIG = Path(__file__).parent.parent.parent / "examples" / "litellm_proxy" / "config.yaml"
KEY = {"Authorization": "Bearer sk-example"}


class Up(NamedTuple):
    """Two proxies, the models behind them, and the study that they share."""

    clients: list[httpx.Client]
    fake: FakeOpenAI
    storage: str


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("proxy")
    with FakeOpenAI() as fake:
        text = CONFIG.read_text().replace("127.0.0.1:8099", f"127.0.0.1:{fake.port}")
        text = text.replace("alpha: 0.1,", "alpha: 0.1, patience: 300,")  # a busy machine may take its time
        (folder / "config.yaml").write_text(text)
        environment = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
        command = str(Path(sys.executable).parent / "litellm")
        ports = [free_port(), free_port()]
        with (folder / "log").open("w") as log:
            proxies = [
                subprocess.Popen(
                    [command, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
                    cwd=folder, env=environment, stdout=log, stderr=log,
                )
                for port in ports
            ]  # fmt: skip
            clients = [httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=KEY, timeout=120.0) for port in ports]
            try:
                for client in clients:
                    wait(client, folder / "log")
                yield Up(clients, fake, f"sqlite:///{folder}/answers.db")
            finally:
                for proxy in proxies:
                    proxy.send_signal(signal.SIGINT)
                for proxy in proxies:
                    try:
                        proxy.wait(30.0)
                    except subprocess.TimeoutExpired:
                        proxy.kill()


def wait(client: httpx.Client, log: Path) -> None:
    deadline = time.monotonic() + 300.0
    while time.monotonic() < deadline:
        try:
            if client.get("/health/liveliness").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])


def ask(client: httpx.Client, question: str = "hello", **more: Any) -> httpx.Response:
    said = {"model": "answers", "messages": [{"role": "user", "content": question}], **more}
    return client.post("/v1/chat/completions", json=said)


def reward(client: httpx.Client, decision: str, value: float) -> httpx.Response:
    return client.post("/satisfice/reward", json={"decision": decision, "reward": value})


def settled(up: Up, count: int) -> Any:
    """The status of the study, once so many rewards are in it."""
    with sf.load_study("answers", up.storage) as study:
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            status = study.status()
            if sum(arm.pulls for arm in status.arms) >= count:
                break
            time.sleep(0.05)
    assert sum(arm.pulls for arm in status.arms) == count
    return status


def test_calls_of_both_workers_are_one_study_and_cost_what_was_charged(up: Up) -> None:
    told = 0
    for i in range(24):
        client = up.clients[i % 2]
        answer = ask(client, f"question {i}", stream=i % 3 == 0)
        assert answer.status_code == 200
        headers = answer.headers
        assert headers["x-satisfice-study"] == "answers"
        assert headers["x-satisfice-arm"].removeprefix("openai/") in answer.text
        # The worker that made the call knows what it has cost; every third reward goes to the other one.
        teller = up.clients[(i + (i % 3 == 1)) % 2]
        assert reward(teller, headers["x-satisfice-decision"], float("yes" in answer.text)).json() == {"taken": 1}
        told += 1
    status = settled(up, told)
    for _ in range(600):
        charged = {f"openai/{name}": model.charged for name, model in up.fake.models.items()}
        with sf.load_study("answers", up.storage) as study:
            log = study.log().filter(pl.col("reward").is_not_null())
        booked = dict(log.group_by("arm").agg(pl.col("cost").sum()).iter_rows())
        if all(booked.get(name, 0.0) == pytest.approx(cost, abs=1e-12) for name, cost in charged.items()):
            break
        time.sleep(0.1)
    assert booked == pytest.approx({name: cost for name, cost in charged.items() if cost}, abs=1e-12)
    for arm in status.arms:
        model = up.fake.models[arm.name.removeprefix("openai/")]
        assert arm.pulls == model.calls
        assert arm.mean * arm.pulls == pytest.approx(model.correct) if arm.pulls else True
    books = [client.get("/satisfice/status").json()["answers"] for client in up.clients]
    dollars = sum(sum(book["here"]["dollars"].values()) for book in books)
    assert dollars == pytest.approx(sum(model.charged for model in up.fake.models.values()))
    assert {name: sum(book["here"]["counts"].get(name, 0) for book in books) for name in ("decided", "rewards")} == {
        "decided": told,
        "rewards": told,
    }


def test_the_other_doors_of_the_proxy(up: Up) -> None:
    client = up.clients[0]
    answers = client.post("/v1/responses", json={"model": "answers", "input": "hello"})
    messages = client.post(
        "/v1/messages", json={"model": "answers", "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}
    )
    for answer in (answers, messages):
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-satisfice-arm"].removeprefix("openai/") in answer.text
        assert reward(client, answer.headers["x-satisfice-decision"], 1.0).status_code == 200


def test_a_fallback_says_nothing_of_a_decision(up: Up) -> None:
    for model in up.fake.models.values():
        model.fail_next = 9
    up.fake.models["huge"].fail_next = 0
    answer = ask(up.clients[1], "fall back")
    assert answer.status_code == 200 and "says huge" in answer.text
    assert "x-satisfice-decision" not in answer.headers
    for model in up.fake.models.values():
        model.fail_next = 0


def test_rewards_need_a_key_and_the_right_form(up: Up) -> None:
    client = up.clients[0]
    body = {"decision": "1", "reward": 1.0}
    for key in ({}, {"Authorization": "Bearer sk-wrong"}):
        answer = httpx.post(f"{client.base_url}/satisfice/reward", json=body, headers=key, timeout=60.0)
        # What the proxy says to whom it does not know is its own affair (without a database it is a 400 or a 500).
        assert answer.status_code >= 400 and "taken" not in answer.text
    for wrong in ({}, {"reward": 7}, {"reward": "x"}, {"reward": 1, "cost": -1}, {"reward": 1, "cost": "x"}):
        assert client.post("/satisfice/reward", json={"decision": "1", **wrong}).status_code == 422
    answer = client.post("/satisfice/reward", json={**body, "study": "nothing"})
    assert answer.status_code == 404 and "answers" in answer.text
    many = {"rewards": [{"decision": "100000", "reward": 1}, {"decision": "x", "reward": 0}]}
    assert client.post("/satisfice/reward", json=many).json() == {"taken": 2}  # of nobody: counted as problems
    assert "/satisfice/reward" in json.dumps(client.get("/openapi.json").json())
