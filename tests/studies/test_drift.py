"""Rewards that change: noticed, said, withdrawn, and durable like everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidStudy
from satisfice.studies import create_study, load_study
from satisfice.studies.study import Study

ARMS = {"mini": 1.0, "mid": 3.0, "max": 9.0}


class Clock:
    """A second for every call, from 14:00 on some day (UTC)."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0 - 1_700_000_000.0 % 86_400 + 14 * 3600

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


def serve(
    study: Study, means: Mapping[str, float], count: int, seed: int, until: Callable[[], bool] = lambda: False
) -> int:
    """Ask and tell so often, or until something is so; answers how often."""
    rng = np.random.default_rng(seed)
    for t in range(count):
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < means[decision.arm]))
        if until():
            return t + 1
    return count


def fallen(study: Study, before: int = 3_000) -> int:
    """A study whose leader has fallen from 0.95 to 0.3, up to the alarm; answers after how many decisions it came."""
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, before, seed=1)
    return serve(study, {"mini": 0.3, "mid": 0.96, "max": 0.97}, 200, 2, lambda: bool(study.status().drifts))


def test_a_certified_arm_that_falls_is_noticed_and_no_longer_certified() -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1, clock=Clock())
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 3_000, seed=1)
    assert (study.status().verdict.state, study.status().leader) == ("certified", "mini")
    changed = {"mini": 0.3, "mid": 0.96, "max": 0.97}
    assert serve(study, changed, 200, 2, lambda: bool(study.status().drifts)) <= 50
    status = study.status()
    assert status.verdict.state == "exploring"  # who leads depends on whether the rule has seen the others
    (drift,) = status.drifts
    assert drift.arm == "mini" and abs(drift.decision - 3_001) <= 8
    assert drift.before == pytest.approx(0.95, abs=0.02) and drift.since < 0.6
    assert "rewards of 'mini' changed around 14:0" in str(status) and "0.95 before" in str(status)
    mini = status.arms[0]
    assert mini.interval == (0.0, 1.0) and mini.pulls > 2_900  # all rewards count; the interval is of the new ones
    # The traffic goes where the verdict says, and what is proved then is of the new means.
    served = [study.ask().arm for _ in range(20)]
    assert served.count("mini") <= 5
    serve(study, changed, 3_000, seed=3)
    status = study.status()
    assert status.leader == "mid" and status.arms[0].mean < 0.5
    assert status.arms[0].pulls < 3_200
    assert study.check().agrees


def test_a_refuted_arm_that_rises_is_noticed_where_it_is_played() -> None:
    study = create_study("s", {"mini": 1.0, "max": 9.0}, sf.FixedThreshold(0.8), seed=1, baseline="mini", holdout=0.2)
    serve(study, {"mini": 0.5, "max": 0.9}, 1_500, seed=1)
    assert study.status().arms[0].verdict == "refuted" and study.status().leader == "max"
    serve(study, {"mini": 0.97, "max": 0.9}, 2_000, seed=2)
    status = study.status()
    assert status.leader == "mini" and status.drifts[0].before == pytest.approx(0.5, abs=0.05)
    assert status.arms[0].verdict in ("certified", "leading")


def test_no_alarm_without_a_change_and_none_where_nobody_watches() -> None:
    """The probability of a false alarm is below 1%; the seed is fixed."""
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    serve(study, {"mini": 0.7, "mid": 0.9, "max": 0.95}, 3_000, seed=4)
    assert not study.status().drifts
    blind = create_study("s", ARMS, sf.BestReward(0.1), seed=1, drift=None)
    assert fallen(blind) == 200
    assert blind.status().verdict.state == "certified"
    with pytest.raises(InvalidStudy, match="it is 'watch', 'adapt' or None"):
        create_study("s", ARMS, sf.BestReward(0.1), drift="hope")


