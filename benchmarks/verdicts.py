"""Wrong verdicts of live studies, at confidence 0.9: `make bench-verdicts`.

A verdict is wrong when an arm is called certified that is not the cheapest good one, an arm refuted that is good
enough, or no arm good enough where one is. Rewards are late in ways that depend on their value, decisions are
abandoned, expire, are told twice and corrected, and arms are retired and added after looking. Most instances are ties
or near ties, where it is easiest to be wrong.

    python benchmarks/verdicts.py [--studies 2000] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import satisfice as sf
from satisfice.problem import Setting
from satisfice.studies import Study, create_study

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
        if isinstance(setting, sf.FixedThreshold):
            return setting.mu0
        if isinstance(setting, sf.ReferenceArm):
            return (1 - setting.alpha) * means["c"]
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="in all, shared by the kinds of trouble")
    parser.add_argument("--decisions", type=int, default=2500)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    kinds = args.kind or KINDS
    count = -(-args.studies // len(kinds))
    report, began = {}, time.perf_counter()
    for kind in kinds:
        results = [scenario(kind, seed, args.decisions) for seed in range(count)]
        bad, found = (sum(column) for column in zip(*results, strict=True))
        report[kind] = {"studies": count, "wrong": bad, "proved": found}
        print(
            f"{kind:<40} {count:5d} studies  wrong {bad:4d} ({bad / count:6.2%})  proved {found / count:6.1%}",
            flush=True,
        )
    wrong_in_all = sum(line["wrong"] for line in report.values())
    share = wrong_in_all / (count * len(kinds))
    print(
        f"wrong in all: {wrong_in_all} of {count * len(kinds)} ({share:.2%}; at most 10%), "
        f"{time.perf_counter() - began:.0f} s"
    )
    if args.out is not None:
        args.out.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
