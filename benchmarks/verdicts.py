"""Wrong verdicts of live studies, at confidence 0.9: `make bench-verdicts`.

A verdict is wrong when an arm is called certified that is not the cheapest good one, an arm refuted that is good
enough, or no arm good enough where one is. Rewards are late in ways that depend on their value, decisions are
abandoned, expire, are told twice and corrected, and arms are retired and added after looking. Most instances are ties
or near ties, where it is easiest to be wrong. About 6 minutes on 2 cores; `--quick`: half a minute.

At last, many equal arms of which all but the best and the worst are retired: how often the study says that one of the
two is not good enough, and how often a bar for the two arms that are left would be passed.

    python benchmarks/verdicts.py [--quick] [--studies 2000] [--workers 2] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import satisfice as sf
from satisfice import proofs
from satisfice.problem import Setting
from satisfice.progress import progress_bar
from satisfice.studies import Study, create_study
from satisfice.studies.counts import UNIT
from satisfice.studies.deciding import compile_rule
from satisfice.studies.evidence import judge
from satisfice.studies.machine import Machine
from satisfice.studies.records import Event

CONFIDENCE, LATE = 0.9, 500
Means = dict[str, float]


class Clock:
    """A second passes with every decision."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(
    study: Study,
    clock: Clock,
    means: Means,
    rng: np.random.Generator,
    decisions: int,
    delay: Callable[[float], int],
    lost: float = 0.0,
    corrected: float = 0.0,
    silent: float | None = None,
    look: Callable[[Study, int], None] | None = None,
) -> list[dict[str, str]]:
    """Drive a study; answers with every verdict that was ever seen, as arm -> word, on the way.

    `silent`: the reward that is never told, since the study takes silence for it.
    """
    due: dict[int, list[tuple[int, float]]] = {}
    seen = []
    step, last = 50, 0
    for t in range(0, decisions + 2 * LATE, step):
        clock.now = float(t)
        if t < decisions:
            for decision in study.ask_many(step):
                reward = float(rng.random() < means[decision.arm])
                if reward == silent:
                    continue
                if rng.random() < lost:
                    study.abandon(decision.id)
                    continue
                due.setdefault(t + delay(reward), []).append((decision.id, reward))
        arrived = [item for moment in range(last, t + 1) for item in due.pop(moment, [])]
        last = t + 1
        if arrived:
            study.tell_many(dict(arrived))
            study.tell_many(dict(arrived[:3]))  # said again
            for number, reward in arrived:
                if rng.random() < corrected:
                    study.tell(number, 1.0 - reward, correct=True)
                    study.tell(number, reward, correct=True)
        if look is not None and t % 400 == 0:
            look(study, t)
        if t % 500 == 0 or t + step >= decisions + 2 * LATE:
            status = study.status()
            words = {arm.name: arm.verdict for arm in status.arms}
            if status.verdict.state == "none":
                words[""] = "none"
            seen.append(words)
    return seen


def wrong(seen: list[dict[str, str]], good: set[str], best: Callable[[set[str]], str | None]) -> bool:
    """Whether any verdict was wrong. `best` has the right arm among those in the study then."""
    for words in seen:
        there = {name for name, word in words.items() if word != "retired" and name}
        right = best(there)
        for name, word in words.items():
            if word == "certified" and name != right:
                return True
            if word == "refuted" and name in good:
                return True
            if word == "none" and right is not None:
                return True
    return False


def certified(seen: list[dict[str, str]]) -> bool:
    return "certified" in seen[-1].values() or "none" in seen[-1].values()


