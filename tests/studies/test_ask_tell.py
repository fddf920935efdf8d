"""Ask and tell, in every storage: what counts, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import (
    InvalidPolicy,
    InvalidReward,
    InvalidSetting,
    InvalidStudy,
    RewardConflict,
    StudyClosed,
    UnknownDecision,
)
from satisfice.studies import Status, Study, create_study, load_study
from satisfice.studies.storages import Storage

ARMS = {"large": 8.0, "small": 0.2, "medium": 1.0}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(reopen: Callable[[], Storage], clock: Clock) -> Callable[..., Study]:
    def make_study(**terms: object) -> Study:
        known: dict[str, object] = {"setting": sf.BestReward(0.1), "policy": "ucb-cs", "horizon": 1000, "seed": 1}
        return create_study("s", ARMS, storage=reopen(), clock=clock, **(known | terms))  # type: ignore[arg-type]

    return make_study


def counts(status: Status) -> dict[str, tuple[int, int, int, float]]:
    return {
        arm.name: (arm.pulls, arm.pending, arm.dropped, arm.mean)
        for arm in status.arms
        if arm.pulls + arm.pending + arm.dropped
    }


def kinds(study: Study) -> list[str]:
    """What is in the log beside decisions and rewards, but for looks at what is proved."""
    return study._ledger.look(lambda view: [event.kind for event in view.events() if event.kind != "judge"])


def test_rewards_in_any_order_count_once(make: Callable[..., Study]) -> None:
    study = make()
    decisions = [study.ask() for _ in range(3)]
    assert [d.arm for d in decisions] == ["small", "medium", "large"]  # every arm once, cheapest first
    assert [d.id for d in decisions] == [1, 2, 3]
    for number, reward in ((3, 1.0), (1, 0.25), (2, 0.5), (3, 1.0)):
        study.tell(number, reward)
    status = study.status()
    assert {arm.name: arm.mean for arm in status.arms} == {"large": 1.0, "small": 0.25, "medium": 0.5}
    assert [arm.pulls for arm in status.arms] == [1, 1, 1]
    assert study.check().agrees


def test_a_different_reward_must_be_a_correction(make: Callable[..., Study]) -> None:
    study = make()
    number = study.ask().id
    assert study.tell(number, 0.1)
    with pytest.raises(
        RewardConflict, match=r"decision 1 was told the reward 0\.1, and is now told 0\.3; correct=True"
    ):
        study.tell(number, 0.3)
    assert study.status().arms[1].mean == pytest.approx(0.1)
    assert study.tell(number, 0.3, correct=True)
    assert not study.tell(number, 0.3, correct=True)
    assert study.status().arms[1].mean == pytest.approx(0.3)
    assert study.status().arms[1].pulls == 1
    assert study.check().agrees


def test_corrections_are_exact(make: Callable[..., Study]) -> None:
    """0.1 + 0.2 - 0.1 is 0.2 here, though not in floating point: 0.1 + 0.2 - 0.1 = 0.20000000000000004."""
    study = make(policy="pe-cs")
    first, second = study.ask(), study.ask()
    assert first.arm == second.arm
    study.tell_many({first.id: 0.1, second.id: 0.2})
    study.tell(first.id, 0.0, correct=True)
    assert study.status().arms[1].mean == 0.2 / 2


def test_a_policy_that_learns_from_every_reward_learns_a_correction() -> None:
    """TS-CS counts a reward of 0.3 as a success or a failure at random; corrected to 1, it is a success."""
    corrected, told = (create_study("s", ARMS, sf.BestReward(0.1), "ts-cs", seed=1) for _ in range(2))
    for study in (corrected, told):
        study.tell_many({decision.id: 1.0 for decision in study.ask_many(3)[1:]})
    corrected.tell(1, 0.3)
    corrected.ask()  # the rule counts it
    before = remembered(corrected)
    corrected.tell(1, 1.0, correct=True)
    told.tell(1, 1.0)
    for study in (corrected, told):
        study.ask()
    assert remembered(corrected) == remembered(told) != before
    assert corrected.check().agrees


def remembered(study: Study) -> tuple[list[float], list[int]]:
    """The successes and failures that TS-CS has counted (the first rows of its memory), and the sums that it sees."""
    return study._ledger.look(lambda view: (view.machine.floats[:9], [arm.total for arm in view.machine.arms]))


def test_abandoned_decisions_count_as_nothing(make: Callable[..., Study]) -> None:
    study = make()
    one, two = study.ask(), study.ask()
    assert study.abandon(one.id)
    assert not study.abandon(one.id)
    assert math.isnan(counts(study.status())["small"][3])
    assert counts(study.status())["small"][:3] == (0, 0, 1)
    with pytest.raises(RewardConflict, match="decision 1 was abandoned"):
        study.tell(one.id, 1.0)
    assert study.tell(one.id, 1.0, correct=True)
    assert counts(study.status())["small"] == (1, 0, 0, 1.0)
    study.tell(two.id, 1.0)
    with pytest.raises(RewardConflict, match="cannot be abandoned"):
        study.abandon(two.id)
    assert study.check().agrees


def test_decisions_expire(make: Callable[..., Study], clock: Clock) -> None:
    study = make(expire_after=60.0)
    one = study.ask()
    clock.now += 30
    two = study.ask()
    clock.now += 30
    assert study.expire() == 1
    assert counts(study.status())["small"][:3] == (0, 0, 1)
    clock.now += 29.9
    assert counts(study.status())["medium"][:3] == (0, 1, 0)
    clock.now += 0.1
    assert counts(study.status())["medium"][:3] == (0, 0, 1)
    assert study.tell(one.id, 0.5)  # late, and counts
    assert counts(study.status())["small"] == (1, 0, 0, 0.5)
    assert not study.abandon(two.id)
    assert study.expire() == 0
    assert study.check().agrees


def test_expired_decisions_may_count_as_a_reward(make: Callable[..., Study], clock: Clock) -> None:
    study = make(expire_after=60.0, expire_as=0.0)
    one = study.ask()
    clock.now += 61
    study.ask()
    assert counts(study.status())["small"] == (1, 0, 0, 0.0)
    study.tell(one.id, 1.0)
    assert counts(study.status())["small"] == (1, 0, 0, 1.0)
    assert study.check().agrees


def test_a_long_pause_expires_everything_by_and_by(make: Callable[..., Study], clock: Clock) -> None:
    study = make(expire_after=60.0)
    study.tell_many([(d.id, 1.0) for d in study.ask_many(700)[300:600]])
    clock.now += 61
    study.ask()
    dropped = study._ledger.look(lambda view: sum(arm.dropped for arm in view.machine.arms))
    assert dropped == 256  # no single ask pays for all
    assert study.expire() == 400 - 256
    assert sum(arm.pending for arm in study.status().arms) == 1
    assert study.check().agrees


def test_a_subject_keeps_its_open_decision(make: Callable[..., Study]) -> None:
    study = make()
    one = study.ask(subject="user-17")
    assert study.ask(subject="user-17")[:2] == one[:2]
    assert study.ask(subject="user-18").id == 2
    assert study.ask(subject="user-17", exclude=[one.arm]).arm != one.arm
    study.tell(3, 1.0)
    assert study.ask(subject="user-17").id == 4
    assert study.check().agrees


def test_excluded_arms_are_not_served(make: Callable[..., Study]) -> None:
    study = make()
    decision = study.ask(exclude=["small"])
    assert (decision.arm, decision.reason) == ("medium", "standin")
    assert study.ask().arm == "small"  # the lease is as it was
    assert study.ask(exclude="large").arm != "large"
    assert {d.arm for d in study.ask_many(20, exclude=["small", "medium"])} == {"large"}
    with pytest.raises(InvalidStudy, match="every arm is excluded"):
        study.ask(exclude=list(ARMS))
    assert study.check().agrees  # it was refused before the rule decided anything
    with pytest.raises(InvalidStudy, match="no arm 'tiny'; its arms are large, small, medium"):
        study.ask(exclude=["tiny"])
    with pytest.raises(InvalidStudy, match="available = 5; it must be names of arms"):
        study.ask(available=5)  # type: ignore[arg-type]
    assert study.check().agrees


def test_what_it_serves_while_rewards_are_outstanding(make: Callable[..., Study]) -> None:
    """What the policy would do if they came as expected, at 1/2 while nothing is known: the cheapest arm of UCB-CS."""
    study = make()
    sweep = [study.ask() for _ in range(3)]
    assert [study.ask()[1:3] for _ in range(2)] == [("small", "interim")] * 2
    study.tell_many({sweep[0].id: 0.5, sweep[2].id: 1.0})
    assert {study.ask().reason for _ in range(14)} == {"interim"}
    study.tell(sweep[1].id, 1.0)
    assert study.ask().reason == "lease"
    assert study.check().agrees


def test_luck_with_few_rewards_does_not_send_all_that_wait_to_a_dear_arm() -> None:
    study = create_study("s", {"a": 1.0, "b": 8.0}, sf.BestReward(0.1), "etc-cs", None, 10_000, seed=1)
    block = study.ask_many(400)
    first = {arm: [d.id for d in block if d.arm == arm] for arm in ("a", "b")}
    study.tell_many({d: float(k % 10 < 7) for k, d in enumerate(first["a"][:100])})
    study.tell_many(dict.fromkeys(first["b"][:2], 1.0))
    assert study.verdict().leader == "b"  # 0.7 is below 0.9 x 2/2
    waiting = [d.arm for d in study.ask_many(10_000) if d.reason == "interim"]
    assert waiting and set(waiting) == {"a"}  # but not below 0.9 x 3/4


def test_many_are_the_same_as_one_by_one(reopen: Callable[[], Storage]) -> None:
    together = create_study("a", ARMS, sf.BestReward(0.1), "ucb-cs", reopen(), 1000, seed=1)
    single = create_study("b", ARMS, sf.BestReward(0.1), "ucb-cs", reopen(), 1000, seed=1)
    for size in (1, 2, 5, 0, 7, 30):
        block = together.ask_many(size)
        assert block == [single.ask() for _ in range(size)]
        rewards = {d.id: float(d.arm != "small") for d in block}
        assert together.tell_many(rewards) == size
        for number, reward in rewards.items():
            single.tell(number, reward)
    assert together.tell_many({1: 0.0}) == 0
    assert together.check().agrees and single.check().agrees


def test_telling_many_is_all_or_nothing(make: Callable[..., Study]) -> None:
    study = make()
    study.ask_many(3)
    study.tell(1, 1.0)
    for wrong, error in (
        ([(2, 0.5), (9, 0.5)], UnknownDecision),
        ([(2, 0.5), (3, 1.5)], InvalidReward),
        ([(2, 0.5), (1, 0.0)], RewardConflict),
        ([(2, 0.5), (2, 0.6)], InvalidReward),
    ):
        with pytest.raises(error):
            study.tell_many(wrong)
    assert sum(arm.pulls for arm in study.status().arms) == 1
    assert study.check().agrees


def test_refusals_change_nothing(make: Callable[..., Study]) -> None:
    study = make()
    number = study.ask().id
    before = study.status()
    for reward in (-0.01, 1.01, math.nan, math.inf, "x", None):
        with pytest.raises(InvalidReward, match="from 0 to 1"):
            study.tell(number, reward)  # type: ignore[arg-type]
    for unknown in (0, 2, -1, 2**70, "x", None):
        with pytest.raises(UnknownDecision):
            study.tell(unknown, 1.0)  # type: ignore[arg-type]
        with pytest.raises(UnknownDecision):
            study.abandon(unknown)  # type: ignore[arg-type]
    with pytest.raises(InvalidStudy, match="count = -1"):
        study.ask_many(-1)
    assert repr(study.status()) == repr(before)
    assert study.check().events == 1


def test_an_ended_study(make: Callable[..., Study]) -> None:
    study = make()
    number = study.ask().id
    study.ask_many(2)
    assert study.end()
    assert not study.end()  # said again, it changes nothing
    for refused in (
        study.ask,
        lambda: study.ask_many(2),
        lambda: study.ask(subject="u"),
        lambda: study.ask(key="k"),
        lambda: study.set_cost("small", 2.0),
        lambda: study.add_arm("new", 2.0),
        lambda: study.retire_arm("small"),
    ):
        with pytest.raises(StudyClosed, match=r"'s' was ended; reopen\(\) lets it go on"):
            refused()
    assert study.status().ended and "(ended)" in str(study.status())
    assert study.tell(number, 1.0)  # late, and counts
    assert study.tell_many({2: 1.0}) == 1 and study.abandon(3)
    assert study.tell(number, 0.5, correct=True)
    assert counts(study.status())["small"] == (1, 0, 0, 0.5)
    assert kinds(study) == ["make_lease", "end"]
    assert study.check().agrees
    assert study.reopen() and not study.reopen()
    assert not study.status().ended
    assert study.ask().id == 4
    assert study.check().agrees


def test_an_ended_study_does_not_expire(make: Callable[..., Study], clock: Clock) -> None:
    study = make(expire_after=60.0)
    study.ask()
    study.end()
    clock.now += 61
    assert study.expire() == 0
    assert counts(study.status())["small"][:3] == (0, 1, 0)
    study.reopen()
    assert study.expire() == 1
    assert study.check().agrees


def test_a_closed_object_lets_go_of_the_study(make: Callable[..., Study], reopen: Callable[[], Storage]) -> None:
    study = make()
    with study as same:
        assert same is study
        number = study.ask().id
    study.close()  # again is harmless
    for refused in (
        study.ask,
        study.end,
        study.status,
        study.check,
        lambda: study.ask_many(2),
        lambda: study.tell(number, 1.0),
        lambda: study.tell_many({number: 1.0}),
        lambda: study.abandon(number),
        lambda: study.set_cost("small", 2.0),
        lambda: study.forget("u"),
    ):
        with pytest.raises(StudyClosed, match=r"let go of the study 's' by close\(\).*that is what end\(\) does"):
            refused()
    other = load_study("s", reopen())
    assert not other.status().ended
    assert other.tell(number, 1.0) and other.check().agrees


def test_a_key_gives_the_same_decisions_again(make: Callable[..., Study]) -> None:
    study = make()
    one = study.ask(key="question 1")
    assert (one.id, one.reason, one.key) == (1, "lease", "question 1")
    study.tell(one.id, 1.0)
    again = study.ask(key="question 1")  # settled or not
    assert (again.id, again.arm, again.reason) == (one.id, one.arm, "key")
    assert again.why == "the decision that was made for the key 'question 1'"
    block = study.ask_many(3, key="block")
    assert [d.id for d in study.ask_many(3, key="block")] == [d.id for d in block] == [2, 3, 4]
    with pytest.raises(InvalidStudy, match="the key 'block' was used for 3 decisions, not for 2"):
        study.ask_many(2, key="block")
    with pytest.raises(InvalidStudy, match="the key 'block' was used for 3 decisions, not for 1"):
        study.ask(key="block")
    assert study.ask(key="other").id == 5
    assert study.check().agrees


@pytest.mark.parametrize("text", ["", "  ", "x" * 201, "a\0b", "\ud800", 7, None, b"x"])
def test_texts_that_no_storage_keeps(make: Callable[..., Study], text: object) -> None:
    """Names, subjects and keys are texts of 1 to 200 characters, the same in every storage."""
    study = make()
    acts: list[Callable[[], object]] = [
        lambda: study.forget(text),  # type: ignore[arg-type]
        lambda: study.add_arm(text, 1.0),  # type: ignore[arg-type]
        lambda: create_study(text, ARMS, sf.BestReward(0.1)),  # type: ignore[arg-type]
    ]
    if text is not None:
        acts += [
            lambda: study.ask(subject=text),  # type: ignore[arg-type]
            lambda: study.ask(key=text),  # type: ignore[arg-type]
            lambda: study.ask_many(2, key=text),  # type: ignore[arg-type]
        ]
    for act in acts:
        with pytest.raises(InvalidStudy, match="it must be a text of 1 to 200 characters"):
            act()
    assert study.check().decisions == 0


def test_said_again_changes_nothing(make: Callable[..., Study]) -> None:
    study = make()
    study.ask()
    assert study.set_cost("small", 0.3) and not study.set_cost("small", 0.3)
    assert study.add_arm("tiny", 0.1) and not study.add_arm("tiny", 0.1)
    assert study.retire_arm("large") and not study.retire_arm("large")
    assert kinds(study) == ["make_lease", "set_cost", "add_arm", "retire_arm"]
    assert study.check().agrees


def test_a_subject_is_forgotten_and_what_was_learned_stays(make: Callable[..., Study]) -> None:
    study = make()
    for _ in range(2):
        study.tell(study.ask(subject="user-17").id, 1.0)
    other = study.ask(subject="user-18")
    before = repr(counts(study.status()))
    assert study.forget("user-17") == 2
    assert study.forget("user-17") == 0
    assert study.log()["subject"].to_list() == [None, None, "user-18"]
    assert repr(counts(study.status())) == before
    assert study.ask(subject="user-18").id == other.id
    assert study.ask(subject="user-17").id == 4
    assert study.check().agrees


@pytest.mark.parametrize("later", [math.nan, math.inf, -math.inf])
def test_a_clock_must_be_finite(make: Callable[..., Study], clock: Clock, later: float) -> None:
    study = make(expire_after=60.0)
    study.ask()
    clock.now = later
    for refused in (study.ask, study.status, study.expire, lambda: study.tell(1, 1.0)):
        with pytest.raises(InvalidStudy, match="it must be a finite number of seconds"):
            refused()
    clock.now = 1000.0
    assert study.tell(1, 1.0) and study.check().agrees


def test_binary_rewards(make: Callable[..., Study]) -> None:
    study = make(binary=True, rewards=(-1.0, 1.0))
    number = study.ask().id
    with pytest.raises(InvalidReward, match="takes -1 or 1"):
        study.tell(number, 0.0)
    study.tell(number, -1.0)
    assert study.status().arms[1].mean == -1.0


def test_rewards_on_any_range(make: Callable[..., Study]) -> None:
    """Stars from 1 to 5: inside they are divided by 5, so (1 - alpha) x mean keeps its meaning."""
    study = make(rewards=(1.0, 5.0))
    for _ in range(3):
        decision = study.ask()
        study.tell(decision.id, {"small": 3.0, "medium": 4.5, "large": 5.0}[decision.arm])
    with pytest.raises(InvalidReward, match="from 1 to 5"):
        study.tell(1, 0.5)
    status = study.status()
    assert {arm.name: round(arm.mean, 12) for arm in status.arms} == {"large": 5.0, "small": 3.0, "medium": 4.5}
    assert status.verdict.threshold == pytest.approx(0.9 * 5)
    assert status.leader == "medium"
    assert all(1.0 <= arm.interval[0] <= arm.mean <= arm.interval[1] <= 5.0 for arm in status.arms)


def test_a_threshold_is_on_the_scale_of_the_rewards(make: Callable[..., Study]) -> None:
    study = make(rewards=(-2.0, 2.0), setting=sf.FixedThreshold(1.0), policy="ft-ucb")
    assert study.config.scaled_setting == sf.FixedThreshold(0.75)  # (1 - -2) / 4
    assert study.status().verdict.threshold == 1.0


def test_the_world_changes(make: Callable[..., Study]) -> None:
    study = make()
    for _ in range(30):
        decision = study.ask()
        study.tell(decision.id, {"small": 0.0, "medium": 1.0, "large": 1.0}[decision.arm])
    known = {arm.name: arm.pulls for arm in study.status().arms}
    study.add_arm("tiny", 0.1)
    assert {arm.name: arm.pulls for arm in study.status().arms} == known | {"tiny": 0}
    first = study.ask()
    assert first.arm == "tiny"  # its first look
    study.tell(first.id, 1.0)
    study.retire_arm("medium")
    study.set_cost("large", 0.05)
    for _ in range(20):
        decision = study.ask()
        assert decision.arm != "medium"
        study.tell(decision.id, 1.0)
    status = study.status()
    assert status.leader == "large"
    assert [arm.verdict for arm in status.arms if arm.name == "medium"] == ["retired"]
    study.add_arm("medium", 0.01)
    assert next(arm for arm in study.status().arms if arm.name == "medium").pulls == known["medium"]
    refused: tuple[Callable[[], object], ...] = (
        lambda: study.add_arm("tiny", 1.0),
        lambda: study.set_cost("nobody", 1.0),
        lambda: study.set_cost("tiny", -1.0),
        lambda: study.add_arm("", 1.0),
        lambda: study.add_arm("new", math.nan),
        lambda: study.retire_arm("nobody"),
    )
    for wrong in refused:
        with pytest.raises(InvalidStudy):
            wrong()
    assert study.check().agrees


def test_spending_follows_the_costs_of_the_time(make: Callable[..., Study]) -> None:
    """Three decisions at 0.2 + 1 + 8; then small costs 2, and it is asked for three more times: 3 x 2."""
    study = make(policy="etc-cs", horizon=1000)
    study.ask_many(3)
    study.set_cost("small", 2.0)
    study.retire_arm("medium")
    study.retire_arm("large")
    study.ask_many(3)
    spending = study.status().spending
    assert spending.total == pytest.approx(0.2 + 1 + 8 + 3 * 2)
    assert spending.dearest == pytest.approx(3 * 0.2 + 3 * 2)
    assert spending.decisions == 6


def test_the_reference_arm_and_the_last_arm_stay(make: Callable[..., Study]) -> None:
    study = make(setting=sf.ReferenceArm("medium", 0.1), policy="pe")
    with pytest.raises(InvalidStudy, match="'medium' is the reference arm"):
        study.retire_arm("medium")
    assert study.retire_arm("small")
    assert not study.retire_arm("small")  # said again, it changes nothing
    study.retire_arm("large")
    assert study.ask().arm == "medium"
    best = create_study("last", ARMS, sf.BestReward(0.1))
    best.retire_arm("small")
    best.retire_arm("medium")
    with pytest.raises(InvalidStudy, match="'large' is the last arm"):
        best.retire_arm("large")


def test_arms_dearer_than_the_reference_only_stand_in(make: Callable[..., Study]) -> None:
    study = make(setting=sf.ReferenceArm("medium", 0.1), policy="pe")
    assert {d.arm for d in study.ask_many(50)} <= {"small", "medium"}
    decision = study.ask(exclude=["small", "medium"])
    assert decision.arm == "large"
    study.tell(decision.id, 1.0)
    assert next(arm for arm in study.status().arms if arm.name == "large").verdict == "dearer"
    assert study.check().agrees


@pytest.mark.parametrize(
    ("terms", "error", "message"),
    [
        ({"name": " "}, InvalidStudy, "name"),
        ({"arms": {}}, InvalidStudy, "names and costs"),
        ({"arms": ["a", "b"]}, InvalidStudy, "names and costs"),
        ({"arms": {"a": -1.0}}, InvalidStudy, "cost of 'a' is -1.0"),
        ({"arms": {"a": "x"}}, InvalidStudy, "cost of 'a' is 'x'"),
        ({"arms": {1: 1.0}}, InvalidStudy, "the name of an arm is 1"),
        ({"setting": "best"}, InvalidStudy, "use BestReward"),
        ({"setting": sf.ReferenceArm("z")}, InvalidSetting, "no arm 'z'"),
        ({"setting": sf.FixedThreshold(3.0), "policy": "ft-ucb"}, InvalidStudy, "outside the range"),
        ({"policy": "nothing"}, InvalidPolicy, "no policy"),
        ({"policy": "pe"}, InvalidPolicy, "does not serve BestReward"),
        ({"horizon": None}, InvalidPolicy, "needs a horizon"),
        ({"horizon": 0}, InvalidStudy, "horizon = 0"),
        ({"horizon": 1.5}, InvalidStudy, "whole number"),
        ({"confidence": 95}, InvalidStudy, "confidence = 95"),
        ({"rewards": (1.0, 0.0)}, InvalidStudy, "lowest must be below"),
        ({"rewards": 5}, InvalidStudy, "lowest, highest"),
        ({"expire_after": 0}, InvalidStudy, "expire_after"),
        ({"expire_as": 2.0}, InvalidStudy, "expire_as"),
        ({"expire_as": 0.5, "binary": True}, InvalidStudy, "0 or 1"),
    ],
)
def test_terms_that_make_no_sense(terms: dict[str, object], error: type[Exception], message: str) -> None:
    known = {"name": "s", "arms": ARMS, "setting": sf.BestReward(0.1), "policy": "ucb-cs", "horizon": 100}
    with pytest.raises(error, match=message):
        create_study(**(known | terms))  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [2.7, 1.0, True, None, "x", "1.0", np.float64(1), np.bool_(True)])
def test_ids_are_whole_numbers(number: object) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    study.ask_many(3)
    acts: tuple[Callable[[], object], ...] = (
        lambda: study.tell(number, 1.0),  # type: ignore[arg-type]
        lambda: study.tell_many([(number, 1.0)]),  # type: ignore[list-item]
        lambda: study.abandon(number),  # type: ignore[arg-type]
    )
    for act in acts:
        with pytest.raises(UnknownDecision, match="is not the id of a decision"):
            act()
    assert study.tell(np.int64(2), 1.0) and study.tell_many({np.int32(3): 1.0}) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ([1, 2], "^1 is not a pair of a decision id and a reward"),
        (["12"], "'12' is not a pair"),
        ([(1, 1.0, 2, 3)], "is not a pair"),
        (7, r"pairs such as \[\(17, 1.0\), \(18, 0.0\)\]; got 7$"),
        (pl.DataFrame({"id": [1] * 99, "reward": [1.0] * 99}), r"; got a DataFrame$"),
        ([(1, 1.0), (2, 1.5)], r"^reward = 1.5 of decision 2; this study takes numbers from 0 to 1$"),
        ([(1, 1.0), (2, [1.0] * 99)], r"^reward = a list of decision 2; this study"),
    ],
)
def test_rewards_that_are_none(rewards: object, message: str) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    study.ask_many(2)
    with pytest.raises(InvalidReward, match=message):
        study.tell_many(rewards)  # type: ignore[arg-type]
    assert study.verdict().rewards == 0


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"confidence": "0.95"}, "confidence = '0.95'; it must be between 0 and 1"),
        ({"confidence": True}, "confidence = True"),
        ({"horizon": "100"}, "horizon = '100'; it must be a whole number of decisions"),
        ({"horizon": [1] * 99}, "horizon = a list; it must"),
        ({"seed": -1}, "seed = -1; it must be a whole number of at least 0"),
        ({"seed": 1.5}, r"seed = 1\.5"),
        ({"seed": "1"}, "seed = '1'"),
        ({"expire_after": "60"}, "expire_after = '60'"),
        ({"expire_as": "0"}, "expire_as = '0'"),
    ],
)
def test_terms_of_the_wrong_type(terms: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidStudy, match=message):
        create_study("s", ARMS, sf.BestReward(0.1), **terms)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    study = create_study(
        "s",
        ARMS,
        sf.BestReward(0.1),
        "pe-cs",
        None,
        np.int64(100),  # type: ignore[arg-type]
        np.float32(0.5),  # type: ignore[arg-type]
        seed=np.uint8(3),  # type: ignore[arg-type]
    )
    assert (study.config.horizon, study.config.confidence, study.config.seed) == (100, 0.5, 3)


HUGE = [2**2000, 10**5000]  # beyond every float; and of more digits than Python writes


@pytest.mark.parametrize("huge", HUGE, ids=["2^2000", "10^5000"])
def test_numbers_beyond_every_float_are_refused_like_others(huge: int) -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), seed=1)
    number = study.ask().id
    deeds: list[Callable[[], object]] = [
        lambda: study.tell(number, huge),
        lambda: study.tell(number, 1.0, huge),
        lambda: study.tell_many({number: huge}),
        lambda: study.record("a", huge),
        lambda: study.set_cost("a", huge),
        lambda: study.add_arm("c", huge),
        lambda: study.ask_many(huge),
        lambda: study.ask_many(1_000_001),
        lambda: study.archive(huge, "old.parquet"),
        lambda: sf.BestReward(huge),
        lambda: sf.FixedThreshold(huge),
        *(
            partial(create_study, "t", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), **dict[str, Any]({name: huge}))
            for name in ("horizon", "expire_after", "budget", "holdout")
        ),
    ]
    for deed in deeds:
        with pytest.raises(sf.SatisficeError) as caught:
            deed()
        assert len(str(caught.value)) < 300
    assert study.tell(number, 1.0) and study.check().agrees
    assert len(study.ask_many(cast(int, np.int64(3)))) == 3


@pytest.mark.parametrize("time", [2**2000, float("nan"), float("inf"), "noon", None], ids=lambda said: str(said)[:5])
def test_a_clock_that_says_nothing_sensible_is_refused(time: object) -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), seed=1, clock=lambda: time)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidStudy, match="the clock says"):
        study.ask()
    assert study._ledger.look(lambda view: view.machine.decisions) == 0
