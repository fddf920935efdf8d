"""Instances that change: means and costs in pieces, and slow walks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satisfice.errors import InvalidInstance
from satisfice.limits import MAX_HORIZON, whole
from satisfice.problem import Instance
from satisfice.words import count, shown

if TYPE_CHECKING:
    from satisfice.checks import Floats

# More pieces than this are no longer pieces.
MOST = 100_000

Change = tuple[int, ArrayLike]


class ChangingInstance(Instance):
    """An instance whose means, or costs, change: `Instance.changing` and `Instance.walking` make one.

    `pieces` are the instances that follow each other, and `times` says after how many pulls each begins, from 0. What
    is asked of it as of an instance (`costs`, `means`, a threshold, an optimal arm) is that of the first piece. A rule
    knows the costs at every time, and nothing of the means.

    Examples
    --------
    >>> inst = Instance(costs=[1.0, 5.0], means=[0.9, 0.95]).changing([(1000, [0.3, 0.95])])
    >>> inst.times.tolist(), [piece.means.tolist() for piece in inst.pieces]
    ([0, 1000], [[0.9, 0.95], [0.3, 0.95]])
    """

    times: NDArray[np.int64]
    _pieces: tuple[Instance, ...]

    def __init__(self, pieces: Sequence[Instance], times: Sequence[int]) -> None:
        steady = [piece.steady() for piece in pieces]
        if len(steady) > MOST:
            raise InvalidInstance(f"{len(steady):,} changes; at most {MOST:,} are accepted")
        state = {**vars(steady[0]), "times": np.array(times, dtype=np.int64), "_pieces": tuple(steady)}
        self.__setstate__(state)

    @property
    def pieces(self) -> tuple[Instance, ...]:
        """The instances that follow each other."""
        return self._pieces

    def steady(self) -> Instance:
        raise InvalidInstance(
            f"{self.label!r} changes {count(len(self.times) - 1, 'time')}; this needs one that does not"
        )

    def scaled_costs(self, divisor: float | None = None) -> Instance:
        top = max(float(piece.costs.max()) for piece in self._pieces) if divisor is None else divisor
        return ChangingInstance([piece.scaled_costs(top) for piece in self._pieces], self.times.tolist())

    def replace(self, **changes: object) -> Instance:
        wrong = changes.keys() - {"names", "cost_spread", "label", "source"}
        if wrong:
            raise InvalidInstance(f"{', '.join(sorted(wrong))}: an instance that changes is made anew by its pieces")
        return ChangingInstance([piece.replace(**changes) for piece in self._pieces], self.times.tolist())

    def to_dict(self) -> dict[str, object]:
        data = super().to_dict()
        data["changes"] = [
            {"at": int(at), "costs": piece.costs.tolist(), "means": _means(piece).tolist()}
            for at, piece in zip(self.times[1:], self._pieces[1:], strict=True)
        ]
        return data

    def __repr__(self) -> str:
        return super().__repr__()[:-1] + f", {count(len(self.times) - 1, 'change')}>"


def changing(base: Instance, means: Sequence[Change], costs: Sequence[Change]) -> ChangingInstance:
    """`base` with means and costs that change after so many pulls; see `Instance.changing`."""
    later = {"means": _read("means", means, base), "costs": _read("costs", costs, base)}
    now, pieces, times = base.steady(), [base.steady()], [0]
    for at in sorted({*later["means"], *later["costs"]}):
        if at in later["means"]:
            new = later["means"][at]
            now = now.replace(**({"probabilities": new} if now.reward == "categorical" else {"means": new}))
        if at in later["costs"]:
            now = now.replace(costs=later["costs"][at])
        pieces.append(now)
        times.append(at)
    return ChangingInstance(pieces, times)


def from_changes(base: Instance, changes: object) -> Instance:
    """An instance from the changes of `ChangingInstance.to_dict`."""
    if not isinstance(changes, list) or not all(isinstance(item, dict) and "at" in item for item in changes):
        raise InvalidInstance("not an instance: changes must be a list of objects, each with an `at`, means and costs")
    parts = {
        key: [(cast(int, item["at"]), cast(ArrayLike, item[key])) for item in changes if key in item]
        for key in ("means", "costs")
    }
    return changing(base, parts["means"], parts["costs"])


def walking(base: Instance, step: float, every: int, horizon: int, seed: int) -> ChangingInstance:
    """`base` with means that walk; see `Instance.walking`."""
    every, horizon = whole("every", every, 1, MAX_HORIZON), whole("horizon", horizon, 1, MAX_HORIZON)
    if base.reward == "categorical":
        raise InvalidInstance("the means of a categorical instance follow from probabilities and cannot walk")
    if not (isinstance(step, (int, float)) and 0 < step < np.inf):
        raise InvalidInstance(f"step = {step!r}; it must be a number above 0: the standard deviation of one step")
    rng = np.random.default_rng(seed)
    means: Floats = base.means.copy()
    changes: list[Change] = []
    for at in range(every, horizon, every):
        means = means + step * rng.standard_normal(len(means))
        if base.reward == "bernoulli":  # reflected at 0 and 1
            means = 1.0 - np.abs(1.0 - np.abs(means) % 2.0)
        changes.append((at, means))
    return changing(base, changes, ())


def _read(what: str, changes: Sequence[Change], base: Instance) -> dict[int, ArrayLike]:
    found: dict[int, ArrayLike] = {}
    for change in changes:
        if not isinstance(change, (tuple, list)) or len(change) != 2:
            raise InvalidInstance(f"{shown(change)} is no change: pulls and {what}, such as (1000, {_example(base)})")
        at = whole("the pulls before a change", change[0], 1, MAX_HORIZON)
        if at in found:
            raise InvalidInstance(f"two changes of the {what} after {at:,} pulls")
        found[at] = change[1]
    return found


def _example(base: Instance) -> list[float]:
    return [round(float(mean), 3) for mean in base.means[:3]]


def _means(piece: Instance) -> Floats:
    return piece.probabilities if piece.reward == "categorical" else piece.means
