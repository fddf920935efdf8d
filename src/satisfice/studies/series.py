"""How a study went over time, in at most some hundred points.

A point has the sums of every arm after some decision. Points lie on a grid that follows from the number of the decision
alone: `DENSE` of them between any number and twice it, and nothing between that is not a multiple of `FIRST`. So every
process knows without asking which decision makes a point, and which points of the past are between those that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from satisfice.statistics import penalty
from satisfice.studies.counts import UNIT

if TYPE_CHECKING:
    from satisfice.studies.machine import Machine

DENSE, FIRST = 64, 16

Floats = NDArray[np.float64]


class ArmPoint(NamedTuple):
    """One arm at one moment. Rewards are on [0, 1]."""

    asked: int
    pulls: int  # rewards counted, since the last change
    dropped: int  # decisions that came to nothing, or are of another time
    total: float
    sure_pulls: int  # of the decisions up to the frontier
    sure_total: float
    spent: float
    would: float  # what all decisions would have cost on this arm
    # Of the rewards before the last change of its mean, which proofs no longer count: how many, their sum, still open.
    old_pulls: int = 0
    old_total: float = 0.0
    old_open: int = 0


class Point(NamedTuple):
    """A study after `decisions` decisions, at the time `at`; `place` is its place on the grid."""

    place: int
    decisions: int
    at: float
    arms: tuple[ArmPoint, ...]  # in the order in which the study got them; later ones are missing


def stride(decisions: int) -> int:
    """How far points are from each other after so many decisions.

    Examples
    --------
    >>> stride(100), stride(2_000), stride(1_000_000)
    (16, 16, 8192)
    """
    return max(FIRST, (1 << max(decisions.bit_length() - 1, 0)) // DENSE)


def due(before: int, after: int) -> int | None:
    """The place of the point to be kept when decisions go from `before` to `after`; None: none is due.

    Examples
    --------
    >>> due(0, 1), due(14, 15), due(15, 16), due(1_000_000, 1_010_000)
    (0, None, 16, 1007616)
    """
    if after <= before:
        return None
    if not before and after < FIRST:
        return 0
    # The roundest number on the way: it outlives the others when points are thinned out.
    place = after
    while (rounder := place & (place - 1)) > before:
        place = rounder
    return place if place % stride(after) == 0 else None


def thinned(places: Iterable[int], decisions: int) -> list[int]:
    """Those places of points that stay after so many decisions.

    Examples
    --------
    >>> thinned([0, 16, 32, 48, 64], decisions=4_000)
    [0, 32, 64]
    """
    step = stride(decisions)
    return [place for place in places if place % step == 0]


def point_of(machine: Machine, place: int, at: float) -> Point:
    """The point that a state makes."""
    count = machine.decisions
    arms = tuple(
        ArmPoint(
            arm.asked,
            arm.counted,
            arm.asked - arm.counted - arm.outstanding,
            arm.sum / UNIT,
            arm.sure_pulls,
            arm.sure_total / UNIT,
            arm.spent / UNIT,
            machine.would(i),
            arm.old_pulls,
            arm.old_total / UNIT,
            arm.old_asked - arm.old_pulls - arm.old_dropped,
        )
        for i, arm in enumerate(machine.arms)
    )
    return Point(place, count, at, arms)


def to_data(point: Point) -> list[list[float]]:
    """The arms of a point as plain data; what is nothing at the end is left out."""
    return [list(sums) if sums.old_pulls or sums.old_open else list(sums[:8]) for sums in point.arms]


def from_data(place: int, decisions: int, at: float, data: Sequence[Sequence[float]]) -> Point:
    """A point from plain data."""
    return Point(place, decisions, at, tuple(ArmPoint(*cast("Sequence[int]", sums)) for sums in data))


def bands(points: Sequence[Point], deltas: Sequence[float]) -> tuple[Floats, Floats]:
    """Where the mean of every arm may lie at every point, (arms, points): the intervals of `Evidence.interval`, all at
    once, as rewards of 0 and 1 have them (those of other rewards are shorter there). An arm that is not there yet may
    be anywhere.

    Parameters
    ----------
    points : sequence of Point
        What was seen.
    deltas : sequence of float
        For each arm, the probability that any of its intervals ever misses.

    Examples
    --------
    >>> a = ArmPoint(asked=100, pulls=100, dropped=0, total=50.0, sure_pulls=100, sure_total=50.0, spent=1.0, would=1.0)
    >>> low, high = bands([Point(96, 100, 0.0, (a,))], [0.05])
    >>> round(float(low[0, 0]), 3), round(float(high[0, 0]), 3)
    (0.338, 0.662)
    """
    nothing = ArmPoint(0, 0, 0, 0.0, 0, 0.0, 0.0, 0.0)
    rows = np.array(
        [[p.arms[i] if i < len(p.arms) else nothing for p in points] for i in range(len(deltas))], dtype=np.float64
    ).reshape(len(deltas) * len(points), len(nothing))
    asked, pulls, dropped, totals, sure, sums, _, _, old_pulls, old_totals, old_open = rows.T
    pending = np.maximum(asked - pulls - dropped - old_open, 0.0)
    pulls, totals = pulls - old_pulls, totals - old_totals
    # Three samples, of which each gives an end or two.
    samples = (sure, sums), (pulls + pending, totals), (pulls + pending, totals + pending)
    n, total = (np.concatenate(parts) for parts in zip(*samples, strict=True))
    room = np.tile(np.repeat(np.log(1.0 / np.asarray(deltas)), len(points)), 3)
    low, high = (edge.reshape(3, len(deltas), len(points)) for edge in _edges(n, total, room))
    lows, highs = np.maximum(low[0], low[1]), np.minimum(high[0], high[2])
    return np.minimum(lows, highs), np.maximum(lows, highs)


def _edges(n: Floats, totals: Floats, nats: Floats) -> tuple[Floats, Floats]:
    """Confidence intervals as `satisfice.statistics.interval` makes them, for many samples at once."""
    m = np.clip(totals / np.maximum(n, 1.0), 0.0, 1.0)
    price = np.array([penalty(count, mean) for count, mean in zip(n.tolist(), m.tolist(), strict=True)])
    room = (nats + price) / np.maximum(n, 1.0)
    edges = []
    for end in (0.0, 1.0):
        inside, outside = m.copy(), np.full_like(m, end)
        free = (_kl(m, outside) <= room) | (n <= 0)
        for _ in range(36):
            middle = 0.5 * (inside + outside)
            near = _kl(m, middle) <= room
            inside, outside = np.where(near, middle, inside), np.where(near, outside, middle)
        edges.append(np.where(free, end, outside))
    return edges[0], edges[1]


def _kl(p: Floats, q: Floats) -> Floats:
    """The divergence of Bernoulli rewards, element by element."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(p > 0.0, p * np.log(p / q), 0.0)
        second = np.where(p < 1.0, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    return np.asarray(np.where(p == q, 0.0, first + second))
