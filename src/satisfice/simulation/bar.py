"""The progress bar of a simulation, on the error stream: what is done, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

# Runs done, runs in all, and the policy's label.
Progress = Callable[[int, int, str], None]


@contextmanager
def progress_of(progress: bool | Progress, total: int, labels: Sequence[str]) -> Iterator[Progress]:
    """Whom to tell about progress: nobody, a bar, or a function of the caller."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda done, total, label: None
        return

    from rich.progress import MofNCompleteColumn, TextColumn

    from satisfice.progress import progress_bar

    bar = progress_bar(MofNCompleteColumn(), TextColumn("runs,"), room=2 * len(str(total)) + 8)
    task = bar.add_task(f"preparing {', '.join(labels)}", total=total)
    with bar:
        yield lambda done, total, label: bar.update(task, completed=done, description=label)
