"""docs/drift.md: every snippet runs, and says what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "drift.md").read_text()


def test_every_snippet_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(code, names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "15" and printed[2] == "exploring"
    assert re.fullmatch(r"rewards of 'mini' changed around .* \(UTC\): 0\.95 before, 0\.29 since", printed[1])
    assert "glr-drift" in "\n".join(printed)


def test_the_programs_that_it_names_are_there() -> None:
    root = Path(__file__).parents[2]
    named = re.findall(r"`((?:examples|benchmarks)/\w+\.py)`", PAGE)
    assert len(named) >= 4 and all((root / name).exists() for name in named)
    assert (root / "docs" / "images" / "drift.png").exists()
