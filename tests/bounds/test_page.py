"""The page on bounds: its snippets answer what it says, and its commands run."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from satisfice.cli import make_app

PAGE = Path(__file__).parents[2] / "docs" / "bounds.md"


def test_snippets_answer_what_the_page_says() -> None:
    # Fences are blank lines to doctest, as the end of an expected answer is.
    text = re.sub(r"^```.*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, "bounds.md", str(PAGE), 0)
    output: list[str] = []
    outcome = doctest.DocTestRunner().run(test, out=output.append)
    assert outcome.failed == 0, "".join(output)
    assert outcome.attempted >= 15


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^satisfice (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        result = CliRunner().invoke(make_app(), shlex.split(command))
        assert result.exit_code == 0, result.output
    assert len(list(tmp_path.glob("results/*.png"))) == 2
