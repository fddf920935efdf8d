"""Slow twins of the paper's policies: its pseudo-code, one pull and one reward at a time.

The fast simulator is compared with these in `tests/simulation/test_against_twins.py`. They share no code with
`satisfice.policies` or `satisfice.simulation`, and are written to be read next to the paper: the variables are
the paper's, every line of its pseudo-code is there, and arms are numbered by cost as it assumes (from 0, not 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from satisfice.problem import BestReward, FixedThreshold, Instance, ReferenceArm, Setting
from twins.bandit import Bandit, arms_by_cost
from twins.elimination import asymmetric_pe_policy, pe_cs_policy, pe_policy
from twins.indices import etc_cs, ft_ucb, ucb_cs, ucb_cs_known_ell
from twins.ordered import cof_policy
from twins.thompson import ts_cs

# The defaults of the paper, which are those of the library.
KAPPA = {"asymmetric-pe": 5, "pe-cs": 0}
EXPLORATION_CONSTANT = 5.0


def run_twin(
    policy_id: str,
    instance: Instance,
    setting: Setting,
    horizon: int,
    rng: np.random.Generator,
    *,
    kappa: float | None = None,
    c: float = EXPLORATION_CONSTANT,
    trace: bool = False,
) -> NDArray[np.int64]:
    """One run of a policy: the pulls of every arm, or with `trace` the arm of every step, in the caller's order."""
    order = arms_by_cost(instance, setting)
    bandit = Bandit(instance, order, horizon, rng)
    kappa = int(KAPPA.get(policy_id, 0) if kappa is None else kappa)
    match policy_id, setting:
        case "pe", ReferenceArm():
            pe_policy(bandit, horizon, setting.alpha)
        case "asymmetric-pe", ReferenceArm():
            asymmetric_pe_policy(bandit, horizon, setting.alpha, kappa)
        case "pe-cs", BestReward():
            pe_cs_policy(bandit, horizon, setting.alpha, kappa, rng)
        case "ucb-cs", BestReward():
            ucb_cs(bandit, horizon, setting.alpha)
        case "ucb-cs", ReferenceArm():
            ucb_cs_known_ell(bandit, horizon, setting.alpha)
        case "etc-cs", BestReward():
            etc_cs(bandit, horizon, setting.alpha, c)
        case "cof", BestReward():
            cof_policy(bandit, horizon, setting.alpha)
        case "ts-cs", BestReward():
            ts_cs(bandit, horizon, setting.alpha, rng)
        case "ft-ucb", FixedThreshold():
            ft_ucb(bandit, horizon, setting.mu0, rng)
        case _:
            raise ValueError(f"no twin of {policy_id!r} for {setting!r}")
    arms = np.array(order, dtype=np.int64)[bandit.played]
    return arms if trace else np.bincount(arms, minlength=instance.arms).astype(np.int64)
