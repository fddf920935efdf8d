"""The problem: an instance (arms with costs and mean rewards) and the three settings.

The paper's Section 1 in code. An arm `i` has a known cost `c_i` and a mean reward `mu_i`; a setting
turns the means into a threshold `mu_CS`; the optimal arm `a*` is the cheapest arm whose mean reaches
it. The gaps are clipped at zero: `(c_i - c_a*)^+` for the cost and `(mu_CS - mu_i)^+` for the quality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satisfice.errors import InvalidInstance, InvalidSetting, NoFeasibleArm
from satisfice.words import count

Floats = NDArray[np.float64]
RewardModel = Literal["bernoulli", "gaussian", "categorical"]
REWARD_MODELS: tuple[RewardModel, ...] = ("bernoulli", "gaussian", "categorical")
MAX_ARMS = 10_000
# An arm that misses the threshold by rounding alone, such as 0.76 against (1 - 0.2) * 0.95, is feasible.
TOLERANCE = 1e-12


class Instance:
    """Arms with known costs and (known to the simulator alone) mean rewards.

    Parameters
    ----------
    costs : sequence of float, shape (arms,)
        Cost of one pull of each arm, at least 0, in any unit and any order; ties are allowed.
    means : sequence of float, shape (arms,), optional for "categorical"
        Mean reward of each arm: within [0, 1] for "bernoulli", any finite number for "gaussian".
    names : sequence of str, optional
        Distinct names of the arms; "arm-1", "arm-2", ... by default.
    reward : {"bernoulli", "gaussian", "categorical"}
        The reward model.
    sigma : float
        Standard deviation of one reward of a "gaussian" arm.
    values : sequence of float, shape (levels,)
        The rewards on the scale of a "categorical" instance, for example `[0.2, 0.4, 0.6, 0.8, 1.0]`.
    probabilities : array, shape (arms, levels)
        Probability of each level for each arm of a "categorical" instance; rows sum to one.
    label, source : str
        What to call the instance in tables and pictures, and where its numbers come from.

    Raises
    ------
    InvalidInstance
        Says which value is wrong and what is accepted.

    Examples
    --------
    >>> inst = Instance(costs=[8.0, 0.2, 1.0], means=[0.90, 0.70, 0.88], names=["large", "small", "medium"])
    >>> BestReward(alpha=0.05).optimal_arm(inst)
    2
    """

    def __init__(
        self,
        costs: ArrayLike,
        means: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        reward: RewardModel = "bernoulli",
        *,
        sigma: float = 1.0,
        values: ArrayLike | None = None,
        probabilities: ArrayLike | None = None,
        label: str = "instance",
        source: str = "",
    ) -> None:
        if reward not in REWARD_MODELS:
            raise InvalidInstance(f"reward model {reward!r} is unknown; use one of {', '.join(REWARD_MODELS)}")
        self.label, self.source, self.reward = label, source, reward
        self.costs = _vector("cost", costs)
        if len(self.costs) > MAX_ARMS:
            raise InvalidInstance(f"{len(self.costs)} arms; at most {MAX_ARMS} are accepted")
        _each("cost", self.costs, self.costs < 0, "a number of at least 0")
        self.sigma = _sigma(sigma) if reward == "gaussian" else float("nan")
        self.values, self.probabilities = _scale(reward, values, probabilities, len(self.costs))
        if reward == "categorical":
            expected = self.probabilities @ self.values
            if means is not None and not np.allclose(_vector("mean", means), expected, atol=1e-6):
                raise InvalidInstance(
                    "the means of a categorical instance follow from values and probabilities, and those given differ"
                )
            means = expected
        if means is None:
            raise InvalidInstance(f"a {reward} instance needs the mean of every arm")
        self.means = _vector("mean", means)
        if len(self.means) != len(self.costs):
            raise InvalidInstance(
                f"{len(self.costs)} costs but {len(self.means)} means; there must be one of each per arm"
            )
        if reward == "bernoulli":
            _each("mean", self.means, (self.means < 0) | (self.means > 1), "a Bernoulli mean within [0, 1]")
        self.names = _names(names, len(self.costs))
        for array in (self.costs, self.means, self.values, self.probabilities):
            array.setflags(write=False)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.costs)

    @property
    def bounded(self) -> bool:
        """Whether every reward lies within [0, 1]."""
        if self.reward == "categorical":
            return bool(self.values.min() >= 0 and self.values.max() <= 1)
        return self.reward == "bernoulli"

    @property
    def binary(self) -> bool:
        """Whether every reward is 0 or 1."""
        return self.reward == "bernoulli"

    @property
    def noise(self) -> float:
        """The rewards are sub-Gaussian with this standard deviation: `sigma`, or half the range of other rewards."""
        if self.reward == "gaussian":
            return self.sigma
        return 0.5 if self.reward == "bernoulli" else float(self.values.max() - self.values.min()) / 2

    def index(self, arm: int | str) -> int:
        """The index of an arm given by index or by name."""
        return arm_index(arm, self.names)

    def scaled_costs(self, divisor: float | None = None) -> Instance:
        """The same arms with every cost divided by `divisor` (the largest cost by default)."""
        top = float(self.costs.max()) if divisor is None else float(divisor)
        return self.replace(costs=self.costs / top if top > 0 else self.costs)

    def replace(self, **changes: object) -> Instance:
        """A copy with some of the constructor's arguments changed."""
        now: dict[str, object] = {
            "costs": self.costs,
            "means": self.means,
            "names": self.names,
            "reward": self.reward,
            "label": self.label,
            "source": self.source,
        }
        if self.reward == "gaussian":
            now["sigma"] = self.sigma
        if self.reward == "categorical":
            now |= {"values": self.values, "probabilities": self.probabilities, "means": None}
        return Instance(**(now | changes))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, object]:
        """Plain data that `from_dict` reads back, also the format of instance files (JSON)."""
        arms: list[dict[str, object]] = [
            {"name": name, "cost": float(cost), "mean": float(mean)}
            for name, cost, mean in zip(self.names, self.costs, self.means, strict=True)
        ]
        data: dict[str, object] = {"name": self.label, "source": self.source, "reward": self.reward, "arms": arms}
        if self.reward == "gaussian":
            data["sigma"] = self.sigma
        if self.reward == "categorical":
            data["values"] = self.values.tolist()
            for arm, row in zip(arms, self.probabilities, strict=True):
                arm["probabilities"] = row.tolist()
        return data

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> Instance:
        """An instance from the data of `to_dict`."""
        if not isinstance(data, dict):
            raise InvalidInstance(f"not an instance: a {type(data).__name__} where an object with arms was expected")
        reward = cast(RewardModel, data.get("reward", "bernoulli"))
        categorical = reward == "categorical"
        arms = _field(data, "arms", "it")
        if not isinstance(arms, list) or not all(isinstance(arm, dict) for arm in arms):
            raise InvalidInstance(
                "not an instance: arms must be a list of objects, each with a name, a cost and a mean"
            )

        def column(name: str) -> ArrayLike:
            return cast(ArrayLike, [_field(arm, name, f"arm {i}") for i, arm in enumerate(arms)])

        return cls(
            costs=column("cost"),
            means=None if categorical else column("mean"),
            names=[str(arm.get("name", f"arm-{i + 1}")) for i, arm in enumerate(arms)],
            reward=reward,
            sigma=cast(float, data.get("sigma", 1.0)),
            values=cast(ArrayLike, _field(data, "values", "it")) if categorical else None,
            probabilities=column("probabilities") if categorical else None,
            label=str(data.get("name", "instance")),
            source=str(data.get("source", "")),
        )

    def __len__(self) -> int:
        return self.arms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Instance {self.label}: {count(self.arms, 'arm')}, {self.reward} rewards>"


