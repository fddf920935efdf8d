"""The page on the reproduction: its snippets run, its names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from satisfice.paper import EXPERIMENTS

PAGE = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")


def test_python_snippets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = dict(EXPERIMENTS)
    names: dict[str, object] = {}
    try:
        for snippet in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            exec(snippet, names)
    finally:
        EXPERIMENTS.clear()
        EXPERIMENTS.update(before)
    assert (tmp_path / str(names["report"])).is_file()
    assert (tmp_path / "reproduction-gpqa" / "figures" / "gpqa.png").is_file()


def test_the_table_lists_every_figure() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE.partition("## What it writes")[0], re.MULTILINE)
    assert sorted(re.findall(r"`(.*?)`", " ".join(rows))) == sorted(EXPERIMENTS)
