"""Many processes on one study, and processes that are killed: every decision once, no reward lost or counted twice."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import satisfice as sf
from satisfice.studies import create_study, load_study

# A child begins with the modules of its parent, so it is at work within milliseconds.
FORK = multiprocessing.get_context("fork")
ARMS = {"small": 0.2, "medium": 1.0, "large": 8.0}
MEANS = {"small": 0.5, "medium": 0.85, "large": 0.9}
PROCESSES, PAIRS, KILLS = 8, 400, 50


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


def ask_and_tell(url: str, seed: int, pairs: int, answer: Connection) -> None:
    study = load_study("s", url)
    rng = random.Random(seed)
    made: list[tuple[int, str, float]] = []
    try:
        for _ in range(pairs):
            decision = study.ask()
            reward = rng.choice([0.0, 0.3, 1.0]) if rng.random() < MEANS[decision.arm] else 0.0
            study.tell(decision.id, reward)
            made.append((decision.id, decision.arm, reward))
        study.close()
        answer.send(made)
    except Exception as error:
        answer.send(repr(error))


def test_eight_processes_at_once(url: str) -> None:
    """8 x 400 decisions, each once; the sums are those of the rewards, to the last bit; nobody sees a lock."""
    study = create_study("s", ARMS, sf.BestReward(0.1), "ucb-cs", url, PROCESSES * PAIRS, seed=1)
    pipes = [FORK.Pipe(duplex=False) for _ in range(PROCESSES)]
    workers = [FORK.Process(target=ask_and_tell, args=(url, seed, PAIRS, end)) for seed, (_, end) in enumerate(pipes)]
    for worker in workers:
        worker.start()
    answers = [start.recv() for start, _ in pipes]
    for worker in workers:
        worker.join()
    assert [answer for answer in answers if isinstance(answer, str)] == []
    made = [row for answer in answers for row in answer]
    # A process takes decisions in advance when others are at it, too; those that it does not need are given back.
    log = study._ledger.look(lambda view: {row.id: row.outcome for row in view.rows()})
    assert list(log) == list(range(1, len(log) + 1))
    assert sorted(number for number, _, _ in made) == [number for number, end in log.items() if end != "unused"]
    assert len(made) == PROCESSES * PAIRS
    for arm in study.status().arms:
        rewards = [Fraction(reward) for _, name, reward in made if name == arm.name]
        assert (arm.pulls, arm.pending) == (len(rewards), 0)
        assert arm.mean == float(sum(rewards) / len(rewards))
    assert study.check().agrees


def work_until_killed(url: str, seed: int, diary: Path) -> None:
    """Write down every reward before it is told and after the study has taken it."""
    study = load_study("s", url)
    rng = random.Random(seed)
    with diary.open("a", buffering=1) as book:
        while True:
            decisions = study.ask_many(rng.randrange(2, 5)) if rng.random() < 0.2 else [study.ask()]
            rewards = {decision.id: rng.choice([0.0, 0.3, 1.0]) for decision in decisions}
            book.write("".join(f"tell {number} {reward}\n" for number, reward in rewards.items()))
            study.tell_many(rewards) if len(rewards) > 1 else study.tell(*next(iter(rewards.items())))
            book.write("".join(f"told {number} {reward}\n" for number, reward in rewards.items()))


def test_killed_writers_lose_nothing(url: str, tmp_path: Path) -> None:
    """Two writers at any time; one of them is killed, 50 times, after a random time of up to 30 ms of its work."""
    study = create_study("s", ARMS, sf.BestReward(0.1), "ucb-cs", url, 10_000, seed=1)
    rng = random.Random(3)

    def start(number: int) -> multiprocessing.process.BaseProcess:
        diary = tmp_path / f"diary-{number}"
        worker = FORK.Process(target=work_until_killed, args=(url, number, diary))
        worker.start()
        wait_for(lambda: diary.exists() and diary.stat().st_size > 0)
        return worker

    workers = [start(0), start(1)]
    for kill in range(KILLS):
        time.sleep(rng.uniform(0.0, 0.03))
        victim = workers.pop(0)
        assert victim.pid is not None
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        if kill < KILLS - 2:
            workers.append(start(kill + 2))
    tried: dict[int, float] = {}
    told: dict[int, float] = {}
    for diary in tmp_path.glob("diary-*"):
        for line in diary.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                word, number, reward = line.split()
                (told if word == "told" else tried)[int(number)] = float(reward)
    log = study.log()
    kept = {row["id"]: row["reward"] for row in log.iter_rows(named=True) if row["status"] == "told"}
    assert len(told) > KILLS
    assert told.items() <= kept.items()  # nothing that was told is lost
    assert kept.items() <= tried.items()  # and nothing is there that was not
    assert sum(arm.pulls for arm in study.status().arms) == len(kept)
    audit = study.check()
    assert audit.agrees, audit


def use_everything_until_killed(url: str, seed: int, diary: Path) -> None:
    """Sessions, subjects, pauses, told costs and calls of others; what was answered is noted."""
    study = load_study("s", url)
    rng = random.Random(seed)
    with diary.open("a", buffering=1) as book:
        while True:
            deed = rng.choice(["session", "subject", "available", "record", "pause"])
            if deed == "pause":
                study.pause()
                study.resume()
            elif deed == "record":
                key = f"call {seed} {rng.random()}"
                made = study.record("large", 1.0, 7.5, key=key)
                book.write(f"record {made.id} large {key}\n")
            else:
                whom = (
                    {"available": ["small", "large"]}
                    if deed == "available"
                    else {deed: f"{deed}-{seed}-{rng.randrange(5)}"}
                )
                decision = study.ask(**whom)
                book.write(f"asked {decision.id} {decision.arm} {deed}\n")
                study.tell(decision.id, rng.choice([0.0, 1.0]), cost=rng.choice([0.1, 3.0]))
                book.write(f"told {decision.id} {decision.arm} {deed}\n")


def test_nothing_around_a_study_is_lost_with_a_killed_writer(url: str, tmp_path: Path) -> None:
    """Two writers that use all that a study has, 12 killed: what was answered is in the log, and rebuilt from it."""
    terms = {"costs": "told", "cost_range": (0.0, 10.0), "baseline": "large", "holdout": 0.2, "budget": 50.0}
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=url, session_ttl=1800, seed=1, **terms)  # type: ignore[arg-type]
    rng, workers = random.Random(5), []
    for kill in range(12):
        diary = tmp_path / f"diary-{kill}"
        worker = FORK.Process(target=use_everything_until_killed, args=(url, kill, diary))
        worker.start()
        workers.append(worker)
        wait_for(lambda: diary.exists() and diary.stat().st_size > 0)  # noqa: B023
        if kill:
            time.sleep(rng.uniform(0.0, 0.03))
            victim = workers.pop(0)
            victim.kill()
            victim.join()
    workers[0].kill()
    workers[0].join()
    study.resume()  # whoever died while it was paused
    lines = [line.split(maxsplit=3) for file in tmp_path.glob("diary-*") for line in file.read_text().splitlines()[:-1]]
    log = {row["id"]: row for row in study.log().iter_rows(named=True)}
    assert {word for word, *_ in lines} == {"asked", "told", "record"}
    for word, number, arm, what in lines:
        row = log[int(number)]
        assert row["arm"] == arm, (word, number)
        assert word != "told" or row["status"] == "told"
        assert word != "record" or (row["key"], row["reason"], row["reward"]) == (what, "recorded", 1.0)
    keys = [row["key"] for row in log.values() if row["key"] is not None]
    assert len(set(keys)) == len(keys)
    assert all(row["chance"] > 0.0 for row in log.values() if row["reason"] != "recorded")
    before = study.status()
    assert (before.spending.exploring or 0.0) <= 50.0 and before.control is not None
    assert study.check().agrees
    study.repair()
    after = study.status()
    assert (after.arms, after.control, after.spending) == (before.arms, before.control, before.spending)
    copy = study.copy("t")
    assert copy.check().agrees and copy.check().rewards == study.check().rewards  # what is open stays with the first


def wait_for(ready: Callable[[], bool], seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_forked_process_uses_a_connection_of_its_own(url: str) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), "ucb-cs", url, 1000, seed=1)
    study.ask()
    worker = FORK.Process(target=study.ask)
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    assert study.ask().id == 3
    assert study.check().agrees
