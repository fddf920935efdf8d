"""Arms from the deployments of a group: what they are called, and a first guess of what a call costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, cast

Deployment = Mapping[str, object]
# What a map of prices says of a model, or None where it does not know it.
Lookup = Callable[[str], "Mapping[str, object] | None"]

PRICES = ("input_cost_per_token", "output_cost_per_token")
OTHERS = ("input_cost_per_second", "output_cost_per_second", "input_cost_per_character", "input_cost_per_query")


class Arm(NamedTuple):
    """A model of a group: the first guess of what a call costs (None: nobody knows), whether a price of zero was
    declared, and the ids of its deployments."""

    name: str
    guess: float | None
    free: bool
    ids: tuple[str, ...]


def deployment_id(deployment: Deployment) -> str:
    """The id that a router knows a deployment by."""
    return str(_part(deployment, "model_info").get("id"))


def arm_name(deployment: Deployment) -> str:
    """The arm that a deployment belongs to: `model_info.satisfice_arm`, else the model that is called.

    Examples
    --------
    >>> arm_name({"litellm_params": {"model": "openai/gpt-5-mini"}})
    'openai/gpt-5-mini'
    >>> arm_name({"litellm_params": {"model": "openai/gpt-5"}, "model_info": {"satisfice_arm": "thinking"}})
    'thinking'
    """
    named = _part(deployment, "model_info").get("satisfice_arm")
    return str(named or _part(deployment, "litellm_params").get("model"))


def read_arms(deployments: Iterable[Deployment], lookup: Lookup, tokens: tuple[int, int]) -> dict[str, Arm]:
    """The arms of a group by name, in the order of its deployments. Deployments of one model are one arm.

    Examples
    --------
    >>> small = {"litellm_params": {"model": "openai/small"}, "model_info": {"id": "1"}}
    >>> other = {"litellm_params": {"model": "openai/small"}, "model_info": {"id": "2"}}
    >>> own = {"litellm_params": {"model": "own", "input_cost_per_token": 0}, "model_info": {"id": "3"}}
    >>> known = {"openai/small": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}
    >>> arms = read_arms([small, other, own], known.get, (1000, 500))
    >>> arms["openai/small"]
    Arm(name='openai/small', guess=0.002, free=False, ids=('1', '2'))
    >>> arms["own"].guess, arms["own"].free
    (0.0, True)
    """
    arms: dict[str, Arm] = {}
    for deployment in deployments:
        name, number = arm_name(deployment), deployment_id(deployment)
        known = arms.get(name)
        if known is not None:
            arms[name] = known._replace(ids=(*known.ids, number))
            continue
        guess, free = first_guess(deployment, lookup, tokens)
        arms[name] = Arm(name, guess, free, (number,))
    return arms


def first_guess(deployment: Deployment, lookup: Lookup, tokens: tuple[int, int]) -> tuple[float | None, bool]:
    """What a call of so many tokens, in and out, costs; and whether it is free because somebody said so.

    What the deployment declares counts before the map of prices. A price of zero in the map was declared by nobody: a
    model that looks free by mistake would win every comparison.
    """
    said = {**_part(deployment, "model_info"), **_part(deployment, "litellm_params")}
    own = [_amount(said.get(name)) for name in PRICES]
    if any(price is not None for price in own):
        cost = sum(count * (price or 0.0) for count, price in zip(tokens, own, strict=True))
        return cost, cost == 0.0
    if any(_amount(said.get(name)) for name in OTHERS):
        return math.nan, False
    for name in (said.get("base_model"), said.get("model")):
        listed = lookup(str(name)) if name else None
        if listed:
            cost = call_cost(listed, tokens)
            if cost:
                return cost, False
    return None, False


def call_cost(prices: Mapping[str, object], tokens: tuple[int, int]) -> float:
    """What a call of so many tokens, in and out, costs by a line of the map.

    Examples
    --------
    >>> call_cost({"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6}, (1000, 500))
    0.006
    """
    return sum(count * (_amount(prices.get(name)) or 0.0) for count, name in zip(tokens, PRICES, strict=True))


def _part(deployment: Deployment, name: str) -> Mapping[str, object]:
    part = deployment.get(name)
    return cast("Mapping[str, object]", part) if isinstance(part, Mapping) else {}


def _amount(value: object) -> float | None:
    try:
        number = float(cast(float, value))
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None
