"""The lemmas of docs/theorem.md on numbers, and the rule that they are about."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

import satisfice as sf
from satisfice.covering import cheapest, hardest
from satisfice.policies.contract import Problem, State, arrange, make_problem, new_state
from satisfice.policies.graves_lai import FIRST, asked, buy, rates, support, together
from satisfice.policies.leader import right_arm
from satisfice.statistics import kl

Floats = NDArray[np.float64]


def random_problems(count: int, seed: int) -> list[tuple[sf.Instance, sf.Setting, Problem, Floats]]:
    """Instances of 2 to 5 arms in all three settings, with what the rule knows and its arms' true means."""
    rng = np.random.default_rng(seed)
    found: list[tuple[sf.Instance, sf.Setting, Problem, Floats]] = []
    while len(found) < count:
        arms = int(rng.integers(2, 6))
        instance = sf.Instance(np.sort(rng.uniform(0.1, 1, arms)), rng.uniform(0.1, 0.9, arms))
        alpha = float(rng.choice([0.0, 0.1, 0.3]))
        setting = (
            sf.BestReward(alpha),
            sf.ReferenceArm(arms - 1, alpha),
            sf.FixedThreshold(float(instance.means.max()) - 0.1),
        )[len(found) % 3]
        order = arrange(instance.costs, setting, instance.names)
        policy = sf.GravesLai()
        problem = make_problem(policy, setting, instance.costs, order, None, bounded=True)
        found.append((instance, setting, problem, instance.means[order]))
    return found


def state_of(pulls: Floats, means: Floats) -> State:
    state = new_state(sf.GravesLai(), len(means))
    state.pulls[:] = pulls
    state.totals[:] = state.pulls * means
    return state


def test_lemma_1_another_first_argument() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        r = rng.uniform(0.01, 0.4)
        p, other = rng.uniform(r, 1 - r, 2)
        q, d = float(rng.beta(0.3, 0.3)), abs(p - other)
        slope = math.log((1 - r) / r) + math.log(2) / r
        assert kl(other, q) >= (1 - d / r) * kl(p, q) - d * slope - 1e-12


def test_lemma_2_another_second_argument() -> None:
    rng = np.random.default_rng(2)
    for _ in range(2000):
        r = rng.uniform(0.01, 0.5)
        q, other = rng.uniform(r / 2, 1 - r / 2, 2)
        p = rng.choice([0.0, 1.0, rng.uniform()])
        assert abs(kl(p, q) - kl(p, other)) <= 2 / r * abs(q - other) + 1e-12


class Constants:
    """The constants of the proof, for one instance and one delta."""

    def __init__(self, instance: sf.Instance, setting: sf.Setting, share: float = 1.0) -> None:
        means, star = instance.means, setting.optimal_arm(instance)
        self.gaps = setting.cost_gaps(instance) + setting.quality_gaps(instance)
        self.others = np.array([k for k in range(instance.arms) if k != star])
        cheaper = instance.costs < instance.costs[star]
        keep, mu_a = 1 - setting.alpha, float(means[star])
        ends = [*means, *(1 - means)]
        if setting.fixed:
            away = [abs(means[k] - setting.mu0) for k in (star, *np.flatnonzero(cheaper))]
            ends += [setting.mu0, 1 - setting.mu0]
            keep = 1.0
        else:
            judges = self.others if setting.reference is None else [instance.arms - 1]
            away = list(setting.threshold(instance) - means[cheaper])
            away += [mu_a - keep * means[j] for j in judges if j != star] + [abs(mu_a - keep)]
            ends += [keep * mu_a] + ([1 - mu_a / keep] if mu_a < keep else [])
        self.keep, self.gap, self.r = keep, min(away), min(ends) / 2
        prices = self.gaps[self.others]
        self.sum = 25 * prices.sum() / self.gap**2 * (1 / prices).sum()
        log = math.log((1 - self.r) / self.r) + math.log(2) / self.r
        self.slope = 2 / self.r + 6 * self.sum / (self.r * keep) + 2 * log * self.sum
        # The largest delta for which all conditions hold, eps being at most 1/2.
        self.delta = share * min(self.gap / 8, keep * self.r / 6, prices.min() / 4, 0.5 / self.slope)
        self.eps = self.delta * self.slope
        least = sf.bounds.regret(instance, setting, family="bernoulli").regret
        ratio = self.delta / prices.min()
        self.rate = (1 + 2e-6) * (1 + 4 * ratio) * (1 + 2 * ratio) * least / (1 - self.eps)


