"""Speed and memory of the simulator, against plain NumPy step loops of the same rules in the same run.

    python benchmarks/speed.py [--rounds 3] [--markdown FILE]
    python benchmarks/speed.py --compiling

MovieLens, alpha = 0.25 (reference arm: the paper's ell = 11; fixed threshold: 0.75 x the largest mean), T = 5,000,000,
Bernoulli rewards, one process, compiled code loaded beforehand. Times are processor time, which a busy machine changes
least, and the median over rounds in which the loops and the simulator take turns. They include all of a run: its random
stream, its state, 200 points of both curves.

Every ratio stands beside its goal and the figure of the last release, from a file in this folder, so that a loss of
speed is seen. Two ratios: to the plain loop of the same rule, and to that of UCB-CS, the usual step of an index policy.
They differ for the elimination policies, whose plain loop is quick: most of its steps only repeat the winner.

With --compiling: what the first run of each policy costs where nothing is compiled yet, and where all of it is.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import plain
import satisfice as sf
from satisfice.policies import get_policy
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.job import Job

HORIZON = 5_000_000
INSTANCE = sf.load_instance("movielens")
BEST, KNOWN, FIXED = sf.BestReward(0.25), sf.ReferenceArm(10), sf.FixedThreshold(0.75 * 0.785)
# Policy, setting, runs that are timed together (runs of TS-CS differ by a factor of 30), and the goal for the ratio: to
# the loop of UCB-CS, or to its own for those in OWN.
CASES: list[tuple[str, sf.Setting, int, float]] = [
    ("pe", KNOWN, 300, 1_000_000),
    ("asymmetric-pe", KNOWN, 300, 1_000_000),
    ("pe-cs", BEST, 300, 1_000_000),
    ("etc-cs", BEST, 300, 1_000_000),
    ("ucb-cs", BEST, 20, 100_000),
    ("ft-ucb", FIXED, 100, 300_000),
    ("ts-cs", BEST, 24, 270),
]
OWN = ("ft-ucb", "ts-cs")
# What the last release reached.
BEFORE = json.loads(Path(__file__).with_name("speed_0.1.0.json").read_text())
# Seconds.
COMMANDS = {
    "import satisfice": (["-c", "import satisfice"], 0.15),
    "satisfice --help": (["-m", "satisfice", "--help"], 0.3),
}
# Its peak memory is its own word: getrusage would give it that of the process which started it.
SWEEP = """
import satisfice as sf
sf.simulate(sf.load_instance("movielens"), sf.BestReward(0.25), ["pe-cs", "etc-cs", "ucb-cs", "ts-cs"], 5_000_000,
            runs=50, workers=1)
print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024)
"""


def seconds_per_run(policy: str, setting: sf.Setting, runs: int) -> float:
    """Time of one run of the whole horizon, all of it: seeding, the run, its curves at 200 checkpoints."""
    job = Job(get_policy(policy), INSTANCE, setting, horizon=HORIZON, seed=0, checkpoints=even_times(HORIZON))
    job.prepare()
    begin = time.process_time()
    job.run(0, runs)
    return (time.process_time() - begin) / runs


def seconds_of(arguments: list[str]) -> float:
    """Median time of a program, from its start to its end, beyond that of an empty one."""

    def timed(*arguments: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begin

    return statistics.median(timed(*arguments) for _ in range(5)) - statistics.median(
        timed("-c", "pass") for _ in range(5)
    )


def processor() -> str:
    """The name of the processor, where the system says it."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


FIRST = """
import os, time
import satisfice as sf
setting = {"best": sf.BestReward(0.25), "known": sf.ReferenceArm(10), "fixed": sf.FixedThreshold(0.58)}[SETTING]
sf.simulate(sf.load_instance("movielens"), setting, POLICY, horizon=1_000, runs=1, workers=1)
used = os.times()
print(used.user + used.system)
"""


def compiling() -> None:
    """Processor time of a process in which a policy is used for the first time, with an empty cache and a full one."""
    print("| policy | processor time of a first run, s | the same, compiled before |\n|---|---|---|")
    kinds = {type(BEST): "best", type(KNOWN): "known", type(FIXED): "fixed"}
    for policy, setting in [*((policy, setting) for policy, setting, _, _ in CASES), ("glr", BEST)]:
        chosen = f"POLICY, SETTING = {policy!r}, {kinds[type(setting)]!r}"
        with tempfile.TemporaryDirectory() as folder:
            times = [
                subprocess.run(
                    [sys.executable, "-c", chosen + FIRST],
                    env=os.environ | {"SATISFICE_CACHE": folder}, check=True, capture_output=True, text=True,
                ).stdout
                for _ in range(2)
            ]  # fmt: skip
        print(f"| {policy} | {float(times[0]):.1f} | {float(times[1]):.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--compiling", action="store_true", help="what compiling costs, for each policy")
    chosen = parser.parse_args()
    if chosen.compiling:
        compiling()
        return
    lines = [
        f"MovieLens, alpha = 0.25, T = {HORIZON:,}, one process; {processor()}, Python {platform.python_version()}, "
        f"{date.today().isoformat()}",
        "",
        "| policy | plain loop, pulls/s | satisfice, pulls/s | one run | x its own loop | x UCB-CS loop | goal | "
        f"{BEFORE['release']} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    missed = []
    for policy, setting, runs, goal in CASES:
        slow, usual, fast = [], [], []
        for _ in range(chosen.rounds):
            usual.append(plain.steps_per_second("ucb-cs", INSTANCE, BEST, HORIZON, seconds=0.5))
            slow.append(plain.steps_per_second(policy, INSTANCE, setting, HORIZON, seconds=0.5))
            fast.append(HORIZON / seconds_per_run(policy, setting, runs))
        loop, ours = statistics.median(slow), statistics.median(fast)
        own = statistics.median(f / s for f, s in zip(fast, slow, strict=True))
        index = statistics.median(f / s for f, s in zip(fast, usual, strict=True))
        cells = [policy, f"{loop:,.0f}", f"{ours:,.3g}", _time(HORIZON / ours)]
        before = BEFORE[f"to a plain loop of {'its own' if policy in OWN else 'UCB-CS'}"][policy]
        lines.append(f"| {' | '.join(cells)} | {own:,.0f} | {index:,.0f} | {goal:,.0f} | {before:,.0f} |")
        print(lines[-1], flush=True)
        if (own if policy in OWN else index) < goal:
            missed.append(policy)
    begin = time.perf_counter()
    sweep = subprocess.run([sys.executable, "-c", SWEEP], check=True, capture_output=True, text=True)
    peak = float(sweep.stdout)
    lines += [
        "",
        f"Four policies x 50 runs x {HORIZON:,} pulls, one process: {time.perf_counter() - begin:.1f} s, "
        f"peak memory {peak:.0f} MB (goal: at most 500; {BEFORE['release']}: {BEFORE['peak memory of a sweep, MB']}).",
    ]
    for name, (arguments, goal) in COMMANDS.items():
        seconds = seconds_of(arguments)
        lines.append(f"`{name}`: {seconds:.3f} s (goal: at most {goal}).")
        if seconds > goal:
            missed.append(name)
    print("\n".join(lines[-4:]))
    if chosen.markdown:
        chosen.markdown.write_text("\n".join(lines) + "\n")
    sys.exit(f"below the goal: {', '.join(missed)}" if missed else 0)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


if __name__ == "__main__":
    main()
