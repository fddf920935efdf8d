"""Tables written to files. The ending of the name decides what kind of file it is, and an unknown one is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.errors import InvalidData, MissingExtra

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
}
# What a sheet holds, its head aside.
MOST_ROWS = 2**20 - 1


def kind_of(path: str | Path, accepted: Sequence[str] = ("parquet", "csv", "jsonl", "xlsx")) -> str:
    """What a file's ending says that it is.

    Raises
    ------
    InvalidData
        The ending is none of the accepted ones, which the message names.
    MissingExtra
        A spreadsheet is asked for, and what writes it is not installed.

    Examples
    --------
    >>> kind_of("log.csv"), kind_of("Log.PARQUET")
    ('csv', 'parquet')
    >>> kind_of("log.txt")
    Traceback (most recent call last):
    satisfice.errors.InvalidData: log.txt: the name must end in .parquet, .pq, .csv, .jsonl, .ndjson or .xlsx
    """
    if "\0" in str(path):
        raise InvalidData(f"{str(path)!r} is no name of a file")
    found = KINDS.get(Path(path).suffix.lower())
    if found is None or found not in accepted:
        endings = [ending for ending, kind in KINDS.items() if kind in accepted]
        raise InvalidData(f"{path}: the name must end in {', '.join(endings[:-1])} or {endings[-1]}")
    if found == "xlsx":
        try:
            import xlsxwriter  # noqa: F401
        except ImportError as error:
            raise MissingExtra(f"{path}: Excel files need XlsxWriter: pip install 'satisfice[excel]'") from error
    return found


def writer(frame: pl.LazyFrame, kind: str) -> Callable[[Path], object]:
    """What writes a frame into a file of this kind; only a spreadsheet is in memory as a whole."""

    def write(path: Path) -> None:
        if kind == "parquet":
            frame.sink_parquet(path)
        elif kind == "csv":
            frame.sink_csv(path)
        elif kind == "jsonl":
            frame.sink_ndjson(path)
        else:
            sheet = frame.collect()
            if sheet.height > MOST_ROWS:
                raise InvalidData(f"{sheet.height:,} rows are too many for a sheet of Excel, which holds {MOST_ROWS:,}")
            sheet.write_excel(path)

    return write


def write_table(frame: pl.DataFrame, path: str | Path) -> Path:
    """Write a table whole or not at all, as what its name ends in; answers with the path.

    Raises
    ------
    InvalidData
        The ending is unknown, or the file cannot be written.

    Examples
    --------
    >>> import polars as pl, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(pl.DataFrame({"arm": ["small"], "mean": [0.5]}), f"{folder}/x.csv").read_text()
    'arm,mean\\nsmall,0.5\\n'
    """
    from satisfice.files import write_whole

    kind = kind_of(path)
    try:
        return write_whole(path, writer(frame.lazy(), kind))
    except OSError as error:
        raise InvalidData(f"{path} cannot be written: {error.strerror or error}") from error
