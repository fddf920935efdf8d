"""COF: candidates by cost, each held against all other arms at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidPolicy
from satisfice.policies.compiled import uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.policies.index import lower, upper
from satisfice.problem import BestReward

OPEN, REFUTED, CONFIRMED = 0, 1, 2


@dataclass(frozen=True)
class COF(Policy):
    """Cost-Ordered Feasibility, our reading (Juneja, Joe-Wong and Yagan, 2026, arXiv 2605.07171).

    Every arm once. Candidates are taken up by cost. Candidate `i` is declared feasible, and played from then on, when
    `LCB_i >= (1 - alpha) UCB_j` for every other arm `j`; it is declared infeasible, for good, when

        min over x of  n_i ((1 - alpha) x - mean_i)^2 + sum of n_j (mean_j - x)^2  >=  2 log T

    (the samples of all arms `j` with means above `x` are combined). While neither holds, the candidate and the arm `j`
    with the largest UCB are pulled: the candidate as long as it has no more pulls than `j`, else `j`. `UCB` and `LCB`
    are `mean +- sqrt(2 log T / n)`, cut at 1 and 0.

    Parameters
    ----------
    growth : float
        Pulls of an arm before bounds are looked at again, as a share of those that it has.

    Notes
    -----
    What could be read of the paper is its abstract, its introduction and summaries by others; not its pseudo-code. They
    say: arms are evaluated in ascending order of cost; upper and lower confidence bounds decide feasibility against
    `(1 - alpha)` times the best reward; the samples of several arms are aggregated against a candidate; a candidate
    with few samples is sampled exclusively. Our choices, where the text is open: the radius (that of UCB-CS in the
    paper before), the form of the aggregation above (the Gaussian likelihood ratio with the level of one bound), that
    declarations are final, who is pulled besides the candidate, that "exclusively" lasts until the candidate has more
    pulls than the arm with the largest UCB, and `growth`. So its regret here says nothing about the authors' figures,
    and their bounds are not claimed for it.
    """

    growth: float = 0.01

    id = "cof"
    settings = (BestReward,)
    summary = "candidates by cost, each held against the samples of all other arms (our reading)"
    bounded_only = True
    sweeps_first = True

    def __post_init__(self) -> None:
        self.check_numbers()
        if not 0 <= self.growth < math.inf:
            raise InvalidPolicy(f"cof: growth = {self.growth}; it must be a number of at least 0")

    def memory(self, arms: int) -> tuple[int, int]:
        # What was declared of every arm.
        return arms, 0

    @staticmethod
    @uncounted
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms, scale = len(problem.costs), 1.0 - problem.alpha
        if t < arms:
            return SWEEP, 1
        width = math.sqrt(2 * math.log(problem.horizon))
        for i in range(arms):
            if state.ints[i] == REFUTED:
                continue
            if state.ints[i] == OPEN:
                rival, most = -1, -math.inf
                for j in range(arms):
                    bound = upper(state.pulls[j], state.totals[j], width)
                    if j != i and bound > most:
                        rival, most = j, bound
                if lower(state.pulls[i], state.totals[i], width) < scale * most:
                    if combined(state.pulls, state.totals, i, scale) >= width * width:
                        state.ints[i] = REFUTED
                        continue
                    arm = i if state.pulls[i] <= state.pulls[rival] else rival
                    return arm, 1 + int(problem.params.growth * state.pulls[arm])
                state.ints[i] = CONFIRMED
            return i, max(problem.horizon - t, 1)
        return arms - 1, 1  # never: no arm speaks against the one with the largest mean


def combined(pulls: NDArray[np.int64], totals: NDArray[np.float64], i: int, scale: float) -> float:
    """The smallest `n_i (scale x - mean_i)^2 + sum of n_j (mean_j - x)^2` over `x`, for the arms above `x`.

    Arms are added by mean, the largest first, while they are above the `x` of those so far; 0 where arm `i` keeps up.

    Examples
    --------
    >>> combined(np.array([100, 100]), np.array([50.0, 90.0]), 0, scale=1.0)  # 100 x 0.2^2 twice
    8.0
    """
    mean = totals[i] / pulls[i]
    n, total, x, last = 0.0, 0.0, -math.inf, math.inf
    while True:
        top = -math.inf
        for j in range(len(pulls)):
            if totals[j] / pulls[j] < last:
                top = max(top, totals[j] / pulls[j])
        if top <= x:
            break
        for j in range(len(pulls)):
            if totals[j] / pulls[j] == top:
                n += pulls[j]
                total += totals[j]
        if mean >= scale * total / n:
            return 0.0
        x, last = (pulls[i] * scale * mean + total) / (pulls[i] * scale * scale + n), top
    value = pulls[i] * (scale * x - mean) ** 2
    for j in range(len(pulls)):
        if totals[j] / pulls[j] >= last:
            value += pulls[j] * (totals[j] / pulls[j] - x) ** 2
    return float(value)
