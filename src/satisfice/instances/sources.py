"""Where logs come from: files of several kinds and frames, all as lazy Polars frames."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from satisfice.errors import InvalidData
from satisfice.instances.files import bytes_per_row, open_inflated, size
from satisfice.instances.jsonlines import place, read_json_lines
from satisfice.instances.progress import Advance, reading
from satisfice.instances.tables import ROW, Table, require_columns, watched
from satisfice.instances.tally import Problems

if TYPE_CHECKING:
    import polars as pl

JSON_ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
PARQUET_ENDINGS = (".parquet", ".pq")


class PandasFrame(Protocol):
    """A pandas DataFrame. Pandas is not a dependency: whoever has such a frame has pandas."""

    @property
    def columns(self) -> Iterable[str]: ...

    def __getitem__(self, column: str, /) -> object: ...


@dataclass(frozen=True)
class Columns:
    """The columns of a log that matter."""

    arm: str
    reward: str
    cost: str | None
    optional: tuple[str, ...] = ()  # taken where the log has them

    def names(self) -> list[str]:
        """Their names, each once."""
        return list(dict.fromkeys(name for name in (self.arm, self.reward, self.cost) if name is not None))

    def present(self, there: Collection[str]) -> list[str]:
        """Their names, and those of the optional ones that are there."""
        return [*self.names(), *(name for name in self.optional if name in there)]


@dataclass(frozen=True)
class Log:
    """A log as lazy frames of the needed columns and the row.

    Parameters
    ----------
    frames : iterator of LazyFrame
        Together they are the log.
    collect : callable
        Runs a query on one of them.
    where : callable
        Names the place of a row in messages.
    problems : Problems
        Where rows that cannot be used are counted.
    shown, name : str
        What to call the log in messages and as an instance.
    """

    frames: Iterator[pl.LazyFrame]
    collect: Callable[[pl.LazyFrame], pl.DataFrame]
    where: Callable[[int], str]
    problems: Problems
    shown: str
    name: str


@contextmanager
def opened(
    data: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | PandasFrame,
    columns: Columns,
    max_bad: float,
    progress: bool,
) -> Iterator[Log]:
    """The log of a file or a frame; `InvalidData` when there is none, or it lacks a column."""
    if not isinstance(data, (str, os.PathLike)):
        yield _frame(_as_polars(data, columns), columns, Problems("rows of the frame", max_bad), "the frame", "logs")
        return
    path = Path(data)
    if path.is_dir():
        raise InvalidData(f"{path} is a folder; a log is one file: CSV, Parquet or JSON lines")
    if not path.is_file():
        raise InvalidData(f"there is no file {path}")
    if not size(path):
        raise InvalidData(f"{path} is empty")
    problems = Problems(f"rows of {path}", max_bad)
    with reading(f"reading {path}", size(path), progress) as advance:
        name = path.name.lower()
        if name.endswith(PARQUET_ENDINGS):
            yield _parquet(path, columns, problems, advance if progress else None)
        elif name.endswith(JSON_ENDINGS):
            yield _json_lines(path, columns, problems, advance)
        else:
            yield _delimited(path, columns, problems, advance if progress else None)


def _delimited(path: Path, columns: Columns, problems: Problems, advance: Advance | None) -> Log:
    separator, there = _header(path, columns)
    table = Table(path, str(path), separator)
    frame = table.scan(columns.present(there))
    if advance is not None and not path.name.lower().endswith(".gz"):
        frame = watched(frame, bytes_per_row(path), advance)
    return Log(iter([frame]), table.collect, table.where, problems, str(path), path.name)


def _header(path: Path, columns: Columns) -> tuple[str, list[str]]:
    """The separator under which the first line has the needed columns, and all that it has; a comma when none is."""
    with path.open("rb") as raw, open_inflated(raw) as file:
        header = file.readline(1 << 20).decode("utf-8-sig", errors="replace")
    for separator in ",;\t|":
        there = next(csv.reader([header], delimiter=separator), [])
        if set(columns.names()) <= set(there):
            return separator, there
    return ",", []


def _json_lines(path: Path, columns: Columns, problems: Problems, advance: Advance) -> Log:
    needed = columns.names()

    def frames() -> Iterator[pl.LazyFrame]:
        first = True
        for frame in read_json_lines(path, needed, problems=problems, advance=advance):
            if first and frame.height:
                first = False
                if any(frame[name].null_count() == frame.height for name in needed):
                    require_columns(str(path), needed, list(_first_record(path)))
            yield frame.lazy()

    return Log(frames(), lambda frame: frame.collect(), partial(place, path), problems, str(path), path.name)


def _first_record(path: Path) -> dict[str, object]:
    with path.open("rb") as raw, open_inflated(raw) as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                return record
    return {}


def _parquet(path: Path, columns: Columns, problems: Problems, advance: Advance | None) -> Log:
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False)
        rows = frame.select(pl.len()).collect().item()
        log = _frame(frame, columns, problems, str(path), path.name)
    except pl.exceptions.PolarsError as error:
        raise InvalidData(f"{path} is not a sound Parquet file: {str(error).splitlines()[0]}") from error
    if advance is None or not rows:
        return log
    return Log(
        (watched(frame, size(path) / rows, advance) for frame in log.frames),
        log.collect,
        log.where,
        problems,
        log.shown,
        log.name,
    )


def _frame(frame: pl.LazyFrame, columns: Columns, problems: Problems, shown: str, name: str) -> Log:
    import polars as pl

    def collect(query: pl.LazyFrame) -> pl.DataFrame:
        try:
            return query.collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            raise InvalidData(f"{shown} cannot be read: {str(error).splitlines()[0]}") from error

    there = frame.collect_schema().names()
    require_columns(shown, columns.names(), there)
    rows = frame.select(columns.present(there)).with_row_index(ROW)
    return Log(iter([rows]), collect, lambda row: f"row {row} of {shown}, counted from 0", problems, shown, name)


def _as_polars(data: pl.DataFrame | pl.LazyFrame | PandasFrame, columns: Columns) -> pl.LazyFrame:
    import polars as pl

    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return data.lazy()
    if not type(data).__module__.startswith("pandas"):
        raise InvalidData(f"a {type(data).__name__} is not a log; give a path, or a Polars or pandas frame")
    import pandas as pd

    require_columns("the frame", columns.names(), [str(name) for name in data.columns])
    # Not pl.from_pandas, which needs PyArrow. Arms become small integers before they become text again.
    codes, arms = cast("pd.Series", data[columns.arm]).factorize()
    index = pl.Series(codes).cast(pl.Int64)
    series = {columns.arm: pl.Series([str(arm) for arm in arms], dtype=pl.String).gather(index.set(index < 0, None))}
    for name in columns.present([str(name) for name in data.columns])[1:]:
        numbers = pd.to_numeric(data[name], errors="coerce")
        series[name] = pl.Series(numbers.to_numpy(dtype="float64", na_value=float("nan")))
    return pl.LazyFrame(series)
