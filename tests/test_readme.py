"""What the README shows works: its Python runs, its commands exist and its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL), ids=["simulation", "study"])
def test_snippets_run(code: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "medium" in done.stdout


def test_commands_and_their_options_exist() -> None:
    lines = [line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines if line.startswith("satisfice ")]
    assert len(commands) >= 8
    for _, *words in commands:
        first = 2 if words[0] in ("instance", "study") else 1
        shown = subprocess.run(
            [sys.executable, "-m", "satisfice", *words[:first], "--help"], capture_output=True, text=True
        )
        assert shown.returncode == 0, shown.stderr
        for option in (word for word in words if word.startswith("--")):
            assert option in shown.stdout, f"{words[:first]} has no {option}"


def test_make_targets_and_links_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([\w-]+)`", TEXT)) <= set(targets)
    for link in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / link).exists(), link
