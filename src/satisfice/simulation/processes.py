"""Processes of this machine: one pool, which an interrupt, an error or the death of its owner ends at once."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing import get_context, get_start_method, parent_process
from threading import Thread, current_thread, main_thread
from types import FrameType, ModuleType

from satisfice.simulation.job import Job, Output, Piece

# What the workers of a pool are born with, where they are forked: a class in a function could not be sent to them.
_handed: dict[int, Sequence[Piece]] = {}
_pools = itertools.count()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare(jobs: Iterable[Job], workers: int) -> None:
    """Compile the engines of some jobs, or load them from their cache: those that are new, several at once, each in a
    process of its own, which leaves them in the cache."""
    jobs = list(jobs)
    new = {type(job.policy): job for job in jobs if not job.prepared}
    if len(new) > 1 and workers > 1:
        with suppress(Exception):  # what is wrong with a rule is said below
            for _ in _spread([job.first_pull for job in new.values()], min(workers, len(new))):
                pass
    for job in jobs:
        job.prepare()


def in_processes(pieces: Sequence[Piece], workers: int) -> Iterator[tuple[Piece, Output]]:
    """The pieces on so many processes, each with its output, in any order. An interrupt ends them at once."""
    prepare(dict.fromkeys(piece.job for piece in pieces), workers)
    yield from _spread(pieces, workers)


def _spread(pieces: Sequence[Piece], workers: int) -> Iterator[tuple[Piece, Output]]:
    # A forked worker has the compiled code already, and all that the caller has defined.
    forked = sys.platform == "linux" and get_start_method(allow_none=True) in (None, "fork")
    context = get_context("fork" if forked else "spawn")
    pool, number = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker), next(_pools)
    _handed[number] = pieces
    try:
        with _interrupts_kept(), _main_kept_out(forked):
            futures: dict[Future[Output], Piece] = {
                pool.submit(_born_with, number, n) if forked else pool.submit(_work, _packed(piece)): piece
                for n, piece in enumerate(pieces)
            }
        for future in as_completed(list(futures)):
            yield futures.pop(future), future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        # Waiting is short, for nobody works any more, and leaves no thread behind to complain at the end.
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    finally:
        del _handed[number]
    pool.shutdown()


def _born_with(number: int, n: int) -> Output:
    return _handed[number][n].work()


def _packed(piece: Piece) -> bytes:
    """A piece for a process that has nothing in common with this one: what a script or notebook defines goes along."""
    import cloudpickle

    return bytes(cloudpickle.dumps(piece))


def _work(packed: bytes) -> Output:
    piece: Piece = pickle.loads(packed)
    return piece.work()


@contextmanager
def _main_kept_out(forked: bool) -> Iterator[None]:
    """A process that is spawned runs the caller's main module again, and with it whatever a script does that has no
    `if __name__ == "__main__"`: start processes that know of none. They are started while work is handed in."""
    if forked:
        yield
        return
    main, stand_in = sys.modules["__main__"], ModuleType("__main__")
    stand_in.__spec__ = None
    sys.modules["__main__"] = stand_in
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """An interrupt while a worker is forked would be lost in the hooks that Python runs there: it comes afterwards."""
    if current_thread() is not main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[0])


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A parent that is killed outright cannot end its workers, which would wait for work for ever.
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
