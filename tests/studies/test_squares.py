"""What a study keeps of the squares of its rewards: those that its proofs rest on, whatever became of decisions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import satisfice as sf
from satisfice.proofs import against
from satisfice.studies import Study, create_study, load_study
from satisfice.studies.counts import UNIT, UNITS
from satisfice.studies.evidence import Evidence
from satisfice.studies.machine import Machine
from satisfice.studies.records import Event

ARMS = {"mini": 1.0, "mid": 4.0, "max": 10.0}
STARS = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def machine_of(study: Study) -> Machine:
    return study._ledger.look(lambda view: view.machine)


def compare(study: Study) -> None:
    """The sums of squares against those of the log, decision by decision, on [0, 1]."""
    machine, frame = machine_of(study), study.log()
    for i, arm in enumerate(machine.arms):
        rows = [r for r in frame.iter_rows(named=True) if r["arm"] == arm.name and r["reward"] is not None]
        squares = {r["id"]: machine.config.scale(r["reward"]) ** 2 for r in rows}
        since = sum(q for number, q in squares.items() if number > arm.changed)
        sure = sum(q for number, q in squares.items() if arm.changed < number <= machine.frontier.last)
        assert arm.squares / UNITS == pytest.approx(sum(squares.values())), i
        assert arm.sum_squares / UNITS == pytest.approx(since, abs=1e-9), i
        assert arm.sure_squares / UNITS == pytest.approx(sure, abs=1e-9), i
    assert study.check().agrees, study.check()


def test_late_corrected_abandoned_and_lost_rewards_of_stars() -> None:
    """Rewards of 1 to 5 stars, in any order, told again, corrected, abandoned or never."""
    rng = np.random.default_rng(3)
    study = create_study("s", ARMS, sf.BestReward(0.1), seed=1, rewards=(0, 5), confidence=0.95)
    open_ones: list[int] = []
    for t in range(400):
        open_ones.append(study.ask().id)
        if rng.random() < 0.9:
            number = open_ones.pop(int(rng.integers(len(open_ones))))
            if rng.random() < 0.05:
                study.abandon(number)
                if rng.random() < 0.5:
                    study.tell(number, float(rng.choice(STARS)), correct=True)
            else:
                study.tell(number, float(rng.choice(STARS)))
                if rng.random() < 0.1:
                    study.tell(number, float(rng.choice(STARS)), correct=True)
        if t in (100, 399):
            compare(study)
    assert machine_of(study).frontier.last < 400
    # Both samples are tested with their own squares.
    data = Evidence(machine_of(study))
    assert len(data.cases) == 2 and all(case.rated for case in data.cases)
    arm = data.machine.arms[data.order[0]]
    n, m = arm.sure_pulls, arm.sure_total / (UNIT * arm.sure_pulls)
    assert data.cases[0].between[0] == pytest.approx(m - arm.sure_squares / (UNITS * n))
    assert data.cases[1].between[0] == pytest.approx(
        (arm.sum / UNIT - arm.sum_squares / UNITS) / (arm.counted + arm.outstanding)
    )


def test_a_change_begins_anew_and_an_archive_keeps_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    now = [0.0]
    study = create_study("s", ARMS, sf.BestReward(0.1), storage=url, seed=1, clock=lambda: now[0])
    rng = np.random.default_rng(5)

    def serve(count: int, shift: float) -> None:
        for _ in range(count):
            now[0] += 1.0
            decision = study.ask()
            low = shift if decision.arm == "mini" else 0.0
            study.tell(decision.id, float(np.clip(rng.choice([0.5, 0.75, 1.0]) - low, 0.0, 1.0)))

    serve(600, 0.0)
    serve(200, 0.5)
    assert study.status().drifts and machine_of(study).arms[0].changed > 600
    compare(study)
    kept = [(arm.sure_squares, arm.sum_squares, arm.sure_total) for arm in machine_of(study).arms]
    assert study.archive(now[0] - 50.0, tmp_path / "old.parquet") > 700
    assert [(arm.sure_squares, arm.sum_squares, arm.sure_total) for arm in machine_of(study).arms] == kept
    study.repair()
    assert [(arm.sure_squares, arm.sum_squares, arm.sure_total) for arm in machine_of(study).arms] == kept
    assert study.check().agrees
    study.close()
    with load_study("s", url) as again:
        assert [(arm.sure_squares, arm.sum_squares, arm.sure_total) for arm in machine_of(again).arms] == kept


@pytest.mark.parametrize("squares", [None, 300])
def test_an_archive_of_before_counts_what_it_does_not_say_as_coin_flips(squares: int | None) -> None:
    """Of 500 rewards with a sum of 400, 100 with a sum of 50 are of another time; no squares of those are on record."""
    machine = Machine(create_study("s", ARMS, sf.BestReward(0.1)).config)
    counts = {"asked": 500, "pulls": 500, "total": 400 * UNIT, "old_asked": 100, "old_pulls": 100}
    counts["old_total"] = 50 * UNIT
    if squares is not None:
        counts["squares"] = squares * UNITS
    nothing = {"asked": 0, "pulls": 0, "total": 0}
    data = {"through": 500, "handed": 0, "arms": [counts, nothing, nothing], "groups": [{}, {}]}
    machine.happen(Event(1, "archive", {**data, "explored": 0, "corrections": 0}, 0.0))
    arm = machine.arms[0]
    assert (arm.sure_pulls, arm.sure_total) == (400, 350 * UNIT)
    assert arm.sure_squares == arm.sum_squares == 350 * UNITS
    assert arm.squares == (400 if squares is None else squares) * UNITS


def test_ratings_are_certified_with_fewer_rewards_than_flips_of_the_same_means() -> None:
    """Rewards of 0.6 and 0.8 in turn, and 7 of 10 flips that come to 1, against a threshold of 0.6."""
    patterns = {"ratings": [0.6, 0.8], "flips": [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]}
    needed = {}
    for kind, pattern in patterns.items():
        study = create_study("s", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.6), seed=1, confidence=0.95, drift=None)
        for t in range(3_000):
            decision = study.ask()
            study.tell(decision.id, pattern[t % len(pattern)])
            if study.status().verdict.state == "certified":
                needed[kind] = t + 1
                break
        case = study._ledger.look(lambda view: Evidence(view.machine).cases[0])
        assert case.rated == (kind == "ratings")
        # Two arms, 95% of the allowed error for those that were there from the beginning.
        assert study.status().verdict.sure == pytest.approx(1 - 2 / 0.95 * np.exp(against(case, 0, 2)))
    assert needed["ratings"] < 0.4 * needed["flips"]
