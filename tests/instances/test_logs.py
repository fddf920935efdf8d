"""Logs: every format gives the same instance, and every kind of broken log its own message."""

from __future__ import annotations

import gzip
import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satisfice.errors import Hint, InvalidData
from satisfice.instances import DataWarning, from_logs, load_instance, save_instance
from satisfice.problem import RewardModel

# Of "small" 1, 0, 1, 0: mean 0.5, cost 1; of "large" 1, 1, 0, 1: mean 0.75, cost (8 + 8 + 10 + 10) / 4 = 9.
LOG = {
    "model": ["small", "large"] * 4,
    "solved": [1, 1, 0, 1, 1, 0, 0, 1],
    "usd": [1.0, 8.0, 1.0, 8.0, 1.0, 10.0, 1.0, 10.0],
    "note": ["a, b", 'say "x"', "", "é", "c", "d", "e", "f"],
}
COSTS = {"small": 1, "large": 9}
Make = Callable[[Path], Any]


def as_csv(path: Path) -> Path:
    pl.DataFrame(LOG).write_csv(path / "log.csv")
    return path / "log.csv"


def as_semicolons(path: Path) -> Path:
    pl.DataFrame(LOG).write_csv(path / "log.csv", separator=";")
    return path / "log.csv"


def as_gzipped_csv(path: Path) -> Path:
    (path / "log.csv.gz").write_bytes(gzip.compress(as_csv(path).read_bytes()))
    return path / "log.csv.gz"


def as_parquet(path: Path) -> Path:
    pl.DataFrame(LOG).write_parquet(path / "log.parquet")
    return path / "log.parquet"


def as_json_lines(path: Path) -> Path:
    pl.DataFrame(LOG).write_ndjson(path / "log.jsonl")
    return path / "log.jsonl"


def as_gzipped_json_lines(path: Path) -> Path:
    (path / "log.jsonl.gz").write_bytes(gzip.compress(as_json_lines(path).read_bytes()))
    return path / "log.jsonl.gz"


FILES: list[Make] = [as_csv, as_semicolons, as_gzipped_csv, as_parquet, as_json_lines, as_gzipped_json_lines]
FRAMES: list[Make] = [
    lambda path: pl.DataFrame(LOG),
    lambda path: pl.LazyFrame(LOG),
    lambda path: pl.DataFrame(LOG).with_columns(
        pl.col("model").cast(pl.Categorical), pl.col("solved").cast(pl.Boolean)
    ),
    lambda path: pl.DataFrame(LOG).cast(pl.String),
    lambda path: pd.DataFrame(LOG),
    lambda path: pd.DataFrame(LOG).astype({"model": "category", "solved": "boolean", "usd": "Float64"}),
    lambda path: pd.DataFrame(LOG).astype({"solved": "object", "usd": "object"}),
]


