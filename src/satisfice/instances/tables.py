"""Delimited text as lazy Polars frames: every column as text, so that one bad cell does not end the reading."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.errors import InvalidData
from satisfice.instances.files import open_inflated
from satisfice.instances.progress import Advance

if TYPE_CHECKING:
    import polars as pl

ROW = "__row__"


@dataclass(frozen=True)
class Table:
    """A file of delimited text.

    Parameters
    ----------
    path : Path
        Where it is.
    shown : str
        What to call it in messages.
    separator : str
        One character.
    columns : sequence of str, optional
        The names of all columns of a file without a header; None when its first line names them.
    quoted : bool
        Whether fields may be quoted.
    """

    path: Path
    shown: str
    separator: str = ","
    columns: Sequence[str] | None = None
    quoted: bool = True

    def scan(self, needed: Sequence[str]) -> pl.LazyFrame:
        """The needed columns as text, and the index of the row (counted from 0) as `ROW`.

        Raises
        ------
        InvalidData
            When the file cannot be opened, is empty, or has no such column.
        """
        import polars as pl

        if not self.path.is_file():
            raise InvalidData(f"there is no file {self.shown}")
        try:
            frame = pl.scan_csv(
                self.path,
                separator=self.separator,
                quote_char='"' if self.quoted else None,
                has_header=self.columns is None,
                schema=None if self.columns is None else dict.fromkeys(self.columns, pl.String),
                infer_schema=False,
                row_index_name=ROW,
                glob=False,
            )
            there = [name for name in frame.collect_schema().names() if name != ROW]
        except pl.exceptions.NoDataError as error:
            raise InvalidData(f"{self.shown} is empty") from error
        except pl.exceptions.PolarsError as error:
            raise self.explain(error) from error
        require_columns(self.shown, needed, there)
        return frame.select(ROW, *needed)

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """Run a query on `scan`'s frame in the streaming engine; `InvalidData` says where the file is broken."""
        import polars as pl

        try:
            return frame.collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            raise self.explain(error) from error

    def where(self, row: int) -> str:
        """The file and the line on which a row (counted from 0 without the header) begins, to be shown to people."""
        if not (self.quoted and self._has_quotes()):
            return f"{self.shown}:{row + (1 if self.columns is not None else 2)}"
        # A quoted field may hold line breaks, so lines are not rows.
        for index, line, _ in self._records():
            if index == row:
                return f"{self.shown}:{line}"
        return self.shown

    def explain(self, error: Exception) -> InvalidData:
        """What is wrong with a file that Polars refuses, with the line when it can be found."""
        with self.path.open("rb") as raw_file, open_inflated(raw_file) as file:
            for number, raw in enumerate(file, start=1):
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError:
                    return InvalidData(f"{self.shown}:{number}: not UTF-8 text; save it as UTF-8")
        width = len(self.columns) if self.columns is not None else None
        for _, line, fields in self._records(with_header=True):
            width = len(fields) if width is None else width
            if len(fields) > width:
                return InvalidData(f"{self.shown}:{line}: {len(fields)} fields where {width} were expected")
        return InvalidData(f"{self.shown} cannot be read: {str(error).splitlines()[0]}")

    def _records(self, with_header: bool = False) -> Iterator[tuple[int, int, list[str]]]:
        """(index, line, fields) of every record, read slowly: for messages alone."""
        with self.path.open("rb") as raw, open_inflated(raw) as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
            reader = csv.reader(
                text, delimiter=self.separator, quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE
            )
            index, line = 0 if self.columns is not None or with_header else -1, 1
            try:
                for fields in reader:
                    yield index, line, fields
                    index, line = index + 1, reader.line_num + 1
            except csv.Error:
                return

    def _has_quotes(self) -> bool:
        with self.path.open("rb") as raw, open_inflated(raw) as file:
            return any(b'"' in block for block in iter(lambda: file.read(1 << 20), b""))


def require_columns(shown: str, needed: Sequence[str], there: Sequence[str]) -> None:
    """Raise `InvalidData` unless every needed column is there; its `columns` are those missing."""
    missing = [name for name in needed if name not in there]
    if missing:
        lacking, found = " and no ".join(map(repr, missing)), ", ".join(map(repr, there))
        raise InvalidData(f"{shown} has no column {lacking}; its columns are {found}", columns=missing)


def as_numbers(column: str, kind: pl.DataType) -> pl.Expr:
    """A column as numbers, whether it holds numbers or text (true and yes are 1, false and no 0); else null.

    Raises
    ------
    InvalidData
        When the whole column is of another kind.
    """
    import polars as pl

    if kind.is_numeric() or kind == pl.Boolean:
        return pl.col(column).cast(pl.Float64)
    if kind in (pl.String, pl.Null):
        text = pl.col(column).cast(pl.String).str.strip_chars()
        lower = text.str.to_lowercase()
        return (
            pl.when(lower.is_in(["true", "yes"]))
            .then(pl.lit(1.0))
            .when(lower.is_in(["false", "no"]))
            .then(pl.lit(0.0))
            .otherwise(text.cast(pl.Float64, strict=False))
        )
    raise InvalidData(f"column {column!r} holds {kind}; numbers were expected", columns=[column])


def watched(frame: pl.LazyFrame, row_bytes: float, advance: Advance) -> pl.LazyFrame:
    """The same frame, reporting to `advance` about how many bytes of its file each batch of rows stands for."""

    def report(batch: pl.DataFrame) -> pl.DataFrame:
        advance(batch.height * row_bytes)
        return batch

    return frame.map_batches(report, streamable=True)
