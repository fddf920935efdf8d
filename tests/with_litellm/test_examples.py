"""The examples that need LiteLLM run, and what they assert holds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.mark.parametrize("name", ["litellm_sdk", "judge"])
def test_the_script_runs(name: str, tmp_path: Path) -> None:
    script = [sys.executable, str(EXAMPLES / f"{name}.py")]
    environment = os.environ | {"LITELLM_LOG": "ERROR"}
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "spent" in done.stdout
