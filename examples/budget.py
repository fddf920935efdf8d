"""Never spend more than this on finding out."""

from __future__ import annotations

import random

import satisfice as sf

rng = random.Random(8)
accuracy = {"small": 0.8, "medium": 0.85, "large": 0.9}
study = sf.create_study("answers", {"small": 1.0, "medium": 3.0, "large": 9.0}, sf.BestReward(0.1), budget=50.0, seed=1)
for _ in range(1_000):
    decision = study.ask()
    study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))

print(study.status())
exploring = study.status().spending.exploring
assert exploring is not None and exploring <= 50.0