@pytest.mark.parametrize("make", FILES + FRAMES)
@pytest.mark.parametrize("progress", [False, True])
def test_every_format(make: Make, progress: bool, tmp_path: Path) -> None:
    data = make(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        instance = from_logs(data, "model", "solved", cost="usd", progress=progress)
    assert instance.names == ("small", "large")
    assert instance.means.tolist() == [0.5, 0.75]
    assert instance.costs.tolist() == [1, 9]
    assert instance.reward == "bernoulli"
    assert instance.label == ("log" if make in FILES else "logs")
    assert "8 rows of 'model' and 'solved'; costs: mean of 'usd' per arm" in instance.source


@pytest.mark.parametrize("make", FILES + FRAMES)
def test_every_format_with_categorical_rewards(make: Make, tmp_path: Path) -> None:
    instance = from_logs(make(tmp_path), "model", "solved", cost="usd", model="categorical", scale=2)
    assert instance.values.tolist() == [0, 0.5]
    assert instance.probabilities.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    save_instance(instance, tmp_path / "x.json")
    assert load_instance(tmp_path / "x.json") == instance


def test_gaussian_rewards_keep_the_spread_within_arms() -> None:
    # Around their means 2 and 10 the rewards lie at -1, 0, 1 and -2, 0, 2: (2 + 8) / (6 - 2) = 2.5.
    log = pl.DataFrame({"arm": list("aaabbb"), "reward": [1.0, 2, 3, 8, 10, 12]})
    instance = from_logs(log, "arm", "reward", costs={"a": 1, "b": 2}, model="gaussian")
    assert instance.means.tolist() == [2, 10]
    assert instance.sigma == pytest.approx(math.sqrt(2.5))
    with pytest.raises(InvalidData, match="rewards that vary within an arm"):
        from_logs(log[[0, 3]], "arm", "reward", costs={"a": 1, "b": 2}, model="gaussian")
    with pytest.raises(InvalidData, match="rewards that vary within an arm"):
        from_logs(
            pl.DataFrame({"arm": ["a"] * 3, "reward": [0.1] * 3}), "arm", "reward", costs={"a": 1}, model="gaussian"
        )


def test_ratings_are_scaled() -> None:
    log = pl.DataFrame({"arm": ["a", "a", "b"], "stars": [5, 4, 1]})
    assert from_logs(log, "arm", "stars", costs={"a": 1, "b": 2}, scale=5).means == pytest.approx([0.9, 0.2])


def test_arms_that_are_numbers_are_named_by_them() -> None:
    log = pl.DataFrame({"arm": [10, 2, 10], "reward": [True, False, False]})
    instance = from_logs(log, "arm", "reward", costs={"10": 2, 2: 1})  # type: ignore[dict-item]
    assert (instance.names, instance.means.tolist()) == (("2", "10"), [0, 0.5])


def test_true_and_false_are_rewards_in_text_too(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("arm,ok\na,True\na,false\na, true\n")
    assert from_logs(tmp_path / "x.csv", "arm", "ok", costs={"a": 1}).means == pytest.approx([2 / 3])


@pytest.mark.parametrize("name", ["row", "line", "arm", "reward", "cost", "problem", "total"])
def test_columns_may_have_any_name(name: str, tmp_path: Path) -> None:
    log = pl.DataFrame({"x": ["a", "a"], name: [1, 0], "rows": [3.0, 3.0]})
    log.write_csv(tmp_path / "x.csv")
    log.write_ndjson(tmp_path / "x.jsonl")
    for data in (log, tmp_path / "x.csv", tmp_path / "x.jsonl"):
        instance = from_logs(data, "x", name, cost="rows")
        assert (instance.means.tolist(), instance.costs.tolist()) == ([0.5], [3])


def test_a_column_may_serve_twice() -> None:
    log = pl.DataFrame({"arm": ["a", "b"], "minutes": [0.25, 0.5]})
    instance = from_logs(log, "arm", "minutes", cost="minutes")
    assert instance.means.tolist() == instance.costs.tolist() == [0.25, 0.5]


def test_costs_from_a_mapping_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps(COSTS))
    (tmp_path / "c.csv").write_text("model,usd\nsmall,1\n\nlarge,9\n")
    (tmp_path / "bare.csv").write_text("small,1\nlarge,9\n")
    for costs in (COSTS, tmp_path / "c.json", str(tmp_path / "c.csv"), tmp_path / "bare.csv"):
        assert from_logs(pl.DataFrame(LOG), "model", "solved", costs=costs).costs.tolist() == [1, 9]


def test_costs_are_drawn_where_that_is_asked_for_alone() -> None:
    with pytest.raises(InvalidData, match="there are no costs") as caught:
        from_logs(pl.DataFrame(LOG), "model", "solved")
    assert caught.value.hint is Hint.COSTS
    with pytest.warns(DataWarning, match="the costs are drawn at random"):
        instance = from_logs(pl.DataFrame(LOG), "model", "solved", random_costs=3)
    drawn = np.random.RandomState(3).rand(2)
    assert dict(zip(instance.names, instance.costs, strict=True)) == {"large": drawn[0], "small": drawn[1]}


def test_a_reward_out_of_range_is_never_damage() -> None:
    """Six buyers among a thousand are what the log is about: they are not left out as bad rows."""
    log = pl.DataFrame({"arm": ["a"] * 1000, "revenue": [0.0] * 994 + [20.0, 30, 412, 55, 60, 80]})
    for max_bad in (0.01, 1.0):
        with pytest.raises(
            InvalidData, match=r"6 of 1,000 rewards of the frame are outside \[0, 1\]: from 20 to 412"
        ) as e:
            from_logs(log, "arm", "revenue", costs={"a": 1}, max_bad=max_bad)
        assert e.value.hint is Hint.SCALE
    instance = from_logs(log, "arm", "revenue", costs={"a": 1}, scale=500)
    assert instance.means == pytest.approx([657 / 500 / 1000])


def test_an_instance_from_a_log_carries_its_counts_into_its_file(tmp_path: Path) -> None:
    log = pl.DataFrame({"arm": list("aab"), "reward": [1, 0, 1]})
    instance = from_logs(log, "arm", "reward", costs={"a": 2, "b": 1})
    assert instance.counts is not None
    assert (instance.names, instance.counts.tolist()) == (("b", "a"), [1, 2])
    save_instance(instance, tmp_path / "x.json")
    assert load_instance(tmp_path / "x.json") == instance
    assert instance.replace(counts=None) != instance


def test_spreadsheets_by_their_first_sheet_or_by_name(tmp_path: Path) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "log.xlsx") as book:
        pl.DataFrame(LOG).write_excel(book, worksheet="calls")
        pl.DataFrame({"nothing": [1]}).write_excel(book, worksheet="notes")
    for table in (None, "calls"):
        instance = from_logs(tmp_path / "log.xlsx", "model", "solved", cost="usd", table=table)
        assert (instance.means.tolist(), instance.costs.tolist()) == ([0.5, 0.75], [1, 9])
    with pytest.raises(InvalidData, match="has no sheet 'x'; its sheets are 'calls', 'notes'"):
        from_logs(tmp_path / "log.xlsx", "model", "solved", cost="usd", table="x")
    (tmp_path / "no.xlsx").write_text("arm,reward\n")
    with pytest.raises(InvalidData, match=r"no\.xlsx is not a sound spreadsheet"):
        from_logs(tmp_path / "no.xlsx", "model", "solved", cost="usd")


