"""What the rows of a log amount to: levels of reward and how often each arm had them, costs, and draws of the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from satisfice.instances.doubt import draw_levels, optimal_of
from satisfice.problem import Floats, Instance, Setting

if TYPE_CHECKING:
    import polars as pl

# More different rewards than this are put together with their neighbours: it changes no mean, and hardly a spread.
MOST_LEVELS = 400
DRAWS = 4000


@dataclass(frozen=True, eq=False)
class Evidence:
    """The sums of a log. Arms are sorted by cost, then by name."""

    names: tuple[str, ...]
    rows: Floats  # (arms,)
    means: Floats  # (arms,) of the rewards
    squares: Floats  # (arms,) sum of the squares of the rewards, on the scale of the limits: within [0, 1]
    costs: Floats  # (arms,) mean cost
    cost_errors: Floats  # (arms,) standard error of the mean cost; 0 where it does not vary
    cost_ends: Floats  # (arms, 2) smallest and largest cost of a row
    values: Floats  # (levels,)
    counts: Floats  # (arms, levels)
    limits: tuple[float, float]  # no reward is outside

    @property
    def binary(self) -> bool:
        """Whether every reward is one of the two limits."""
        return len(self.values) <= 2 and bool(np.isin(self.values, self.limits).all())

    @property
    def face(self) -> Instance:
        """The arms with the means that were seen, on the scale of the rewards, as if these were the truth."""
        return Instance(self.costs, self.means, self.names, "gaussian", label="the log")

    def scaled(self) -> Floats:
        """The means on [0, 1]."""
        low, high = self.limits
        return np.clip((self.means - low) / (high - low), 0.0, 1.0)

    def draw(self, draws: int, seed: int) -> tuple[Floats, Floats]:
        """Means and costs that the arms may have by what was seen, (draws, arms) each: the Bayesian bootstrap for
        rewards, a normal approximation for costs that vary."""
        rng = np.random.default_rng(seed)
        ends = np.array(self.limits)
        values, counts = np.append(self.values, ends), np.hstack([self.counts, np.zeros((len(self.rows), 2))])
        seen = self.counts @ self.values / self.rows
        means = draw_levels(values, counts, draws, rng) + (self.means - seen)
        costs = np.maximum(rng.normal(self.costs, self.cost_errors, (draws, len(self.rows))), 0.0)
        return np.clip(means, *self.limits), costs

    def instance(self, levels: int, label: str) -> Instance:
        """The same as an instance with rewards on [0, 1] and counts, of at most so many levels."""
        low, high = self.limits
        if self.binary:
            return Instance(self.costs, self.scaled(), self.names, counts=self.rows, label=label)
        values, counts = merge_levels(self.values, self.counts, levels)
        scale = np.clip((values - low) / (high - low), 0.0, 1.0)
        shares = counts / counts.sum(axis=1, keepdims=True)
        return Instance(
            self.costs,
            None,
            self.names,
            "categorical",
            values=scale,
            probabilities=shares,
            counts=self.rows,
            label=label,
        )


def shares_of(setting: Setting, evidence: Evidence, means: Floats, costs: Floats) -> tuple[Floats, float]:
    """How often each arm is the right one in the draws, and how often none is good enough."""
    arms = optimal_of(setting, costs, means, evidence.names)
    return np.bincount(arms[arms >= 0], minlength=len(evidence.names)) / len(arms), float(np.mean(arms < 0))


def collect(frame: pl.DataFrame, prices: dict[str, float] | None, limits: tuple[float, float] | None) -> Evidence:
    """The sums of the rows of a log; `prices` are the costs of the arms where no column has them."""
    import polars as pl

    has_cost = "cost" in frame.columns
    cost = pl.col("cost") if has_cost else pl.lit(0.0)
    arms = frame.group_by("arm").agg(
        pl.len().alias("rows"),
        pl.col("reward").mean().alias("mean"),
        cost.mean().alias("cost"),
        cost.std().fill_null(0.0).alias("spread"),
        cost.min().alias("cheapest"),
        cost.max().alias("dearest"),
    )
    if prices is not None:
        given = pl.DataFrame({"arm": list(prices), "cost": list(map(float, prices.values()))})
        arms = (
            arms.drop("cost")
            .join(given, on="arm", how="left")
            .with_columns(
                pl.col("cost").alias("cheapest"), pl.col("cost").alias("dearest"), pl.lit(0.0).alias("spread")
            )
        )
    arms = arms.sort("cost", "arm")
    names = tuple(arms["arm"].to_list())
    table = frame.group_by("arm", "reward").agg(pl.len().alias("rows")).sort("reward")
    values = table["reward"].unique().sort().to_numpy()
    counts = np.zeros((len(names), len(values)))
    at = {name: place for place, name in enumerate(names)}
    rows = np.array([at[name] for name in table["arm"].to_list()])
    counts[rows, np.searchsorted(values, table["reward"].to_numpy())] = table["rows"].to_numpy()
    ends = (min(0.0, float(values[0])), float(values[-1]) if values[-1] > 1 else 1.0)
    bottom, top = ends if limits is None else limits
    squares = counts @ np.clip((values - bottom) / (top - bottom), 0.0, 1.0) ** 2
    values, counts = merge_levels(values, counts, MOST_LEVELS)
    amount = arms["rows"].to_numpy().astype(np.float64)
    spread = arms["spread"].to_numpy()
    varies = spread > 1e-9 * np.maximum(arms["cost"].to_numpy(), 1e-300)
    return Evidence(
        names=names,
        rows=amount,
        means=arms["mean"].to_numpy(),
        squares=squares,
        costs=arms["cost"].to_numpy(),
        cost_errors=np.where(varies, spread / np.sqrt(amount), 0.0),
        cost_ends=arms.select("cheapest", "dearest").to_numpy(),
        values=values,
        counts=counts,
        limits=(bottom, top),
    )


def merge_levels(values: Floats, counts: Floats, most: int) -> tuple[Floats, Floats]:
    """At most so many levels: the smallest and the largest stay, those between are put together by how often they were
    seen, at their mean.

    Examples
    --------
    >>> values, counts = merge_levels(np.arange(6.0), np.ones((1, 6)), most=4)
    >>> values.tolist(), counts.tolist()
    ([0.0, 1.5, 3.5, 5.0], [[1.0, 2.0, 2.0, 1.0]])
    """
    if len(values) <= most:
        return values, counts
    inner = counts[:, 1:-1].sum(axis=0)
    place = np.minimum(((np.cumsum(inner) - 0.5 * inner) / inner.sum() * (most - 2)).astype(int), most - 3)
    groups = np.concatenate([[0], place + 1, [most - 1]])
    _, groups = np.unique(groups, return_inverse=True)
    size = int(groups.max()) + 1
    merged = np.zeros((len(counts), size))
    for level, group in enumerate(groups):
        merged[:, group] += counts[:, level]
    total = np.bincount(groups, weights=counts.sum(axis=0) * values, minlength=size)
    return total / merged.sum(axis=0), merged
