"""Words in tables, pictures and messages: numbers of things, and names that are too long."""

from __future__ import annotations


def count(number: int, thing: str) -> str:
    """A number of things: 1 run, 20 runs, 1,000 pulls.

    Examples
    --------
    >>> count(1, "run"), count(2_000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def shorten(text: str, most: int) -> str:
    """The text in at most `most` characters, cut in the middle: names often begin alike and end differently.

    Examples
    --------
    >>> shorten("provider/very-long-model-name-2", 17)
    'provider…l-name-2'
    """
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
