"""What we measure: means with errors, failures, growth.

A policy counts as better at a point when its mean regret is lower by more than two standard errors of the
difference. A run counts as failed when its regret is above a tenth of the worst possible one (the arm with the
largest clipped gaps, played all the time). Growth is the exponent log2(R(T) / R(T/2)) of the mean regret R: 1 is
linear, 0 flat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from satisfice import words
from satisfice.simulation import Result
from satisfice.simulation.regret import standard_error

Floats = NDArray[np.float64]
FAILED = 0.1


def number(value: float) -> str:
    """A regret as people write it: three significant digits at least, thousands apart."""
    return words.number(value, digits=3)


def with_error(values: Floats) -> str:
    """Mean ± standard error of the mean."""
    return f"{number(float(values.mean()))} ± {number(error(values))}"


def error(values: Floats) -> float:
    """Standard error of the mean; 0 for a single run."""
    return standard_error(values) if len(values) > 1 else 0.0


def beats(a: Floats, b: Floats) -> bool:
    """Whether the mean of `a` is lower than that of `b` by more than two standard errors of the difference."""
    return float(b.mean() - a.mean()) > 2 * float(np.hypot(error(a), error(b))) + 1e-9


def worst(result: Result) -> float:
    """The largest cost + quality regret that a run could have."""
    gaps = result.setting.cost_gaps(result.instance) + result.setting.quality_gaps(result.instance)
    return float(gaps.max() * result.terms.horizon)


def failures(result: Result) -> int:
    """How many runs failed."""
    return int((result.regret > FAILED * worst(result)).sum())


def halves(result: Result) -> tuple[Floats, Floats]:
    """The summed regret of every run at half the horizon and at the horizon."""
    curve = result.cost_curve + result.quality_curve
    middle = int(np.searchsorted(result.checkpoints, result.terms.horizon / 2))
    return curve[:, middle], curve[:, -1]


def growth(result: Result) -> tuple[float, float]:
    """The growth exponent of the mean regret over the second half, and its standard error (bootstrap over runs)."""
    half, end = halves(result)
    if end.mean() <= 0 or half.mean() <= 0:
        return 0.0, 0.0
    picks = np.random.default_rng(0).integers(0, len(end), (400, len(end)))
    means_half, means_end = half[picks].mean(axis=1), end[picks].mean(axis=1)
    sound = (means_half > 0) & (means_end > 0)
    spread = float(np.log2(means_end[sound] / means_half[sound]).std()) if sound.any() else 0.0
    return float(np.log2(end.mean() / half.mean())), spread