def alternatives(problem: Problem, leader: int, at: float, rng: np.random.Generator, means: Floats) -> list[Floats]:
    """Means in which `leader`, with mean `at`, is not right: the hardest ones of every kind, and random ones."""
    arms, scale = len(means), 1 - problem.alpha
    base = means.copy()
    base[leader] = at
    found = []
    for i in range(leader):
        for x in np.linspace(0.01, 0.99, 60):
            other = base.copy()
            if math.isnan(problem.mu0):
                judges = [problem.reference] if problem.reference >= 0 else [j for j in range(arms) if j != i]
                if leader in judges and x < at:
                    continue
                other[[j for j in judges if j != leader]] = np.minimum(base[[j for j in judges if j != leader]], x)
                other[i] = max(base[i], scale * max(other[j] for j in judges))
            else:
                other[i] = problem.mu0
            found.append(other)
    for j in range(arms):
        judged = math.isnan(problem.mu0) and (problem.reference < 0 or j == problem.reference)
        if judged and j != leader and at / scale < 1:
            other = base.copy()
            other[j] = at / scale
            found.append(other)
    for other in rng.uniform(size=(200, arms)):
        other[leader] = at
        if right_arm(problem, other) != leader:
            found.append(other)
    return found


def test_lemmas_3_and_4_the_program_at_neighbours() -> None:
    """Feasible for one mean vector: nearly feasible for its neighbours; rates are bounded, and near C in regret."""
    rng = np.random.default_rng(3)
    checked = 0
    for instance, setting, problem, means in random_problems(60, seed=4):
        constants = Constants(instance, setting)
        if constants.gap < 0.01:
            continue
        arms, leader = len(means), right_arm(problem, means)
        noise = rng.uniform(-1, 1, (2, arms)) * constants.delta
        near, other = means + noise[0], means + noise[1]
        assert right_arm(problem, near) == right_arm(problem, other) == leader
        needs = rates(problem, leader, near)
        assert needs[leader] == 0.0
        assert needs.sum() <= constants.sum
        order = arrange(instance.costs, setting, instance.names)
        assert needs @ constants.gaps[order] <= constants.rate * (1 + 1e-9) + 1e-9
        for shift in (-1.0, 0.0, 1.0):
            at = other[leader] + shift * constants.delta
            for mean in alternatives(problem, leader, at, rng, means):
                nats = sum(needs[k] * kl(other[k], mean[k]) for k in range(arms) if k != leader and needs[k] > 0)
                assert nats >= 1 - constants.eps - 1e-9
                checked += 1
    assert checked > 5000


def test_the_program_of_the_rule_is_that_of_the_bounds() -> None:
    for instance, setting, problem, means in random_problems(60, seed=5):
        order = arrange(instance.costs, setting, instance.names)
        gaps = (setting.cost_gaps(instance) + setting.quality_gaps(instance))[order]
        needs = rates(problem, right_arm(problem, means), means)
        assert needs @ gaps == pytest.approx(sf.bounds.regret(instance, setting).regret, rel=3e-6, abs=1e-9)


def test_means_on_the_threshold_have_an_answer() -> None:
    means, prices = np.array([0.45, 0.9, 0.9, 0.5]), np.array([1e-6, 1e-6, 0.5, 0.7])
    needs = cheapest(means, prices, 1, 0.5)
    assert np.isfinite(needs).all() and (needs >= 0).all()
    assert hardest(np.ones(2), np.array([0.2, 0.4]), 0, np.zeros(2, dtype=np.bool_), 0.5, 0.9) == 0.5


