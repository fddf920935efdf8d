"""The terms of a study: what is fixed when it is created, as plain data."""

from __future__ import annotations

import dataclasses
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import cast

from satisfice.errors import InvalidPolicy, InvalidStudy, SatisficeError, StorageError
from satisfice.policies import Policy, get_policy
from satisfice.policies.places import VARIABLE
from satisfice.problem import MAX_ARMS, FixedThreshold, ReferenceArm, Setting, arm_index
from satisfice.studies.counts import LARGEST
from satisfice.words import as_float
from satisfice.words import is_number as is_number
from satisfice.words import shown as shown

DEFAULT_CONFIDENCE = 0.95
# What a study that asks for a confidence lets the rest of a proof cost, per decision so far, in units of reward.
PROOF = 0.02
MAX_SEGMENTS = 1_000
# The segment of all that has no other, in a study that has one of this name.
OTHER = "other"


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
    mature_after: float | None = None  # seconds after which proofs no longer wait for a decision's reward
    costs: str = "fixed"  # or "told": the costs of the arms are first guesses, and their means are learned
    cost_range: tuple[float, float] | None = None  # told costs lie within it
    worth: float | None = None  # what one unit of reward is worth, in the unit of the costs
    baseline: str | None = None  # the arm that is served to the control group, and while the study is paused
    holdout: float = 0.0  # the share of the control group
    budget: float | None = None  # what finding out may cost beyond the arm that would win now
    session_ttl: float | None = None  # seconds for which a session keeps its arm
    drift: str | None = "watch"  # or "adapt", or None: what is done about rewards that change
    segments: tuple[str, ...] = ()  # the first ones; a running study may get others, up to
    most_segments: int = 0

    @cached_property
    def offset(self) -> float:
        """The reward that becomes 0.

        `(1 - alpha) x mean` only keeps its meaning when rewards are divided by a number. So the range is moved
        only where alpha plays no part, or where it begins below 0; then alpha is a share of the way up from `low`.
        """
        if self.setting.alpha == 0.0:
            return self.low
        return min(self.low, 0.0)

    def scale(self, reward: float) -> float:
        """A reward on [0, 1]."""
        return (reward - self.offset) / (self.high - self.offset)

    def unscale(self, value: float) -> float:
        """A mean on [0, 1], on the scale of the rewards."""
        return self.offset + (self.high - self.offset) * value

    @cached_property
    def scaled_setting(self) -> Setting:
        """The setting for rewards on [0, 1]."""
        return FixedThreshold(self.scale(self.setting.mu0)) if self.setting.fixed else self.setting

    def to_dict(self) -> dict[str, object]:
        """Plain data that `from_dict` reads back."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data["setting"] = self.setting.to_dict()
        data["policy"] = {"id": self.policy.id, "params": self.policy.params}
        data["arms"] = [list(arm) for arm in self.arms]
        data["segments"] = list(self.segments)
        return data

    def same_as(self, other: Config, *, seed: bool) -> None:
        """Raise `InvalidStudy` where the terms of a study that is there already are others."""
        # The policy comes last: `worth` and `confidence` are parameters of it, too, and were perhaps what was given.
        for field in sorted(fields(self), key=lambda field: field.name == "policy"):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs and (seed or field.name != "seed"):
                raise InvalidStudy(
                    f"the study {self.name!r} is there already with other terms: its {field.name} is {shown(theirs)}, "
                    f"not {shown(mine)}; change it by its methods, or choose another name",
                    parameter=field.name,
                )

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Config:
        """The terms from the data of `to_dict`, of this release or an older one."""
        values = dict(data)
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise StorageError(
                f"the study {values.get('name')!r} was made by a newer release of satisfice (it has "
                f"{', '.join(sorted(unknown))}); upgrade satisfice to open it"
            )
        policy = cast("dict[str, dict[str, float]]", values["policy"])
        values["setting"] = Setting.from_dict(cast("dict[str, object]", values["setting"]))
        kind = _known(str(values.get("name")), cast(str, policy["id"]))
        params = {name: value for name, value in policy["params"].items() if name not in kind.retired}
        unknown = params.keys() - {field.name for field in fields(kind)}
        if unknown:
            raise StorageError(
                f"the study {values.get('name')!r} was made with a newer {kind.id} (it has "
                f"{', '.join(sorted(unknown))}); upgrade satisfice, or what the policy is from, to open it"
            )
        values["policy"] = kind(**params)
        values["arms"] = tuple(
            (str(name), float(cost)) for name, cost in cast("list[tuple[str, float]]", values["arms"])
        )
        values["segments"] = tuple(cast("list[str]", values.get("segments", ())))
        if values.get("cost_range") is not None:
            values["cost_range"] = tuple(cast("list[float]", values["cost_range"]))
        return cls(**values)  # type: ignore[arg-type]


def make_config(
    name: str,
    arms: Mapping[str, float],
    setting: Setting,
    *,
    policy: str | Policy | type[Policy] = "glr",
    horizon: int | float | None = None,
    confidence: float | None = None,
    rewards: tuple[float, float] = (0.0, 1.0),
    binary: bool = False,
    expire_after: float | None = None,
    expire_as: float | None = None,
    mature_after: float | None = None,
    costs: str = "fixed",
    cost_range: tuple[float, float] | None = None,
    worth: float | None = None,
    baseline: str | None = None,
    holdout: float = 0.0,
    budget: float | None = None,
    session_ttl: float | None = None,
    drift: str | None = "watch",
    segments: Sequence[str] | int | None = None,
    seed: int | None = None,
) -> Config:
    """Checked terms. Raises `InvalidStudy`, `InvalidSetting` or `InvalidPolicy`."""
    check_text("the name of the study", name)
    if not isinstance(arms, Mapping) or not 1 <= len(arms) <= MAX_ARMS:
        raise InvalidStudy(f'arms must be names and costs, such as {{"small": 0.2, "large": 8.0}}; got {shown(arms)}')
    priced = tuple((check_name(arm), check_cost(arm, cost)) for arm, cost in arms.items())
    if not isinstance(setting, Setting):
        raise InvalidStudy(f"setting = {shown(setting)}; use BestReward, ReferenceArm or FixedThreshold")
    if setting.reference is not None:
        names = [arm for arm, _ in priced]
        setting = ReferenceArm(names[arm_index(setting.reference, names)], setting.alpha)
    low, high = _range(rewards)
    if setting.mu0 < low or setting.mu0 > high:
        raise InvalidStudy(f"mu0 = {setting.mu0:g} is outside the range of the rewards, [{low:g}, {high:g}]")
    if horizon is not None and not (is_number(horizon) and horizon >= 1 and float(horizon).is_integer()):
        raise InvalidStudy(f"horizon = {shown(horizon)}; it must be a whole number of decisions of at least 1")
    if confidence is not None and not (is_number(confidence) and 0.0 < confidence < 1.0):
        raise InvalidStudy(f"confidence = {shown(confidence)}; it must be between 0 and 1, such as 0.95")
    if expire_after is not None and not (is_number(expire_after) and expire_after > 0):
        raise InvalidStudy(f"expire_after = {shown(expire_after)}; it must be a number of seconds above 0")
    if mature_after is not None and not (is_number(mature_after) and mature_after > 0):
        raise InvalidStudy(f"mature_after = {shown(mature_after)}; it must be a number of seconds above 0")
    if mature_after is None and expire_as is not None:
        mature_after = expire_after
    if expire_as is not None and not (is_number(expire_as) and low <= expire_as <= high):
        raise InvalidStudy(f"expire_as = {shown(expire_as)} is outside the range of the rewards, [{low:g}, {high:g}]")
    if binary and expire_as is not None and expire_as not in (low, high):
        raise InvalidStudy(f"expire_as = {expire_as!r}; a reward of this study is {low:g} or {high:g}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0):
        raise InvalidStudy(f"seed = {shown(seed)}; it must be a whole number of at least 0")
    if costs not in ("fixed", "told"):
        raise InvalidStudy(f"costs = {shown(costs)}; it is 'fixed' or 'told'", parameter="costs")
    if drift not in (None, "watch", "adapt"):
        raise InvalidStudy(f"drift = {shown(drift)}; it is 'watch', 'adapt' or None", parameter="drift")
    if cost_range is not None:
        least, most = _range(cost_range, "cost_range", "cost")
        if least < 0 or any(not least <= cost <= most for _, cost in priced):
            raise InvalidStudy(
                f"cost_range = {cost_range!r}; it begins at 0 or above, and every first guess lies within it"
            )
        cost_range = least, most
    if baseline is not None and baseline not in [arm for arm, _ in priced]:
        raise InvalidStudy(f"baseline = {shown(baseline)}; it must be one of the arms", parameter="baseline")
    if not (is_number(holdout) and 0.0 <= holdout < 1.0) or (holdout and baseline is None):
        raise InvalidStudy(
            f"holdout = {shown(holdout)}; it must be a share from 0 to below 1, with a baseline to serve to it"
        )
    for what, value in (("worth", worth), ("budget", budget), ("session_ttl", session_ttl)):
        if value is not None and not (is_number(value) and value > 0):
            raise InvalidStudy(f"{what} = {shown(value)}; it must be a number above 0", parameter=what)
    kinds, most = _segments(segments)
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
        mature_after=None if mature_after is None else float(mature_after),
        costs=costs,
        cost_range=cost_range,
        worth=None if worth is None else float(worth),
        baseline=baseline,
        holdout=float(holdout),
        budget=None if budget is None else float(budget),
        session_ttl=None if session_ttl is None else float(session_ttl),
        drift=drift,
        segments=kinds,
        most_segments=most,
    )
    config.policy.check(config.setting, config.horizon, True)
    if not type(config.policy).live:
        raise InvalidStudy(
            f"{config.policy.id} is for simulations; a study does the same by policy='glr' and drift='adapt'",
            parameter="policy",
        )
    if worth is None:
        return config
    if "exchange" not in rule.params:
        raise InvalidStudy(
            f"worth = {worth:g} says nothing to {rule.id}; glr weighs costs against rewards", parameter="worth"
        )
    # Inside, one unit is the whole range of the rewards.
    exchange = config.worth * (config.high - config.offset)  # type: ignore[operator]
    return dataclasses.replace(config, policy=dataclasses.replace(rule, exchange=exchange))  # type: ignore[call-arg]


def _segments(segments: Sequence[str] | int | None) -> tuple[tuple[str, ...], int]:
    """The segments that a study begins with, and how many it may have."""
    if segments is None:
        return (), 0
    if isinstance(segments, Integral) and not isinstance(segments, bool):
        number = int(segments)
        if not 1 <= number <= MAX_SEGMENTS:
            raise InvalidStudy(f"segments = {segments}; a study has 1 to {MAX_SEGMENTS:,}", parameter="segments")
        return (OTHER,), number + 1
    if isinstance(segments, str) or not isinstance(segments, Iterable) or isinstance(segments, Mapping):
        raise InvalidStudy(
            f"segments = {shown(segments)}; give their names, or how many there may be", parameter="segments"
        )
    names = tuple(check_text("the name of a segment", name) for name in segments)
    if not 1 <= len(names) <= MAX_SEGMENTS or len(set(names)) < len(names):
        raise InvalidStudy(
            f"segments = {shown(segments)}; give 1 to {MAX_SEGMENTS:,} names, each once", parameter="segments"
        )
    return names, len(names)


def check_text(what: str, value: object, error: type[SatisficeError] = InvalidStudy) -> str:
    """A name, a subject or a key: a text of 1 to 200 characters that every storage can keep."""
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > 200
        or "\0" in value
        or any("\ud800" <= letter <= "\udfff" for letter in value)
    ):
        raise error(f"{what} is {shown(value)}; it must be a text of 1 to 200 characters")
    return value


def check_name(name: object) -> str:
    """The name of an arm, or `InvalidStudy`."""
    return check_text("the name of an arm", name)


def check_cost(name: str, cost: object) -> float:
    """The cost of an arm, or `InvalidStudy`."""
    price = as_float(cost)
    if not 0 <= price <= LARGEST:
        limit = f" and at most {LARGEST:g}" if LARGEST < price < math.inf else ""
        raise InvalidStudy(f"the cost of {name!r} is {shown(cost)}; it must be a finite number of at least 0{limit}")
    return price


def _range(ends: tuple[float, float], what: str = "rewards", thing: str = "reward") -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        raise InvalidStudy(f"{what} = {shown(ends)}; give the range of a {thing} as (lowest, highest)") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidStudy(f"{what} = {shown(ends)}; the lowest must be below the highest, both finite")
    if max(-low, high) > LARGEST:
        raise InvalidStudy(f"{what} = {shown(ends)}; they must lie between -{LARGEST:g} and {LARGEST:g}")
    return low, high


def _known(study: str, id: str) -> type[Policy]:
    """The class of a study's policy, which may be somebody's own."""
    try:
        return type(get_policy(id))
    except InvalidPolicy as error:
        raise InvalidPolicy(
            f"the policy {id!r} of the study {study!r} is not known here; say where it is, in the environment: "
            f"{VARIABLE}=mypolicy.py:Class"
        ) from error


def _policy(policy: str | Policy | type[Policy], confidence: float | None) -> tuple[Policy, float]:
    """The policy and the confidence. A policy with an error probability `delta` of its own works to the same one, and
    one that can buy a proof does so when a confidence is asked for."""
    made = get_policy(policy)
    level = DEFAULT_CONFIDENCE if confidence is None else float(confidence)
    if "delta" not in made.params:
        return made, level
    if confidence is not None and made.params.get("proof") == 0:
        made = dataclasses.replace(made, proof=PROOF)  # type: ignore[call-arg]
    if made.params["delta"] != type(made)().params["delta"]:  # it was chosen
        return made, round(1.0 - made.params["delta"], 12) if confidence is None else level
    return dataclasses.replace(made, delta=round(1.0 - level, 12)), level  # type: ignore[call-arg]
