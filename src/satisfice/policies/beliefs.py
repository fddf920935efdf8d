"""What GLR believes and what it weighs: beliefs about means, the price of evidence, and what is at stake.

Beliefs are normal approximations on the scale of the likelihood ratio: the signed root `u` of `2 Z` is taken as
standard normal, which is exact enough also for means near 0 and 1, and knows that no mean is above 1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.contract import Problem, State
from satisfice.statistics import evidence, kl

Table = NDArray[np.float64]

# The parameters, in the order of the fields of GLR.
DELTA, PATIENCE, EXCHANGE, GROWTH, SIGMA = 0, 1, 2, 3, 4
# Columns of the table of beliefs, one row per arm: pulls and mean with the prior counted in, variance of the belief
# about the mean, expected regret of one pull, probability to be feasible, and the extra cost of passing it over.
# The last two are room for one candidate's comparison with every arm: signed root and expected loss per pull.
N, MEAN, VAR, PRICE, FEASIBLE, NEXT, ROOT, LOSS, COLUMNS = 0, 1, 2, 3, 4, 5, 6, 7, 8
# Even a pull without regret takes time; this keeps prices above 0.
FREE = 1e-4


def normal_cdf(x: float) -> float:
    """Distribution function of the standard normal law."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def excess(u: float) -> float:
    """`E[(u + X)^+]` for a standard normal `X`."""
    if u < -8.0:
        return 0.0
    return u * normal_cdf(u) + math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)


def noise(problem: Problem) -> float:
    """`sigma` as the statistics want it: 0 for rewards within [0, 1]."""
    if problem.bounded:
        return 0.0
    return problem.params[SIGMA] if problem.params[SIGMA] > 0.0 else max(problem.sigma, 1e-100)


def opponents(problem: Problem) -> tuple[int, int]:
    """The range of arms that may prove an arm infeasible; the number of arms stands for a fixed threshold."""
    arms = len(problem.costs)
    if problem.bounded and (problem.alpha == 1.0 or problem.mu0 <= 0.0):
        return 0, 0  # every mean reaches a threshold of 0
    if problem.reference >= 0:
        return problem.reference, problem.reference + 1
    return (0, arms) if math.isnan(problem.mu0) else (arms, arms + 1)


def root(problem: Problem, table: Table, i: int, j: int) -> float:
    """Signed root `sqrt(2 Z)` of the evidence: by how many standard deviations arm `i` looks infeasible against `j`."""
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    if j == len(problem.costs):
        z = table[i, N] * kl(table[i, MEAN], problem.mu0, sigma)
        bar = problem.mu0
    else:
        z = evidence(table[i, N], table[i, MEAN], table[j, N], table[j, MEAN], scale, sigma)
        bar = scale * table[j, MEAN]
    u = math.sqrt(2.0 * min(z, 1e6))
    return u if table[i, MEAN] < bar else -u


