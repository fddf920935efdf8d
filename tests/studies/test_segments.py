"""Studies with segments: a verdict for each, evidence shared, one log, and nothing that a name or a crash can break."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import satisfice as sf
from satisfice.errors import InvalidStudy
from satisfice.studies import Storage, Study, create_study, load_study
from satisfice.studies.evidence import Evidence
from satisfice.studies.machine import Machine

ARMS = {"small": 1.0, "large": 10.0}
MEANS = {"code": {"small": 0.9, "large": 0.92}, "law": {"small": 0.3, "large": 0.9}}
MEANS |= dict.fromkeys(("news", *(f"law {i}" for i in range(8))), MEANS["law"])
MEANS |= {name: {"small": 0.6, "large": 0.9} for name in ("mail", *(f"mail {i}" for i in range(8)))}
HOSTILE = [
    "'; DROP TABLE satisfice_decisions; --",
    "../../etc/passwd",
    "\U0001f600" * 50,
    "a\nb",
    "segment",
    '{"x": 1}',
]


def play(study: Study, count: int, seed: int = 1, segments: tuple[str, ...] = ("code", "law")) -> None:
    """Ask and tell, with rewards of `MEANS`."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        segment = segments[rng.integers(len(segments))]
        decision = study.ask(segment=segment)
        assert decision.segment == segment
        study.tell(decision.id, float(rng.random() < MEANS[segment][decision.arm]))


def machine_of(study: Study) -> Machine:
    """The state of a study."""
    return study._ledger.look(lambda view: view.machine)


def test_every_segment_has_its_own_winner() -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), segments=["code", "law"], seed=1)
    play(study, 3000)
    code, law = study.status().segments
    # The cheap arm was not paid for where it is bad, nor the dear one where it is not needed.
    assert law.pulls["small"] < 200 and code.pulls["large"] < 200
    study.record_many([("small", float(i % 10 < 3), None, None, "law") for i in range(100)])
    status = study.status()
    code, law = status.segments
    assert (code.verdict.leader, law.verdict.leader) == ("small", "large")
    assert law.verdict.state == "certified" and {"small"} == {line.arm for line in law.verdict.refuted}
    assert code.decisions + law.decisions == status.spending.decisions == 3100
    assert sum(arm.pulls for arm in status.arms) == 3100 and code.verdict.state != "certified"
    assert "'law'" in str(status) and ("has its own winner" in str(status))
    assert status.to_dict()["segments"][1]["verdict"]["leader"] == "large"  # type: ignore[index]


def test_a_segment_without_rewards_is_as_its_kin() -> None:
    kin = tuple(f"law {i}" for i in range(8))
    study = create_study("s", ARMS, sf.BestReward(0.1), segments=20, seed=1)
    play(study, 800, segments=kin)
    study.ask(segment="news")
    news = study.status().segments[-1]
    assert (news.name, news.rewards, news.verdict.leader, news.follows) == ("news", 0, "large", True)
    assert "without a reward of its own yet" in news.sentence


def test_a_segment_looks_less_where_its_kin_have_looked() -> None:
    """In the median of six studies each: 4 pulls of the bad arm after its kin, and 44 alone. Had both one law, a
    median four times the other would be seen in about one of ten; where they are so far apart, nearly always."""
    kin = tuple(f"mail {i}" for i in range(8))
    counts: dict[str, list[int]] = {"after": [], "alone": []}
    for seed in range(6):
        for how, first in (("after", 1600), ("alone", 0)):
            study = create_study("s", ARMS, sf.BestReward(0.1), segments=20, seed=seed)
            play(study, first, seed, kin)
            play(study, 200, seed + 2, ("mail",))
            counts[how].append(study.status().segments[-1].pulls["small"])
    assert 4 * np.median(counts["after"]) < np.median(counts["alone"]), counts


def test_what_is_borrowed_proves_nothing() -> None:
    kin = tuple(f"law {i}" for i in range(4))
    study = create_study("s", ARMS, sf.BestReward(0.1), segments=[*kin, "news"], seed=1)
    play(study, 2000, segments=kin)
    study.ask(segment="news")
    machine = machine_of(study)
    news = machine.parts[-1]
    assert not news.facts and study.status().segments[-1].verdict.sure == 0.0
    assert news.state.pulls.sum() > 0  # the rule counts what is borrowed,
    data = Evidence(news)  # and a proof does not
    assert data.interval(0) == (0.0, 1.0) and not any(data.cases[0].weights)


def test_the_error_is_shared_by_all_segments_there_may_be() -> None:
    """1 - 0.95 for all together: a tenth of it each, whoever comes and when."""
    many = create_study("s", ARMS, sf.BestReward(0.1), segments=9, seed=1)
    many.ask(segment="code")
    one = create_study("s", ARMS, sf.BestReward(0.1), seed=1)
    for part in machine_of(many).parts:
        assert Evidence(part).delta == pytest.approx(Evidence(machine_of(one)).delta / 10)


