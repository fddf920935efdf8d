"""How many more rows would settle a choice: rows like those of the log, and rows that a study would choose."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from satisfice.analysis.evidence import Evidence, shares_of
from satisfice.analysis.result import More
from satisfice.problem import FixedThreshold, Floats, Setting

PLAN_LEVELS, PLAN_RUNS = 24, 40
MOST_TIMES = 1e4  # as many rows as in the log: what takes more is too close to tell


def more_rows(
    evidence: Evidence,
    setting: Setting,
    means: Floats,
    costs: Floats,
    choice: int,
    confidence: float,
    *,
    plan: bool,
    seed: int,
) -> More:
    """Rows that would settle it. With `f` times the rows the draws lie closer to the means, by the root of `f`."""

    def sure(times: float) -> bool:
        closer = evidence.means + (means - evidence.means) / math.sqrt(times)
        nearer = evidence.costs + (costs - evidence.costs) / math.sqrt(times)
        shares, none = shares_of(setting, evidence, closer, nearer)
        return (none if choice < 0 else float(shares[choice])) >= confidence

    times = _least(sure)
    total = float(evidence.rows.sum())
    rows = None if times is None else math.ceil((times - 1) * total)
    each = float(evidence.rows @ evidence.costs) / total
    found = More(rows, None if rows is None else rows * each, None, None, None, None)
    if not plan or choice < 0 or evidence.limits[0] < 0:
        return found
    from satisfice.planning import plan_instance

    on_one = FixedThreshold(setting.mu0 / evidence.limits[1]) if setting.fixed else setting
    result = plan_instance(
        evidence.instance(PLAN_LEVELS, "log"), on_one, policies=["glr"], runs=PLAN_RUNS, seed=seed, begun=True
    )
    (outlook,) = result.outlooks
    done = outlook.settled[np.isfinite(outlook.settled)]
    if not len(done) or outlook.share < 0.5:
        return More(found.rows, found.cost, None, None, None, outlook.share)
    low, middle, high = np.percentile(done, [10, 50, 90])
    spent = float(np.median(outlook.cost_regret[np.isfinite(outlook.settled)]))
    return More(found.rows, found.cost, (float(low), float(high)), float(middle), spent, outlook.share)


def _least(enough: Callable[[float], bool]) -> float | None:
    """The smallest number from 1 on at which it is enough, to a hundredth; None: not below `MOST_TIMES`."""
    if enough(1.0):
        return 1.0
    if not enough(MOST_TIMES):
        return None
    low, high = 0.0, math.log(MOST_TIMES)
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(math.exp(middle)) else (middle, high)
    return math.exp(high)
