"""Segments: shared evidence against one study for all, and one study for each. `make bench-segments`.

Worlds with two or three models of costs 1, 3 and 10 and 2 to 60 segments, from all alike to all different, with even
and very uneven traffic; worlds in which pooling misleads; and RouteLLM's two models on 58 subjects. Regret is in units
of the largest cost. What is proved in each segment by its own rewards is judged as a study judges it, and compared
with the truth. With `--file`, the questions of RouteLLM are replayed in live studies, one by one, in random order.

    python benchmarks/segments.py [--quick] [--runs 100] [--horizon 200000] [--draw 5] [--file FILE.csv]
        [--out PICTURE.png]

About 10 minutes on one core; `--quick`: two.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import satisfice as sf
from satisfice import proofs
from satisfice.plots import new_figure, save
from satisfice.policies.contract import arrange
from satisfice.statistics import kl
from satisfice.studies import Study, create_study

CONFIDENCE = 0.95
OFFSET = 100.0  # added to both sides of a ratio, so that worlds in which nothing is lost do not rule it
KINDS = ("pooled", "separate", "shared")
# Where between the threshold and the best an arm may be that is good enough after all, for the least possible regret.
BETWEEN = (0.1, 0.2, 0.3, 0.5)
TWO, THREE = [0.1, 1.0], [0.1, 0.3, 1.0]
# Of two models: the cheap one will do, or only the dear one.
CHEAP, DEAR = [0.85, 0.9], [0.5, 0.9]
# Of three: the second, the third or the first is the cheapest that is good enough.
SECOND, THIRD, FIRST = [0.5, 0.85, 0.9], [0.5, 0.6, 0.9], [0.85, 0.86, 0.9]


class World(NamedTuple):
    """A world, and what it is called."""

    name: str
    what: str  # "alike", "some differ", "all differ", "misleading" or "real"
    instance: sf.SegmentedInstance
    setting: sf.Setting


def make(costs: list[float], means: list[list[float]], shares: np.ndarray) -> sf.SegmentedInstance:
    """A world from a table of means."""
    rows = {f"segment {i}": sf.Instance(costs=costs, means=row) for i, row in enumerate(means)}
    return sf.SegmentedInstance(rows, shares.tolist())


def worlds(sizes: tuple[int, ...], draw: int) -> list[World]:
    """All worlds; `draw` is the seed of those with random means."""
    rng, made, setting = np.random.default_rng(draw), [], sf.BestReward(0.1)
    for n in sizes:
        for traffic, shares in (("even", np.ones(n)), ("uneven", 1.0 / np.arange(1, n + 1) ** 1.5)):
            odd = [i % max(n // max(1, n // 10), 2) == 1 for i in range(n)]
            tables = {
                "all alike, cheap": ("alike", TWO, [CHEAP] * n),
                "all alike, dear": ("alike", TWO, [DEAR] * n),
                "some need the dear one": ("some differ", TWO, [DEAR if other else CHEAP for other in odd]),
                "some need no dear one": ("some differ", TWO, [CHEAP if other else DEAR for other in odd]),
                "scattered by 0.05": (
                    "some differ",
                    THREE,
                    np.clip(np.array([0.6, 0.8, 0.88]) + rng.normal(0, 0.05, (n, 3)), 0.01, 0.99).tolist(),
                ),
                "three kinds": ("all differ", THREE, [(SECOND, THIRD, FIRST)[rng.integers(3)] for _ in range(n)]),
                "means at random": ("all differ", THREE, np.sort(rng.uniform(0.1, 0.9, (n, 3)), axis=1).tolist()),
            }
            for name, (what, costs, means) in tables.items():
                made.append(World(f"{name}, {n} {traffic}", what, make(costs, means, shares), setting))
    big = np.r_[30.0, np.ones(29)]
    made.append(
        World("misleading: the largest differs", "misleading", make(TWO, [[0.3, 0.9]] + [CHEAP] * 29, big), setting)
    )
    swap = [[0.9, 0.5] if i % 2 else [0.5, 0.9] for i in range(20)]
    made.append(World("misleading: each the reverse of the next", "misleading", make(TWO, swap, np.ones(20)), setting))
    simpson = [[0.9, 0.99], [0.3, 0.34]] * 5
    made.append(World("misleading: easy and hard", "misleading", make(TWO, simpson, np.r_[[9.0, 1.0] * 5]), setting))
    real = sf.load_segments("routellm")
    scaled = {
        name: sf.Instance(costs=inst.costs / 40.0, means=inst.means, names=inst.names)
        for name, inst in real.segments.items()
    }
    for alpha in (0.05, 0.15):
        instance = sf.SegmentedInstance(scaled, real.shares.tolist())
        made.append(World(f"RouteLLM, alpha {alpha:g}", "real", instance, sf.BestReward(alpha)))
    return made


def wrong(world: World, done: sf.SegmentedResult) -> tuple[int, int, int]:
    """Runs in which something is proved of a segment that is wrong, segments that are certified, and all."""
    instance, setting = world.instance, world.setting
    delta = (1.0 - CONFIDENCE) / len(instance.names)
    bad = certified = 0
    for pulls, totals in zip(done.pulls, done.totals, strict=True):
        odd = False
        for s, inst in enumerate(instance.segments.values()):
            order = arrange(inst.costs, setting, inst.names)
            case = proofs.make_case(inst.costs[order], pulls[s][order], totals[s][order], 1.0 - setting.alpha)
            found = proofs.judge(case, proofs.equal_levels(case, delta))
            bar = setting.threshold(inst)
            if found.certified >= 0:
                certified += 1
                odd |= order[found.certified] != setting.optimal_arm(inst)
            odd |= any(by >= 0 and inst.means[order[k]] >= bar for k, by in enumerate(found.refuted_by))
        bad += odd
    return bad, certified, len(done.pulls) * len(instance.names)


def measure(chosen: list[World], horizon: int, runs: int, planned: bool) -> list[tuple[World, dict[str, float], float]]:
    """The mean regrets of all worlds; prints a line for each."""
    print(
        f"\nRegret after {horizon:,} decisions, {'with' if planned else 'without'} a known horizon, mean of {runs} runs"
    )
    print(f"{'world':44s} {'pooled':>9s} {'separate':>9s} {'shared':>9s}  shared / better   wrong runs  certified  "
          "least possible, where above 1.15 (of the better)")  # fmt: skip
    rows, errors, tried, clearly, missed = [], 0, 0, 0, []
    for world in chosen:
        done = {
            kind: sf.simulate_segments(
                world.instance, world.setting, horizon=horizon, runs=runs, sharing=kind, planned=planned, seed=1
            )
            for kind in KINDS
        }
        means = {kind: float(result.regret.mean()) for kind, result in done.items()}
        better = min(("pooled", "separate"), key=means.__getitem__)
        ratios = means["shared"] / means[better]
        errors_of = [done[kind].regret.std() / math.sqrt(runs) / max(means[kind], 1e-9) for kind in ("shared", better)]
        spread = math.hypot(*errors_of)
        clearly += ratios * (1.0 - 2.0 * spread) > 1.15
        bad, certified, segments = wrong(world, done["shared"])
        errors, tried = errors + bad, tried + runs
        rows.append((world, means, ratios))
        bound = least_of(world, done["separate"], horizon, planned) if ratios > 1.15 else math.nan
        if ratios > 1.15:
            missed.append((bound / means[better], means["shared"] / max(bound, 1e-9)))
        print(
            f"{world.name:44s} {means['pooled']:9.1f} {means['separate']:9.1f} {means['shared']:9.1f}"
            f"  {ratios:6.2f} +- {ratios * spread:4.2f}    {bad:3d} of {runs:3d}   {certified / segments:6.1%}"
            + ("" if math.isnan(bound) else f"  {bound:7.1f} ({bound / means[better]:.2f})"),
            flush=True,
        )
    values = np.array([ratio for *_, ratio in rows])
    added = np.array([(m["shared"] + OFFSET) / (min(m["pooled"], m["separate"]) + OFFSET) for _, m, _ in rows])
    for what, of in (("", values), (f" ({OFFSET:g} added to both)", added)):
        print(f"shared against the better of both{what}: geometric mean {np.exp(np.log(of).mean()):.2f}, largest "
              f"{of.max():.2f}; above 1.15 in {int((of > 1.15).sum())} of {len(of)} worlds")  # fmt: skip
    print(f"above 1.15 by more than two standard errors: {clearly}; where no policy can stay within 1.15 of the better "
          f"way in every world like it: {sum(least > 1.15 for least, _ in missed)} of {len(missed)}")  # fmt: skip
    for what in dict.fromkeys(world.name.rsplit(",", 1)[0] for world, *_ in rows):
        part = [(m, ratio) for world, m, ratio in rows if world.name.rsplit(",", 1)[0] == what]
        logs = {kind: np.mean([math.log(m["shared"] / m[kind]) for m, _ in part]) for kind in ("pooled", "separate")}
        ratios_here = [ratio for _, ratio in part]
        print(f"  {what:40s} {len(part)}: to pooled {math.exp(logs['pooled']):.3f}, to separate "
              f"{math.exp(logs['separate']):.2f}, to the better {math.exp(np.log(ratios_here).mean()):.2f}, worst "
              f"{max(ratios_here):.2f}")  # fmt: skip
    some = np.array([ratio for world, _, ratio in rows if world.what == "some differ"])
    print(f"where some segments differ: geometric mean {np.exp(np.log(some).mean()):.2f}; at most 0.5 in "
          f"{int((some <= 0.5).sum())} of {len(some)} worlds")  # fmt: skip
    print(f"something wrong is proved in {errors} of {tried} runs (allowed: {1 - CONFIDENCE:.0%} of them)")
    return rows


class Doubt(NamedTuple):
    """A world that differs in one arm of one segment, in which that arm is the right one."""

    pull: float  # what a pull of the arm loses as things are
    nats: float  # what it tells about which world it is
    stake: float  # what a pull of any other arm loses in the other world, at the least
    allowed: float  # the regret in the other world that is allowed, in all segments


def least(doubts: list[list[Doubt]], traffic: float) -> float:
    """The least regret of a segment with so much traffic, of any policy that keeps to what is allowed in every one of
    these other worlds, arm by arm.

    Let there be a share `x` of the traffic. In the other world the arm is played less than that with probability
    `miss`, at most `allowed / (stake traffic (1 - x))`. As things are it is played more than that with probability
    `luck`, at most `regret / (pull traffic x)`. To tell the two apart so well takes `kl(luck, 1 - miss) / nats` pulls
    of the arm (the data-processing inequality), and each arm must be pulled for itself.
    """

    def bound(regret: float) -> float:
        total = 0.0
        for arm in doubts:
            most = 0.0
            for doubt in arm:
                for x in np.linspace(0.01, 0.9, 90):
                    miss = doubt.allowed / (doubt.stake * traffic * (1.0 - x))
                    luck = max(regret / (doubt.pull * traffic * x), 1e-12)
                    if miss + luck < 1.0:
                        most = max(most, doubt.pull * kl(luck, 1.0 - miss) / doubt.nats)
            total += most
        return total

    low, high = 0.0, 1e6
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bound(middle) > middle else (low, middle)
    return low


def least_of(world: World, separate: sf.SegmentedResult, horizon: int, planned: bool) -> float:
    """The least regret in a world of any policy that stays within 1.15 times the better of one study for all and one
    for each wherever one segment differs from it in one arm: a cheap arm that misses the threshold has a mean between
    that and the best, at one of `BETWEEN`.

    What separate studies lose there is what they lose here, but for that segment.
    """
    instance, setting, runs = world.instance, world.setting, len(separate.pulls)

    def regret(changed: dict[int, sf.Instance], sharing: str) -> np.ndarray:
        arms = {name: changed.get(s, inst) for s, (name, inst) in enumerate(instance.segments.items())}
        other = sf.SegmentedInstance(arms, instance.shares.tolist())
        done = sf.simulate_segments(
            other, setting, horizon=horizon, runs=runs, sharing=sharing, planned=planned, seed=1
        )
        mean: np.ndarray = (done.cost_regret + done.quality_regret).mean(axis=0)
        return mean

    here = (separate.cost_regret + separate.quality_regret).mean(axis=0)
    segments = list(instance.segments.values())
    doubts: list[list[list[Doubt]]] = [[[] for _ in range(instance.arms)] for _ in segments]
    for k, between in itertools.product(range(instance.arms), BETWEEN):
        changed = {}
        for s, inst in enumerate(segments):
            bar, means = setting.threshold(inst), inst.means.copy()
            means[k] = (1.0 - between) * bar + between * means.max()
            other = sf.Instance(costs=inst.costs, means=means, names=inst.names)
            if inst.means[k] < bar and setting.optimal_arm(other) == k != setting.optimal_arm(inst):
                changed[s] = other
        there = regret(changed, "separate") if changed else here
        for s, other in changed.items():
            each = float(here.sum() - here[s] + there[s])
            better = min(each, float(regret({s: other}, "pooled").sum()))
            gaps = setting.cost_gaps(other) + setting.quality_gaps(other)
            pull = float((setting.cost_gaps(segments[s]) + setting.quality_gaps(segments[s]))[k])
            nats = kl(float(segments[s].means[k]), float(other.means[k]))
            doubts[s][k].append(Doubt(pull, nats, float(np.delete(gaps, k).min()), 1.15 * better))
    return sum(least(found, horizon * share) for found, share in zip(doubts, instance.shares, strict=True))


def picture(rows: list[tuple[World, dict[str, float], float]], path: Path) -> None:
    """The regret of all three against the better of pooled and separate, world by world."""
    kinds = ("alike", "some differ", "all differ", "misleading", "real")
    rows = sorted(rows, key=lambda row: (kinds.index(row[0].what), row[2]))
    figure, (ax,) = new_figure(1, 1, width=9.0, height=0.21 * len(rows) + 1.6)
    marks = {"pooled": ("o", "#999999"), "separate": ("s", "#0072B2"), "shared": ("D", "#D55E00")}
    places = np.arange(len(rows))
    for kind, (mark, colour) in marks.items():
        ratios = [means[kind] / min(means["pooled"], means["separate"]) for _, means, _ in rows]
        label = {"pooled": "one study for all", "separate": "one for each segment", "shared": "segments"}[kind]
        ax.plot(ratios, places, mark, color=colour, label=label, markersize=5)
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.axvline(1.15, color="black", linewidth=0.8, linestyle=":")
    ax.set_xscale("log")
    ax.set_yticks(places, [world.name for world, *_ in rows], fontsize=7)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel("regret, divided by that of the better of one study for all and one for each segment")
    ax.legend(loc="lower right", fontsize=8)
    save(figure, path)
    print(f"picture: {path}")


def replay(file: Path, orders: int) -> None:
    """The questions of RouteLLM in live studies, in random order: what each way costs, and how much it gets right."""
    import polars as pl

    frame = pl.read_csv(file)
    models = {"mixtral-8x7b": 0.025, "gpt-4-1106": 1.0}
    table = frame.select("segment", "mixtral_8x7b_correct", "gpt4_1106_correct").rows()
    names = sorted({row[0] for row in table})
    setting, arms = sf.BestReward(0.05), list(models)
    means = {name: np.mean([row[1:] for row in table if row[0] == name], axis=0) for name in names}
    print(f"\n{len(table):,} questions of RouteLLM in {len(names)} segments, replayed in live studies in {orders} "
          "random orders; good enough: 95% of the better model's share of right answers")  # fmt: skip
    print(f"{'':24s} {'right':>7s} {'cost':>9s} {'regret':>8s} {'wrong verdicts':>15s}")
    for kind in (*KINDS, *arms):
        right = cost = regret = 0.0
        verdicts = 0
        for number in range(orders):
            rng = np.random.default_rng(number)
            lines = [table[i] for i in rng.permutation(len(table))]
            studies: dict[str, Study] = {}
            for segment, *answers in lines:
                arm = kind
                if kind in KINDS:
                    place = segment if kind == "separate" else ""
                    if place not in studies:
                        terms = {"segments": names} if kind == "shared" else {}
                        studies[place] = create_study("s", models, setting, seed=1, **terms)  # type: ignore[arg-type]
                    decision = studies[place].ask(segment=segment if kind == "shared" else None)
                    arm = decision.arm
                    studies[place].tell(decision.id, float(answers[arms.index(arm)]))
                k, mean = arms.index(arm), means[segment]
                inst = sf.Instance(costs=list(models.values()), means=mean)
                right += answers[k]
                cost += models[arm]
                regret += setting.cost_gaps(inst)[k] + setting.quality_gaps(inst)[k]
            if kind == "shared":
                for line in studies[""].status().segments:
                    inst = sf.Instance(costs=list(models.values()), means=means[line.name])
                    best = arms[setting.optimal_arm(inst)]
                    verdicts += line.verdict.state == "certified" and line.verdict.leader != best
        count = orders * len(table)
        shown = str(verdicts) if kind == "shared" else ""
        print(f"{kind:24s} {right / count:7.1%} {cost / orders:9,.0f} {regret / orders:8,.0f} {shown:>15s}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--horizon", type=int, default=200_000)
    parser.add_argument("--orders", type=int, default=3, help="random orders of the questions in --file")
    parser.add_argument("--file", type=Path, help="routellm_mmlu_gsm8k.csv: the questions, one per line")
    parser.add_argument("--out", type=Path, help="where to put the picture")
    parser.add_argument("--draw", type=int, default=5, help="the seed of the worlds with random means")
    parser.add_argument("--only", default="", help="worlds whose name contains this")
    options = parser.parse_args()
    began = time.process_time()
    runs, sizes = (10, (2, 60)) if options.quick else (options.runs, (2, 10, 60))
    chosen = [world for world in worlds(sizes, options.draw) if options.only in world.name]
    rows = measure(chosen, options.horizon, runs, planned=True)
    measure(chosen, options.horizon, runs, planned=False)
    if options.out is not None:
        picture(rows, options.out)
    if options.file is not None:
        replay(options.file, 1 if options.quick else options.orders)
    print(f"\n{time.process_time() - began:,.0f} s of processor time")


if __name__ == "__main__":
    main()
