"""A model that always fails holds nobody up: it rests, gets a trial now and then, and the others are judged."""

from __future__ import annotations

import random
from collections import Counter

import satisfice as sf

rng = random.Random(1)
accuracy = {"small": 0.3, "large": 0.9}  # mid is down and never answers
study = sf.create_study(
    "answers", {"small": 1.0, "mid": 3.0, "large": 9.0}, sf.BestReward(0.1), confidence=0.95, seed=1
)
served: Counter[str] = Counter()

for _ in range(1_500):
    decision = study.ask()
    if decision.arm == "mid":  # the call failed: say so, and ask for another one
        study.abandon(decision.id)
        served["mid"] += 1
        decision = study.ask(exclude=["mid"])
    served[decision.arm] += 1
    study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))

print(study.status())
print(dict(served))
assert served["large"] > 1_300 and served["mid"] < 30
assert study.verdict().leader == "large" and study.verdict().state == "certified"
