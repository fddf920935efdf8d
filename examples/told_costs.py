"""The price of a call is known when it ends: mean costs are learned, and the order of the models with them."""

from __future__ import annotations

import random

import satisfice as sf

rng = random.Random(4)
accuracy = {"chatty": 0.88, "terse": 0.88, "large": 0.92}
dollars = {"chatty": 0.009, "terse": 0.003, "large": 0.03}  # chatty has the lower price per token, and uses many
study = sf.create_study(
    "answers",
    {"chatty": 0.002, "terse": 0.004, "large": 0.03},  # first guesses: the price list
    sf.BestReward(0.15),
    costs="told",
    seed=1,
)
for _ in range(3_000):
    decision = study.ask()
    right = rng.random() < accuracy[decision.arm]
    study.tell(decision.id, float(right), cost=rng.expovariate(1.0 / dollars[decision.arm]))

print(study.status())
print({arm: round(cost, 4) for arm, cost in study.arms.items()})
assert study.verdict().leader == "terse"
# Whether that order of costs is "open", "believed", or "proved" (where create_study was given a cost_range).
assert study.verdict().costs in ("open", "believed")
