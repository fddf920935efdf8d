"""LiteLLM's map of prices as a source of first guesses: read as a file, since importing LiteLLM takes seconds."""

from __future__ import annotations

import difflib
import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from satisfice.errors import InvalidData, MissingExtra
from satisfice.integrations.routing.deployments import PRICES, call_cost

FILE = "model_prices_and_context_window_backup.json"


class Price(NamedTuple):
    """What a model costs: dollars per million tokens, in and out, and for one call."""

    model: str
    provider: str
    input: float
    output: float
    call: float


@cache
def price_map() -> dict[str, dict[str, object]]:
    """The map, by model, from the LiteLLM that is installed."""
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        raise MissingExtra("prices come with LiteLLM; pip install 'satisfice[litellm]'")
    return read_map(Path(found.origin).parent / FILE)


def read_map(path: Path) -> dict[str, dict[str, object]]:
    """A map of prices from a file in LiteLLM's form."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidData(f"{path} is no map of prices: {error}") from error
    if not isinstance(data, dict):
        raise InvalidData(f"{path} is no map of prices: it holds a {type(data).__name__}")
    return {
        name: cast("dict[str, object]", line)
        for name, line in data.items()
        if name != "sample_spec" and isinstance(line, dict)
    }


def price(model: str, tokens: tuple[int, int], prices: dict[str, dict[str, object]] | None = None) -> Price:
    """What a model costs by the map.

    Raises
    ------
    InvalidData
        When it is not in the map (the message names close ones), or its price per token is not.

    Examples
    --------
    >>> prices = {"small": {"input_cost_per_token": 1e-6, "output_cost_per_token": 4e-6, "litellm_provider": "us"}}
    >>> price("small", (1000, 500), prices)
    Price(model='small', provider='us', input=1.0, output=4.0, call=0.003)
    """
    known = price_map() if prices is None else prices
    line = known.get(model)
    if line is None:
        ends = [name for name in known if name.rpartition("/")[2] == model]
        close = (ends or difflib.get_close_matches(model, known, n=5, cutoff=0.6))[:5]
        meant = f"; did you mean {', '.join(close)}?" if close else ""
        raise InvalidData(f"LiteLLM's map of {len(known):,} prices has no model {model!r}{meant}", parameter="model")
    if not any(line.get(name) for name in PRICES):
        raise InvalidData(
            f"LiteLLM's map has no price per token of {model!r} (a model for {line.get('mode', 'something else')}); "
            "a price of zero that nobody declared is no price",
            parameter="model",
        )
    own = [float(cast(float, line.get(name) or 0.0)) * 1e6 for name in PRICES]
    return Price(model, str(line.get("litellm_provider", "")), own[0], own[1], call_cost(line, tokens))
