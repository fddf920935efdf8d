"""The fast simulator against the slow twins: the pulls of every arm, both regrets and both curves have one law.

Every case runs both with fixed seeds and compares two samples of runs. `FAMILY_ERROR` is the probability
that any case fails when all laws are equal: it is split over the cases here, and over the columns and tests of a case
by `stats.reject`. The sizes are chosen so that small mistakes show: a buffer 1.3 times too large, one pull too
many, the wrong arm of a cost tie are all found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import satisfice as sf
from stats import reject
from twins import run_twin

FAMILY_ERROR = 1e-3
TWIN_RUNS = 300
FAST_RUNS = 2000  # cheap, and makes the comparison nearly as sharp as one with the exact law

ORDINARY = sf.Instance([0.1, 0.4, 0.7, 1.0], [0.3, 0.6, 0.9, 0.8], label="ordinary")
TIED = sf.Instance([0.5, 0.2, 0.5, 0.2, 0.9], [0.8, 0.3, 0.95, 0.55, 0.7], label="unsorted and tied costs")
CHEAPEST = sf.Instance([0.6, 0.1, 0.3], [0.5, 0.9, 0.7], label="best arm cheapest")
CERTAIN = sf.Instance([0.1, 0.4], [0.0, 1.0], label="certain")
SINGLE = sf.Instance([0.4], [0.6], label="one arm")
LADDER = sf.Instance([0.1, 0.2, 0.3, 0.4], [0.55, 0.3, 0.45, 0.8], label="ladder")
WIDE = sf.Instance([0.1, 0.4, 0.7], [0.1, 0.3, 0.95], label="wide")
CLOSE = sf.Instance([0.1, 0.3, 0.5], [0.5, 0.3, 0.53], label="close")
PAIR = sf.Instance([0.1, 0.5], [0.5, 0.53], label="close pair")
GAUSSIAN = sf.Instance([0.1, 0.4, 0.7], [0.2, 0.6, 0.75], reward="gaussian", sigma=0.5, label="gaussian")
RATINGS = sf.Instance(
    [0.1, 0.4, 0.7],
    reward="categorical",
    values=[0.0, 0.25, 0.5, 0.75, 1.0],
    probabilities=[[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.2, 0.2, 0.2, 0.3], [0.0, 0.0, 0.1, 0.4, 0.5]],
    label="ratings",
)


@dataclass(frozen=True)
class Case:
    policy: str
    instance: sf.Instance
    setting: sf.Setting
    horizon: int
    params: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        params = "".join(f", {name} = {value}" for name, value in self.params.items())
        return f"{self.policy}{params}, {self.setting}, {self.instance.label}, T = {self.horizon}"


def _cases() -> Iterator[Case]:
    best, ref, fixed = sf.BestReward, sf.ReferenceArm, sf.FixedThreshold

    # tau = 16, 50, 155, 441, 1053 for T = 2000: most pairs are decided in the second to the fourth round.
    yield Case("pe", ORDINARY, ref(3, alpha=0.1), 2000)
    yield Case("pe", TIED, ref(0, alpha=0.1), 2000)
    yield Case("pe", CHEAPEST, ref(0), 500)
    yield Case("pe", SINGLE, ref(0), 100)
    yield Case("pe", GAUSSIAN, ref(2, alpha=0.3), 2000)
    yield Case("pe", RATINGS, ref(2, alpha=0.1), 1500)
    yield Case("pe", LADDER, ref(3), 2000)
    yield Case("pe", ORDINARY, ref(3, alpha=1.0), 500)
    yield Case("pe", ORDINARY, ref(0), 100)  # nobody is cheaper than the reference
    yield Case("pe", CLOSE, ref(2), 690)  # 690 / 4^4 < e: the last round of the close arms ends before T

    yield Case("asymmetric-pe", LADDER, ref(3), 2000)
    yield Case("asymmetric-pe", TIED, ref(0, alpha=0.1), 2000)
    yield Case("asymmetric-pe", CHEAPEST, ref(0), 500)
    yield Case("asymmetric-pe", SINGLE, ref(0), 100)
    yield Case("asymmetric-pe", CLOSE, ref(2), 690)
    for kappa in (0, 1, 2):
        yield Case("asymmetric-pe", LADDER, ref(3), 2000, {"kappa": kappa})

    yield Case("pe-cs", ORDINARY, best(0.15), 2500)
    yield Case("pe-cs", TIED, best(0.2), 2500)
    yield Case("pe-cs", CHEAPEST, best(0.1), 1500)
    yield Case("pe-cs", SINGLE, best(0.1), 100)
    yield Case("pe-cs", GAUSSIAN, best(0.3), 2000)
    yield Case("pe-cs", RATINGS, best(0.1), 1500)
    yield Case("pe-cs", ORDINARY, best(0.0), 1500)
    yield Case("pe-cs", ORDINARY, best(1.0), 1500)
    yield Case("pe-cs", PAIR, best(0.0), 690)  # as above, in the identification of the best arm
    yield Case("pe-cs", TIED, best(0.2), 2500, {"kappa": 2})
    yield Case("pe-cs", TIED, best(0.2), 2500, {"kappa": 5})

    yield Case("ucb-cs", ORDINARY, best(0.15), 2000)
    yield Case("ucb-cs", TIED, best(0.2), 800)
    yield Case("ucb-cs", CHEAPEST, best(0.1), 200)
    yield Case("ucb-cs", SINGLE, best(0.1), 100)
    yield Case("ucb-cs", GAUSSIAN, best(0.1), 600)
    yield Case("ucb-cs", RATINGS, best(0.1), 600)
    yield Case("ucb-cs", ORDINARY, best(0.0), 600)
    yield Case("ucb-cs", sf.load_instance("movielens"), best(0.05), 600)
    yield Case("ucb-cs", ORDINARY, best(1.0), 100)
    yield Case("ucb-cs", GAUSSIAN.replace(means=GAUSSIAN.means - 3.0), best(0.0), 200)
    yield Case("ucb-cs", CERTAIN, best(0.5), 100)
    yield Case("ucb-cs", ORDINARY, ref(3, alpha=0.1), 800)
    yield Case("ucb-cs", TIED, ref(0, alpha=0.1), 800)
    yield Case("ucb-cs", CHEAPEST, ref(0), 200)
    yield Case("ucb-cs", SINGLE, ref(0), 100)
    yield Case("ucb-cs", GAUSSIAN, ref(2), 600)

    # With the default c = 5 these horizons are all exploration; a smaller c leaves time for the second phase.
    yield Case("etc-cs", WIDE, best(0.0), 1000, {"c": 1})
    yield Case("etc-cs", TIED, best(0.1), 1000, {"c": 0.6})
    yield Case("etc-cs", TIED, best(0.1), 200, {"c": 0.3})  # here the UCBs of tied arms are both cut at 1 at first
    yield Case("etc-cs", CERTAIN, best(0.5), 300, {"c": 1})
    yield Case("etc-cs", CHEAPEST, best(0.1), 300, {"c": 0.5})
    yield Case("etc-cs", SINGLE, best(0.1), 100)
    yield Case("etc-cs", WIDE.replace(reward="gaussian", sigma=0.4), best(0.1), 1000, {"c": 1})
    yield Case("etc-cs", RATINGS, best(0.0), 1000, {"c": 1.5})
    yield Case("etc-cs", ORDINARY, best(0.15), 1000)

    yield Case("ts-cs", ORDINARY, best(0.15), 300)
    yield Case("ts-cs", TIED, best(0.2), 600)
    yield Case("ts-cs", CHEAPEST, best(0.1), 200)
    yield Case("ts-cs", SINGLE, best(0.1), 50)
    yield Case("ts-cs", RATINGS, best(0.1), 300)
    yield Case("ts-cs", ORDINARY, best(0.3), 1500)
    yield Case("ts-cs", sf.load_instance("movielens"), best(0.05), 400)
    yield Case("ts-cs", CHEAPEST, best(0.0), 200)
    yield Case("ts-cs", CHEAPEST, best(1.0), 50)

    yield Case("cof", ORDINARY, best(0.15), 2500)
    yield Case("cof", TIED, best(0.2), 2500)
    yield Case("cof", CHEAPEST, best(0.1), 1500)
    yield Case("cof", SINGLE, best(0.1), 100)
    yield Case("cof", RATINGS, best(0.1), 2500)
    yield Case("cof", WIDE, best(0.0), 1000)

    yield Case("ft-ucb", ORDINARY, fixed(0.7), 1000)
    yield Case("ft-ucb", TIED, fixed(0.75), 1000)
    yield Case("ft-ucb", CHEAPEST, fixed(0.6), 500)
    yield Case("ft-ucb", SINGLE, fixed(0.5), 100)
    yield Case("ft-ucb", RATINGS, fixed(0.7), 800)
    # So noisy that at times no arm qualifies, and one is drawn at random.
    yield Case("ft-ucb", GAUSSIAN.replace(sigma=4.0), fixed(0.75), 500)
    # Certain rewards show a step more or less: 8 log 91 > 36 > 8 log 90, so arm 0 has its 37th pull at t = 91.
    yield Case("ft-ucb", CERTAIN, fixed(0.5), 91)

    # Horizons shorter than the number of arms; with T = 2 no round of elimination is opened at all.
    for policy, setting in (("pe", ref(0)), ("asymmetric-pe", ref(0)), ("ucb-cs", ref(0)), ("ft-ucb", fixed(0.7))):
        yield Case(policy, TIED, setting, 2)
    for policy in ("pe-cs", "ucb-cs", "etc-cs", "ts-cs", "cof"):
        yield Case(policy, TIED, best(0.1), 2)


CASES = list(_cases())


def _columns(pulls: NDArray[np.int64], cost: NDArray[np.float64], quality: NDArray[np.float64]) -> dict[str, ArrayLike]:
    """What is compared: (runs, arms) pulls, their most pulled arm, (runs, checkpoints) regrets."""
    columns: dict[str, ArrayLike] = {f"pulls of arm {k}": pulls[:, k] for k in range(pulls.shape[1])}
    columns["most pulled arm"] = pulls.argmax(axis=1)
    for j in range(cost.shape[1]):
        columns[f"cost regret at checkpoint {j}"] = cost[:, j]
        columns[f"quality regret at checkpoint {j}"] = quality[:, j]
    return columns


def test_every_policy_of_the_paper_is_compared_in_every_setting_that_it_serves() -> None:
    for policy in ("pe", "asymmetric-pe", "pe-cs", "ucb-cs", "etc-cs", "ts-cs", "ft-ucb", "cof"):
        for setting in sf.all_policies()[policy].settings:
            labels = {c.instance.label for c in CASES if c.policy == policy and isinstance(c.setting, setting)}
            assert labels >= {TIED.label, CHEAPEST.label, SINGLE.label} and len(labels) >= 4


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_law(case: Case) -> None:
    instance, setting, horizon = case.instance, case.setting, case.horizon
    checkpoints = np.unique([-(-horizon // 10), -(-horizon // 3), -(-2 * horizon // 3), horizon])
    policy = sf.all_policies()[case.policy](**case.params)
    (fast,) = sf.simulate(
        instance, setting, policy, horizon, runs=FAST_RUNS, seed=7, checkpoints=checkpoints, workers=1
    ).values()

    rng = np.random.default_rng(11)
    arms = np.array(
        [run_twin(case.policy, instance, setting, horizon, rng, trace=True, **case.params) for _ in range(TWIN_RUNS)]
    )
    pulls = np.array([np.bincount(run, minlength=instance.arms) for run in arms])
    cost = setting.cost_gaps(instance)[arms].cumsum(axis=1)[:, checkpoints - 1]
    quality = setting.quality_gaps(instance)[arms].cumsum(axis=1)[:, checkpoints - 1]

    assert fast.checkpoints.tolist() == checkpoints.tolist()
    np.testing.assert_allclose(fast.cost_regret, fast.cost_curve[:, -1])
    np.testing.assert_allclose(fast.quality_regret, fast.quality_curve[:, -1])
    different = reject(
        _columns(pulls, cost, quality),
        _columns(fast.pulls, fast.cost_curve, fast.quality_curve),
        FAMILY_ERROR / len(CASES),
    )
    assert not different
