"""TS-CS against its literal rule: one decision, many in a row, whole runs, and what a live study does to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import get_policy
from satisfice.policies.compiled import compile_native
from satisfice.policies.contract import SWEEP, Problem, State, arrange, make_problem, new_state
from satisfice.policies.ts_cs import TSCS
from satisfice.policies.ts_intervals import ARM, PLAN
from satisfice.simulation.engine import compiled_run, plain_run
from satisfice.simulation.world import make_world
from stats import reject

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
decide = TSCS.decide
F = TypeVar("F", bound=Callable[..., Any])
# The chance that one of the tests below that compare with the literal rule fails although the laws are equal. There
# are about 60 of them.
ERROR = 1e-6


def compiled(function: F) -> F:
    return cast(F, compile_native(function))


def literal(costs: Floats, S: Floats, F: Floats, alpha: float, rng: np.random.Generator, theta: Floats) -> int:
    """The rule, word by word."""
    for k in range(len(costs)):
        theta[k] = rng.beta(S[k] + 1, F[k] + 1)
    threshold = (1 - alpha) * theta.max()
    chosen = -1
    for k in range(len(costs)):
        cheaper = chosen < 0 or costs[k] < costs[chosen]
        if theta[k] >= threshold and (cheaper or (costs[k] == costs[chosen] and theta[k] > theta[chosen])):
            chosen = k
    return chosen


@compiled
def literal_steps(costs: Floats, S: Floats, F: Floats, alpha: float, steps: int, rng: np.random.Generator) -> Ints:
    """How often each arm followed each arm, with posteriors that do not move."""
    pairs = np.zeros((len(costs), len(costs)), dtype=np.int64)
    theta = np.zeros(len(costs))
    last = 0
    for _ in range(steps):
        arm = literal(costs, S, F, alpha, rng, theta)
        pairs[last, arm] += 1
        last = arm
    return pairs


@compiled
def leased_steps(problem: Problem, state: State, t: int, steps: int, most: int, rng: np.random.Generator) -> Ints:
    """The same with the leases of the rule, of which at most `most` pulls are carried out.

    The posteriors stay, so the pulls are booked by moving what the rule remembers of the pulls before them."""
    pairs = np.zeros((len(problem.costs), len(problem.costs)), dtype=np.int64)
    done, last = 0, 0
    while done < steps:
        arm, pulls = decide(problem, state, t + done, rng)
        pulls = min(pulls, most, steps - done)
        pairs[last, arm] += 1
        pairs[arm, arm] += pulls - 1
        last = arm
        done += pulls
        state.ints.view(PLAN)[0].start -= pulls
    return pairs


@compiled
def repeated(problem: Problem, state: State, t: int, times: int, forget: bool, rng: np.random.Generator) -> Ints:
    """How often each arm is chosen when the same decision is asked for again and again."""
    chosen = np.zeros(len(problem.costs), dtype=np.int64)
    for _ in range(times):
        if forget:
            state.ints[:] = 0
            state.floats[:] = 0.0
        chosen[decide(problem, state, t, rng)[0]] += 1
    return chosen


def setup(
    costs: Sequence[float], S: list[int], F: list[int], alpha: float, binary: bool = True
) -> tuple[Problem, State]:
    policy = get_policy("ts-cs")
    problem = make_problem(policy, sf.BestReward(alpha), costs, np.arange(len(costs)), None, True, binary)
    state = new_state(policy, len(costs))
    state.pulls[:] = np.add(S, F)
    state.totals[:] = S
    return problem, state


def floats(costs: Sequence[float], S: Sequence[int], F: Sequence[int]) -> tuple[Floats, Floats, Floats]:
    return np.array(costs, dtype=float), np.array(S, dtype=float), np.array(F, dtype=float)


def differ(first: Ints, second: Ints) -> bool:
    """Whether two tables of counts come from different laws (chi-square; cells seen fewer than 25 times are pooled)."""
    table = np.array([first.ravel(), second.ravel()])
    rare = table.sum(axis=0) < 25
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return bool(table.shape[1] > 1 and chi2_contingency(table).pvalue < ERROR)


# Costs, successes, failures, alpha.
STATES = [
    ([1, 2], [1, 1], [0, 0], 0.25),
    ([1, 2], [700, 3], [300, 0], 0.25),
    ([1, 1], [50, 55], [50, 45], 0.0),
    ([1, 1, 1], [500, 520, 3], [500, 480, 1], 0.1),
    ([1, 2, 2, 3], [40, 450, 460, 5], [60, 550, 540, 0], 0.1),
    ([1, 2, 3], [60_000, 70_000, 80_000], [40_000, 30_000, 20_000], 0.25),
    ([1, 2, 3], [60_050, 70_000, 80_000], [39_950, 30_000, 20_000], 0.25),
    ([1, 2, 3, 4, 5], [200, 2, 7, 1, 0], [100, 0, 0, 0, 3], 0.25),
    ([1, 2, 3, 4, 5], [5, 900, 70, 20, 3], [5, 700, 30, 3, 0], 0.6),
    ([1, 1, 2, 2], [0, 0, 4, 9], [50, 3, 1, 2], 0.6),
    ([1, 2, 3], [0, 0, 0], [0, 9, 100], 0.0),
    (
        [0.02, 0.07, 0.09, 0.4, 0.42, 0.5, 0.6, 0.7, 0.8, 0.9],
        [323_982, 255_308, 461, 658, 29_543, 1129, 101_100, 11, 2, 7],
        [142_113, 92_617, 215, 298, 10_460, 453, 32_259, 2, 0, 0],
        0.25,
    ),
]


@pytest.mark.parametrize("costs, S, F, alpha", STATES)
def test_decisions_in_a_row(costs: list[float], S: list[int], F: list[int], alpha: float) -> None:
    rng = np.random.default_rng(1)
    steps = 200_000
    expected = literal_steps(*floats(costs, S, F), alpha, steps, rng)
    for most in (10**9, 3):
        problem, state = setup(costs, S, F, alpha)
        assert not differ(leased_steps(problem, state, sum(S) + sum(F) + 10, steps, most, rng), expected)


@pytest.mark.parametrize("costs, S, F, alpha", STATES)
@pytest.mark.parametrize("forget", [True, False])
def test_one_decision(costs: list[float], S: list[int], F: list[int], alpha: float, forget: bool) -> None:
    # Without forgetting, the rule is asked at the same time over and over: every answer must be drawn anew.
    rng = np.random.default_rng(2)
    times = 10_000
    expected = literal_steps(*floats(costs, S, F), alpha, times, rng).sum(axis=0)
    problem, state = setup(costs, S, F, alpha)
    assert not differ(repeated(problem, state, sum(S) + sum(F) + 10, times, forget, rng), expected)


def test_decisions_that_can_be_checked_by_hand() -> None:
    rng = np.random.default_rng(3)
    times = 100_000
    # Two arms of one cost, alpha = 0, Beta(2, 1) against Beta(1, 2): P(X > Y) is the integral of 2 x (2 x - x^2)
    # over [0, 1], 4/3 - 1/2 = 5/6.
    problem, state = setup([1, 1], [1, 0], [0, 1], 0.0)
    larger = repeated(problem, state, 2, times, False, rng)[0] / times
    # Two uniform samples, alpha = 1/2: the cheap arm is infeasible when x < y / 2, with probability 1/4.
    problem, state = setup([1, 2], [0, 0], [0, 0], 0.5)
    cheap = repeated(problem, state, 2, times, False, rng)[0] / times
    # Standard deviations sqrt(5/36 / 100000) = 0.0012 and sqrt(3/16 / 100000) = 0.0014; 0.008 is more than five.
    assert larger == pytest.approx(5 / 6, abs=0.008)
    assert cheap == pytest.approx(3 / 4, abs=0.008)


@pytest.mark.parametrize(
    "S, F", [([640, 40, 9], [400, 5, 0]), ([605, 52, 3], [402, 15, 0]), ([100, 30, 2], [50, 5, 2])]
)
def test_rewards_that_come_from_elsewhere(S: list[int], F: list[int]) -> None:
    # Between two decisions rewards of several arms come in, or are taken back, as in a live study with delays.
    rng = np.random.default_rng(4)
    costs, steps = [1, 2, 3], 4000
    problem, state = setup(costs, [600, 50, 2], [400, 10, 1], 0.25)
    counted = np.zeros((3, 3), dtype=np.int64)
    for _ in range(50):
        state.pulls[:], state.totals[:] = [1000, 60, 3], [600, 50, 2]
        leased_steps(problem, state, 2000, 10, 10**9, rng)
        state.pulls[:], state.totals[:] = np.add(S, F), S
        counted += leased_steps(problem, state, 2010, steps, 10**9, rng)
    expected = literal_steps(*floats(costs, S, F), 0.25, 50 * steps, rng)
    assert not differ(counted.sum(axis=0), expected.sum(axis=0))


@compiled
def interrupted_steps(problem: Problem, state: State, leases: int, rng: np.random.Generator) -> Ints:
    """How often each arm is played when, during every lease, rewards of the last arm come in or are taken back."""
    last = len(problem.costs) - 1
    played = np.zeros(len(problem.costs), dtype=np.int64)
    t = state.pulls.sum()
    for i in range(leases):
        arm, pulls = decide(problem, state, t, rng)
        played[arm] += pulls
        state.ints.view(PLAN)[0].start -= pulls
        state.totals[last] = 10 if i % 2 else 5
        t += pulls + 1
    return played


def test_rewards_that_come_during_leases() -> None:
    # The third arm never matters: with 10 of 105, as with 5 of 105, no sample comes near the 0.6 of the first. But its
    # posterior jumps during every lease, also during those that end because the step after them is a rare one, and such
    # a step must not be lost.
    rng = np.random.default_rng(11)
    problem, state = setup([1, 2, 3], [6000, 70, 5], [4000, 25, 100], 0.25)
    played = interrupted_steps(problem, state, 60_000, rng)
    assert played.sum() > 120_000  # leases of several pulls
    S, F = np.array([6000.0, 70.0, 5.0]), np.array([4000.0, 25.0, 100.0])
    expected = literal_steps(np.array([1.0, 2.0, 3.0]), S, F, 0.25, 400_000, rng).sum(axis=0)
    assert expected[1] > 1000
    assert not differ(played, expected)


@compiled
def literal_run(
    costs: Floats, values: Floats, shares: Floats, alpha: float, times: Ints, rng: np.random.Generator, out: Ints
) -> None:
    """A whole run of the literal rule; the reward of an arm is `values[j]` with probability `shares[arm, j]`."""
    S, F, theta = np.zeros(len(costs)), np.zeros(len(costs)), np.zeros(len(costs))
    mark = 0
    for t in range(times[-1]):
        arm = t if t < len(costs) else literal(costs, S, F, alpha, rng, theta)
        u, j = rng.random(), 0
        while u >= shares[arm, j] and j + 1 < len(values):
            u -= shares[arm, j]
            j += 1
        success = rng.random() < values[j]
        S[arm] += success
        F[arm] += not success
        while mark < len(times) and times[mark] == t + 1:
            out[mark] = S + F
            mark += 1


def runs_of(
    instance: sf.Instance, alpha: float, times: list[int], runs: int
) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Pulls of every arm at `times` in runs of the rule and of the literal rule."""
    policy, setting = get_policy("ts-cs"), sf.BestReward(alpha)
    order = arrange(instance.costs, setting, instance.names)
    binary = instance.reward == "bernoulli"
    problem = make_problem(policy, setting, instance.costs, order, None, True, binary)
    world, engine = make_world(instance, order), compiled_run(policy)
    values = np.array([0.0, 1.0]) if binary else instance.values
    shares = np.column_stack([1 - instance.means, instance.means]) if binary else instance.probabilities
    fast, slow = np.zeros((2, runs, len(times), instance.arms), dtype=np.int64)
    for run in range(runs):
        rng, state = np.random.default_rng([5, run]), new_state(policy, instance.arms)
        record = np.zeros((len(times), instance.arms), dtype=np.int64)
        engine(problem, state, world, np.array(times), record, rng)
        fast[run][:, order] = record
        assert (fast[run, -1, order] == state.pulls).all()
        rng = np.random.default_rng([6, run])
        out = np.zeros((len(times), instance.arms), dtype=np.int64)
        literal_run(instance.costs[order], values, shares[order], alpha, np.array(times), rng, out)
        slow[run][:, order] = out
    columns = [(i, k) for i in range(len(times)) for k in range(instance.arms)]
    return tuple({f"arm {k} at {times[i]}": x[:, i, k] for i, k in columns} for x in (fast, slow))  # type: ignore[return-value]


