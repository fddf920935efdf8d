"""The short form of `benchmarks/torture.py`: nothing that was acknowledged is lost or doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "torture.py"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_nothing_acknowledged_is_lost_or_doubled(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    command = [sys.executable, str(SCRIPT), "--kind", kind, "--writers", "3", "--seconds", "6", "--out", str(out)]
    said = tmp_path / "said"  # a file, not a pipe: a server that was restarted would hold it open
    with said.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=file, check=False)
    assert out.exists(), said.read_text()
    report = json.loads(out.read_text())[kind]
    assert report["acknowledged"] > 0
    assert report["acknowledged but lost"] == 0
    assert report["doubled"] == 0
    assert report["check() agrees"], report["differences"]
    assert report["unexpected errors"] == ""
    assert done.returncode == 0
