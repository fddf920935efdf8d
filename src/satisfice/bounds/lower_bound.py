"""Lower bounds: pulls per log T that no consistent policy can avoid, in the three settings.

A policy is consistent when it pulls every suboptimal arm fewer than any power of `T` times, on every instance.
If changing the distribution of one arm alone would change which arm is optimal, such a policy must pull that arm
often enough to notice: `1 / KL` times `log T`, for the cheapest such change (Appendix E).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satisfice.bounds.divergences import Family, check_family, check_sigma, d_inf, d_inf_twin
from satisfice.bounds.layout import reference_arm, snap
from satisfice.bounds.terms import Term, largest, times
from satisfice.errors import InvalidInstance
from satisfice.problem import TOLERANCE, Floats, Instance, Setting
from satisfice.tables import html


@dataclass(frozen=True)
class LowerBound:
    """Lower bounds for every consistent policy, as `T` grows, in the caller's order of arms."""

    family: Family
    sigma: float  # of the Gaussian family; nan for Bernoulli
    pulls: Floats  # (arms,) lim inf of E[n_i] / log T is at least this
    roles: tuple[str, ...]  # (arms,)
    reasons: tuple[str, ...]  # (arms,) why a bound is 0 or infinite; "" otherwise
    cases: tuple[Term, ...]  # the two ways in which the reference or best arm could change the answer
    cost_regret: float  # per log T, implied by the pulls
    quality_regret: float  # per log T, implied by the pulls

    def _repr_html_(self) -> str:
        """The pulls of every arm and both regrets, in a notebook."""
        rows = [("arm", "role", "pulls per log T")]
        rows += [(str(i), role, f"{self.pulls[i]:.4g}") for i, role in enumerate(self.roles)]
        regrets = f"cost regret {self.cost_regret:.4g}, quality regret {self.quality_regret:.4g} per log T"
        return html(rows, f"{self.family} rewards: {regrets}")


def lower(instance: Instance, setting: Setting, family: Family | None = None, sigma: float | None = None) -> LowerBound:
    """Pulls of every arm, per log T, that no consistent policy can avoid; and the regrets they imply.

    Parameters
    ----------
    instance : Instance
        The arms, in any order.
    setting : Setting
        Any of the three (Theorems E.1 and E.2, E.3 to E.5, E.6; with Gaussian rewards Theorems 3.1 and 3.3).
    family : {"bernoulli", "gaussian"}, optional
        The family that the rewards are known to belong to; the instance's own reward model by default.
    sigma : float, optional
        Standard deviation of the Gaussian family: the instance's by default, or 1 as in the paper.

    Returns
    -------
    LowerBound
        Asymptotic: it says nothing about a short horizon.

    Raises
    ------
    InvalidInstance
        When the family is unknown or does not contain the instance, or must be named (categorical rewards).
    NoFeasibleArm
        When no arm reaches a fixed threshold.

    Notes
    -----
    The theorems assume distinct costs. Here an arm is cheap when it costs strictly less than `a*`. Feasible arms of
    the same cost as `a*` are as good as `a*`, so a change counts only when it takes the place of all of them.

    Examples
    --------
    >>> from satisfice import BestReward, Instance
    >>> instance = Instance(costs=[1, 2, 3], means=[0.3, 0.7, 0.8])
    >>> lower(instance, BestReward(alpha=0.25), family="gaussian").pulls.round(2).tolist()
    [22.22, inf, 112.5]
    """
    kind, spread = known_family(instance.steady(), family, sigma)
    view = _View(instance, setting, kind, spread)
    pulls, reasons, roles = np.zeros(instance.arms), [""] * instance.arms, ["high-cost"] * instance.arms
    cases: tuple[Term, ...] = ()
    for i in range(instance.arms):
        pulls[i], reasons[i] = view.high(i) if view.is_best else (0.0, NO_HIGH)
        if instance.costs[i] < view.price:
            roles[i] = "low-cost"
            pulls[i], reasons[i] = view.low(i)
        elif i in view.optimal:
            roles[i] = "tied"
            pulls[i], reasons[i] = 0.0, "feasible and as cheap as the optimal arm: nobody needs to pull it"
    if view.reference is not None:
        roles[view.reference] = setting.kind
        if view.reference not in view.optimal:
            cases = view.reference_cases()
            pulls[view.reference] = largest(case.value for case in cases)
            ends = [case.reason for case in cases if case.value == pulls[view.reference]]
            reasons[view.reference] = "; ".join(ends) if pulls[view.reference] in (0.0, math.inf) else ""
    best = setting.optimal_arm(instance)
    roles[best], pulls[best] = "optimal", math.inf
    reasons[best] = "the optimal arm: pulled all but o(T) times"
    return LowerBound(
        family=kind,
        sigma=spread if kind == "gaussian" else math.nan,
        pulls=pulls,
        roles=tuple(roles),
        reasons=tuple(reasons),
        cases=cases,
        cost_regret=sum(map(times, setting.cost_gaps(instance).tolist(), pulls.tolist())),
        quality_regret=sum(map(times, setting.quality_gaps(instance).tolist(), pulls.tolist())),
    )