def test_a_table_of_a_database(tmp_path: Path) -> None:
    import sqlite3

    url = f"sqlite:///{tmp_path}/shop.db"
    with pytest.raises(InvalidData, match="there is no database"):
        from_logs(url, "model", "solved", cost="usd")
    with sqlite3.connect(tmp_path / "shop.db") as base:
        base.execute("create table calls (model text, solved integer, usd real)")
        base.executemany(
            "insert into calls values (?, ?, ?)", pl.DataFrame(LOG).select("model", "solved", "usd").rows()
        )
    base.close()
    for table in ("calls", None):
        instance = from_logs(url, "model", "solved", cost="usd", table=table)
        assert (instance.means.tolist(), instance.costs.tolist()) == ([0.5, 0.75], [1, 9])
    with pytest.raises(InvalidData, match="there is no table 'x'; its tables are 'calls'"):
        from_logs(url, "model", "solved", cost="usd", table="x")


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"small": 1}, "1 of 2 arms have no cost: 'large'"),
        ({"small": 1, "large": -9}, "the cost of arm .* is -9"),
        ("missing.json", "missing.json cannot be read"),
        ("[1, 2]", "holds no JSON object"),
        ('{"small": 1,\n', "c.json:2: not JSON"),
        ('{"small": 1, "large": "9"}', "the cost of 'large' is '9'"),
        ("model,usd\nsmall,1\nlarge\n", r"c.csv:3: an arm and its cost were expected, not \['large'\]"),
        ("small,1\nlarge,9\nsmall,2\n", "c.csv:3: a second cost of 'small'"),
    ],
)
def test_broken_costs(costs: Any, message: str, tmp_path: Path) -> None:
    if isinstance(costs, str) and costs != "missing.json":
        path = tmp_path / ("c.json" if costs[0] in "[{" else "c.csv")
        path.write_text(costs)
        costs = path
    with pytest.raises(ValueError, match=message):
        from_logs(pl.DataFrame(LOG), "model", "solved", costs=costs)


def test_costs_of_other_arms_are_not_used_and_that_is_said() -> None:
    with pytest.warns(DataWarning, match="that the log does not have were not used: 'medium'"):
        from_logs(pl.DataFrame(LOG), "model", "solved", costs=COSTS | {"medium": 3})


