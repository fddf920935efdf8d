"""Cost-Ordered Feasibility, as `satisfice.policies.cof` reads it: one pull at a time."""

from __future__ import annotations

from math import log, sqrt

from twins.bandit import Bandit


def cof_policy(bandit: Bandit, T: int, alpha: float, growth: float = 0.01) -> None:
    """Candidates by cost; declarations are final; bounds are looked at when an arm has `growth` more pulls."""
    K, n, mu = bandit.K, bandit.n, bandit.mu
    for k in range(min(K, T)):
        bandit.sample_and_update(k)
    t = K
    radius = 2 * log(T)
    candidate = 0
    while t < T:
        ucb = [min(mu[j] + sqrt(radius / n[j]), 1.0) for j in range(K)]
        lcb = max(mu[candidate] - sqrt(radius / n[candidate]), 0.0)
        others = [j for j in range(K) if j != candidate]
        if all(lcb >= (1 - alpha) * ucb[j] for j in others):
            while t < T:
                bandit.sample_and_update(candidate)
                t += 1
            return
        if against(bandit, candidate, 1 - alpha) >= radius:
            candidate += 1
            continue
        rival = max(others, key=ucb.__getitem__)
        arm = candidate if n[candidate] <= n[rival] else rival
        for _ in range(1 + int(growth * n[arm])):
            if t < T:
                bandit.sample_and_update(arm)
                t += 1


def against(bandit: Bandit, i: int, scale: float) -> float:
    """min over x of n_i ((scale x - mu_i)^+)^2 + sum of n_j ((mu_j - x)^+)^2.

    The least of a convex function: wherever it is, some number of arms with the largest means is above it, so it is
    one of the stationary points of these sums. Where arm i reaches scale times the largest mean, it is 0.
    """
    n, mu = bandit.n, bandit.mu
    if mu[i] >= scale * max(mu):
        return 0.0
    best = float("inf")
    weight, total = n[i] * scale * scale, n[i] * scale * mu[i]
    for j in sorted(range(bandit.K), key=mu.__getitem__, reverse=True):
        weight, total = weight + n[j], total + n[j] * mu[j]
        x = total / weight
        moved = sum(n_j * max(mu_j - x, 0.0) ** 2 for n_j, mu_j in zip(n, mu, strict=True))
        best = min(best, moved + n[i] * max(scale * x - mu[i], 0.0) ** 2)
    return best
