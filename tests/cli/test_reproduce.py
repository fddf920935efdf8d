"""`satisfice reproduce`, as a user would try it, and kill it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

COMMAND = (sys.executable, "-m", "satisfice", "reproduce")


def reproduce(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True)


def content(folder: Path) -> dict[str, bytes]:
    """All results; what a killed program was writing is hidden, and nobody reads it."""
    paths = [path for path in folder.rglob("*.parquet") if not path.name.startswith(".")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_killed_half_way_and_started_again(tmp_path: Path) -> None:
    words = ("toy", "--quick", "--seed", "7", "--workers", "2", "--out")
    cells = tmp_path / "killed" / "cells"
    process = subprocess.Popen([*COMMAND, *words, "killed"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(cells.glob("*.parquet"))) < 5:
        time.sleep(0.005)
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    # Nobody is left behind.
    assert len(workers) == 2 and not psutil.wait_procs(workers, timeout=300)[1]
    kept = {path.name: path.read_bytes() for path in cells.glob("*.parquet")}
    again = reproduce(*words, "killed", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert reproduce(*words, "whole", cwd=tmp_path).returncode == 0
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    assert 5 <= len(kept) < len(list(cells.glob("*.parquet")))
    assert all((cells / name).read_bytes() == bytes for name, bytes in kept.items())


def test_it_says_where_everything_is(tmp_path: Path) -> None:
    done = reproduce("instance", "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reproduction-quick" / "report.html").is_file()
    assert "report:  reproduction-quick/report.html" in done.stdout and "2, PNG and PDF" in done.stdout


def test_an_unknown_figure_is_one_clear_line(tmp_path: Path) -> None:
    done = reproduce("9z", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("error: there is no figure '9z'; the figures are 1a, 1b")
    assert not list(tmp_path.iterdir())