GOOD = [("a", "1", "2"), ("a", "0", "2")] * 250
BROKEN = [
    (("", "1", "2"), r"no arm in 'arm' \(1, the first is {where}\)"),
    (("a", "", "2"), r"no number in 'reward' \(1, the first is {where}\)"),
    (("a", "good", "2"), r"no number in 'reward' \(1, the first is {where}\)"),
    (("a", "inf", "2"), r"no number in 'reward' \(1, the first is {where}\)"),
    (("a", "nan", "2"), r"no number in 'reward' \(1, the first is {where}\)"),
    (("a", "1", "-2"), r"no number of at least 0 in 'cost' \(1, the first is {where}\)"),
    (("a", "1", "free"), r"no number of at least 0 in 'cost' \(1, the first is {where}\)"),
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("model", ["bernoulli", "categorical"])
@pytest.mark.parametrize(("row", "message"), BROKEN)
def test_bad_rows_are_counted_and_left_out_or_refused(
    row: tuple[str, str, str], message: str, model: RewardModel, kind: str, tmp_path: Path
) -> None:
    log = pl.DataFrame([*GOOD, row, *GOOD], schema=["arm", "reward", "cost"], orient="row")
    data: Any = tmp_path / f"x.{kind}"
    if kind == "csv":
        log.write_csv(data)
    elif kind == "jsonl":
        log.write_ndjson(data)
    else:
        data = log
    where = {"csv": r".*x\.csv:502", "jsonl": r".*x\.jsonl:501", "frame": "row 500 of the frame, counted from 0"}[kind]
    with pytest.warns(DataWarning, match="left out of 1,001 rows of .*" + message.replace("{where}", where)):
        instance = from_logs(data, "arm", "reward", cost="cost", model=model)
    assert (instance.means.tolist(), instance.costs.tolist()) == ([0.5], [2])
    with pytest.raises(InvalidData, match=r"1 of 1,001 rows .* more than the accepted 0.00%") as caught:
        from_logs(data, "arm", "reward", cost="cost", model=model, max_bad=0)
    assert caught.value.hint is Hint.MAX_BAD


def test_broken_json_lines_count_as_rows(tmp_path: Path) -> None:
    text = '{"arm": "a", "reward": 1}\n' * 199
    (tmp_path / "x.jsonl").write_text(text + "oops\n")
    with pytest.warns(DataWarning, match=r"left out of 200 rows .*not a JSON object \(1, the first is .*x.jsonl:200\)"):
        assert from_logs(tmp_path / "x.jsonl", "arm", "reward", costs={"a": 1}).means.tolist() == [1]
    (tmp_path / "x.jsonl").write_text("oops\n")
    with pytest.raises(InvalidData, match=r"1 of 1 rows .*x.jsonl cannot be used"):
        from_logs(tmp_path / "x.jsonl", "arm", "reward", costs={"a": 1})


def test_short_rows_are_bad_rows_and_long_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("arm,reward\n" + "a,1\n" * 100 + "a\n")
    with pytest.warns(DataWarning, match=r"no number in 'reward' \(1, the first is .*x.csv:102\)"):
        from_logs(path, "arm", "reward", costs={"a": 1})
    path.write_text("arm,reward\na,1\na,1,2\n")
    with pytest.raises(InvalidData, match=r"x.csv:3: 3 fields where 2 were expected"):
        from_logs(path, "arm", "reward", costs={"a": 1})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", None, r"there is no file .*x\.csv"),
        ("x.csv", b"", r"x\.csv is empty"),
        ("x.csv", b"arm,reward\n", r"x\.csv holds no rows"),
        ("x.csv", b"arm,points\na,1\n", r"x\.csv has no column 'reward'; its columns are 'arm', 'points'"),
        ("x.csv", b"a,b\n1,2\n", r"has no column 'arm' and no 'reward'"),
        ("x.csv", b"arm,reward\na,1\n\xff,1\n", r"x\.csv:3: not UTF-8 text"),
        ("x.csv.gz", gzip.compress(b"arm,reward\na,1\n\xff,1\n", mtime=0), r"x\.csv\.gz:3: not UTF-8 text"),
        ("x.csv", b"arm,reward\n,\n", r"1 of 1 rows"),
        ("x.jsonl", b"", r"x\.jsonl is empty"),
        ("x.jsonl", b"\n\n", r"x\.jsonl holds no rows"),
        (
            "x.jsonl",
            b'{"arm": "a", "points": 1}\n',
            r"x\.jsonl has no column 'reward'; its columns are 'arm', 'points'",
        ),
        ("x.parquet", b"arm,reward\na,1\n", r"x\.parquet is not a sound Parquet file"),
    ],
)
def test_files_that_cannot_be_used(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=message):
        from_logs(tmp_path / name, "arm", "reward", costs={"a": 1})