GRADES = sf.Instance(
    costs=[1, 2, 3],
    values=[0.0, 0.3, 1.0],
    probabilities=[[0.3, 0.5, 0.2], [0.1, 0.5, 0.4], [0.1, 0.2, 0.7]],
    reward="categorical",
)


@pytest.mark.parametrize(
    "instance, alpha",
    [
        (sf.Instance(costs=[1, 2, 3], means=[0.5, 0.6, 0.7]), 0.25),
        (sf.Instance(costs=[1, 2, 3], means=[0.5, 0.6, 0.7]), 0.0),
        (sf.Instance(costs=[3, 1, 2], means=[0.8, 0.6, 0.59]), 0.25),
        (sf.Instance(costs=[1, 2, 3], means=[0.9, 0.6, 0.3]), 0.1),
        (sf.Instance(costs=[1, 1, 2, 2, 2], means=[0.4, 0.42, 0.5, 0.52, 0.51]), 0.1),
        (sf.Instance(costs=[1, 1, 1], means=[0.5, 0.55, 0.6]), 0.6),
        (sf.Instance(costs=[1, 2, 2], means=[0.1, 0.3, 0.2]), 1.0),
        (sf.Instance(costs=[1, 2, 3, 4, 5], means=[0.2, 0.3, 0.7, 0.75, 1.0]), 0.6),
        (GRADES, 0.25),
    ],
)
def test_whole_runs(instance: sf.Instance, alpha: float) -> None:
    assert not reject(*runs_of(instance, alpha, [50, 200, 2000], 1000), ERROR)


