"""Costs that are known only afterwards."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

import satisfice as sf
from satisfice.errors import InvalidReward, InvalidStudy
from satisfice.policies import get_policy
from satisfice.studies import Storage, create_study, load_study
from satisfice.studies.config import Config
from satisfice.studies.machine import Machine

SETTING = sf.BestReward(0.1)


def sound(study: sf.Study) -> None:
    """The state is what the log makes."""
    assert study.check().agrees, study.check()


def test_a_told_cost_is_booked(reopen: Callable[[], Storage]) -> None:
    """By default costs are fixed: what is told only enters the spending, 1 + 9 becomes 0.5 + 9."""
    study = create_study("s", {"small": 1.0, "large": 9.0}, SETTING, storage=reopen(), seed=1)
    first = study.ask(available=["small"])
    study.ask(available=["large"])
    assert study.status().spending.total == 10.0
    assert study.tell(first.id, 1.0, cost=0.5)
    assert not study.tell(first.id, 1.0, cost=0.5)
    assert study.status().spending.total == 9.5
    assert study.arms == {"small": 1.0, "large": 9.0}
    with pytest.raises(sf.RewardConflict):
        study.tell(first.id, 1.0, cost=0.7)
    assert study.tell(first.id, 1.0, cost=0.7, correct=True)
    assert study.status().spending.total == pytest.approx(9.7)
    assert study.log()["cost"].to_list() == [0.7, 9.0]
    sound(study)


def test_mean_costs_are_learned(reopen: Callable[[], Storage]) -> None:
    """The first guess counts until a cost is told: a has (1 + 3) / 2, b (9 + 5) / 2; corrected, 5.5."""
    study = create_study("s", {"a": 4.0, "b": 1.0}, SETTING, storage=reopen(), seed=1, costs="told")
    study.record_many([("a", 1.0, 1.0), ("a", 1.0), ("b", 1.0)])
    assert study.arms == pytest.approx({"a": 1.0, "b": 1.0})
    study.record_many([("a", 1.0, 3.0), ("b", 1.0, 9.0)])
    decision = study.record("b", 1.0, cost=5.0)
    assert study.arms == pytest.approx({"a": 2.0, "b": 7.0})
    assert study.tell(decision.id, 1.0, cost=2.0, correct=True)
    study.close()
    study = load_study("s", reopen())
    assert study.arms == pytest.approx({"a": 2.0, "b": 5.5})
    assert [arm.cost for arm in study.status().arms] == pytest.approx([2.0, 5.5])
    sound(study)


@pytest.mark.parametrize("policy", ["glr", "ts-cs", "ucb-cs"])
def test_the_order_changes_while_a_lease_is_out(policy: str) -> None:
    """Guesses that are the wrong way round: every policy finds the arm that is really cheaper, late rewards or not."""
    arms, costs = {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 6.0, "b": 5.0, "c": 1.0}
    study = create_study("s", arms, SETTING, policy=policy, horizon=4_000, seed=1, costs="told")
    rng, queue, served = random.Random(1), [], Counter[str]()
    for turn in range(1_500):
        queue.append(study.ask())
        served[queue[-1].arm] += turn >= 1_000
        if len(queue) > 20:
            decision = queue.pop(0)
            study.tell(decision.id, float(rng.random() < 0.9), cost=costs[decision.arm] * rng.expovariate(1.0))
    assert served["c"] > 400
    sound(study)


def test_a_new_process_sees_the_same_order(reopen: Callable[[], Storage]) -> None:
    """What the rule remembers is about the order of the arms at that time, whoever asks it next."""
    study = create_study("s", {"a": 1.0, "b": 2.0, "c": 3.0}, SETTING, "pe-cs", reopen(), 4_000, seed=1, costs="told")
    rng = random.Random(1)
    for turn in range(90):
        if turn % 30 == 29:
            study.close()
            study = load_study("s", reopen())
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < 0.8), cost={"a": 3.0, "b": 2.0, "c": 1.0}[decision.arm])
    sound(study)
    assert list(dict(sorted(study.arms.items(), key=lambda arm: arm[1]))) == ["c", "b", "a"]


@pytest.mark.parametrize("ranged", [False, True])
def test_the_verdict_says_whether_the_order_is_certain(ranged: bool) -> None:
    """Two good arms: which of them is cheaper is open, then believed, or proved where a range was declared."""
    limits = (0.0, 10.0) if ranged else None
    study = create_study("s", {"a": 2.0, "b": 2.1}, sf.FixedThreshold(0.5), seed=1, costs="told", cost_range=limits)
    rng = random.Random(1)
    study.record_many([(arm, 1.0, 4 * rng.random()) for _ in range(50) for arm in "ab"])
    verdict = study.verdict()
    assert verdict.state == "exploring" and verdict.costs == "open"
    assert verdict.sentence.endswith(f"is not {'proved' if ranged else 'certain'} yet.")
    study.record_many(
        [(arm, 1.0, cost * 2 * rng.random()) for _ in range(1_500) for arm, cost in {"a": 1, "b": 4}.items()]
    )
    verdict = study.verdict()
    assert (verdict.state, verdict.leader) == ("certified", "a")
    assert verdict.costs == ("proved" if ranged else "believed")
    sound(study)


@pytest.mark.parametrize("ranged", [False, True])
def test_costs_that_are_late_because_they_are_high_prove_nothing_wrong(
    reopen: Callable[[], Storage], ranged: bool, tmp_path: Path
) -> None:
    """'a' costs 1 at once or 15 late, 'b' always 4: before the calls that are dear have ended 'a' seems cheaper."""
    limits = (0.0, 16.0) if ranged else None
    arms = {"a": 4.0, "b": 4.0}
    setting, place = sf.FixedThreshold(0.5), reopen()
    study = create_study("s", arms, setting, storage=place, seed=1, costs="told", cost_range=limits)
    for _ in range(4):
        mine, theirs = study.ask_many(100, exclude=["b"]), study.ask_many(100, exclude=["a"])
        study.tell_many([(d.id, 1.0, 1.0) for d in mine[::2]] + [(d.id, 1.0, 4.0) for d in theirs])
        verdict = study.verdict()
        assert (verdict.leader, verdict.state, verdict.costs) == ("a", "exploring", "open")
    sound(study)
    study.tell_many([(number, 1.0, 15.0) for number in study.log().filter(status="open")["id"]])
    study.close()
    study = load_study("s", reopen())
    verdict = study.verdict()
    assert (verdict.leader, verdict.state) == ("b", "certified")
    assert verdict.costs == ("proved" if ranged else "believed")
    study.archive(time.time() + 60, tmp_path / "s.parquet")
    study.repair()
    assert study.verdict().costs == verdict.costs
    sound(study)


def test_a_snapshot_that_lacks_costs_in_order_is_taken_only_where_they_are_fixed() -> None:
    """Those of the release before have no such sums: where costs are told, they are made anew from the log."""
    for costs in ("fixed", "told"):
        config = Config(
            "s", SETTING, get_policy("glr"), (("a", 1.0), ("b", 2.0)), None, 0.9, 0.0, 1.0, False, None, None, 1,
            costs=costs,
        )  # fmt: skip
        made = Machine(config)
        data = made.to_dict()
        old = {**data, "format": 4, "arms": [arm[:-3] for arm in cast("list[list[object]]", data["arms"])]}
        if costs == "fixed":
            assert Machine.from_dict(config, old).to_dict() == data
        else:
            with pytest.raises(ValueError, match="format 4"):
                Machine.from_dict(config, old)


def test_what_was_certified_must_stay_the_cheapest() -> None:
    """'b' is the only good arm that is cheap, until the costs that are told make 'c' the cheaper one."""
    study = create_study("s", {"b": 1.0, "c": 3.0}, sf.FixedThreshold(0.5), seed=1, costs="told")
    rng = random.Random(1)
    study.record_many([(arm, 1.0, cost * (0.9 + 0.2 * rng.random())) for arm, cost in (("b", 1), ("c", 3))] * 100)
    assert study.verdict().leader == "b" and study.verdict().state == "certified"
    study.record_many([("c", 1.0, 0.1 * rng.random()) for _ in range(2_000)])
    verdict = study.verdict()
    assert verdict.leader == "c"
    sound(study)


def test_a_reference_arm_that_turns_out_cheap() -> None:
    """Arms dearer than the reference arm are not played; which those are is learned."""
    study = create_study("s", {"a": 1.0, "ref": 5.0}, sf.ReferenceArm("ref", 0.1), seed=1, costs="told")
    rng = random.Random(1)
    served = Counter[str]()
    for turn in range(400):
        decision = study.ask()
        served[decision.arm] += turn >= 200
        study.tell(decision.id, float(rng.random() < 0.9), cost={"a": 4.0, "ref": 1.0}[decision.arm])
    assert served["ref"] > 190
    assert {arm.name: arm.verdict for arm in study.status().arms}["a"] == "dearer"
    sound(study)


def test_an_arm_that_seems_dearer_than_the_reference_arm_is_not_proved_to_be() -> None:
    """'x' costs 1.5 or, seldom, 8. It is good, and cheaper than 'a'; after one bill of 8 nobody plays it any more."""
    arms, setting = {"a": 3.0, "ref": 5.0, "x": 2.0, "y": 9.0}, sf.ReferenceArm("ref", 0.2)
    study = create_study("s", arms, setting, seed=1, costs="told", cost_range=(0.0, 10.0))
    study.record_many([("a", 1.0, 3.0), ("ref", 1.0, 5.0)] * 1_500 + [("x", 1.0, 8.0)])
    verdict = study.verdict()
    assert (verdict.leader, verdict.state, verdict.costs) == ("a", "exploring", "open")
    assert "That it costs less than 'x' is not proved yet." in verdict.sentence
    study.retire_arm("x")  # or its costs are told from elsewhere
    assert (study.verdict().state, study.verdict().costs) == ("certified", "proved")


def test_no_cost_is_too_large_for_sums(reopen: Callable[[], Storage]) -> None:
    """One that is told is on disk before anybody adds it up: then nobody could open the study any more."""
    study = create_study("s", {"a": 1.0, "b": 2.0}, SETTING, storage=reopen(), seed=1, costs="told")
    first, second = study.ask_many(2)
    with pytest.raises(
        InvalidReward, match=r"cost = 1e\+308 of decision 1; this study takes numbers from 0 to 1e\+100"
    ):
        study.tell(first.id, 1.0, cost=1e308)
    with pytest.raises(InvalidReward, match="call 1"):
        study.record("a", 1.0, cost=1e101)
    for change in (study.set_cost, study.add_arm):
        with pytest.raises(InvalidStudy, match=r"at least 0 and at most 1e\+100"):
            change("a", 1e308)
    assert study.tell(second.id, 1.0, cost=1e100)
    study.record_many([("b", 1.0, 1e100)] * 3)
    study.close()
    study = load_study("s", reopen())
    assert study.status().spending.total >= 4e100
    sound(study)


def test_no_range_is_too_large() -> None:
    for terms in ({"rewards": (-1e308, 1e308)}, {"costs": "told", "cost_range": (0.0, 1e308)}):
        with pytest.raises(InvalidStudy, match="must lie between -1e\\+100 and 1e\\+100"):
            create_study("s", {"a": 1.0, "b": 2.0}, SETTING, **terms)


def test_costs_must_be_possible() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, SETTING, seed=1, costs="told", cost_range=(0.5, 3.0))
    decision = study.ask()
    for wrong in (0.4, 3.5, float("nan"), "much"):
        with pytest.raises(InvalidReward, match="cost"):
            study.tell(decision.id, 1.0, cost=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidStudy, match="cost_range"):
        create_study("t", {"a": 9.0}, SETTING, costs="told", cost_range=(0.5, 3.0))
    with pytest.raises(InvalidStudy, match="costs"):
        create_study("t", {"a": 9.0}, SETTING, costs="guessed")


def test_worth_is_the_exchange_of_glr() -> None:
    """Rewards of 0 to 20: a unit inside is the whole range, so a worth of 0.5 is an exchange of 10."""
    study = create_study("s", {"a": 1.0, "b": 2.0}, SETTING, rewards=(0.0, 20.0), worth=0.5)
    assert study.config.policy.params["exchange"] == 10.0
    with pytest.raises(InvalidStudy, match="worth"):
        create_study("t", {"a": 1.0}, SETTING, policy="pe-cs", horizon=100, worth=0.5)
