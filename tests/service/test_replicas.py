"""Replicas on one PostgreSQL, killed at random and started again: nothing that was answered is lost or counted twice.

`SATISFICE_DECISIONS=100000 pytest tests/service/test_replicas.py` goes on for so many decisions.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import satisfice as sf
from satisfice.client import wire
from satisfice.client.waiting import Client
from satisfice.client.wire import Call, T
from satisfice.service.keys import keys_of, make_key
from satisfice.studies import create_study, get_storage, load_study

DECISIONS = int(os.environ.get("SATISFICE_DECISIONS", "240"))
CLIENTS, REPLICAS = 8, 3
LONG = DECISIONS > 10_000


class Replica:
    """`satisfice serve` in a process of its own, on a port of its own."""

    def __init__(self, storage: str, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._env = os.environ | {"SATISFICE_STORAGE": storage, "SATISFICE_LOG_LEVEL": "error"}
        self._log = log.open("a")
        self.start()

    def start(self) -> None:
        words = [sys.executable, "-m", "satisfice", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(words, env=self._env, stdout=subprocess.DEVNULL, stderr=self._log)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=300)


def until_answered(clients: list[Client], call: Call[T], rng: random.Random) -> T:
    """Make a call at one replica after the other until one of them answers."""
    deadline = time.monotonic() + 600.0
    while time.monotonic() < deadline:
        try:
            return rng.choice(clients).do(call, 1)
        except sf.StorageError:
            time.sleep(0.02)
    raise AssertionError("no replica answers")


def test_replicas_that_are_killed_lose_nothing(postgresql_url: str, tmp_path: Path) -> None:
    storage = get_storage(postgresql_url)
    create_study("answers", {"small": 0.2, "large": 8.0}, sf.BestReward(0.1), storage=storage, seed=1)
    key, kept = make_key("test", ["decide", "reward"])
    keys_of(storage).add(kept)
    replicas = [Replica(postgresql_url, tmp_path / f"{i}.log") for i in range(REPLICAS)]
    told: list[dict[str, float]] = [{} for _ in range(CLIENTS)]
    errors: list[BaseException] = []

    def use(number: int) -> None:
        rng = random.Random(number)
        clients = [sf.connect(f"http://127.0.0.1:{replica.port}", key, timeout=20.0) for replica in replicas]
        try:
            while (left := DECISIONS // CLIENTS - len(told[number])) > 0:
                count = min(rng.choice((1, 1, 2, 20)), left) if LONG else 1
                decisions = until_answered(clients, wire.ask_many("answers", count, f"{number}/{left}"), rng)
                rewards = {decision.id: float(rng.random() < 0.5) for decision in decisions}
                until_answered(clients, wire.tell_many("answers", rewards, False), rng)
                told[number] |= rewards
        except BaseException as error:
            errors.append(error)
        finally:
            for client in clients:
                client.close()

    threads = [threading.Thread(target=use, args=(number,)) for number in range(CLIENTS)]
    try:
        for thread in threads:
            thread.start()
        rng, kills = random.Random(0), 0
        while any(thread.is_alive() for thread in threads):
            done, before = sum(map(len, told)), sum(map(len, told))
            # The next one dies after some progress, so that it dies in the middle of traffic.
            step = 2_000 if LONG else DECISIONS // 6
            deadline = time.monotonic() + 600.0
            while done < before + step and any(thread.is_alive() for thread in threads):
                assert time.monotonic() < deadline or LONG
                time.sleep(0.02)
                done = sum(map(len, told))
            if any(thread.is_alive() for thread in threads) and (kills < 2 or LONG):
                victim = rng.choice(replicas)
                victim.kill()
                victim.start()
                kills += 1
    finally:
        for replica in replicas:
            replica.kill()
    assert errors == []
    assert kills >= 2
    everything = {decision: reward for part in told for decision, reward in part.items()}
    study = load_study("answers", storage)
    log = study.log()
    # Every decision that was answered is there, each key made one, and every reward counts once.
    assert log.height == len(everything) == CLIENTS * (DECISIONS // CLIENTS)
    assert log["status"].to_list() == ["told"] * log.height
    assert log["reward"].sum() == sum(everything.values())
    assert sum(arm.pulls for arm in study.status().arms) == len(everything)
    assert study.check().agrees
