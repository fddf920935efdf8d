"""What is proved, fact by fact, and as plain data in states and logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

REFUTED, CERTIFIED, NONE = "refuted", "certified", "none"

Facts = list[list[object]]  # as plain data


class Fact(NamedTuple):
    """Something that was proved. Arms are indices of the study."""

    kind: str  # "refuted": not good enough; "certified": the cheapest good enough; "none": no arm is good enough
    arm: int
    by: int  # the arm that refuted it; -1: the fixed threshold
    rewards: int  # rewards counted by then
    at: float  # seconds since 1970


def read_facts(data: Iterable[Sequence[object]]) -> list[Fact]:
    """Facts from plain data.

    Examples
    --------
    >>> read_facts([["refuted", 0, 2, 150, 1.7e9]])[0].by
    2
    """
    return [Fact(*fact) for fact in data]  # type: ignore[arg-type]


def plain(facts: Iterable[Fact]) -> Facts:
    """Facts as plain data.

    Examples
    --------
    >>> plain([Fact("refuted", 0, 2, 150, 1.7e9)])
    [['refuted', 0, 2, 150, 1700000000.0]]
    """
    return [list(fact) for fact in facts]
