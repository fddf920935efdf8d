"""The three settings: what counts as good enough, the optimal arm and the gaps that follow from it.

A setting turns the means of an instance into a threshold `mu_CS`; the optimal arm `a*` is the cheapest arm whose mean
reaches it. The gaps are clipped at zero: `(c_i - c_a*)^+` for the cost and `(mu_CS - mu_i)^+` for the quality.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from satisfice.checks import Floats
from satisfice.errors import InvalidSetting, NoFeasibleArm
from satisfice.words import is_number, listed, shown

if TYPE_CHECKING:
    from satisfice.problem import Instance

# An arm that misses the threshold by rounding alone, such as 0.76 against (1 - 0.2) * 0.95, is feasible.
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Setting:
    """What counts as good enough. One of `FixedThreshold`, `ReferenceArm`, `BestReward`.

    Every setting answers to all of these, so that nobody has to ask which one it is:

    Attributes
    ----------
    kind : str
        "fixed", "reference" or "best".
    alpha : float
        The subsidy factor; 0 where there is none.
    mu0 : float
        The known threshold; nan where it is not known.
    reference : int, str or None
        The known reference arm, as it was given; None where there is none.
    fixed : bool
        Whether the threshold is known.

    Examples
    --------
    >>> ReferenceArm("large", alpha=0.1).to_dict()
    {'kind': 'reference', 'arm': 'large', 'alpha': 0.1}
    >>> Setting.from_dict({"kind": "best", "alpha": 0.1})
    BestReward(alpha=0.1)
    """

    kind: ClassVar[str] = ""
    if TYPE_CHECKING:

        @property
        def alpha(self) -> float: ...

        @property
        def mu0(self) -> float: ...
    else:  # a property would be in the way of the field that a setting has instead
        alpha, mu0 = 0.0, math.nan

    @property
    def reference(self) -> int | str | None:
        """The known reference arm, as it was given; None where there is none."""
        return None

    @property
    def fixed(self) -> bool:
        """Whether the threshold is known, and no arm sets it."""
        return not math.isnan(self.mu0)

    def with_alpha(self, alpha: float) -> Setting:
        """The same setting with another subsidy factor; not for a fixed threshold, which has none."""
        return replace(self, alpha=alpha)  # type: ignore[call-arg]

    def to_dict(self) -> dict[str, object]:
        """Plain data that `from_dict` reads back, also the form in result files and databases."""
        values = {
            name: value.item() if isinstance(value, np.generic) else value for name, value in asdict(self).items()
        }
        return {"kind": self.kind, **values}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Setting:
        """A setting from the data of `to_dict`. Raises `InvalidSetting`, which says what is accepted."""
        known = {kind: setting for kind, setting in SETTINGS.items() if issubclass(setting, cls)}
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in known:
            raise InvalidSetting(f"not a setting: {shown(data)}; its kind must be {' or '.join(map(repr, known))}")
        values = {name: value for name, value in data.items() if name != "kind"}
        try:
            return known[kind](**values)
        except TypeError as error:
            accepted = ", ".join(field.name for field in fields(known[kind]))
            given = ", ".join(map(str, values)) or "nothing"
            raise InvalidSetting(f"a setting of the kind {kind!r} has {accepted}; got {given}") from error

    def thresholds(self, means: Floats, names: Sequence[str]) -> Floats:
        """The threshold `mu_CS` by every row of `means`, (rows, arms)."""
        raise NotImplementedError

    def threshold(self, instance: Instance) -> float:
        """The threshold `mu_CS` that a mean must reach."""
        return float(self.thresholds(instance.means[None], instance.names)[0])

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
        if self.fixed or self.threshold(instance) >= 0:
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
    >>> from satisfice.problem import Instance
    >>> FixedThreshold(0.8).optimal_arm(Instance(costs=[1, 2, 3], means=[0.7, 0.8, 0.9]))
    1
    """

    mu0: float = field()
    kind: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        if not is_number(self.mu0):
            raise InvalidSetting("the threshold must be a finite number", parameter="mu0", value=self.mu0)

    def thresholds(self, means: Floats, names: Sequence[str]) -> Floats:
        return np.full(len(means), float(self.mu0))


@dataclass(frozen=True)
class ReferenceArm(Setting):
    """Good enough is `(1 - alpha)` times the mean of the known reference arm `ell`.

    Examples
    --------
    >>> from satisfice.problem import Instance
    >>> ReferenceArm("large", alpha=0.1).threshold(Instance([1, 2], [0.7, 0.9], names=["small", "large"]))
    0.81
    """

    arm: int | str
    alpha: float = 0.0
    kind: ClassVar[str] = "reference"

    def __post_init__(self) -> None:
        _alpha(self.alpha)

    @property
    def reference(self) -> int | str:
        """The reference arm, as it was given."""
        return self.arm

    def thresholds(self, means: Floats, names: Sequence[str]) -> Floats:
        return np.asarray((1 - self.alpha) * means[:, arm_index(self.arm, names)])


@dataclass(frozen=True)
class BestReward(Setting):
    """Good enough is `(1 - alpha)` times the largest mean, of an arm that nobody knows yet.

    Examples
    --------
    >>> from satisfice.problem import Instance
    >>> BestReward(alpha=0.25).optimal_arm(Instance(costs=[1, 2, 3], means=[0.5, 0.75, 0.9]))
    1
    """

    alpha: float = field()
    kind: ClassVar[str] = "best"

    def __post_init__(self) -> None:
        _alpha(self.alpha)

    def thresholds(self, means: Floats, names: Sequence[str]) -> Floats:
        return np.asarray((1 - self.alpha) * means.max(axis=1))


SETTINGS: dict[str, type[Setting]] = {cls.kind: cls for cls in (FixedThreshold, ReferenceArm, BestReward)}


def arm_index(arm: int | str, names: Sequence[str]) -> int:
    """The index of an arm given by index or by name among `names`."""
    if isinstance(arm, str):
        if arm in names:
            return list(names).index(arm)
        raise InvalidSetting(f"there is no arm {arm!r}; the arms are {listed(names)}")
    if isinstance(arm, (int, np.integer)) and not isinstance(arm, bool) and 0 <= arm < len(names):
        return int(arm)
    raise InvalidSetting(f"there is no arm {arm!r}; use a name or an index from 0 to {len(names) - 1}")


def _alpha(alpha: float) -> None:
    if not is_number(alpha) or not 0 <= alpha <= 1:
        raise InvalidSetting("the subsidy factor must be a number within [0, 1]", parameter="alpha", value=alpha)
