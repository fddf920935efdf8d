"""Logs of (arm, reward) to an instance, so that people can simulate on their own traffic."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from satisfice.errors import Hint, InvalidData
from satisfice.instances.costs import given_costs, random_costs
from satisfice.instances.sources import Columns, Log, PandasFrame, opened
from satisfice.instances.tables import ROW, as_numbers
from satisfice.instances.tally import MAX_BAD, by_cost, warn
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
    cost_seed: int = 0,
    model: RewardModel = "bernoulli",
    scale: float = 1.0,
    label: str | None = None,
    max_bad: float = MAX_BAD,
    progress: bool = False,
) -> Instance:
    """The instance of a log: one arm per value of the column `arm`, sorted by cost.

    Parameters
    ----------
    data : path or frame
        A CSV file, a Parquet file, JSON lines (plain or gzipped), or a Polars or pandas frame; a row is one pull.
    arm, reward : str
        The columns with the arm and the reward of the pull.
    cost : str, optional
        The column with the cost of the pull; the cost of an arm is the mean of its pulls.
    costs : mapping or path, optional
        The cost of each arm instead: a mapping, a JSON file with an object of them, or a CSV file of (arm, cost).
        Without `cost` and `costs` the costs are drawn as for the paper's instances, with a `DataWarning`.
    cost_seed : int
        Seed of drawn costs: NumPy's legacy `RandomState(cost_seed).rand(K)` over the arms in alphabetical order.
    model : {"bernoulli", "categorical", "gaussian"}
        The reward model. "bernoulli" needs rewards within [0, 1] and keeps their mean; "categorical" keeps the whole
        distribution, of at most 1000 different rewards; "gaussian" keeps the means and one standard deviation, that
        of the rewards around the mean of their arm.
    scale : float
        What rewards are divided by, for example 5 for ratings from 1 to 5.
    label : str, optional
        What to call the instance; by default the file's name.
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
    >>> instance.names, instance.means.tolist()
    (('small', 'large'), [0.5, 1.0])
    """
    if model not in REWARD_MODELS:
        raise InvalidData(f"reward model {model!r} is unknown; use one of {', '.join(REWARD_MODELS)}")
    if not is_number(scale) or scale <= 0:
        raise InvalidData("rewards are divided by it, so it must be a number above 0", parameter="scale", value=scale)
    if cost is not None and costs is not None:
        raise InvalidData("costs come from the column cost or from costs, not from both")
    import polars as pl

    columns = Columns(arm, reward, cost)
    keys = ["problem", "arm", "reward"] if model == "categorical" else ["problem", "arm"]
    with opened(data, columns, max_bad, progress) as log:
        parts = [log.collect(_grouped(frame, columns, keys, model, scale)) for frame in log.frames]
        parts = [part for part in parts if part.height]
        if not parts:
            log.problems.settle(log.problems.count)
            raise InvalidData(f"{log.shown} holds no rows")
        sums = pl.concat(parts).group_by(keys).agg(pl.exclude(*keys, ROW).sum(), pl.col(ROW).min())
        good = _usable(sums, log)
    arms = sorted(good["arm"].unique().to_list())
    if len(arms) > MAX_ARMS:
        raise InvalidData(
            f"column {arm!r} of {log.shown} has {len(arms):,} different values; at most {MAX_ARMS:,} arms are accepted"
        )
    drawn = f"NumPy legacy RandomState({cost_seed}).rand({len(arms)}) over the arms in alphabetical order"
    if cost is not None:
        sums = good.group_by("arm").agg(pl.col("cost").sum(), pl.col("rows").sum())
        price, origin = {name: total / rows for name, total, rows in sums.iter_rows()}, f"mean of {cost!r} per arm"
    elif costs is not None:
        price, origin = given_costs(costs, arms), "given" if isinstance(costs, Mapping) else Path(costs).name
    else:
        warn(f"no costs were given; they are drawn at random: {drawn}")
        price, origin = random_costs(arms, cost_seed), drawn
    source = f"{log.name}: {good['rows'].sum():,} rows of {arm!r} and {reward!r}"
    source += f", rewards divided by {scale:g}" if scale != 1 else ""
    prices, called = [price[name] for name in arms], label or log.name.split(".")[0]
    return by_cost(
        _instance(good, arms, prices, model, scale).replace(label=called, source=f"{source}; costs: {origin}")
    )


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
        )
    )


def _usable(sums: pl.DataFrame, log: Log) -> pl.DataFrame:
    import polars as pl

    broken = log.problems.count
    bad = sums.filter(pl.col("problem").is_not_null()).sort(ROW)
    for row in bad.iter_rows(named=True):
        hint = Hint.SCALE if row["problem"] == OUTSIDE else Hint.MAX_BAD
        log.problems.add(row["problem"], row["rows"], partial(log.where, row[ROW]), hint=hint)
    log.problems.settle(int(sums["rows"].sum()) + broken)
    good = sums.filter(pl.col("problem").is_null())
    if good.is_empty():
        raise InvalidData(f"{log.shown} holds no usable rows")
    return good
