"""Common random numbers: a stretch of an arm's pulls has one sum, however it is cut, and it has the ordinary law."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats as scipy_stats

import satisfice as sf
from satisfice.errors import InvalidRun
from satisfice.simulation.common import CommonWorld, common_world, draw_common, hypergeometric
from satisfice.simulation.world import draw, make_world
from stats import TESTS_PER_COLUMN, p_values

CUTS = (1, 2, 5, 20, 1, 9)  # of the first 38 pulls
ORDER = np.array([1, 0])
STARS = {"values": [0.0, 0.3, 1.0], "probabilities": [[0.5, 0.3, 0.2], [0.1, 0.0, 0.9]]}
WORLDS = {
    "bernoulli": sf.Instance(costs=[2, 1], means=[0.3, 0.9]),
    "gaussian": sf.Instance(costs=[2, 1], means=[0.3, 7.0], reward="gaussian", sigma=0.5),
    "categorical": sf.Instance(costs=[2, 1], reward="categorical", **STARS),  # type: ignore[arg-type]
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(over="ignore"):
        yield


def world(name: str, run: int, order: np.ndarray = ORDER) -> CommonWorld:
    return common_world(make_world(WORLDS[name], order, squares=True), order, seed=4, run=run, horizon=64)


def stretches(one: CommonWorld, arm: int, cuts: tuple[int, ...]) -> list[tuple[float, float]]:
    rng = np.random.default_rng(0)
    return [draw_common(one, arm, pulls, rng) for pulls in cuts]


@pytest.mark.parametrize("name", WORLDS)
def test_a_stretch_has_one_sum_however_it_is_cut(name: str) -> None:
    for run in range(20):
        whole = np.array(stretches(world(name, run), 0, CUTS))
        single = np.array(stretches(world(name, run), 0, (1,) * 38))
        starts = np.cumsum((0, *CUTS[:-1]))
        assert np.add.reduceat(single, starts) == pytest.approx(whole, abs=1e-9)
        # The other policy has the arms in another order, and pulls both in turn.
        turned, other = world(name, run, ORDER[::-1]), []
        for _ in range(38):
            stretches(turned, 0, (1,))
            other += stretches(turned, 1, (1,))
        assert np.array(other) == pytest.approx(single, abs=1e-9)


@pytest.mark.parametrize("name", WORLDS)
def test_stretches_have_the_law_of_ordinary_draws(name: str) -> None:
    runs, rng, ordinary = 1500, np.random.default_rng(1), make_world(WORLDS[name], ORDER, squares=True)
    found = np.array([stretches(world(name, run), 1, CUTS) for run in range(runs)]).reshape(runs, -1)
    plain = np.array([[draw(ordinary, 1, pulls, rng) for pulls in CUTS] for _ in range(4 * runs)]).reshape(4 * runs, -1)
    # Sums and squares of the stretches, and what shows dependence: sums of neighbours.
    found, plain = (np.hstack([x, x[:, :-2:2] + x[:, 2::2]]) for x in (found, plain))
    worst = min(p for k in range(found.shape[1]) for p in p_values(found[:, k], plain[:, k]))
    assert worst > 1e-4 / (TESTS_PER_COLUMN * found.shape[1])  # fails by chance in less than 1 of 10,000


@pytest.mark.parametrize(("good", "bad", "sample"), [(3, 5, 4), (10, 6, 8), (1, 15, 8), (300, 212, 256)])
def test_hypergeometric(good: int, bad: int, sample: int) -> None:
    rng, law = np.random.default_rng(2), scipy_stats.hypergeom(good + bad, good, sample)
    values, counts = np.unique([hypergeometric(good, bad, sample, rng) for _ in range(3000)], return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    common = [x for x in range(sample + 1) if law.pmf(x) * 3000 >= 5]
    observed = [seen.pop(x, 0) for x in common]
    expected = [law.pmf(x) * 3000 for x in common]
    # The rest as one class; a chi-square test at 1 in 10,000.
    observed, expected = [*observed, sum(seen.values())], [*expected, 3000 - sum(expected) + 1e-9]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True) if e > 1)
    assert statistic < scipy_stats.chi2.ppf(1 - 1e-4, len(common))
    assert all(law.pmf(x) > 0 for x in values)


def test_policies_share_rewards_and_each_keeps_its_law() -> None:
    toy, best = sf.load_instance("toy:0.78"), sf.BestReward(0.1)
    one, other = both = ("pe-cs", "pe-cs(kappa=5)")
    common = sf.simulate(toy, best, both, horizon=20_000, runs=400, common=True, workers=1)
    ordinary = sf.simulate(toy, best, both, horizon=20_000, runs=2000, seed=1, workers=1)
    for label in both:
        worst = min(p for k in range(4) for p in p_values(common[label].pulls[:, k], ordinary[label].pulls[:, k]))
        assert worst > 1e-4 / (4 * TESTS_PER_COLUMN)  # fails by chance in less than 1 of 10,000
    found = common.compare(one, other)
    assert found.common and found.width < 0.5 and "same rewards, interval 0." in str(found)
    apart = ordinary.compare(one, other)
    assert not apart.common and apart.width == pytest.approx(1, abs=0.1)
    # Alone, in other company, in plain Python: the same runs.
    alone = sf.simulate(toy, best, both[1], horizon=20_000, runs=3, common=True, compiled=False)
    assert alone[both[1]].pulls.tolist() == common[both[1]].pulls[:3].tolist()
    assert alone[both[1]].terms.to_dict()["common"] is True and "common" not in ordinary[both[0]].terms.to_dict()


def test_what_cannot_be_shared_is_refused() -> None:
    toy = sf.load_instance("toy:0.78")
    with pytest.raises(InvalidRun, match=r"exact up to a horizon of 1,000,000,000; this one is 2,000,000,000"):
        sf.simulate(toy, sf.BestReward(0.1), "etc-cs", horizon=2e9, common=True)
    with pytest.raises(InvalidRun, match="the means change with time"):
        sf.simulate(toy.changing([(50, [0.9] * 4)]), sf.BestReward(0.1), "etc-cs", horizon=100, common=True)
