"""docs/data.md does what it says: every command and every snippet in it is run, on small made files."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from satisfice.cli import make_app
from satisfice.problem import Instance

TEXT = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ml-25m").mkdir()
    (tmp_path / "ml-25m" / "movies.csv").write_text("movieId,title,genres\n1,A,Comedy|Drama\n2,B,War\n")
    (tmp_path / "ml-25m" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,1,4.0,0\n1,2,3.5,0\n")
    for genre in ("poetry", "children"):
        lines = "".join(json.dumps({"rating": rating}) + "\n" for rating in (1, 3, 4, 5))
        (tmp_path / f"goodreads_reviews_{genre}.json.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "traffic.csv").write_text("model,solved,usd\n" + "small,1,0.1\nlarge,1,2\nsmall,0,0.1\n" * 10)
    return tmp_path


def test_commands(folder: Path) -> None:
    commands = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
    assert len(commands) == 6
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "satisfice"
        result = CliRunner().invoke(make_app(), words)
        assert result.exit_code == 0, f"{command}: {result.output}"


def test_snippets(folder: Path) -> None:
    snippets = blocks("python")
    assert len(snippets) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for snippet in snippets:
            exec(compile(snippet, "docs/data.md", "exec"), {})


def test_the_file_format(folder: Path) -> None:
    (example,) = blocks("json")
    instance = Instance.from_dict(json.loads(example))
    assert instance.to_dict() == json.loads(example)
