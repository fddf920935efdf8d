"""TS-CS: Thompson sampling with Beta posteriors."""

from __future__ import annotations

import numpy as np

from twins.bandit import Bandit
from twins.indices import cheapest


def ts_cs(bandit: Bandit, T: int, alpha: float, rng: np.random.Generator) -> None:
    """Algorithm "Cost-Subsidized Thompson Sampling with Beta Priors (TS-CS)".

    A reward within [0, 1] that is not 0 or 1 counts as a success with its own probability (the Bernoulli trick).
    """
    if not bandit.bounded:
        raise ValueError("TS-CS needs rewards within [0, 1]")
    K, c = bandit.K, bandit.c
    S, F = [0] * K, [0] * K

    def pull(k_t: int) -> None:
        r_t = bandit.sample_and_update(k_t)
        # The paper's first loop says F + r_t, a misprint of the F + (1 - r_t) of its second.
        success = bool(r_t) if r_t in (0.0, 1.0) else rng.random() < r_t
        S[k_t] += success
        F[k_t] += not success

    t = 1
    while t <= min(K, T):
        pull(t - 1)
        t = t + 1
    while K < t <= T:
        theta = [rng.beta(S[i] + 1, F[i] + 1) for i in range(K)]
        ell_t = theta.index(max(theta))
        threshold = (1 - alpha) * theta[ell_t]
        feas = [i for i in range(K) if theta[i] >= threshold]
        pull(cheapest(feas, c, theta))
        t = t + 1