def test_lemma_5_bad_means_are_rare() -> None:
    """400 sequences of 600 rewards; the bound is 0.16, and what is seen far below it."""
    rng, e, delta = np.random.default_rng(6), 100, 0.4
    bound = 2 * math.exp(-e * delta**2 / 2) / (1 - math.exp(-(delta**2) / 2))
    means = (rng.uniform(size=(400, 600)) < 0.6).cumsum(axis=1) / np.arange(1, 601)
    assert (abs(means[:, e - 1 :] - 0.6) > delta / 2).any(axis=1).mean() <= bound < 0.2


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
def test_lemma_6_wrong_plays_are_rare(mean: float) -> None:
    """P(Y_1 + Y_2 >= y) is at most the bound: 4,000 pairs, and a margin of 4 standard errors (error below 1e-4)."""
    rng, u, x = np.random.default_rng(7), 200, 0.4
    n = np.arange(1, u + 1)
    seen = (rng.uniform(size=(8000, u)) < mean).cumsum(axis=1) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        nats = n * (
            np.where(seen > 0, seen * np.log(seen / mean), 0)
            + np.where(seen < 1, (1 - seen) * np.log((1 - seen) / (1 - mean)), 0)
        )
    largest = nats.max(axis=1)
    ranges = 2 * (1 + math.log(u) / math.log(1 + x))
    for y in (1.0, 3.0, 5.0, 8.0):
        one = min(ranges * math.exp(-y / (1 + x)), 1.0)
        assert (largest >= y).mean() <= one + 4 * math.sqrt(one / 8000)
        both = min((ranges / x) ** 2 * math.exp(-y * (1 - x) / (1 + x)), 1.0)
        assert (largest[:4000] + largest[4000:] >= y).mean() <= both


def test_lemma_6_is_summable() -> None:
    """With gamma = 0 the bound times u log^2 u stays bounded as u grows: K = 3, up to e^10,000."""
    arms = 3
    values = []
    for log_u in (10.0, 100.0, 1e3, 1e4):
        log_t = log_u - math.log(2)
        y = log_t + (3 * arms + 2) * math.log(log_t)
        values.append(2 + arms * math.log(6 * y**2 * log_u) - y + log_u + 2 * math.log(log_u))
    assert max(values[1:]) <= values[0]


def test_support_is_the_smallest_divergence_to_any_other_truth() -> None:
    """Against a grid of all means of three arms: never above it, and near it."""
    rng, axis = np.random.default_rng(8), np.linspace(0.02, 0.98, 25)
    grid = [np.array(point) for point in itertools.product(axis, repeat=3)]
    for _, _, problem, means in [p for p in random_problems(40, seed=9) if len(p[3]) == 3][:6]:
        pulls = rng.integers(20, 200, 3).astype(float)
        state = state_of(pulls, np.round(means * pulls) / pulls)
        means = state.totals / state.pulls
        leader = right_arm(problem, means)
        table = np.array([[pulls[k] * kl(means[k], q) for q in axis] for k in range(3)])
        nats = table[0][:, None, None] + table[1][None, :, None] + table[2][None, None, :]
        other = np.array([right_arm(problem, point) != leader for point in grid]).reshape(nats.shape)
        least = nats[other].min() if other.any() else math.inf
        found = support(problem, state, leader)
        assert found <= least + 1e-9
        if math.isfinite(least):
            # A point of the grid is a step off at most: sqrt(Z) changes by 0.04 sqrt(sum of N / v), v > 0.05.
            assert math.sqrt(found) >= math.sqrt(least) - 0.04 * math.sqrt(pulls.sum() / 0.05)
    assert together(np.array([50.0, 50.0]), np.array([0.9, 0.5]), 0, 0.9) == 0.0


def test_lemma_7_nats_bought() -> None:
    """e^2 / 5 <= b_e <= (e + 1)^2, and the leader's pulls are at least (2/3) b^(3/2)."""
    bought, leader = 0.0, 0.0
    for e in range(1, 3000):
        size = math.sqrt(1 + bought)
        bought += size
        leader += size * math.sqrt(bought)
        assert e * e / 5 <= bought <= (e + 1) ** 2
        assert leader >= 2 / 3 * bought**1.5


