"""The Bayes optimum: by hand, against a plain recursion over exact fractions, and against simulated policies."""

import math
from fractions import Fraction
from functools import cache
from math import comb, factorial

import numpy as np
import pytest

import satisfice as sf
from satisfice.bounds import bayes
from satisfice.errors import InvalidInstance, InvalidRun, InvalidSetting


def test_one_pull_by_hand() -> None:
    """alpha = 0.2. Cheap: E[(0.8 mu_2 - mu_1)^+] = E[(0.8 mu_2)^2] / 2 = 0.32 / 3.

    Dear: extra x P(mu_1 >= 0.8 mu_2) = extra x (1 - 0.4), plus the same 0.32 / 3 with the arms exchanged.
    """
    setting = sf.BestReward(0.2)
    assert bayes([0, 1], setting, 1).regret == pytest.approx(0.32 / 3)
    # The dear arm first only if it is cheap: its loss is 0.6 x extra + 0.32 / 3. With costs in the other order:
    assert bayes([1, 0], setting, 1).first == 1
    # Known reference: the dear arm loses nothing but cost, so at extra = 0.1 it is better: 0.06 < 0.1067.
    known = bayes([0.0, 0.1], sf.ReferenceArm(1, 0.2), 1)
    assert (known.regret, known.first) == (pytest.approx(0.06), 1)


def beta_moment(s: int, n: int, power: int) -> Fraction:
    """`E[mu^power]` of Beta(s + 1, n - s + 1)."""
    value = Fraction(1)
    for k in range(power):
        value *= Fraction(s + 1 + k, n + 2 + k)
    return value


def exact(horizon: int, keep: Fraction, extra: Fraction) -> Fraction:
    """The optimum by plain recursion, every loss integrated term by term over exact fractions."""

    def shortfall(s1: int, n1: int, s2: int, n2: int) -> tuple[Fraction, Fraction]:
        """`E[(keep mu_2 - mu_1)^+]` and `P(mu_1 < keep mu_2)`: integrate mu_1 first, a polynomial in c = keep mu_2."""
        loss = below = Fraction(0)
        scale = Fraction(factorial(n1 + 1), factorial(s1) * factorial(n1 - s1))
        for k in range(n1 - s1 + 1):  # (1 - mu)^(n1 - s1) term by term
            weight = scale * comb(n1 - s1, k) * (-1) ** k
            a = s1 + k + 1
            below += weight * keep**a / a * beta_moment(s2, n2, a)
            loss += weight * keep ** (a + 1) / (a * (a + 1)) * beta_moment(s2, n2, a + 1)
        return loss, below

    @cache
    def value(s1: int, n1: int, s2: int, n2: int) -> Fraction:
        if n1 + n2 == horizon:
            return Fraction(0)
        loss, below = shortfall(s1, n1, s2, n2)
        p1, p2 = Fraction(s1 + 1, n1 + 2), Fraction(s2 + 1, n2 + 2)
        cheap = loss + p1 * value(s1 + 1, n1 + 1, s2, n2) + (1 - p1) * value(s1, n1 + 1, s2, n2)
        dear = extra * (1 - below) + shortfall(s2, n2, s1, n1)[0]
        dear += p2 * value(s1, n1, s2 + 1, n2 + 1) + (1 - p2) * value(s1, n1, s2, n2 + 1)
        return min(cheap, dear)

    return value(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("keep", "extra"),
    [
        (Fraction(4, 5), Fraction(9, 10)),
        (Fraction(1), Fraction(1, 100)),
        (Fraction(1, 2), Fraction(1, 20)),
        (Fraction(0), Fraction(1)),
    ],
)
def test_agrees_with_exact_fractions(keep: Fraction, extra: Fraction) -> None:
    for horizon in (2, 3, 7, 12):
        found = bayes([0.0, float(extra)], sf.BestReward(float(1 - keep)), horizon)
        assert found.regret == pytest.approx(float(exact(horizon, keep, extra)), abs=1e-12)


def test_no_policy_is_below_it() -> None:
    """GLR over 4,000 draws of the means: its mean regret minus 5 standard errors (error probability below 1e-6)."""
    costs, setting, horizon = [0.1, 1.0], sf.BestReward(0.2), 40
    least = bayes(costs, setting, horizon).regret
    rng = np.random.default_rng(5)
    totals = []
    for k in range(400):
        run = sf.simulate(sf.Instance(costs, rng.random(2)), setting, ["glr"], horizon, runs=10, seed=k, workers=1)[
            "glr"
        ]
        totals.append((run.cost_regret + run.quality_regret).mean())
    assert np.mean(totals) > least - 5 * np.std(totals) / 20
    assert np.mean(totals) < 3 * least


def test_more_time_never_costs_less() -> None:
    values = [bayes([0, 0.5], sf.BestReward(0.1), t).regret for t in (1, 5, 20, 60)]
    assert values == sorted(values)


def test_what_it_refuses() -> None:
    with pytest.raises(InvalidInstance, match="two arms"):
        bayes([1, 2, 3], sf.BestReward(0.1), 5)
    for horizon in (0, 301, 2.5):
        with pytest.raises(InvalidRun, match=r"whole number|from 1 to 300"):
            bayes([1, 2], sf.BestReward(0.1), horizon)  # type: ignore[arg-type]
    for wrong in (None, "5", math.nan, math.inf):
        with pytest.raises(InvalidRun, match="whole number"):
            bayes([1, 2], sf.BestReward(0.1), wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInstance, match="finite"):
        bayes(["cheap", "dear"], sf.BestReward(0.1), 5)
    with pytest.raises(InvalidSetting, match="fixed threshold"):
        bayes([1, 2], sf.FixedThreshold(0.1), 5)
    with pytest.raises(InvalidSetting, match="dearer"):
        bayes([1, 2], sf.ReferenceArm(0), 5)