def test_long_runs() -> None:
    instance = sf.Instance(costs=[1, 2, 3, 4], means=[0.69, 0.73, 0.72, 0.78])
    assert not reject(*runs_of(instance, 0.1, [2000, 20_000], 250), ERROR)


@pytest.mark.parametrize("instance, binary", [(GRADES, False), (sf.Instance([1, 2, 2], [0.5, 0.6, 0.65]), True)])
def test_plain_and_compiled_runs_are_the_same(instance: sf.Instance, binary: bool) -> None:
    policy = get_policy("ts-cs")
    problem = make_problem(policy, sf.BestReward(0.1), instance.costs, np.arange(3), None, True, binary)
    world, marks = make_world(instance, np.arange(3)), np.array([2000])
    states = []
    for engine in (plain_run(policy), compiled_run(policy)):
        state, record = new_state(policy, 3), np.zeros((1, 3), dtype=np.int64)
        engine(problem, state, world, marks, record, np.random.default_rng(7))
        states.append(state)
    np.testing.assert_array_equal(states[0].pulls, states[1].pulls)
    np.testing.assert_array_equal(states[0].totals, states[1].totals)
    np.testing.assert_array_equal(states[0].ints, states[1].ints)
    # The logarithms of Python and of the compiled code differ in the last digit.
    np.testing.assert_allclose(states[0].floats, states[1].floats, rtol=1e-9)


