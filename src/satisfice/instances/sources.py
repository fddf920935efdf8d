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
from satisfice.instances.sheets import EXCEL_ENDINGS, is_url, read_database, read_sheet
from satisfice.instances.tables import ROW, Table, require_columns, watched
from satisfice.instances.tally import Problems

if TYPE_CHECKING:
    import polars as pl

JSON_ENDINGS = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
PEEK = 1000
KINDS = "CSV, Excel, Parquet or JSON lines"


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
    anything: bool = False  # whether all columns are wanted, and none is needed

    def names(self) -> list[str]:
        """Their names, each once."""
        if self.anything:
            return []
        return list(dict.fromkeys(name for name in (self.arm, self.reward, self.cost) if name is not None))

    def present(self, there: Collection[str]) -> list[str]:
        """Their names, and those of the optional ones that are there."""
        needed = self.names()
        if self.anything:
            return list(there)
        return [*needed, *(name for name in self.optional if name in there and name not in needed)]


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
    table: str | None = None,
) -> Iterator[Log]:
    """The log of a file, a frame or a table of a database; `InvalidData` when there is none, or it lacks a column.

    `table` is the sheet of a spreadsheet, the first one by default, or the table of a database.
    """
    if not isinstance(data, (str, os.PathLike)):
        frame = as_polars(data)
        yield _frame(frame, columns, Problems("rows of the frame", max_bad), "the frame", "logs")
        return
    if is_url(data):
        frame, shown = read_database(os.fspath(data), table).lazy(), f"table {table!r}" if table else "the table"
        yield _frame(frame, columns, Problems(f"rows of {shown}", max_bad), shown, table or "logs")
        return
    path = Path(data)
    if path.is_dir():
        raise InvalidData(f"{path} is a folder; a log is one file: {KINDS}")
    if not path.is_file():
        raise InvalidData(f"there is no file {path}")
    if not size(path):
        raise InvalidData(f"{path} is empty")
    problems = Problems(f"rows of {path}", max_bad)
    with reading(f"reading {path}", size(path), progress) as advance:
        name = path.name.lower()
        if name.endswith(EXCEL_ENDINGS):
            yield _frame(read_sheet(path, table).lazy(), columns, problems, str(path), path.name, first=2)
        elif name.endswith(PARQUET_ENDINGS):
            yield _parquet(path, columns, problems, advance if progress else None)
        elif name.endswith(JSON_ENDINGS):
            _refuse_array(path)
            yield _json_lines(path, columns, problems, advance)
        else:
            yield _delimited(path, columns, problems, advance if progress else None)


def _delimited(path: Path, columns: Columns, problems: Problems, advance: Advance | None) -> Log:
    import polars as pl

    separator, there = _header(path, columns)
    table = Table(path, str(path), separator)
    frame = table.scan(columns.present(there))
    if separator == ";":  # where the comma is the decimal mark, spreadsheets put semicolons between the fields
        frame = frame.with_columns(pl.col(pl.String).str.replace(r"^\s*([-+]?\d+),(\d+)\s*$", "$1.$2"))
    if advance is not None and not path.name.lower().endswith(".gz"):
        frame = watched(frame, bytes_per_row(path), advance)
    return Log(iter([frame]), table.collect, table.where, problems, str(path), path.name)