def test_kept_in_a_database_and_read_by_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    clock = Clock()
    with create_study("s", ARMS, sf.BestReward(0.1), storage=url, seed=1, clock=clock) as study:
        means = {"mini": 0.95, "mid": 0.96, "max": 0.97}
        rng = np.random.default_rng(1)
        for block in range(24):  # some at a time, so that it does not take long
            decisions = study.ask_many(50)
            if block == 20:
                means["mini"] = 0.3
            study.tell_many([(one.id, float(rng.random() < means[one.arm])) for one in decisions])
            if block == 20:
                # Killed between the reward that makes the alarm and the event that says so.
                study.close()
                study = load_study("s", url, clock=clock)
        status = study.status()
        assert status.leader == "mid" and status.drifts[0].arm == "mini"
        assert study.check().agrees
        study.repair()
        assert study.check().agrees
        assert study.status().drifts == status.drifts and str(study.status()) == str(status)
        other = study.copy("t")
        assert other.check().agrees and other.status().drifts == status.drifts
        before = study.explain(900).status
        assert not before.drifts and before.leader == "mini"
    again = load_study("s", url)
    assert again.status().drifts == status.drifts
    again.close()


def test_late_and_corrected_rewards_count_for_the_time_of_their_decision() -> None:
    clock = Clock()
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1, clock=clock)
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 1_000, seed=1)
    fallen(study, 0)
    drift = study.status().drifts[0]
    # A reward of long ago is corrected: it is not about what is now.
    log = study.log()
    old = log.filter((log["arm"] == "mini") & (log["reward"] == 1.0))["id"][10]
    mean = study.status().arms[0].mean
    assert study.tell(old, 0.0, correct=True)
    status = study.status()
    assert status.arms[0].mean == mean and status.arms[0].interval == (0.0, 1.0)
    assert status.drifts[0].decision == drift.decision
    assert study.check().agrees
    # Decisions that were made before the alarm and are told after it are of the old time.
    study = create_study("t", ARMS, sf.BestReward(0.1), seed=1, clock=clock)
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 1_000, seed=1)
    rng = np.random.default_rng(5)
    waiting = [study.ask() for _ in range(60)]
    minis = [decision for decision in waiting if decision.arm == "mini"]
    assert len(minis) > 50
    for decision in minis[:40]:
        study.tell(decision.id, float(rng.random() < 0.3))
    for decision in waiting:
        if decision.arm != "mini":
            study.tell(decision.id, 1.0)
    study.ask()
    assert study.status().drifts
    known = study.status().drifts[0].since_rewards
    for decision in minis[40:]:
        study.tell(decision.id, 1.0)
    status = study.status()
    assert status.drifts[0].since_rewards == known and status.arms[0].pending <= 1
    assert study.check().agrees


def test_corrections_before_an_alarm_make_none(tmp_path: Path) -> None:
    """Failures that are corrected at once are none, though they are not held against anybody else."""
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 1_000, seed=1)
    for _ in range(200):
        decision = study.ask()
        study.tell(decision.id, 0.0)
        study.tell(decision.id, 1.0, correct=True)
    assert not study.status().drifts and study.status().leader == "mini"
    assert study.check().agrees


def test_an_archive_keeps_what_began_anew(tmp_path: Path) -> None:
    clock = Clock()
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1, clock=clock)
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 1_000, seed=1)
    fallen(study, 0)
    serve(study, {"mini": 0.3, "mid": 0.96, "max": 0.97}, 300, seed=3)
    status = study.status()
    assert study.archive(clock.now - 1.0, tmp_path / "old.parquet") > 1_000
    after = study.status()
    assert after.arms == status.arms and after.drifts == status.drifts
    assert study.check().agrees
    study.repair()
    assert study.check().agrees and study.status().arms == status.arms


def test_a_change_in_one_segment() -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1, segments=["code", "chat"])
    rng = np.random.default_rng(3)

    def go(count: int, code: float) -> None:
        for t in range(count):
            segment = ("code", "chat")[t % 2]
            decision = study.ask(segment=segment)
            mean = {"mini": code if segment == "code" else 0.95, "mid": 0.96, "max": 0.97}[decision.arm]
            study.tell(decision.id, float(rng.random() < mean))

    go(3_000, 0.95)
    assert not study.status().drifts
    go(400, 0.3)
    (drift,) = study.status().drifts
    assert drift.segment == "code" and "rewards of 'mini' in 'code' changed around" in str(drift)
    served = {segment: [study.ask(segment=segment).arm for _ in range(10)] for segment in ("code", "chat")}
    assert served["chat"].count("mini") >= 9 and served["code"].count("mini") <= 2
    assert study.check().agrees


