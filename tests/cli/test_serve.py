"""`satisfice serve` and `satisfice keys`, as a shell would use them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from satisfice.cli import make_app

KEY = re.compile(r"sf_[A-Za-z0-9]{8}_[A-Za-z0-9]{32}")


def run(*words: str) -> str:
    result = CliRunner().invoke(make_app(), list(words))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """`satisfice serve` with no argument but a free port: the process, its address and the first key."""
    words = [sys.executable, "-m", "satisfice", "serve"]
    process = subprocess.Popen(
        words,
        cwd=tmp_path,
        env=os.environ | {"SATISFICE_PORT": "0", "SATISFICE_LOG_JSON": "1"},
        stdout=subprocess.PIPE,
        stderr=(tmp_path / "log").open("w"),
        text=True,
    )
    assert process.stdout is not None
    try:
        address = re.search(r"http://127.0.0.1:\d+", process.stdout.readline())
        key = KEY.search(process.stdout.readline())
        assert address is not None and key is not None, (tmp_path / "log").read_text()
        yield process, address.group(), key.group()
    finally:
        process.kill()
        process.wait(timeout=300)


def test_serve_prints_the_first_key_once_and_stops_when_told(
    served: tuple[subprocess.Popen[str], str, str], tmp_path: Path
) -> None:
    process, address, key = served
    study = {"name": "answers", "arms": {"small": 0.2, "large": 8.0}, "setting": {"kind": "best", "alpha": 0.1}}
    with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=300.0) as client:
        assert client.post("/v1/studies", json=study).status_code == 201
        decision = client.post("/v1/studies/answers/decisions").json()["decisions"][0]
        # Who listens to events does not hold up the end.
        with client.stream("GET", "/v1/studies/answers/events"):
            assert client.post("/v1/rewards", json={"decision": decision["id"], "reward": 1}).json()["changed"] == 1
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=300)
    log = (tmp_path / "log").read_text()
    assert all(json.loads(line)["level"] == "info" for line in log.splitlines())
    assert key not in log
    storage = f"sqlite:///{tmp_path}/satisfice.db"
    status = json.loads(run("study", "status", "answers", "--storage", storage, "--json"))
    assert status["arms"][0]["pulls"] == 1
    assert run("keys", "list", "--storage", storage).startswith(key[:11])


def test_keys_are_created_listed_and_revoked(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/studies.db"
    words = ("keys", "create", "gateway", "--scope", "decide", "--scope", "reward", "--study", "answers")
    made = json.loads(run(*words, "--rate", "9/second", "--storage", storage, "--json"))
    assert KEY.fullmatch(made["key"]) and made["prefix"] in made["key"]
    line = json.loads(run("keys", "list", "--storage", storage, "--json"))
    assert (line["scopes"], line["studies"], line["rate"]) == (["decide", "reward"], ["answers"], "9/second")
    assert made["key"] not in (tmp_path / "studies.db").read_bytes().decode("latin-1")
    assert "revoked" in run("keys", "revoke", made["prefix"], "--storage", storage)
    assert "revoked" in run("keys", "list", "--storage", storage)
    again = CliRunner().invoke(make_app(), ["keys", "revoke", made["prefix"], "--storage", storage])
    assert again.exit_code == 2


def test_no_auth_is_refused_where_others_can_connect() -> None:
    result = CliRunner().invoke(make_app(), ["serve", "--no-auth", "--host", "0.0.0.0", "--port", "0"])
    assert result.exit_code == 2 and "would let everybody in" in result.output


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_what_is_missing_is_said(command: str) -> None:
    code = (
        f"import sys; sys.modules.update(msgspec=None, uvicorn=None); sys.argv = ['satisfice', {command!r}]\n"
        "from satisfice.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "pip install 'satisfice[serve]'" in done.stderr, done.stderr
