"""The paper's theory as code: upper bounds, lower bounds, divergences, and when PE-CS is order optimal."""

from satisfice.bounds.bayes_optimum import BayesOptimum, bayes
from satisfice.bounds.divergences import d_inf, d_inf_twin, kl_bernoulli, kl_gaussian
from satisfice.bounds.lower_bound import LowerBound, lower
from satisfice.bounds.optimality import OrderOptimality, order_optimal
from satisfice.bounds.program import RegretBound, regret
from satisfice.bounds.upper_bound import UpperBound, upper

__all__ = [
    "BayesOptimum",
    "LowerBound",
    "OrderOptimality",
    "RegretBound",
    "UpperBound",
    "bayes",
    "d_inf",
    "d_inf_twin",
    "kl_bernoulli",
    "kl_gaussian",
    "lower",
    "order_optimal",
    "regret",
    "upper",
]
