"""Results of others, as results of this package."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satisfice.errors import InvalidData
from satisfice.simulation.results import Result


def made(label: str, pulls: ArrayLike, checkpoints: ArrayLike | None, like: Result) -> Result:
    """A result from pulls at the horizon, (runs, arms), or up to checkpoints, (runs, checkpoints, arms)."""
    table = _whole("pulls", pulls)
    arms, horizon = like.instance.arms, like.terms.horizon
    if table.ndim == 2:
        table = table[:, None, :]
        marks = np.array([horizon])
        if checkpoints is not None:
            raise InvalidData("checkpoints go with pulls of the shape (runs, checkpoints, arms)")
    elif checkpoints is None:
        raise InvalidData(
            "pulls of the shape (runs, checkpoints, arms) need checkpoints, the times that they are up to"
        )
    else:
        marks = _whole("checkpoints", checkpoints)
    if table.ndim != 3 or table.shape[1:] != (len(marks), arms) or not len(table):
        raise InvalidData(f"the pulls have the shape {table.shape}; (runs, {len(marks)}, {arms}) was expected")
    if int(marks[-1]) != horizon or (np.diff(marks) <= 0).any():
        raise InvalidData(f"the checkpoints must grow, up to the horizon {horizon:,}; they end at {int(marks[-1]):,}")
    wrong = np.argwhere(table.sum(axis=2) != marks)
    if len(wrong):
        run, mark = wrong[0]
        raise InvalidData(
            f"run {run} has {table[run, mark].sum():,} pulls up to {marks[mark]:,}; the pulls of all arms must add up"
        )
    gaps = like.setting.cost_gaps(like.instance), like.setting.quality_gaps(like.instance)
    return Result(
        terms=replace(like.terms, policy=label, params={}, runs=len(table)),
        checkpoints=marks,
        pulls=table[:, -1, :],
        cost_curve=table @ gaps[0],
        quality_curve=table @ gaps[1],
    )


def _whole(what: str, values: ArrayLike) -> NDArray[np.int64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(f"{what} must be whole numbers of at least 0") from error
    if not np.isfinite(array).all() or (array < 0).any() or (array != np.floor(array)).any():
        raise InvalidData(f"{what} must be whole numbers of at least 0")
    return array.astype(np.int64)
