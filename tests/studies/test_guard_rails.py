"""What people need around a study: sessions, a control group, pause, a budget, records of others' decisions, copies."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import InvalidStudy, StudyExists, UnknownDecision
from satisfice.studies import Storage, create_study, load_study
from satisfice.studies.copying import _copy, _left

ARMS = {"small": 1.0, "mid": 3.0, "large": 9.0}
MEANS = {"small": 0.6, "mid": 0.85, "large": 0.9}
SETTING = sf.BestReward(0.1)


class Clock:
    """A time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def reward(rng: random.Random, decision: sf.Decision) -> float:
    return float(rng.random() < MEANS[decision.arm])


def sound(study: sf.Study) -> None:
    """The state is what the log makes, and every reason can be explained."""
    assert study.check().agrees, study.check()
    log = study.log()
    for reason in set(log["reason"]):
        assert study.explain(log.filter(log["reason"] == reason)["id"][-1]).reason == reason


# Sessions


def test_a_session_keeps_its_arm(reopen: Callable[[], Storage]) -> None:
    """Every call is a decision of its own, for as long as the session goes on, and by any process."""
    clock = Clock()
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, session_ttl=60, clock=clock)
    first = study.ask(session="chat-17")
    others = [study.ask() for _ in range(20)]
    study.close()
    study = load_study("s", reopen(), clock=clock)
    for _ in range(3):
        clock.now += 50.0
        again = study.ask(session="chat-17")
        assert (again.arm, again.reason, again.session) == (first.arm, "session", "chat-17")
        assert again.id > others[-1].id
    assert study.tell(first.id, 1.0) and study.tell(again.id, 0.0)
    clock.now += 61.0
    assert study.ask(session="chat-17").reason != "session"
    assert study.log()["session"].drop_nulls().to_list() == ["chat-17"] * 5
    sound(study)


def test_a_session_leaves_an_arm_that_is_gone() -> None:
    study = create_study("s", ARMS, SETTING, seed=1)
    first = study.ask(session="a")
    assert study.ask(session="a", exclude=[first.arm]).arm != first.arm
    second = study.ask(session="a")
    study.retire_arm(second.arm) if second.arm != "large" else study.retire_arm("mid")
    assert study.ask(session="a").arm in study.arms
    sound(study)


def test_a_session_leaves_an_arm_that_does_not_answer() -> None:
    """A conversation whose arm rests is not lost with it."""
    study, rng = create_study("s", ARMS, SETTING, seed=1), random.Random(1)
    for _ in range(30):
        decision = study.ask(exclude=["mid"])
        study.tell(decision.id, reward(rng, decision))
    while (mine := study.ask(session="a", available=["mid"])).arm != "mid":
        pass
    study.abandon(mine.id)
    served = Counter[str]()
    for _ in range(20):
        decision = study.ask(session="a")
        served[decision.arm] += 1
        study.abandon(decision.id) if decision.arm == "mid" else study.tell(decision.id, reward(rng, decision))
    assert served["mid"] <= 5
    sound(study)


# A control group and a pause


@pytest.mark.parametrize("named", [False, True])
def test_the_control_group_gets_the_baseline(reopen: Callable[[], Storage], named: bool) -> None:
    """A fifth of decisions, or of subjects. 200 of them: 40 expected, 4 standard deviations are 23."""
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, baseline="large", holdout=0.2)
    rng, held = random.Random(1), {}
    for turn in range(200):
        decision = study.ask(subject=f"user {turn}" if named else None)
        held[turn] = decision.reason == "holdout"
        study.tell(decision.id, reward(rng, decision))
    if named:
        assert all((study.ask(subject=f"user {turn}").reason == "holdout") == held[turn] for turn in range(0, 200, 20))
    status = study.status()
    assert status.control is not None
    assert 17 <= sum(held.values()) <= 63
    assert status.control.decisions == sum(study.log()["reason"] == "holdout")
    log = study.log()
    control, others = log.filter(log["reason"] == "holdout"), log.filter(log["reason"] != "holdout")
    assert status.control.saving[0] == pytest.approx(mean(control["cost"]) - mean(others["cost"]))
    assert status.control.gain[0] == pytest.approx(mean(others["reward"]) - mean(control["reward"]))
    sound(study)