@dataclass(frozen=True)
class Setting:
    """What counts as good enough. One of `FixedThreshold`, `ReferenceArm`, `BestReward`."""

    kind: ClassVar[str] = ""

    def threshold(self, instance: Instance) -> float:
        """The threshold `mu_CS` that a mean must reach."""
        raise NotImplementedError

    def feasible(self, instance: Instance) -> NDArray[np.bool_]:
        """Which arms are good enough."""
        return instance.means >= self.threshold(instance) - TOLERANCE

    def optimal_arm(self, instance: Instance) -> int:
        """Index of `a*`, the cheapest feasible arm (the first one in the caller's order among equals)."""
        feasible = self.feasible(instance)
        if not feasible.any():
            raise NoFeasibleArm(
                f"no arm of {instance.label!r} reaches the threshold {self.threshold(instance):g}; "
                f"the best mean is {instance.means.max():g}{self._remark(instance)}"
            )
        return int(np.argmin(np.where(feasible, instance.costs, np.inf)))

    def _remark(self, instance: Instance) -> str:
        """What else to say where no arm is good enough."""
        if self.kind == "fixed" or self.threshold(instance) >= 0:
            return ""
        return " (a share alpha has no meaning for a negative mean: add a number to all rewards, or fix a threshold)"

    def cost_gaps(self, instance: Instance) -> Floats:
        """`(c_i - c_a*)^+` of every arm."""
        gaps: Floats = np.maximum(instance.costs - instance.costs[self.optimal_arm(instance)], 0.0)
        return gaps

    def quality_gaps(self, instance: Instance) -> Floats:
        """`(mu_CS - mu_i)^+` of every arm."""
        gaps: Floats = np.maximum(self.threshold(instance) - instance.means, 0.0)
        gaps[gaps <= TOLERANCE] = 0.0
        return gaps


@dataclass(frozen=True)
class FixedThreshold(Setting):
    """Good enough is a mean of at least the known number `mu0`.

    Examples
    --------
    >>> FixedThreshold(0.8).optimal_arm(Instance(costs=[1, 2, 3], means=[0.7, 0.8, 0.9]))
    1
    """

    mu0: float
    kind: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        if not _number(self.mu0) or not np.isfinite(self.mu0):
            raise InvalidSetting(f"mu0 = {self.mu0!r}; the threshold must be a finite number")

    def threshold(self, instance: Instance) -> float:
        return float(self.mu0)


