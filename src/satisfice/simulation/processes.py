"""Processes of this machine: one pool, which an interrupt, an error or the death of its owner ends at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread, current_thread, main_thread
from types import FrameType

from satisfice.simulation.job import Output, Piece


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(pieces: Sequence[Piece], workers: int) -> Iterator[tuple[Piece, Output]]:
    """The pieces on so many processes, each with its output, in any order. An interrupt ends them at once."""
    for job in dict.fromkeys(piece.job for piece in pieces):
        job.prepare()
    # A forked worker has the compiled code already, and does not import the caller's main module again.
    method = "fork" if sys.platform == "linux" else "spawn"
    pool = ProcessPoolExecutor(workers, mp_context=get_context(method), initializer=_start_worker)
    try:
        with _interrupts_kept():
            futures: dict[Future[Output], Piece] = {pool.submit(piece.work): piece for piece in pieces}
        for future in as_completed(list(futures)):
            yield futures.pop(future), future.result()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        # Waiting is short, for nobody works any more, and leaves no thread behind to complain at the end.
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    pool.shutdown()


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
