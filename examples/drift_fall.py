"""A certified model falls from 0.95 to 0.3 over night: noticed within some twenty answers, and traffic moves on."""

import random

import satisfice as sf

random.seed(1)
quality = {"mini": 0.95, "medium": 0.96, "large": 0.97}
study = sf.create_study("answers", {"mini": 0.2, "medium": 1.0, "large": 8.0}, sf.BestReward(alpha=0.1), seed=1)


def answer() -> str:
    """One question, answered by the arm that the study wants; a judge says whether it was right."""
    decision = study.ask()
    study.tell(decision.id, float(random.random() < quality[decision.arm]))
    return decision.arm


for _ in range(4_000):
    answer()
print(study.verdict())
assert study.verdict().state == "certified" and study.status().leader == "mini"

quality["mini"] = 0.3  # nobody tells the study
calls = 0
while not study.status().drifts:
    answer()
    calls += 1
print(f"noticed after {calls} more calls: {study.status().drifts[0]}")
print(study.verdict())
assert calls <= 50 and study.verdict().state != "certified"

served = [answer() for _ in range(5_000)]
print(f"of the next 5,000 calls {served.count('mini')} went to 'mini', {served.count('medium')} to 'medium'")
print(study.status())
assert served.count("mini") < 500 and study.status().leader == "medium"
