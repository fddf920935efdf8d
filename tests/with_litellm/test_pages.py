"""What README.md and docs/llm.md show of LiteLLM runs, with made-up models behind it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_openai import FakeOpenAI

from satisfice.integrations.litellm import Satisfice
from with_litellm.calls import logged, says_yes

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "llm.md").read_text()


def snippets(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run(codes: list[str], fake: FakeOpenAI) -> dict[str, Any]:
    models = [*fake.deployments("answers"), *fake.deployments("judges", ["large"])]
    names: dict[str, Any] = {"good": says_yes, "models": models, "question": [{"role": "user", "content": "hello"}]}

    async def work() -> None:
        for code in codes:
            found = eval(compile(code, "page", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            if inspect.isawaitable(found):
                await found
            await logged()

    asyncio.run(work())
    return names


@pytest.mark.parametrize("name", ["README.md", "docs/llm.md"])
def test_the_python_of_the_page_runs(
    name: str, fake: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    import litellm

    # What the README shows of the service is run by the service's own tests.
    text = (ROOT / name).read_text().partition("## LLM routing")[2] if name == "README.md" else PAGE
    names = run(snippets(text, "py"), fake)
    assert (tmp_path / "answers.db").exists()
    if name == "docs/llm.md":
        assert "'decision': '1'" in capsys.readouterr().out
    for route in {*litellm.callbacks, names.get("route")}:
        if isinstance(route, Satisfice):
            route.close()
    litellm.callbacks = []


def test_the_yaml_of_the_page_is_that_of_the_example() -> None:
    (page,) = snippets(PAGE, "yaml")
    config = yaml.safe_load((ROOT / "examples" / "litellm_proxy" / "config.yaml").read_text())
    for name, section in yaml.safe_load(page).items():
        assert config[name] == section


def test_every_parameter_is_on_the_page() -> None:
    for name in inspect.signature(Satisfice.__init__).parameters:
        assert name in ("self", "options") or f"`{name}`" in PAGE, name
