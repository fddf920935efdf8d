"""A control group keeps today's model: what the study saves, and what that costs in quality, with intervals."""

from __future__ import annotations

import random

import satisfice as sf

rng = random.Random(7)
accuracy = {"small": 0.87, "large": 0.9}
study = sf.create_study(
    "answers", {"small": 1.0, "large": 9.0}, sf.BestReward(0.1), baseline="large", holdout=0.1, seed=1
)
for user in range(3_000):
    decision = study.ask(subject=f"user-{user}")  # a user stays in its group
    study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))

control = study.status().control
assert control is not None
print(control)
assert control.saving[1] > 5.0  # the lower end of the interval

study.pause()  # everybody gets the baseline
assert study.ask().arm == "large"
study.resume()
