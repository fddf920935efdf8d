"""How often GLR is wrong: with a horizon in six hard cells, without one when it is stopped at random, and by care.

    python benchmarks/reliability.py [--part hard|anytime|care|grid|open] [--runs 1000] [--rival-runs 100]
                                     [--anytime-runs 2000] [--care 1 ...] [--regret results/regret]

With a horizon: the distribution of the summed regret, the worst run beside TS-CS's, the share of runs above 10 times
the mean, and wrong certified verdicts. The runs of TS-CS are taken from the numbers of `regret.py` if they are there.
Without one (delta = 0.05): the share of certified and of wrong certified verdicts at a random time up to 1,000,000.
Care: the toy family on either side of its threshold of 0.76, where staying is right and where it is wrong.

Two parts only run when they are asked for, since they take long: `grid`, the share of runs above 10 times the mean in
every cell of the grid of `regret.py`, for each `--care` beside the regret that it takes (relative to the first
generation of the rule, 100 added), and `open`, the regret there without a horizon over that of being told it.
"""

from __future__ import annotations

import argparse
import json
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import satisfice as sf
from families import Cell, grid
from satisfice.policies.beliefs import Opinion, opinion
from satisfice.policies.contract import arrange, make_problem, new_state
from satisfice.policies.glr import GLR, proved_arm
from satisfice.simulation.engine import compiled_run
from satisfice.simulation.world import make_world

HARD: tuple[tuple[str, float, int], ...] = (
    ("movielens", 0.05, 5_000_000),
    ("movielens", 0.1, 5_000_000),
    ("goodreads", 0.05, 5_000_000),
    ("toy:0.78", 0.2, 500_000),
    ("llm-routing:GPQA", 0.05, 200_000),
    ("llm-routing:SimpleQA", 0.05, 200_000),
)
ANYTIME: tuple[tuple[str, float], ...] = (
    ("toy:0.72", 0.2),
    ("toy:0.75", 0.2),
    ("toy:0.78", 0.2),
    ("toy:0.84", 0.2),
    ("goodreads", 0.1),
    ("goodreads", 0.25),
    ("movielens", 0.25),
    ("llm-routing:GPQA", 0.05),
    ("llm-routing:SimpleQA", 0.05),
    ("llm-routing:MMLU-Pro", 0.1),
)


def load(name: str) -> sf.Instance:
    """An instance with costs divided by the largest where they are dollars."""
    instance = sf.load_instance(name)
    return instance.scaled_costs() if name.startswith("llm-routing") else instance


def run(name: str, alpha: float, horizon: int | None, steps: int, seed: int) -> tuple[float, Opinion, bool, bool, int]:
    """Regret of one run, the opinion, whether it is certified and right, and the arm that was pulled most."""
    instance, setting = load(name), sf.BestReward(alpha)
    policy = GLR(proof=0.0 if horizon else 0.05)
    order = arrange(instance.costs, setting, instance.names)
    problem = make_problem(policy, setting, instance.costs, order, horizon, instance.bounded)
    state, record = new_state(policy, len(order)), np.zeros((1, len(order)), dtype=np.int64)
    rng = np.random.default_rng([seed, steps])
    compiled_run(policy)(problem, state, make_world(instance, order), np.array([steps]), record, rng)
    arm = proved_arm(problem, state)
    said = opinion(problem, state, steps, arm)
    gaps = setting.cost_gaps(instance) + setting.quality_gaps(instance)
    right = bool(gaps[order[said.arm]] == 0.0)
    return float(gaps[order] @ state.pulls), said, arm >= 0, right, int(order[state.pulls.argmax()])


def hard(cell: tuple[str, float, int], runs: int) -> str:
    """One line about GLR in one cell."""
    name, alpha, horizon = cell
    instance, setting = load(name), sf.BestReward(alpha)
    optimal = setting.optimal_arm(instance)
    regret, certified, wrong, elsewhere, sure, misled = [], 0, 0, 0, 0, 0
    for seed in range(runs):
        total, said, proved, right, favourite = run(name, alpha, horizon, horizon, seed)
        regret.append(total)
        certified += proved
        wrong += proved and not right
        elsewhere += favourite != optimal
        sure += said.belief >= 0.95
        misled += said.belief >= 0.95 and not right
    totals = np.array(regret)
    return (
        f"{name + ' ' + format(alpha, 'g'):26}{totals.mean():9,.0f}{np.median(totals):9,.0f}"
        f"{np.quantile(totals, 0.99):9,.0f}{totals.max():9,.0f}{(totals > 10 * totals.mean()).mean():10.2%}"
        f"{elsewhere / runs:12.1%}{certified / runs:11.1%}{wrong / runs:8.2%}"
        f"{sure / runs:9.1%}{misled / max(sure, 1):8.2%}"
    )


