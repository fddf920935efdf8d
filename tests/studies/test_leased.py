"""A study in a storage whose decisions are taken in advance: nothing waits, nothing is lost, the rest is given back."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import satisfice as sf
from satisfice.errors import InvalidReward, InvalidStudy, StorageError, UnknownDecision
from satisfice.studies.leased import LeasedStudy
from satisfice.studies.sources import Block, Settled, StudySource

ARMS = {"small": 1.0, "large": 9.0}


@pytest.fixture
def study(tmp_path: Path) -> sf.Study:
    return sf.create_study("answers", ARMS, sf.BestReward(0.1), storage=f"sqlite:///{tmp_path}/s.db", seed=1)


def test_every_reward_counts_and_the_rest_is_given_back(study: sf.Study) -> None:
    with study.leased() as leased:
        for _ in range(300):
            decision = leased.ask()
            leased.tell(decision.id, float(decision.arm == "large"), cost=2.0)
        assert leased.flush()
        assert (leased.away, leased.problems) == (0, 0)
    status = study.status()
    assert sum(arm.pulls for arm in status.arms) == 300
    assert sum(arm.pending for arm in status.arms) == 0
    assert status.spending.total == pytest.approx(600.0)
    assert status.verdict.leader == "large"
    assert study.check().agrees


def test_what_can_be_played_is_looked_for_in_the_stock(study: sf.Study) -> None:
    with study.leased() as leased:
        first = leased.ask()
        other = next(arm for arm in ARMS if arm != first.arm)
        stock = leased.stock
        assert leased.ready({"somebody else"}) is None
        assert leased.stock == stock
        found = leased.ready({first.arm, other})
        assert found is None or found.arm in ARMS


def test_a_reward_that_is_refused_does_not_take_others_with_it(study: sf.Study) -> None:
    with study.leased() as leased:
        made = [leased.ask() for _ in range(3)]
        leased.tell(made[0].id, 1.0)
        leased.tell("12345", 1.0)  # nobody was given that one
        leased.tell(made[1].id, 7.0)  # no reward
        leased.abandon(made[2].id)
        assert leased.flush()
        assert leased.problems == 2
    assert sum(arm.pulls for arm in study.status().arms) == 1


def test_an_id_may_be_a_whole_number_and_what_is_none_is_refused_at_once(study: sf.Study) -> None:
    with study.leased() as leased:
        made = [leased.ask() for _ in range(4)]
        leased.tell(int(made[0].id), 1.0)
        leased.abandon(int(made[1].id))
        leased.unused(int(made[2].id))
        wrong: list[Any] = [None, 0, True, 1.5, b"1", "", "\ud800", "7" * 65]
        for number in wrong:
            for call in (lambda n: leased.tell(n, 1.0), leased.abandon, leased.unused):
                with pytest.raises(UnknownDecision, match="is not the id of a decision"):
                    call(number)
        values: list[Any] = [float("nan"), float("inf"), None, "1"]
        for value in values:
            with pytest.raises(InvalidReward, match="it must be a finite number"):
                leased.tell(made[3].id, value)
        with pytest.raises(InvalidReward, match="cost = nan"):
            leased.tell(made[3].id, 1.0, float("nan"))
        leased.tell(made[3].id, 1.0)
        assert leased.flush()
        assert leased.problems == 0
    assert sum(arm.pulls for arm in study.status().arms) == 2
    assert sum(arm.pending for arm in study.status().arms) == 0


def test_what_was_never_handed_out_cannot_be_given_back_and_stops_nothing(study: sf.Study) -> None:
    with study.leased() as leased:
        made = [leased.ask() for _ in range(3)]
        for number in (made[0].id, "12345", "nobody's", made[1].id):
            leased.unused(number)
        leased.tell(made[2].id, 1.0)
        assert leased.flush()
        assert leased.problems == 2
    assert [(arm.pulls, arm.pending) for arm in study.status().arms if arm.pulls or arm.pending] == [(1, 0)]


def test_a_forked_process_begins_with_nothing_of_its_parents(study: sf.Study) -> None:
    with study.leased() as leased:
        first = leased.ask()
        leased.tell(first.id, 1.0)
        assert leased.stock
        read, write = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(60)
            assert leased.stock == 0
            made = leased.ask()
            leased.tell(made.id, 1.0)
            done = leased.flush()
            leased.close()
            os.write(write, f"{made.id} {done}".encode())
            os._exit(0)
        mine = [first.id] + [leased.ask().id for _ in range(5)]
        os.waitpid(child, 0)
        number, said = os.read(read, 100).decode().split()
        os.close(read)
        os.close(write)
        assert said == "True" and number not in mine
        assert leased.flush()
        for other in mine[1:]:
            leased.unused(other)
    assert sum(arm.pulls for arm in study.status().arms) == 2
    assert sum(arm.pending for arm in study.status().arms) == 0
    assert study.check().agrees


class Away(StudySource):
    """A database that can be away."""

    away = False

    def take(self, count: int, seconds: float, unused: Sequence[str], tries: int) -> Block | None:
        if self.away:
            raise RuntimeError("not a word that anybody expects")
        return super().take(count, seconds, unused, tries)

    def settle(self, lines: Sequence[Settled], tries: int) -> int:
        if self.away:
            raise StorageError("away")
        return super().settle(lines, tries)


def test_while_the_database_is_away_the_leader_is_served(study: sf.Study) -> None:
    source = Away(study)
    with LeasedStudy(source, seconds=60.0, most=100, patience=5.0) as leased:
        leased.tell(leased.ask().id, 1.0)
        assert leased.flush()
        source.away = True
        made = [leased.ask() for _ in range(40)]
        assert leased.away > 0 and made[-1].reason == "away" and made[-1].arm in ARMS
        for decision in made:
            leased.tell(decision.id, 1.0)
        assert not leased.flush(timeout=0.2)
        source.away = False
        assert leased.flush()
    assert sum(arm.pulls for arm in study.status().arms) == 41


def test_a_reward_that_is_refused_of_a_decision_that_was_made_meanwhile_stops_nothing(study: sf.Study) -> None:
    source = Away(study)
    with LeasedStudy(source, seconds=60.0, most=100, patience=5.0) as leased:
        leased.ask()
        source.away = True
        made = [leased.ask() for _ in range(30)][-3:]
        for decision, reward in zip(made, (1.0, 7.0, 1.0), strict=True):
            leased.tell(decision.id, reward)
        source.away = False
        assert leased.flush()
        assert leased.problems == 1
    assert sum(arm.pulls for arm in study.status().arms) == 2


def test_close_says_what_is_left_and_tries_again(study: sf.Study) -> None:
    source = Away(study)
    leased = LeasedStudy(source, seconds=60.0, most=100, patience=5.0)
    made = [leased.ask() for _ in range(2)]
    stock = leased.stock
    assert stock
    source.away = True
    for decision in made:
        leased.tell(decision.id, 1.0)
    left = f"what came of 2 decisions, and {stock} decisions that nobody used"
    with pytest.raises(StorageError, match=f"could not be reached for 0.3 seconds: it was not told {left}.*away"):
        leased.close(timeout=0.3)
    source.away = False
    leased.close()
    assert sum(arm.pulls for arm in study.status().arms) == 2
    assert sum(arm.pending for arm in study.status().arms) == 0
    leased.tell(study.ask().id, 1.0)  # of a call that ended after all was closed
    assert leased.flush()
    assert sum(arm.pulls for arm in study.status().arms) == 3


def test_what_cannot_be_given_back_is_given_back_later(study: sf.Study) -> None:
    source = Away(study)
    with LeasedStudy(source, seconds=60.0, most=3, patience=5.0) as leased:
        leased.ask()
        source.away = True
        leased.anew()
        while leased.stock:
            leased.flush(timeout=0.01)
        assert not leased.flush(timeout=0.3)
        source.away = False
        assert leased.flush()
    assert sum(arm.pending for arm in study.status().arms) == 1


def test_each_segment_has_decisions_of_its_own(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/s.db"
    study = sf.create_study(
        "answers", ARMS, sf.BestReward(0.1), storage=place, seed=1, segments=["code", "law"], confidence=0.9
    )
    # What is good enough differs: in "law" only the large one.
    good = {"code": {"small", "large"}, "law": {"large"}}
    for segment in good:
        with study.leased(segment=segment) as leased:
            for _ in range(400):
                decision = leased.ask()
                leased.tell(decision.id, float(decision.arm in good[segment]))
            assert leased.flush()
            assert leased.problems == 0
    log = study.log()
    used = log.filter(log["status"] == "told")
    assert dict(used["segment"].value_counts().iter_rows()) == {"code": 400, "law": 400}
    assert {part.name: part.verdict.leader for part in study.status().segments} == {"code": "small", "law": "large"}
    assert study.check().agrees


def test_a_segment_that_is_not_there_is_refused_and_one_that_is_away_keeps_its_leader(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/s.db"
    study = sf.create_study("answers", ARMS, sf.BestReward(0.1), storage=place, seed=1, segments=["code", "law"])
    for segment in ("medicine", None):
        with study.leased(segment=segment) as leased, pytest.raises(InvalidStudy, match="the segments of the study"):
            leased.ask()
    study.record_many([("large", 1.0, None, None, "law")] * 60 + [("small", 0.0, None, None, "law")] * 60)
    study.record_many([("small", 1.0, None, None, "code")] * 300 + [("large", 1.0, None, None, "code")] * 60)
    source = Away(study, "law")
    with LeasedStudy(source, seconds=60.0, most=100, patience=5.0) as leased:
        leased.ask()
        source.away = True
        made = [leased.ask() for _ in range(100)]
        assert made[-1].reason == "away" and made[-1].arm == "large" == leased.leader
        leased.tell(made[-1].id, 1.0)
        source.away = False
        assert leased.flush()
    last = study.log()[-1]
    assert (last["segment"].item(), last["arm"].item(), last["reward"].item()) == ("law", "large", 1.0)
