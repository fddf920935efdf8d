"""The index policies: UCB-CS (best reward and known reference arm), ETC-CS and FT-UCB.

The paper assumes distinct costs. Here, of several cheapest feasible arms of one cost the one with the larger
UCB is played, and the first in the caller's order when these are equal too.
"""

from __future__ import annotations

from math import ceil, log, sqrt

import numpy as np

from twins.bandit import Bandit


def cheapest(feasible: list[int], c: list[float], index: list[float]) -> int:
    """arg min of c over the feasible arms, which come in ascending order of cost."""
    tied = [i for i in feasible if c[i] == c[feasible[0]]]
    return max(tied, key=index.__getitem__)  # the first of equal indices


def ucb_cs(bandit: Bandit, T: int, alpha: float) -> None:
    """Algorithm "Cost-Subsidized UCB (UCB-CS)"."""
    _ucb_cs(bandit, T, alpha, None)


def ucb_cs_known_ell(bandit: Bandit, T: int, alpha: float) -> None:
    """UCB-CS Known ell (Section 4.1): "we simply replace this estimate with the known index"."""
    _ucb_cs(bandit, T, alpha, bandit.K - 1)


def _ucb_cs(bandit: Bandit, T: int, alpha: float, ell: int | None) -> None:
    K, n, mu, c = bandit.K, bandit.n, bandit.mu, bandit.c
    t = 1
    while t <= min(K, T):
        bandit.sample_and_update(t - 1)
        t = t + 1
    two_log_T = 2 * log(T)
    while K < t <= T:
        ucb = [min(mu_i + sqrt(two_log_T / n_i), 1.0) for mu_i, n_i in zip(mu, n, strict=True)]
        ell_t = ucb.index(max(ucb)) if ell is None else ell
        threshold = (1 - alpha) * ucb[ell_t]
        feas = [i for i in range(K) if ucb[i] >= threshold]
        # Only a negative UCB, which Gaussian rewards allow, can leave nobody feasible: play the reference.
        k_t = cheapest(feas, c, ucb) if feas else ell_t
        bandit.sample_and_update(k_t)
        t = t + 1


def exploration_budget(T: int, K: int, c: float) -> int:
    """ETC-CS's tau: the pulls of every arm before it commits."""
    budget: int = ceil(c * (T / K) ** (2 / 3))
    return budget


def etc_cs(bandit: Bandit, T: int, alpha: float, exploration: float) -> None:
    """Algorithm "Cost-Subsidized Explore-Then-Commit (ETC-CS)"."""
    K, n, mu, c = bandit.K, bandit.n, bandit.mu, bandit.c
    tau = exploration_budget(T, K, exploration)
    t = 1
    while t <= min(K * tau, T):
        bandit.sample_and_update((t - 1) % K)
        t = t + 1
    two_log_T = 2 * log(T)
    while K * tau < t <= T:
        beta = [sqrt(two_log_T / n_i) for n_i in n]
        ucb = [min(mu_i + beta_i, 1.0) for mu_i, beta_i in zip(mu, beta, strict=True)]
        lcb = [max(mu_i - beta_i, 0.0) for mu_i, beta_i in zip(mu, beta, strict=True)]
        ell_t = lcb.index(max(lcb))
        threshold = (1 - alpha) * lcb[ell_t]
        feas = [i for i in range(K) if ucb[i] >= threshold]
        # Clipping leaves nobody feasible only when Gaussian means are outside [0, 1]: play the reference.
        k_t = cheapest(feas, c, ucb) if feas else ell_t
        bandit.sample_and_update(k_t)
        t = t + 1


def ft_ucb(bandit: Bandit, T: int, mu_0: float, rng: np.random.Generator) -> None:
    """Algorithm "Fixed Threshold UCB (FT-UCB)"."""
    K, n, mu, c = bandit.K, bandit.n, bandit.mu, bandit.c
    t = 1
    while t <= T:
        if t <= K:
            k_t = t - 1
        else:
            two_log_t = 2 * log(t)
            ucb = [mu_k + sqrt(two_log_t / n_k) for mu_k, n_k in zip(mu, n, strict=True)]
            C_t = [k for k in range(K) if ucb[k] >= mu_0]
            k_t = cheapest(C_t, c, ucb) if C_t else int(rng.integers(K))  # Uniform(K)
        bandit.sample_and_update(k_t)
        t = t + 1
