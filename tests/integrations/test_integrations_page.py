"""docs/llm.md: what it shows of OpenFeature runs. What it shows of LiteLLM is tried by `make test-litellm`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from openfeature import api

PAGE = (Path(__file__).parents[2] / "docs" / "llm.md").read_text()


def test_the_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})
    api.shutdown()
    api.clear_providers()
    assert capsys.readouterr().out.strip() in ("small 1", "large 1")
