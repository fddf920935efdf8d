"""A refuted model gets a new version and is the best. Nobody plays it: a study that adapts looks now and then."""

import random

import satisfice as sf

for drift in ("watch", "adapt"):
    random.seed(3)
    quality = {"mini": 0.3, "medium": 0.92, "large": 0.95}
    arms = {"mini": 0.2, "medium": 1.0, "large": 2.0}
    study = sf.create_study(
        f"summaries ({drift})", arms, sf.BestReward(alpha=0.1), drift=drift, confidence=0.95, seed=3
    )
    for t in range(20_000):
        if t == 10_000:
            print(study.verdict())
            quality["mini"] = 0.97
        decision = study.ask()
        study.tell(decision.id, float(random.random() < quality[decision.arm]))
    print(study.status())
    looks = (study.log()["reason"] == "look").sum()
    print(f"{looks} of 20,000 decisions were looks at arms that were passed over\n")
    assert study.status().leader == ("mini" if drift == "adapt" else "medium")