def test_unknown_segments() -> None:
    closed = create_study("s", ARMS, sf.BestReward(0.1), segments=["code", "law"])
    for segment in ("news", None):
        with pytest.raises(InvalidStudy, match="the segments of the study are 'code', 'law'"):
            closed.ask(segment=segment)
    with pytest.raises(InvalidStudy, match="has no segments"):
        create_study("t", ARMS, sf.BestReward(0.1)).ask(segment="code")
    few = create_study("u", ARMS, sf.BestReward(0.1), segments=2)
    names = [few.ask(segment=name).segment for name in ("code", None, "law", "news", "code", "other")]
    assert names == ["code", "other", "law", "other", "code", "other"]
    with pytest.raises(InvalidStudy, match="1 to 200 characters"):
        few.ask(segment="")


@pytest.mark.parametrize("wrong", ["code", 0, -1, 1001, [], ["a", "a"], [""], ["a", 1], {"a": 1}, True, 2.5])
def test_wrong_segments(wrong: object) -> None:
    with pytest.raises(InvalidStudy, match="segment"):
        create_study("s", ARMS, sf.BestReward(0.1), segments=wrong)  # type: ignore[arg-type]


def test_hostile_names(reopen: Callable[[], Storage], tmp_path: Path) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=reopen(), segments=len(HOSTILE))
    for name in HOSTILE:
        decision = study.ask(segment=name)
        assert decision.segment == name
        study.tell(decision.id, 1.0)
        assert study.explain(decision.id).segment == name
    again = load_study("s", reopen())
    assert [segment.name for segment in again.status().segments] == ["other", *HOSTILE]
    assert again.log()["segment"].to_list() == HOSTILE
    assert json.loads(json.dumps(again.status().to_dict()))["segments"][1]["name"] == HOSTILE[0]
    assert again.check().agrees, again.check()
    assert pl.read_parquet(again.export(tmp_path / "log.parquet"))["segment"].to_list() == HOSTILE


def test_one_log_for_all(reopen: Callable[[], Storage], tmp_path: Path) -> None:
    """Changes of arms, corrections, an archive, a repair and a second process: the log makes the state."""
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=reopen(), segments=3, seed=1)
    play(study, 60)
    study.set_cost("large", 9.0)
    study.add_arm("medium", 4.0)
    late = study.ask(segment="news")
    with pytest.raises(InvalidStudy):
        study.add_arm("medium", 5.0)
    study.tell(late.id, 1.0)
    study.tell(late.id, 0.0, correct=True)
    study.abandon(study.ask(segment="law").id)
    study.retire_arm("medium")
    study.record("small", 1.0, segment="code", key="k")
    study.record_many([("small", 1.0, None, "k", "code"), ("large", 0.0, None, None, "law")])
    other = load_study("s", reopen())
    assert other.check().agrees and study.check().agrees, other.check()
    assert str(other.status().to_dict()) == str(study.status().to_dict())
    parts = machine_of(other).parts
    assert not parts[0].decisions and sum(part.decisions for part in parts) == 64
    assert sum(part.would(0) for part in parts) == pytest.approx(machine_of(other).would(0))
    assert sum(part.would(1) for part in parts) == pytest.approx(machine_of(other).would(1))
    assert study.archive(2e10, tmp_path / "old.parquet") == 64
    kept = [[(arm.name, arm.pulls, arm.sure_pulls, arm.total) for arm in part.arms] for part in parts]
    study.repair()
    assert study.check().agrees, study.check()
    after = machine_of(study).parts
    assert [[(arm.name, arm.pulls, arm.sure_pulls, arm.total) for arm in part.arms] for part in after] == kept
    study.tell(study.ask(segment="law").id, 1.0)
    assert study.check().agrees


def test_subjects_sessions_and_keys_have_a_segment() -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), segments=["code", "law"])
    first = study.ask(subject="Ada", segment="code")
    assert study.ask(subject="Ada", segment="code").id == first.id
    assert study.ask(subject="Ada", segment="law").id != first.id
    assert study.ask(key="k", segment="law").id == study.ask(key="k", segment="law").id
    block = study.ask_many(5, segment="law")
    assert {decision.segment for decision in block} == {"law"}
    chat = study.ask(session="chat", segment="law")
    assert study.ask(session="chat", segment="law").arm == chat.arm


def test_a_correction_is_of_its_own_segment() -> None:
    study = create_study("s", ARMS, sf.FixedThreshold(0.5), segments=["code", "law"], seed=1)
    play(study, 400)
    facts = machine_of(study).parts[1].facts
    decision = study.ask(segment="code")
    study.tell(decision.id, 1.0)
    study.tell(decision.id, 0.0, correct=True)
    study.ask(segment="law")
    assert machine_of(study).parts[1].facts[: len(facts)] == facts
    assert [part.corrections for part in machine_of(study).parts] == [1, 0]


