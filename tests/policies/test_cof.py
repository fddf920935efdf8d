"""The evidence that COF combines, against a grid and the twin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from satisfice.policies.cof import combined
from twins.ordered import against


def test_the_combined_evidence_is_the_smallest_sum() -> None:
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 1001)
    for _ in range(300):
        pulls = rng.integers(1, 200, int(rng.integers(1, 7)))
        totals = rng.binomial(pulls, rng.uniform(size=len(pulls))).astype(float)
        means, scale, i = totals / pulls, float(rng.choice([1, 0.9, 0.7])), int(rng.integers(len(pulls)))
        sums = (pulls[:, None] * np.maximum(means[:, None] - x, 0) ** 2).sum(axis=0)
        sums += pulls[i] * np.maximum(scale * x - means[i], 0) ** 2
        bandit: Any = SimpleNamespace(K=len(pulls), n=pulls.tolist(), mu=means.tolist())
        found = combined(pulls, totals, i, scale)
        assert abs(found - against(bandit, i, scale)) < 1e-8
        # Half a step of the grid away from the minimum, at most 1,200 pulls add 1,200 x 0.0005^2.
        assert sums.min() - 1e-3 - 1e-9 <= found <= sums.min() + 1e-9
