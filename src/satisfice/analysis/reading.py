"""A log as rows that are ready to be counted: arm, reward, cost, time, segments; and what was left out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from satisfice.analysis.columns import Roles
from satisfice.errors import InvalidData
from satisfice.instances.sources import Columns, PandasFrame, opened
from satisfice.instances.tables import ROW, as_numbers
from satisfice.problem import MAX_ARMS

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Rows:
    """The usable rows of a log, in the order of time where that is known.

    `frame` has the columns `arm` (text), `reward`, `cost` and `time` (numbers; null or absent where unknown; a time is
    in seconds since 1970) and `segment-0`, `segment-1`, ... (text).
    """

    frame: pl.DataFrame
    name: str
    shown: str
    all_rows: int  # in the log
    unrewarded: int  # without a reward, which are left out
    repeated: int  # that are the same as an earlier one in every column; they count
    telling: bool  # whether there is a column that should tell rows apart


def read_rows(
    data: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | PandasFrame,
    roles: Roles,
    there: list[str],
    *,
    table: str | None,
    max_bad: float,
    progress: bool,
) -> Rows:
    """Read all rows. `there` are all columns of the log, by which repeated rows are known.

    Raises
    ------
    InvalidData
        When rows that cannot be used are more than the accepted share, or none is left.
    """
    import polars as pl

    columns = Columns(roles.arm, roles.reward, roles.cost, optional=tuple(there))
    with opened(data, columns, max_bad, progress, table) as log:
        parts = [log.collect(_plain(frame, roles, there)) for frame in log.frames]
        parts = [part for part in parts if part.height]
        broken = log.problems.count
        if not parts:
            log.problems.report(broken)
            raise InvalidData(f"{log.shown} holds no rows")
        frame = pl.concat(parts)
        rows = frame.height + broken
        unrewarded = int(frame["missing"].sum())
        bad = frame.filter(pl.col("problem").is_not_null()).group_by("problem").agg(pl.len(), pl.col(ROW).min())
        for problem, count, first in bad.sort(ROW).iter_rows():
            log.problems.add(problem, count, partial(log.where, first))
        log.problems.report(rows)
    good = frame.filter(pl.col("problem").is_null() & ~pl.col("missing"))
    if good.is_empty():
        raise InvalidData(f"{log.shown} holds no usable rows")
    arms = good["arm"].n_unique()
    if arms > MAX_ARMS:
        raise InvalidData(f"column {roles.arm!r} of {log.shown} has {arms:,} different values; at most {MAX_ARMS:,}")
    if "time" in good.columns and good["time"].null_count() == 0:
        good = good.sort("time", maintain_order=True)
    kept = good.drop("problem", "missing", "hash", ROW)
    return Rows(
        frame=kept,
        name=log.name.split(".")[0],
        shown=log.shown,
        all_rows=rows,
        unrewarded=unrewarded,
        repeated=good.height - good["hash"].n_unique(),
        telling=len(set(there) - {roles.arm, roles.reward, roles.cost, *roles.segments}) > 0,
    )


def _plain(frame: pl.LazyFrame, roles: Roles, there: list[str]) -> pl.LazyFrame:
    import polars as pl

    types = frame.collect_schema()
    reward = as_numbers(roles.reward, types[roles.reward])
    empty = pl.col(roles.reward).cast(pl.String).str.strip_chars().fill_null("").is_in(["", "null", "NaN", "nan"])
    cost = None if roles.cost is None else as_numbers(roles.cost, types[roles.cost])
    picked = [
        pl.col(ROW),
        pl.col(roles.arm).cast(pl.String).str.strip_chars().fill_null("").alias("arm"),
        reward.alias("reward"),
        *([cost.alias("cost")] if cost is not None else []),
        *([_seconds(time, types[time]).alias("time")] if (time := roles.time) and time in types else []),
        *(
            pl.col(name).cast(pl.String).str.strip_chars().fill_null("(none)").alias(f"segment-{place}")
            for place, name in enumerate(roles.segments)
        ),
        empty.alias("missing"),
        pl.struct([name for name in there if name in types]).hash().alias("hash"),
    ]
    problem = (
        pl.when(pl.col("arm") == "")
        .then(pl.lit(f"no arm in {roles.arm!r}"))
        .when(~pl.col("missing") & (pl.col("reward").is_null() | ~pl.col("reward").is_finite()))
        .then(pl.lit(f"no number in {roles.reward!r}"))
    )
    if cost is not None:
        wrong = pl.col("cost").is_null() | ~pl.col("cost").is_finite() | (pl.col("cost") < 0)
        problem = problem.when(~pl.col("missing") & wrong).then(pl.lit(f"no number of at least 0 in {roles.cost!r}"))
    blank = pl.all_horizontal(pl.col(name).is_null() for name in there if name in types)
    return (
        frame.filter(~blank)
        .select(picked)
        .with_columns(problem.otherwise(pl.lit(None, dtype=pl.String)).alias("problem"))
    )


def _seconds(column: str, kind: pl.DataType) -> pl.Expr:
    """A column of times as seconds since 1970; null where that cannot be told."""
    import polars as pl

    if kind in (pl.Date, pl.Datetime) or isinstance(kind, pl.Datetime):
        return pl.col(column).cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    if kind.is_numeric():
        number = pl.col(column).cast(pl.Float64)
    elif kind == pl.String:
        text = pl.col(column).str.strip_chars().str.strip_suffix("Z")
        moment = pl.coalesce(
            *(text.str.to_datetime(form, strict=False, time_unit="us").dt.epoch("us") for form in FORMATS),
            *(text.str.to_date(form, strict=False).cast(pl.Datetime("us")).dt.epoch("us") for form in DATES),
        )
        number = pl.coalesce(moment / 1e6, text.cast(pl.Float64, strict=False))
    else:
        return pl.lit(None, dtype=pl.Float64)
    # Milliseconds, microseconds and nanoseconds are told by their size.
    return (
        pl.when(number > 1e17)
        .then(number / 1e9)
        .when(number > 1e14)
        .then(number / 1e6)
        .when(number > 1e11)
        .then(number / 1e3)
        .otherwise(number)
    )


BLOCKS = 12
FORMATS = (
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f%:z",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
)
DATES = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y/%m/%d")


def span(rows: Rows) -> float | None:
    """The days that a log spans; None where its times are not known."""
    if "time" not in rows.frame.columns or rows.frame["time"].null_count():
        return None
    days: float = (rows.frame["time"].max() - rows.frame["time"].min()) / 86400  # type: ignore[operator, assignment]
    return days


def curves_of(rows: Rows, names: tuple[str, ...]) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Of every arm, when (or after which row) and the mean reward there, in blocks of equally many rows."""
    frame = rows.frame.with_row_index("place")
    timed = span(rows) not in (None, 0.0)
    result = {}
    for name in names:
        part = frame.filter(frame["arm"] == name)
        at = part["time" if timed else "place"].to_numpy().astype(np.float64)
        reward = part["reward"].to_numpy()
        blocks = np.array_split(np.arange(len(at)), max(min(BLOCKS, len(at) // 20), 1))
        result[name] = (tuple(float(at[b].mean()) for b in blocks), tuple(float(reward[b].mean()) for b in blocks))
    return result
