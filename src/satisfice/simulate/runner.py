"""The runner: every policy, every run, on one or many processes, with the same results for the same seed."""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context, parent_process
from threading import Thread
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidRun
from satisfice.policies import Policy, get_policy
from satisfice.policies.contract import Problem, arrange, make_problem, new_state
from satisfice.problem import Instance, Setting
from satisfice.simulate.engine import compiled_run, make_world
from satisfice.simulate.results import Result, Results, Terms

MAX_HORIZON = 10**15
# Processes are started only for work that is expected to take longer than this many seconds.
WORTH_PROCESSES = 2.0

Progress = Callable[[int, int, str], None]
Output = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Job:
    """All runs of one policy: everything that a worker needs, and nothing that depends on who works."""

    policy: Policy
    instance: Instance
    setting: Setting
    horizon: int
    seed: int
    checkpoints: NDArray[np.int64]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        return arrange(self.instance.costs, self.setting, self.instance.names)

    @cached_property
    def problem(self) -> Problem:
        """What the policy may know."""
        instance = self.instance
        return make_problem(
            self.policy,
            self.setting,
            instance.costs,
            self.order,
            self.horizon,
            instance.bounded,
            instance.binary,
            instance.noise,
        )

    def stream(self, run: int) -> np.random.Generator:
        """The random numbers of one run, from the seed, the policy's label and the number of the run alone."""
        label = zlib.crc32(self.policy.label.encode())
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=(label, run))))

    def run(self, first: int, count: int) -> Output:
        """Runs `first`, ..., `first + count - 1`: pulls (runs, arms) and the two curves (runs, checkpoints).

        With a `count` of 0 it only prepares the engine."""
        instance, setting, order = self.instance, self.setting, self.order
        problem = self.problem
        world = make_world(instance, order)
        cost_gaps, quality_gaps = setting.cost_gaps(instance)[order], setting.quality_gaps(instance)[order]
        engine = compiled_run(self.policy)
        if count == 0:
            # One pull: compiles the engine, or loads it from its cache.
            state, rng, curve = new_state(self.policy, len(order)), self.stream(0), np.zeros(1)
            engine(problem, state, world, cost_gaps, quality_gaps, np.ones(1, np.int64), curve, curve.copy(), rng)
        pulls = np.zeros((count, instance.arms), dtype=np.int64)
        curves = np.zeros((2, count, len(self.checkpoints)))
        for i in range(count):
            state, rng = new_state(self.policy, len(order)), self.stream(first + i)
            engine(problem, state, world, cost_gaps, quality_gaps, self.checkpoints, curves[0, i], curves[1, i], rng)
            pulls[i, order] = state.pulls
        return pulls, curves[0], curves[1]


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
    cluster: object | str | None = None,
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
    runs = whole("runs", runs, 1, 10**7)
    seed = whole("seed", seed, 0, 2**63 - 1)
    if workers is not None:
        workers = whole("workers", workers, 1, 4096)
    marks = _checkpoints(checkpoints, horizon)
    chosen = [get_policy(p) for p in ([policies] if isinstance(policies, (str, Policy, type)) else policies)]
    if not chosen:
        raise InvalidRun("no policy was given; name at least one")
    labels = [policy.label for policy in chosen]
    if len(set(labels)) < len(labels):
        raise InvalidRun(f"a policy was given twice: {', '.join(labels)}")
    setting.optimal_arm(instance)
    jobs = [Job(policy, instance, setting, horizon, seed, marks) for policy in chosen]
    for policy in chosen:
        policy.check(setting, horizon, instance.bounded)

    started = time.perf_counter()
    parts: dict[str, dict[int, Output]] = {label: {} for label in labels}
    done = 0
    with _progress(progress, runs * len(jobs), labels) as report:
        for job, first, output in _work(jobs, runs, workers, cluster):
            parts[job.policy.label][first] = output
            done += len(output[0])
            report(done, runs * len(jobs), job.policy.label)
    results = {job.policy.label: assemble(job, parts[job.policy.label]) for job in jobs}
    return Results(results, seconds=time.perf_counter() - started)


def assemble(job: Job, parts: Mapping[int, Output]) -> Result:
    """The result of a job from the outputs of all its runs, each under its first run."""
    pieces = [part for _, part in sorted(parts.items())]
    pulls = np.concatenate([p[0] for p in pieces])
    return Result(
        terms=Terms.of(job.policy, job.instance, job.setting, job.horizon, len(pulls), job.seed),
        checkpoints=job.checkpoints,
        pulls=pulls,
        cost_curve=np.concatenate([p[1] for p in pieces]),
        quality_curve=np.concatenate([p[2] for p in pieces]),
    )


