"""The model that leads is down: the cheapest one that is known to be good stands in, not one that nobody ever tried."""

from __future__ import annotations

import random
from collections import Counter

import satisfice as sf

rng = random.Random(3)
accuracy = {"a": 0.95, "b": 0.9, "c": 0.9, "new": 0.1}
study = sf.create_study("answers", {"a": 1.0, "b": 2.0, "new": 2.5, "c": 3.0}, sf.BestReward(0.1), seed=1)

for _ in range(300):
    decision = study.ask(available=["a", "b", "c"])
    study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))

served: Counter[str] = Counter()
for _ in range(1_000):
    decision = study.ask(exclude=["a"])
    served[decision.arm] += 1
    study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))

print(dict(served))
print(study.explain(decision.id).sentence)
assert served["b"] > 900 and served["new"] < 50
