"""Tables and sentences that fit the width there is: never is a digit cut.

A table that is too wide gets narrower in this order: columns that may be missed are left out, and that is said; long
texts are broken into lines; every row becomes a block of its own, with the names of the columns in it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from html import escape

GAP = 2
LEAST = 16  # columns of text are not broken into less than this


def layout(
    rows: Sequence[Sequence[str]],
    width: int | None = None,
    *,
    left: Collection[int] = (0,),
    breakable: Collection[int] = (),
    droppable: Sequence[int] = (),
) -> list[str]:
    """The lines of a table, the first of which is its head.

    Parameters
    ----------
    rows : sequence of rows
        Texts; the first row is the head.
    width : int, optional
        The characters of a line; None for as many as it takes.
    left : collection of int
        The columns that begin at the left; the others end at the right.
    breakable : collection of int
        The columns whose texts may be broken into several lines.
    droppable : sequence of int
        The columns that may be left out, the first one first; the last line says which were.

    Examples
    --------
    >>> rows = [("arm", "cost", "mean"), ("small", "0.1", "0.71"), ("large", "12", "0.9")]
    >>> print(*layout(rows), sep="\\n")
    arm    cost  mean
    small   0.1  0.71
    large    12   0.9
    >>> print(*layout(rows, 12), sep="\\n")
    small
      cost  0.1
      mean  0.71
    large
      cost  12
      mean  0.9
    """
    if not rows:
        return []
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    if width is not None and sum(widths) + GAP * (len(widths) - 1) > width:
        gone = _dropped(widths, width, droppable)
        if gone:
            kept = [k for k in range(len(widths)) if k not in gone]
            fewer = [[row[k] for k in kept] for row in rows]
            lines = layout(fewer, left=[at for at, k in enumerate(kept) if k in left])
            note = f"(left out for want of room: {', '.join(rows[0][k] for k in sorted(gone))})"
            return [*lines, *textwrap.wrap(note, width)]
        widths = _narrowed(widths, width, breakable)
        if not widths:
            return _stacked(rows, width)
    lines = []
    for row in rows:
        cells = [
            textwrap.wrap(cell, size) or [""] if k in breakable else [cell]
            for k, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        for at in range(max(map(len, cells))):
            texts = [cell[at] if at < len(cell) else "" for cell in cells]
            line = (
                text.ljust(size) if k in left else text.rjust(size)
                for k, (text, size) in enumerate(zip(texts, widths, strict=True))
            )
            lines.append((" " * GAP).join(line).rstrip())
    return lines


def _dropped(widths: list[int], width: int, droppable: Sequence[int]) -> list[int]:
    """The columns to leave out so that the others fit; none if that is not enough."""
    for most in range(1, len(droppable) + 1):
        gone = list(droppable[:most])
        rest = [size for k, size in enumerate(widths) if k not in gone]
        if sum(rest) + GAP * (len(rest) - 1) <= width:
            return gone
    return []


def _narrowed(widths: list[int], width: int, breakable: Collection[int]) -> list[int]:
    """Widths that fit, if breaking the texts that may be broken is enough; nothing if it is not."""
    fixed = sum(size for k, size in enumerate(widths) if k not in breakable) + GAP * (len(widths) - 1)
    room = width - fixed
    if not breakable or room < LEAST * len(breakable):
        return []
    total = sum(widths[k] for k in breakable)
    return [max(LEAST, room * size // total) if k in breakable else size for k, size in enumerate(widths)]


def _stacked(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Every row as a block: its first cell, and below it, further in, the others, each with the name of its column."""
    head, *body = rows
    size = max((len(name) for name in head[1:]), default=0)
    lines: list[str] = []
    depth = ""
    for row in body:
        if row[0]:
            lines += textwrap.wrap(row[0], max(width, LEAST))
            depth = " " * (len(row[0]) - len(row[0].lstrip()))
        for name, cell in zip(head[1:], row[1:], strict=True):
            if cell:
                lines += [depth + line for line in _entry(name, cell, size, width - len(depth))]
    return lines


def _entry(name: str, cell: str, size: int, width: int) -> list[str]:
    start = f"  {name.ljust(size)}  "
    if len(start) + len(cell) <= width:
        return [start + cell]
    return [f"  {name}", *textwrap.wrap(cell, max(width - 4, LEAST), initial_indent="    ", subsequent_indent="    ")]


def fill(text: str, width: int | None) -> str:
    """Sentences in lines of at most `width` characters; lines that begin with spaces, and words, stay whole.

    Examples
    --------
    >>> print(fill("The cheapest arm that is good enough.", 20))
    The cheapest arm
    that is good enough.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, max(width, 8), break_long_words=False, break_on_hyphens=False) or [""]
    return "\n".join(lines)


def html(rows: Sequence[Sequence[str]], *sentences: str) -> str:
    """A table, whose first row is its head, and sentences above it, for a notebook.

    Examples
    --------
    >>> html([("arm", "mean"), ("<b>", "0.5")], "One arm.")
    '<p>One arm.</p><table><tr><th>arm</th><th>mean</th></tr><tr><td>&lt;b&gt;</td><td>0.5</td></tr></table>'
    """
    lines = [
        "".join(f"<{mark}>{escape(cell)}</{mark}>" for cell in row)
        for row, mark in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    ]
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence)
    return said + (f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>" if rows else "")
