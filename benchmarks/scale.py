"""Policies with 1,000 arms, and with T = 1e12: whether the numbers add up, and the time.

    python benchmarks/scale.py [--policy ID ...]

One run each, in this process; processor time without compiling. A policy's first setting of best reward, reference arm
and fixed threshold is used. The sum of the pulls must be T, and no curve may fall. TS-CS and GLR, which may take long,
are asked for by name.

With --memory: 10,000 runs of PE x 200 checkpoints x 1,000 arms, beside the size of their results.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import satisfice as sf
from satisfice.policies import all_policies, get_policy
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.job import Job

POLICIES = ("pe", "asymmetric-pe", "pe-cs", "etc-cs", "ucb-cs", "ft-ucb")
LONG = ("ts-cs", "glr")
SIZES = ((1000, 10**6), (4, 10**12))


def make_job(policy: str, arms: int, horizon: int) -> Job:
    """A job with means from 0.3 to 0.8 in an order that has nothing to do with costs."""
    means = np.linspace(0.3, 0.8, arms)
    np.random.default_rng(1).shuffle(means)
    instance = sf.Instance(costs=np.arange(1, arms + 1) / arms, means=means)
    settings = (sf.BestReward(0.1), sf.ReferenceArm(int(means.argmax()), 0.1), sf.FixedThreshold(0.6))
    served = all_policies()[policy].settings
    setting = next(setting for setting in settings if isinstance(setting, served))
    return Job(get_policy(policy), instance, setting, horizon=horizon, seed=0, checkpoints=even_times(horizon))


def sound(job: Job) -> tuple[bool, float]:
    """Whether the numbers of a run add up, and how long it took."""
    job.prepare()
    begin = time.process_time()
    output = job.run(0, 1)
    seconds = time.process_time() - begin
    rising = all((np.diff(curve) >= 0).all() for curve in (output.cost_curve, output.quality_curve))
    return rising and int(output.pulls.sum()) == job.horizon and bool((output.pulls >= 0).all()), seconds


def peak() -> float:
    """The largest memory of this process so far, in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", action="append", choices=POLICIES + LONG)
    parser.add_argument("--memory", action="store_true")
    chosen = parser.parse_args()
    wrong = []
    print("| policy | arms | T | one run, s | adds up |\n|---|---|---|---|---|", flush=True)
    for policy in chosen.policy or POLICIES:
        for arms, horizon in SIZES:
            good, seconds = sound(make_job(policy, arms, horizon))
            print(f"| {policy} | {arms:,} | {horizon:.0e} | {seconds:.4f} | {'yes' if good else 'no'} |", flush=True)
            if not good:
                wrong.append(policy)
    if chosen.memory:
        job = make_job("pe", 1000, 10**6)
        job.prepare()
        before = peak()
        output = job.run(0, 10_000)
        size = sum(part.nbytes for part in output) / 2**20
        grown = peak() - before
        print(f"\n10,000 runs x 200 checkpoints x 1,000 arms: results {size:.0f} MB, memory grew by {grown:.0f} MB.")
    sys.exit(f"numbers do not add up: {', '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
