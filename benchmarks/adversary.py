"""How often a sampler that wants a false proof gets one: `python benchmarks/adversary.py [--runs 300] [--pulls 3000]`.

Two arms are exactly on the threshold: that of a third arm (best reward), that of a known reference arm, or a fixed one,
on which all three are. A proof that one of them is not good enough is false; and if it were a hair below, so would be a
proof that it is. The sampler sees all rewards, goes for the arm that is nearest to a false proof, and pulls the one of
the pair whose luck is wanting, else the one with fewer pulls. It looks after every five pulls, and stops at the first
false proof. Promised: at most `--delta` of the runs, for any rewards within [0, 1].

`--needed` prints how many rewards of each arm a proof takes instead: two arms, `SD` the standard
deviation of their rewards, as the proofs are and as they are if every reward counts as a coin flip.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.compiled import compile_native
from satisfice.proofs import against, level, make_case, pair

Floats = NDArray[np.float64]
SCALE, BLOCK = 0.8, 5
Law = Callable[[np.random.Generator, float, int], Floats]


def binary(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """Rewards of 0 and 1."""
    return (rng.random(size) < mean).astype(np.float64)


def categorical(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """Rewards of 0, 1/2 and 1, half as often 1/2 as can be."""
    half = min(mean, 1.0 - mean)
    return rng.choice([0.0, 0.5, 1.0], size, p=[1.0 - mean - half / 2, half, mean - half / 2])


def ratings(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """The share of stars among four: rewards of 0, 1/4, 1/2, 3/4 and 1, with half the standard deviation of flips."""
    return rng.binomial(4, mean, size) / 4.0


def edgy(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """Beta rewards that are mostly near 0 or 1: of all that are continuous, those nearest to coin flips."""
    return rng.beta(0.2 * mean, 0.2 * (1.0 - mean), size)


def smooth(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """Beta rewards around their mean."""
    return rng.beta(20.0 * mean, 20.0 * (1.0 - mean), size)


def steady(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """Rewards that hardly vary: a hundredth of the room that there is, up or down."""
    return mean + 0.01 * min(mean, 1.0 - mean) * rng.choice([-1.0, 1.0], size)


def jackpot(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """1 with a probability of 0.01, else always the same."""
    return np.where(rng.random(size) < 0.01, 1.0, (mean - 0.01) / 0.99)


def disaster(rng: np.random.Generator, mean: float, size: int) -> Floats:
    """0 with a probability of 0.01, else always the same."""
    return np.where(rng.random(size) < 0.01, 0.0, mean / 0.99)


LAWS: tuple[Law, ...] = (binary, categorical, ratings, edgy, smooth, steady, jackpot, disaster)


def fooled(rewards: Floats, means: Floats, setting: int, mu0: float, delta: float, side: float) -> bool:
    """Whether one run ever has a false proof: that an arm is not good enough (`side` 1), or that it is (-1).

    `rewards`, (arms, pulls), are those that each arm will have; `setting` is 0 for the best reward, 1 for a reference
    arm, 2 for a fixed threshold.
    """
    arms, room = rewards.shape
    costs, pulls = np.arange(1.0, arms + 1.0), np.zeros(arms, dtype=np.int64)
    totals, squares = np.zeros(arms), np.zeros(arms)
    arm, opponent = 0, arms if setting == 2 else arms - 1
    reference, scale = arms - 1 if setting == 1 else -1, 1.0 if setting == 2 else SCALE
    for look in range(room // BLOCK):
        if look < arms:
            arm = look
        for _ in range(BLOCK):
            x = rewards[arm, pulls[arm]]
            pulls[arm] += 1
            totals[arm] += x
            squares[arm] += x * x
        if look < arms - 1:
            continue
        case = make_case(costs, pulls, totals, scale, reference, mu0, 0.0, None, squares)
        nearest, most = 0, -math.inf
        for i in range(arms if setting == 2 else arms - 1):
            nats = side * against(case, i, opponent)
            if nats >= level(case, delta):
                return True
            if nats > most or (nats == most and pulls[i] < pulls[nearest]):
                nearest, most = i, nats
        arm = nearest
        if setting != 2:
            wanting = side * (totals[arm] - pulls[arm] * means[arm]) > 0.0
            theirs = side * (totals[opponent] - pulls[opponent] * means[opponent]) < 0.0
            if wanting == theirs:
                wanting = pulls[arm] <= pulls[opponent]
            if not wanting:
                arm = opponent
    return False


def attack(runs: int, pulls: int, delta: float) -> None:
    """Print how many false proofs there are, for each kind of rewards and setting, with small and large means."""
    quick = compile_native(fooled)
    worst = 0.0
    print(f"false proofs in {runs} runs, of arms that are good enough and arms that are not, by the largest mean")
    print(f"{'rewards':12} {'setting':10} {'0.02':>11} {'0.625':>11} {'0.975':>11}")
    for law in LAWS:
        for setting, name in enumerate(("best", "reference", "fixed")):
            cells = []
            for largest in (0.02, 0.625, 0.975):
                mean = largest if setting == 2 else SCALE * largest
                means, mu0 = np.array([mean, mean, largest]), mean if setting == 2 else math.nan
                rng = np.random.default_rng(1)
                wrong = [0, 0]
                for _ in range(runs):
                    rewards = np.array([law(rng, m, pulls) for m in means])
                    for k, side in enumerate((1.0, -1.0)):
                        wrong[k] += quick(rewards, means, setting, mu0, delta, side)
                worst = max(worst, *(count / runs for count in wrong))
                cells.append(f"{wrong[0]:5d} {wrong[1]:5d}")
            print(f"{law.__name__:12} {name:10} " + " ".join(cells), flush=True)
    print(f"worst {worst:.2%}, promised at most {delta:.0%}")


def needed(delta: float) -> None:
    """Print the table of rewards needed."""
    print("| means | SD | as coin flips | as they are | ratio |\n|---|---|---|---|---|")
    for low, high in ((0.7, 0.72), (0.7, 0.8), (0.1, 0.2)):
        for sd in (math.nan, 0.3, 0.2, 0.1, 0.02):
            variance = None if math.isnan(sd) else sd * sd
            if variance is not None and variance > low * (1.0 - low):
                continue
            squares = [m if variance is None else m * m + variance for m in (low, high)]

            def enough(n: int, squares: list[float] | None, low: float = low, high: float = high) -> bool:
                known = None if squares is None else (n * squares[0], n * squares[1])
                return pair(n, n * low, n, n * high, 1.0, squares=known) >= math.log(1.0 / delta)

            flips, mine = least(enough, None), least(enough, squares)
            what = "0 and 1 alone" if variance is None else f"{sd:g}"
            print(f"| {low:g}, {high:g} | {what} | {flips:,} | {mine:,} | {flips / mine:.1f} |")


def least(enough: Callable[[int, list[float] | None], bool], squares: list[float] | None) -> int:
    """The smallest number of rewards that is enough."""
    low, high = 0, 1
    while not enough(high, squares):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle, squares) else (middle, high)
    return high


def main() -> None:
    """Attack, or say how many rewards are needed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--pulls", type=int, default=3_000)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--needed", action="store_true")
    args = parser.parse_args()
    if args.needed:
        needed(args.delta)
    else:
        attack(args.runs, args.pulls, args.delta)


if __name__ == "__main__":
    main()
