"""A leader that was good enough falls slightly below the threshold: no proof was ever made of it, and it is noticed."""

import random

import satisfice as sf

random.seed(2)
quality = {"mini": 0.88, "medium": 0.93, "large": 0.95}
study = sf.create_study("tickets", {"mini": 0.2, "medium": 1.0, "large": 2.0}, sf.BestReward(alpha=0.1), seed=2)


def answer() -> str:
    """One ticket."""
    decision = study.ask()
    study.tell(decision.id, float(random.random() < quality[decision.arm]))
    return decision.arm


for _ in range(10_000):
    answer()
print(study.verdict())
assert study.status().leader == "mini"

quality["mini"] = 0.78  # the threshold is about 0.86
calls = 0
while study.status().leader == "mini":
    answer()
    calls += 1
status = study.status()
print(f"the leader changed after {calls:,} more calls; {'; '.join(map(str, status.drifts)) or 'no alarm yet'}")
for _ in range(3_000):
    answer()
print(study.status())
assert study.status().leader == "medium" and calls < 5_000