def test_chance_is_the_probability_of_the_arm() -> None:
    """Control: 0.2, unless the study wants the baseline itself; others: 0.8, or 1 for the baseline."""
    study = create_study("s", ARMS, SETTING, seed=1, baseline="large", holdout=0.2, budget=30.0)
    rng = random.Random(1)
    for decision in (study.ask() for _ in range(400)):
        study.tell(decision.id, reward(rng, decision))
    log = study.log()
    others = log.filter(log["reason"] != "holdout")
    assert set(others.filter(others["arm"] != "large")["chance"]) == {0.8}
    assert set(others.filter(others["arm"] == "large")["chance"]) <= {1.0}
    control = log.filter(log["reason"] == "holdout")
    assert set(control["chance"]) <= {0.2, 1.0} and 0.2 in set(control["chance"])
    assert (log["chance"] == 1.0).any()


def test_a_pause_serves_the_baseline(reopen: Callable[[], Storage]) -> None:
    """In the middle of a lease, in every process, and the lease goes on afterwards."""
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, baseline="large", holdout=0.2)
    rng = random.Random(1)
    for _ in range(10):
        decision = study.ask()
        study.tell(decision.id, reward(rng, decision))
    before = study.status().control
    assert study.pause() and not study.pause()
    study.close()
    study = load_study("s", reopen())
    assert study.status().paused
    for _ in range(10):
        decision = study.ask()
        assert (decision.arm, decision.reason) == ("large", "paused")
        study.tell(decision.id, reward(rng, decision))
    assert study.ask(exclude=["large"]).arm != "large"
    # Nobody drew who gets the baseline meanwhile: these decisions are in no group.
    during = study.status().control
    assert before is not None and during is not None
    assert during.decisions == before.decisions and during.rewards == before.rewards
    assert study.resume() and not study.resume()
    assert {study.ask().reason for _ in range(10)} <= {"lease", "interim", "holdout"}
    sound(study)


def test_there_must_be_a_baseline() -> None:
    study = create_study("s", ARMS, SETTING)
    with pytest.raises(InvalidStudy, match="no baseline"):
        study.pause()
    with pytest.raises(InvalidStudy, match="baseline"):
        create_study("t", ARMS, SETTING, holdout=0.1)
    with pytest.raises(InvalidStudy, match="baseline"):
        create_study("t", ARMS, SETTING, baseline="huge")
    with pytest.raises(InvalidStudy, match="baseline"):
        create_study("t", ARMS, SETTING, baseline="large", holdout=0.1).retire_arm("large")


# A budget


@pytest.mark.parametrize("delay", [0, 100])
def test_finding_out_costs_no_more_than_the_budget(reopen: Callable[[], Storage], delay: int) -> None:
    """It stays below it to the last decision, then the arm that would win is served, and it goes on learning."""
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, budget=10.0)
    rng, queue = random.Random(1), []
    for _ in range(300):
        queue.append(study.ask())
        if len(queue) > delay:
            decision = queue.pop(0)
            study.tell(decision.id, reward(rng, decision))
    status = study.status()
    assert status.spending.exploring is not None and status.spending.exploring <= 10.0
    log = study.log()
    assert "budget" in set(log["reason"])
    if not delay:
        assert any("budget" in warning for warning in status.warnings)
    sound(study)


def test_a_budget_bounds_a_day_without_rewards() -> None:
    """Before the first reward every arm that is not the cheapest is a price: 8 for each pull of large, 2 for mid."""
    study = create_study("s", ARMS, SETTING, seed=1, budget=40.0)
    served = Counter(decision.arm for decision in study.ask_many(5_000))
    assert 8 * served["large"] + 2 * served["mid"] <= 40
    sound(study)


