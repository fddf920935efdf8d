"""What every bound needs to know about an instance: who is optimal, cheaper, dearer, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satisfice.errors import NoFeasibleArm
from satisfice.policies.contract import arrange
from satisfice.problem import TOLERANCE, Floats, Instance, Setting


@dataclass(frozen=True)
class Layout:
    """The arms as the paper sees them. Indices are the caller's; lists are in ascending order of cost."""

    optimal: int  # a*
    reference: int | None  # ell with a known reference arm, i* with the subsidized best reward
    low: list[int]  # before a*; with a fixed threshold, every infeasible arm that is not dearer than a*
    high: list[int]  # after a*, without the reference; with a fixed threshold, every dearer arm
    pruned: list[int]  # dearer than a known reference arm: never played
    gaps: Floats  # Delta_Q,i = mu_CS - mu_i with its sign; exactly 0 where it is 0 up to rounding
    cost_gaps: Floats  # clipped at zero
    quality_gaps: Floats  # clipped at zero
    conventional: Floats  # Delta_i = mu* - mu_i; exactly 0 where it is 0 up to rounding


def lay_out(instance: Instance, setting: Setting) -> Layout:
    """The layout of an instance in a setting; ties in cost are in the order in which the policies see them."""
    instance = instance.steady()
    order = [int(i) for i in arrange(instance.costs, setting, instance.names)]
    setting.optimal_arm(instance)  # raises when no arm is feasible
    feasible = setting.feasible(instance)
    position = next((p for p, i in enumerate(order) if feasible[i]), None)
    if position is None:
        raise NoFeasibleArm(
            f"no arm of {instance.label!r} that is not dearer than the reference arm reaches the threshold "
            f"{setting.threshold(instance):g}: a share alpha has no meaning for a negative mean"
        )
    low, high = order[:position], order[position + 1 :]
    reference = reference_arm(instance, setting)
    if reference is None:
        # Without a reference there are no episodes: FT-UCB chooses among equal costs by the larger UCB.
        price = instance.costs[order[position]]
        low = [i for i in order if instance.costs[i] <= price and not feasible[i]]
        high = [i for i in order if instance.costs[i] > price]
    return Layout(
        optimal=order[position],
        reference=reference,
        low=low,
        high=[i for i in high if i != reference],
        pruned=sorted(set(range(instance.arms)) - set(order)),
        gaps=snap(setting.threshold(instance) - instance.means),
        cost_gaps=setting.cost_gaps(instance),
        quality_gaps=setting.quality_gaps(instance),
        conventional=snap(instance.means.max() - instance.means),
    )


def reference_arm(instance: Instance, setting: Setting) -> int | None:
    """The arm that the threshold comes from: `ell`, or `i*`, the cheapest of the best arms (the first of equals)."""
    if setting.reference is not None:
        return instance.index(setting.reference)
    if setting.fixed:
        return None
    best = np.flatnonzero(instance.means >= instance.means.max() - TOLERANCE)
    return int(best[np.argmin(instance.costs[best])])


def snap(gaps: Floats) -> Floats:
    """The gaps, with those that differ from 0 by rounding alone set to 0."""
    return np.where(np.abs(gaps) <= TOLERANCE, 0.0, gaps)
