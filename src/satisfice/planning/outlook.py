"""What a plan says: the outlook of every policy on the same runs, and when a run counts as settled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.problem import Floats, Instance, Setting
from satisfice.tables import html

Ints = NDArray[np.int64]

# Settled: from then on, at least this share of the pulls between any time and twice it is of one arm, the choice.
STEADY = 0.95
# The choice is the arm of the second half of the horizon; what would settle later has not settled. A shorter stretch
# would not do: an arm's part of a round of PE is a long stretch of that arm, too, but never half of all pulls.
LAST = 0.5


@dataclass(frozen=True)
class Outlook:
    """What one policy does in every run, (runs,) each."""

    policy: str
    settled: Floats  # pulls until it is settled on the right arm; nan when that is not in the first half of the horizon
    choice: Ints  # the arm that it plays most in the second half
    right: NDArray[np.bool_]  # whether that is the cheapest feasible arm, or a feasible one as cheap
    spend: Floats  # cost of the pulls until it is settled, or until the horizon
    cost_regret: Floats  # what these pulls cost beyond the optimal arm's cost
    quality_regret: Floats  # reward that they miss below the threshold
    saved: Floats  # cost saved per 1,000 pulls once settled, against always playing `Plan.against`; nan if it is not
    lost: Floats  # reward given up per 1,000 pulls once settled, against the same; nan if it is not
    savings: Floats  # (runs, times): cost saved so far against the same, at `Plan.times`

    @property
    def share(self) -> float:
        """Share of the runs that settle on the right arm."""
        return float(np.isfinite(self.settled).mean())


@dataclass(frozen=True)
class Plan:
    """The outlooks of several policies on the same runs."""

    middle: Instance  # with the middle of every guess
    guess: tuple[tuple[float, float], ...]
    setting: Setting
    horizon: int
    searched: bool  # whether the horizon was searched for, not given
    against: str  # what the savings are compared with
    times: Ints
    dropped: int  # draws of the guess in which no arm is feasible; they are left out
    outlooks: tuple[Outlook, ...]
    shares: tuple[float, ...]  # of the draws in which each arm is the right one: the cheapest that is good enough

    @property
    def right(self) -> str:
        """The arm that is the right one in most draws."""
        return self.middle.names[int(np.argmax(self.shares))]

    def _repr_html_(self) -> str:
        """The right arm and the median outlook of every policy, in a notebook."""
        rows: list[tuple[str, ...]] = [
            ("policy", "settles", "pulls until settled", "extra cost", "lost quality", "saved per 1,000 pulls")
        ]
        for outlook in self.outlooks:
            numbers = (outlook.settled, outlook.cost_regret, outlook.quality_regret, outlook.saved)
            medians = (float(np.median(v[np.isfinite(v)])) if np.isfinite(v).any() else math.nan for v in numbers)
            rows.append((outlook.policy, f"{outlook.share:.0%}", *(f"{value:,.3g}" for value in medians)))
        return html(rows, self.sentence)

    @property
    def sentence(self) -> str:
        """Which arm is the right one, and how often."""
        order = [int(i) for i in np.argsort(-np.array(self.shares), kind="stable") if self.shares[i] > 0]
        cost, mean = self.middle.costs[order[0]], self.middle.means[order[0]]
        what = f"The right arm is {self.right} (cost {cost:g}, mean {mean:.3g})"
        if len(order) == 1:
            return f"{what}, the cheapest that is good enough."
        others = ", ".join(f"{self.middle.names[i]} ({self.shares[i]:.0%})" for i in order[1:4])
        return f"{what} in {self.shares[order[0]]:.0%} of the draws of the guess; in others it is {others}."


def settling(pulls: Ints, times: Ints) -> tuple[float, int]:
    """When one run settles (nan: not), and on which arm, from its pulls at `times`, (times, arms).

    Settled by the pulls between `t` and `2 t`, not by all that are left: otherwise every policy would look settled at
    once on a horizon that is long enough.
    """
    horizon = int(times[-1])
    starts, before = np.append(0, times[:-1]), np.vstack([np.zeros_like(pulls[:1]), pulls[:-1]])
    choice = int((pulls[-1] - before[np.searchsorted(starts, LAST * horizon, side="right") - 1]).argmax())
    ends = np.searchsorted(times, np.minimum(np.maximum(2 * starts, 1), horizon))
    share = (pulls[ends, choice] - before[:, choice]) / (times[ends] - starts)
    restless = np.flatnonzero(share < STEADY)
    at = int(restless[-1]) + 1 if len(restless) else 0
    found = at < len(starts) and starts[at] <= LAST * horizon
    return float(starts[at]) if found else math.nan, choice
