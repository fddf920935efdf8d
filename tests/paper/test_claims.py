"""The judging of claims, on data small enough to check by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import satisfice as sf
from satisfice.paper import claims, measures
from satisfice.paper.cells import PanelData
from satisfice.paper.experiments import ASYMMETRIC, FIXED, P1B, P2D, TOY, Panel
from satisfice.paper.report import counted
from satisfice.policies import get_policy
from satisfice.simulation import Result
from satisfice.simulation.results import Terms

# Gaps to arm b (cost 0.25, threshold 0.5 = alpha 0 of the best): a: quality 0.25; b: none; c: cost 0.5.
INSTANCE = sf.Instance(costs=[0.125, 0.25, 0.75], means=[0.25, 0.5, 0.5], names=["a", "b", "c"])
SETTING = sf.BestReward(0.0)


def result(label: str, pulls: list[list[int]], half: list[float] | None = None) -> Result:
    """A result with these pulls of (a, b, c) per run, and with these summed regrets at half the horizon."""
    counts = np.array(pulls)
    horizon = int(counts[0].sum())
    policy = get_policy(label)
    end = counts @ (SETTING.cost_gaps(INSTANCE) + SETTING.quality_gaps(INSTANCE))
    middle = end / 2 if half is None else np.array(half)
    return Result(
        terms=Terms(policy.label, policy.params, INSTANCE, SETTING, horizon=horizon, runs=len(counts), seed=0),
        checkpoints=np.array([horizon // 2, horizon]),
        pulls=counts,
        cost_curve=np.stack([middle, end], axis=1),
        quality_curve=np.zeros((len(counts), 2)),
    )


def flat(label: str, regrets: list[float]) -> Result:
    """A result with these terminal regrets (multiples of 0.5, by pulls of c), all of it in the first half."""
    return result(label, [[0, 1000 - int(2 * r), int(2 * r)] for r in regrets], half=regrets)


def rising(label: str, regrets: list[float]) -> Result:
    return result(label, [[0, 1000 - int(2 * r), int(2 * r)] for r in regrets])


def data(panel: Panel, *points: list[Result]) -> list[PanelData]:
    xs = [point.x for point in panel.grid[: len(points)]]
    names = tuple(r.terms.policy for r in points[0])
    return [
        PanelData(
            replace(panel, policies=names, runs=len(points[0][0].pulls), grid=panel.grid[: len(points)]),
            {x: {r.terms.policy: r for r in results} for x, results in zip(xs, points, strict=True)},
        )
    ]


def test_errors_and_comparisons() -> None:
    # 1, 2, 3: s.d. 1, standard error 1 / sqrt(3) = 0.577.
    assert measures.with_error(np.array([1.0, 2.0, 3.0])) == "2 ± 0.577"
    assert measures.with_error(np.array([0.1 + 0.2, 0.3])) == "0.3 ± 0"
    assert measures.with_error(np.array([1234.4, 1234.4])) == "1,234 ± 0"
    # The difference is 2, its standard error sqrt(2) x 0.577 = 0.816, twice that 1.63 < 2.
    assert measures.beats(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0]))
    # The difference is 1.5 < 1.63.
    assert not measures.beats(np.array([1.0, 2.0, 3.0]), np.array([2.5, 3.5, 4.5]))
    assert not measures.beats(np.array([2.0, 2.0]), np.array([2.0, 2.0]))


def test_worst_case_and_failures() -> None:
    # The worst arm is c with a gap of 0.5: 500 over 1000 pulls. A run fails above 50.
    r = flat("ts-cs", [50.0, 50.5, 400.0, 0.0])
    assert measures.worst(r) == 500.0
    assert measures.failures(r) == 2


def test_growth() -> None:
    # 100 at half the horizon and 200 at the horizon is linear; the same at both is flat.
    assert measures.growth(rising("ucb-cs", [200.0, 200.0])) == (1.0, 0.0)
    assert measures.growth(flat("pe", [200.0, 200.0])) == (0.0, 0.0)
    assert measures.growth(flat("pe", [0.0, 0.0])) == (0.0, 0.0)
    # Means of 150 and 300 with runs of 100 -> 200 and 200 -> 400: linear in every resample.
    assert measures.growth(rising("ucb-cs", [200.0, 400.0]))[0] == pytest.approx(1.0)


def test_reference_arms_of_the_cheaper_half() -> None:
    # Goodreads has 8 arms: ell = 2 and 4 are in the cheaper half, 6 and 8 are not.
    better = [flat("pe", [10.0, 10.0]), flat("ucb-cs", [20.0, 20.0])]
    worse = [flat("pe", [30.0, 30.0]), flat("ucb-cs", [20.0, 20.0])]
    for points, verdict in (
        ((better, better, worse, worse), "holds"),
        ((better, worse, better, better), "holds partly"),
        ((worse, worse, better, better), "does not hold"),
    ):
        (claim,) = claims.judge("1b", data(P1B, *points))
        assert claim.verdict == verdict
    assert "PE 30 ± 0, UCB-CS 20 ± 0" in claim.measured[0]
    level = [flat("pe", [20.0, 21.0]), flat("ucb-cs", [20.0, 22.0])]
    assert claims.judge("1b", data(P1B, level, level, better, worse))[0].verdict == "not decided"


def test_linear_regret_with_a_fixed_reference() -> None:
    def verdict(*results: Result) -> str:
        return claims.judge("fixed-reference", data(FIXED, list(results)))[0].verdict

    assert verdict(flat("pe", [10.0, 10.0]), rising("ucb-cs", [400.0, 410.0])) == "holds"
    assert verdict(rising("pe", [10.0, 10.0]), rising("ucb-cs", [400.0, 410.0])) == "holds partly"
    assert verdict(flat("pe", [10.0, 10.0]), flat("ucb-cs", [400.0, 410.0])) == "does not hold"


def test_the_trend_of_thompson_sampling() -> None:
    steady = [flat("pe-cs(kappa=5)", [40.0] * 4), rising("ts-cs", [10.0, 12.0, 11.0, 13.0]), flat("etc-cs", [60.0] * 4)]
    assert [claim.verdict for claim in claims.judge("2c", data(P2D, steady))] == ["holds"] * 3
    lost = [rising("pe-cs(kappa=5)", [40.0] * 4), flat("ts-cs", [50.0] * 4), flat("etc-cs", [30.0] * 4)]
    assert [claim.verdict for claim in claims.judge("2c", data(P2D, lost))] == ["does not hold"] * 3
    # Runs add 5, 6, 5.5 and 6.5, 23 in all; half of it, 11.5, comes from the two largest (12.5).
    assert "2 of its 4 runs" in claims.judge("2c", data(P2D, steady))[1].measured[1]


def test_subsidized_best_reward() -> None:
    point = [
        flat("pe-cs(kappa=5)", [20.0, 20.0]),
        flat("etc-cs", [30.0, 30.0]),
        rising("ucb-cs", [400.0, 400.0]),
        flat("ts-cs", [1.0, 2.0]),
    ]
    unreliable = [*point[:3], flat("ts-cs", [1.0, 60.0])]
    against_etc, against_ucb, linear, against_ts, failing = claims.judge("2d", data(P2D, point, unreliable))
    assert [c.verdict for c in (against_etc, against_ucb, linear)] == ["holds"] * 3
    # Below PE-CS at the first point; 30.5 ± 29.5 against 20 at the second.
    assert against_ts.verdict == "holds partly"
    assert (
        failing.verdict == "holds" and "TS-CS 1 of 4, PE-CS 0 of 4, ETC-CS 0 of 4, UCB-CS 4 of 4" in failing.measured[0]
    )


def test_toy() -> None:
    easy = [flat("pe-cs(kappa=5)", [20.0] * 4), flat("etc-cs", [30.0] * 4), flat("ucb-cs", [1.0] * 4),
            flat("ts-cs", [1.0] * 4)]  # fmt: skip
    hard = [flat("pe-cs(kappa=5)", [33.0] * 4), flat("etc-cs", [30.0] * 4), flat("ucb-cs", [400.0] * 4),
            flat("ts-cs", [1.0, 1.0, 1.0, 300.0])]  # fmt: skip
    points = [hard if point.x == 0.78 else easy for point in TOY.grid]
    similar, hardest, balance = claims.judge("toy", data(TOY, *points))
    # 33 is 1.1 x 30: similar on all 12.
    assert similar.verdict == "holds" and "on 12 of 12" in similar.measured[0]
    # Several is 3 of 50, 0.24 of 4: one run of four is enough.
    assert hardest.verdict == "holds" and "UCB-CS 4, TS-CS 1, PE-CS 0, ETC-CS 0 (of 4)" in hardest.measured[0]
    assert balance.verdict == "holds"
    assert claims.judge("toy", data(TOY, *[easy] * 12))[1].verdict == "does not hold"


def test_the_saving_of_asymmetric_pe() -> None:
    (claim,) = claims.judge("asymmetric", data(ASYMMETRIC, [flat("pe", [40.0] * 2), flat("asymmetric-pe", [30.0] * 2)]))
    assert claim.verdict == "holds" and claim.measured[0].startswith("It saves 25.0% ± 0.0%: PE 40 ± 0")


def test_our_own_policy_is_compared_with_the_best_of_the_paper() -> None:
    points = [
        [flat("pe", [10.0, 10.0]), flat("ucb-cs", [20.0, 20.0]), flat("glr", [5.0, 5.0])],
        [flat("pe", [10.0, 10.0]), flat("ucb-cs", [20.0, 20.0]), flat("glr", [15.0, 100.0])],
        [flat("pe", [10.0, 10.0]), flat("ucb-cs", [2.0, 2.0]), flat("glr", [5.0, 5.0])],
    ]
    line = claims.judge("1b", data(P1B, *points))[0].measured[-1]
    # Point 2: 57.5 ± 42.5 against 10 is not clear. Point 4 counts 100 > 50 as a failure.
    assert line == (
        "GLR (ours, not from the paper): clearly below the best policy shown at 1 of 3 points, "
        "clearly above it at 1 (6); 1 of 6 runs failed."
    )


def test_a_figure_without_claims_is_fine() -> None:
    assert claims.judge("somebody's own", []) == []


def test_one_claim_is_one_claim() -> None:
    assert counted(["holds", "not decided", "holds"]) == "2 hold, 1 is not decided"
    assert counted(["holds", "does not hold", "not decided", "not decided"]) == (
        "1 holds, 1 does not hold, 2 are not decided"
    )
