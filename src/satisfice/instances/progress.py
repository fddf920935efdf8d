"""How far a long file has been read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[float], None]


@contextmanager
def reading(what: str, total: float, shown: bool) -> Iterator[Advance]:
    """Show a bar on the error stream while the body runs; the body calls the yielded function with what it has done.

    Parameters
    ----------
    what : str
        What is being read.
    total : float
        The whole work, for example in bytes.
    shown : bool
        Whether to show it; it also stays away when the error stream is not a terminal.
    """
    if not shown:
        yield lambda done: None
        return
    from rich.progress import TaskProgressColumn

    from satisfice.progress import progress_bar

    with progress_bar(TaskProgressColumn(), room=5, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
