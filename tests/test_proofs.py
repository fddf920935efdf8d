"""What rewards prove: by hand, against a literal twin, and how often it is wrong at any time."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satisfice.cases import in_lists, listed_case
from satisfice.proofs import (
    RIVALS,
    Case,
    _hopeless_by_gap,
    against,
    certified,
    equal_levels,
    fixed,
    hopeless,
    intervals,
    judge,
    level,
    make_case,
    missing,
    needed,
    opponents,
    pair,
    refuter,
    risk,
    rivals,
)
from satisfice.statistics import evidence, interval, kl, penalty


def case(costs: list[float], pulls: list[int], totals: list[float], scale: float = 0.9, **against: Any) -> Case:
    reference = int(against.pop("reference", -1))
    return make_case(np.array(costs), np.array(pulls), np.array(totals, float), scale, reference, **against)


def nobody(of: Case) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.zeros(len(of.costs), dtype=np.bool_)


@given(sums=st.lists(st.tuples(st.integers(0, 3000), st.floats(0, 1), st.integers(0, 5)), min_size=2, max_size=30))
def test_a_case_in_lists_is_the_case_in_arrays(sums: list[tuple[int, float, int]]) -> None:
    pulls, means, pending = map(np.array, zip(*sums, strict=True))
    costs, totals = np.arange(len(sums), dtype=float), pulls * means.round(2)
    arrays = make_case(costs, pulls, totals, 0.9, pending=pending, squares=0.8 * totals)
    lists, levels, out = in_lists(arrays), np.full(len(sums), 4.0), nobody(arrays)
    nats, none = cast(Any, levels.tolist()), cast(Any, out.tolist())
    asked = rivals(arrays, levels)
    for i in range(len(sums)):
        assert refuter(lists, nats, i, asked) == refuter(arrays, levels, i, asked)
    assert certified(lists, nats, none) == certified(arrays, levels, out)


@given(sums=st.lists(st.tuples(st.integers(0, 3000), st.floats(0, 1), st.integers(0, 5)), min_size=2, max_size=30))
def test_a_case_that_is_made_in_lists_is_one_that_is_made_in_arrays(sums: list[tuple[int, float, int]]) -> None:
    pulls, means, pending = map(np.array, zip(*sums, strict=True))
    costs, totals = np.arange(len(sums), dtype=float), pulls * means.round(2)
    for squares in (totals, 0.8 * totals):
        arrays = make_case(costs, pulls, totals, 0.9, pending=pending, squares=squares)
        sums_of_each = pulls.tolist(), totals.tolist(), squares.tolist(), pending.tolist()
        lists = listed_case(costs.tolist(), *sums_of_each, (0.9, -1, math.nan))
        assert lists[:-2] == in_lists(arrays)[:-2]
        levels = np.linspace(1.0, 9.0, len(sums))
        ours, theirs = judge(lists, levels.tolist()), judge(arrays, levels)
        assert (ours.certified, ours.refuted_by.tolist()) == (theirs.certified, theirs.refuted_by.tolist())
        # Nobody who is passed over at once could have been refuted.
        everyone = rivals(arrays, levels)
        assert theirs.refuted_by.tolist() == [refuter(arrays, levels, i, everyone) for i in range(len(sums))]


def test_evidence_less_what_looking_at_any_time_costs() -> None:
    # Against a threshold: 100 kl(0.5, 0.8) - penalty. kl = 0.5 log(0.5 / 0.8) + 0.5 log(0.5 / 0.2) = 0.2231.
    assert kl(0.5, 0.8) == pytest.approx(0.5 * math.log(0.625) + 0.5 * math.log(2.5))
    assert fixed(100, 50, 0.8) == pytest.approx(100 * kl(0.5, 0.8) - penalty(100, 0.5))
    assert fixed(100, 90, 0.8) == pytest.approx(-(100 * kl(0.9, 0.8) - penalty(100, 0.9)))
    assert fixed(100, 80, 0.8) == 0.0
    # Gaussian: n^2 / (n + 1) pulls count, penalty log(1 + n) / 2.
    assert fixed(4, 20, 6.0, sigma=1.0) == pytest.approx(3.2 / 2 - math.log(5) / 2)
    # A pair, from either side.
    z = evidence(100, 0.5, 200, 0.9, 0.9) - penalty(100, 0.5) - penalty(200, 0.9)
    assert pair(100, 50, 200, 180, 0.9) == pytest.approx(z)
    assert pair(100, 90, 100, 50, 0.9) < 0
    # Nothing is proved of an arm without pulls, whatever the threshold.
    assert fixed(0, 0, 1.0) == 0.0
    assert pair(0, 0, 100, 50, 0.9) == 0.0
    # But an arm that is surely above 1 - alpha is feasible against one that was never pulled: nothing is above 1.
    assert pair(1000, 950, 0, 0, 0.5) < -100


def test_levels_by_hand() -> None:
    # Four arms make six pairs, three pairs with the reference arm, four with a fixed threshold; one arm makes none.
    nothing: list[int] = [0] * 4
    costs = [1.0, 2.0, 3.0, 4.0]
    for data, pairs in (
        (case(costs, nothing, [0.0] * 4), 6),
        (case(costs, nothing, [0.0] * 4, reference=3), 3),
        (case(costs, nothing, [0.0] * 4, mu0=0.5), 4),
        (case([1.0], [0], [0.0]), 1),
    ):
        assert level(data, 0.05) == pytest.approx(math.log(pairs / 0.05))


def test_the_later_arm_of_a_pair_sets_the_level() -> None:
    levels = np.array([3.0, 3.0, 5.0])
    assert [needed(levels, 0, 1), needed(levels, 2, 1), needed(levels, 1, 2), needed(levels, 2, 3)] == [3, 5, 5, 5]
    # 8.67 nats against arm 0: enough for a level of 8, not for one of 9, whichever of the two it is.
    data = case([1.0, 2.0], [100, 100], [50, 90])
    assert refuter(data, np.array([8.0, 8.0]), 0, np.arange(2)) == 1
    assert refuter(data, np.array([9.0, 8.0]), 0, np.arange(2)) == -1
    assert refuter(data, np.array([8.0, 9.0]), 0, np.arange(2)) == -1
    # 22.6 nats for arm 1: certified, once arm 0 is refuted.
    assert certified(data, np.array([8.0, 8.0]), nobody(data)) == 1
    assert certified(data, np.array([8.0, 9.0]), nobody(data)) == -1


def test_who_is_asked() -> None:
    costs, pulls, totals = [1.0, 2.0, 3.0], [10, 10, 10], [5.0, 5.0, 5.0]
    assert opponents(case(costs, pulls, totals)) == (0, 3)
    assert opponents(case(costs, pulls, totals, reference=2)) == (2, 3)
    assert opponents(case(costs, pulls, totals, mu0=0.4)) == (3, 4)
    # Every mean within [0, 1] reaches 0: nobody may refute, and the cheapest arm is certified without a pull.
    for free in (case(costs, [0] * 3, [0.0] * 3, scale=0.0), case(costs, [0] * 3, [0.0] * 3, mu0=0.0)):
        assert opponents(free) == (0, 0)
        assert judge(free, np.full(3, 4.0)).certified == 0
    # Gaussian means may miss a threshold of 0.
    assert opponents(case(costs, pulls, totals, scale=0.0, sigma=1.0)) == (0, 3)


def test_what_is_proved_and_the_risk_by_hand() -> None:
    data = case([1.0, 2.0, 3.0], [2000] * 3, [1000, 1700, 1750])
    levels = np.full(3, level(data, 0.05))
    found = judge(data, levels)
    # 0.5 is far below 0.9 * 0.875 = 0.7875 and 0.85 well above it.
    assert (found.certified, found.refuted_by.tolist(), found.none) == (1, [1, -1, -1], False)
    weakest = min(max(against(data, 0, 1), against(data, 0, 2)), -against(data, 1, 2), -against(data, 1, 0))
    # Three arms make three pairs.
    assert risk(data, levels, 0.05, 1) == pytest.approx(3 * math.exp(-weakest))
    # Arm 0 is refuted already: then only arm 2 is left to compare arm 1 with, and arm 0 counts as proved at delta.
    out = np.array([True, False, False])
    assert judge(data, levels, out).refuted_by.tolist() == [-1, -1, -1]
    assert judge(data, levels, out).certified == 1
    weak = case([1.0, 2.0, 3.0], [3, 2000, 2000], [1, 1700, 1750])
    assert risk(weak, levels, 0.05, 1) == 1.0
    assert risk(weak, levels, 0.05, 1, out) == pytest.approx(0.05)
    assert risk(data, levels, 0.05, 1, out) == pytest.approx(3 * math.exp(against(data, 1, 2)))
    # A risk beyond all numbers is 1.
    sure = case([1.0, 2.0], [10**8, 10**8], [9 * 10**7, 10**6])
    assert risk(sure, np.full(2, 3.0), 0.05, 1) == 1.0


def test_a_refuted_arm_cannot_set_the_threshold() -> None:
    # Nothing is known of arm 2; once it is known to be refuted, arm 0 is compared with arm 1 alone.
    data = case([1.0, 2.0, 3.0], [2000, 2000, 2], [1700, 1750, 1])
    levels = np.full(3, level(data, 0.05))
    assert certified(data, levels, nobody(data)) == -1
    assert certified(data, levels, np.array([False, False, True])) == 0


def test_ties_in_cost() -> None:
    # As cheap as another one: it does not matter which of them is feasible, the first that is proved wins.
    data = case([1.0, 1.0, 2.0], [3, 3000, 3000], [1, 2700, 2700], scale=0.8)
    assert certified(data, np.full(3, 4.0), nobody(data)) == 1
    # One that is cheaper stands in the way until it is refuted.
    data = case([0.5, 1.0, 2.0], [3, 3000, 3000], [1, 2700, 2700], scale=0.8)
    assert certified(data, np.full(3, 4.0), nobody(data)) == -1


def test_no_arm_is_feasible() -> None:
    data = case([1.0, 2.0, 3.0], [3000] * 3, [1500, 2100, 1800], mu0=0.9)
    levels = np.full(3, level(data, 0.05))
    found = judge(data, levels)
    assert (found.certified, found.refuted_by.tolist(), found.none) == (-1, [3, 3, 3], True)
    # The weakest of the three proofs is the one about the best arm, 0.7 against 0.9.
    assert risk(data, levels, 0.05, -1) == pytest.approx(3 * math.exp(-against(data, 1, 3)))
    assert risk(data, levels, 0.05, 1) == 1.0


def test_with_many_arms_the_surest_are_asked() -> None:
    arms = 3 * RIVALS
    means = np.linspace(0.1, 0.9, arms, dtype=np.float64)
    pulls = np.full(arms, 1000)
    pulls[-1] = 1  # the largest mean, hardly tried: 1/2 sqrt(2 (level + penalty) / 1) > 1 below it
    data = make_case(np.arange(1.0, arms + 1), pulls, means * pulls, 0.9)
    levels = np.full(arms, level(data, 0.05))
    assert rivals(data, levels).tolist() == [arms - 2 - k for k in range(RIVALS)]
    found = judge(data, levels)
    everyone = np.arange(arms)
    assert (found.refuted_by >= 0).tolist() == [refuter(data, levels, i, everyone) >= 0 for i in range(arms)]
    # A certificate asks all of them: arm 47 may yet be far above.
    assert found.certified == -1
    assert len(rivals(make_case(means, pulls, means, 1.0, mu0=0.5), levels)) == 1


def test_intervals_hold_together() -> None:
    pulls, totals = np.array([100, 0, 7]), np.array([50.0, 0.0, 7.0])
    found = intervals(pulls, totals, 0.06)
    assert found == [interval(100, 0.5, 0.02), (0.0, 1.0), interval(7, 1.0, 0.02)]
    assert intervals(pulls, totals, np.array([0.01, 0.02, 0.03]))[0] == interval(100, 0.5, 0.01)
    low, high = intervals(np.array([4]), np.array([8.0]), 0.1, sigma=3.0)[0]
    # (log 10 + log(5) / 2) / (16 / 5) nats per pull.
    assert high - 2 == pytest.approx(3 * math.sqrt(2 * (math.log(10) + math.log(5) / 2) / 3.2))
    assert low == pytest.approx(4 - high)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3000), st.floats(0, 1)), min_size=1, max_size=5),
    st.sampled_from([{}, {"reference": 1.0}, {"mu0": 0.6}, {"sigma": 0.7}]),
)
def test_judged_as_the_words_say(arms: list[tuple[int, int, float]], terms: dict[str, float]) -> None:
    """The literal definition, with no early exits: sets of refuted arms and the first cheapest feasible one."""
    arms = sorted(arms)
    if "reference" in terms:
        terms = {"reference": float(len(arms) - 1)}
    costs = [float(c) for c, _, _ in arms]
    data = case(costs, [n for _, n, _ in arms], [n * m for _, n, m in arms], 0.8, **terms)
    nats = level(data, 0.1)
    levels = np.full(len(arms), nats)
    first, last = opponents(data)
    found = judge(data, levels)
    nobody_out = certified(data, levels, nobody(data))
    table = {i: [against(data, i, j) for j in range(first, last) if j != i] for i in range(len(arms))}
    refuted = {i for i, row in table.items() if any(z >= nats for z in row)}
    feasible = {i for i, row in table.items() if all(z <= -nats for z in row)}
    right = [i for i in feasible if all(k in refuted for k in range(len(arms)) if costs[k] < costs[i])]
    assert {i for i in range(len(arms)) if found.refuted_by[i] >= 0} == refuted
    assert nobody_out == min(right, default=-1)
    assert found.none == (len(refuted) == len(arms))
    # To know who is refuted can only help.
    assert found.certified == nobody_out or nobody_out == -1
    if nobody_out >= 0:
        assert risk(data, levels, 0.1, nobody_out) <= 0.1 * (1 + 1e-12)


SHARES = st.integers(0, 100).map(lambda percent: percent / 100)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 9), SHARES, SHARES), min_size=2, max_size=20),
    st.sampled_from([{}, {"sigma": 0.7}, {"rated": True}, {"late": True}]),
)
def test_who_is_not_asked_could_not_have_refuted(
    arms: list[tuple[int, int, float, float]], terms: dict[str, float]
) -> None:
    """What is known by gaps and variances, one by one and for all at once, against the proofs themselves."""
    pulls, totals = np.array([n for n, _, _, _ in arms]), np.array([n * m for n, _, m, _ in arms])
    squares = np.array([n * m * (m + s * (1 - m)) for n, _, m, s in arms]) if "rated" in terms else None
    pending = np.array([late for _, late, _, _ in arms]) if "late" in terms else None
    data = make_case(
        np.zeros(len(arms)), pulls, totals, 0.9, sigma=terms.get("sigma", 0.0), pending=pending, squares=squares
    )
    levels = np.linspace(1.0, 9.0, len(arms))
    asked = rivals(data, levels)
    together = _hopeless_by_gap(data, levels, asked)
    for i in range(len(arms)):
        for place, j in enumerate(asked.tolist()):
            if i != j:
                one = hopeless(data, levels, i, j)
                assert one >= together[i, place] and (one == together[i, place] or data.between[i] > 0.0)
                assert not one or against(data, i, j) < needed(levels, i, j)


def test_no_nat_is_bought_from_a_pair_that_speaks_for_the_arm() -> None:
    # Arm 1 misses 0.9 x the best mean by 0.015. That it has more than 0.9 x the mean of arm 0 is no way to refute it,
    # however cheap the nats of that pair are.
    found = case([1, 2, 3, 4], [6000, 16_000, 4000, 80], [0.725 * 6000, 0.768 * 16_000, 0.866 * 4000, 0.87 * 80])
    levels, prices = equal_levels(found, 0.05), np.array([0.05, 0.014, 0.005, 0.38])
    assert against(found, 1, 0) < -100
    cost, arm = missing(found, levels, 2, prices)
    assert arm in (1, 3) and math.isfinite(cost)
    # Where every pair speaks for a cheaper arm there is no such proof to be had.
    found = case([1, 2], [1000, 1000], [900, 900])
    assert missing(found, equal_levels(found, 0.05), 1, np.array([0.1, 0.1]))[0] == math.inf
    # Against a fixed threshold the same.
    found = case([1, 2], [1000, 1000], [700, 900], mu0=0.6)
    assert missing(found, equal_levels(found, 0.05), 1, np.array([0.1, 0.1]))[0] == math.inf
