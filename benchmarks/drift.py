"""Worlds that change: regret against baselines and an oracle, false alarms, and how soon a change is noticed.

    python benchmarks/drift.py [--runs 100] [--quick] [--part worlds|least|steady|alarms|delays]
        [--policies glr-drift,...] [--only movielens] [--out results/drift]

Worlds: six of 100,000 pulls (three arms, subsidized best reward), dynamic regret in units of the largest cost. The
oracle is `glr` that begins anew, with nothing known, whenever the right arm or a cost changes, and knows how long that
lasts. Least: what any policy must lose that is not told when an arm changes, and how soon an alarm can be at best.
Steady: cells of the paper's grid, in which nothing changes, `glr-drift` against `glr`. Alarms: runs of 1,000,000 pulls
of one arm whose mean never changes, watched reward by reward. Delays: rewards from a change to the alarm. One core
needs about half an hour, most of it for the steady cells and the alarms; `--quick` some minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import satisfice as sf
from satisfice.changes import SIZE, begin, view, watch, where
from satisfice.plots import new_figure, readable
from satisfice.policies.compiled import compile_native
from satisfice.statistics import kl

HORIZON = 100_000
SETTING = sf.BestReward(0.1)
COSTS = [0.1, 0.4, 1.0]
POLICIES = ("glr-drift", "glr", "discounted-ts-cs", "window-ts-cs")
OFFSET = 100.0  # added to both sides of a ratio, so that worlds in which nothing is lost do not rule it
PROMISE = 0.01


def worlds() -> dict[str, sf.Instance]:
    """The six."""
    half, quarter = HORIZON // 2, HORIZON // 4

    def arms(*means: float) -> sf.Instance:
        return sf.Instance(COSTS, means)

    war = [(quarter, [0.1, 0.4, 0.3]), (half, [0.1, 0.2, 0.3]), (3 * quarter, [0.5, 0.45, 0.3])]
    return {
        "certified arm falls": arms(0.95, 0.96, 0.97).changing([(half, [0.3, 0.96, 0.97])]),
        "leader falls slightly": arms(0.88, 0.93, 0.95).changing([(half, [0.80, 0.93, 0.95])]),
        "refuted arm rises": arms(0.6, 0.9, 0.95).changing([(half, [0.97, 0.9, 0.95])]),
        "price war": arms(0.7, 0.9, 0.95).changing(costs=war),
        "slow walk": arms(0.8, 0.85, 0.9).walking(0.01, every=500, horizon=HORIZON, seed=3),
        "no change": arms(0.75, 0.9, 0.95),
    }


def oracle(world: sf.Instance, runs: int, seed: int = 0) -> NDArray[np.float64]:
    """Regret of `glr` that begins anew whenever the right arm or a cost changes, and knows how long that lasts."""
    pieces = world.pieces
    times = [*(world.times.tolist() if isinstance(world, sf.ChangingInstance) else [0]), HORIZON]
    firsts = [
        p
        for p, piece in enumerate(pieces)
        if p == 0
        or SETTING.optimal_arm(piece) != SETTING.optimal_arm(pieces[p - 1])
        or piece.costs.tolist() != pieces[p - 1].costs.tolist()
    ]
    total = np.zeros(runs)
    for first, last in zip(firsts, [*firsts[1:], len(pieces)], strict=True):
        start, length = times[first], times[last] - times[first]
        part = pieces[first]
        if last > first + 1:
            part = part.changing([(times[p] - start, pieces[p].means) for p in range(first + 1, last)])
        total += sf.simulate(part, SETTING, "glr", length, runs=runs, seed=100 * seed + first, workers=1)["glr"].regret
    return total


def alarms_of(rng: np.random.Generator, mean: float, pulls: int, runs: int, delta: float) -> int:
    """How many of so many runs without a change have an alarm."""
    memory = view(np.zeros(SIZE), 0)
    count = 0
    for _ in range(runs):
        begin(memory, 0.0, 0.0)
        for t in range(pulls):
            if watch(memory, 1, 1.0 if rng.random() < mean else 0.0, t, delta):
                count += 1
                break
    return count


def delays_of(
    rng: np.random.Generator, before: float, after: float, at: int, delta: float, found: NDArray[np.float64]
) -> None:
    """Rewards from the change to the alarm, and by how many rewards the place of the change is missed."""
    memory = view(np.zeros(SIZE), 0)
    for r in range(len(found)):
        begin(memory, 0.0, 0.0)
        for t in range(at):
            watch(memory, 1, 1.0 if rng.random() < before else 0.0, t, delta)
        t = at
        while t < at + 200_000:
            t += 1
            if watch(memory, 1, 1.0 if rng.random() < after else 0.0, t - 1, delta):
                break
        found[r, 0], found[r, 1] = t - at, where(memory).stamp - at


def part_worlds(runs: int, policies: tuple[str, ...], before: dict[str, dict[str, float]]) -> dict[str, object]:
    """Regret in the six worlds; of policies that are not asked for, what was found `before`."""
    print(f"dynamic regret, mean of {runs} runs (the oracle restarts glr at every change that matters)")
    print(f"{'world':24s}" + "".join(f"{name:>18s}" for name in (*POLICIES, "oracle", "of oracle")))
    table: dict[str, dict[str, float]] = {}
    for name, world in worlds().items():
        found = sf.simulate(world, SETTING, policies, HORIZON, runs=runs, seed=0, workers=1)
        new = {policy: float(found[policy].regret.mean()) for policy in policies}
        new["oracle"] = float(oracle(world, runs).mean())
        row = {column: (before.get(name, {}) | new).get(column, math.nan) for column in (*POLICIES, "oracle")}
        table[name] = row
        ratio = row["glr-drift"] / max(row["oracle"], 1e-9)
        error = float(found["glr-drift"].regret.std() / math.sqrt(runs)) if "glr-drift" in policies else math.nan
        print(f"{name:24s}" + "".join(f"{value:18,.0f}" for value in row.values())
              + f"{ratio:18.2f} (standard error of glr-drift: {error:.0f})", flush=True)  # fmt: skip
    means = {}
    for what, offset in (("geometric mean", OFFSET), ("geometric mean, nothing added", 0.0)):
        means[what] = {
            policy: math.exp(np.mean([math.log(row[policy] + offset) for row in table.values()])) - offset
            for policy in (*POLICIES, "oracle")
        }
        ratio = (means[what]["glr-drift"] + offset) / (means[what]["oracle"] + offset)
        print(f"{what:24s}" + "".join(f"{value:18,.0f}" for value in means[what].values()) + f"{ratio:18.2f}")
    return {"worlds": table, **means}


def backwards(
    grid: NDArray[np.float64],
    means: NDArray[np.float64],
    pull: NDArray[np.float64],
    leave: NDArray[np.float64],
    horizon: int,
    chance: float,
    again: float,
) -> NDArray[np.float64]:
    """What the best policy loses from the first step on, for every belief of `grid` that the arm has changed; whoever
    leaves the arm for a step is asked `again`, or has left for good with `again = 0`."""
    n = len(grid)
    # With a reward of x the belief becomes one between two of the grid, with a probability.
    odds, place, part = np.zeros((2, n)), np.zeros((2, n), dtype=np.int64), np.zeros((2, n))
    for x in range(2):
        for i in range(n):
            old, new = (1.0 - grid[i]) * abs(1.0 - x - means[0]), grid[i] * abs(1.0 - x - means[1])
            odds[x, i] = old + new
            belief = new / (old + new) if old + new > 0.0 else 0.0
            at = min(max(np.searchsorted(grid, belief) - 1, 0), n - 2)
            place[x, i], part[x, i] = at, (belief - grid[at]) / (grid[at + 1] - grid[at])
    value, later = np.zeros(n), np.zeros(n)
    for t in range(horizon - 1, -1, -1):
        at = 0
        for i in range(n):  # before the next step it may change
            belief = grid[i] + (1.0 - grid[i]) / (horizon / chance - t - 1.0) if t < horizon - 1 else grid[i]
            while at < n - 2 and grid[at + 1] < belief:
                at += 1
            share = (belief - grid[at]) / (grid[at + 1] - grid[at])
            later[i] = (1.0 - share) * value[at] + share * value[at + 1]
        for i in range(n):
            pulled = (1.0 - grid[i]) * pull[0] + grid[i] * pull[1]
            for x in range(2):
                at, share = place[x, i], part[x, i]
                pulled += odds[x, i] * ((1.0 - share) * later[at] + share * later[at + 1])
            value[i] = min(pulled, (1.0 - grid[i]) * leave[0] + grid[i] * leave[1] + again * later[i])
    return value


def least(
    means: tuple[float, float],
    pull: tuple[float, float],
    leave: tuple[float, float],
    horizon: int,
    chance: float = 1.0,
    compiled: bool = True,
) -> float:
    """The least expected regret of any policy, told everything but when the mean of one arm changes.

    With probability `chance` the mean changes from `means[0]` to `means[1]` at a time that is uniform over the horizon.
    A pull of that arm loses `pull[0]` before and `pull[1]` since, one of the best other arm `leave[0]` and `leave[1]`.
    What matters of the past is the belief that the arm has changed: so this is a dynamic program. Its value is concave
    in the belief; so between the beliefs of a grid a straight line is below it, and what comes out is a lower bound.
    """
    grid = np.r_[np.linspace(0.0, 0.1, 1500, endpoint=False), np.linspace(0.1, 1.0, 300)]
    work = compile_native(backwards) if compiled else backwards
    value = work(grid, np.array(means), np.array(pull), np.array(leave), horizon, chance, 1.0)
    return float(np.interp(chance / horizon, grid, value))


def soonest(means: tuple[float, float], horizon: int, promise: float, compiled: bool = True) -> float:
    """The least mean delay of any test that has a false alarm with a probability of at most `promise`, in rewards.

    It may know both means, and that the change comes before a reward that is uniform over the horizon, if it comes. Let
    it come with probability `chance`, let every reward since the change cost 1 and a false alarm `fine`. The best test
    then loses what the dynamic program says, and any other at least that: `chance` times its mean delay, and not more
    than `promise` times the fine, since until the change nobody knows whether it comes.
    """
    odds = np.exp(np.linspace(-18.0, 14.0, 1200))
    grid = np.r_[0.0, odds / (1.0 + odds), 1.0]
    work, best = compile_native(backwards) if compiled else backwards, 0.0
    for chance in (1.0, 0.5, 0.1):
        for fine in np.geomspace(0.3, 30.0, 7) / (promise * kl(means[1], means[0])) * chance:
            pull, leave = np.array([0.0, 1.0]), np.array([fine, 0.0])
            value = work(grid, np.array(means), pull, leave, horizon, chance, 0.0)
            best = max(best, (float(np.interp(chance / horizon, grid, value)) - promise * fine) / chance)
    return best


def least_within(
    limit: float, means: tuple[float, float], pull: tuple[float, float], leave: tuple[float, float], horizon: int
) -> float:
    """The same for a sure change, of any policy that loses at most `limit` where nothing changes: since every policy
    loses `least(chance)` at least, on average over both worlds."""
    chances = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
    return max((least(means, pull, leave, horizon, w) - (1.0 - w) * limit) / w for w in chances)


def part_least(runs: int) -> dict[str, object]:
    """What must be lost where an arm rises or falls, nobody knows when; and what `glr-drift` and the oracle lose."""
    print(f"an arm changes, at a time that is uniform over {HORIZON:,} pulls: mean of {runs} runs")
    table = {}
    for before, after in ((0.6, 0.97), (0.6, 0.87), (0.75, 0.9), (0.3, 0.97), (0.95, 0.3)):
        fall = before > after
        first, second = ([mean, 0.96, 0.97] if fall else [mean, 0.9, 0.95] for mean in (before, after))
        steady, then = sf.Instance(COSTS, first), sf.Instance(COSTS, second)
        lost = np.zeros((runs, 2))
        for run in range(runs):
            at = int(HORIZON * (run + 0.5) / runs)
            world = steady.changing([(at, second)])
            found = sf.simulate(world, SETTING, "glr-drift", HORIZON, runs=1, seed=run, workers=1)["glr-drift"]
            lost[run] = found.regret[0], oracle(world, 1, seed=run)[0]
        kept = sf.simulate(steady, SETTING, ("glr", "glr-drift"), HORIZON, runs=runs, seed=0, workers=1)
        price = float(kept["glr-drift"].regret.mean() - kept["glr"].regret.mean())
        gaps = np.array([SETTING.cost_gaps(x) + SETTING.quality_gaps(x) for x in (steady, then)])
        case = (before, after), tuple(gaps[:, 0]), tuple(gaps[:, 1]), HORIZON
        row = {
            "glr-drift": float(lost[:, 0].mean()),
            "error": float(lost[:, 0].std() / math.sqrt(runs)),
            "oracle": float(lost[:, 1].mean()),
            "least": least(*case),
            "price": price,
            "least within": least_within(max(price, 0.0), *case),
        }
        table[f"{before} -> {after}"] = row
        print(f"{before:4g} -> {after:4g}: glr-drift {row['glr-drift']:6,.0f} +- {row['error']:3.0f}, oracle "
              f"{row['oracle']:5.1f}; of all that know the means, at least {row['least']:6.1f}, and "
              f"{row['least within']:6,.0f} of those that lose at most {price:4.1f} more where nothing changes, as "
              "glr-drift does", flush=True)  # fmt: skip
    alarms = soonest_alarms(runs)
    after_fall(runs)
    return {"least": table, "alarms of any test": alarms}


def soonest_alarms(runs: int) -> dict[str, tuple[float, float]]:
    """Rewards until the alarm, of the test as it is and of the best that knows both means."""
    print(f"rewards from a change to the alarm, at a time uniform over {HORIZON:,} rewards; promise {PROMISE:g}, "
          "three arms")  # fmt: skip
    promise, table = PROMISE * 0.95 / 3, {}
    for before, after in ((0.95, 0.3), (0.3, 0.95), (0.88, 0.8)):
        found, rng = np.zeros((runs, 2)), np.random.default_rng(11)
        for run in range(runs):
            at = int(HORIZON * (run + 0.5) / runs)
            compile_native(delays_of)(rng, before, after, at, promise, found[run : run + 1])
        mean, error = float(found[:, 0].mean()), float(found[:, 0].std() / math.sqrt(runs))
        bound = soonest((before, after), HORIZON, promise)
        table[f"{before} -> {after}"] = mean, bound
        print(f"{before:4g} -> {after:4g}: {mean:6.1f} +- {error:.1f} on average; of all tests with this promise that "
              f"know the means, at least {bound:6.1f}", flush=True)  # fmt: skip
    return table


def after_fall(runs: int) -> None:
    """What looks at an arm that has fallen cost, and what must be lost where it rises again by whoever spends less."""
    world = worlds()["certified arm falls"]
    pair = ("glr-drift", "glr-drift(changes=0)")
    found = sf.simulate(world, SETTING, pair, HORIZON, runs=runs, seed=0, workers=1)
    looks, none = (float(found[policy].regret.mean()) for policy in pair)
    told = float(oracle(world, runs).mean())
    print(f"certified arm falls: {looks:.1f}, without looks {none:.1f}, oracle {told:.1f}")
    then = world.pieces[1]
    back = sf.Instance(COSTS, [0.95, *then.means[1:]])
    gaps = np.array([SETTING.cost_gaps(x) + SETTING.quality_gaps(x) for x in (then, back)])
    case = (float(then.means[0]), 0.95), tuple(gaps[:, 0]), tuple(gaps[:, 1]), HORIZON // 2
    for limit in (max(2.0 * told - none, 0.0), looks - none):
        print(f"whoever spends at most {limit:4.1f} on looks in the {HORIZON // 2:,} pulls since then loses at least "
              f"{least_within(limit, *case):6,.0f} where it rises again", flush=True)  # fmt: skip


def part_steady(runs: int, only: str) -> dict[str, object]:
    """Cells of the paper's grid, in which nothing changes."""
    cells = [(f"toy:{mean}", 0.2, 500_000) for mean in ("0.7", "0.75", "0.78")]
    cells += [(f"llm-routing:{name}", 0.1, 200_000) for name in ("GPQA", "AIME", "MMLU-Pro", "SimpleQA")]
    cells += [(name, alpha, 5_000_000) for alpha in (0.25, 0.05, 0.1, 0.4) for name in ("movielens", "goodreads")]
    print(f"{f'no change, mean of {runs} runs':34s}{'glr':>12s}{'glr-drift':>12s}{'ratio':>8s}"
          f"  with {OFFSET:g} added to both")  # fmt: skip
    table, logs = {}, []
    cells = [cell for cell in cells if only in f"{cell[0]} {cell[1]:g}"]
    if not cells:
        raise SystemExit(f"--only {only!r}: no cell has that in its name, such as 'movielens 0.05'")
    for name, alpha, horizon in cells:
        instance = sf.load_instance(name)
        if name.startswith("llm"):
            instance = instance.scaled_costs()
        pair = ["glr", "glr-drift"]
        found = sf.simulate(instance, sf.BestReward(alpha), pair, horizon, runs=runs, seed=0, workers=1)
        one, two = (float(found[policy].regret.mean()) for policy in pair)
        ratio = (two + OFFSET) / (one + OFFSET)
        spreads = [found[policy].regret.std() / math.sqrt(runs) for policy in pair]
        error = ratio * math.hypot(spreads[0] / (one + OFFSET), spreads[1] / (two + OFFSET))
        logs.append(math.log(ratio))
        table[f"{name} {alpha:g}"] = one, two
        print(f"{name + f' {alpha:g}':34s}{one:12,.0f}{two:12,.0f}{two / max(one, 1e-9):8.2f}"
              f"{ratio:8.3f} +- {error:.3f}", flush=True)  # fmt: skip
    mean = math.exp(float(np.mean(logs)))
    print(f"{'geometric mean of ratios':66s}{mean:8.3f}  (the largest is {math.exp(max(logs)):.3f})")
    return {"steady": table, "steady mean": mean}


