"""A bar on the error stream for long work: what is being done, how much is done, how long it took and will take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

ROOM_FOR_ELAPSED = 60


def progress_bar(
    *amount: ProgressColumn, room: int = 12, console: Console | None = None, transient: bool = False
) -> Progress:
    """A bar that fits the terminal: where that is narrow, words are cut, the bar goes, and then the time elapsed.

    Parameters
    ----------
    amount : columns
        How much is done, in columns of Rich.
    room : int
        The characters that these take at most, with the spaces between them.
    console : Console, optional
        Where to show it; the error stream by default.
    transient : bool
        Whether it goes when the work is done; it is then for terminals alone.
    """
    from rich import console as rich_console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    # In a notebook Rich would want ipywidgets; plain text on the error stream works everywhere.
    console = console or rich_console.Console(stderr=True, force_jupyter=False)
    elapsed = [TimeElapsedColumn(), TextColumn("elapsed,")] if console.width >= ROOM_FOR_ELAPSED else []
    times: list[ProgressColumn] = [*elapsed, TimeRemainingColumn(), TextColumn("left")]
    # A time takes 7 characters, and every column one more for the space after it.
    rest = console.width - room - (13 if not elapsed else 30) - 2
    words = max(8, min(40, rest * 3 // 5))
    bar = min(40, rest - words)
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=Column(max_width=words, no_wrap=True)),
        *([BarColumn(bar)] if bar >= 6 else []),
        *amount,
        *times,
        console=console,
        transient=transient,
        disable=transient and not console.is_terminal,
    )
