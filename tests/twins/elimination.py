"""Pairwise elimination: PE, Asymmetric-PE and PE-CS with its best-arm identification BAI.

Where the paper is silent: a round with T 4^-round <= e is not opened (its tau would fall, then turn negative),
the pair or the active arms are then decided by their empirical means; and when no episode is left, the winner
(or `ell`) is played, where the paper repeats the last pull.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from twins.bandit import Bandit

# What PE() returns: the arm to sample, the round numbers, and the episode (None: the arm to sample has won).
Step = tuple[int, list[int], int | None]


def opens(T: int, w: int) -> bool:
    """Whether round `w` is opened."""
    return T * 4.0**-w > math.e


@cache
def tau_and_beta(T: int, w: int) -> tuple[int, float]:
    """tau and beta of round `w`, as in PE(), BAI() and Asymmetric_PE()."""
    gap = 2.0**-w
    tau = math.ceil(2 * math.log(T * gap**2) / gap**2)
    beta = math.sqrt(math.log(T * gap**2) / (2 * tau))
    return tau, beta


def decide_by_means(mu: list[float], omega: list[int], i: int, ell: int, alpha: float) -> Step:
    """The end of an episode in place of a round that is not opened."""
    if mu[i] >= (1 - alpha) * mu[ell]:
        return i, omega, None
    return i + 1, omega, i + 1


def pe(n: list[int], mu: list[float], omega: list[int], T: int, i: int, ell: int, alpha: float) -> Step:
    """Function PE()."""
    if not opens(T, omega[i]):
        return decide_by_means(mu, omega, i, ell, alpha)
    tau, beta = tau_and_beta(T, omega[i])
    for k in (i, ell):
        if n[k] < tau:
            return k, omega, i
    if (1 - alpha) * (mu[ell] + beta) < mu[i] - beta:
        return i, omega, None  # declare i as winner
    elif mu[i] + beta < (1 - alpha) * (mu[ell] - beta):
        return i + 1, omega, i + 1  # sample next candidate arm, also when it has samples enough
    elif not opens(T, omega[i] + 1):
        return decide_by_means(mu, omega, i, ell, alpha)
    else:
        omega[i] = omega[i] + 1
        return i, omega, i


def asymmetric_pe(
    n: list[int], mu: list[float], omega: list[int], T: int, i: int, ell: int, alpha: float, kappa: int
) -> Step:
    """Function Asymmetric_PE()."""
    if not opens(T, omega[i]):
        return decide_by_means(mu, omega, i, ell, alpha)
    beta = {}
    for k in (i, ell):
        tau_k, beta[k] = tau_and_beta(T, min(omega[i] + kappa, omega[k]))
        if n[k] < tau_k:
            return k, omega, i
    if (1 - alpha) * (mu[ell] + beta[ell]) < mu[i] - beta[i]:
        return i, omega, None
    elif mu[i] + beta[i] < (1 - alpha) * (mu[ell] - beta[ell]):
        return i + 1, omega, i + 1
    elif not opens(T, omega[i] + 1):
        return decide_by_means(mu, omega, i, ell, alpha)
    else:
        omega[i] = omega[i] + 1
        omega[ell] = max(omega[i], omega[ell])
        return i, omega, i


def bai(
    n: list[int], mu: list[float], omega: list[int], T: int, active: list[int], rng: np.random.Generator
) -> tuple[int, list[int], list[int]]:
    """Function BAI()."""
    w = max(omega)
    if not opens(T, w):
        best = max(active, key=lambda k: mu[k])  # the first, so the cheapest, of equal means
        omega[best] = max(w - 1, 0)  # the round that it was sampled for
        return best, omega, [best]
    tau, beta = tau_and_beta(T, w)
    for k in active:
        if n[k] < tau:
            return k, omega, active
    ucb = {i: mu[i] + beta for i in active}
    lcb = {i: mu[i] - beta for i in active}
    best_lcb = max(lcb.values())
    active = [i for i in active if ucb[i] >= best_lcb]
    k_t = active[rng.integers(len(active))]  # Uniform(A+)
    if len(active) > 1:  # a survivor's round is the round that it was sampled for
        for i in active:
            omega[i] = omega[i] + 1
    return k_t, omega, active


def _known_ell(bandit: Bandit, T: int, function: Callable[[list[int], int], Step]) -> None:
    """Algorithm "Pairwise Elimination (PE) for a known reference arm ell", with PE() or Asymmetric_PE()."""
    omega = [0] * bandit.K
    ell = bandit.K - 1
    i: int | None = 0
    k_t = ell  # the only arm, when ell is alone
    t = 1
    while t <= T:
        if i not in (None, ell):
            k_t, omega, i = function(omega, i)
        bandit.sample_and_update(k_t)  # without an episode: the winner or ell, sampled when the episode ended
        t = t + 1


def pe_policy(bandit: Bandit, T: int, alpha: float) -> None:
    n, mu, ell = bandit.n, bandit.mu, bandit.K - 1
    _known_ell(bandit, T, lambda omega, i: pe(n, mu, omega, T, i, ell, alpha))


def asymmetric_pe_policy(bandit: Bandit, T: int, alpha: float, kappa: int) -> None:
    n, mu, ell = bandit.n, bandit.mu, bandit.K - 1
    _known_ell(bandit, T, lambda omega, i: asymmetric_pe(n, mu, omega, T, i, ell, alpha, kappa))


def pe_cs_policy(bandit: Bandit, T: int, alpha: float, kappa: int, rng: np.random.Generator) -> None:
    """Algorithm "Pairwise Elimination for Cost Subsidy Problem (PE-CS)"; kappa = 0 is the paper's, with PE()."""
    n, mu = bandit.n, bandit.mu
    omega = [0] * bandit.K
    active = list(range(bandit.K))
    ell = active[0] if bandit.K == 1 else None
    i: int | None = 0
    winner = None
    t = 1
    while t <= T:
        if len(active) > 1:
            k_t, omega, active = bai(n, mu, omega, T, active, rng)
            if len(active) == 1:
                ell = active[0]
                continue  # ignore sample recommendation k_t
        elif i is not None and ell is not None and i != ell:
            if kappa == 0:
                k_t, omega, i = pe(n, mu, omega, T, i, ell, alpha)
            else:
                k_t, omega, i = asymmetric_pe(n, mu, omega, T, i, ell, alpha, kappa)
            if i is None:
                winner = k_t
        else:
            assert ell is not None  # one arm is active, the best
            k_t = ell if winner is None else winner
        bandit.sample_and_update(k_t)
        t = t + 1
