"""The paper's theory as code: upper bounds, lower bounds, divergences, and when PE-CS is order optimal."""

from satisfice.bounds.divergences import d_inf, d_inf_twin, kl_bernoulli, kl_gaussian
from satisfice.bounds.lower import LowerBound, lower
from satisfice.bounds.order import OrderOptimality, order_optimal
from satisfice.bounds.upper import UpperBound, upper

__all__ = [
    "LowerBound",
    "OrderOptimality",
    "UpperBound",
    "d_inf",
    "d_inf_twin",
    "kl_bernoulli",
    "kl_gaussian",
    "lower",
    "order_optimal",
    "upper",
]
