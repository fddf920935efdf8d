"""What makes a log doubtful: segments that disagree, means that change, costs that vary, rows that repeat."""

from __future__ import annotations

import itertools
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from satisfice.analysis.drift import changed
from satisfice.analysis.evidence import Evidence
from satisfice.analysis.reading import Rows
from satisfice.analysis.result import FEW, Concern
from satisfice.instances.doubt import optimal_of
from satisfice.problem import Floats, Setting
from satisfice.words import count, listed

if TYPE_CHECKING:
    import polars as pl

# Some rows are the same by chance, where times are to the second; and where most are, where times are days and there
# is no number of the order, the columns do not tell rows apart, so that nothing can be said of repeats.
CHANCE, COARSE = 0.001, 0.75


def concerns_of(
    rows: Rows, evidence: Evidence, setting: Setting, segments: tuple[str, ...], *, confidence: float, choice: int
) -> tuple[Concern, ...]:
    """All of them, the gravest first."""
    found = []
    for place, name in enumerate(segments):
        found += simpson(rows.frame, f"segment-{place}", name, evidence, setting, choice=choice)
    found += changed(rows, evidence, confidence)
    found += varying_costs(evidence, choice)
    if rows.telling and CHANCE * rows.all_rows < rows.repeated < COARSE * rows.all_rows:
        found.append(
            Concern(
                "repeats",
                f"{count(rows.repeated, 'row')} of {rows.all_rows:,} are the same as an earlier one in every column. "
                "They count here; if they were written twice, everything looks surer than it is.",
            )
        )
    few = [name for name, amount in zip(evidence.names, evidence.rows, strict=True) if amount < FEW]
    if few:
        found.append(Concern("few", f"Fewer than {FEW} rows: {listed(few, 6)}. Little can be said of them."))
    if rows.unrewarded:
        share = rows.unrewarded / rows.all_rows
        found.append(
            Concern(
                "rows",
                f"{count(rows.unrewarded, 'row')} ({share:.1%}) have no reward and are left out. If they failed, count "
                "them as 0 in the log: leaving them out flatters the arms that have more of them.",
            )
        )
    return tuple(found)


def simpson(
    frame: pl.DataFrame, column: str, name: str, evidence: Evidence, setting: Setting, *, choice: int
) -> list[Concern]:
    """Whether the segments disagree with the whole: the arms got different shares of easy and hard segments.

    Every arm is measured again as if it had served all segments in the shares of the whole log (direct
    standardisation). Where that changes the choice, or an arm that is better in the whole is worse in every segment, it
    is said, with the numbers.
    """
    import polars as pl

    cells = frame.group_by("arm", column).agg(pl.len().alias("rows"), pl.col("reward").mean().alias("mean"))
    parts = sorted(cells[column].unique().to_list())
    arms, at = evidence.names, {part: place for place, part in enumerate(parts)}
    place = {arm: k for k, arm in enumerate(arms)}
    amount, mean = np.zeros((len(arms), len(parts))), np.full((len(arms), len(parts)), np.nan)
    for arm, part, rows, value in cells.select("arm", column, "rows", "mean").iter_rows():
        amount[place[arm], at[part]], mean[place[arm], at[part]] = rows, value
    if len(parts) < 2 or (amount < FEW).any(axis=1).sum() > len(arms) - 2:
        return []
    if not depends(amount):
        return []  # the arms were used alike in the segments, so that what differs is chance
    weight = amount.sum(axis=0) / amount.sum()
    whole = (amount >= FEW).all(axis=1)
    adjusted = np.where(whole, np.nan_to_num(mean) @ weight, evidence.means)
    (now,) = optimal_of(setting, evidence.costs, adjusted[None], arms).tolist()
    reversed_ = [
        (i, j)
        for i in np.flatnonzero(whole)
        for j in np.flatnonzero(whole)
        if evidence.means[i] > evidence.means[j] and (mean[i] < mean[j]).all()
    ]
    if now == choice and not reversed_:
        return []
    shown = list(dict.fromkeys([k for k in (choice, now, *(k for pair in reversed_ for k in pair)) if k >= 0]))[:6]
    head = ("arm", "all rows", *parts, "with equal shares")
    table = [head] + [
        (
            arms[k],
            f"{evidence.means[k]:.4g} ({evidence.rows[k]:,.0f})",
            *(f"{mean[k, s]:.4g} ({amount[k, s]:,.0f})" for s in range(len(parts))),
            f"{adjusted[k]:.4g}",
        )
        for k in shown
    ]
    said = []
    if reversed_:
        i, j = max(reversed_, key=lambda pair: evidence.means[pair[0]] - evidence.means[pair[1]])
        said.append(
            f"Simpson's paradox by {name!r}: {arms[i]} is better than {arms[j]} in all rows "
            f"({evidence.means[i]:.4g} to {evidence.means[j]:.4g}), and worse in every segment. The "
            "arms were not used alike in the segments."
        )
    if now != choice:
        what = "no arm" if now < 0 else arms[now]
        said.append(
            f"If every arm had served the values of {name!r} in the shares of the whole log, {what} would be the "
            "cheapest that is good enough."
        )
    return [Concern("segments", " ".join(said), tuple(table))]


def depends(amount: Floats, error: float = 0.001) -> bool:
    """Whether the shares of the columns differ between the rows of a table of counts, by Pearson's test.

    The distribution of its statistic is taken from Wilson and Hilferty's cube root.

    Examples
    --------
    >>> depends(np.array([[50.0, 50.0], [48.0, 52.0]])), depends(np.array([[90.0, 10.0], [10.0, 90.0]]))
    (False, True)
    """
    expected = amount.sum(axis=1, keepdims=True) * amount.sum(axis=0) / amount.sum()
    used = expected > 0
    statistic = float((((amount - expected) ** 2)[used] / expected[used]).sum())
    freedom = (amount.shape[0] - 1) * (amount.shape[1] - 1)
    spread = 2 / (9 * freedom)
    return bool(((statistic / freedom) ** (1 / 3) - 1 + spread) / spread**0.5 > NormalDist().inv_cdf(1 - error))


def varying_costs(evidence: Evidence, choice: int) -> list[Concern]:
    """Whether the cost of an arm is one number; where not, its mean is an estimate, too."""
    low, high = evidence.cost_ends.T
    varies = np.flatnonzero(evidence.cost_errors > 0)
    if not len(varies):
        return []
    worst = int(varies[np.argmax((high - low)[varies] / np.maximum(evidence.costs[varies], 1e-300))])
    order = np.argsort(evidence.costs, kind="stable")
    close = [
        (int(a), int(b))
        for a, b in itertools.pairwise(order)
        if evidence.costs[b] - evidence.costs[a] < 2 * np.hypot(evidence.cost_errors[a], evidence.cost_errors[b])
    ]
    text = (
        f"The costs vary within {count(len(varies), 'arm')}, most of all in {evidence.names[worst]}: "
        f"{low[worst]:g} to {high[worst]:g}, mean {evidence.costs[worst]:.4g} ± {evidence.cost_errors[worst]:.2g}. "
        "Means are compared, and what is not known of them counts in how sure the choice is."
    )
    if close:
        pairs = ", ".join(f"{evidence.names[a]} and {evidence.names[b]}" for a, b in close[:3])
        text += f" Which is cheaper is not sure of {pairs}."
    return [Concern("costs", text)]