def test_after_an_alarm_other_arms_count_as_fifty_rewards_for_the_rule(tmp_path: Path) -> None:
    """Where one arm has changed, others may have: the rule is less sure of them. Means and intervals stay."""
    url = f"sqlite:///{tmp_path / 's.db'}"
    with create_study("s", ARMS, sf.BestReward(0.1), storage=url, seed=1) as study:
        rng, means = np.random.default_rng(2), {"mini": 0.95, "mid": 0.96, "max": 0.97}
        for arm, count in (("mini", 600), ("mid", 200), ("max", 80)):
            study.record_many([(arm, float(rng.random() < means[arm])) for _ in range(count)])
        known = {arm.name: (arm.pulls, arm.mean, arm.interval) for arm in study.status().arms}
        study.record_many([("mini", float(rng.random() < 0.2)) for _ in range(60)])
        study.ask()
        (drift,) = study.status().drifts
        assert drift.arm == "mini"
        machine = study._ledger.look(lambda view: view.machine)
        pulls = {machine.arms[i].name: int(n) for i, n in zip(machine.order, machine.state.pulls, strict=True)}
        assert pulls["mid"] == pulls["max"] == 50 and pulls["mini"] < 60
        totals = dict(zip(pulls, machine.state.totals.tolist(), strict=True))
        assert totals["mid"] / 50 == pytest.approx(known["mid"][1], abs=1e-9)
        status = {arm.name: (arm.pulls, arm.mean, arm.interval) for arm in study.status().arms}
        assert all(status[name] == known[name] for name in ("mid", "max"))
        # One more counts as one more; a correction of what the rule has forgotten leaves its sums possible.
        study.record("mid", 0.0)
        log = study.log()
        for decision in log.filter(log["arm"] == "max")["id"][:70]:
            study.tell(decision, 0.0, correct=True)
        machine = study._ledger.look(lambda view: view.machine)
        state = machine.state
        assert state.pulls[1] == 51 and 0.0 <= state.totals[2] <= 50.0
        assert study.check().agrees
        study.repair()
        assert study.check().agrees
    with load_study("s", url) as again:
        assert again._ledger.look(lambda view: view.machine).state.pulls.tolist() == state.pulls.tolist()


def test_a_rule_that_buys_proofs_does_not_buy_them_again_after_an_alarm() -> None:
    """What is proved of the arms that have not changed stays proved; the rule, which counts what the proof counts, goes
    on to serve the arm that is. With the others as fifty rewards it bought the proof again, by hundreds of decisions
    for arms that the status called refuted."""
    study = create_study("s", ARMS, sf.BestReward(0.1), "glr(proof=0.05)", seed=1, confidence=0.95)
    rng, means = np.random.default_rng(3), {"mini": 0.7, "mid": 0.6, "max": 0.9}
    for arm, count in (("mini", 800), ("mid", 800), ("max", 2_000)):
        study.record_many([(arm, float(rng.random() < means[arm])) for _ in range(count)])
    assert (study.verdict().state, study.verdict().leader) == ("certified", "max")
    for _ in range(2):  # up to the alarm, and for a proof since then
        study.record_many([("mid", float(rng.random() < 0.2)) for _ in range(90)])
        decision = study.ask()
        study.tell(decision.id, 1.0)
    served = []
    for _ in range(300):
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < {**means, "mid": 0.2}[decision.arm]))
        served.append((decision.arm, study.verdict().state))
    proved = [arm for arm, state in served if state == "certified"]
    assert [drift.arm for drift in study.status().drifts] == ["mid"]
    assert len(proved) > 200 and proved.count("max") > 0.9 * len(proved)
    assert study.check().agrees


