"""Rehearsals: live studies on instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidInstance, InvalidStudy
from satisfice.studies.rehearsal import late_by_value, rehearse

INST = sf.Instance(costs=[1.0, 3.0, 9.0], means=[0.6, 0.85, 0.9], names=["small", "mid", "large"])
SETTING = sf.BestReward(0.1)


def test_regret_by_hand() -> None:
    """mid is optimal (0.9 x 0.9 = 0.81): small loses 0.21 of quality, large costs 6 too much."""
    done = rehearse(INST, SETTING, 400, seed=1, checkpoints=4)
    small, _, large = done.decisions[-1]
    assert done.checkpoints.tolist() == [100, 200, 300, 400]
    assert done.cost_regret[-1] == pytest.approx(6.0 * large)
    assert done.quality_regret[-1] == pytest.approx(0.21 * small)
    assert done.decisions.sum(axis=1).tolist() == [100, 200, 300, 400]
    assert np.all(np.diff(done.cost_regret) >= 0)


@pytest.mark.parametrize("policy", ["glr", "pe-cs", "ts-cs"])
@pytest.mark.parametrize("delay", [0, 30])
def test_blocks_change_nothing(policy: str, delay: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for many decisions at once gives the same decisions as asking one by one."""
    fast = rehearse(INST, SETTING, 600, policy=policy, delay=delay, seed=3)
    monkeypatch.setattr("satisfice.studies.rehearsal.MOST", 1)
    slow = rehearse(INST, SETTING, 600, policy=policy, delay=delay, seed=3)
    assert fast.study.log()["arm"].to_list() == slow.study.log()["arm"].to_list()
    assert fast.decisions.tolist() == slow.decisions.tolist()


def test_a_world_with_everything() -> None:
    """Delays by value, missing answers, a failing arm, sessions, told costs, a control group and a budget."""
    terms: dict[str, Any] = {"costs": "told", "baseline": "large", "holdout": 0.1, "budget": 200.0}
    inst = INST.replace(cost_spread=1.0)
    done = rehearse(
        inst, SETTING, 500, delay=late_by_value(0, 40), missing=0.05, failing=["mid"], sessions=5, seed=1, **terms
    )
    study = done.study
    assert study.check().agrees
    reasons = set(study.log()["reason"])
    assert {"session", "holdout", "lease"} <= reasons
    assert study.status().spending.exploring <= 200.0  # type: ignore[operator]
    log = study.log()
    # The mean of 100 or more costs of a gamma distribution with mean 9 and deviation 9 is within 4.5 of 9 but for one
    # time in 10^6.
    large = log.filter((log["arm"] == "large") & (log["status"] == "told"))["cost"]
    assert len(large) >= 100 and abs(float(large.mean()) - 9.0) < 4.5  # type: ignore[arg-type]


def test_cost_spread_is_kept() -> None:
    inst = INST.replace(cost_spread=0.5)
    assert sf.Instance.from_dict(inst.to_dict()).cost_spread == 0.5
    assert "cost_spread" not in INST.to_dict()
    with pytest.raises(InvalidInstance, match="cost_spread"):
        INST.replace(cost_spread=-1.0)


def test_what_cannot_be_rehearsed() -> None:
    with pytest.raises(InvalidInstance):
        rehearse(sf.Instance([1.0], [0.5], reward="gaussian"), SETTING, 10)
    with pytest.raises(InvalidStudy, match="decisions"):
        rehearse(INST, SETTING, 0)
