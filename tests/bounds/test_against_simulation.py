"""Theory beside simulation: below the upper bounds, above the lower ones and in their order, and linear in log T.

An upper bound is tested with five standard errors in hand: were the expectation above the bound, the test would
pass with a probability of at most 3e-7 (normal approximation). In the other direction there is room as well:
over these instances the means of PE and PE-CS are at most a fifth of their bounds.
"""

import math

import numpy as np
import pytest

import satisfice as sf
from satisfice.bounds import lower, upper

RUNS = 20
ERRORS = 5.0


def random_problems(count: int, seed: int) -> list[tuple[sf.Instance, float, int]]:
    """Instances of 2 to 8 arms with a subsidy factor and a reference arm; one in four has ties in cost."""
    rng = np.random.default_rng(seed)
    problems = []
    for _ in range(count):
        arms = int(rng.integers(2, 9))
        costs = rng.integers(1, 5, arms) / 4 if rng.random() < 0.25 else rng.random(arms)
        instance = sf.Instance(costs, rng.random(arms))
        problems.append((instance, float(rng.choice([0.0, 0.1, 0.3])), int(rng.integers(arms))))
    return problems


def settings_of(instance: sf.Instance, alpha: float, reference: int) -> dict[str, sf.Setting]:
    return {
        "pe": sf.ReferenceArm(reference, alpha),
        "asymmetric-pe": sf.ReferenceArm(reference, alpha),
        "pe-cs": sf.BestReward(alpha),
        "pe-cs(kappa=5)": sf.BestReward(alpha),
        "ft-ucb": sf.FixedThreshold((0.9 - alpha) * float(instance.means.max())),
    }


def is_cheap(policy: str, instance: sf.Instance, horizon: int) -> bool:
    """FT-UCB explores for ever, and among arms of equal cost step by step: long horizons would be long there."""
    return policy != "ft-ucb" or horizon <= (10**6 if len(set(instance.costs)) == instance.arms else 10**4)


def at_most(values: np.ndarray, bound: float) -> bool:
    spread = values.std(ddof=1) / math.sqrt(len(values))
    return bool(values.mean() + ERRORS * spread <= bound + 1e-12 * abs(bound))


def check_upper(policy: str, instance: sf.Instance, setting: sf.Setting, horizon: int) -> bool:
    """Whether the theorem says something here; fails if it says something wrong."""
    bound = upper(policy, instance, setting, horizon)
    result = sf.simulate(instance, setting, policy, horizon, runs=RUNS, seed=3, checkpoints=1, workers=1)[policy]
    case = f"{policy}, {setting}, T = {horizon}, {instance.to_dict()}"
    assert at_most(result.cost_regret, bound.cost_regret), case
    assert at_most(result.quality_regret, bound.quality_regret), case
    for i in range(instance.arms):
        assert at_most(result.pulls[:, i], bound.pulls[i]), f"arm {i} of {case}"
    return (
        bound.cost_regret < max(bound.trivial_cost_regret, 1e-300)
        or bound.quality_regret < max(bound.trivial_quality_regret, 1e-300)
        or bound.cost_regret == bound.quality_regret == 0
    )


@pytest.mark.parametrize("horizon", [100, 10_000, 1_000_000, 100_000_000])
def test_random_instances_stay_below_the_upper_bounds(horizon: int) -> None:
    told: dict[str, int] = {}
    for instance, alpha, reference in random_problems(100, seed=11):
        for policy, setting in settings_of(instance, alpha, reference).items():
            if is_cheap(policy, instance, horizon):
                told[policy] = told.get(policy, 0) + check_upper(policy, instance, setting, horizon)
    if horizon >= 10**6:
        # The test says something only where the theorem does: on at least 50 of the 100 instances for each policy
        # without kappa (a kappa of 5 makes the constant 128 times larger).
        assert all(count >= 50 for policy, count in told.items() if "kappa" not in policy and "asym" not in policy), (
            told
        )


