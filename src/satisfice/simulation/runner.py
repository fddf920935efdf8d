"""`simulate`: every policy, every run, with the same results for the same seed whoever does the work."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidRun
from satisfice.limits import MAX_HORIZON, MAX_RECORD, MAX_RUNS, MAX_SEED, MAX_WORKERS, whole
from satisfice.policies import Policy, get_policy
from satisfice.problem import Instance, Setting
from satisfice.simulation.bar import Progress, progress_of
from satisfice.simulation.checkpoints import read_checkpoints
from satisfice.simulation.job import Job, Output, Piece
from satisfice.simulation.results import Results
from satisfice.simulation.schedule import carry_out, split, start_here


def simulate(
    instance: Instance,
    setting: Setting,
    policies: str | Policy | type[Policy] | Sequence[str | Policy | type[Policy]],
    horizon: int | float,
    runs: int = 1,
    seed: int = 0,
    checkpoints: int | Sequence[int] | NDArray[np.int64] = 200,
    workers: int | None = None,
    progress: bool | Progress = False,
    *,
    cluster: object | str | None = None,
    compiled: bool = True,
    common: bool = False,
) -> Results:
    """Simulate policies on an instance, exactly.

    Parameters
    ----------
    instance, setting
        The problem; see `Instance`, `BestReward`, `ReferenceArm`, `FixedThreshold`.
    policies
        One or several ids (`"pe-cs"`), labels (`"pe-cs(kappa=5)"`) or objects (`PECS(kappa=5)`).
    horizon : int
        Number of pulls of each run, T.
    runs : int
        Number of independent runs of each policy.
    seed : int
        The run `r` of a policy uses a stream of its own, spawned from the seed, the policy's label and `r`: a result
        does not depend on the other policies, on the number of runs or on the number of workers.
    checkpoints : int or sequence of int
        Where the regret curves are read: so many evenly spaced times, or these times. The horizon is always one.
    workers : int, optional
        Number of processes. By default the work starts in this process and moves to one process per core when it
        turns out to be long.
    progress : bool or function
        True shows a progress bar; a function is called with (runs done, runs in all, policy label).
    cluster : str or distributed.Client, optional
        The address of a Dask scheduler, `tcp://HOST:PORT`, or a client of it: the runs are done there, with the same
        results, bit for bit. Needs `satisfice[cluster]`.
    compiled : bool
        False runs the rule as plain Python: for a rule that Numba cannot compile, or to step through it with a
        debugger. Slower by far, on the same random numbers: the results are equal, unless a decision hangs on the last
        bit of a logarithm or a power, in which plain and compiled mathematics may differ.
    common : bool
        True gives every policy the same rewards: in the run `r` the n-th pull of an arm gives all of them what it gives
        one. Each result keeps its law; the difference of two (`Results.compare`) varies less. For instances that do not
        change, up to 1e9 pulls. Other numbers than without it.

    Raises
    ------
    SatisficeError
        A policy in a setting that it does not serve, no feasible arm, or a number out of range.

    Examples
    --------
    >>> from satisfice import BestReward, Instance
    >>> inst = Instance(costs=[0.1, 0.5, 0.9], means=[0.3, 0.7, 0.8])
    >>> res = simulate(inst, BestReward(alpha=0.2), ["pe-cs", "etc-cs"], horizon=100_000, runs=3)
    >>> res["pe-cs"].pulls.sum(axis=1).tolist()
    [100000, 100000, 100000]
    """
    if not isinstance(instance, Instance):
        raise InvalidRun(f"instance = {instance!r}; it must be an Instance, such as load_instance('movielens')")
    if not isinstance(setting, Setting):
        raise InvalidRun(f"setting = {setting!r}; it must be a BestReward, a ReferenceArm or a FixedThreshold")
    horizon = whole("horizon", horizon, 1, MAX_HORIZON)
    runs = whole("runs", runs, 1, MAX_RUNS)
    seed = whole("seed", seed, 0, MAX_SEED)
    if workers is not None:
        workers = whole("workers", workers, 1, MAX_WORKERS)
    marks = read_checkpoints(checkpoints, horizon)
    if len(marks) * instance.arms > MAX_RECORD:
        raise InvalidRun(
            f"checkpoints: {len(marks):,} of {instance.arms:,} arms are too many to remember; "
            f"{max(1, MAX_RECORD // instance.arms):,} are accepted here"
        )
    if not isinstance(policies, Iterable):  # one that is neither: `get_policy` words what is accepted
        policies = [policies]
    chosen = [get_policy(p) for p in ([policies] if isinstance(policies, (str, Policy, type)) else policies)]
    if not chosen:
        raise InvalidRun("no policy was given; name at least one")
    labels = [policy.label for policy in chosen]
    if len(set(labels)) < len(labels):
        raise InvalidRun(f"a policy was given twice: {', '.join(labels)}")
    for part in instance.pieces:
        setting.optimal_arm(part)
    jobs = [
        Job(policy, instance, setting, horizon=horizon, seed=seed, checkpoints=marks, compiled=compiled, common=common)
        for policy in chosen
    ]
    for job in jobs:
        job.check()

    started = time.perf_counter()
    parts: dict[Job, dict[int, Output]] = {job: {} for job in jobs}
    done = 0
    with progress_of(progress, runs * len(jobs), labels) as report:
        for piece, output in _work(jobs, runs, workers, cluster):
            parts[piece.job][piece.first] = output
            done += piece.runs
            report(done, runs * len(jobs), piece.job.policy.label)
    results = {job.policy.label: job.result(parts[job]) for job in jobs}
    return Results(results, seconds=time.perf_counter() - started)


def _work(
    jobs: list[Job], runs: int, workers: int | None, cluster: object | str | None
) -> Iterator[tuple[Piece, Output]]:
    if cluster is not None:
        return carry_out(split(jobs, runs, 64), cluster=cluster)
    if workers is not None and workers > 1:
        return carry_out(split(jobs, runs, workers * 4), workers=workers)
    return start_here(jobs, runs, most=workers)