# Decisions of somebody else


def test_what_is_recorded_counts(reopen: Callable[[], Storage]) -> None:
    """A router of one's own, watched from the first decision; then the study takes over from there."""
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, baseline="large", holdout=0.2, costs="told")
    rng = random.Random(1)
    for turn in range(60):
        arm = rng.choice(list(ARMS))
        made = study.record(arm, float(rng.random() < MEANS[arm]), cost=ARMS[arm] * 2, key=f"call {turn}")
        assert (made.arm, made.reason) == (arm, "recorded")
    assert study.record("small", 0.0, key="call 3").reason == "key"
    status = study.status()
    assert sum(arm.pulls for arm in status.arms) == 60
    assert status.control is not None and status.control.decisions == 0
    assert status.spending.total == pytest.approx(sum(2 * ARMS[arm] for arm in study.log()["arm"]))
    assert study.ask().reason in ("lease", "holdout")
    sound(study)


@pytest.mark.parametrize(
    ("policy", "setting"),
    [("ft-ucb", sf.FixedThreshold(0.4)), ("ucb-cs", sf.BestReward(0.1)), ("cof", sf.BestReward(0.1))],
)
@pytest.mark.parametrize("missing", ["small", "large"])
def test_ask_begins_where_some_arms_alone_were_recorded(policy: str, setting: sf.Setting, missing: str) -> None:
    """The paper's rules look at every arm before anything else."""
    arms = {"small": 1.0, "mid": 3.0, "large": 9.0}
    study = create_study("s", arms, setting, policy, horizon=1000, seed=1)
    study.record_many([("large" if missing == "small" else "small", 0.0)] * 300)
    decisions = study.ask_many(5)
    assert {missing, "mid"} <= {decision.arm for decision in decisions}
    study.tell_many({decision.id: 1.0 for decision in decisions})
    study.ask_many(10)


def test_many_are_recorded_at_once(reopen: Callable[[], Storage]) -> None:
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1)
    calls = [("small", 1.0), ("large", 0.0, 8.5), ("mid", 1.0, None, "call 3")]
    assert study.record_many(calls) == 3
    assert study.record_many([("mid", 1.0, None, "call 3"), ("mid", 0.0)]) == 1
    assert [arm.pulls for arm in study.status().arms] == [1, 2, 1]
    with pytest.raises(sf.SatisficeError, match="huge"):
        study.record_many([("small", 1.0), ("huge", 1.0)])
    assert study.status().spending.decisions == 4
    sound(study)


# Start and copy


def test_load_if_exists(reopen: Callable[[], Storage]) -> None:
    first = create_study("s", ARMS, SETTING, storage=reopen(), load_if_exists=True)
    decision = first.ask()
    first.set_cost("small", 1.5)
    with pytest.raises(StudyExists):
        create_study("s", ARMS, SETTING, storage=reopen())
    again = create_study("s", ARMS, SETTING, storage=reopen(), load_if_exists=True)
    assert again.tell(decision.id, 1.0) and again.arms["small"] == 1.5
    with pytest.raises(InvalidStudy, match="budget"):
        create_study("s", ARMS, SETTING, storage=reopen(), budget=5.0, load_if_exists=True)


