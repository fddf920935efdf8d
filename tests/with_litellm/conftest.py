"""The real LiteLLM in its own environment (`make test-litellm`), and behind it the fake server of the examples."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
from fake_openai import FakeOpenAI

from satisfice.integrations.litellm import Satisfice

litellm.suppress_debug_info = True
for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
    logging.getLogger(name).setLevel(logging.CRITICAL)


@pytest.fixture
def fake() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def routed(fake: FakeOpenAI, tmp_path: Path) -> Iterator[Callable[..., tuple[Satisfice, Any]]]:
    """A callback and a router of the group `answers`; both are gone after the test."""
    made: list[Satisfice] = []

    def make(models: list[str] | None = None, *, router: dict[str, Any] | None = None, **terms: Any) -> Any:
        # A busy machine may take its time; a call that waits no longer is another test.
        terms = {"storage": f"sqlite:///{tmp_path}/answers.db", "patience": 300.0, **terms}
        route = Satisfice("answers", **terms)
        made.append(route)
        litellm.callbacks = [*litellm.callbacks, route]
        every = [*fake.deployments("answers", models), *fake.deployments("backup", ["huge"])]
        options = {"num_retries": 0, "retry_after": 0, "allowed_fails": 10_000, **(router or {})}
        return route, litellm.Router(model_list=every, **options)

    yield make
    for route in made:
        route.close()
    litellm.callbacks = []
    litellm.success_callback = []
    litellm._async_success_callback = []
    litellm.failure_callback = []
    litellm._async_failure_callback = []
