"""The problem: an instance, arms with costs and mean rewards. What is good enough is `satisfice.settings`.

The paper's Section 1 in code. An arm `i` has a known cost `c_i` and a mean reward `mu_i`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satisfice.checks import Floats, counts_of, deviation, each, field_of, names_of, scale_of, vector
from satisfice.errors import InvalidInstance
from satisfice.settings import SETTINGS, TOLERANCE, BestReward, FixedThreshold, ReferenceArm, Setting, arm_index
from satisfice.words import count, is_number

if TYPE_CHECKING:
    from satisfice.changing import ChangingInstance

# The settings belong to the problem; whoever asks for both finds both here.
__all__ = [
    "MAX_ARMS", "REWARD_MODELS", "SETTINGS", "TOLERANCE", "BestReward", "FixedThreshold", "Floats", "Instance",
    "ReferenceArm", "RewardModel", "Setting", "arm_index",
]  # fmt: skip

RewardModel = Literal["bernoulli", "gaussian", "categorical"]
REWARD_MODELS: tuple[RewardModel, ...] = ("bernoulli", "gaussian", "categorical")
MAX_ARMS = 10_000


class Instance:
    """Arms with known costs and (known to the simulator alone) mean rewards. An instance never changes.

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
    cost_spread : float
        How much the cost of one pull varies: its standard deviation over its mean. Live costs are drawn from a gamma
        distribution around the arm's cost (`satisfice.studies.rehearsal`); regret counts mean costs as ever.
    counts : sequence of int, optional
        How many rows of a log each mean is an estimate from; None where the means are the truth.
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

    costs: Floats
    means: Floats
    names: tuple[str, ...]
    reward: RewardModel
    sigma: float
    values: Floats
    probabilities: Floats
    cost_spread: float
    counts: NDArray[np.int64] | None
    label: str
    source: str

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
        cost_spread: float = 0.0,
        counts: ArrayLike | None = None,
        label: str = "instance",
        source: str = "",
    ) -> None:
        if reward not in REWARD_MODELS:
            raise InvalidInstance(f"reward model {reward!r} is unknown; use one of {', '.join(REWARD_MODELS)}")
        prices = vector("cost", costs)
        if len(prices) > MAX_ARMS:
            raise InvalidInstance(f"{len(prices)} arms; at most {MAX_ARMS} are accepted")
        each("cost", prices, prices < 0, accepted="a number of at least 0")
        scale, table = scale_of(reward, len(prices), values=values, probabilities=probabilities)
        if reward == "categorical":
            expected = table @ scale
            if means is not None and not np.allclose(vector("mean", means), expected, atol=1e-6):
                raise InvalidInstance(
                    "the means of a categorical instance follow from values and probabilities, and those given differ"
                )
            means = expected
        if means is None:
            raise InvalidInstance(f"a {reward} instance needs the mean of every arm")
        qualities = vector("mean", means)
        if len(qualities) != len(prices):
            raise InvalidInstance(f"{len(prices)} costs but {len(qualities)} means; there must be one of each per arm")
        if reward == "bernoulli":
            each("mean", qualities, (qualities < 0) | (qualities > 1), accepted="a Bernoulli mean within [0, 1]")
        if not (is_number(cost_spread) and cost_spread >= 0.0):
            raise InvalidInstance(f"cost_spread = {cost_spread!r}; it must be a finite number of at least 0")
        self.__setstate__(
            {
                "costs": prices,
                "means": qualities,
                "names": names_of(names, len(prices)),
                "reward": reward,
                "sigma": deviation(sigma) if reward == "gaussian" else math.nan,
                "values": scale,
                "probabilities": table,
                "cost_spread": float(cost_spread),
                "counts": counts_of(counts, len(prices)),
                "label": label,
                "source": source,
            }
        )

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """The only way in, also for a copy and in another process: arrays forget there that they are read-only."""
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        vars(self).update(state)

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"an instance does not change; replace({name}=...) makes another one")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"an instance does not change; it keeps its {name}")

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

    @property
    def pieces(self) -> tuple[Instance, ...]:
        """The instances that follow each other: this one alone, unless it changes (`changing`)."""
        return (self,)

    def steady(self) -> Instance:
        """This instance; one that changes raises `InvalidInstance`."""
        return self

    def changing(
        self, means: Sequence[tuple[int, ArrayLike]] = (), *, costs: Sequence[tuple[int, ArrayLike]] = ()
    ) -> ChangingInstance:
        """These arms in a world that changes: the means, or costs, of all arms from a number of pulls on.

        For categorical rewards give probabilities, (arms, levels), for means. Regret is then dynamic: every pull is
        compared with the arm that is right at its time.

        Examples
        --------
        >>> inst = Instance(costs=[1.0, 5.0], means=[0.9, 0.95])
        >>> inst.changing([(1000, [0.3, 0.95]), (5000, [0.9, 0.95])], costs=[(2000, [1.0, 0.5])]).times.tolist()
        [0, 1000, 2000, 5000]
        """
        from satisfice.changing import changing

        return changing(self, means, costs)

    def walking(self, step: float, every: int, horizon: int, seed: int = 0) -> ChangingInstance:
        """These arms with means that walk: after every so many pulls each makes a normal step, reflected at 0 and 1.

        Parameters
        ----------
        step : float
            Standard deviation of a step.
        every : int
            Pulls between two steps.
        horizon : int
            Where the walk ends.
        seed : int
            The same seed, the same walk.

        Examples
        --------
        >>> len(Instance([1.0, 5.0], [0.5, 0.9]).walking(0.01, every=100, horizon=10_000).pieces)
        100
        """
        from satisfice.changing import walking

        return walking(self, step, every, horizon, seed)

    def replace(self, **changes: object) -> Instance:
        """A copy with some of the constructor's arguments changed."""
        now: dict[str, object] = {
            "costs": self.costs,
            "means": self.means,
            "names": self.names,
            "reward": self.reward,
            "cost_spread": self.cost_spread,
            "counts": self.counts,
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
        if self.cost_spread:
            data["cost_spread"] = self.cost_spread
        if self.counts is not None:
            for arm, rows in zip(arms, self.counts.tolist(), strict=True):
                arm["count"] = rows
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
        arms = field_of(data, "arms", "it")
        if not isinstance(arms, list) or not all(isinstance(arm, dict) for arm in arms):
            raise InvalidInstance(
                "not an instance: arms must be a list of objects, each with a name, a cost and a mean"
            )

        def column(name: str) -> ArrayLike:
            return cast(ArrayLike, [field_of(arm, name, f"arm {i}") for i, arm in enumerate(arms)])

        made = Instance(
            costs=column("cost"),
            means=None if categorical else column("mean"),
            names=[str(arm.get("name", f"arm-{i + 1}")) for i, arm in enumerate(arms)],
            reward=reward,
            sigma=cast(float, data.get("sigma", 1.0)),
            values=cast(ArrayLike, field_of(data, "values", "it")) if categorical else None,
            probabilities=column("probabilities") if categorical else None,
            cost_spread=cast(float, data.get("cost_spread", 0.0)),
            counts=column("count") if arms and all("count" in arm for arm in arms) else None,
            label=str(data.get("name", "instance")),
            source=str(data.get("source", "")),
        )
        if "changes" not in data:
            return made
        from satisfice.changing import from_changes

        return from_changes(made, data["changes"])

    def __len__(self) -> int:
        return self.arms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instance) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Instance {self.label}: {count(self.arms, 'arm')}, {self.reward} rewards>"
