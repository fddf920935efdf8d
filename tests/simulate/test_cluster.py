"""The runner on a Dask cluster: the same results, bit for bit, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import Client

import satisfice as sf
from satisfice.errors import InvalidRun, MissingExtra
from satisfice.simulate import cluster as cluster_module

ADDRESS = "tcp://127.0.0.1"


class Cluster:
    """A scheduler and two worker processes of its own."""

    def __init__(self, folder: Path) -> None:
        file = folder / "scheduler.json"
        self.processes = [self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                      "--scheduler-file", str(file))]  # fmt: skip
        self.workers = [
            self._start("worker", "--scheduler-file", str(file), "--no-nanny", "--no-dashboard", "--nthreads", "1",
                        "--local-directory", str(folder))
            for _ in range(2)
        ]  # fmt: skip
        self.processes += self.workers
        with Client(scheduler_file=str(file), timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            self.address = client.scheduler.address

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def same(a: sf.Results, b: sf.Results) -> bool:
    return list(a) == list(b) and all(
        np.array_equal(getattr(a[label], name), getattr(b[label], name))
        for label in a
        for name in ("pulls", "cost_curve", "quality_curve", "checkpoints")
    )


def test_a_killed_worker_changes_nothing(two_workers: Cluster) -> None:
    problem = (sf.load_instance("goodreads"), sf.BestReward(0.25), ["ts-cs", "etc-cs"], 300_000)
    alone = sf.simulate(*problem, runs=20, seed=3, workers=1)
    killed = []

    def kill_one(done: int, total: int, label: str) -> None:
        if done >= 3 and not killed:
            killed.append(two_workers.workers[0].pid)
            os.kill(two_workers.workers[0].pid, signal.SIGKILL)

    started = time.perf_counter()
    together = sf.simulate(*problem, runs=20, seed=3, cluster=two_workers.address, progress=kill_one)
    assert killed and two_workers.workers[0].wait() == -signal.SIGKILL
    assert two_workers.workers[1].poll() is None
    assert same(alone, together), time.perf_counter() - started
    # A client is as good as an address, and stays open for its owner.
    with Client(two_workers.address, set_as_default=False) as client:
        again = sf.simulate(*problem, runs=20, seed=3, cluster=client)
        assert client.status == "running"
    assert same(alone, again)


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE", 1)
    with pytest.raises(InvalidRun, match="no Dask scheduler answers at"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=f"{ADDRESS}:1")
    with pytest.raises(InvalidRun, match="must be the address"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=8786)


def test_workers_with_other_versions_are_refused(two_workers: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "versions", lambda: dict.fromkeys(cluster_module.SAME, "0.0"))
    with Client(two_workers.address, set_as_default=False) as client, pytest.raises(InvalidRun, match="would not be the same"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=client)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match="satisfice\\[cluster\\]"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=f"{ADDRESS}:8786")
