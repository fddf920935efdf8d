"""What the theorem of docs/theorem.md costs: mean summed regret of `graves-lai` beside `glr`, and C log T.

`python benchmarks/theorem.py [--runs 20]`: costs in units of the largest for llm-routing, as in benchmarks/regret.py.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import satisfice as sf

CELLS = (
    ("movielens", 0.1),
    ("movielens", 0.25),
    ("goodreads", 0.05),
    ("goodreads", 0.1),
    ("toy:0.75", 0.2),
    ("toy:0.78", 0.2),
)
HORIZONS = (10_000, 1_000_000, 100_000_000)
POLICIES = ("graves-lai", "graves-lai(gamma=0)", "glr", "pe-cs(kappa=5)")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| instance, alpha | T | C log T | " + " | ".join(POLICIES) + " |")
    print("|---|---|---|" + "---|" * len(POLICIES))
    for name, alpha in CELLS:
        instance, setting = sf.load_instance(name), sf.BestReward(alpha)
        least = sf.bounds.regret(instance, setting).regret
        for horizon in HORIZONS:
            found = sf.simulate(
                instance, setting, list(POLICIES), horizon=horizon, runs=options.runs, seed=options.seed, workers=1
            )
            regrets = [float(np.mean(found[policy].cost_regret + found[policy].quality_regret)) for policy in POLICIES]
            numbers = [least * math.log(horizon), *regrets]
            print(f"| {name}, {alpha} | {horizon:,} | " + " | ".join(f"{x:,.0f}" for x in numbers) + " |", flush=True)


if __name__ == "__main__":
    main()