def rival(cell: tuple[str, float, int], runs: int, known: dict[str, dict[str, list[float]]]) -> str:
    """The worst run of TS-CS in one cell."""
    name, alpha, horizon = cell
    row = known.get(f"{name} {alpha:g}", {})
    if "ts-cs" in row:
        return f"{row['ts-cs'][2]:12,.0f} ({row['ts-cs'][3]:.0f} runs)"
    result = sf.simulate(load(name), sf.BestReward(alpha), "ts-cs", horizon, runs=runs, checkpoints=1)["ts-cs"]
    return f"{(result.cost_regret + result.quality_regret).max():12,.0f} ({runs} runs)"


def anytime(cell: tuple[str, float], runs: int) -> tuple[str, int, int]:
    """One line about verdicts without a horizon, and how many were certified and wrong."""
    name, alpha = cell
    times = np.exp(np.random.default_rng(1).uniform(np.log(100), np.log(1_000_000), runs)).astype(int)
    certified = wrong = late = 0
    for seed, steps in enumerate(times):
        _, _, proved, right, _ = run(name, alpha, None, int(steps), seed)
        certified += proved
        late += proved and steps > 300_000
        wrong += proved and not right
    share = late / max((times > 300_000).sum(), 1)
    return f"{name + ' ' + format(alpha, 'g'):26}{certified / runs:10.1%}{share:16.1%}{wrong:8d}", certified, wrong


TOYS = (0.72, 0.74, 0.75, 0.755, 0.765, 0.77, 0.78, 0.8)  # means of the cheap arm; the threshold is 0.76


def care(value: float, runs: int) -> str:
    """One line about the toy family: what care does on both sides of the threshold, and to runs that stay for good."""
    means, stuck = [], 0.0
    for mean in TOYS:
        result = sf.simulate(sf.load_instance(f"toy:{mean}"), sf.BestReward(0.2), GLR(care=value), 500_000, runs)
        totals = next(iter(result.values()))
        means.append(float((totals.cost_regret + totals.quality_regret).mean()))
        if mean == 0.75:
            stuck = float((totals.pulls[:, 0] > 250_000).mean())
    return f"{value:6g}" + "".join(f"{mean:9,.0f}" for mean in means) + f"{stuck:16.1%}"


def regrets(cell: Cell, told: bool, runs: int, care: float = 1.0) -> NDArray[np.float64]:
    """Summed regret of every run in one cell of the grid, with or without knowing the horizon."""
    policy, order = GLR(care=care), arrange(cell.instance.costs, cell.setting, cell.instance.names)
    horizon = cell.horizon if told else None
    problem = make_problem(policy, cell.setting, cell.instance.costs, order, horizon, cell.instance.bounded)
    gaps = (cell.setting.cost_gaps(cell.instance) + cell.setting.quality_gaps(cell.instance))[order]
    world, found = make_world(cell.instance, order), np.zeros(runs)
    for seed in range(runs):
        state, record = new_state(policy, len(order)), np.zeros((1, len(order)), dtype=np.int64)
        rng = np.random.default_rng([seed, cell.horizon])
        compiled_run(policy)(problem, state, world, np.array([cell.horizon]), record, rng)
        found[seed] = gaps @ state.pulls
    return found


