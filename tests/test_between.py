"""What rewards between 0 and 1 prove beyond coin flips: the inequality, by hand, against slow twins, at any time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import satisfice as sf
from satisfice.between import between, crossing, rate, stretched
from satisfice.cases import against, due, fixed, make_case, pair
from satisfice.policies.compiled import compile_native
from satisfice.proofs import judge, refuter, rivals
from satisfice.statistics import evidence, kl, penalty

Floats = NDArray[np.float64]
rewards = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5, 0.7, 0.75, 0.9, 1.0]), min_size=1, max_size=60)

# Slow twins.

LOGITS = np.linspace(-40.0, 40.0, 1601)
LOG_Q, LOG_REST = -np.log1p(np.exp(-LOGITS)), -np.log1p(np.exp(LOGITS))
# The weights of the Beta(1/2, 1/2) mixture on a grid of log odds.
WEIGHTS = 0.5 * (LOG_Q + LOG_REST) - math.log(math.pi) + math.log(LOGITS[1] - LOGITS[0])


def told(sample: Floats, mu: Floats) -> Floats:
    """`log M(mu)` of a sample, at many means: the product of the left sides, integrated."""
    mu = mu[:, None]
    v = np.abs(LOGITS - np.log(mu / (1.0 - mu)))
    c = v - 1.0 + np.exp(-v)
    ones, rest = float(sample.sum()), float((1.0 - sample).sum())
    logs = WEIGHTS + ones * (LOG_Q - np.log(mu)) + rest * (LOG_REST - np.log(1.0 - mu))
    logs = logs + c * float((sample * (1.0 - sample)).sum())
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def least(of_i: Floats, of_j: Floats, scale: float, refuting: bool) -> float:
    """The smallest `log M_i + log M_j` over all pairs of means on a grid that contradict what is to be proved."""
    grid = np.linspace(0.01, 0.99, 99)
    both = told(of_i, grid)[:, None] + told(of_j, grid)[None, :]
    wrong = grid[:, None] >= scale * grid[None, :] if refuting else grid[:, None] < scale * grid[None, :]
    return float(both[wrong].min())


def sums(sample: Floats) -> tuple[int, float, float]:
    return len(sample), float(sample.sum()), float((sample**2).sum())


def nats_of(one: Floats, other: Floats, scale: float) -> float:
    (n_i, s_i, q_i), (n_j, s_j, q_j) = sums(one), sums(other)
    return pair(n_i, s_i, n_j, s_j, scale, squares=(q_i, q_j))


def stretches(n: float, m: float, d: float, mu: float) -> float:
    """`n rate(m, d, mu)`, by trying slopes."""
    b = np.linspace(0.0, 0.999, 4000)
    p = m + b * d if m > mu else m - b * d
    flips = p * np.log(p / mu) + (1.0 - p) * np.log((1.0 - p) / (1.0 - mu))
    return float(n * (flips - d * (b + (1.0 - b) * np.log1p(-b))).max())


# The inequality, and the number that follows from it.


def test_the_inequality() -> None:
    """The left side is at most the right one for all rewards within [0, 1], and the same at 0 and 1."""
    x = np.linspace(0.0, 1.0, 101)
    for mu in (1e-3, 0.1, 0.5, 0.9, 0.999):
        for q in (1e-4, 0.05, 0.3, 0.5, 0.51, 0.7, 0.95, 0.9999):
            v = abs(math.log(q * (1 - mu) / (mu * (1 - q))))
            c = v - 1 + math.exp(-v)
            left = (q / mu) ** x * ((1 - q) / (1 - mu)) ** (1 - x) * np.exp(c * x * (1 - x))
            right = (1 - x) * (1 - q) / (1 - mu) + x * q / mu
            assert (left <= right * (1 + 1e-12)).all()
            assert left[[0, -1]] == pytest.approx(right[[0, -1]])
            assert (1 - mu) * right[0] + mu * right[-1] == pytest.approx(1.0)  # the mean of a straight line
            # A larger c would be too much: near 1 where q > mu, near 0 where q < mu.
            near = 0.999 if q > mu else 0.001
            more = (
                (q / mu) ** near * ((1 - q) / (1 - mu)) ** (1 - near) * math.exp((1.01 * c + 1e-6) * near * (1 - near))
            )
            assert more > (1 - near) * (1 - q) / (1 - mu) + near * q / mu
            # Its tangents lie below it, on either side.
            for b in (-0.9, -0.3, 0.0, 0.5, 0.99):
                logs = np.linspace(-9, 9, 181)
                k = abs(b) + (1 - abs(b)) * math.log(1 - abs(b))
                assert (np.abs(logs) - 1 + np.exp(-np.abs(logs)) >= b * logs - k - 1e-12).all()


def test_by_hand() -> None:
    """A hundred rewards of 1/2: the sum is 50, the squares add up to 25, and X (1 - X) is 1/4.

    Against a mean of 5/11 the slope is 1/2: with p = 1/2 + 1/2 x 1/4 = 5/8, (3/8) (5/11) / ((5/8) (6/11)) = 1/2. They
    count as flips of mean 5/8, 0.625 log(11/8) + 0.375 log(11/16) nats each, for 1/4 (1/2 + 1/2 log(1/2)) nats each.
    """
    assert between(100, 50.0, 25.0) == 0.25
    assert stretched(0.5, 0.25, 5 / 11)[0] == pytest.approx(0.625)
    each = 0.625 * math.log(11 / 8) + 0.375 * math.log(11 / 16) - 0.25 * (0.5 + 0.5 * math.log(0.5))
    assert rate(0.5, 0.25, 5 / 11) == pytest.approx(each)
    assert fixed(100, 50, 5 / 11, squares=25) == pytest.approx(min(-(100 * each - penalty(100, 0.625)), 0.0))
    assert fixed(1000, 500, 5 / 11, squares=250) == pytest.approx(-(1000 * each - penalty(1000, 0.625)))
    # From the other side it is the same.
    assert fixed(1000, 500, 6 / 11, squares=250) == pytest.approx(1000 * each - penalty(1000, 0.375))
    # Two such arms, at equal distance: one of mean 3/8 + 1/8 and one of mean 1/2 whose other side is mirrored.
    assert crossing(10, 0.4, 0.1, 10, 0.6, 0.1, 1.0) == pytest.approx(0.5, abs=1e-3)
    p, lost = stretched(0.4, 0.1, 0.5)
    both = 2 * (1000 * (kl(p, 0.5) - lost) - penalty(1000, p))
    assert pair(1000, 400, 1000, 600, 1.0, squares=(300, 500)) == pytest.approx(both, rel=1e-6)


def test_squares_that_are_not_known_are_those_of_coin_flips() -> None:
    assert between(10, 4.0, 4.0) == between(10, 4.0, 0.0) == between(10, 4.0, 1.5) == between(0, 0.0, 0.0) == 0.0
    assert between(10, 4.0, 1.6) == pytest.approx(0.24)  # ten times 0.4
    assert between(10, 4.0, 4.0 - 1e-12) == 0.0  # rounding
    assert pair(500, 200, 500, 300, 0.9, squares=(0.0, 0.0)) == pair(500, 200, 500, 300, 0.9)
    gaussian = make_case(np.ones(2), np.full(2, 9), np.array([1.0, 2.0]), 1.0, sigma=1.0, squares=np.array([0.5, 1.0]))
    assert not gaussian.rated and not gaussian.between.any()


# The fast way against slow ones.


@settings(max_examples=150, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.0, 1.0), st.floats(0.01, 0.99))
def test_the_best_slope(m: float, share: float, mu: float) -> None:
    d = share * m * (1 - m)
    assert 100 * rate(m, d, mu) == pytest.approx(stretches(100, m, d, mu), rel=1e-3, abs=1e-3)
    assert rate(m, d, mu) >= kl(m, mu) - 1e-12


@settings(max_examples=150, deadline=None)
@given(
    *[st.floats(0.02, 0.98)] * 2, *[st.floats(0.0, 1.0)] * 2, *[st.integers(1, 10**5)] * 2, st.floats(0.5, 1.0)
)  # fmt: skip
def test_where_two_arms_meet(
    m_i: float, m_j: float, share_i: float, share_j: float, n_i: int, n_j: int, scale: float
) -> None:
    """No `x` of a fine grid has less than the one that is found, but for 1% or 0.01 nats."""
    d_i, d_j = share_i * m_i * (1 - m_i), share_j * m_j * (1 - m_j)
    found = pair(n_i, n_i * m_i, n_j, n_j * m_j, scale, squares=(n_i * (m_i - d_i), n_j * (m_j - d_j)))
    x = np.linspace(min(m_i / scale, m_j), min(max(m_i / scale, m_j), 1.0 - 1e-9), 2001)
    slow = min(n_i * rate(m_i, d_i, scale * y) + n_j * rate(m_j, d_j, y) for y in x.tolist())
    at = crossing(n_i, m_i, d_i, n_j, m_j, d_j, scale)
    lost = penalty(n_i, stretched(m_i, d_i, scale * at)[0]) + penalty(n_j, stretched(m_j, d_j, at)[0])
    assert abs(found) <= max(slow - lost, 0.0) + 1e-4 * slow + 1e-6
    assert abs(found) >= max(slow - lost, 0.0) - 0.01 * slow - 0.01


@pytest.mark.parametrize("scale", [1.0, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_never_more_than_the_martingale_tells(scale: float, seed: int) -> None:
    """The exact mixture, integrated, at all pairs of means that contradict: it tells at least what is claimed, and
    hardly more."""
    rng = np.random.default_rng(seed)
    one, other = rng.beta(4, 8 + seed, size=40 + 20 * seed), rng.beta(9, 3, size=70)
    if seed % 2:
        one, other = np.round(4 * one) / 4, np.round(4 * other) / 4
    up, down = nats_of(one, other, scale), -nats_of(other, one, scale)
    assert up > 2.0 and down > 2.0
    for claimed, slow in ((up, least(one, other, scale, True)), (down, least(other, one, scale, False))):
        assert claimed <= slow + 1e-6
        assert claimed >= slow - 2.0  # half the log of how much less they vary than flips, for each arm
    # And more than flips of the same sums would tell.
    assert up > pair(len(one), one.sum(), len(other), other.sum(), scale) + 1.0


@settings(max_examples=60, deadline=None)
@given(rewards, rewards, st.lists(st.floats(0, 1), max_size=6), st.lists(st.floats(0, 1), max_size=6))
def test_rewards_that_are_late_prove_no_less(
    one: list[float], other: list[float], late_i: list[float], late_j: list[float]
) -> None:
    """Whatever they turn out to be, the martingale of all rewards tells at least what was claimed without them."""
    seen = [sums(np.array(one)), sums(np.array(other))]
    pending = np.array([len(late_i), len(late_j)])
    n, s, q = (np.array(column) for column in zip(*seen, strict=True))
    for scale in (1.0, 0.75):
        case = make_case(np.ones(2), n, s, scale, pending=pending, squares=q)
        claimed = against(case, 0, 1)
        if claimed != 0.0:
            whole = np.array(one + late_i), np.array(other + late_j)
            assert abs(claimed) <= least(*whole, scale, claimed > 0) + 1e-6
    case = make_case(np.ones(1), n[:1], s[:1], 1.0, mu0=0.6, pending=pending[:1], squares=q[:1])
    claimed = against(case, 0, 1)
    assert claimed == 0.0 or abs(claimed) <= float(told(np.array(one + late_i), np.array([0.6]))[0]) + 1e-6


def test_the_penalty_is_least_in_the_middle() -> None:
    """So that the larger one of two ends is the largest between them."""
    for n in (1, 2, 10, 1000):
        nats = [penalty(n, m) for m in np.linspace(0.0, 1.0, 201).tolist()]
        assert (np.diff(nats[:101]) <= 1e-12).all() and (np.diff(nats[100:]) >= -1e-12).all()
    assert due(100, 0.3, 0.95) == penalty(100, 0.95) and due(100, 0.3, 0.4) == penalty(100, 0.3)


# What must not change, and what must hold.


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1), st.floats(0.1, 1), st.booleans())
def test_rewards_of_0_and_1_are_coin_flips(
    n_i: int, n_j: int, share_i: float, share_j: float, scale: float, known: bool
) -> None:
    """To the last digit what they were, whether their squares are given or not."""
    s_i, s_j = float(round(share_i * n_i)), float(round(share_j * n_j))
    m_i, m_j = s_i / max(n_i, 1), s_j / max(n_j, 1)
    z = max(evidence(n_i, m_i, n_j, m_j, scale) - (penalty(n_i, m_i) + penalty(n_j, m_j)), 0.0)
    squares = (s_i, s_j) if known else None
    assert pair(n_i, s_i, n_j, s_j, scale, squares=squares) == (z if m_i < scale * m_j else -z)


@settings(max_examples=300, deadline=None)
@given(
    *[st.floats(0.0, 1.0)] * 4, *[st.integers(1, 10**6)] * 2, st.sampled_from([1.0, 0.9, 0.5])
)  # fmt: skip
def test_never_less_than_coin_flips(
    m_i: float, m_j: float, share_i: float, share_j: float, n_i: int, n_j: int, scale: float
) -> None:
    """Up to 0.1% of the nats: the place where the arms meet is found to 5%."""
    flips = abs(pair(n_i, n_i * m_i, n_j, n_j * m_j, scale))
    squares = n_i * (m_i - share_i * m_i * (1 - m_i)), n_j * (m_j - share_j * m_j * (1 - m_j))
    mine = abs(pair(n_i, n_i * m_i, n_j, n_j * m_j, scale, squares=squares))
    assert mine >= flips * 0.999 - 0.05


def test_compiled_as_plain() -> None:
    rng = np.random.default_rng(4)
    fast_case, fast = compile_native(make_case), compile_native(against)
    for _ in range(50):
        n = rng.integers(1, 5000, 3)
        m = rng.uniform(0.0, 1.0, 3)
        s = n * m
        q = s - n * m * (1 - m) * rng.uniform(0.0, 1.0, 3)
        terms = np.arange(3.0), n, s, 0.9, -1, math.nan, 0.0, rng.integers(0, 3, 3), q
        case, compiled = make_case(*terms), fast_case(*terms)
        for i in range(3):
            for j in range(3):
                if i != j:
                    assert fast(compiled, i, j) == pytest.approx(against(case, i, j), rel=1e-9, abs=1e-9)


def test_a_rule_that_buys_a_proof_compiled_as_plain() -> None:
    """Ratings of three arms: the same pulls, of all that there are."""
    values = [0.0, 0.25, 0.5, 0.75, 1.0]
    shares = [[0.05, 0.3, 0.5, 0.1, 0.05], [0.0, 0.1, 0.2, 0.5, 0.2], [0.0, 0.05, 0.2, 0.55, 0.2]]
    ratings = sf.Instance(costs=[1.0, 2.0, 4.0], means=None, reward="categorical", values=values, probabilities=shares)
    policy, setting = sf.GLR(proof=0.1), sf.BestReward(0.1)
    runs = [sf.simulate(ratings, setting, policy, 3_000, runs=3, seed=2, compiled=way) for way in (True, False)]
    pulls = [next(iter(found.values())).pulls for found in runs]
    assert (pulls[0] == pulls[1]).all()


def test_nobody_who_could_refute_is_passed_over() -> None:
    """The short ways of `refuter` against all comparisons, for arms whose rewards vary to any degree."""
    rng = np.random.default_rng(7)
    proved = 0
    for _ in range(100):
        n, m = rng.integers(1, 800, 5), rng.uniform(0.2, 0.8, 5)
        s = n * m
        q = s - n * m * (1 - m) * rng.uniform(0.0, 1.0, 5) * (rng.random(5) < 0.7)
        case = make_case(np.arange(5.0), n, s, 0.9, squares=q)
        levels = np.full(5, 5.0)
        for i in range(5):
            slow = any(against(case, i, j) >= 5.0 for j in range(5) if j != i)
            assert (refuter(case, levels, i, rivals(case, levels)) >= 0) == slow
            proved += slow
        assert judge(case, levels).certified >= -1
    assert proved > 50


@pytest.mark.parametrize("law", ["ratings", "jackpot", "disaster", "steady"])
def test_how_often_a_proof_is_ever_wrong(law: str) -> None:
    """Two equal arms, looked at after every tenth reward of up to 400 each: 300 runs at 0.2 are wrong at most 82 times.

    A binomial of 300 with 0.2 exceeds 82 with a probability of 1e-3; what is seen is far less.
    """
    rng = np.random.default_rng(11)

    def draw() -> Floats:
        rare = rng.random(400) < 0.01
        drawn = {
            "ratings": rng.binomial(4, 0.7, 400) / 4,
            "jackpot": np.where(rare, 1.0, 0.1),
            "disaster": np.where(rare, 0.0, 0.9),
            "steady": 0.5 + 0.01 * rng.choice([-1.0, 1.0], 400),
        }
        return np.asarray(drawn[law])

    wrong = 0
    for _ in range(300):
        one, other = draw(), draw()
        wrong += any(abs(nats_of(one[:n], other[:n], 1.0)) >= math.log(1 / 0.2) for n in range(10, 401, 10))
    assert wrong <= 82