def scenario(kind: str, seed: int, decisions: int) -> tuple[bool, bool]:
    """One study: whether it was wrong, and whether it came to a proof."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    clock = Clock()
    arms = {"a": 1.0, "b": 2.0, "c": 3.0}
    means = {"a": 0.5, "b": 0.5, "c": 0.5}
    setting: Setting = sf.FixedThreshold(0.5)
    terms: dict[str, object] = {}
    options: dict[str, object] = {}
    first, harmless = LATE, lambda reward: int(rng.integers(0, LATE))
    look = None
    if kind == "fixed threshold, failures first":
        delay = lambda reward: 0 if reward == 0.0 else first  # noqa: E731
    elif kind == "fixed threshold, silence is success":
        means = {"a": 0.55, "b": 0.55, "c": 0.55}
        terms = {"expire_after": float(LATE), "expire_as": 1.0}
        options = {"silent": 1.0}
        delay = lambda reward: 0  # noqa: E731
    elif kind == "best reward, successes first":
        setting, means = sf.BestReward(0.1), {"a": 0.44, "b": 0.48, "c": 0.5}
        delay = lambda reward: 0 if reward == 1.0 else first  # noqa: E731
    elif kind == "reference arm, failures first":
        setting, means = sf.ReferenceArm("c", 0.1), {"a": 0.44, "b": 0.46, "c": 0.5}
        delay = lambda reward: 0 if reward == 0.0 else first  # noqa: E731
    elif kind == "abandoned, corrected, told again":
        setting, means = sf.BestReward(0.05), {"a": 0.5, "b": 0.5, "c": 0.53}
        delay, options = harmless, {"lost": 0.2, "corrected": 0.02}
    elif kind == "arms retired and added after looking":
        setting = sf.BestReward(0.0)
        arms = {f"arm {i}": 1.0 + i for i in range(12)}
        means = {**dict.fromkeys(arms, 0.5), **{f"new {i}": 0.5 for i in range(40)}}
        delay = lambda reward: 0  # noqa: E731

        def look(study: Study, t: int) -> None:
            """Retire what looks worst, and try another."""
            known = [arm for arm in study.status().arms if arm.verdict != "retired"]
            if len(known) > 4:
                study.retire_arm(min(known, key=lambda arm: arm.mean if arm.pulls else 2.0).name)
                study.add_arm(f"new {t // 400}", 5.0 + t)
    else:
        assert kind == "harmless delays"
        setting, means = sf.BestReward(0.2), {"a": 0.3, "b": 0.8, "c": 0.8}
        delay = harmless
    study = create_study(
        "verdicts", arms, setting, "glr", None, confidence=CONFIDENCE, binary=True, seed=seed, clock=clock, **terms
    )  # type: ignore[arg-type]
    seen = run(study, clock, means, rng, decisions, delay, look=look, **options)  # type: ignore[arg-type]

    def threshold(there: set[str]) -> float:
        if setting.fixed:
            return setting.mu0
        if setting.reference is not None:
            return (1 - setting.alpha) * means[str(setting.reference)]
        return (1 - setting.alpha) * max(means[name] for name in there)

    costs = {arm.name: arm.cost for arm in study.status().arms}

    def best(there: set[str]) -> str | None:
        fine = [name for name in there if means[name] >= threshold(there) - 1e-12]
        return min(fine, key=costs.__getitem__) if fine else None

    good = {name for name in means if means[name] >= threshold(set(means) & set(costs)) - 1e-12}
    return wrong(seen, good, best), certified(seen)


KINDS = (
    "fixed threshold, failures first",
    "fixed threshold, silence is success",
    "best reward, successes first",
    "reference arm, failures first",
    "abandoned, corrected, told again",
    "arms retired and added after looking",
    "harmless delays",
)


def equal_arms(arms: int, seed: int, rewards: int = 3_000, delta: float = 0.05) -> tuple[bool, bool]:
    """So many equal arms with up to so many rewards each. Somebody looks all the time, and retires all but the best and
    the worst when those differ most: whether the study then says that one is not good enough, and whether the evidence
    passes the bar of a study of two arms."""
    rng = np.random.default_rng([seed, arms])
    sums = (rng.random((arms, rewards)) < 0.5).cumsum(axis=1)
    moments = np.unique(np.geomspace(1, rewards, 150).astype(int))
    nats = [proofs.pair(n, sums[:, n - 1].min(), n, sums[:, n - 1].max(), scale=1.0) for n in moments.tolist()]
    count = int(moments[int(np.argmax(nats))])
    totals = sums[:, count - 1]
    costs = {f"arm {i}": 1.0 + i for i in range(arms)}
    study = create_study("equal", costs, sf.BestReward(0.0), confidence=1.0 - delta, binary=True, seed=seed)
    machine = Machine(study.config)
    for arm, total in zip(machine.arms, totals.tolist(), strict=True):
        arm.asked = arm.pulls = arm.sure_pulls = count
        arm.total = arm.sure_total = total * UNIT
    for i, arm in enumerate(machine.arms):
        if i not in (int(totals.argmin()), int(totals.argmax())):
            machine.happen(Event(machine.seq + 1, "retire_arm", {"arm": arm.name}, 0.0))
    return any(fact.kind == "refuted" for fact in judge(machine, 0.0)), max(nats) >= math.log(1.0 / delta)


def prepare() -> None:
    """Compile the rule now: plain it takes most of the time, and a process does so by itself only after a while."""
    study = create_study("verdicts", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), "glr", confidence=CONFIDENCE)
    machine = Machine(study.config)
    compile_rule(type(study.config.policy), machine.problem, machine.state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the studies")
    parser.add_argument("--studies", type=int, default=2000, help="in all, shared by the kinds of trouble")
    parser.add_argument("--decisions", type=int, default=2500)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    kinds = args.kind or KINDS
    count = -(-args.studies // (len(kinds) * (20 if args.quick else 1)))
    report: dict[str, dict[str, float]] = {}
    began = time.perf_counter()
    with ProcessPoolExecutor(args.workers, initializer=prepare) as pool, progress_bar(transient=True) as bar:
        task = bar.add_task("studies", total=count * len(kinds))
        for kind in kinds:
            results = []
            for result in pool.map(partial(scenario, kind, decisions=args.decisions), range(count), chunksize=4):
                results.append(result)
                bar.advance(task)
            bad, found = (sum(column) for column in zip(*results, strict=True))
            report[kind] = {"studies": count, "wrong": bad, "proved": found}
            print(
                f"{kind:<40} {count:5d} studies  wrong {bad:4d} ({bad / count:6.2%})  proved {found / count:6.1%}",
                flush=True,
            )
        wrong_in_all = sum(line["wrong"] for line in report.values())
        share = wrong_in_all / (count * len(kinds))
        print(f"wrong in all: {wrong_in_all} of {count * len(kinds)} ({share:.2%}; at most 10%)", flush=True)
        for arms in (24, 50, 100):
            draws = 50 if args.quick else 1000
            results = list(pool.map(partial(equal_arms, arms), range(draws), chunksize=10))
            bad, naive = (sum(column) for column in zip(*results, strict=True))
            report[f"{arms} equal arms"] = {"studies": draws, "wrong": bad, "by a bar for two arms": naive}
            print(
                f"{arms:3d} equal arms, all but two retired: {draws} studies  wrong {bad / draws:6.1%} (at most 5%); "
                f"by a bar for the two arms that are left: {naive / draws:.1%}",
                flush=True,
            )
    print(f"{time.perf_counter() - began:.0f} s with {args.workers} processes")
    if args.out is not None:
        args.out.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
