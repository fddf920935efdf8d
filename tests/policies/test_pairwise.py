"""Rounds, buffers and elimination tests of the PE family, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import get_policy
from satisfice.policies.bai import NOBODY, identify
from satisfice.policies.contract import Problem, State, arrange, make_problem, new_state
from satisfice.policies.pairwise import beta, compare, is_open, rounds_of, tau

RNG = np.random.default_rng(0)


def setup(policy: str, setting: sf.Setting, costs: list[float], horizon: int) -> tuple[Problem, State]:
    chosen = get_policy(policy)
    names = [f"arm-{i}" for i in range(len(costs))]
    problem = make_problem(chosen, setting, costs, arrange(costs, setting, names), horizon, True)
    state = new_state(chosen, len(problem.costs))
    type(chosen).start(problem, state)
    return problem, state


def test_tau_and_beta_of_the_first_rounds() -> None:
    # T = 1000. Round 0: gap 1, tau = ceil(2 log 1000) = ceil(13.816) = 14; beta = sqrt(6.908 / 28) = 0.4967.
    assert tau(1000, 0) == 14
    assert beta(1000, 0) == pytest.approx(math.sqrt(6.907755 / 28), rel=1e-6)
    # Round 1: gap 1/2, T / 4 = 250, tau = ceil(2 * 5.5215 * 4) = ceil(44.17) = 45; beta = sqrt(5.5215 / 90) = 0.2477.
    assert tau(1000, 1) == 45
    assert beta(1000, 1) == pytest.approx(math.sqrt(5.521461 / 90), rel=1e-6)
    # Round 2: gap 1/4, T / 16 = 62.5, tau = ceil(2 * 4.1352 * 16) = ceil(132.33) = 133.
    assert tau(1000, 2) == 133


def test_rounds_end_where_the_logarithm_does() -> None:
    # T 4^-omega > e: 1000 / 256 = 3.9 is above e, 1000 / 1024 = 0.98 is not.
    assert is_open(1000, 4) and not is_open(1000, 5)
    assert not is_open(1, 0) and not is_open(2, 0) and is_open(3, 0)
    # tau grows from round to round as long as rounds exist, so a round always asks for new pulls.
    for horizon in (3, 10, 1000, 5_000_000):
        rounds = [tau(horizon, omega) for omega in range(60) if is_open(horizon, omega)]
        assert rounds == sorted(set(rounds))


def test_a_candidate_wins_when_it_clears_both_buffers() -> None:
    problem, state = setup("pe", sf.ReferenceArm(1, alpha=0.5), [1.0, 2.0], 1000)
    # Round 0 asks for 14 pulls of the candidate, then of the reference arm.
    assert compare(problem, state, 1, 0) == (0, 14)
    state.pulls[0] = 14
    assert compare(problem, state, 1, 0) == (1, 14)
    state.pulls[1] = 14
    # beta = 0.4967. The candidate must exceed 0.5 (0 + 0.4967) + 0.4967 = 0.745 for mean_ell = 0: 11 of 14 is 0.786.
    state.totals[:] = [11, 0]
    assert compare(problem, state, 1, 0) == (0, 1000)
    assert rounds_of(state).stage[0].winner == 0


def test_a_candidate_just_short_of_it_goes_one_round_further() -> None:
    problem, state = setup("pe", sf.ReferenceArm(1, alpha=0.5), [1.0, 2.0], 1000)
    state.pulls[:] = 14
    state.totals[:] = [10, 0]  # 10 of 14 is 0.714 < 0.745
    # Round 1 asks for 45 pulls; 14 are there.
    assert compare(problem, state, 1, 0) == (0, 31)
    assert rounds_of(state).omega[0] == 1 and rounds_of(state).omega[1] == 1


def test_a_candidate_is_out_when_the_reference_clears_both_buffers() -> None:
    problem, state = setup("pe", sf.ReferenceArm(2, alpha=0.0), [1.0, 1.5, 2.0], 1000)
    rounds_of(state).omega[0], rounds_of(state).omega[2] = 1, 1
    state.pulls[:] = [45, 0, 45]
    # beta = 0.2477: out when mean_i + 0.2477 < mean_ell - 0.2477, that is when mean_ell - mean_i > 0.4954.
    state.totals[:] = [0, 0, 22]  # 22 / 45 = 0.489: not yet
    assert compare(problem, state, 2, 0) == (0, 133 - 45)
    problem, state = setup("pe", sf.ReferenceArm(2, alpha=0.0), [1.0, 1.5, 2.0], 1000)
    rounds_of(state).omega[0], rounds_of(state).omega[2] = 1, 1
    state.pulls[:] = [45, 0, 45]
    state.totals[:] = [0, 0, 23]  # 23 / 45 = 0.511: out; the next candidate is sampled at once
    assert compare(problem, state, 2, 0) == (1, 1)
    assert rounds_of(state).stage[0].episode == 1


def test_the_reference_arm_is_played_when_nobody_wins() -> None:
    problem, state = setup("pe", sf.ReferenceArm(1), [1.0, 2.0], 1000)
    rounds_of(state).stage[0].episode = 1
    assert compare(problem, state, 1, 0) == (1, 1000)


def test_kappa_lets_the_reference_arm_use_its_own_round() -> None:
    # The candidate is in round 0 (beta = 0.4967), the reference arm has the 133 pulls of round 2,
    # beta_ell = sqrt(4.1352 / 266) = 0.1247. With alpha = 0 the candidate wins above mean_ell + 0.1247 + 0.4967.
    for kappa, wins in ((0, False), (1, False), (2, True), (5, True)):
        problem, state = setup(f"asymmetric-pe(kappa={kappa})", sf.ReferenceArm(1), [1.0, 2.0], 1000)
        rounds_of(state).omega[1] = 2
        state.pulls[:] = [14, 133]
        state.totals[:] = [9, 0]  # 0.643 > 0.6214, but below 0.4967 + 0.2477 (kappa 1) and 2 * 0.4967 (kappa 0)
        arm, pulls = compare(problem, state, 1, kappa)
        assert (rounds_of(state).stage[0].winner == 0) == wins
        assert (arm, pulls) == ((0, 1000) if wins else (0, 31))


def test_without_a_round_left_the_means_decide() -> None:
    # T = 2 opens no round: 2 <= e. Without a pull both means count as 0, and 0 >= 0.9 * 0.
    problem, state = setup("pe", sf.ReferenceArm(1, alpha=0.1), [1.0, 2.0], 2)
    assert compare(problem, state, 1, 0) == (0, 2)
    # Round 5 of T = 1000 does not exist: 0.4 >= 0.5 * 0.8 wins, 0.39 does not.
    for total, answer in ((40, (0, 1000)), (39, (1, 1))):
        problem, state = setup("pe", sf.ReferenceArm(1, alpha=0.5), [1.0, 2.0], 1000)
        rounds_of(state).omega[0], rounds_of(state).omega[1] = 5, 5
        state.pulls[:] = 100
        state.totals[:] = [total, 80]
        assert compare(problem, state, 1, 0) == answer


def test_bai_keeps_the_arms_within_two_buffers_of_the_best() -> None:
    problem, state = setup("pe-cs", sf.BestReward(0.1), [1.0, 2.0, 3.0], 1000)
    rounds = rounds_of(state)
    for k in range(3):
        assert identify(problem, state, RNG) == (k, 14)
        state.pulls[k] = 14
    rounds_of(state).omega[:] = 1
    state.pulls[:] = 45
    # Round 1, beta = 0.24769: arms stay with mean >= best - 0.49538. With 40 of 45 (0.8889) that is 0.3935: 18 of 45
    # (0.4) stays, 17 of 45 (0.378) goes.
    state.totals[:] = [17, 18, 40]
    arm, pulls = identify(problem, state, RNG)
    assert pulls == 1 and arm in (1, 2)
    assert rounds.active.tolist() == [0, 1, 1]
    assert rounds_of(state).omega.tolist() == [1, 2, 2]  # the one that is out keeps its round


def test_bai_does_not_raise_the_round_of_the_last_arm() -> None:
    problem, state = setup("pe-cs", sf.BestReward(0.1), [1.0, 2.0], 1000)
    rounds_of(state).omega[:] = 1
    state.pulls[:] = 45
    state.totals[:] = [10, 40]
    assert identify(problem, state, RNG) == NOBODY
    assert rounds_of(state).omega.tolist() == [1, 1]
    assert rounds_of(state).active.tolist() == [0, 1]


def test_bai_ends_with_the_largest_mean_when_no_round_is_left() -> None:
    problem, state = setup("pe-cs(kappa=5)", sf.BestReward(0.1), [1.0, 2.0, 3.0], 1000)
    rounds_of(state).omega[:] = 5
    state.pulls[:] = 355
    state.totals[:] = [100, 101, 101]
    assert identify(problem, state, RNG) == NOBODY
    assert rounds_of(state).active.tolist() == [0, 1, 0]
    assert rounds_of(state).omega[1] == 4  # the round that was sampled


def test_pe_cs_plays_the_best_arm_when_it_is_the_cheapest() -> None:
    instance = sf.Instance([1, 2, 3], [0.9, 0.5, 0.1])
    result = sf.simulate(instance, sf.BestReward(0.1), "pe-cs", horizon=100_000, runs=5)["pe-cs"]
    assert (result.optimal_share > 0.9).all()


@pytest.mark.parametrize("text", ["pe-cs(kappa=-1)", "pe-cs(kappa=1.5)", "asymmetric-pe(kappa=2000)"])
def test_wrong_kappa(text: str) -> None:
    with pytest.raises(InvalidPolicy, match="kappa"):
        get_policy(text)
