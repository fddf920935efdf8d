"""The runner: seeds, processes, properties that hold for every policy, and bad input."""

from __future__ import annotations

import inspect
import os
import pydoc
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import satisfice as sf
from satisfice.errors import InvalidPolicy, InvalidRun, NoFeasibleArm
from satisfice.policies import all_policies, get_policy
from satisfice.policies.contract import Lease, Policy, Problem, State
from satisfice.simulation.job import Job
from stats import reject

OWN = [cls.id for cls in all_policies().values() if cls.__module__.startswith("satisfice.")]
MOVIES = sf.load_instance("movielens")


def served(policy: str, arms: int, alpha: float) -> list[sf.Setting]:
    every = (sf.BestReward(alpha), sf.ReferenceArm(arms - 1, alpha), sf.FixedThreshold(0.0))
    return [setting for setting in every if isinstance(setting, all_policies()[policy].settings)]


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    arguments = (MOVIES, sf.BestReward(0.25), ["pe-cs", "ucb-cs", "ts-cs"], 20_000, 7, 11)
    one, two = (sf.simulate(*arguments, workers=n) for n in (1, 2))
    for label in one:
        np.testing.assert_array_equal(one[label].pulls, two[label].pulls)
        np.testing.assert_array_equal(one[label].cost_curve, two[label].cost_curve)
        np.testing.assert_array_equal(one[label].quality_curve, two[label].quality_curve)


def test_results_do_not_depend_on_the_other_policies_or_on_the_number_of_runs() -> None:
    setting = sf.BestReward(0.25)
    both = sf.simulate(MOVIES, setting, ["etc-cs", "pe-cs"], 20_000, 5)["pe-cs"]
    alone = sf.simulate(MOVIES, setting, "pe-cs", 20_000, 3)["pe-cs"]
    np.testing.assert_array_equal(both.pulls[:3], alone.pulls)


