"""What quality is worth: the less a right answer is worth, the longer a cheap model is given the benefit of the doubt.

A call costs 0.1 or 2 cents here. The small model misses the threshold (0.9 x 0.9 = 0.81) by 0.06: that costs you 0.06
cents a call if a right answer is worth 1 cent, and 6 cents if it is worth a dollar. `worth` says which, in the unit of
the costs; by default it is the cost of the dearest arm.
"""

from __future__ import annotations

import random

import satisfice as sf

accuracy = {"small": 0.75, "large": 0.9}
small = {}
for worth in (0.01, 1.0):
    small[worth] = 0
    for seed in range(10):
        rng = random.Random(seed)
        study = sf.create_study("answers", {"small": 0.001, "large": 0.02}, sf.BestReward(0.1), worth=worth, seed=seed)
        for _ in range(400):
            decision = study.ask()
            study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))
        small[worth] += study.status().arms[0].pulls
    print(f"a right answer is worth ${worth:g}: {small[worth] / 10:.0f} of 400 calls go to the small model")

assert small[0.01] > small[1.0]
