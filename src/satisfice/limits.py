"""Limits: how large the numbers may be that a simulation is asked for with, and how much of raw data may be bad."""

from __future__ import annotations

from satisfice.errors import InvalidRun, SatisficeError
from satisfice.words import is_number

MAX_HORIZON = 10**15
MAX_RUNS = 10**7
MAX_SEED = 2**63 - 1
MAX_WORKERS = 4096
MAX_BAD = 0.01  # of the rows of raw data, which are reported; more are an error
MAX_RECORD = 2 * 10**8  # checkpoints times arms: what a run remembers at a time takes 8 bytes each


def whole(what: str, value: object, least: int, most: int, *, error: type[SatisficeError] = InvalidRun) -> int:
    """`value` as a whole number within [least, most], or an error; 5e6 is one.

    Examples
    --------
    >>> whole("horizon", 5e6, 1, MAX_HORIZON)
    5000000
    >>> whole("horizon", 0, 1, MAX_HORIZON)
    Traceback (most recent call last):
    satisfice.errors.InvalidRun: horizon = 0; it must be from 1 to 1000000000000000
    """
    if not is_number(value) or not float(value).is_integer():
        raise error("it must be a whole number", parameter=what, value=value)
    if not least <= value <= most:
        raise error(f"it must be from {least} to {most}", parameter=what, value=value)
    return int(value)
