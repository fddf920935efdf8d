"""Feedback comes a day late: the first day already looks at every model, and the dear ones not too often."""

from __future__ import annotations

import random
from collections import Counter

import satisfice as sf

DAY = 3_000  # decisions
rng = random.Random(2)
prices = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
accuracy = {"a": 0.55, "b": 0.6, "c": 0.86, "d": 0.9, "e": 0.92}  # c is the cheapest that keeps 90% of e
study = sf.create_study("answers", prices, sf.BestReward(0.1), seed=1)

yesterday: list[sf.Decision] = []
for day in range(1, 4):
    today = []
    for _ in range(DAY // 100):
        today += study.ask_many(100)
        told, yesterday = yesterday[:100], yesterday[100:]
        study.tell_many([(d.id, float(rng.random() < accuracy[d.arm])) for d in told])
    yesterday = today
    counts = Counter(d.arm for d in today)
    print(f"day {day}:", {arm: counts[arm] for arm in prices})
    if day == 1:
        assert all(0 < counts[arm] < 300 for arm in "bcde")

print(study.verdict())
assert counts["c"] > 0.6 * DAY