def _header(path: Path, columns: Columns) -> tuple[str, list[str]]:
    """The separator under which the first line has the needed columns, and all that it has; a comma when none is."""
    with path.open("rb") as raw, open_inflated(raw) as file:
        line = file.readline(1 << 20)
    if line[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\x00" in line:
        raise InvalidData(f"{path} is not UTF-8 text but, it seems, UTF-16; save it as UTF-8")
    if b"\r" in line.rstrip(b"\r\n"):
        raise InvalidData(f"the lines of {path} end in carriage returns alone; save it with ordinary line ends")
    header = line.decode("utf-8-sig", errors="replace")
    found = {mark: next(csv.reader([header], delimiter=mark), []) for mark in ",;\t|"}
    if columns.anything:
        separator, there = max(found.items(), key=lambda item: len(item[1]))
        twice = [name for name in dict.fromkeys(there) if there.count(name) > 1]
        if twice == [""]:
            raise InvalidData(f"the first line of {path} does not name the columns; delete what is above their names")
        if twice:
            raise InvalidData(f"{path} has the column {twice[0]!r} more than once; rename one of them")
        return separator, there
    return next(((mark, there) for mark, there in found.items() if set(columns.names()) <= set(there)), (",", []))


def _json_lines(path: Path, columns: Columns, problems: Problems, advance: Advance) -> Log:
    needed = columns.present(list(_first_record(path)))

    def frames() -> Iterator[pl.LazyFrame]:
        first = True
        for frame in read_json_lines(path, needed, problems=problems, advance=advance):
            if first and frame.height:
                first = False
                if any(frame[name].null_count() == frame.height for name in columns.names()):
                    require_columns(str(path), columns.names(), list(_first_record(path)))
            yield frame.lazy()

    return Log(frames(), lambda frame: frame.collect(), partial(place, path), problems, str(path), path.name)


def _refuse_array(path: Path) -> None:
    with path.open("rb") as raw, open_inflated(raw) as file:
        if file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise InvalidData(f"{path} is a JSON array; write JSON lines, one object a line (jq -c '.[]')")


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


def _frame(frame: pl.LazyFrame, columns: Columns, problems: Problems, shown: str, name: str, *, first: int = 0) -> Log:
    """The log of a frame whose first row people would call `first`."""
    import polars as pl

    def collect(query: pl.LazyFrame) -> pl.DataFrame:
        try:
            return query.collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            raise InvalidData(f"{shown} cannot be read: {str(error).splitlines()[0]}") from error

    there = frame.collect_schema().names()
    require_columns(shown, columns.names(), there)
    rows = frame.select(columns.present(there)).with_row_index(ROW)

    def where(row: int) -> str:
        return f"row {row + first} of {shown}{'' if first else ', counted from 0'}"

    return Log(iter([rows]), collect, where, problems, shown, name)


def as_polars(data: pl.DataFrame | pl.LazyFrame | PandasFrame) -> pl.LazyFrame:
    """A frame of Polars or pandas as a lazy frame of Polars."""
    import polars as pl

    if isinstance(data, (pl.DataFrame, pl.LazyFrame)):
        return data.lazy()
    if not type(data).__module__.startswith("pandas"):
        raise InvalidData(f"a {type(data).__name__} is not a log; give a path, or a Polars or pandas frame")
    import pandas as pd

    series = {}
    for name in data.columns:
        column = cast("pd.Series", data[name])
        # Not pl.from_pandas, which needs PyArrow.
        if pd.api.types.is_datetime64_any_dtype(column):
            moments = column.dt.tz_convert("UTC").dt.tz_localize(None) if column.dt.tz is not None else column
            series[str(name)] = pl.Series(moments.to_numpy(dtype="datetime64[us]"))
        elif pd.api.types.is_numeric_dtype(column):
            series[str(name)] = pl.Series(column.to_numpy(dtype="float64", na_value=float("nan")))
        else:
            # Texts become small integers before they become text again.
            codes, texts = column.factorize()
            index = pl.Series(codes).cast(pl.Int64)
            words = pl.Series([str(text) for text in texts], dtype=pl.String)
            series[str(name)] = words.gather(index.set(index < 0, None))
    return pl.LazyFrame(series)


def columns_of(
    data: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | PandasFrame, table: str | None = None
) -> tuple[pl.DataFrame, str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame]:
    """The first rows of a log with all its columns, and the log, read if it is not a file that is read piece by piece.

    Raises
    ------
    InvalidData
        When there is no such log.
    """
    import polars as pl

    if not isinstance(data, (str, os.PathLike)):
        frame = as_polars(data)
        return frame.head(PEEK).collect(), frame
    if is_url(data):
        rows = read_database(os.fspath(data), table)
        return rows.head(PEEK), rows
    path = Path(data)
    with opened(path, Columns("", "", None, anything=True), 1.0, False, table) as log:
        head = next((log.collect(frame.head(PEEK)) for frame in log.frames), pl.DataFrame())
    return head.drop(ROW, strict=False), path
