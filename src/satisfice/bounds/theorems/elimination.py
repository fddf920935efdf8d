"""The upper bounds of PE (Theorem 3.2) and PE-CS (Theorem 3.4), and the lemmas behind them.

Both proofs give an arm `1 + 32 log(T Delta^2) / Delta^2` pulls when all goes well, and charge the whole
horizon for what goes wrong, with a probability of a constant over `T Delta^2`.

The logarithm is negative when `Delta < 1 / sqrt(T)`; the theorems do not say what they mean there. Here it is
clipped at zero. That is safe: wherever it is clipped, the constant over `Delta^2` of the same bound is already
beyond the horizon. Gaps beyond 4, possible with Gaussian means only, count as 4, since the first round resolves
a gap of 1 and costs `2 log T` pulls however large the gap.
"""

from __future__ import annotations

import math

import numpy as np

from satisfice.bounds.layout import Layout
from satisfice.bounds.terms import Bound, Term, largest, term, times
from satisfice.problem import Floats, Instance

IMPROPER = 11  # of BAI losing the best arm, over T Delta_min^2 (Lemma G.2)
UNRESOLVED = 32  # of a pair not being decided by its round, over T Delta^2
LARGEST_GAP = 4.0


def mistermination(kappa: int) -> float:
    """The constant 43 of both theorems, for any `kappa`.

    The appendix has `32 + 16 (4^kappa + 1) / 3` before it sets `kappa` to 0; rounded up as there, the second
    part is then 11.
    """
    # Beyond 4^500 the constant outgrows a float; it outgrew every horizon long before.
    return UNRESOLVED + float(math.ceil(16 * (4.0 ** min(kappa, 500) + 1) / 3))


def over_square(constant: float, gap: float) -> float:
    """`constant / gap^2`, infinite for a gap of 0."""
    return math.inf if gap == 0 else constant / min(abs(gap), LARGEST_GAP) ** 2


def nominal(gap: float, horizon: int) -> float:
    """`32 log(T Delta^2) / Delta^2`, the logarithm clipped at zero; infinite for a gap of 0."""
    if gap == 0:
        return math.inf
    size = min(abs(gap), LARGEST_GAP)
    return 32 * max(math.log(horizon * size * size), 0.0) / size**2


def pe(instance: Instance, layout: Layout, horizon: int, *, kappa: int) -> Bound:
    """The bound of PE, and of Asymmetric-PE with its kappa."""
    ell, best = layout.reference, layout.optimal
    assert ell is not None
    names, gaps = instance.names, layout.gaps
    wrong = mistermination(kappa)
    decided = [*layout.low, *([] if best == ell else [best])]
    slip = 0.0 if best == ell else over_square(wrong, gaps[best])
    no_episode = f"the optimal arm is the reference arm {names[ell]} itself, and no arm that is played is dearer"
    same_cost = f"the reference arm {names[ell]} is as cheap as the optimal arm {names[best]}"
    tie = f"the optimal arm {names[best]} is exactly on the threshold: its quality gap is 0"
    no_low = "no arm is cheaper than the optimal one"

    longest = largest(nominal(gaps[i], horizon) for i in decided)
    slips = sum(over_square(wrong, gaps[i]) for i in decided)
    dearer = largest(layout.cost_gaps[i] for i in (*layout.high, ell))
    absent = no_episode if best == ell else same_cost
    cost = (
        term(
            "reference_nominal",
            "reference arm, when episode a* ends as it should",
            times(layout.cost_gaps[ell], 1 + longest),
            absent=absent,
            infinite=tie,
        ),
        term(
            "reference_mistermination",
            "reference arm, when an episode up to a* ends wrongly",
            times(layout.cost_gaps[ell], slips),
            absent=absent,
            infinite=tie,
        ),
        term(
            "later_episodes",
            "episodes after a*, when episode a* ends wrongly",
            times(dearer, slip),
            absent=no_episode if best == ell else "no arm that is played is dearer than the optimal one",
            infinite=tie,
        ),
    )
    quality = (
        *_low_quality(layout, horizon, wrong, absent=no_low),
        term(
            "later_episodes",
            "episodes after a*, when episode a* ends wrongly",
            times(largest(layout.quality_gaps[i] for i in layout.high), slip),
            absent=no_episode if best == ell else "no arm between the optimal and the reference arm is infeasible",
            infinite=tie,
        ),
    )
    pulls = np.zeros(instance.arms)
    reasons = [""] * instance.arms
    for i in layout.low:
        pulls[i] = 1 + nominal(gaps[i], horizon) + over_square(wrong, gaps[i])
    for i in layout.high:
        pulls[i] = slip
        reasons[i] = tie if math.isinf(slip) else "shared by all dearer arms but the reference"
    for i in layout.pruned:
        reasons[i] = f"dearer than the reference arm {names[ell]}: never played"
    pulls[ell] = 1 + longest + slips + slip
    reasons[ell] = tie if math.isinf(pulls[ell]) else ""
    _everything(pulls, reasons, best, horizon)
    return Bound(cost, quality, pulls, tuple(reasons))