def test_an_instalment_buys_what_it_says() -> None:
    """At the true means, an instalment of h nats adds h nats to the support, once the leader is known well."""
    instance, setting = sf.Instance([0.1, 0.4, 0.7], [0.3, 0.7, 0.9]), sf.BestReward(0.3)
    problem = make_problem(sf.GravesLai(), setting, instance.costs, np.arange(3), None, bounded=True)
    state = state_of(np.array([1e4, 1e7, 1e4]), instance.means)
    state.floats[0], state.ints[0] = 24.0, 10
    means = (state.totals + 1) / (state.pulls + 2)
    before = support(problem, state, 1)
    buy(problem, state, 1, means)
    assert state.floats[0] == 29.0  # sqrt(1 + 24) nats more
    assert state.ints[1] > 0 and state.ints[3] > 0
    state.pulls[:] += state.ints[1:]
    state.totals[:] = state.pulls * instance.means
    assert 5.0 <= support(problem, state, 1) - before <= 5.5


def test_lemma_8_the_sum_of_all_parts() -> None:
    """Simulated regret is below the bound, by far: also with e_1 for e_0 and without wrong plays, which is less."""
    instance, setting, horizon, gamma = sf.Instance([0.2, 0.6], [0.3, 0.8]), sf.FixedThreshold(0.55), 20_000, 0.1
    constants = Constants(instance, setting)
    delta, arms, largest = constants.delta, 2, float(constants.gaps.max())
    nats = (1 + gamma) * math.log(horizon + 1)
    most = max(nats / (1 - constants.eps), (nats / delta**2) ** (2 / 3))
    early = math.ceil(max(2 / delta, constants.sum + 2))
    bound = constants.rate * (most + 2 + early + math.sqrt(most))
    bound += arms * largest * (12 + early + 2 * math.sqrt(5 * most))
    bound += largest * 21_000 * early**3 * (arms + early)
    result = sf.simulate(instance, setting, ["graves-lai"], horizon=horizon, runs=5, seed=1, compiled=False, workers=1)
    regret = (result["graves-lai"].cost_regret + result["graves-lai"].quality_regret).mean()
    least = sf.bounds.regret(instance, setting).regret
    assert 0 < regret <= bound
    # What it is, about: (1 + gamma) C log T and the first pulls of every arm; the factor 3 is room.
    assert regret <= 3 * (least * nats + FIRST * constants.gaps.sum())


def test_levels_and_words() -> None:
    problem = make_problem(sf.GravesLai(gamma=0), sf.FixedThreshold(0.5), [1.0, 2.0], np.arange(2), None, bounded=True)
    t = math.exp(5) - 1
    assert asked(problem, t) == pytest.approx(5 + 8 * math.log(5))  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidPolicy, match="gamma = -1"):
        sf.GravesLai(gamma=-1)
    with pytest.raises(sf.InvalidPolicy, match=r"needs rewards within \[0, 1\]"):
        sf.simulate(
            sf.Instance([1, 2], [0.1, 0.2], reward="gaussian"), sf.BestReward(0.1), ["graves-lai"], horizon=100, runs=1
        )


def test_where_no_arm_is_good_enough_the_best_is_played() -> None:
    problem = make_problem(sf.GravesLai(), sf.FixedThreshold(0.9), [1.0, 2.0], np.arange(2), None, bounded=True)
    state = state_of(np.array([400, 400]), np.array([0.3, 0.6]))
    rng = np.random.default_rng(0)
    assert sf.GravesLai.decide(problem, state, 800, rng)[0] == 1
    state = state_of(np.array([10, 10]), np.array([0.3, 0.6]))
    arm, pulls = sf.GravesLai.decide(problem, state, 20, rng)
    assert pulls >= 1 and state.ints[0] == 1 and (arm, state.ints[1]) == (0, 0)
