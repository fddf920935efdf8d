"""Logs of (arm, reward) to an instance, so that people can simulate on their own traffic."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from satisfice.errors import Hint, InvalidData
from satisfice.instances.costs import one_place, priced
from satisfice.instances.sources import Columns, Log, PandasFrame, opened
from satisfice.instances.tables import ROW, as_numbers
from satisfice.instances.tally import by_cost
from satisfice.limits import MAX_BAD
from satisfice.problem import MAX_ARMS, REWARD_MODELS, Instance, RewardModel
from satisfice.words import is_number

if TYPE_CHECKING:
    import polars as pl

MAX_LEVELS = 1000
OUTSIDE = "the reward is outside [0, 1]"


def from_logs(
    data: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | PandasFrame,
    arm: str,
    reward: str,
    *,
    cost: str | None = None,
    costs: Mapping[str, float] | str | os.PathLike[str] | None = None,
    random_costs: int | None = None,
    model: RewardModel = "bernoulli",
    scale: float = 1.0,
    label: str | None = None,
    table: str | None = None,
    max_bad: float = MAX_BAD,
    progress: bool = False,
) -> Instance:
    """The instance of a log: one arm per value of the column `arm`, sorted by cost.

    Parameters
    ----------
    data : path, frame or URL
        A CSV, Excel or Parquet file, JSON lines (plain or gzipped), a Polars or pandas frame, or the URL of a database
        (`postgresql://user@host/shop`, `sqlite:///shop.db`); a row is one pull.
    arm, reward : str
        The columns with the arm and the reward of the pull.
    cost : str, optional
        The column with the cost of the pull; the cost of an arm is the mean of its pulls.
    costs : mapping or path, optional
        The cost of each arm instead: a mapping, a JSON file with an object of them, or a CSV file of (arm, cost).
    random_costs : int, optional
        Where there are no costs at all, a seed to draw some for an experiment, as the paper does: NumPy's legacy
        `RandomState(seed).rand(K)` over the arms in alphabetical order, with a `DataWarning`.
    model : {"bernoulli", "categorical", "gaussian"}
        The reward model. "bernoulli" needs rewards within [0, 1] and keeps their mean; "categorical" keeps the whole
        distribution, of at most 1000 different rewards; "gaussian" keeps the means and one standard deviation, that
        of the rewards around the mean of their arm.
    scale : float
        What rewards are divided by, for example 5 for ratings from 1 to 5.
    label : str, optional
        What to call the instance; by default the file's name.
    table : str, optional
        The sheet of a spreadsheet, the first one by default, or the table of a database.
    max_bad : float
        Largest share of unusable rows that is accepted, within [0, 1]. They are left out with a `DataWarning`.
    progress : bool
        Whether to show a bar on the error stream.

    Raises
    ------
    InvalidData
        Says which file and, where possible, which line is wrong.

    Examples
    --------
    >>> import polars as pl
    >>> log = pl.DataFrame({"model": ["small", "large", "small", "large"], "solved": [1, 1, 0, 1]})
    >>> instance = from_logs(log, arm="model", reward="solved", costs={"small": 0.1, "large": 2.0})
    >>> instance.names, instance.means.tolist(), instance.counts.tolist()
    (('small', 'large'), [0.5, 1.0], [2, 2])
    """
    if model not in REWARD_MODELS:
        raise InvalidData(f"reward model {model!r} is unknown; use one of {', '.join(REWARD_MODELS)}")
    if not is_number(scale) or scale <= 0:
        raise InvalidData("rewards are divided by it, so it must be a number above 0", parameter="scale", value=scale)
    one_place(cost, costs, random_costs)
    import polars as pl

    columns = Columns(arm, reward, cost)
    keys = ["problem", "arm", "reward"] if model == "categorical" else ["problem", "arm"]
    with opened(data, columns, max_bad, progress, table) as log:
        parts = [log.collect(_grouped(frame, columns, keys, model, scale)) for frame in log.frames]
        parts = [part for part in parts if part.height]
        if not parts:
            log.problems.report(log.problems.count)
            raise InvalidData(f"{log.shown} holds no rows")
        sums = (
            pl.concat(parts)
            .group_by(keys)
            .agg(pl.col("rows", "total", "squares", "cost").sum(), pl.col(ROW, "low").min(), pl.col("high").max())
        )
        good = _usable(sums, log, scale)
    arms = sorted(good["arm"].unique().to_list())
    if len(arms) > MAX_ARMS:
        raise InvalidData(
            f"column {arm!r} of {log.shown} has {len(arms):,} different values; at most {MAX_ARMS:,} arms are accepted"
        )
    sums = good.group_by("arm").agg(pl.col("cost").sum(), pl.col("rows").sum())
    column = None if cost is None else (cost, {name: total / rows for name, total, rows in sums.iter_rows()})
    price, origin = priced(arms, column, costs, random_costs)
    rows_of = dict(zip(sums["arm"].to_list(), sums["rows"].to_list(), strict=True))
    source = f"{log.name}: {good['rows'].sum():,} rows of {arm!r} and {reward!r}"
    source += f", rewards divided by {scale:g}" if scale != 1 else ""
    prices, called = [price[name] for name in arms], label or log.name.split(".")[0]
    made = _instance(good, arms, prices, model, scale).replace(counts=[rows_of[name] for name in arms])
    return by_cost(made.replace(label=called, source=f"{source}; costs: {origin}"))


def _instance(good: pl.DataFrame, arms: list[str], costs: list[float], model: RewardModel, scale: float) -> Instance:
    if model == "categorical":
        levels = sorted(good["reward"].unique().to_list())
        if len(levels) > MAX_LEVELS:
            raise InvalidData(f"{len(levels):,} different rewards; a categorical instance takes at most {MAX_LEVELS:,}")
        at_arm, at_level = ({key: at for at, key in enumerate(keys)} for keys in (arms, levels))
        counts = np.zeros((len(arms), len(levels)))
        for arm, level, rows in good.select("arm", "reward", "rows").iter_rows():
            counts[at_arm[arm], at_level[level]] = rows
        shares = counts / counts.sum(axis=1, keepdims=True)
        return Instance(costs, None, arms, model, values=np.array(levels) / scale, probabilities=shares)
    by_arm = good.sort("arm")
    rows, total, squares = (by_arm[name].to_numpy() for name in ("rows", "total", "squares"))
    means = total / rows / scale
    if model == "bernoulli":
        # Rounding in the sum of many rewards of 1 must not lift a mean above 1.
        return Instance(costs, np.clip(means, 0, 1), arms, model)
    spread, freedom = float((squares - total**2 / rows).sum()), int(rows.sum()) - len(arms)
    if freedom < 1 or spread <= 1e-12 * squares.sum():
        raise InvalidData("a gaussian instance needs rewards that vary within an arm; use bernoulli or categorical")
    return Instance(costs, means, arms, model, sigma=math.sqrt(spread / freedom) / scale)


def _grouped(frame: pl.LazyFrame, columns: Columns, keys: list[str], model: str, scale: float) -> pl.LazyFrame:
    """Rows, sums and the first row of each kind of problem (null when there is none), arm and, if asked, reward."""
    import polars as pl

    types = frame.collect_schema()
    # The scale is applied to sums afterwards: Polars would multiply by its rounded reciprocal.
    reward = as_numbers(columns.reward, types[columns.reward])
    cost = pl.lit(0.0) if columns.cost is None else as_numbers(columns.cost, types[columns.cost])
    rows = frame.select(
        ROW,
        pl.col(columns.arm).cast(pl.String).str.strip_chars().fill_null("").alias("arm"),
        reward.alias("reward"),
        reward.alias("seen"),
        cost.alias("cost"),
    )
    accepted = (0.0, scale) if model == "bernoulli" else (-math.inf, math.inf)
    problem = (
        pl.when(pl.col("arm") == "")
        .then(pl.lit(f"no arm in {columns.arm!r}"))
        .when(pl.col("reward").is_null() | ~pl.col("reward").is_finite())
        .then(pl.lit(f"no number in {columns.reward!r}"))
        .when(~pl.col("reward").is_between(*accepted))
        .then(pl.lit(OUTSIDE))
        .when(pl.col("cost").is_null() | ~pl.col("cost").is_finite() | (pl.col("cost") < 0))
        .then(pl.lit(f"no number of at least 0 in {columns.cost!r}"))
        .otherwise(pl.lit(None, dtype=pl.String))
        .alias("problem")
    )
    # A broken row goes into one group per kind of problem, so that garbage does not make millions of groups.
    return (
        rows.with_columns(problem)
        .with_columns(
            pl.when(pl.col("problem").is_null()).then(pl.col("arm")).alias("arm"),
            pl.when(pl.col("problem").is_null()).then(pl.col("reward")).alias("reward"),
        )
        .with_columns(amount=pl.col("reward"))
        .group_by(keys)
        .agg(
            pl.len().cast(pl.Int64).alias("rows"),
            pl.col("amount").sum().alias("total"),
            (pl.col("amount") ** 2).sum().alias("squares"),
            pl.col("cost").sum().alias("cost"),
            pl.col(ROW).min(),
            pl.col("seen").min().alias("low"),
            pl.col("seen").max().alias("high"),
        )
    )


def _usable(sums: pl.DataFrame, log: Log, scale: float) -> pl.DataFrame:
    import polars as pl

    broken = log.problems.count
    bad = sums.filter(pl.col("problem").is_not_null()).sort(ROW)
    for row in bad.iter_rows(named=True):
        if row["problem"] == OUTSIDE:
            # The largest rewards are what a log is about: they are never damage, however few they are.
            raise InvalidData(
                f"{row['rows']:,} of {int(sums['rows'].sum()) + broken:,} rewards of {log.shown} are outside "
                f"[0, {scale:g}]: from {row['low']:g} to {row['high']:g}, the first is {log.where(row[ROW])}",
                hint=Hint.SCALE,
            )
        log.problems.add(row["problem"], row["rows"], partial(log.where, row[ROW]))
    log.problems.report(int(sums["rows"].sum()) + broken)
    good = sums.filter(pl.col("problem").is_null())
    if good.is_empty():
        raise InvalidData(f"{log.shown} holds no usable rows")
    return good
