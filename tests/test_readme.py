"""What the README shows works: its Python runs, its commands exist and its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import satisfice as sf
from satisfice.cli import make_app

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
        shown = CliRunner().invoke(make_app(), [*words[:first], "--help"])
        assert shown.exit_code == 0, shown.output
        for option in (word for word in words if word.startswith("--")):
            assert option in shown.stdout, f"{words[:first]} has no {option}"


def test_every_command_is_documented() -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))))
    # "satisfice study create | ask" speaks of two commands.
    spoken = re.findall(r"satisfice\s+(\w+)((?:\s+(?:\|\s+)?[\w-]+)*)", pages)
    said = {
        word
        for first, rest in spoken
        for word in (first, *(f"{first} {other}" for other in re.findall(r"[\w-]+", rest)))
    }
    commands = typer.main.get_command(make_app())
    assert isinstance(commands, typer.core.TyperGroup)
    for name, command in commands.commands.items():
        inner = getattr(command, "commands", {})
        for words in [name, *(f"{name} {other}" for other in inner)]:
            assert words in said, f"no page shows `satisfice {words}`"


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES += sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_and_links_exist(page: Path) -> None:
    text = page.read_text()
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make\s([\w-]+)`", text)) <= set(targets)
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link


def test_a_database_of_every_release_is_recorded() -> None:
    released = re.findall(r"^## (\d[\w.]*) \(\d", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released
    for version in {*released, sf.__version__.removesuffix(".dev0")}:
        assert list((ROOT / "tests" / "studies" / "recorded").glob(f"{version}.db*")), version
