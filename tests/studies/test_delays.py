"""Rewards that are shuffled, late by up to 10,000 decisions, or never told: the right arm is still found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import satisfice as sf
from satisfice.studies import create_study

INSTANCES, DECISIONS, DELAY, LOST, ALPHA = 10, 14_000, 10_000, 0.2, 0.1
BLOCK = 100  # late rewards are told in blocks, which only adds to the delays


def random_instance(seed: int) -> sf.Instance:
    """3 to 6 arms, costs between 0 and 1, means at least 0.05 away from the threshold."""
    rng = np.random.default_rng(seed)
    while True:
        arms = int(rng.integers(3, 7))
        instance = sf.Instance(rng.uniform(0, 1, arms), rng.uniform(0.2, 0.95, arms))
        if np.abs(instance.means - sf.BestReward(ALPHA).threshold(instance)).min() > 0.05:
            return instance


def live(instance: sf.Instance, seed: int, delay: int, lost: float, block: int) -> tuple[str, str, float]:
    """The leader, the arm that is played in the end, and the regret (cost + quality) of a study."""
    rng = np.random.default_rng(seed)
    setting = sf.BestReward(ALPHA)
    costs = dict(zip(instance.names, instance.costs.tolist(), strict=True))
    study = create_study("s", costs, setting, "glr", seed=seed)
    gaps = setting.cost_gaps(instance) + setting.quality_gaps(instance)
    due: dict[int, list[tuple[int, float]]] = {}
    regret = 0.0
    for now in range(0, DECISIONS, block):
        for decision in study.ask_many(block):
            arm = instance.index(decision.arm)
            regret += gaps[arm]
            if rng.random() >= lost:
                reward = float(rng.random() < instance.means[arm])
                when = now + (int(rng.integers(0, delay)) if delay else 0)
                due.setdefault(when // block, []).append((decision.id, reward))
        ready = due.pop(now // block, [])
        rng.shuffle(ready)
        study.tell_many(ready)
    return study.verdict().leader, study.ask().arm, regret


def test_the_right_arm_is_found_in_spite_of_delays(tmp_path: Path) -> None:
    """10 instances. The regret that delays cost is at most about that of the decisions in flight: every decision is
    blind for a while, so it may grow by 10,000 times a gap of at most 2. It grew from about 51 to about 190."""
    found, played, late, prompt = 0, 0, [], []
    for seed in range(INSTANCES):
        instance = random_instance(seed)
        best = instance.names[sf.BestReward(ALPHA).optimal_arm(instance)]
        leader, last, regret = live(instance, seed, DELAY, LOST, BLOCK)
        found += leader == best
        played += last == best
        late.append(regret)
        prompt.append(live(instance, seed, 0, 0.0, BLOCK)[2])
    report = {"late": float(np.mean(late)), "prompt": float(np.mean(prompt)), "found": found, "played": played}
    print(json.dumps(report))
    assert found == INSTANCES
    assert played >= INSTANCES - 1
    assert np.mean(prompt) < np.mean(late) < 2_000
