"""What the readers share: rows that cannot be used, random costs, and arms in the order of their costs."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import Hint, InvalidData
from satisfice.limits import MAX_BAD
from satisfice.problem import Floats, Instance, RewardModel
from satisfice.words import is_number

STARS = 5
DECIMALS = 3


class DataWarning(UserWarning):
    """Something in a file that was left out or read in a particular way; the message says what, how often and where."""


@dataclass
class Problems:
    """Rows that cannot be used, counted by kind, with the place of the first one of each kind.

    Parameters
    ----------
    what : str
        What a row is, in the plural, for the messages: "ratings of ml-25m/ratings.csv".
    max_bad : float
        Largest share of unusable rows that is accepted, within [0, 1].
    """

    what: str
    max_bad: float = MAX_BAD
    found: dict[str, tuple[int, str | Callable[[], str]]] = field(default_factory=dict)
    hint: Hint = Hint.MAX_BAD

    def __post_init__(self) -> None:
        if not is_number(self.max_bad) or not 0 <= self.max_bad <= 1:
            raise InvalidData(
                "the accepted share of unusable rows must be within [0, 1]", parameter="max_bad", value=self.max_bad
            )

    @property
    def count(self) -> int:
        """All unusable rows so far."""
        return sum(count for count, _ in self.found.values())

    def add(self, kind: str, rows: int, first: str | Callable[[], str], *, hint: Hint = Hint.MAX_BAD) -> None:
        """Count `rows` more of a kind. `first` says where they begin; a callable is asked when that is to be shown.

        A hint that helps more than to accept more unusable rows becomes the hint of the error.
        """
        self.hint = hint if self.hint is Hint.MAX_BAD else self.hint
        before, where = self.found.get(kind, (0, first))
        self.found[kind] = (before + rows, where)

    def report(self, rows: int) -> None:
        """Warn of each kind, or raise `InvalidData` when more than the accepted share of all `rows` is unusable."""
        kinds = [
            f"{kind} ({count:,}, the first is {first if isinstance(first, str) else first()})"
            for kind, (count, first) in self.found.items()
        ]
        if self.count > self.max_bad * rows:
            raise InvalidData(
                f"{self.count:,} of {rows:,} {self.what} cannot be used, more than the accepted {self.max_bad:.2%}: "
                f"{'; '.join(kinds)}",
                hint=self.hint,
            )
        for kind in kinds:
            warn(f"left out of {rows:,} {self.what}: {kind}")


def warn(message: str) -> None:
    """Issue a `DataWarning` that points at the code which called the reader."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("satisfice.instances"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DataWarning, stacklevel=level)


@dataclass(frozen=True)
class Tally:
    """How often each arm got each reward.

    Parameters
    ----------
    names : sequence of str
        The arms.
    values : array, shape (levels,)
        The rewards that were seen.
    counts : int64 array, shape (arms, levels)
        How often; no row is all zero.
    """

    names: Sequence[str]
    values: Floats
    counts: NDArray[np.int64]

    def instance(
        self, costs: Mapping[str, float], reward: RewardModel, *, label: str, source: str, decimals: int | None
    ) -> Instance:
        """The instance with these arms, sorted by cost; `decimals` rounds Bernoulli means."""
        totals = self.counts.sum(axis=1)
        prices = [costs[name] for name in self.names]
        if reward == "categorical":
            shares = self.counts / totals[:, None]
            made = Instance(
                prices, None, self.names, reward, values=self.values, probabilities=shares, label=label, source=source
            )
        else:
            means = self.counts @ self.values / totals
            means = means if decimals is None else np.round(means, decimals)
            made = Instance(prices, means, self.names, reward, label=label, source=source)
        return by_cost(made)


def by_cost(instance: Instance) -> Instance:
    """The same instance with its arms sorted by cost, arms of equal cost by name."""
    order = sorted(range(instance.arms), key=lambda arm: (instance.costs[arm], instance.names[arm]))
    changes: dict[str, object] = {"costs": instance.costs[order], "names": [instance.names[arm] for arm in order]}
    if instance.counts is not None:
        changes["counts"] = instance.counts[order]
    if instance.reward == "categorical":
        changes["probabilities"] = instance.probabilities[order]
    else:
        changes["means"] = instance.means[order]
    return instance.replace(**changes)