def test_seeds_and_runs_differ() -> None:
    one, two = (sf.simulate(MOVIES, sf.BestReward(0.25), "ucb-cs", 20_000, 2, seed)["ucb-cs"] for seed in (0, 1))
    assert not np.array_equal(one.pulls, two.pulls)
    assert not np.array_equal(one.pulls[0], one.pulls[1])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(OWN),
    st.lists(st.tuples(st.sampled_from([0.1, 0.5, 2.0, 7.5]), st.floats(0, 1)), min_size=1, max_size=6),
    st.sampled_from([0.0, 0.2, 1.0]),
    st.sampled_from([1, 2, 3, 5, 100, 3000]),
)
def test_every_pull_is_made_and_counted(
    policy: str, arms: list[tuple[float, float]], alpha: float, horizon: int
) -> None:
    """Also horizon 1, horizons shorter than the number of arms, alpha 0 and 1, ties, one arm."""
    instance = sf.Instance([cost for cost, _ in arms], [mean for _, mean in arms])
    for setting in served(policy, len(arms), alpha):
        result = sf.simulate(instance, setting, policy, horizon, runs=2, workers=1)[policy]
        assert (result.pulls.sum(axis=1) == horizon).all()
        assert (result.pulls >= 0).all()
        assert (np.diff(result.cost_curve, axis=1) >= -1e-9).all()
        np.testing.assert_allclose(result.cost_curve[:, -1], result.cost_regret, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(result.quality_curve[:, -1], result.quality_regret, rtol=1e-12, atol=1e-12)


def test_one_arm_is_no_reason_to_compile_again() -> None:
    type_of: Any = numba.typeof

    def kinds(costs: list[float]) -> list[str]:
        instance = sf.Instance(costs, [0.5] * len(costs))
        job = Job(get_policy("etc-cs"), instance, sf.BestReward(0.1), horizon=9, seed=0, checkpoints=np.array([9]))
        return [str(type_of(thing)) for thing in (job.problem, job.world, job.order, job.gaps)]

    assert kinds([1.0]) == kinds([1.0, 2.0, 3.0])


@pytest.mark.parametrize("policy", [id for id in OWN if id not in ("glr", "graves-lai")])
def test_scaling_all_costs_changes_no_decision(policy: str) -> None:
    instance = sf.Instance([0.1, 0.4, 0.4, 0.9], [0.3, 0.6, 0.5, 0.8])
    dollars = instance.replace(costs=instance.costs * 1024)  # a power of two, so that nothing is rounded
    for setting in served(policy, 4, 0.2):
        small, large = (sf.simulate(i, setting, policy, 5000, 20)[policy] for i in (instance, dollars))
        np.testing.assert_array_equal(small.pulls, large.pulls)
        np.testing.assert_allclose(large.cost_regret, 1024 * small.cost_regret)


@pytest.mark.parametrize("policy", OWN)
def test_permuting_the_arms_permutes_the_law(policy: str) -> None:
    instance = sf.Instance([0.1, 0.4, 0.6, 0.9], [0.3, 0.6, 0.5, 0.8])
    order = np.array([2, 0, 3, 1])
    shuffled = instance.replace(
        costs=instance.costs[order], means=instance.means[order], names=[instance.names[i] for i in order]
    )
    kinds = [sf.BestReward(0.2), sf.ReferenceArm("arm-4", 0.2), sf.FixedThreshold(0.55)]
    for setting in kinds:
        if isinstance(setting, all_policies()[policy].settings):
            plain = sf.simulate(instance, setting, policy, 2000, 300, seed=1)[policy].pulls
            moved = sf.simulate(shuffled, setting, policy, 2000, 300, seed=2)[policy].pulls
            # Error probability 1e-4 a case, about 10 cases.
            columns = zip(instance.names, order, strict=True)
            assert not reject(
                {name: plain[:, k] for name, k in columns}, dict(zip(instance.names, moved.T, strict=True)), 1e-4
            )


def test_many_arms() -> None:
    rng = np.random.default_rng(0)
    instance = sf.Instance(rng.random(10_000), rng.random(10_000))
    for policy in ("pe-cs", "ucb-cs", "etc-cs"):
        result = sf.simulate(instance, sf.BestReward(0.5), policy, 30_000)[policy]
        assert result.pulls.sum() == 30_000


def test_checkpoints() -> None:
    def marks(checkpoints: object, horizon: int) -> list[int]:
        result = sf.simulate(MOVIES, sf.BestReward(0.25), "pe-cs", horizon, checkpoints=checkpoints)  # type: ignore[arg-type]
        return [int(time) for time in result["pe-cs"].checkpoints]

    assert marks(4, 100) == [25, 50, 75, 100]
    assert marks(200, 3) == [1, 2, 3]
    assert marks([5, 2], 10) == [2, 5, 10]
    for wrong in ([0], [11], [1.5], [], 0):
        with pytest.raises(InvalidRun, match="checkpoints"):
            marks(wrong, 10)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"instance": "movielens"}, InvalidRun, "instance = 'movielens'; it must be an Instance"),
        ({"setting": "best"}, InvalidRun, "setting = 'best'; it must be a BestReward"),
        ({"horizon": 0}, InvalidRun, "horizon = 0"),
        ({"horizon": 1.5}, InvalidRun, "horizon = 1.5"),
        ({"runs": -1}, InvalidRun, "runs = -1"),
        ({"seed": -1}, InvalidRun, "seed = -1"),
        ({"workers": 0}, InvalidRun, "workers = 0"),
        ({"policies": []}, InvalidRun, "no policy"),
        ({"policies": ["pe-cs", "pe-cs"]}, InvalidRun, "given twice"),
        ({"policies": "pecs"}, InvalidPolicy, "Did you mean 'pe-cs'"),
        ({"policies": "pe-cs(k=3)"}, InvalidPolicy, "no parameter 'k'; it has kappa"),
        ({"policies": "pe-cs(kappa=x)"}, InvalidPolicy, "kappa='x' is not a number"),
        ({"policies": "pe"}, InvalidPolicy, "pe does not serve BestReward; it serves ReferenceArm"),
        ({"setting": sf.FixedThreshold(0.99), "policies": "ft-ucb"}, NoFeasibleArm, "best mean is 0.785"),
        (
            {"instance": sf.Instance([1, 2], [3, 4], reward="gaussian"), "policies": "ts-cs"},
            InvalidPolicy,
            r"within \[0, 1\]",
        ),
    ],
)
def test_bad_input(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    usual = {"instance": MOVIES, "setting": sf.BestReward(0.25), "policies": "pe-cs", "horizon": 100}
    with pytest.raises(error, match=message):
        sf.simulate(**(usual | arguments))  # type: ignore[arg-type]


def test_the_function_is_a_function() -> None:
    """`sf.simulate` stays the function, whatever of its package has been imported."""
    import satisfice.simulation.runner  # noqa: F401

    signature = inspect.signature(sf.simulate)
    assert list(signature.parameters)[:9] == [
        "instance", "setting", "policies", "horizon", "runs", "seed", "checkpoints", "workers", "progress"
    ]  # fmt: skip
    assert all(signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in ("cluster", "compiled"))
    assert pydoc.plain(pydoc.render_doc(sf.simulate)).splitlines()[2].startswith("simulate(instance")


@dataclass(frozen=True)
class Dictionary(Policy, register=False):
    """Every arm once, then the cheapest: with a dictionary of sets, which Numba does not compile."""

    id = "dictionary-for-tests"
    settings = (sf.BestReward,)
    summary = "not for Numba"
    needs_horizon = False

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        seen = {"pulled": {k for k in range(len(problem.costs)) if state.pulls[k]}}
        missing = sorted({*range(len(problem.costs))} - seen["pulled"])
        return (missing[0], 1) if missing else (0, 50)


def test_a_rule_that_cannot_be_compiled_runs_as_it_is() -> None:
    with pytest.raises(InvalidPolicy, match=r"test_runner\.py, line \d+: .*compiled=False runs it"):
        sf.simulate(MOVIES, sf.BestReward(0.25), Dictionary(), 1000)
    result = sf.simulate(MOVIES, sf.BestReward(0.25), Dictionary(), 1000, runs=2, compiled=False)
    pulls = result["dictionary-for-tests"].pulls
    assert (np.sort(pulls) == [1] * 19 + [981]).all() and pulls[0].argmax() == MOVIES.costs.argmin()


@pytest.mark.parametrize("policy", [id for id in OWN if id != "ts-cs"])
def test_plain_python_gives_the_same_results(policy: str) -> None:
    for setting in served(policy, 20, 0.2):
        one, two = (
            sf.simulate(MOVIES, setting, policy, 3000, runs=2, checkpoints=50, compiled=compiled)[policy]
            for compiled in (True, False)
        )
        np.testing.assert_array_equal(one.pulls, two.pulls)
        np.testing.assert_array_equal(one.cost_curve, two.cost_curve)
        np.testing.assert_array_equal(one.quality_curve, two.quality_curve)


def test_more_checkpoints_than_can_be_remembered() -> None:
    many = sf.Instance(np.arange(10_000), np.full(10_000, 0.5))
    with pytest.raises(InvalidRun, match="30,000 of 10,000 arms are too many to remember; 20,000 are accepted"):
        sf.simulate(many, sf.BestReward(0.25), "pe-cs", 10**8, checkpoints=30_000)


def test_labels() -> None:
    res = sf.simulate(MOVIES, sf.BestReward(0.25), ["pe-cs", sf.PECS(kappa=5), sf.ETCCS(c=2.5)], 100)
    assert list(res) == ["pe-cs", "pe-cs(kappa=5)", "etc-cs(c=2.5)"]


# The command line, with a word on the output as soon as the first piece of work is done.
LOUD = """
import signal
from satisfice import cli, simulation

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have it ignored
simulate = simulation.simulate
simulation.simulate = lambda *a, progress, **o: simulate(*a, progress=lambda *done: print("working", flush=True), **o)
cli.main()
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_ends_a_simulation_and_its_workers(workers: int, tmp_path: Path) -> None:
    """Ctrl-C in the middle of work for hours: the command ends within seconds, with code 130, and leaves no process."""
    words = ["run", "-i", "movielens", "-a", "0.05", "-p", "ts-cs", "-T", "1e6", "-n", "100000"]
    process = subprocess.Popen(
        [sys.executable, "-c", LOUD, *words, "--workers", str(workers), "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    if workers == 1:
        assert process.stdout is not None and process.stdout.readline().startswith(b"working")
    while len(psutil.Process(process.pid).children()) < workers > 1:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 130
    assert errors.decode().strip().endswith("interrupted")
    assert b"Traceback" not in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_rule_that_is_defined_in_a_function_runs_on_processes(compiled: bool) -> None:
    def always(arm: int) -> type[sf.policies.contract.Policy]:
        class Always(sf.policies.contract.Policy, register=False):
            id = "always"
            settings = (sf.BestReward,)
            summary = "one arm"
            needs_horizon = False

            @staticmethod
            def decide(problem, state, t, rng):  # type: ignore[no-untyped-def]
                return arm, 1000

        return Always

    instance = sf.Instance([0.1, 0.2], [0.5, 0.6])
    for arm in (0, 1):
        done = sf.simulate(instance, sf.BestReward(0.1), always(arm), horizon=100, runs=4, workers=2, compiled=compiled)
        assert done["always"].pulls.argmax(axis=1).tolist() == [arm] * 4
