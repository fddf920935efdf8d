"""Instances with segments: kinds of traffic, each with means (and costs) of its own."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidData, InvalidInstance
from satisfice.problem import Instance

ROUTELLM = {"mixtral-8x7b": 1.0, "gpt-4-1106": 40.0}
ROUTELLM_SOURCE = (
    "RouteLLM (lm-sys/RouteLLM, Apache-2.0), evaluation responses: 14,042 questions of MMLU in 57 subjects and 1,319 "
    "of GSM8K; the mean is the share of right answers, the costs are about the ratio of list prices"
)


class SegmentedInstance:
    """A world with segments: an instance for each, with the same arms, and its share of the traffic.

    What is good enough is what is good enough in a segment, and regret is the sum over segments.

    Parameters
    ----------
    segments : mapping from name to Instance
        The same arms in each, with rewards of the same kind; means and costs may differ.
    shares : mapping from name to number, or numbers, optional
        How much traffic each has, in any unit; equal by default.

    Raises
    ------
    InvalidInstance

    Examples
    --------
    >>> code = Instance(costs=[1, 9], means=[0.85, 0.9], names=["small", "large"])
    >>> law = Instance(costs=[1, 9], means=[0.4, 0.9], names=["small", "large"])
    >>> world = SegmentedInstance({"code": code, "law": law}, shares={"code": 3, "law": 1})
    >>> world, world.shares.tolist(), world.whole().means.round(4).tolist()
    (<SegmentedInstance: 2 segments, 2 arms>, [0.75, 0.25], [0.7375, 0.9])
    """

    def __init__(
        self, segments: Mapping[str, Instance], shares: Mapping[str, float] | Sequence[float] | None = None
    ) -> None:
        if not isinstance(segments, Mapping) or not segments:
            raise InvalidInstance("segments must be names and instances, at least one of them")
        self.segments = dict(segments)
        first = next(iter(self.segments.values()))
        for name, instance in self.segments.items():
            if not isinstance(instance, Instance) or instance.names != first.names:
                raise InvalidInstance(f"the segment {name!r} is no instance with the arms {', '.join(first.names)}")
            if instance.reward != first.reward or not np.array_equal(instance.values, first.values):
                raise InvalidInstance(
                    f"the rewards of the segment {name!r} are of another kind than those of the first"
                )
            if not instance.bounded:
                raise InvalidInstance(f"the rewards of the segment {name!r} are not within [0, 1]")
        self.shares = self._shares(shares)

    def _shares(self, shares: Mapping[str, float] | Sequence[float] | None) -> NDArray[np.float64]:
        values = [1.0] * len(self.segments) if shares is None else list(shares)
        if isinstance(shares, Mapping):
            values = [shares.get(name, math.nan) for name in self.segments]
        weights = np.asarray(values, dtype=np.float64)
        if weights.shape != (len(self.segments),) or not np.isfinite(weights).all() or not (weights > 0).all():
            raise InvalidInstance("shares must be a number above 0 for every segment")
        weights /= weights.sum()
        return weights

    def __repr__(self) -> str:
        return f"<SegmentedInstance: {len(self.segments)} segments, {self.arms} arms>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the segments."""
        return tuple(self.segments)

    @property
    def arms(self) -> int:
        """How many arms there are."""
        return next(iter(self.segments.values())).arms

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean rewards, (segments, arms)."""
        return np.stack([instance.means for instance in self.segments.values()])

    @property
    def costs(self) -> NDArray[np.float64]:
        """Costs, (segments, arms)."""
        return np.stack([instance.costs for instance in self.segments.values()])

    def whole(self) -> Instance:
        """What one study for all traffic sees: the means and costs of the mixture."""
        first = next(iter(self.segments.values()))
        probabilities = None
        if first.reward == "categorical":
            tables = np.stack([instance.probabilities for instance in self.segments.values()])
            probabilities = np.tensordot(self.shares, tables, 1)
        means, costs = self.shares @ self.means, self.shares @ self.costs
        if probabilities is None:
            return Instance(costs=costs, means=means, names=first.names)
        return Instance(
            costs=costs, names=first.names, reward="categorical", values=first.values, probabilities=probabilities
        )


def load_segments(name: str) -> SegmentedInstance:
    """An instance with segments that comes with the package: "routellm", two models on 58 subjects.

    Raises
    ------
    InvalidData
        There is no such instance.

    Examples
    --------
    >>> world = load_segments("routellm")
    >>> world, world.segments["professional_law"].means.round(2).tolist()
    (<SegmentedInstance: 58 segments, 2 arms>, [0.51, 0.7])
    """
    if name != "routellm":
        raise InvalidData(f"there is no instance with segments {name!r}; there is: routellm")
    text = files("satisfice.instances").joinpath("data/routellm.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    costs, names = list(ROUTELLM.values()), tuple(ROUTELLM)
    segments = {
        row["segment"]: Instance(
            costs=costs,
            means=[int(row[arm]) / int(row["questions"]) for arm in names],
            names=names,
            source=f"{ROUTELLM_SOURCE}: {row['segment']}",
        )
        for row in rows
    }
    return SegmentedInstance(segments, [float(row["questions"]) for row in rows])


__all__ = ["SegmentedInstance", "load_segments"]