@pytest.mark.parametrize("make", [as_csv, as_parquet, as_json_lines])
def test_a_path_is_not_a_pattern(make: Make, tmp_path: Path) -> None:
    (tmp_path / "logs[1]*").mkdir()
    assert from_logs(make(tmp_path / "logs[1]*"), "model", "solved", cost="usd").arms == 2


def test_frames_that_cannot_be_used() -> None:
    with pytest.raises(InvalidData, match="a list is not a log"):
        from_logs([1, 2], "arm", "reward", random_costs=0)  # type: ignore[arg-type]
    for frame in (pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]})):
        with pytest.raises(InvalidData, match="the frame has no column 'arm' and no 'reward'") as caught:
            from_logs(frame, "arm", "reward", random_costs=0)
        assert caught.value.columns == ("arm", "reward")
    with pytest.raises(InvalidData, match="the frame holds no rows"):
        from_logs(pl.DataFrame({"arm": [], "reward": []}), "arm", "reward", random_costs=0)
    with pytest.raises(InvalidData, match="column 'reward' holds List"):
        from_logs(pl.DataFrame({"arm": ["a"], "reward": [[1]]}), "arm", "reward", random_costs=0)
    with pytest.warns(DataWarning, match=r"no arm in 'arm' \(1, "), pytest.raises(InvalidData, match="no usable rows"):
        from_logs(pd.DataFrame({"arm": [None], "reward": [1]}), "arm", "reward", random_costs=0, max_bad=1)


def test_too_many_arms_or_levels() -> None:
    many = pl.DataFrame({"arm": range(10_001), "reward": [0] * 10_001})
    with pytest.raises(InvalidData, match="column 'arm' of the frame has 10,001 different values; at most 10,000 arms"):
        from_logs(many, "arm", "reward", random_costs=0)
    with pytest.raises(InvalidData, match="10,001 different rewards; a categorical instance takes at most 1,000"):
        from_logs(many, "reward", "arm", costs={"0": 1}, model="categorical")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "poisson"}, "reward model 'poisson' is unknown"),
        ({"scale": 0}, "scale = 0"),
        ({"cost": "usd", "costs": COSTS}, "more than one place"),
        ({"max_bad": -1, "cost": "usd"}, "max_bad = -1"),
    ],
)
def test_wrong_arguments(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidData, match=message):
        from_logs(pl.DataFrame(LOG), "model", "solved", **wrong)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c"]), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.5, 2.0])
        ),
        min_size=1,
        max_size=50,
    )
)
def test_means_and_costs_are_those_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, float, float]]
) -> None:
    frame = pl.DataFrame(rows, schema=["arm", "reward", "cost"], orient="row")
    path = tmp_path_factory.mktemp("logs") / "x.csv"
    frame.write_csv(path)
    expected = {
        name: (np.mean([r for a, r, _ in rows if a == name]), np.mean([c for a, _, c in rows if a == name]))
        for name in {a for a, _, _ in rows}
    }
    for instance in (
        from_logs(path, "arm", "reward", cost="cost"),
        from_logs(frame, "arm", "reward", cost="cost", model="categorical"),
    ):
        got = {n: (m, c) for n, m, c in zip(instance.names, instance.means, instance.costs, strict=True)}
        assert got.keys() == expected.keys()
        for name in got:
            assert got[name] == pytest.approx(expected[name], abs=1e-12)
        assert (np.diff(instance.costs) >= 0).all()