def test_leases() -> None:
    rng = np.random.default_rng(8)
    problem, state = setup([1, 2], [0, 0], [0, 0], 0.25)
    assert TSCS.decide(problem, state, 0, rng) == (SWEEP, 1)
    # With alpha = 1 every sample is feasible, so the cheapest arm is leased for as long as anybody likes.
    problem, state = setup([1, 2], [3, 4], [2, 1], 1.0)
    arm, pulls = TSCS.decide(problem, state, 10, rng)
    assert arm == 0 and pulls >= 1
    # An arm far ahead is leased for many pulls at once, but for one at a time when rewards are not known to be 0 or 1:
    # the sum of several would not tell how many of them count as successes.
    for binary in (True, False):
        problem, state = setup([1, 2], [9000, 100], [1000, 900], 0.25, binary)
        arm, pulls = TSCS.decide(problem, state, 11_000, rng)
        assert arm == 0 and (pulls > 10 if binary else pulls == 1)


@pytest.mark.parametrize("costs, S, F, alpha", STATES)
def test_bounds_hold_to_the_last_pull_of_a_lease(costs: list[float], S: list[int], F: list[int], alpha: float) -> None:
    # Whatever the rewards of a lease of several pulls are, the bounds hold at the last of its decisions.
    rng = np.random.default_rng(12)
    problem, state = setup(costs, S, F, alpha)
    table = state.floats[:-1].view(ARM)
    for _ in range(200):
        arm, pulls = decide(problem, state, sum(S) + sum(F) + 10, rng)
        if pulls > 1:
            assert table[arm].won + pulls - 1 <= table[arm].won_max
            assert table[arm].lost + pulls - 1 <= table[arm].lost_max