def test_replay_with_segments() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(4000):
        segment, arm = ("code", "law")[rng.integers(2)], ("small", "large")[rng.integers(2)]
        rows.append((segment, arm, ARMS[arm], float(rng.random() < MEANS[segment][arm])))
    log = pl.DataFrame(rows, schema=["segment", "arm", "cost", "reward"], orient="row")
    done = sf.replay("glr", log, setting=sf.BestReward(0.1))
    assert [(line.name, line.verdict.leader) for line in sorted(done.status.segments, key=lambda s: s.name)] == [
        ("code", "small"),
        ("law", "large"),
    ]
    assert len(sf.replay("glr", log.drop("segment"), setting=sf.BestReward(0.1)).status.segments) == 0


def test_a_change_in_one_segment() -> None:
    """The cheap arm falls from 0.9 to 0.2 in one of two segments: it is noticed there, and the other goes on."""
    study = create_study("s", ARMS, sf.BestReward(0.1), segments=["code", "news"], seed=1)
    rng = np.random.default_rng(3)

    def serve(count: int, means: dict[str, dict[str, float]]) -> list[tuple[str | None, str]]:
        made = []
        for i in range(count):
            decision = study.ask(segment=("code", "news")[i % 2])
            study.tell(decision.id, float(rng.random() < means[str(decision.segment)][decision.arm]))
            made.append((decision.segment, decision.arm))
        return made

    fine = MEANS["code"]
    serve(1200, {"code": fine, "news": fine})
    assert [line.verdict.leader for line in study.status().segments] == ["small", "small"]
    before = study.status().segments[0]
    late = serve(1200, {"code": {"small": 0.2, "large": 0.92}, "news": fine})
    status = study.status()
    assert [line.verdict.leader for line in status.segments] == ["large", "small"]
    assert {drift.segment for drift in status.drifts} == {"code"}
    assert before.rewards == 600 and study.check().agrees, study.check()
    tail = late[600:]
    assert sum(arm == "large" for segment, arm in tail if segment == "code") > 0.9 * len(tail) / 2
    assert sum(arm == "small" for segment, arm in tail if segment == "news") > 0.9 * len(tail) / 2


def test_a_process_that_is_killed(sqlite_url: str) -> None:
    """A process dies while it asks and tells in many segments: the log makes the state, and the study goes on."""
    create_study("s", ARMS, sf.BestReward(0.1), storage=sqlite_url, segments=30, seed=1).close()
    code = (
        "import sys; from satisfice.studies import load_study\n"
        "study = load_study('s', sys.argv[1])\n"
        "for i in range(10**6):\n"
        "    study.tell(study.ask(segment=f'kind {i % 40}').id, float(i % 3 > 0))\n"
        "    print(i, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, sqlite_url], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = -1
    for line in process.stdout:
        told = int(line)
        if told >= 150:
            process.kill()
            break
    process.communicate()
    study = load_study("s", sqlite_url)
    assert study.check().agrees, study.check()
    status = study.status()
    assert sum(arm.pulls for arm in status.arms) >= told + 1
    assert len(status.segments) == 31 and status.segments[0].rewards > 0  # those beyond the thirtieth are "other"
    study.tell(study.ask(segment="kind 3").id, 1.0)
    assert study.check().agrees


def test_without_a_horizon_a_segment_plans_for_those_it_is_news_to() -> None:
    """Its own rewards and one more, and those of the others: all of them while one arm is unknown to all, half of them
    when 20 pulls of every arm are known."""
    study = create_study("s", ARMS, sf.BestReward(0.1), segments=["code", "law"], seed=1)
    study.record_many([("small", 1.0, None, None, "law")] * 60)
    study.record_many([("small", 1.0, None, None, "code")] * 10)

    def planned() -> int:
        machine = machine_of(study)
        machine.parts[0].decide(0.0)
        return machine.parts[0].problem.horizon - machine.parts[0].t

    assert planned() == 11 + 60
    study.record_many([("large", 1.0, None, None, "law")] * 20)
    assert planned() == 11 + 40
    known = create_study("t", ARMS, sf.BestReward(0.1), segments=["code", "law"], seed=1, horizon=1_000)
    machine = machine_of(known)
    machine.parts[0].decide(0.0)
    assert machine.parts[0].problem.horizon == 500


def test_several_archives_of_a_study_with_segments(reopen: Callable[[], Storage], tmp_path: Path) -> None:
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=reopen(), segments=["code", "law"], seed=1)
    for number in range(3):
        play(study, 40, seed=number)
        decisions = [segment.decisions for segment in study.status().segments]
        assert study.archive(time.time() + 1.0, tmp_path / f"{number}.parquet") == 40
        assert study.check().agrees
        study.repair()
        assert [segment.decisions for segment in study.status().segments] == decisions
        assert sum(decisions) == 40 * (number + 1)
