"""A bound is a sum of named terms; a term that is infinite or absent says why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from satisfice.problem import Floats


@dataclass(frozen=True)
class Term:
    """One underbraced term of a bound.

    `value` is at least 0 and may be infinite; `meaning` says what the term stands for; `reason` says why the
    value is infinite or 0, and is empty otherwise.
    """

    name: str
    value: float
    meaning: str
    reason: str = ""


class Bound(NamedTuple):
    """What a theorem and its lemmas say on one instance."""

    cost: tuple[Term, ...]
    quality: tuple[Term, ...]
    pulls: Floats  # (arms,) at most, in expectation
    reasons: tuple[str, ...]  # (arms,) why a bound on pulls is infinite, shared or the horizon; "" otherwise


def term(name: str, meaning: str, value: float, *, absent: str, infinite: str) -> Term:
    """A term with the reason that its value calls for."""
    return Term(name, float(value), meaning, absent if value == 0 else infinite if math.isinf(value) else "")


def times(weight: float, amount: float) -> float:
    """The product, in which a zero weight wins over an infinite amount: what has no gap adds no regret."""
    return 0.0 if weight == 0 else float(weight * amount)


def largest(values: Iterable[float]) -> float:
    """The maximum, 0 for none."""
    return max(values, default=0.0)
