"""The how-to in docs/live.md: every snippet runs, one after the other, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from satisfice.cli import make_app
from satisfice.studies import load_study

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text()


def snippets(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_snippet_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in snippets("python"):
        # A test need not wait for the disk, and a quarter of the questions do as well.
        code = code.replace("sqlite:///studies.db", "sqlite:///studies.db?synchronous=normal")
        exec(code.replace("range(0, 40_000, 100)", "range(0, 10_000, 100)"), names)
    printed = capsys.readouterr().out
    assert Path("answers.png").stat().st_size > 10_000
    assert "agrees with the log" in printed
    assert load_study("answers", "sqlite:///studies.db").verdict().rewards > 8_000
    Path("calls.csv").write_text("arm,reward,cost,key\nsmall,1,0.4,call-2\nlarge,0,9.1,call-3\n")
    for line in "".join(snippets("sh")).splitlines():
        if line.startswith("export "):
            monkeypatch.setenv(*line.removeprefix("export ").split("=", 1))
        else:
            result = CliRunner().invoke(make_app(), shlex.split(line)[1:])
            assert result.exit_code == 0, (line, result.output)
    assert Path("answers.parquet").exists()


def test_the_page_shows_what_the_snippets_print() -> None:
    """The world's best choice leads the table, and every model is in it."""
    (table,) = snippets("text")
    assert re.search(r"Qwen3-Thinking .* (leading|certified)\n", table)
    assert len(re.findall(r"\d to 0\.\d+ ", table)) == 13
    assert (Path(__file__).parents[2] / "docs" / "live.png").exists()