def test_an_alarm_of_an_older_release_is_read_as_it_was() -> None:
    """Its event said nothing of other arms, and the rule counted eight rewards since the change."""
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 300, seed=1)
    machine = study._ledger.look(lambda view: view.machine)
    sums = [(arm.seen, arm.seen_total) for arm in machine.arms]
    terms = {"decisions": 300, "since": 280, "around": 0.0, "noticed": 1.0, "before": [200, 0], "after": [20, 0]}
    machine.drift(arm=0, **terms)  # type: ignore[arg-type]
    assert machine.faded == [] and machine.arms[0].seen == 8
    assert [(arm.seen, arm.seen_total) for arm in machine.arms[1:]] == sums[1:]


def test_the_confidence_counts_every_beginning() -> None:
    """An arm that begins anew has the share of one that comes later, and one that comes after it the next."""
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    serve(study, {"mini": 0.95, "mid": 0.96, "max": 0.97}, 1_000, seed=1)
    fallen(study, 0)
    study.add_arm("late", 2.0)
    machine = study._ledger.look(lambda view: view.machine)
    assert [machine.born(i) for i in range(4)] == [1, 0, 0, 2]
    assert sum(machine.share(i) for i in range(4)) < 1.0


def test_adapting_looks_at_arms_that_are_passed_over_and_finds_a_rise(tmp_path: Path) -> None:
    means = {"mini": 0.3, "mid": 0.92, "max": 0.95}
    study = create_study("s", {"mini": 1.0, "mid": 4.0, "max": 10.0}, sf.BestReward(0.1), seed=1, drift="adapt")
    serve(study, means, 2_000, seed=1)
    assert study.status().leader == "mid" and not study.status().drifts
    looks = study.log().filter(study.log()["reason"] == "look")
    assert 0 < len(looks) < 60 and "mini" in set(looks["arm"])
    found = serve(study, {**means, "mini": 0.97}, 3_000, 2, lambda: bool(study.status().drifts))
    assert found < 3_000
    serve(study, {**means, "mini": 0.97}, 300, seed=3)
    assert study.status().leader == "mini" and study.status().drifts[0].arm == "mini"
    assert "have changed" in study.explain(int(looks["id"][0])).sentence
    assert study.check().agrees
    # One that only watches never finds out.
    blind = create_study("t", {"mini": 1.0, "mid": 4.0, "max": 10.0}, sf.BestReward(0.1), seed=1)
    serve(blind, means, 2_000, seed=1)
    assert serve(blind, {**means, "mini": 0.97}, 3_000, 2, lambda: bool(blind.status().drifts)) == 3_000


def test_blocks_of_decisions_end_where_a_look_is_due(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = create_study("s", {"mini": 1.0, "mid": 4.0}, sf.BestReward(0.1), storage=url, seed=1, drift="adapt")
    rng = np.random.default_rng(1)
    means = {"mini": 0.4, "mid": 0.9}
    for _ in range(15):
        decisions = study.ask_many(100)
        study.tell_many([(one.id, float(rng.random() < means[one.arm])) for one in decisions])
    log = study.log()
    assert 3 <= (log["reason"] == "look").sum() <= 60
    study.close()
    study = load_study("s", url)
    assert study.check().agrees
    study.close()


def test_no_arm_is_called_certified_that_the_rule_has_left_before_an_alarm() -> None:
    """A refuted arm rises and is found out by the rule itself, with too few rewards for an alarm: while all traffic
    goes there, the status does not go on saying that the other one is the right choice."""
    study = create_study("s", {"a": 0.1, "b": 0.4, "c": 1.0}, sf.BestReward(0.1), seed=9, confidence=0.95)
    rng, told = np.random.default_rng(9), []
    for t in range(7_750):
        means = {"a": 0.6 if t < 4_000 else 0.97, "b": 0.9, "c": 0.95}
        decision = study.ask()
        study.tell(decision.id, float(rng.random() < means[decision.arm]))
        if t >= 7_600 and t % 5 == 0:
            verdict = study.verdict()
            told.append((verdict.state, verdict.leader, verdict.sentence, [line.arm for line in verdict.refuted]))
    doubted = [line for line in told if "was proved after" in line[2]]
    assert doubted and "That 'b' is the one was proved" in doubted[0][2]
    for state, leader, _, refuted in doubted:
        assert state == "exploring" and leader == "a" and "a" not in refuted
    assert study.check().agrees
