"""The upper bound of FT-UCB (Theorem H.1), and the lemmas behind it.

The theorem as printed forgets one term of the quality regret: FT-UCB pulls every arm once before it chooses, and
the pulls of dearer infeasible arms, `sum of Delta_Q,i^+ over i > a*`, are in the proof up to its last but two
lines and then gone. Without it the printed bound is too small wherever many dearer arms are infeasible. It is
the term `high_cost_initial` here.
"""

from __future__ import annotations

import math

import numpy as np

from satisfice.bounds.layout import Layout
from satisfice.bounds.terms import Bound, largest, term, times
from satisfice.problem import Instance

EXCLUDED = math.pi**2 / 6  # expected steps at which the optimal arm's UCB is below mu_0, at most


def ft_ucb(instance: Instance, layout: Layout, horizon: int) -> Bound:
    """The bound of FT-UCB.

    Lemma H.2 holds for every infeasible arm that is not dearer than `a*`, also at the same cost.
    """
    low, high, gaps = layout.low, layout.high, layout.quality_gaps
    log = math.log(horizon)
    no_low = "every arm that is not dearer than the optimal one is feasible"
    no_high = "no arm is dearer than the optimal one"
    no_infeasible = "no arm that is dearer than the optimal one is infeasible"
    initial, excluded = "dearer arms, pulled once each at the start", "while the optimal arm's UCB is below mu_0"
    cost = (
        term("high_cost_initial", initial, float(layout.cost_gaps[high].sum()), absent=no_high, infinite=""),
        term(
            "optimal_excluded",
            excluded,
            times(largest(layout.cost_gaps[high]), EXCLUDED),
            absent=no_high,
            infinite="",
        ),
    )
    quality = (
        term(
            "low_cost_logarithmic",
            "cheaper arms, until their UCB falls below mu_0",
            sum(8 * log / float(gaps[i]) for i in low),
            absent=no_low if not low else "log T is 0 at a horizon of 1",
            infinite="",
        ),
        term(
            "low_cost_constant",
            "cheaper arms, first pull and misjudgement",
            (1 + EXCLUDED) * float(gaps[low].sum()),
            absent=no_low,
            infinite="",
        ),
        term("optimal_excluded", excluded, EXCLUDED * float(gaps.max()), absent="every arm is feasible", infinite=""),
        term("high_cost_initial", initial, float(gaps[high].sum()), absent=no_infeasible, infinite=""),
    )
    pulls = np.full(instance.arms, float(horizon))
    reasons = ["as cheap as the optimal arm and feasible: every pull may be its own"] * instance.arms
    reasons[layout.optimal] = "the optimal arm: every pull may be its own"
    for i in low:
        pulls[i] = 8 * log / gaps[i] ** 2 + 1 + 2 * EXCLUDED
        reasons[i] = ""
    for i in high:
        pulls[i] = 1 + EXCLUDED
        reasons[i] = "after the first pull, shared by all dearer arms"
    return Bound(cost, quality, pulls, tuple(reasons))
