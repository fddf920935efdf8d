"""Try a study without trusting it: it watches a router of your own, says what it would prefer, and may take over."""

from __future__ import annotations

import random

import satisfice as sf

rng = random.Random(9)
accuracy = {"small": 0.5, "large": 0.9}
study = sf.create_study(
    "answers", {"small": 1.0, "large": 9.0}, sf.BestReward(0.1), storage="sqlite:///shadow.db", load_if_exists=True
)
calls = []
for number in range(400):  # your router calls a model at random
    arm = rng.choice(["small", "large"])
    calls.append((arm, float(rng.random() < accuracy[arm]), None, f"call {number}"))
study.record_many(calls)
study.record_many(calls)  # with a key, a call counts once
print(study.status())
assert study.verdict().leader == "large"

decision = study.ask()  # from here on it decides itself
print(decision.arm, "-", decision.why)
copy = study.copy("what if")  # or try something on a copy
copy.set_cost("large", 0.5)
print(copy.verdict())
sf.delete_study("what if", "sqlite:///shadow.db")