def part_alarms(runs: int, pulls: int) -> dict[str, object]:
    """False alarms."""
    table = {}
    for delta in (PROMISE, 0.1):
        for mean in (0.05, 0.5, 0.95):
            count = compile_native(alarms_of)(np.random.default_rng(7), mean, pulls, runs, delta)
            table[f"{delta:g} at {mean:g}"] = count / runs
            print(f"mean {mean:4g}: {count} false alarms in {runs:,} runs of {pulls:,} rewards; promised at most "
                  f"{delta:.0%}, {delta * runs:g}", flush=True)  # fmt: skip
    return {"alarms": table, "alarm runs": runs, "alarm pulls": pulls}


def part_delays(runs: int) -> dict[str, object]:
    """How soon changes are noticed."""
    table = {}
    print(f"rewards until a change is noticed, of {runs} runs; promise {PROMISE:g} for three arms")
    for before, after, at in (
        *((0.95, 0.3, at) for at in (100, 1_000, 10_000, 100_000)),
        *((0.3, 0.95, at) for at in (100, 10_000)),
        *((0.88, 0.8, at) for at in (1_000, 10_000, 100_000)),
        *((0.8, 0.76, at) for at in (10_000, 100_000)),
    ):
        found = np.zeros((runs, 2))
        compile_native(delays_of)(np.random.default_rng(5), before, after, at, PROMISE * 0.95 / 3, found)
        middle, most = np.median(found[:, 0]), np.quantile(found[:, 0], 0.95)
        table[f"{before} -> {after} after {at}"] = float(middle), float(most)
        print(f"{before} -> {after} after {at:7,d}: median {middle:8,.0f}, 95% within {most:8,.0f}; place missed by "
              f"{np.median(np.abs(found[:, 1])):,.0f}", flush=True)  # fmt: skip
    return {"delays": table}