def known_family(instance: Instance, family: Family | None, sigma: float | None) -> tuple[Family, float]:
    """The family that the rewards are known to belong to, and its standard deviation: see `lower`."""
    chosen = family or instance.reward
    if chosen == "categorical":
        raise InvalidInstance("the lower bound of a categorical instance needs a family: bernoulli or gaussian")
    check_family(chosen)
    kind: Family = "bernoulli" if chosen == "bernoulli" else "gaussian"
    means = instance.means
    if kind == "bernoulli" and not np.all((means >= 0) & (means <= 1)):
        raise InvalidInstance(f"the Bernoulli family has means within [0, 1]; the means are {means.tolist()}")
    return kind, check_sigma(sigma if sigma is not None else instance.sigma if instance.reward == "gaussian" else 1.0)


NO_HIGH = "dearer than the optimal arm: a constant number of pulls can do"


class _View:
    """The numbers that the theorems of one setting share."""

    def __init__(self, instance: Instance, setting: Setting, family: Family, sigma: float) -> None:
        self.instance, self.family, self.sigma = instance, family, sigma
        self.means = instance.means
        best = setting.optimal_arm(instance)
        self.price = float(instance.costs[best])
        feasible = setting.feasible(instance)
        self.optimal = [i for i in range(instance.arms) if feasible[i] and instance.costs[i] == self.price]
        self.threshold = setting.threshold(instance)
        self.keep = 1 - setting.alpha
        self.is_best = setting.kind == "best"
        self.reference = reference_arm(instance, setting)
        # mu_a* / (1 - alpha): the mean beyond which a reference makes every optimal arm infeasible.
        self.displacing = self._scaled(float(self.means[self.optimal].max()))

    def low(self, i: int) -> tuple[float, str]:
        """Theorems E.1, E.3 and E.6: a cheap arm that were feasible would be optimal."""
        mean = float(self.means[i])
        value = _inverse(d_inf(self.family, mean, self.threshold, self.sigma))
        return value, "" if value else f"no {self.family} arm has a mean above {self.threshold:.4g}"

    def high(self, i: int) -> tuple[float, str]:
        """Theorem E.4: an arm so good that `a*` would no longer be feasible."""
        mean = float(self.means[i])
        value = _inverse(d_inf(self.family, mean, self._snapped(self.displacing, mean), self.sigma))
        if math.isinf(value):
            return value, "the optimal arm is exactly on the threshold: any better arm would displace it"
        return value, "" if value else self._cannot_displace()

    def reference_cases(self) -> tuple[Term, ...]:
        """Theorems E.2 and E.5: the reference raised until `a*` fails, or lowered until a cheaper arm passes."""
        assert self.reference is not None
        mean = float(self.means[self.reference])
        value = _inverse(d_inf(self.family, mean, self._snapped(self.displacing, mean), self.sigma))
        exact = "the optimal arm is exactly on the threshold: the least change of the reference displaces it"
        raised = Term(
            "raised",
            value,
            "were the reference's mean higher, the optimal arm would not be feasible",
            exact if math.isinf(value) else "" if value else self._cannot_displace(),
        )
        meaning = "were the reference's mean lower, a cheaper arm would be feasible"
        cheap = [i for i in range(self.instance.arms) if self.instance.costs[i] < self.price]
        if not cheap:
            return raised, Term("lowered", 0.0, meaning, "no arm is cheaper than the optimal one")
        rival = float(self.means[cheap].max())  # mu_j of Theorem E.5; in Theorem E.2 it attains the maximum
        if self.is_best:
            second = float(np.delete(self.means, self.reference).max())
            if rival < self.keep * second - TOLERANCE:
                why = (
                    f"the best cheaper mean, {rival:.4g}, is below (1 - alpha) times the second best mean, "
                    f"{self.keep * second:.4g}: no change of the best arm alone makes it feasible"
                )
                return raised, Term("lowered", 0.0, meaning, why)
        value = _inverse(d_inf_twin(self.family, mean, self._scaled(rival), self.sigma))
        why = "" if value else f"no {self.family} mean is low enough"
        return raised, Term("lowered", value, meaning, why)

    def _scaled(self, mean: float) -> float:
        if self.keep == 0:
            return math.inf if mean >= 0 else -math.inf
        return mean / self.keep

    def _snapped(self, x: float, mean: float) -> float:
        return mean if math.isfinite(x) and snap(np.array(x - mean)) == 0 else x

    def _cannot_displace(self) -> str:
        return (
            f"no {self.family} mean is above {self.displacing:.4g}, as it would have to be to displace the optimal arm"
        )


def _inverse(divergence: float) -> float:
    return math.inf if divergence == 0 else 1 / divergence
