"""Words in tables, pictures and messages: numbers of things, names that are too long, values, data for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from numbers import Real
from typing import TypeGuard

# The first and the last time that is a date, in seconds since 1970.
FIRST, LAST = -62_135_596_800.0, 253_402_300_799.0


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


def amount(value: float) -> str:
    """A number as people write it on an axis.

    Examples
    --------
    >>> amount(0.16), amount(500), amount(12_500), amount(3e6)
    ('0.16', '500', '12.5k', '3M')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def number(value: float, digits: int = 4) -> str:
    """A number for people: so many digits that matter, and thousands apart.

    Examples
    --------
    >>> number(1234567.8), number(9999.6), number(999.96), number(0.00612345), number(12.345), number(123.4, digits=3)
    ('1,234,568', '10,000', '1,000', '0.006123', '12.35', '123')
    """
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:,.{digits}g}"


def listed(names: Sequence[object], most: int = 12) -> str:
    """Some names in a row, and dots for those that are too many.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed("abcdef", most=2)
    ('a, b, c', 'a, b, ...')
    """
    return ", ".join([*map(str, names[:most]), *(["..."] if len(names) > most else [])])


def plain(data: object) -> object:
    """Data for JSON, whose standard knows no other numbers than finite ones: None stands for the others.

    Examples
    --------
    >>> plain({"a": (1.5, float("nan"))})
    {'a': [1.5, None]}
    """
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def date_of(at: float) -> datetime:
    """A time in seconds since 1970 as a date (UTC); those before the first and after the last there is, as that one.

    Examples
    --------
    >>> date_of(0.0).year, date_of(1.7e18).year
    (1970, 9999)
    """
    return datetime.fromtimestamp(min(max(at, FIRST), LAST), UTC)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite real number, NumPy's included; True and False are none.

    Examples
    --------
    >>> is_number(2), is_number(0.5), is_number(float("nan")), is_number(True), is_number("2")
    (True, True, False, False, False)
    """
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is larger than any float
        return False


def as_float(value: object) -> float:
    """A value as a number; nan where it is none, or larger than any float.

    Examples
    --------
    >>> as_float("0.5"), as_float(None), as_float(2**2000)
    (0.5, nan, nan)
    """
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan


def shown(value: object) -> str:
    """A wrong value for a message of one line: as it is if it is short, else its kind.

    Examples
    --------
    >>> shown([1, 2]), shown(list(range(100)))
    ('[1, 2]', 'a list')
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        text = "\n"
    return text if len(text) <= 80 and "\n" not in text else f"a {type(value).__name__}"