@pytest.mark.parametrize("horizon", [1_000, 100_000, 5_000_000])
@pytest.mark.parametrize("name", ["movielens", "goodreads"])
def test_published_instances_stay_below_the_upper_bounds(name: str, horizon: int) -> None:
    instance = sf.load_instance(name)
    for reference in (instance.arms // 2, instance.arms - 1):
        for alpha in (0.0, 0.05, 0.25):
            for policy, setting in settings_of(instance, alpha, reference).items():
                check_upper(policy, instance, setting, horizon)


@pytest.mark.parametrize("horizon", [10**6, 10**8])
def test_pulls_are_above_the_lower_bounds_and_in_their_order(horizon: int) -> None:
    """The lower bounds are asymptotic, so arms count where the upper bound on their pulls is below the horizon.

    The mean pulls of an arm, less five standard errors, are never below its Bernoulli lower bound times log T: were the
    expectation below it, this would pass with a probability of at most 3e-7 (normal approximation). And where the lower
    bound of one cheaper arm is more than four times that of another, one round of PE, the first is pulled more, on
    average over the runs. No bound says so, so there is no error probability; the seed is fixed.
    """
    arms = pairs = 0
    for instance, alpha, reference in random_problems(100, seed=23):
        for policy, setting in settings_of(instance, alpha, reference).items():
            if not is_cheap(policy, instance, horizon):
                continue
            bound, least = upper(policy, instance, setting, horizon), lower(instance, setting)
            settled = [i for i in range(instance.arms) if bound.pulls[i] < horizon and least.pulls[i] < math.inf]
            if len(settled) < instance.arms - 1:
                continue
            runs = RUNS if policy == "ft-ucb" else 5 * RUNS
            result = sf.simulate(instance, setting, policy, horizon, runs=runs, seed=5, checkpoints=1, workers=1)
            pulls = result[policy].pulls
            for i in settled:
                enough = at_most(-pulls[:, i], -least.pulls[i] * math.log(horizon))
                assert enough, (policy, instance.to_dict(), setting, i)
                arms += least.pulls[i] > 0
            cheaper = [i for i in settled if least.roles[i] == "low-cost"]
            for i in cheaper:
                for j in cheaper:
                    if least.pulls[i] > 4 * least.pulls[j]:
                        assert pulls[:, i].mean() >= pulls[:, j].mean(), (policy, instance.to_dict(), setting, i, j)
                        pairs += 1
    assert arms >= 200
    assert pairs >= 50


LINES = [
    # policy, instance, setting, horizons as powers of ten, tolerance
    ("pe", sf.Instance([1, 2, 3], [0.3, 0.9, 0.8]), sf.ReferenceArm(2, 0.25), (4, 8), 0.05),
    ("pe", sf.load_instance("movielens"), sf.ReferenceArm(10, 0.25), (4, 8), 0.05),
    ("pe-cs", sf.Instance([1, 2, 3], [0.2, 0.75, 0.95]), sf.BestReward(0.5), (4, 8), 0.05),
    # Here Delta_min = 0.027 and 0.025: T Delta_min^2 is large enough for the asymptote from T = 10^6 only.
    ("pe-cs", sf.load_instance("movielens"), sf.BestReward(0.25), (6, 8), 0.05),
    ("pe-cs", sf.load_instance("goodreads"), sf.BestReward(0.25), (6, 8), 0.05),
]


@pytest.mark.parametrize(("policy", "instance", "setting", "powers", "tolerance"), LINES)
def test_regret_is_linear_in_log_t(
    policy: str, instance: sf.Instance, setting: sf.Setting, powers: tuple[int, int], tolerance: float
) -> None:
    """The means over 1,000 runs at nine horizons up to 10^8 are within `tolerance` (of their average) of a line.

    A run's regret is gap x tau of its last round, linear in log T for a fixed round, and the round hardly varies: the
    tolerance is at least four standard errors of a mean (asserted), so that a true line would be rejected with a
    probability below 9 x 7e-5 (normal approximation).
    """
    horizons = [int(horizon) for horizon in np.logspace(*powers, 9)]
    results = [
        sf.simulate(instance, setting, policy, horizon, runs=1000, seed=1, checkpoints=1, workers=1)[policy]
        for horizon in horizons
    ]
    logs = np.log(horizons)
    lines = 0
    for kind in ("cost_regret", "quality_regret"):
        values = np.array([getattr(result, kind) for result in results])  # (horizons, runs)
        means = values.mean(axis=1)
        if not means.any():
            continue
        lines += 1
        assert (4 * values.std(axis=1, ddof=1) / math.sqrt(values.shape[1]) <= tolerance * means).all()
        slope, intercept = np.polyfit(logs, means, 1)
        assert np.abs(means - (slope * logs + intercept)).max() <= tolerance * means.mean()
        # Between the two theories: the lower bound's slope, and that of the upper bound between the ends.
        first, last = (getattr(upper(policy, instance, setting, horizon), kind) for horizon in horizons[::8])
        assert getattr(lower(instance, setting), kind) < slope < (last - first) / (logs[-1] - logs[0])
    assert lines >= 1