def pe_cs(instance: Instance, layout: Layout, horizon: int, *, kappa: int) -> Bound:
    """The bound of PE-CS."""
    star, best = layout.reference, layout.optimal
    assert star is not None
    names, gaps, delta = instance.names, layout.gaps, layout.conventional
    wrong = mistermination(kappa)
    others = [i for i in range(instance.arms) if i != star]
    delta_min = min((float(delta[i]) for i in others), default=math.inf)
    improper = sum((over_square(UNRESOLVED, delta[i]) for i in others), over_square(IMPROPER, delta_min))
    # Without an episode a* it cannot end wrongly.
    slip = 0.0 if best == star else over_square(UNRESOLVED, delta[best]) + over_square(wrong, gaps[best])
    decided = [*layout.low, *([] if best == star else [best])]
    rival = next((names[i] for i in others if delta[i] == 0), "")
    no_episode = f"the optimal arm is the best arm {names[star]} itself: there is no episode a*"
    tie = (
        f"{names[star]} and {rival} share the best mean: the smallest conventional gap is 0"
        if rival
        else f"the optimal arm {names[best]} is exactly on the threshold: its quality gap is 0"
    )
    no_low = "no arm is cheaper than the optimal one"
    no_dear = "no arm is dearer than the optimal one"
    no_cost = no_episode if best == star else f"the best arm {names[star]} is as cheap as {names[best]}"

    longest = largest([nominal(delta_min, horizon) if others else 0.0, *(nominal(gaps[i], horizon) for i in decided)])
    slips = sum((over_square(wrong, gaps[i]) for i in layout.low), slip)
    dear = [*layout.high, *([] if best == star else [star])]
    bai = "an improper end of the best arm identification"
    cost = (
        term(
            "best_nominal",
            "best arm, when episode a* ends as it should",
            times(layout.cost_gaps[star], 1 + longest),
            absent=no_cost,
            infinite=tie,
        ),
        term(
            "best_mistermination",
            "best arm, when an episode up to a* ends wrongly",
            times(layout.cost_gaps[star], slips),
            absent=no_cost,
            infinite=tie,
        ),
        term(
            "later_episodes",
            "episodes after a*, when episode a* ends wrongly",
            times(largest(layout.cost_gaps[i] for i in dear), slip),
            absent=no_episode if best == star else no_dear,
            infinite=tie,
        ),
        term(
            "high_cost_identification",
            "dearer arms during a proper best arm identification",
            sum(times(layout.cost_gaps[i], 1 + nominal(delta[i], horizon)) for i in layout.high),
            absent="no arm but the best one is dearer than the optimal one",
            infinite=tie,
        ),
        term(
            "improper_identification",
            bai,
            times(float(layout.cost_gaps.max()), improper),
            absent=no_dear,
            infinite=tie,
        ),
    )
    none_infeasible = "no arm that is dearer than the optimal one is infeasible"
    quality = (
        *_low_quality(layout, horizon, wrong, absent=no_low),
        term(
            "later_episodes",
            "episodes after a*, when episode a* ends wrongly",
            times(largest(layout.quality_gaps[i] for i in dear), slip),
            absent=no_episode if best == star else none_infeasible,
            infinite=tie,
        ),
        term(
            "high_cost_identification",
            "dearer arms during a proper best arm identification",
            sum(times(layout.quality_gaps[i], 1 + nominal(delta[i], horizon)) for i in layout.high),
            absent=none_infeasible,
            infinite=tie,
        ),
        term(
            "improper_identification",
            bai,
            times(float(layout.quality_gaps.max()), improper),
            absent="every arm is feasible",
            infinite=tie,
        ),
    )
    pulls = np.zeros(instance.arms)
    for i in layout.low:
        pulls[i] = 1 + nominal(gaps[i], horizon) + over_square(wrong, gaps[i]) + improper
    for i in layout.high:
        pulls[i] = 1 + nominal(delta[i], horizon) + slip + improper
    pulls[star] = 1 + longest + slips + slip + improper
    reasons = [tie if math.isinf(value) else "" for value in pulls]
    _everything(pulls, reasons, best, horizon)
    return Bound(cost, quality, pulls, tuple(reasons))


def _low_quality(layout: Layout, horizon: int, wrong: float, *, absent: str) -> tuple[Term, Term]:
    # Cheaper arms are infeasible, so their gaps are positive and neither term is ever infinite.
    gaps = [float(layout.gaps[i]) for i in layout.low]
    return (
        term(
            "low_cost_nominal",
            "cheaper arms, when episode a* ends as it should",
            sum(gap * (1 + nominal(gap, horizon)) for gap in gaps),
            absent=absent,
            infinite="",
        ),
        term(
            "low_cost_mistermination",
            "cheaper arms, when an episode up to a* ends wrongly",
            sum(gap * over_square(wrong, gap) for gap in gaps),
            absent=absent,
            infinite="",
        ),
    )


def _everything(pulls: Floats, reasons: list[str], best: int, horizon: int) -> None:
    pulls[best] = horizon
    reasons[best] = "the optimal arm: every pull may be its own"
