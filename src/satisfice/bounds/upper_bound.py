"""Upper bounds on regret and pulls: the paper's theorems for PE, PE-CS and FT-UCB."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from satisfice.bounds.layout import Layout, lay_out
from satisfice.bounds.terms import Term
from satisfice.bounds.theorems.elimination import pe, pe_cs
from satisfice.bounds.theorems.fixed_threshold import ft_ucb
from satisfice.errors import InvalidPolicy
from satisfice.limits import MAX_HORIZON, whole
from satisfice.policies import Policy, get_policy
from satisfice.problem import Floats, Instance, Setting
from satisfice.tables import html

THEOREMS = {
    "pe": "Theorem 3.2 (instance dependent upper bound for PE)",
    "asymmetric-pe": "Theorem 3.2 (instance dependent upper bound for PE), with kappa as in Appendix F",
    "pe-cs": "Theorem 3.4 (instance dependent upper bound for PE-CS)",
    "ft-ucb": "Theorem H.1 (instance dependent upper bound for FT-UCB), with the term that its last lines drop",
}


@dataclass(frozen=True)
class UpperBound:
    """What a theorem promises on one instance, in the caller's order of arms.

    `cost_regret` and `quality_regret` are the theorem's numbers, the sums of their terms; infinite where a gap
    is zero. No policy can do worse than `trivial_cost_regret` and `trivial_quality_regret`, the horizon times the
    largest gap of an arm that is played: a theorem above them is true and says nothing.
    """

    policy: str
    theorem: str
    horizon: int
    cost_terms: tuple[Term, ...]
    quality_terms: tuple[Term, ...]
    pulls: Floats  # (arms,) bound on the expected pulls, from the lemmas; may exceed the horizon
    roles: tuple[str, ...]  # (arms,)
    reasons: tuple[str, ...]  # (arms,) why a bound on pulls is infinite, shared or the horizon; "" otherwise
    trivial_cost_regret: float
    trivial_quality_regret: float
    caveat: str = ""  # why the theorem does not apply; every term with a gap is then infinite

    def _repr_html_(self) -> str:
        """The regrets, term by term, in a notebook."""
        rows = [("regret", "term", "at most", "what it is")]
        for kind, total, terms in (
            ("cost", self.cost_regret, self.cost_terms),
            ("quality", self.quality_regret, self.quality_terms),
        ):
            rows.append((kind, "in all", f"{total:,.4g}", ""))
            rows += [("", term.name, f"{term.value:,.4g}", term.reason or term.meaning) for term in terms]
        return html(rows, f"{self.theorem}: {self.policy}, {self.horizon:,} pulls", self.caveat)

    @property
    def cost_regret(self) -> float:
        """Bound on the expected cost regret."""
        return sum(term.value for term in self.cost_terms)

    @property
    def quality_regret(self) -> float:
        """Bound on the expected quality regret."""
        return sum(term.value for term in self.quality_terms)

    def term(self, name: str) -> Term:
        """A term by name: `"cost.later_episodes"`, `"quality.low_cost_nominal"`."""
        terms = {f"cost.{one.name}": one for one in self.cost_terms}
        terms |= {f"quality.{one.name}": one for one in self.quality_terms}
        if name not in terms:
            raise KeyError(f"there is no term {name!r}; the terms are {', '.join(terms)}")
        return terms[name]


def upper(policy: str | Policy | type[Policy], instance: Instance, setting: Setting, horizon: float) -> UpperBound:
    """The paper's upper bound on the expected regrets and pulls of a policy.

    Parameters
    ----------
    policy : str, Policy or class
        "pe", "asymmetric-pe", "pe-cs" or "ft-ucb"; `kappa` counts ("pe-cs(kappa=5)", `sf.PECS(kappa=5)`).
    instance : Instance
        The arms, in any order.
    setting : Setting
        The one that the policy serves.
    horizon : float
        Number of pulls, a whole number of at least 1; `5e6` is accepted.

    Returns
    -------
    UpperBound
        Regrets, their terms by name, and a bound on the expected pulls of every arm. Where a gap is zero the
        result is infinite and says so; where a term does not exist it is 0 and says so.

    Raises
    ------
    InvalidPolicy
        When the paper has no bound for the policy, or the policy does not serve the setting.
    InvalidRun
        When the horizon is not a whole number of at least 1.
    NoFeasibleArm
        When no arm reaches a fixed threshold.

    Examples
    --------
    >>> from satisfice import Instance, ReferenceArm
    >>> instance = Instance(costs=[1, 2, 4], means=[0.4, 0.9, 0.8], names=["a", "b", "ell"])
    >>> bound = upper("pe", instance, ReferenceArm("ell", alpha=0.25), horizon=10_000)
    >>> round(bound.quality_regret), round(bound.pulls[0])
    (1174, 5869)
    """
    chosen = get_policy(policy)
    if chosen.id not in THEOREMS:
        raise InvalidPolicy(f"the paper has no upper bound for {chosen.id}; it has one for {', '.join(THEOREMS)}")
    steps = whole("horizon", horizon, 1, MAX_HORIZON)
    chosen.check(setting, steps, instance.bounded)
    layout = lay_out(instance, setting)
    kappa = int(chosen.params.get("kappa", 0))
    if chosen.id == "ft-ucb":
        proof = ft_ucb(instance, layout, steps)
    elif chosen.id == "pe-cs":
        proof = pe_cs(instance, layout, steps, kappa=kappa)
    else:
        proof = pe(instance, layout, steps, kappa=kappa)
    played = [i for i in range(instance.arms) if i not in layout.pruned]
    bound = UpperBound(
        policy=chosen.label,
        theorem=THEOREMS[chosen.id],
        horizon=steps,
        cost_terms=proof.cost,
        quality_terms=proof.quality,
        pulls=proof.pulls,
        roles=_roles(instance, layout, setting),
        reasons=proof.reasons,
        trivial_cost_regret=steps * float(layout.cost_gaps[played].max()),
        trivial_quality_regret=steps * float(layout.quality_gaps[played].max()),
    )
    caveat = _caveat(instance)
    return _void(bound, caveat) if caveat else bound


def _caveat(instance: Instance) -> str:
    # Hoeffding's inequality as the proofs use it needs rewards that are 1/2-subgaussian.
    if instance.bounded or (instance.reward == "gaussian" and instance.sigma <= 0.5):
        return ""
    found = f"Gaussian with sigma = {instance.sigma:g}" if instance.reward == "gaussian" else "on a wider scale"
    return f"the theorem is for rewards within [0, 1] (or Gaussian with sigma of at most 0.5); these are {found}"


def _void(bound: UpperBound, caveat: str) -> UpperBound:
    def without_promise(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(replace(one, value=math.inf, reason=caveat) if one.value > 0 else one for one in terms)

    lost = (bound.pulls > 0) & (bound.pulls != bound.horizon)  # the optimal arm's bound, the horizon, stays true
    return replace(
        bound,
        cost_terms=without_promise(bound.cost_terms),
        quality_terms=without_promise(bound.quality_terms),
        pulls=np.where(lost, math.inf, bound.pulls),
        reasons=tuple(caveat if gone else why for gone, why in zip(lost, bound.reasons, strict=True)),
        caveat=caveat,
    )


def _roles(instance: Instance, layout: Layout, setting: Setting) -> tuple[str, ...]:
    roles = ["tied"] * instance.arms
    for role, arms in (("low-cost", layout.low), ("high-cost", layout.high), ("pruned", layout.pruned)):
        for i in arms:
            roles[i] = role
    if layout.reference is not None:
        roles[layout.reference] = setting.kind
    roles[layout.optimal] = "optimal"
    return tuple(roles)
