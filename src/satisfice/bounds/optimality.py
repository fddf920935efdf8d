"""When PE-CS is order optimal: which gap drives its upper bound, and which the lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from satisfice.bounds.layout import lay_out
from satisfice.problem import BestReward, Instance


@dataclass(frozen=True)
class OrderOptimality:
    """Whether the bounds of PE-CS agree up to a constant on an instance, and which gap decides.

    `order_optimal` is the paper's class (Remark after Theorem E.5): some arm that is cheaper than `a*` has a
    quality gap of at most `(1 - alpha) Delta_min`. `matched` is wider: it also holds where the gap of `a*` itself
    is the smallest of all, which makes the leading terms of both bounds agree as well.
    """

    order_optimal: bool
    matched: bool
    dominant: str  # "Delta_Q" or "Delta_min": the smaller one, which dominates the upper bound
    delta_min: float  # mu* minus the second best mean; infinite with one arm
    delta_q_cheaper: float  # smallest quality gap of the arms cheaper than a*; infinite when there is none
    delta_q_optimal: float  # |Delta_Q| of a*
    words: str

    def __bool__(self) -> bool:
        return self.order_optimal


def order_optimal(instance: Instance, alpha: float) -> OrderOptimality:
    """Whether the paper shows PE-CS to be order optimal on an instance, and which gap dominates.

    PE-CS first finds the best arm, which takes `1 / Delta_min^2` pulls per `log T`, even where nobody has to know
    which arm is best. The lower bound asks for `1 / Delta_Q,a*^2`, and for `1 / Delta_Q,i^2` of a cheaper arm `i`
    only when that arm cannot be ruled out by the second best arm alone.

    Parameters
    ----------
    instance : Instance
        The arms, in any order.
    alpha : float
        Subsidy factor within [0, 1].

    Raises
    ------
    InvalidSetting
        When alpha is out of range.

    Examples
    --------
    >>> verdict = order_optimal(Instance(costs=[1, 2, 3], means=[0.7, 0.8, 0.9]), alpha=0.2)
    >>> verdict.order_optimal, verdict.dominant
    (True, 'Delta_Q')
    """
    layout = lay_out(instance, BestReward(alpha))
    star, best = layout.reference, layout.optimal
    assert star is not None
    delta_min = min((float(layout.conventional[i]) for i in range(instance.arms) if i != star), default=math.inf)
    cheaper = min((float(layout.gaps[i]) for i in layout.low), default=math.inf)
    own = abs(float(layout.gaps[best]))
    in_class = bool(layout.low) and cheaper <= (1 - alpha) * delta_min
    # Where a* = i* the pulls of the best arm cost nothing, and the gap of a* matters for the dearer arms alone.
    alike = own <= delta_min or not layout.high if best == star else own <= min(delta_min, cheaper)
    matched = alike or (in_class and best != star)
    quality = {i: abs(float(layout.gaps[i])) for i in (*layout.low, *([] if best == star else [best]))}
    nearest = min(quality, key=lambda i: quality[i], default=None)
    gap_q = math.inf if nearest is None else quality[nearest]
    whose = "no arm has one" if nearest is None else f"of {instance.names[nearest]}"
    dominant = "Delta_Q" if gap_q <= delta_min and nearest is not None else "Delta_min"
    smallest = (
        ""
        if instance.arms == 1
        else (
            f"The smallest gap is a quality gap, Delta_Q = {gap_q:.4g} {whose}; Delta_min = {delta_min:.4g}."
            if dominant == "Delta_Q"
            else f"The smallest gap is Delta_min = {delta_min:.4g}, between the two best arms; "
            f"the smallest quality gap is {gap_q:.4g} ({whose})."
        )
    )
    reach = f"(1 - alpha) Delta_min = {(1 - alpha) * delta_min:.4g}"
    if instance.arms == 1:
        verdict = "Nothing to learn: there is one arm."
    elif in_class:
        verdict = (
            f"The nearest cheaper arm misses the threshold by {cheaper:.4g}, at most {reach}: only the best arm can "
            "rule it out, so knowing the best arm is worth its price. The paper shows PE-CS to be order optimal here."
        )
    elif layout.low:
        verdict = (
            f"The nearest cheaper arm misses the threshold by {cheaper:.4g}, more than {reach}: the second best arm is "
            "enough to rule it out. Not in the class for which the paper shows PE-CS to be order optimal."
        )
    else:
        verdict = (
            "No arm is cheaper than the optimal one, so there is nothing to rule out. "
            "Not in the class for which the paper shows PE-CS to be order optimal."
        )
    if matched and not in_class and instance.arms > 1:
        verdict += " The leading terms of its two bounds agree all the same."
    elif in_class and not matched:
        verdict += " That is about pulls of the best arm, which is optimal here; for dearer arms the bounds differ."
    return OrderOptimality(in_class, matched, dominant, delta_min, cheaper, own, f"{smallest} {verdict}".strip())