@dataclass(frozen=True)
class ReferenceArm(Setting):
    """Good enough is `(1 - alpha)` times the mean of the known reference arm `ell`.

    Examples
    --------
    >>> ReferenceArm("large", alpha=0.1).threshold(Instance([1, 2], [0.7, 0.9], names=["small", "large"]))
    0.81
    """

    arm: int | str
    alpha: float = 0.0
    kind: ClassVar[str] = "reference"

    def __post_init__(self) -> None:
        _alpha(self.alpha)

    def threshold(self, instance: Instance) -> float:
        return float((1 - self.alpha) * instance.means[instance.index(self.arm)])


@dataclass(frozen=True)
class BestReward(Setting):
    """Good enough is `(1 - alpha)` times the largest mean, of an arm that nobody knows yet.

    Examples
    --------
    >>> BestReward(alpha=0.25).optimal_arm(Instance(costs=[1, 2, 3], means=[0.5, 0.75, 0.9]))
    1
    """

    alpha: float
    kind: ClassVar[str] = "best"

    def __post_init__(self) -> None:
        _alpha(self.alpha)

    def threshold(self, instance: Instance) -> float:
        return float((1 - self.alpha) * instance.means.max())


SETTINGS: dict[str, type[Setting]] = {cls.kind: cls for cls in (FixedThreshold, ReferenceArm, BestReward)}


def arm_index(arm: int | str, names: Sequence[str]) -> int:
    """The index of an arm given by index or by name among `names`."""
    if isinstance(arm, str):
        if arm in names:
            return list(names).index(arm)
        shown = ", ".join(list(names)[:12]) + (", ..." if len(names) > 12 else "")
        raise InvalidSetting(f"there is no arm {arm!r}; the arms are {shown}")
    if isinstance(arm, (int, np.integer)) and not isinstance(arm, bool) and 0 <= arm < len(names):
        return int(arm)
    raise InvalidSetting(f"there is no arm {arm!r}; use a name or an index from 0 to {len(names) - 1}")


def _alpha(alpha: float) -> None:
    if not _number(alpha) or not 0 <= alpha <= 1:
        raise InvalidSetting(f"alpha = {alpha!r}; the subsidy factor must be a number within [0, 1]")


def _number(value: object) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _vector(what: str, values: ArrayLike) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInstance(f"{what}s must be numbers, one per arm; got {values!r}") from error
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInstance(f"{what}s must be a list of at least one number; got shape {array.shape}")
    _each(what, array, ~np.isfinite(array), "a finite number")
    return array


def _each(what: str, array: Floats, wrong: NDArray[np.bool_], accepted: str) -> None:
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInstance(f"the {what} of arm {i} is {array[i]}; it must be {accepted}")


def _field(data: dict[str, object], name: str, whose: str) -> object:
    if name not in data:
        raise InvalidInstance(f"not an instance: {whose} has no {name!r}")
    return data[name]


def _sigma(sigma: float) -> float:
    try:
        value = float(sigma)
    except (TypeError, ValueError):
        value = float("nan")
    if not (np.isfinite(value) and value > 0):
        raise InvalidInstance(f"sigma = {sigma!r}; the standard deviation of a Gaussian reward must be above 0")
    return value


def _scale(reward: str, values: ArrayLike | None, probabilities: ArrayLike | None, arms: int) -> tuple[Floats, Floats]:
    if reward != "categorical":
        if values is not None or probabilities is not None:
            raise InvalidInstance(f"values and probabilities belong to categorical rewards, not to {reward} ones")
        return np.zeros(0), np.zeros((arms, 0))
    if values is None or probabilities is None:
        raise InvalidInstance("a categorical instance needs values (levels) and probabilities (arms x levels)")
    scale = _vector("value", values)
    try:
        table = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInstance(f"probabilities must be a table of numbers, arms x levels: {error}") from error
    if table.shape != (arms, len(scale)):
        raise InvalidInstance(f"probabilities have shape {table.shape}; ({arms}, {len(scale)}) was expected")
    for i, row in enumerate(table):
        if not np.isfinite(row).all() or row.min() < 0 or abs(row.sum() - 1) > 1e-6:
            raise InvalidInstance(
                f"the probabilities of arm {i} are {row.tolist()}; they must be at least 0 and sum to 1"
            )
    return scale, table / table.sum(axis=1, keepdims=True)


def _names(names: Sequence[str] | None, arms: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"arm-{i + 1}" for i in range(arms))
    result = tuple(str(name) for name in names)
    if len(result) != arms:
        raise InvalidInstance(f"{arms} costs but {len(result)} names; there must be one of each per arm")
    if len(set(result)) != arms:
        twice = next(name for name in result if result.count(name) > 1)
        raise InvalidInstance(f"the name {twice!r} stands for more than one arm; names must be distinct")
    return result
