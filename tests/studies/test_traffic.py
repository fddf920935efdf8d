"""What a study decides under real traffic: arms that do not answer, arms that cannot be played, late rewards."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable

import pytest

import satisfice as sf
from satisfice.studies import Storage, create_study, get_storage, load_study

ARMS = {"small": 1.0, "mid": 3.0, "large": 9.0}
MEANS = {"small": 0.3, "mid": 0.8, "large": 0.9}


def sound(study: sf.Study) -> None:
    """The state is what the log makes, and every reason can be explained."""
    assert study.check().agrees, study.check()
    for reason in set(study.log()["reason"]):
        number = study.log().filter(study.log()["reason"] == reason)["id"][-1]
        assert study.explain(number).reason == reason
        assert "Decision" in study.explain(number).sentence


def without_mid(storage: Callable[[], Storage], how: str, turns: int, swap: int) -> tuple[sf.Study, Counter[str]]:
    """A study whose arm 'mid' never answers, and what was served. After `swap` decisions another process goes on."""
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=storage(), confidence=0.95, seed=1)
    rng, served = random.Random(1), Counter[str]()
    for turn in range(turns):
        if turn == swap:
            study.close()
            study = load_study("s", storage())
        decision = study.ask(exclude=["mid"] if how == "excluded" else ())
        served[decision.arm] += 1
        if decision.arm == "mid":
            if how == "abandoned":
                study.abandon(decision.id)
            continue
        study.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
    return study, served


@pytest.mark.parametrize("how", ["abandoned", "open", "excluded"])
def test_an_arm_that_does_not_answer_holds_nobody_up(reopen: Callable[[], Storage], how: str) -> None:
    """'mid' never answers; the others are served as if it were not there, but for its trials."""
    study, served = without_mid(reopen, how, 120, 60)
    assert served["mid"] < 24  # the first looks, and trials after 16, 32, 64 decisions
    assert served["large"] > 60
    status = study.status()
    word, warning = ("open", "'mid' is excluded") if how == "excluded" else ("unanswered", "'mid' does not answer")
    assert {arm.name: arm.verdict for arm in status.arms}["mid"] == word
    assert any(text.startswith(warning) for text in status.warnings)
    sound(study)


@pytest.mark.parametrize("how", ["abandoned", "open"])
def test_the_verdict_is_about_the_arms_that_answer(how: str) -> None:
    """Large is certified after some 600 rewards, as it is where 'mid' is told 0."""
    here = get_storage(None)
    study, served = without_mid(lambda: here, how, 1_000, -1)
    assert served["mid"] < 25
    assert (study.verdict().leader, study.verdict().state) == ("large", "certified")
    sound(study)


def test_an_arm_that_nobody_may_ask_for_is_open() -> None:
    """Nothing is known of 'mid', so nothing is certified, until it is retired."""
    here = get_storage(None)
    study, served = without_mid(lambda: here, "excluded", 1_000, -1)
    assert served["large"] > 900 and study.verdict().state == "exploring"
    study.retire_arm("mid")
    assert (study.verdict().leader, study.verdict().state) == ("large", "certified")
    sound(study)


@pytest.mark.parametrize("policy", ["etc-cs", "pe-cs", "ts-cs", "ucb-cs"])
@pytest.mark.parametrize("how", ["abandoned", "excluded"])
def test_no_policy_waits_for_a_silent_arm(policy: str, how: str) -> None:
    """Policies of the paper, those that sweep over all arms included, go on without it."""
    study = create_study("s", ARMS, sf.BestReward(0.1), policy=policy, horizon=3_000, seed=1)
    rng, served = random.Random(1), Counter[str]()
    for _ in range(1_500):
        decision = study.ask(available=["small", "large"] if how == "excluded" else None)
        served[decision.arm] += 1
        if decision.arm == "mid":
            study.abandon(decision.id)
        else:
            study.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
    assert served["mid"] < 40
    assert served["large"] > 100 and served["small"] > 5
    sound(study)


def test_a_reference_arm_that_does_not_answer_gets_trials() -> None:
    """Nothing can be proved without it, and still the others serve the traffic."""
    study = create_study("s", ARMS, sf.ReferenceArm("large", 0.1), seed=1)
    rng, served = random.Random(1), Counter[str]()
    for _ in range(600):
        decision = study.ask()
        served[decision.arm] += 1
        if decision.arm == "large":
            study.abandon(decision.id)
        else:
            study.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
    assert served["large"] < 30
    assert study.verdict().state == "exploring"
    sound(study)


def test_an_arm_that_answers_again_is_back() -> None:
    """After an outage of 200 decisions 'mid' is tried, answers, and wins as it should."""
    study = create_study("s", ARMS, sf.BestReward(0.2), seed=1)
    rng, late = random.Random(2), Counter[str]()
    for turn in range(1_500):
        decision = study.ask()
        if decision.arm == "mid" and turn < 200:
            study.abandon(decision.id)
            continue
        late[decision.arm] += turn > 700
        study.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
    assert late["mid"] > 400
    assert not any("rests" in warning for warning in study.status().warnings)
    sound(study)


def test_rare_answers_are_no_silence() -> None:
    """One decision in ten is answered, for every arm: none of them rests for it.

    A run of 66 without an answer has a probability of 0.001 (0.9^66); with some 60 runs ended by an answer per arm, a
    rest or two may happen, and an arm that rests is soon back. With a fixed limit of 4 there would be hundreds.
    """
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    rng = random.Random(3)
    for _ in range(2_000):
        decision = study.ask()
        if rng.random() < 0.1:
            study.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
        else:
            study.abandon(decision.id)
    rests = [event for event in study._ledger.look(lambda view: list(view.events())) if event.kind == "rest"]
    assert len(rests) <= 6
    sound(study)


@pytest.mark.parametrize("policy", ["glr", "ts-cs", "pe-cs"])
def test_a_day_without_rewards_is_spread_over_the_arms(policy: str) -> None:
    """2,000 decisions before the first reward: every arm has its first looks, the dear ones not by the hundreds."""
    arms = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
    study = create_study("s", arms, sf.BestReward(0.1), policy=policy, horizon=100_000, seed=1)
    decisions = study.ask_many(2_000)
    served = Counter(decision.arm for decision in decisions)
    assert set(served) == set(arms)
    if policy == "glr":
        assert all(served[arm] < 200 for arm in "cde")
    rng, means = random.Random(1), {"a": 0.5, "b": 0.6, "c": 0.86, "d": 0.9, "e": 0.92}
    study.tell_many((d.id, float(rng.random() < means[d.arm])) for d in decisions)
    queue = deque(study.ask_many(500))
    for _ in range(2_000):
        decision = queue.popleft()
        study.tell(decision.id, float(rng.random() < means[decision.arm]))
        queue.append(study.ask())
    assert Counter(d.arm for d in queue)["a"] < 250
    sound(study)


def test_what_was_made_up_for_is_not_made_up_for_again(reopen: Callable[[], Storage]) -> None:
    """Ten lost rewards are ten extra pulls, though another process hands out every one of them."""
    study = create_study("s", ARMS, sf.BestReward(0.1), policy="pe-cs", horizon=10_000, storage=reopen(), seed=1)
    first = study.ask()
    lease = [first]
    while (decision := study.ask()).reason == "lease":
        lease.append(decision)
    lost = min(len(lease), 3)
    for decision in lease[:lost]:
        study.abandon(decision.id)
    reasons = []
    for _ in range(12):
        study.close()
        study = load_study("s", reopen())
        reasons.append(study.ask().reason)
    assert reasons.count("extra") == lost
    assert set(reasons) == {"extra", "interim"}
    sound(study)


def test_the_stand_in_is_known_to_be_good() -> None:
    """With the leader excluded, 'new', which nobody tried, gets no more than its exploration."""
    arms, means = {"a": 1.0, "b": 2.0, "new": 2.5, "c": 3.0}, {"a": 0.95, "b": 0.9, "c": 0.9, "new": 0.1}
    study = create_study("s", arms, sf.BestReward(0.1), seed=1)
    rng = random.Random(3)
    for _ in range(300):
        decision = study.ask(exclude=["new"])
        study.tell(decision.id, float(rng.random() < means[decision.arm]))
    served = Counter[str]()
    for _ in range(1_000):
        decision = study.ask(exclude=["a"])
        served[decision.arm] += 1
        study.tell(decision.id, float(rng.random() < means[decision.arm]))
    assert served["new"] < 30 and served["b"] > 900
    sound(study)


@pytest.mark.parametrize("policy", ["glr", "ucb-cs", "pe-cs", "etc-cs", "ts-cs"])
def test_first_looks_that_come_to_nothing_break_no_rule(policy: str) -> None:
    """The first answers of 'mid' are abandoned and its callers ask again; two arms come later. Each gets a look."""
    study = create_study("s", ARMS, sf.BestReward(0.1), policy, horizon=500, seed=1)
    rng, fails = random.Random(1), 3
    for turn in range(60):
        decision = study.ask()
        if decision.arm == "mid" and fails:
            fails -= 1
            study.abandon(decision.id)
            decision = study.ask(exclude=["mid"])
        study.tell(decision.id, float(rng.random() < MEANS.get(decision.arm, 0.5)))
        if turn == 40:
            study.add_arm("new", 2.0)
            study.add_arm("newer", 2.5)
    assert all(arm.pulls for arm in study.status().arms)


def test_nothing_is_certified_while_nobody_answers() -> None:
    """An outage: everything is abandoned. The arm that is left when the others rest is no choice."""
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    for _ in range(80):
        study.abandon(study.ask().id)
    assert study.verdict().state == "exploring"
    rng = random.Random(1)
    for _ in range(400):
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
    assert all(arm.pulls for arm in study.status().arms)