def test_a_fractional_reward_counts_as_a_success_with_its_own_probability() -> None:
    rng = np.random.default_rng(9)
    problem, state = setup([1, 2], [0, 0], [0, 0], 0.25, binary=False)
    for _ in range(10_000):
        state.pulls[0] += 1
        state.totals[0] += 0.3
        TSCS.learn(problem, state, 0, 1, 0.3, rng)
    successes = state.totals[0] + state.floats[:-1].view(ARM)[0].excess
    # A whole number, 3000 expected, standard deviation sqrt(10000 * 0.3 * 0.7) = 46.
    assert successes == pytest.approx(round(successes), abs=1e-6)
    assert abs(successes - 3000) < 5 * 46


@pytest.mark.parametrize("arms", [1, 10_000])
def test_numbers_of_arms(arms: int) -> None:
    rng = np.random.default_rng(10)
    instance = sf.Instance(costs=np.arange(arms), means=np.linspace(0.4, 0.6, arms))
    policy, state = get_policy("ts-cs"), new_state(get_policy("ts-cs"), arms)
    problem = make_problem(policy, sf.BestReward(0.1), instance.costs, np.arange(arms), None, True, True)
    horizon, record = arms + 300, np.zeros((1, arms), dtype=np.int64)
    world = make_world(instance, np.arange(arms))
    compiled_run(policy)(problem, state, world, np.array([horizon]), record, rng)
    assert state.pulls.sum() == horizon and state.pulls.min() >= 1


def test_where_it_does_not_serve() -> None:
    with pytest.raises(InvalidPolicy, match="serves BestReward"):
        get_policy("ts-cs").check(sf.ReferenceArm(0, 0.1), 100, True)
    with pytest.raises(InvalidPolicy, match=r"within \[0, 1\]"):
        get_policy("ts-cs").check(sf.BestReward(0.1), 100, False)
