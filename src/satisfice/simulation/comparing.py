"""Two policies against each other, run by run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidRun
from satisfice.tables import html
from satisfice.words import is_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """By how much the regret of `first` is below that of `second`."""

    first: str
    second: str
    regret: str
    runs: int
    means: tuple[float, float]
    difference: float  # mean of first minus second: below 0 where first is better
    interval: tuple[float, float]
    confidence: float
    ratio: float  # mean of first over mean of second
    wins: float  # share of the runs in which first has less regret; half of those that are equal count
    correlation: float  # between the two, run by run; where it is 0 pairing neither helps nor harms
    width: float  # of the interval, as a share of what it would be if the runs were not paired
    common: bool  # whether both had the same rewards (`simulate(..., common=True)`)

    def __str__(self) -> str:
        low, high = self.interval
        clear = "less" if high < 0 else "more" if low > 0 else "not clearly less or more"
        return (
            f"{self.first} has {clear} {self.regret} regret than {self.second}: {self.means[0]:,.4g} to "
            f"{self.means[1]:,.4g}, difference {self.difference:,.4g} ({low:,.4g} to {high:,.4g}, "
            f"{self.confidence:.0%}, {self.runs} pairs of runs), less in {self.wins:.0%} of them"
            + (f"; same rewards, interval {self.width:.2f} times as wide as without" if self.common else "")
        )

    def _repr_html_(self) -> str:
        """The sentence, in a notebook."""
        return html([], str(self))


def compare(
    first: tuple[str, Floats], second: tuple[str, Floats], regret: str, *, confidence: float, common: bool
) -> Comparison:
    """A paired comparison: the interval is Student's, for the mean of the differences run by run."""
    (one, a), (other, b) = first, second
    if not (is_number(confidence) and 0 < confidence < 1):
        raise InvalidRun("it must be a number within (0, 1)", parameter="confidence", value=confidence)
    if len(a) != len(b) or len(a) < 2:
        raise InvalidRun(
            f"{one} has {len(a)} runs and {other} has {len(b)}; runs are compared in pairs, at least two of them"
        )
    gap = a - b
    error = float(gap.std(ddof=1)) / math.sqrt(len(gap))
    width = student(1 - (1 - confidence) / 2, len(gap) - 1) * error
    middle = float(gap.mean())
    apart = math.sqrt(float(a.var(ddof=1) + b.var(ddof=1)) / len(gap))
    varies = a.std() > 0 and b.std() > 0
    return Comparison(
        first=one,
        second=other,
        regret=regret,
        runs=len(gap),
        means=(float(a.mean()), float(b.mean())),
        difference=middle,
        interval=(middle - width, middle + width),
        confidence=confidence,
        ratio=float(a.mean() / b.mean()) if b.mean() > 0 else math.nan,
        wins=float((gap < 0).mean() + 0.5 * (gap == 0).mean()),
        correlation=float(np.corrcoef(a, b)[0, 1]) if varies else 0.0,
        width=error / apart if apart > 0 else 1.0,
        common=common,
    )


def student(level: float, freedom: int) -> float:
    """A quantile of Student's distribution, by the expansion of Cornish and Fisher; exact for 1 and 2 degrees.

    Examples
    --------
    >>> [round(student(0.975, freedom), 3) for freedom in (1, 2, 9, 99)]
    [12.706, 4.303, 2.262, 1.984]
    """
    if freedom == 1:
        return math.tan(math.pi * (level - 0.5))
    if freedom == 2:
        return (2 * level - 1) * math.sqrt(2 / (4 * level * (1 - level)))
    z, n = NormalDist().inv_cdf(level), float(freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
