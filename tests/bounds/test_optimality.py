"""Order optimality of PE-CS: the paper's class, and what the verdict says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import satisfice as sf
from satisfice.bounds import lower, order_optimal
from satisfice.errors import InvalidSetting


def test_in_the_paper_class_by_hand() -> None:
    """Remark after Theorem E.5: min over i < a* of Delta_Q,i <= (1 - alpha) Delta_min."""
    # mu* = 0.9, alpha = 0.2: mu_CS = 0.72. near misses it by 0.02; Delta_min = 0.9 - 0.8 = 0.1; 0.02 <= 0.08.
    instance = sf.Instance(costs=[1, 2, 3, 4], means=[0.4, 0.7, 0.8, 0.9], names=["cheap", "near", "mid", "best"])
    verdict = order_optimal(instance, alpha=0.2)
    assert verdict.order_optimal
    assert verdict.matched
    assert bool(verdict)
    assert verdict.dominant == "Delta_Q"
    assert (verdict.delta_min, verdict.delta_q_cheaper, verdict.delta_q_optimal) == pytest.approx((0.1, 0.02, 0.08))
    assert "Delta_Q = 0.02 of near" in verdict.words
    assert "The paper shows PE-CS to be order optimal here." in verdict.words


def test_outside_the_class_the_two_best_arms_dominate() -> None:
    # A second arm at 0.89: Delta_min = 0.01, and 0.02 > 0.8 x 0.01. PE-CS tells the two apart although nobody needs to.
    instance = sf.Instance(costs=[1, 2, 3, 4, 5], means=[0.4, 0.7, 0.8, 0.89, 0.9])
    verdict = order_optimal(instance, alpha=0.2)
    assert not verdict.order_optimal
    assert not verdict.matched
    assert not bool(verdict)
    assert verdict.dominant == "Delta_min"
    assert "Delta_min = 0.01, between the two best arms" in verdict.words
    assert "Not in the class" in verdict.words


def test_the_gap_of_the_optimal_arm_may_be_the_smallest() -> None:
    # a* is cheapest (no indicator), and its own gap 0.73 - 0.72 = 0.01 is below Delta_min = 0.9 - 0.73 = 0.17:
    # the best arm needs 1 / 0.01^2 pulls per log T in both bounds.
    verdict = order_optimal(sf.Instance(costs=[1, 2], means=[0.73, 0.9]), alpha=0.2)
    assert not verdict.order_optimal
    assert verdict.matched
    assert verdict.dominant == "Delta_Q"
    assert verdict.delta_q_cheaper == math.inf
    assert "agree all the same" in verdict.words


def test_the_best_arm_may_be_optimal() -> None:
    # Plain best arm identification (alpha = 0): dear arms have 2 / Delta^2 in both bounds.
    plain = sf.Instance(costs=[1, 2, 3], means=[0.5, 0.9, 0.88])
    assert order_optimal(plain, alpha=0.0).matched
    # alpha = 0.1: the dear arm would have to exceed 0.9 / 0.9 = 1 to matter; PE-CS resolves 0.02 all the same.
    verdict = order_optimal(plain, alpha=0.1)
    assert not verdict.matched
    assert verdict.dominant == "Delta_min"


def test_trivial_and_bad_requests() -> None:
    verdict = order_optimal(sf.Instance([1], [0.5]), 0.1)
    assert (verdict.order_optimal, verdict.matched) == (False, True)
    assert verdict.words == "Nothing to learn: there is one arm."
    with pytest.raises(InvalidSetting, match=r"alpha = 1\.5"):
        order_optimal(sf.Instance([1], [0.5]), 1.5)


@given(st.lists(st.floats(0.01, 0.99), min_size=2, max_size=6, unique=True), st.floats(0, 0.9))
def test_the_class_is_the_indicator_of_the_lower_bound(means: list[float], alpha: float) -> None:
    instance = sf.Instance(range(len(means)), means)
    verdict = order_optimal(instance, alpha)
    cases = {case.name: case for case in lower(instance, sf.BestReward(alpha), "gaussian").cases}
    if cases and abs(verdict.delta_q_cheaper - (1 - alpha) * verdict.delta_min) > 1e-9:
        assert verdict.order_optimal == (cases["lowered"].value > 0)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=6),
    st.sampled_from([0, 0.25, 0.5, 1]),
)
def test_every_instance_gets_words(arms: list[tuple[int, int]], alpha: float) -> None:
    verdict = order_optimal(sf.Instance([c for c, _ in arms], [m / 6 for _, m in arms]), alpha)
    assert verdict.words.endswith(".")
    assert "nan" not in verdict.words
    assert verdict.dominant in ("Delta_Q", "Delta_min")