def test_a_copy_goes_its_own_way(reopen: Callable[[], Storage]) -> None:
    """With what was learned; decisions that are open belong to the study that made them."""
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, baseline="large", holdout=0.2, costs="told")
    rng = random.Random(1)
    for turn in range(30):
        decision = study.ask(session=f"chat {turn % 5}", key=f"call {turn}")
        study.tell(decision.id, reward(rng, decision), cost=rng.random())
    waiting = study.ask()
    copy = study.copy("t")
    bare = study.copy("u", learned=False)
    assert [arm.pulls for arm in copy.status().arms] == [arm.pulls for arm in study.status().arms]
    assert [arm.pending for arm in copy.status().arms] == [0, 0, 0]
    assert copy.status().control is not None and sum(arm.pulls for arm in bare.status().arms) == 0
    assert study.tell(waiting.id, 1.0)
    for _ in range(10):
        for other in (study, copy, bare):
            decision = other.ask()
            other.tell(decision.id, reward(rng, decision), cost=1.0)
    assert sum(arm.pulls for arm in copy.status().arms) == 40
    assert sum(arm.pulls for arm in study.status().arms) == 41
    for other in (study, copy, bare):
        sound(other)
    with pytest.raises(StudyExists):
        study.copy("t")


def test_a_copy_is_there_whole_or_not_at_all(reopen: Callable[[], Storage], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is killed while it is made leaves no study of its name behind, empty or in part."""
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1)
    for _ in range(5):
        study.tell(study.ask().id, 1.0)
    study.ask()
    seen = []

    def look(*args: object) -> object:
        seen.append(reopen().names())
        if len(seen) == 1:
            raise KeyboardInterrupt
        return _left(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("satisfice.studies.copying._left", look)
    with pytest.raises(KeyboardInterrupt):
        study.copy("t")
    assert reopen().names() == ["s"]
    copy = study.copy("t")
    assert seen == [["s"], ["s"]] and reopen().names() == ["s", "t"]
    assert sum(arm.pulls for arm in copy.status().arms) == 5
    sound(copy)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_copies_at_once(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than there are connections to read over: none waits for one that the others have, nor does who looks."""
    under_way, most = [], []

    def count(*args: object) -> None:
        under_way.append(args)
        most.append(len(under_way))
        _copy(*args)  # type: ignore[arg-type]
        under_way.pop()

    monkeypatch.setattr("satisfice.studies.copying._copy", count)
    url = f"{request.getfixturevalue(f'{kind}_url')}&timeout=2"
    study = create_study("s", ARMS, SETTING, storage=url, seed=1)
    study.tell_many({decision.id: 1.0 for decision in study.ask_many(50)})
    with ThreadPoolExecutor(8) as pool:
        copies = list(pool.map(lambda number: study.copy(f"t {number}", learned=number % 4 > 0), range(16)))
    assert {copy.name for copy in copies} == {f"t {number}" for number in range(16)}
    assert all(sum(arm.pulls for arm in copy.status().arms) in (0, 50) for copy in copies)
    assert most == [1] * 12


def test_an_archive_keeps_the_groups_and_the_costs(reopen: Callable[[], Storage], tmp_path: Path) -> None:
    """What was put away still counts in every sum: told costs, the control group, the budget."""
    clock = Clock()
    terms = {"baseline": "large", "holdout": 0.2, "costs": "told", "budget": 50.0}
    study = create_study("s", ARMS, SETTING, storage=reopen(), seed=1, clock=clock, **terms)  # type: ignore[arg-type]
    rng = random.Random(1)
    for _ in range(40):
        decision = study.ask()
        study.tell(decision.id, reward(rng, decision), cost=rng.random())
    before = study.status()
    clock.now += 10.0
    assert study.archive(clock.now, tmp_path / "old.parquet") == 40
    after = study.status()
    assert after.spending == before.spending and after.control == before.control
    assert str(after.arms) == str(before.arms)  # an arm without rewards has the mean nan
    study.tell(study.ask().id, 1.0)
    sound(study)
    for late in (lambda: study.tell(40, 1.0), lambda: study.tell_many({40: 1.0}), lambda: study.explain(40)):
        with pytest.raises(UnknownDecision, match=r"decision 40 .* is in an archive"):
            late()
    with pytest.raises(UnknownDecision, match="never handed out a decision 42"):
        study.tell(42, 1.0)


def mean(column: pl.Series) -> float:
    """The mean of what is there."""
    values = column.drop_nulls().to_list()
    return math.fsum(values) / len(values)
