"""Live studies under real traffic, by rehearsal: late rewards, learned costs, and how often verdicts are wrong.

    python benchmarks/traffic.py [--quick] [--part delays|costs|verdicts] [--decisions 1000000] [--runs 10]
        [--studies 2000] [--workers 2] [--out results/traffic] [--picture docs/images/delays.png]

Delays: summed regret of GLR, TS-CS and PE-CS when every reward is told 0, 100, ..., 100,000 decisions late, over
1,000,000 decisions on MovieLens, Goodreads and three llm-routing instances (costs divided by the largest); about 10
minutes on 2 cores, nearly all of it for TS-CS. Costs: what it adds to GLR's regret over 200,000 decisions that costs
are told call by call, with a coefficient of variation of 1, and begin with the cost of one call of every arm, on every
llm-routing instance, 500 runs each way; about 1 minute. Both are decisions of live studies, compiled (`rehearse_late`).
Verdicts: studies at confidence 0.9 with delays that depend on the reward, a control group, sessions and told
costs; a study is wrong if, at any of 25 looks, it calls another arm than the optimal one certified, calls an arm
refuted that is good enough, or says that there is none; about 5 minutes.

Numbers that are in the file already are not computed again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

import satisfice as sf
from satisfice.instances import builtin_instances
from satisfice.plots import look, new_figure, pretty, save
from satisfice.policies.contract import arrange, make_problem, new_state
from satisfice.studies.deciding import compile_rule
from satisfice.studies.late import rehearse_late
from satisfice.studies.rehearsal import late_by_value, rehearse

CELLS = {
    "MovieLens, alpha 0.25": ("movielens", 0.25),
    "Goodreads, alpha 0.1": ("goodreads", 0.1),
    "GPQA, alpha 0.05": ("llm-routing:GPQA", 0.05),
    "SimpleQA, alpha 0.05": ("llm-routing:SimpleQA", 0.05),
    "MMLU-Pro, alpha 0.1": ("llm-routing:MMLU-Pro", 0.1),
}
POLICIES = ("glr", "ts-cs", "pe-cs")
DELAYS = (0, 100, 1_000, 10_000, 100_000)
LOOKS = 25


def instance_of(name: str) -> sf.Instance:
    """An instance whose largest cost is of the size of a reward."""
    instance = sf.load_instance(name)
    return instance.scaled_costs() if name.startswith("llm-routing") else instance


def prepare(policy: str) -> None:
    """Compile the rule now, so that no run is a mixture of the plain and the compiled one."""
    made, setting = sf.get_policy(policy), sf.BestReward(0.1)
    costs = [1.0, 2.0]
    problem = make_problem(made, setting, costs, arrange(costs, setting, ["a", "b"]), 1_000, True)
    state = new_state(made, 2)
    type(made).start(problem, state)
    compile_rule(type(made), problem, state)


def delayed(cell: str, policy: str, delay: int, decisions: int, seed: int) -> dict[str, object]:
    """One run with late rewards."""
    name, alpha = CELLS[cell]
    began = time.process_time()
    done = rehearse_late(
        instance_of(name), sf.BestReward(alpha), decisions, policy=policy, delay=delay, seed=seed, checkpoints=1
    )
    return {
        "cell": cell, "policy": policy, "delay": delay, "decisions": decisions, "seed": seed,
        "cost_regret": float(done.cost_regret[0, -1]), "quality_regret": float(done.quality_regret[0, -1]),
        "seconds": round(time.process_time() - began, 2),
    }  # fmt: skip


def priced(name: str, alpha: float, how: str, decisions: int, runs: int) -> dict[str, object]:
    """Regret with random costs that are known ("fixed") or must be learned ("told")."""
    instance = instance_of(name).replace(cost_spread=1.0)
    done = rehearse_late(
        instance, sf.BestReward(alpha), decisions, costs=how, worth=1.0, runs=runs, seed=0, checkpoints=1
    )
    return {
        "instance": name, "alpha": alpha, "costs": how, "decisions": decisions, "runs": runs,
        "mean": float(done.regret.mean()), "error": float(done.regret.std(ddof=1) / math.sqrt(runs)),
    }  # fmt: skip


def judged(seed: int, decisions: int) -> dict[str, object]:
    """Whether a study with everything was ever wrong. A hard instance: random means and costs, close to each other."""
    prepare("glr")
    rng = np.random.default_rng([seed, 17])
    arms = int(rng.integers(2, 5))
    means = rng.uniform(0.3, 0.9, arms)
    # Half of the instances have an arm right at the threshold, where a wrong proof is likeliest.
    alpha = 0.1
    if seed % 2:
        means[0] = (1 - alpha) * means.max() * (1.0 + rng.choice([-0.02, 0.02]))
    costs = np.geomspace(0.1, 1.0, arms) * rng.uniform(0.7, 1.0, arms)
    rng.shuffle(costs)
    instance = sf.Instance(costs, means, cost_spread=1.0)
    setting = sf.BestReward(alpha)
    best = instance.names[setting.optimal_arm(instance)]
    good = {name for name, mean in zip(instance.names, means, strict=True) if mean >= setting.threshold(instance)}
    wrong, certified, refuted = False, False, 0

    def watch(study: sf.Study) -> None:
        nonlocal wrong, certified, refuted
        verdict = study.verdict()
        certified = verdict.state == "certified"
        refuted = len(verdict.refuted)
        wrong |= verdict.state == "none" or (certified and verdict.leader != best)
        wrong |= any(refutation.arm in good for refutation in verdict.refuted)

    rehearse(
        instance, setting, decisions, delay=late_by_value(5, 60), sessions=8, seed=seed, checkpoints=LOOKS,
        confidence=0.9, costs="told", baseline=instance.names[-1], holdout=0.1, watch=watch,
    )  # fmt: skip
    return {"seed": seed, "decisions": decisions, "wrong": wrong, "certified": certified, "refuted": refuted}


Task = tuple[Callable[..., dict[str, object]], tuple[object, ...]]


def tasks(part: str, total: int, runs: int) -> Iterator[tuple[dict[str, object], Task]]:
    """What is to be computed, each with the entries by which it is found in the file."""
    if part == "delays":
        for seed in range(runs):
            for delay in DELAYS:
                for cell in CELLS:
                    for policy in POLICIES:
                        found = {"cell": cell, "policy": policy, "delay": delay, "decisions": total, "seed": seed}
                        yield found, (delayed, (cell, policy, delay, total, seed))
    elif part == "costs":
        for name in (name for name in builtin_instances() if name.startswith("llm-routing")):
            for alpha, how in itertools.product((0.05, 0.1), ("fixed", "told")):
                found = {"instance": name, "alpha": alpha, "costs": how, "decisions": total, "runs": runs}
                yield found, (priced, (name, alpha, how, total, runs))
    else:
        for seed in range(runs):
            yield {"seed": seed, "decisions": total}, (judged, (seed, total))


def compute(wanted: list[tuple[dict[str, object], Task]], file: Path, workers: int) -> list[dict[str, object]]:
    """The numbers, from the file or new ones, which are added to it one by one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []

    def there(keys: dict[str, object]) -> dict[str, object] | None:
        return next((row for row in known if keys.items() <= row.items()), None)

    found = [there(keys) for keys, _ in wanted]
    rows = [row for row in found if row is not None]
    left = [task for row, (_, task) in zip(found, wanted, strict=True) if row is None]
    with ProcessPoolExecutor(workers) as pool, file.open("a") as out:
        for number, future in enumerate(as_completed([pool.submit(work, *terms) for work, terms in left]), 1):
            row = future.result()
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
            if number % max(len(left) // 10, 1) == 0:
                print(f"{number} of {len(left)}: {row}", flush=True)
    return rows


def regret_of(row: dict[str, object]) -> float:
    """Both regrets together."""
    return float(row["cost_regret"]) + float(row["quality_regret"])  # type: ignore[arg-type]


def show_delays(rows: list[dict[str, object]], picture: Path | None) -> None:
    """The table and the picture of late rewards."""
    print(f"{'':24}{'policy':8}" + "".join(f"{delay:>12,}" for delay in DELAYS))
    found: dict[tuple[object, ...], list[float]] = {}
    for row in rows:
        found.setdefault((row["cell"], row["policy"], row["delay"]), []).append(regret_of(row))
    keys = itertools.product(CELLS, POLICIES, DELAYS)
    sums = {key: float(np.mean(found.get(key, [math.nan]))) for key in keys}
    for cell in CELLS:
        for policy in POLICIES:
            print(f"{cell:24}{policy:8}" + "".join(f"{sums[cell, policy, delay]:12,.0f}" for delay in DELAYS))
    if picture is None:
        return
    total = max(int(row["decisions"]) for row in rows)  # type: ignore[call-overload]
    runs = {policy: len({row["seed"] for row in rows if row["policy"] == policy}) for policy in POLICIES}
    figure, axes = new_figure(1, len(CELLS), width=3.1, height=3.6)
    places = np.arange(len(DELAYS))
    for ax, cell in zip(axes, CELLS, strict=True):
        for policy in POLICIES:
            colour, marker, dash = look(policy)
            values = [sums[cell, policy, delay] for delay in DELAYS]
            ax.plot(
                places,
                values,
                color=colour,
                marker=marker,
                linestyle=dash,
                label=f"{pretty(policy)}, {runs[policy]} runs",
            )
        ax.set_yscale("log")
        ax.set_xticks(places, ["0", "100", "1k", "10k", "100k"])
        ax.set_title(cell, fontsize=10)
        ax.set_xlabel("rewards late by (decisions)")
    axes[0].set_ylabel(f"summed regret after {total:,} decisions\n(mean over runs)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(POLICIES), fontsize=9)
    save(figure, picture)
    print(f"wrote {picture}")


def show_costs(rows: list[dict[str, object]]) -> None:
    """What learning the costs adds."""
    found = {(row["instance"], row["alpha"], row["costs"]): (row["mean"], row["error"]) for row in rows}
    ratios = []
    for name, alpha in sorted({(row["instance"], row["alpha"]) for row in rows}):  # type: ignore[type-var]
        (known, first), (learned, second) = found[name, alpha, "fixed"], found[name, alpha, "told"]
        ratios.append(learned / known)  # type: ignore[operator]
        error = ratios[-1] * math.hypot(first / known, second / learned)  # type: ignore[operator]
        print(f"{name:34} alpha {alpha:<5} known {known:8,.1f}  learned {learned:8,.1f}  "
              f"added {ratios[-1] - 1:+6.1%} (standard error {error:.1%})")  # fmt: skip
    mean = math.exp(float(np.mean(np.log(ratios)))) - 1.0
    print(f"learned costs add {mean:+.1%} in the geometric mean and {max(ratios) - 1:+.1%} at most; goal: at most +20%")


def show_verdicts(rows: list[dict[str, object]]) -> None:
    """How often verdicts were wrong."""
    wrong, certified = sum(bool(row["wrong"]) for row in rows), sum(bool(row["certified"]) for row in rows)
    print(f"{wrong} of {len(rows)} studies were ever wrong ({wrong / len(rows):.2%}; at most 10% are allowed); "
          f"at the end {certified} were certified, and {sum(int(row['refuted']) for row in rows)} arms refuted")  # type: ignore[call-overload]  # fmt: skip


def main() -> None:
    """Compute and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs and few of them: under a minute")
    parser.add_argument("--part", choices=["delays", "costs", "verdicts"], action="append")
    parser.add_argument("--decisions", type=int)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--studies", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("results/traffic"))
    parser.add_argument("--picture", type=Path)
    terms = parser.parse_args()
    sizes = {"delays": (1_000_000, 10), "costs": (200_000, 500), "verdicts": (600, 2_000)}
    if terms.quick:
        sizes = {"delays": (20_000, 1), "costs": (20_000, 50), "verdicts": (300, 20)}
    picture = terms.picture or (terms.out / "delays.png" if terms.quick else Path("docs/images/delays.png"))
    for part in terms.part or sizes:
        decisions, runs = sizes[part]
        runs = (terms.studies if part == "verdicts" else terms.runs) or runs
        wanted = list(tasks(part, terms.decisions or decisions, runs))
        rows = compute(wanted, terms.out / f"{part}.jsonl", terms.workers)
        if part == "delays":
            show_delays(rows, picture)
        elif part == "costs":
            show_costs(rows)
        else:
            show_verdicts(rows)


if __name__ == "__main__":
    main()
