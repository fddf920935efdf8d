"""What is possible with one unknown mean: the exact optimum of two stopping problems, and the rule of GLR in them.

    python benchmarks/possible.py [--horizon 500000] [--steps 1.02]

Cheap: the threshold is known, the mean of the cheap arm is not. A pull of it loses what it misses the threshold by;
to stop loses the saving in every pull that is left, if it is good enough after all. Dear: the mean of the cheap arm is
known. A pull of the dear arm loses its cost if it is no better than it should be; to stop loses what the cheap arm
misses the threshold by. In either the other arm teaches nothing, so whoever stops does so for good. In the limit of
Brownian motion, with a flat prior, and leases of 2% of the pulls so far, the state is the pulls `n` and the standard
deviations `u` that the mean is beyond the threshold, and the least expected loss follows backwards from the horizon.

Printed: what has to be counted in place of `Z = u^2 / 2` so that a pull that is worth its price is bought just as long
as the optimum goes on; the expected loss of rules that count `Z + 1/2`, `Z + 1` or `Z / 2 + 1`, over the least; and for
the cheap arm of the toy family (threshold 0.76), what is lost by its mean, when the saving counts `care` times.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]
U = np.linspace(-12.0, 12.0, 2401)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
FIRST = 4.0  # pulls that the prior counts as
SAVING = 0.85
MEANS = (0.72, 0.74, 0.75, 0.755, 0.765, 0.77, 0.78, 0.8)
COUNTS = (("Z + 1/2", 1.0, 0.5), ("Z + 1", 1.0, 1.0), ("Z / 2 + 1", 0.5, 1.0))  # its share of Z, what is added


class Task(NamedTuple):
    """A stopping problem."""

    name: str
    threshold: float
    scale: float  # what a unit of shortfall counts


def excess(u: Floats) -> Floats:
    """`E[(u + X)^+]` for a standard normal `X`."""
    found: Floats = np.where(u < -8.0, 0.0, u * ndtr(u) + np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi))
    return found


def stakes(task: Task, n: float) -> tuple[Floats, Floats]:
    """By `u`: what one pull is expected to lose, and what it loses, per pull that is left, to stop."""
    spread = math.sqrt(task.threshold * (1.0 - task.threshold) / n)
    if task.name == "cheap":
        return spread * excess(U), SAVING * ndtr(-U)
    return SAVING * ndtr(U), task.scale * spread * excess(-U)


def solve(task: Task, ns: Floats, care: float = 1.0, count: tuple[float, float] | None = None) -> tuple[float, Marks]:
    """The expected loss, and by step and `u` whether to go on: as is best, or by what the rule counts."""
    values, goes, total = np.zeros_like(U), np.zeros((len(ns) - 1, len(U)), dtype=np.bool_), float(ns[-1])
    for k in range(len(ns) - 2, -1, -1):
        n, wider, noise = ns[k], math.sqrt(ns[k + 1] / ns[k]), math.sqrt(ns[k + 1] / ns[k] - 1.0)
        price, stake = stakes(task, n)
        after = sum(w * np.interp(wider * U + noise * x, U, values) for x, w in zip(NODES, WEIGHTS, strict=True))
        on, stop = (ns[k + 1] - n) * price + after, care * (total - n) * stake
        if count is None:
            goes[k] = on <= stop
        else:  # the leader is the arm with which staying loses less, as in `satisfice.policies.beliefs.believe`
            goes[k] = (care * (total - n) * stake * (count[0] * U * U / 2 + count[1]) / n > price) | (price <= stake)
        values = np.where(goes[k], on, stop)
    return float(np.trapezoid(values, U)), goes


def lost(task: Task, ns: Floats, goes: Marks, mean: float) -> float:
    """What is expected to be lost with a cheap arm of this mean."""
    m0, v = task.threshold, task.threshold * (1.0 - task.threshold)
    short, stake, values = max(m0 - mean, 0.0), SAVING * (mean >= m0), np.zeros_like(U)
    for k in range(len(ns) - 2, -1, -1):
        n, more = ns[k], ns[k + 1] - ns[k]
        sums = n * (m0 - U * math.sqrt(v / n)) + more * mean
        after = np.zeros_like(U)
        for x, w in zip(NODES, WEIGHTS, strict=True):
            u = (m0 - (sums + math.sqrt(v * more) * x) / ns[k + 1]) / math.sqrt(v / ns[k + 1])
            after += w * np.interp(u, U, values)
        values = np.where(goes[k], more * short + after, (ns[-1] - n) * stake)
    begin = (m0 - mean) / math.sqrt(v / FIRST) + NODES
    return FIRST * short + float(WEIGHTS @ np.interp(begin, U, values))


def main() -> None:
    parser = argparse.ArgumentParser(description="The exact optimum with one unknown mean, and GLR's rule.")
    parser.add_argument("--horizon", type=float, default=500_000)
    parser.add_argument("--steps", type=float, default=1.02, help="every lease ends at so many times the pulls")
    args = parser.parse_args()
    steps = math.ceil(math.log(args.horizon / FIRST) / math.log(args.steps))
    ns = np.geomspace(FIRST, args.horizon, steps + 1)
    cheap, dear = Task("cheap", 0.76, 1.0), Task("dear", 0.9, 0.8)
    for task in (cheap, dear):
        least, goes = solve(task, ns)
        print(f"{task.name}: at the boundary of the optimum, T = {args.horizon:,.0f}\n  pulls      u      Z  counted")
        for n in (10, 30, 100, 300, 1_000, 3_000, 10_000):
            k = int(np.searchsorted(ns, n))
            at = int(np.argmin(goes[k]))  # the first u at which it stops
            price, stake = (float(x[at]) for x in stakes(task, ns[k]))
            counted = price * ns[k] / (stake * (ns[-1] - ns[k]))
            print(f"{n:7,}{U[at]:7.2f}{U[at] ** 2 / 2:7.2f}{counted:9.2f}")
        for name, share, more in COUNTS:
            print(f"  {name:10} loses {solve(task, ns, count=(share, more))[0] / least:.3f} times the least")
    print("toy, threshold known: expected loss by the mean of the cheap arm\n" + " " * 22, end="")
    print("".join(f"{mean:9}" for mean in MEANS))
    rows = [(f"optimum, care {care:g}", solve(cheap, ns, care)[1]) for care in (0.1, 0.3, 1.0, 3.0)]
    rows += [(f"counts {name}", solve(cheap, ns, count=(share, more))[1]) for name, share, more in COUNTS]
    for name, goes in rows:
        print(f"{name:22}" + "".join(f"{lost(cheap, ns, goes, mean):9,.0f}" for mean in MEANS), flush=True)


if __name__ == "__main__":
    main()
