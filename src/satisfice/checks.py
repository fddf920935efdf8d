"""Checks of the parts of an instance, with errors that say what is accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satisfice.errors import InvalidInstance
from satisfice.words import is_number

Floats = NDArray[np.float64]


def vector(what: str, values: ArrayLike) -> Floats:
    """The numbers of all arms, finite and at least one."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInstance(f"{what}s must be numbers, one per arm; got {values!r}") from error
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInstance(f"{what}s must be a list of at least one number; got shape {array.shape}")
    each(what, array, ~np.isfinite(array), accepted="a finite number")
    return array


def each(what: str, array: Floats, wrong: NDArray[np.bool_], *, accepted: str) -> None:
    """Raise `InvalidInstance` for the first arm that is `wrong`."""
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidInstance(f"the {what} of arm {i} is {array[i]}; it must be {accepted}")


def field_of(data: Mapping[str, object], name: str, whose: str) -> object:
    """A field of plain data."""
    if name not in data:
        raise InvalidInstance(f"not an instance: {whose} has no {name!r}")
    return data[name]


def deviation(sigma: float) -> float:
    """The standard deviation of a Gaussian reward, above 0."""
    if not is_number(sigma) or sigma <= 0:
        raise InvalidInstance(
            "the standard deviation of a Gaussian reward must be above 0", parameter="sigma", value=sigma
        )
    return float(sigma)


def scale_of(
    reward: str, arms: int, *, values: ArrayLike | None, probabilities: ArrayLike | None
) -> tuple[Floats, Floats]:
    """The levels of categorical rewards and the probability of each for every arm; both empty for other models."""
    if reward != "categorical":
        if values is not None or probabilities is not None:
            raise InvalidInstance(f"values and probabilities belong to categorical rewards, not to {reward} ones")
        return np.zeros(0), np.zeros((arms, 0))
    if values is None or probabilities is None:
        raise InvalidInstance("a categorical instance needs values (levels) and probabilities (arms x levels)")
    scale = vector("value", values)
    try:
        table = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInstance(f"probabilities must be a table of numbers, arms x levels: {error}") from error
    if table.shape != (arms, len(scale)):
        raise InvalidInstance(f"probabilities have shape {table.shape}; ({arms}, {len(scale)}) was expected")
    for i, row in enumerate(table):
        if not np.isfinite(row).all() or row.min() < 0 or abs(row.sum() - 1) > 1e-6:
            raise InvalidInstance(
                f"the probabilities of arm {i} are {row.tolist()}; they must be at least 0 and sum to 1"
            )
    return scale, table / table.sum(axis=1, keepdims=True)


def counts_of(counts: ArrayLike | None, arms: int) -> NDArray[np.int64] | None:
    """The rows behind every mean, whole numbers of at least 1; None where there are none."""
    if counts is None:
        return None
    rows = vector("count", counts)
    if len(rows) != arms:
        raise InvalidInstance(f"{arms} costs but {len(rows)} counts; there must be one of each per arm")
    each("count", rows, (rows < 1) | (rows != np.floor(rows)), accepted="a whole number of at least 1")
    return rows.astype(np.int64)


def names_of(names: Sequence[str] | None, arms: int) -> tuple[str, ...]:
    """The names of the arms: those given, which are distinct, or arm-1, arm-2, ..."""
    if names is None:
        return tuple(f"arm-{i + 1}" for i in range(arms))
    result = tuple(str(name) for name in names)
    if len(result) != arms:
        raise InvalidInstance(f"{arms} costs but {len(result)} names; there must be one of each per arm")
    if len(set(result)) != arms:
        twice = next(name for name in result if result.count(name) > 1)
        raise InvalidInstance(f"the name {twice!r} stands for more than one arm; names must be distinct")
    return result
