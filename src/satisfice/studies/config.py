"""The terms of a study: what is fixed when it is created, as plain data."""

from __future__ import annotations

import dataclasses
import math
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from numbers import Integral, Real
from typing import cast

from satisfice.errors import InvalidStudy
from satisfice.policies import Policy, get_policy
from satisfice.problem import MAX_ARMS, SETTINGS, FixedThreshold, ReferenceArm, Setting, arm_index

DEFAULT_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Config:
    """What is fixed when a study is created. `scale` turns a reward into the [0, 1] that policies work on."""

    name: str
    setting: Setting
    policy: Policy
    arms: tuple[tuple[str, float], ...]  # the first ones; a running study may get others
    horizon: int | None
    confidence: float
    low: float  # rewards lie within [low, high]
    high: float
    binary: bool  # every reward is `low` or `high`
    expire_after: float | None  # seconds
    expire_as: float | None  # the reward of an expired decision; None counts as nothing
    seed: int

    @cached_property
    def offset(self) -> float:
        """The reward that becomes 0.

        `(1 - alpha) x mean` only keeps its meaning when rewards are divided by a number. So the range is moved
        only where alpha plays no part, or where it begins below 0; then alpha is a share of the way up from `low`.
        """
        if isinstance(self.setting, FixedThreshold) or getattr(self.setting, "alpha", 0.0) == 0.0:
            return self.low
        return min(self.low, 0.0)

    def scale(self, reward: float) -> float:
        """A reward on [0, 1]."""
        return (reward - self.offset) / (self.high - self.offset)

    def unscale(self, value: float) -> float:
        """A mean on [0, 1], on the scale of the rewards."""
        return self.offset + (self.high - self.offset) * value

    @property
    def scaled_setting(self) -> Setting:
        """The setting for rewards on [0, 1]."""
        if isinstance(self.setting, FixedThreshold):
            return FixedThreshold(self.scale(self.setting.mu0))
        return self.setting

    def to_dict(self) -> dict[str, object]:
        """Plain data that `from_dict` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["setting"] = {"kind": self.setting.kind, **asdict(self.setting)}
        data["policy"] = {"id": self.policy.id, "params": self.policy.params}
        data["arms"] = [list(arm) for arm in self.arms]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Config:
        """The terms from the data of `to_dict`."""
        values = dict(data)
        setting = dict(cast("dict[str, object]", values["setting"]))
        policy = cast("dict[str, dict[str, float]]", values["policy"])
        kind = SETTINGS[str(setting.pop("kind"))]
        values["setting"] = kind(**setting)
        values["policy"] = type(get_policy(cast(str, policy["id"])))(**policy["params"])
        values["arms"] = tuple(
            (str(name), float(cost)) for name, cost in cast("list[tuple[str, float]]", values["arms"])
        )
        return cls(**values)  # type: ignore[arg-type]


def make_config(
    name: str,
    arms: Mapping[str, float],
    setting: Setting,
    policy: str | Policy | type[Policy],
    horizon: int | float | None,
    confidence: float | None,
    rewards: tuple[float, float],
    binary: bool,
    expire_after: float | None,
    expire_as: float | None,
    seed: int | None,
) -> Config:
    """Checked terms. Raises `InvalidStudy`, `InvalidSetting` or `InvalidPolicy`."""
    if not isinstance(name, str) or not name.strip() or len(name) > 200:
        raise InvalidStudy(f"the name {name!r} of the study must be a text of 1 to 200 characters")
    if not isinstance(arms, Mapping) or not 1 <= len(arms) <= MAX_ARMS:
        raise InvalidStudy(f'arms must be names and costs, such as {{"small": 0.2, "large": 8.0}}; got {shown(arms)}')
    priced = tuple((check_name(arm), check_cost(arm, cost)) for arm, cost in arms.items())
    if not isinstance(setting, Setting):
        raise InvalidStudy(f"setting = {shown(setting)}; use BestReward, ReferenceArm or FixedThreshold")
    if isinstance(setting, ReferenceArm):
        names = [arm for arm, _ in priced]
        setting = ReferenceArm(names[arm_index(setting.arm, names)], setting.alpha)
    low, high = _range(rewards)
    if isinstance(setting, FixedThreshold) and not low <= setting.mu0 <= high:
        raise InvalidStudy(f"mu0 = {setting.mu0:g} is outside the range of the rewards, [{low:g}, {high:g}]")
    if horizon is not None and not (is_number(horizon) and horizon >= 1 and float(horizon).is_integer()):
        raise InvalidStudy(f"horizon = {shown(horizon)}; it must be a whole number of decisions of at least 1")
    if confidence is not None and not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise InvalidStudy(f"confidence = {shown(confidence)}; it must be between 0 and 1, such as 0.95")
    if expire_after is not None and not (is_number(expire_after) and expire_after > 0):
        raise InvalidStudy(f"expire_after = {shown(expire_after)}; it must be a number of seconds above 0")
    if expire_as is not None and not (is_number(expire_as) and low <= expire_as <= high):
        raise InvalidStudy(f"expire_as = {shown(expire_as)} is outside the range of the rewards, [{low:g}, {high:g}]")
    if binary and expire_as is not None and expire_as not in (low, high):
        raise InvalidStudy(f"expire_as = {expire_as!r}; a reward of this study is {low:g} or {high:g}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0):
        raise InvalidStudy(f"seed = {shown(seed)}; it must be a whole number of at least 0")
    rule, level = _policy(policy, confidence)
    config = Config(
        name=name.strip(),
        setting=setting,
        policy=rule,
        arms=priced,
        horizon=None if horizon is None else int(horizon),
        confidence=level,
        low=low,
        high=high,
        binary=bool(binary),
        expire_after=None if expire_after is None else float(expire_after),
        expire_as=None if expire_as is None else float(expire_as),
        seed=secrets.randbits(64) if seed is None else int(seed),
    )
    config.policy.check(config.setting, config.horizon, True)
    return config


def is_number(value: object) -> bool:
    """Whether a value is a finite number, NumPy's included."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def shown(value: object) -> str:
    """A wrong value for a message of one line: as it is if it is short, else its kind."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"a {type(value).__name__}"


def check_name(name: object) -> str:
    """The name of an arm, or `InvalidStudy`."""
    if not isinstance(name, str) or not name or len(name) > 200:
        raise InvalidStudy(f"the name {name!r} of an arm must be a text of 1 to 200 characters")
    return name


def check_cost(name: str, cost: object) -> float:
    """The cost of an arm, or `InvalidStudy`."""
    try:
        price = float(cost)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        price = math.nan
    if not (math.isfinite(price) and price >= 0):
        raise InvalidStudy(f"the cost of {name!r} is {cost!r}; it must be a finite number of at least 0")
    return price


def _range(rewards: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in rewards)
    except (TypeError, ValueError):
        raise InvalidStudy(f"rewards = {shown(rewards)}; give the range of a reward as (lowest, highest)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidStudy(f"rewards = {rewards!r}; the lowest must be below the highest, both finite")
    return low, high


def _policy(policy: str | Policy | type[Policy], confidence: float | None) -> tuple[Policy, float]:
    """The policy and the confidence. A policy with an error probability `delta` of its own works to the same one."""
    made = get_policy(policy)
    level = DEFAULT_CONFIDENCE if confidence is None else float(confidence)
    if "delta" not in made.params:
        return made, level
    if made.params["delta"] != type(made)().params["delta"]:  # it was chosen
        return made, round(1.0 - made.params["delta"], 12) if confidence is None else level
    return dataclasses.replace(made, delta=round(1.0 - level, 12)), level  # type: ignore[call-arg]
