"""Results as flat tables: one number a cell, for whatever people go on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from satisfice.errors import InvalidData
from satisfice.words import number

if TYPE_CHECKING:
    import polars as pl

    from satisfice.simulation.results import Results

KINDS = ("runs", "curves", "pulls", "summary")


def frame_of(results: Results, what: str) -> pl.DataFrame:
    """The table that is asked for; see `Results.to_polars`."""
    import polars as pl

    if what not in KINDS:
        raise InvalidData(f"it must be one of {', '.join(KINDS)}", parameter="what", value=what)
    if what == "summary":
        return pl.DataFrame(results.summary().to_dict())
    return pl.concat([_one(results, label, what) for label in results])


def _one(results: Results, label: str, what: str) -> pl.DataFrame:
    import polars as pl

    result = results[label]
    runs = len(result.pulls)
    if what == "runs":
        table: dict[str, object] = {
            "run": np.arange(runs),
            "cost_regret": result.cost_regret,
            "quality_regret": result.quality_regret,
            "regret": result.regret,
            "optimal_share": result.optimal_share,
        }
    elif what == "pulls":
        arms = result.instance.names
        table = {
            "run": np.repeat(np.arange(runs), len(arms)),
            "arm": list(arms) * runs,
            "pulls": result.pulls.ravel(),
        }
    else:
        marks = result.checkpoints
        table = {
            "run": np.repeat(np.arange(runs), len(marks)),
            "pulls": np.tile(marks, runs),
            "cost_regret": result.cost_curve.ravel(),
            "quality_regret": result.quality_curve.ravel(),
            "regret": (result.cost_curve + result.quality_curve).ravel(),
        }
    return pl.DataFrame(table).insert_column(0, pl.Series("policy", [label] * len(np.asarray(table["run"]))))


def to_pandas(frame: pl.DataFrame) -> object:
    """The same as a frame of pandas, without PyArrow."""
    try:
        import pandas as pd
    except ImportError as error:
        from satisfice.errors import MissingExtra

        raise MissingExtra("this needs pandas: pip install pandas") from error
    return pd.DataFrame({column.name: column.to_numpy() for column in frame.iter_columns()})


def latex(results: Results, regrets: tuple[str, ...] = ("cost", "quality", "sum")) -> str:
    """The summary as a LaTeX table in the style of booktabs: mean ± standard error of each regret, a row per policy."""
    from satisfice.plots import pretty

    means: dict[str, dict[str, str]] = {}
    best: dict[str, float] = {}
    rows = list(results.summary().iter_rows(named=True))
    for row in rows:
        best[row["regret"]] = min(best.get(row["regret"], float("inf")), row["mean"])
    for row in rows:
        number = f"{_digits(row['mean'])} \\pm {_digits(row['std_error'])}"
        if row["mean"] == best[row["regret"]] and len(results) > 1:
            number = f"\\mathbf{{{number}}}"
        means.setdefault(row["policy"], {})[row["regret"]] = f"${number}$"
    head = " & ".join(["policy", *(f"{name} regret" if name != "sum" else "cost + quality" for name in regrets)])
    body = [
        " & ".join([_escaped(pretty(label)), *(cells[name] for name in regrets)]) + r" \\"
        for label, cells in means.items()
    ]
    lines = [rf"\begin{{tabular}}{{l{'r' * len(regrets)}}}", r"\toprule", head + r" \\", r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _digits(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return number(value, digits=3).replace(",", "{,}")


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "&%$#_{}" else c for c in text)
