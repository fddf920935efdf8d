"""How often a sampler that wants a false proof gets one: `python benchmarks/adversary.py [--runs 1000] [--delta 0.05]`.

Two arms, and arm 0 is exactly on the threshold that arm 1 sets: it is good enough, and a proof that it is not is false.
The sampler sees all rewards, and pulls the arm whose luck is wanting: arm 0 while its mean is above the true one, arm 1
while its mean is below, else the one with fewer pulls. It looks after every five pulls, up to `--pulls` in all, and
stops at the first false proof. Promised: at most `delta` of the runs, for any rewards within [0, 1].
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from satisfice.proofs import pair

SCALE, MEANS, BLOCK = 0.8, (0.72, 0.9), 5
Law = Callable[[np.random.Generator, float], float]


def binary(rng: np.random.Generator, mean: float) -> float:
    """The sum of a block of rewards of 0 and 1."""
    return float(rng.binomial(BLOCK, mean))


def categorical(rng: np.random.Generator, mean: float) -> float:
    """Rewards of 0, 1/2 and 1, half as often 1/2 as can be."""
    half = min(mean, 1.0 - mean)
    return float(rng.choice([0.0, 0.5, 1.0], BLOCK, p=[1.0 - mean - half / 2, half, mean - half / 2]).sum())


def continuous(rng: np.random.Generator, mean: float) -> float:
    """Beta rewards that are mostly near 0 or 1: of all that are continuous, those nearest to coin flips."""
    return float(rng.beta(0.2 * mean, 0.2 * (1.0 - mean), BLOCK).sum())


def fooled(law: Law, pulls: int, delta: float, rng: np.random.Generator) -> bool:
    """Whether one run ever has a false proof."""
    n, total = [0, 0], [0.0, 0.0]
    for _ in range(pulls // BLOCK):
        unlucky = [total[0] > n[0] * MEANS[0], total[1] < n[1] * MEANS[1]]
        fewer = int(n[1] < n[0])
        arm = fewer if unlucky[0] == unlucky[1] else int(unlucky[1])
        total[arm] += law(rng, MEANS[arm])
        n[arm] += BLOCK
        if min(n) > 0 and pair(n[0], total[0], n[1], total[1], SCALE) >= math.log(1.0 / delta):
            return True
    return False


def main() -> None:
    """Print one line per kind of rewards."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--pulls", type=int, default=10_000)
    parser.add_argument("--delta", type=float, default=0.05)
    args = parser.parse_args()
    for law in (binary, categorical, continuous):
        rng = np.random.default_rng(1)
        wrong = sum(fooled(law, args.pulls, args.delta, rng) for _ in range(args.runs))
        print(f"{law.__name__:12} {wrong / args.runs:7.2%} false, promised at most {args.delta:.0%}", flush=True)


if __name__ == "__main__":
    main()
