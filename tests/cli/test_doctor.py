"""`satisfice doctor`, and completion in the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import satisfice
from satisfice.cli import doctor, make_app


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(make_app(), list(words))
    return result.exit_code, result.stdout


def test_versions_cache_and_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SATISFICE_STORAGE", raising=False)
    code, text = run("doctor")
    assert code == 0 and text.startswith(f"satisfice {satisfice.__version__}, Python ")
    assert "storage: none given" in text and "numba " in text
    satisfice.create_study("x", {"a": 1.0, "b": 2.0}, satisfice.BestReward(0.1), storage=f"sqlite:///{tmp_path}/s.db")
    code, text = run("doctor", "--json", "--storage", f"sqlite:///{tmp_path}/s.db")
    found = json.loads(text)
    assert code == 0 and found["storage"] == {"works": True, "studies": ["x"], "problem": None}
    assert found["missing"] == {}
    code, text = run("doctor", "--storage", "nowhere://x")
    assert code == 1 and "storage: " in text


def test_what_is_missing_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.EXTRAS, "cluster", {"distributed": "no_such_module_anywhere"})
    code, text = run("doctor")
    assert code == 0 and "missing: distributed (pip install 'satisfice[cluster]')" in text


def test_completion_can_be_installed() -> None:
    code, text = run("--help")
    assert code == 0 and "--install-completion" in text
    code, text = run("--show-completion", "bash")
    assert "satisfice" in text or code == 0
