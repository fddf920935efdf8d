"""How a study went over time: few points, the same in every storage; what happened, and who did it."""

from __future__ import annotations

import numpy as np
import pytest

import satisfice as sf
from satisfice.statistics import interval
from satisfice.studies import Storage, Study, create_study, get_storage, load_study
from satisfice.studies.changer import signed
from satisfice.studies.evidence import Evidence
from satisfice.studies.series import DENSE, ArmPoint, Point, bands, due, stride
from satisfice.studies.serving import NOBODY
from satisfice.studies.storages.base import Transaction, View

ARMS = {"small": 1.0, "middle": 2.0, "large": 9.0}


def series(study: Study) -> list[Point]:
    return study._look(lambda view: view.series())


def play(study: Study, decisions: int, at_once: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    while decisions > 0:
        made = study.ask_many(min(at_once, decisions))
        study.tell_many({decision.id: float(rng.random() < 0.7) for decision in made})
        decisions -= at_once


@pytest.fixture(params=[None, "sqlite_url", "postgresql_url"])
def storage(request: pytest.FixtureRequest) -> Storage:
    return get_storage(None if request.param is None else request.getfixturevalue(request.param))


def test_points_are_few_in_order_and_end_with_the_present(storage: Storage) -> None:
    study = create_study("demo", ARMS, sf.BestReward(0.1), storage=storage, seed=1)
    play(study, 64, 1)
    points = series(study)
    assert [point.place for point in points] == [0, 16, 32, 48, 64]
    assert [point.decisions for point in points] == [1, 16, 32, 48, 64]
    assert all(sum(arm.asked for arm in point.arms) == point.decisions for point in points)
    play(study, 12_000, 400)
    points = series(study)
    assert 25 < len(points) <= 2 * DENSE + 1
    assert all(point.place % stride(12_064) == 0 for point in points)
    last, status = points[-1], study.status()
    assert 12_064 - last.decisions <= stride(12_064) + 400
    assert last.arms[0].spent <= status.arms[0].spent and last.arms[2].would == pytest.approx(9.0 * last.decisions)
    copied = study.copy("other")
    assert series(copied) == points
    sf.delete_study("demo", storage)
    again = create_study("demo", ARMS, sf.BestReward(0.1), storage=storage)
    assert series(again) == []


def test_a_point_that_was_rolled_back_is_not_kept(storage: Storage) -> None:
    study = create_study("demo", ARMS, sf.BestReward(0.1), storage=storage, seed=1)

    def broken(tx: Transaction) -> None:
        study._ask(tx, 40, NOBODY, (), None)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        study._run(broken)
    assert series(study) == []


def test_the_grid_is_the_same_for_everybody() -> None:
    """However decisions are grouped, and whoever counts them, each place has one point at most, and none is missed."""
    rng = np.random.default_rng(0)
    for most in (1, 7, 100):
        places, now = [], 0
        while now < 5_000:
            after = now + int(rng.integers(1, most + 1))
            place = due(now, after)
            places += [] if place is None else [place]
            now = after
        assert len(set(places)) == len(places)
        if most < 16:
            assert set(range(16, 2_000, 16)) <= set(places)


def test_bands_are_the_intervals_of_a_status(storage: Storage) -> None:
    study = create_study("demo", ARMS, sf.BestReward(0.1), storage=storage, seed=1)
    play(study, 200, 1)
    study.ask_many(8)

    def look(view: View) -> None:
        evidence, points = Evidence(view.machine), view.series()
        assert points[-1].decisions == 208
        low, high = bands(points, [evidence.allowed(arm) for arm in range(3)])
        assert np.all(low <= high)
        for arm in range(3):
            assert (low[arm, -1], high[arm, -1]) == pytest.approx(evidence.interval(evidence.rank[arm]), abs=1e-9)

    study._look(look)


def test_bands_at_the_ends() -> None:
    """No reward, only losses, only wins: as `interval` says."""
    cases = [(0, 0.0), (5, 0.0), (5, 5.0), (1000, 1000.0), (1000, 3.5)]
    points = [Point(0, 1, 0.0, (ArmPoint(n, n, 0, total, n, total, 0.0, 0.0),)) for n, total in cases]
    low, high = bands(points, [0.01])
    for k, (n, total) in enumerate(cases):
        assert (low[0, k], high[0, k]) == pytest.approx(interval(n, total / max(n, 1), 0.01), abs=1e-9)


def test_what_happened_newest_first_and_who_did_it(storage: Storage) -> None:
    study = create_study("demo", ARMS, sf.BestReward(0.1), storage=storage, baseline="large")
    play(study, 30, 10)
    with signed("Ada (sf_abcd)"):
        study.set_cost("large", 8.0)
        study.pause()
    study.resume()

    def look(view: View) -> None:
        found = [event for event in view.changes() if event.kind != "judge"]
        assert [event.kind for event in found] == ["resume", "pause", "set_cost"]
        assert [event.data.get("by") for event in found] == [None, "Ada (sf_abcd)", "Ada (sf_abcd)"]
        assert [event.kind for event in view.changes(found[0].seq, 1)] == ["pause"]

    study._look(look)
    assert study.check().agrees, "an event with a name is followed as one without"
    again = load_study("demo", storage)
    assert again.arms["large"] == 8.0


def test_the_decisions_of_one_subject_or_session(storage: Storage) -> None:
    study = create_study("demo", ARMS, sf.BestReward(0.1), storage=storage)
    made = [study.ask(session=name) for name in ("a", "b", "a", "a")]
    study.tell(study.ask(subject="me").id, 1.0)

    def look(view: View) -> None:
        assert [row.id for row in view.whose("session", "a")] == [made[3].id, made[2].id, made[0].id]
        assert [row.id for row in view.whose("session", "a", made[3].id, 1)] == [made[2].id]
        assert [row.outcome for row in view.whose("subject", "me")] == ["told"]
        assert view.whose("subject", "you") == []

    study._look(look)