def draw(table: dict[str, dict[str, float]], path: Path) -> None:
    """Regret in the worlds, as bars."""
    figure, (ax,) = new_figure(width=8.5, height=5.0)
    labels = [*POLICIES, "oracle"]
    colours = dict(zip(labels, ("#0072b2", "#999999", "#e69f00", "#cc79a7", "#009e73"), strict=True))
    for place, label in enumerate(labels):
        at = np.arange(len(table)) + (place - 2) * 0.16
        ax.barh(at, [max(row[label], 1.0) for row in table.values()], 0.15, color=colours[label], label=label)
    ax.set_yticks(range(len(table)), list(table))
    ax.invert_yaxis()
    ax.set_xscale("log")
    readable(ax.xaxis)
    ax.set_xlabel("dynamic regret in 100,000 pulls (logarithmic)")
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.1), ncols=5, frameon=False, fontsize=8)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    print(f"picture: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="few and short runs")
    parser.add_argument("--part", choices=("worlds", "least", "steady", "alarms", "delays"))
    parser.add_argument("--policies", default=",".join(POLICIES), help="those to run in the worlds; others are kept")
    parser.add_argument("--only", default="", help="steady cells whose name contains this")
    parser.add_argument("--out", type=Path, default=Path("results/drift"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "numbers.json"
    numbers = json.loads(file.read_text()) if file.exists() else {}
    runs, began = 10 if options.quick else options.runs, time.perf_counter()
    parts: dict[str, Callable[[], dict[str, object]]] = {
        "worlds": lambda: part_worlds(runs, tuple(options.policies.split(",")), numbers.get("worlds", {})),
        "least": lambda: part_least(runs),
        "steady": lambda: part_steady(runs, options.only),
        "alarms": lambda: part_alarms(100 if options.quick else 1_000, 100_000 if options.quick else 1_000_000),
        "delays": lambda: part_delays(runs),
    }
    for name, work in parts.items():
        if options.part in (None, name):
            numbers |= work()
            file.write_text(json.dumps(numbers, indent=1))
            print()
    if "worlds" in numbers:
        draw(numbers["worlds"], options.out / "drift.png")
    print(f"numbers: {file}; {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