def believe(problem: Problem, state: State) -> tuple[Table, int]:
    """The table of beliefs, and the arm that sets the threshold (the number of arms: a fixed threshold).

    The prior is uniform for rewards within [0, 1], and a tenth of a pull at the mean of all rewards otherwise.
    """
    arms = len(problem.costs)
    table = np.zeros((arms + 1, COLUMNS))
    sigma = noise(problem)
    scale = 1.0 - problem.alpha
    prior, weight = 0.5, 2.0
    if sigma > 0.0:
        prior, weight = state.totals.sum() / max(state.pulls.sum(), 1), 0.1
    fixed = not math.isnan(problem.mu0)
    top = arms if fixed else max(problem.reference, 0)
    for k in range(arms):
        n = state.pulls[k] + weight
        m = (state.totals[k] + prior * weight) / n
        table[k, N], table[k, MEAN] = n, m
        table[k, VAR] = sigma * sigma / n if sigma > 0.0 else m * (1.0 - m) / (n + 1.0)
        if not fixed and problem.reference < 0 and m > table[top, MEAN]:
            top = k
    unit = problem.params[EXCHANGE]
    if unit <= 0.0:
        unit = problem.costs[-1] if problem.costs[-1] > 0.0 else 1.0
    # The chance that arm k is optimal: it is feasible and no cheaper arm is, as if these were independent.
    unsettled, chance, paid = 1.0, 0.0, 0.0
    for k in range(arms):
        cost = problem.costs[k] / unit
        table[k, FEASIBLE] = 1.0
        if k != top:
            u = root(problem, table, k, top)
            table[k, FEASIBLE] = normal_cdf(-u)
            table[k, PRICE] = math.sqrt(table[k, VAR] + scale * scale * table[top, VAR]) * excess(u)
        table[k, PRICE] += max(chance * cost - paid, 0.0) + FREE
        chance += unsettled * table[k, FEASIBLE]
        paid += unsettled * table[k, FEASIBLE] * cost
        unsettled *= 1.0 - table[k, FEASIBLE]
    # Passing over the last arm of a fixed threshold leaves nothing that is good enough: that counts as one unit.
    after = problem.costs[-1] / unit + (1.0 if fixed else 0.0)
    for k in range(arms - 1, -1, -1):
        cost = problem.costs[k] / unit
        table[k, NEXT] = after - cost
        after = table[k, FEASIBLE] * cost + (1.0 - table[k, FEASIBLE]) * after
    return table, top


def offer(problem: Problem, table: Table, i: int, j: int, u: float) -> tuple[float, int]:
    """The price of one more nat of evidence about `i` against `j`, and which of the two arms sells it.

    `Z = gap^2 / (2 (a + b))` with the variances `a` of arm `i` and `b` of `(1 - alpha)` times arm `j`, so a pull of
    `i` adds `Z a / (n_i (a + b))` and one of `j` adds `Z b / (n_j (a + b))`. The expected `Z` is `(u^2 + 1) / 2`.
    """
    scale = 1.0 - problem.alpha
    a, b = table[i, VAR], scale * scale * table[j, VAR]
    nat = 2.0 * (a + b) / (u * u + 1.0)
    price = nat * table[i, PRICE] * table[i, N] / a
    if b > 0.0:
        other = nat * table[j, PRICE] * table[j, N] / b
        if other < price:
            return other, j
    return price, i


def weigh(problem: Problem, table: Table, top: int, left: float, i: int) -> tuple[float, float, float, int, int]:
    """What is at stake with candidate `i` over `left` more pulls.

    Answers with the expected loss of playing it for good, the expected loss of passing it over for good, the
    largest ratio of what evidence about it may save to what one nat of it costs, the arm to pull for that, and
    the opponent that speaks most against it (-1: there is none).
    """
    scale = 1.0 - problem.alpha
    first, last = opponents(problem)
    worst, opponent, most = -math.inf, -1, 0.0
    for j in range(first, last):
        if j != i:
            u = root(problem, table, i, j)
            loss = math.sqrt(table[i, VAR] + scale * scale * table[j, VAR]) * excess(u)
            table[j, ROOT], table[j, LOSS] = u, loss
            most = max(most, loss)
            if u > worst:
                worst, opponent = u, j
    if opponent < 0:
        return 0.0, math.inf, 0.0, i, -1
    go = math.inf if i == top else left * normal_cdf(-worst) * max(table[i, NEXT], 0.0)
    ratio, arm = 0.0, i
    for j in range(first, last):
        if j != i:
            gain = min(left * table[j, LOSS], go)
            price, seller = offer(problem, table, i, j, table[j, ROOT])
            if gain > ratio * price:
                ratio, arm = gain / price, seller
    return left * most, go, ratio, arm, opponent


def remaining(problem: Problem, t: int) -> float:
    """Pulls still to come; without a horizon, as many as there were so far."""
    return float(max(problem.horizon - t, 1)) if problem.horizon > 0 else t + 1.0
