"""Bars: they end at the end, and fit the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import TaskProgressColumn

from satisfice.paper import reproduce
from satisfice.progress import progress_bar


@pytest.mark.parametrize("width", [34, 50, 59, 60, 70, 80, 100, 160])
@pytest.mark.parametrize("words", ["glr", "12 of 152 simulations are there already, [and] more"])
def test_times_are_never_cut(width: int, words: str) -> None:
    screen = io.StringIO()
    bar = progress_bar(TaskProgressColumn(), room=5, console=Console(file=screen, width=width, force_terminal=False))
    with bar:
        task = bar.add_task(words, total=1.0)
        bar.update(task, completed=1.0)
    line = screen.getvalue().splitlines()[-1]
    assert line.rstrip().endswith("100% 0:00:00 elapsed, 0:00:00 left" if width >= 60 else "100% 0:00:00 left")
    assert len(line) <= width and line.startswith(words[:7])


def test_a_reproduction_ends_with_all_of_its_work_done(tmp_path: Path) -> None:
    calls: list[tuple[float, float]] = []
    for _ in ("made", "there already"):
        reproduce(["2a"], tmp_path, quick=True, workers=1, progress=lambda *now: calls.append(now[:2]))
        assert calls[-1][0] == calls[-1][1] > 0
        calls.clear()
