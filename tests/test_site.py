"""The documentation: every snippet and command of its pages runs, and what is made from the code is complete."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import satisfice
from satisfice.cli import make_app

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import site_pages  # noqa: E402

# Pages with tests of their own, which run their snippets with more care.
ELSEWHERE = {
    "analyse.md",
    "architecture.md",
    "bounds.md",
    "dashboard.md",
    "data.md",
    "glr.md",
    "live.md",
    "reproduce.md",
}
ELSEWHERE |= {"service.md", "promises.md", "llm.md", "drift.md"}
PAGES = sorted(
    path.relative_to(ROOT / "docs").as_posix()
    for path in (ROOT / "docs").rglob("*.md")
    if path.relative_to(ROOT / "docs").as_posix() not in ELSEWHERE
)
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if BLOCK.search((ROOT / "docs" / page).read_text("utf-8"))])
def test_what_a_page_shows_runs_in_its_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, block in BLOCK.findall((ROOT / "docs" / page).read_text("utf-8")):
        if language == "python":
            exec(compile(block, page, "exec"), {"__name__": "page"})
            continue
        for line in block.splitlines():
            program, *words = shlex.split(line.removeprefix("$ "))
            assert program == "satisfice", line
            result = CliRunner().invoke(make_app(), words)
            assert result.exit_code == 0, f"{line}: {result.output}"


def test_every_entry_of_the_navigation_is_a_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = set(re.findall(r"([\w/-]+\.md)$", text, flags=re.MULTILINE))
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert named <= written | set(site_pages.MADE)
    assert "\nstrict: true\n" in text


def test_every_command_and_every_option_is_in_the_reference() -> None:
    page = site_pages.commands()
    for command in ("run", "analyse", "study ask", "study export", "instance logs", "keys create", "doctor", "plan"):
        assert f"# `satisfice {command}`" in page
    for option in ("--random-costs", "--log-x", "--install-completion", "--load-if-exists"):
        assert f"`{option}`" in page


def test_every_public_name_is_in_the_reference() -> None:
    page = site_pages.python()
    for name in satisfice.__all__:
        value = getattr(satisfice, name)
        if isinstance(value, type) or callable(value):
            assert f".{value.__qualname__}\n" in page, name


def test_http_schema_words_and_examples() -> None:
    assert "## `POST /v1/studies/{study}/decisions`" in site_pages.http()
    assert "CREATE TABLE" in site_pages.schema()
    assert "| frontier |" in site_pages.glossary()
    listed = site_pages.examples()
    for path in (ROOT / "examples").glob("*.py"):
        row = next(line for line in listed.splitlines() if f"`{path.name}`" in line)
        assert len(row.split("|")[2].strip()) > 10, f"{path.name} says nothing of itself in its first line"
