"""A conversation keeps its model, and with it the prompt cache, while every call is a decision with its own reward."""

from __future__ import annotations

import random

import satisfice as sf

rng = random.Random(6)
accuracy = {"small": 0.7, "large": 0.9}
study = sf.create_study("chat", {"small": 1.0, "large": 5.0}, sf.BestReward(0.1), session_ttl=1_800, seed=1)

for chat in range(200):
    models = set()
    for _ in range(rng.randint(1, 6)):
        decision = study.ask(session=f"chat-{chat}", available=["small", "large"])
        models.add(decision.arm)
        study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))
    assert len(models) == 1

print(study.status())
print(study.log().tail(3))