def _work(
    jobs: list[Job], runs: int, workers: int | None, cluster: object | str | None
) -> Iterator[tuple[Job, int, Output]]:
    """Every (job, first run, output), in any order."""
    if cluster is not None:
        from satisfice.simulate.cluster import on_cluster

        yield from on_cluster(cluster, _chunks(jobs, runs, 64))
        return
    if workers is not None and workers > 1:
        yield from in_processes(_chunks(jobs, runs, workers * 4), workers)
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for n, job in enumerate(jobs):
        job.run(0, 0)  # compiles, so that the clock below sees the runs alone
        begin = time.perf_counter()
        first = 0
        while first < runs:
            spent = time.perf_counter() - begin
            each = spent / first if first else 0.0
            ahead = each * (runs - first)
            if workers is None and cores > 1 and spent > 0.5 and ahead > WORTH_PROCESSES:
                rest = _chunks([job], runs, cores * 8, first) + _chunks(jobs[n + 1 :], runs, cores * 8)
                yield from in_processes(rest, cores)
                return
            count = min(runs - first, max(1, int(0.1 / each)) if first else 1)
            yield job, first, job.run(first, count)
            first += count


def _chunks(jobs: list[Job], runs: int, pieces: int, first: int = 0) -> list[tuple[Job, int, int]]:
    size = max(1, -(-(runs - first) // pieces))
    return [(job, at, min(size, runs - at)) for job in jobs for at in range(first, runs, size)]


def in_processes(chunks: Iterable[tuple[Job, int, int]], workers: int) -> Iterator[tuple[Job, int, Output]]:
    """The chunks on `workers` processes. An interrupt ends them at once."""
    # A forked worker has the compiled code already, and does not import the caller's main module again.
    method = "fork" if sys.platform == "linux" else "spawn"
    pending = list(chunks)
    for job in {id(job): job for job, _, _ in pending}.values():
        job.run(0, 0)
    pool = ProcessPoolExecutor(workers, mp_context=get_context(method), initializer=_start_worker)
    try:
        futures: dict[Future[Output], tuple[Job, int]] = {
            pool.submit(run_chunk, job, first, count): (job, first) for job, first, count in pending
        }
        for future in as_completed(list(futures)):
            job, first = futures.pop(future)
            yield job, first, future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        # Waiting is short, for nobody works any more, and leaves no thread behind to complain at the end.
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()


def run_chunk(job: Job, first: int, count: int) -> Output:
    """What a worker does: `Job.run`."""
    return job.run(first, count)


def _start_worker() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A parent that is killed outright cannot end its workers, which would wait for work for ever.
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _checkpoints(checkpoints: int | Sequence[int] | NDArray[np.int64], horizon: int) -> NDArray[np.int64]:
    if isinstance(checkpoints, (int, np.integer)) and not isinstance(checkpoints, bool):
        count = min(whole("checkpoints", checkpoints, 1, 10**7), horizon)
        return np.unique(np.ceil(np.arange(1, count + 1) * (horizon / count)).astype(np.int64).clip(1, horizon))
    times = np.unique(np.asarray(checkpoints))
    if len(times) == 0 or times.dtype.kind not in "iu" or times[0] < 1 or times[-1] > horizon:
        raise InvalidRun(f"checkpoints must be whole numbers from 1 to the horizon, {horizon}; got {checkpoints!r}")
    return np.unique(np.append(times, horizon)).astype(np.int64)


def whole(what: str, value: int | float, least: int, most: int) -> int:
    """`value` as a whole number within [least, most], or `InvalidRun`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not float(value).is_integer():
        raise InvalidRun(f"{what} = {value!r}; it must be a whole number")
    if not least <= value <= most:
        raise InvalidRun(f"{what} = {value!r}; it must be from {least} to {most}")
    return int(value)


def _progress(progress: bool | Progress, total: int, labels: list[str]) -> AbstractContextManager[Progress]:
    if callable(progress):
        return nullcontext(progress)
    if not progress:
        return nullcontext(lambda done, total, label: None)
    return _Bar(total, labels)


class _Bar:
    """A progress bar on the error stream: what is done, and how long the rest will take."""

    def __init__(self, total: int, labels: list[str]) -> None:
        from rich.progress import MofNCompleteColumn, TextColumn

        from satisfice.progress import progress_bar

        self.bar = progress_bar(MofNCompleteColumn(), TextColumn("runs,"), room=2 * len(str(total)) + 8)
        self.task = self.bar.add_task(f"preparing {labels[0]}", total=total)

    def __enter__(self) -> Progress:
        self.bar.start()

        def report(done: int, total: int, label: str) -> None:
            self.bar.update(self.task, completed=done, description=label)

        return report

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
