"""The runner on a Dask cluster: the same results, bit for bit, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from distributed import Client

import satisfice as sf
from satisfice.errors import InvalidRun, MissingExtra
from satisfice.paper import reproduce
from satisfice.simulation import cluster as cluster_module

ADDRESS = "tcp://127.0.0.1"


class Cluster:
    """A scheduler, and workers that are processes of their own."""

    def __init__(self, folder: Path, workers: int, **environment: str) -> None:
        file = str(folder / "scheduler.json")
        self.processes = [
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
        ]
        options = ("--no-nanny", "--no-dashboard", "--nthreads", "1", "--local-directory", str(folder))
        self.workers = [start("worker", "--scheduler-file", file, *options, **environment) for _ in range(workers)]
        self.processes += self.workers
        with Client(scheduler_file=file, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            self.address = client.scheduler.address

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def start(what: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{what}", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )


def same(a: sf.Results, b: sf.Results) -> bool:
    return list(a) == list(b) and all(
        np.array_equal(getattr(a[label], name), getattr(b[label], name))
        for label in a
        for name in ("pulls", "cost_curve", "quality_curve", "checkpoints")
    )


def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    problem = (sf.load_instance("goodreads"), sf.BestReward(0.05), ["ucb-cs", "etc-cs"], 3_000_000)
    alone = sf.simulate(*problem, runs=20, seed=3, workers=1)
    with Cluster(tmp_path, workers=2) as cluster:
        victim, survivor = cluster.workers

        def kill_one(done: int, total: int, label: str) -> None:
            if done >= 3 and victim.poll() is None:
                os.kill(victim.pid, signal.SIGKILL)

        together = sf.simulate(*problem, runs=20, seed=3, cluster=cluster.address, progress=kill_one)
        assert victim.wait() == -signal.SIGKILL
        assert survivor.poll() is None
        # A client is as good as an address, and stays open for its owner.
        with Client(cluster.address, set_as_default=False) as client:
            again = sf.simulate(*problem, runs=20, seed=3, cluster=client)
            assert client.status == "running"
            reproduce(["asymmetric"], tmp_path / "cluster", quick=True, cluster=client)
    reproduce(["asymmetric"], tmp_path / "here", quick=True, workers=1)
    there, here = ({p.name: p.read_bytes() for p in (tmp_path / w / "cells").iterdir()} for w in ("cluster", "here"))
    assert there == here and len(here) > 1
    assert same(alone, together)
    assert same(alone, again)


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE", 1)
    with pytest.raises(InvalidRun, match="no Dask scheduler answers at"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=f"{ADDRESS}:1")
    with pytest.raises(InvalidRun, match="must be the address"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=8786)


def test_an_address_that_is_none_is_refused_at_once() -> None:
    # In a process of its own: a client that is left open holds up its end.
    code = (
        "import satisfice as sf\n"
        "sf.simulate(sf.load_instance('goodreads'), sf.BestReward(0.1), 'pe-cs', 10, cluster='foo')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=40)
    assert "InvalidRun: no Dask scheduler answers at 'foo'" in done.stderr
    assert "Exception ignored" not in done.stderr


def test_workers_with_another_version_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import satisfice\nsatisfice.__version__ = '99.0'\n")
    with (
        Cluster(tmp_path, workers=1, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path])) as cluster,
        pytest.raises(InvalidRun, match=r"has satisfice 99\.0 \(here "),
    ):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=cluster.address)


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match="satisfice\\[cluster\\]"):
        sf.simulate(sf.load_instance("goodreads"), sf.BestReward(0.1), "pe-cs", 1000, cluster=f"{ADDRESS}:8786")
