"""Every script in examples/ runs, and what it asserts holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Those that need LiteLLM run in its own environment (`make test-litellm`); the fake server runs until it is stopped.
ELSEWHERE = {"fake_openai", "judge", "litellm_sdk"}
SCRIPTS = sorted(
    path for path in (Path(__file__).parent.parent / "examples").glob("*.py") if path.stem not in ELSEWHERE
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_script_runs(script: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout
