"""First guesses of what calls cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from satisfice.cli import make_app
from satisfice.errors import InvalidData
from satisfice.integrations.routing import prices
from satisfice.integrations.routing.prices import price, price_map, read_map

MAP: dict[str, dict[str, object]] = {
    "sample_spec": {"input_cost_per_token": 0.0},
    "gpt-5": {"input_cost_per_token": 1.25e-6, "output_cost_per_token": 1e-5, "litellm_provider": "openai"},
    "gpt-5-mini": {"input_cost_per_token": 2.5e-7, "output_cost_per_token": 2e-6, "litellm_provider": "openai"},
    "azure/gpt-5-nano": {"input_cost_per_token": 5e-8, "output_cost_per_token": 4e-7, "litellm_provider": "azure"},
    "free": {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "mode": "chat"},
}


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "prices.json"
    place.write_text(json.dumps(MAP))
    monkeypatch.setattr(prices, "price_map", lambda: read_map(place))


def test_what_calls_cost_cheapest_first(known: None) -> None:
    done = CliRunner().invoke(make_app(), ["prices", "gpt-5", "gpt-5-mini", "--input", "800", "--output", "300"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["gpt-5-mini", "openai", "0.25", "2", "0.0008", "1,250"]
    assert lines[2].split()[:5] == ["gpt-5", "openai", "1.25", "10", "0.004"]
    assert "800 tokens in, 300 out" in done.stdout
    done = CliRunner().invoke(make_app(), ["prices", "gpt-5-mini", "--json"])
    assert json.loads(done.stdout)[0]["call"] == pytest.approx(0.0008)


@pytest.mark.parametrize(
    ("model", "words"),
    [("gpt5-mini", "did you mean gpt-5-mini"), ("gpt-5-nano", "mean azure/gpt-5-nano"), ("free", "is no price")],
)
def test_what_has_no_price_is_said(known: None, model: str, words: str) -> None:
    done = CliRunner().invoke(make_app(), ["prices", model])
    assert done.exit_code == 2 and words in done.stderr


def test_a_map_that_is_none(tmp_path: Path) -> None:
    for text in ("[]", "{", ""):
        (tmp_path / "map.json").write_text(text)
        with pytest.raises(InvalidData, match="is no map of prices"):
            read_map(tmp_path / "map.json")
    assert price("gpt-5", (0, 0), {"gpt-5": MAP["gpt-5"]}).call == 0.0


def test_without_litellm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    price_map.cache_clear()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = CliRunner().invoke(make_app(), ["prices", "gpt-5"])
    assert done.exit_code == 2 and "satisfice[litellm]" in done.stderr
