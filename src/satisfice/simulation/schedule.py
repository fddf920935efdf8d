"""The schedule: pieces of jobs, in this process, on processes of this machine or on a cluster, in any order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from satisfice.limits import MAX_WORKERS, whole
from satisfice.simulation.job import Job, Output, Piece
from satisfice.simulation.processes import cores, in_processes, prepare

# Processes are started only for work that is expected to take longer than this many seconds.
WORTH_PROCESSES = 2.0


Done = tuple[Piece, Output]


def carry_out(
    pieces: Sequence[Piece], *, workers: int | None = None, cluster: object | str | None = None
) -> Iterator[Done]:
    """Every piece with its output, in any order.

    A run's random numbers belong to the run, so the outputs do not depend on who works.

    Parameters
    ----------
    pieces : sequence of Piece
        The work.
    workers : int, optional
        Number of processes, one per core by default; with 1 the work is done in this process.
    cluster : str or distributed.Client, optional
        A Dask cluster that does the work instead; see `satisfice.simulation.cluster`.
    """
    if not pieces:
        return
    if cluster is not None:
        from satisfice.simulation.cluster import on_cluster

        yield from on_cluster(cluster, pieces)
        return
    number = cores() if workers is None else whole("workers", workers, 1, MAX_WORKERS)
    if number > 1:
        yield from in_processes(pieces, number)
        return
    for piece in pieces:
        yield piece, piece.work()


def split(jobs: Sequence[Job], runs: int, pieces: int, first: int = 0) -> list[Piece]:
    """The runs of every job from `first` on, in so many pieces each, or one per run."""
    size = max(1, -(-(runs - first) // pieces))
    return [Piece(job, at, min(size, runs - at)) for job in jobs for at in range(first, runs, size)]


def start_here(jobs: Sequence[Job], runs: int, most: int | None = None) -> Iterator[Done]:
    """Every run, beginning in this process, and moving to `most` processes (one per core by default) when the work
    turns out to be long."""
    number = most or cores()
    prepare(jobs, number)  # so that the clock below sees the runs alone
    for n, job in enumerate(jobs):
        begin = time.perf_counter()
        first = 0
        while first < runs:
            spent = time.perf_counter() - begin
            each = spent / first if first else 0.0
            if number > 1 and spent > 0.5 and each * (runs - first) > WORTH_PROCESSES:
                yield from carry_out(
                    split([job], runs, number * 8, first) + split(jobs[n + 1 :], runs, number * 8), workers=number
                )
                return
            piece = Piece(job, first, min(runs - first, max(1, int(0.1 / each)) if first else 1))
            yield piece, piece.work()
            first += piece.runs
