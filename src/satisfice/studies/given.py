"""What callers give with a decision, read: rewards, costs, names of arms. An error says what is accepted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from satisfice.errors import InvalidReward, InvalidStudy
from satisfice.studies.config import Config
from satisfice.studies.counts import LARGEST
from satisfice.studies.machine import Machine
from satisfice.studies.serving import Whom
from satisfice.words import as_float, shown


def reward_of(config: Config, number: int, reward: float, *, call: bool = False) -> float:
    """The reward of a decision, or of a `call` that somebody else made, as a number, or `InvalidReward`."""
    value = as_float(reward)
    known = value in (config.low, config.high) if config.binary else config.low <= value <= config.high
    if not known:
        how = "{:g} or {:g}" if config.binary else "numbers from {:g} to {:g}"
        taken = how.format(config.low, config.high)
        whose = f"call {number}" if call else "{decision}"
        message = f"reward = {shown(reward)} of {whose}; this study takes {taken}"
        raise InvalidReward(message, decision=None if call else number)
    return value


def cost_of(config: Config, number: int, cost: float | None, *, call: bool = False) -> float | None:
    """What a decision, or a `call`, has cost as a number, or `InvalidReward`; None: nobody said."""
    if cost is None:
        return None
    least, most = config.cost_range or (0.0, LARGEST)
    value = as_float(cost)
    if not least <= value <= most:
        taken = f"numbers from {least:g} to {most:g}"
        if config.cost_range is None and not LARGEST < value < math.inf:
            taken = "finite numbers of at least 0"
        whose = f"call {number}" if call else "{decision}"
        message = f"cost = {shown(cost)} of {whose}; this study takes {taken}"
        raise InvalidReward(message, parameter="cost", decision=None if call else number)
    return value


def call_of(config: Config, number: int, call: Sequence[object]) -> tuple[str, float, float | None, Whom]:
    """A decision that somebody else made, or `InvalidReward`: its arm, reward, cost, and what it was for."""
    if not 2 <= len(call) <= 5:
        raise InvalidReward(
            f"{shown(call)} is no call: an arm, a reward, a cost, a key and a segment, such as ('small', 1.0)"
        )
    arm, reward, cost, key, segment = (*call, None, None, None)[:5]
    value = reward_of(config, number, cast(float, reward), call=True)
    paid = cost_of(config, number, cast("float | None", cost), call=True)
    return cast(str, arm), value, paid, Whom(key=cast("str | None", key), segment=cast("str | None", segment))


def excluded(machine: Machine, exclude: Iterable[str], available: Iterable[str] | None) -> Sequence[int]:
    """The arms that cannot be played, or `InvalidStudy` where that leaves none."""
    without = {machine.index(name) for name in _names("exclude", exclude)}
    if available is not None:
        left = {machine.index(name) for name in _names("available", available)}
        without |= set(range(len(machine.arms))) - left
    if all(i in without for i in machine.active):
        raise InvalidStudy("every arm is excluded; leave at least one to choose", parameter="exclude")
    return sorted(without)


def _names(parameter: str, given: object) -> tuple[object, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise InvalidStudy(f"{parameter} = {shown(given)}; it must be names of arms", parameter=parameter)
    return tuple(given)


def triples(rewards: object) -> Iterator[tuple[object, float, float | None]]:
    """Ids, rewards and costs, or `InvalidReward`."""
    items = rewards.items() if isinstance(rewards, Mapping) else rewards
    if isinstance(items, Iterable) and not isinstance(items, str) and not hasattr(items, "columns"):
        for item in items:
            if not isinstance(item, Sequence) or isinstance(item, str) or len(item) not in (2, 3):
                raise InvalidReward(f"{shown(item)} is not a pair of a decision id and a reward, such as (17, 1.0)")
            yield item[0], item[1], item[2] if len(item) == 3 else None
    else:
        raise InvalidReward(
            f"rewards are {{17: 1.0, 18: 0.0}} or pairs such as [(17, 1.0), (18, 0.0)]; got {shown(rewards)}"
        )