def rare(runs: int, value: float, pool: ProcessPoolExecutor) -> None:
    """How many runs of each cell of the grid are above 10 times the mean with this much care, and what it costs."""
    cells = grid()
    before = json.loads((Path(__file__).parent / "glr_1.json").read_text())["grid"]
    print(f"{f'the grid, care {value:g}, {runs} runs':34}     mean   median    worst  >10xmean")
    shares, logs = [], []
    for cell, job in [(cell, pool.submit(regrets, cell, True, runs, value)) for cell in cells]:
        x = job.result()
        shares.append((float((x > 10 * x.mean()).mean()), float(x.max())))
        logs.append(math.log((x.mean() + 100) / (before[cell.name] + 100)))
        print(f"{cell.name:34}{x.mean():9,.0f}{np.median(x):9,.0f}{x.max():9,.0f}{shares[-1][0]:10.2%}", flush=True)
    many = [worst for share, worst in shares if share > 0.001]
    print(f"care {value:g}: {math.exp(sum(logs) / len(logs)):.3f} times the first generation's regret (geometric mean)")
    print(f"above 0.1% in {len(many)} of {len(cells)} cells; a run that loses more than 100 is in "
          f"{sum(worst > 100 for worst in many)} of them\n")  # fmt: skip


def unlimited(runs: int, pool: ProcessPoolExecutor) -> None:
    """What not knowing the horizon costs, over the grid; 100 added on both sides of a ratio."""
    jobs = [(cell, [pool.submit(regrets, cell, told, runs) for told in (True, False)]) for cell in grid()]
    ratios = {}
    print(f"{'the grid, ' + str(runs) + ' runs':34}     told     open     ratio")
    for cell, pair in jobs:
        told, free = (float(job.result().mean()) for job in pair)
        ratios[cell.name] = (free + 100) / (told + 100)
        print(f"{cell.name:34}{told:9,.0f}{free:9,.0f}{ratios[cell.name]:10.2f}", flush=True)
    mean = math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))
    print(f"geometric mean {mean:.3f}, worst {max(ratios.values()):.2f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="How often GLR is wrong.")
    every = ("hard", "anytime", "care", "grid", "open")
    parser.add_argument("--part", choices=every, action="append", help="hard, anytime and care by default")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rival-runs", type=int, default=100)
    parser.add_argument("--anytime-runs", type=int, default=2000, help="in all, over the instances")
    parser.add_argument("--care", type=float, nargs="+", default=[1.0], help="of the part `grid`")
    parser.add_argument("--regret", default="results/regret", help="prefix of the files of numbers of regret.py")
    args = parser.parse_args()
    parts = args.part or ["hard", "anytime", "care"]
    run("toy:0.6", 0.2, 1000, 1000, 0)  # compiled before the workers need it
    with ProcessPoolExecutor() as pool:
        if "hard" in parts:
            file = Path(f"{args.regret}-grid.json")
            known = json.loads(file.read_text()) if file.exists() else {}
            columns = "     mean   median      99%    worst  >10xmean  other arm*  certified   wrong   sure**   wrong"
            print(f"{'summed regret of GLR':26}{columns}   TS-CS's worst")
            lines = [pool.submit(hard, cell, args.runs) for cell in HARD]
            for cell, line in zip(HARD, lines, strict=True):
                print(line.result() + rival(cell, args.rival_runs, known), flush=True)
            print("* the arm pulled most is not the optimal one: near-ties are played unproved on purpose")
            print("** believed right with at least 95%, and the share of those that is not\n")
        if "anytime" in parts:
            each = -(-args.anytime_runs // len(ANYTIME))
            print(f"{'no horizon, delta = 0.05':26} certified  after 300,000   wrong   ({each} runs each)")
            checks = [pool.submit(anytime, cell, each) for cell in ANYTIME]
            certified = wrong = 0
            for check in checks:
                line, some, bad = check.result()
                print(line, flush=True)
                certified += some
                wrong += bad
            runs = each * len(ANYTIME)
            print(f"in all: {certified} certified, {wrong} wrong, of {runs} runs; promised: at most 5% wrong\n")
        if "grid" in parts:
            for value in args.care:
                rare(args.runs, value, pool)
        if "open" in parts:
            unlimited(args.runs, pool)
    if "care" in parts:
        print(f"toy family, T = 500,000, {args.runs} runs: mean summed regret by the mean of the cheap arm")
        print("  care" + "".join(f"{mean:>9}" for mean in TOYS) + "   0.75: stuck on it")
        for value in (0.1, 0.3, 1.0, 3.0, 10.0):
            print(care(value, args.runs), flush=True)


if __name__ == "__main__":
    main()
