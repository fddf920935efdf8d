"""GLR against the exact Bayes optimum: two Bernoulli arms, both means uniform, at most 150 pulls.

    python benchmarks/bayes.py [--horizon 50 --horizon 150] [--care 1]

Nothing is simulated. The rule draws no random numbers, so what it is expected to lose follows in every state from what
it loses in those that its lease may lead to, backwards from the horizon; the optimum is that of `sf.bounds.bayes`. The
dear arm costs 1, one unit of reward. 150 pulls have 21 million states: about half a minute for each cell.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

import satisfice as sf
from satisfice.bounds.bayes_optimum import _after_cheap, _last_losses, bayes
from satisfice.policies.compiled import compile_native
from satisfice.policies.contract import Problem, State, make_problem, new_state

GAPS = (0.9, 0.5, 0.2, 0.1, 0.05)  # by how much the dear arm is dearer
ALPHAS = (0.05, 0.2, 0.4)
LONGEST = 16  # pulls of a lease, at most

Floats = NDArray[np.float64]


def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> tuple[int, int]:
    """Stands for the policy's rule."""
    raise NotImplementedError


def layer_values(
    problem: Problem, state: State, loss: Floats, values: Floats, t: int, horizon: int, rng: np.random.Generator
) -> None:
    """Fill in `values[t % LONGEST]`: what is still expected to be lost in every state after `t` pulls.

    A state is `n, s, r`: pulls of the cheap arm, successes of it and of the dear one. `loss[arm, n, s, r]` is that of
    one pull there. The successes in a lease of `m` pulls are Beta-binomial.
    """
    for n in range(t + 1):
        for s in range(n + 1):
            for r in range(t - n + 1):
                state.pulls[0], state.pulls[1] = n, t - n
                state.totals[0], state.totals[1] = s, r
                state.squares[0], state.squares[1] = s, r
                arm, m = decide(problem, state, t, rng)
                m = min(m, horizon - t)
                total = m * loss[arm, n, s, r]
                if t + m < horizon:
                    wins, pulls = (s, n) if arm == 0 else (r, t - n)
                    a, b = wins + 1.0, pulls - wins + 1.0
                    fixed = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - math.lgamma(a + b + m)
                    after = values[(t + m) % LONGEST]
                    for w in range(m + 1):
                        ways = math.lgamma(m + 1.0) - math.lgamma(w + 1.0) - math.lgamma(m - w + 1.0)
                        p = math.exp(fixed + ways + math.lgamma(a + w) + math.lgamma(b + m - w))
                        total += p * (after[n + m, s + w, r] if arm == 0 else after[n, s, r + w])
                values[t % LONGEST, n, s, r] = total


def expected(policy: sf.GLR, gap: float, alpha: float, horizon: int) -> float:
    """The expected summed regret of a rule that draws no random numbers, with costs `1 - gap` and 1."""
    setting = sf.BestReward(alpha)
    problem = make_problem(policy, setting, [1.0 - gap, 1.0], np.arange(2), horizon, bounded=True, binary=True)
    fill = compile_native(layer_values, decide=type(policy).decide)
    cheap, dear = _last_losses(horizon, 1.0 - alpha, gap, True)
    values = np.zeros((LONGEST, horizon, horizon, horizon))
    loss = np.zeros((2, horizon, horizon, horizon))
    state, rng = new_state(policy, 2), np.random.default_rng(0)
    for t in range(horizon - 1, -1, -1):
        for n in range(t + 1):
            loss[0, n, : n + 1, : t - n + 1] = cheap[n]
            loss[1, n, : n + 1, : t - n + 1] = dear[n]
        fill(problem, state, loss, values, t, horizon, rng)
        # The expected loss of a pull is a martingale: see `satisfice.bounds.bayes_optimum`.
        cheap = [_after_cheap(cheap, n, t - 1) for n in range(t)]
        dear = [_after_cheap(dear, n, t - 1) for n in range(t)]
    return float(values[0, 0, 0, 0])


def main() -> None:
    parser = argparse.ArgumentParser(description="GLR against the exact Bayes optimum.")
    parser.add_argument("--horizon", type=int, action="append", help="by default 50 and 150")
    parser.add_argument("--care", type=float, default=1.0)
    args = parser.parse_args()
    worst = 0.0
    for horizon in args.horizon or (50, 150):
        print(f"T = {horizon}: expected regret of glr / least possible\n{'cost gap':>10}", end="")
        print("".join(f"{f'alpha {alpha:g}':>24}" for alpha in ALPHAS))
        for gap in GAPS:
            print(f"{gap:10g}", end="")
            for alpha in ALPHAS:
                mine = expected(sf.GLR(care=args.care), gap, alpha, horizon)
                least = bayes([1.0 - gap, 1.0], sf.BestReward(alpha), horizon).regret
                worst = max(worst, mine / least)
                print(f"{f'{mine:.3f} / {least:.3f} = {mine / least:.3f}':>24}", end="", flush=True)
            print()
    print(f"worst {worst:.3f}")


if __name__ == "__main__":
    main()
