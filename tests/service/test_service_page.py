"""docs/service.md: what it shows runs, and what there is, it names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from satisfice.cli import make_app
from satisfice.service.routes import OPERATIONS
from satisfice.studies import get_storage
from service.running import STUDY, running

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text()
README = (ROOT / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8000"


def blocks(language: str, page: str = PAGE) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with running(get_storage(None)) as up:
        exec("\n".join(blocks("python")).replace(ADDRESS, up.url), {"KEY": up.key("admin")})
    assert "exploring" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_curl_of_the_page_runs() -> None:
    lines = next(code for code in blocks("bash") if "curl" in code)
    with running(get_storage(None)) as up:
        code = lines.replace(ADDRESS, up.url).replace("sf_...", up.key("admin"))
        run = subprocess.run(
            ["bash", "-c", code.replace("curl ", "curl -sS ")], capture_output=True, text=True, timeout=600
        )
    assert run.returncode == 0 and '"decisions":[{"id":' in run.stdout, run.stderr
    assert "unknown-decision" in run.stdout  # the id that the reader has to fill in


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_the_javascript_of_the_page_runs() -> None:
    (code,) = blocks("javascript")
    with running(get_storage(None)) as up, up.client(up.key("admin")) as client:
        client.post("/v1/studies", json=STUDY)
        whole = f"const key = '{up.key('decide', 'reward')}';\n{code.replace(ADDRESS, up.url)}"
        words = ["node", "--input-type=module", "-e", whole]
        run = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stderr
        assert client.get("/v1/studies/answers/status").json()["arms"][0]["pulls"] == 1


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_lines_of_the_readme_run() -> None:
    """A study and a decision with curl; the page has the same in Python and with fetch."""
    shell = next(code for code in blocks("bash", README) if "curl" in code)
    with running(get_storage(None)) as up:
        code = shell.replace(ADDRESS, up.url).replace("sf_...", up.key("admin")).replace("curl ", "curl -sS ")
        run = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=600)
        assert run.returncode == 0 and '"decisions":[{"id":' in run.stdout, run.stderr


def test_every_route_and_every_option_is_on_the_page() -> None:
    for operation in OPERATIONS:
        last = operation.path.replace("/v1/studies/{study}/", ".../").replace("{decision}", "{id}")
        assert operation.path in PAGE or last in PAGE, operation.path
    shown = CliRunner().invoke(make_app(), ["serve", "--help"]).output
    for option in set(re.findall(r"--[a-z-]+", shown)) - {"--help"}:
        assert f"`{option}`" in PAGE, option
