"""JSON lines, plain or gzipped, block by block: Polars parses, and what it refuses is looked at line by line."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from satisfice.errors import InvalidData
from satisfice.instances.files import open_inflated
from satisfice.instances.progress import Advance
from satisfice.instances.tables import ROW
from satisfice.instances.tally import Problems

if TYPE_CHECKING:
    import polars as pl

# Smaller blocks cost more calls, larger ones more memory that is new each time: 6 to 12 MB were measured to be fastest.
BLOCK = 8 << 20
AHEAD = 4
# A piece with a broken line is halved until it is this small, and is then read line by line.
PIECE = 64 << 10
LONGEST = 64 << 20
NOT_JSON = "not a JSON object"


def read_json_lines(
    path: Path, columns: Sequence[str], *, problems: Problems, advance: Advance
) -> Iterator[pl.DataFrame]:
    """The chosen fields of every line, as text, with the index of the line among those not blank as `ROW`.

    Fields that a line does not have are null, numbers and booleans are written as JSON writes them. Lines that are
    not JSON objects are counted in `problems`.

    Raises
    ------
    InvalidData
        When the file cannot be read, or its gzip data are damaged.
    """
    row = 0
    for block in _blocks(path, advance):
        for frame, lines in _parse(block, row, columns, problems, path):
            yield frame
            row += lines


def place(path: Path, row: int) -> str:
    """The file and the line of a row, to be shown to people.

    Found by reading the file again: counting its lines all along would slow down every sound file.
    """
    with path.open("rb") as raw, open_inflated(raw) as file:
        # BufferedReader finds lines in C, which gzip files do in Python.
        lines = io.BufferedReader(cast("io.RawIOBase", file), BLOCK)
        for number, line in enumerate(lines, start=1):
            if line.strip():
                row -= 1
                if row < 0:
                    return f"{path}:{number}"
    return str(path)


def _blocks(path: Path, advance: Advance) -> Iterator[bytes]:
    """The file in blocks of whole lines; the next ones are read and inflated while the last one is being used."""
    try:
        with path.open("rb") as raw, open_inflated(raw) as file, ThreadPoolExecutor(1) as pool:
            upcoming = deque(pool.submit(_read, file, path) for _ in range(AHEAD))
            at = 0
            while block := upcoming.popleft().result():
                upcoming.append(pool.submit(_read, file, path))
                yield block
                at, before = raw.tell(), at
                advance(at - before)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidData(
            f"{path}: the gzip data are damaged or end too early ({error}); fetch the file again"
        ) from error
    except OSError as error:
        raise InvalidData(f"{path} cannot be read: {error.strerror or error}") from error


def _read(file: IO[bytes], path: Path) -> bytes:
    block = file.read(BLOCK)
    if not block or block.endswith(b"\n"):
        return block
    rest = file.readline(LONGEST)
    if len(rest) == LONGEST:
        raise InvalidData(f"{path} has a line of more than {LONGEST >> 20} MB; JSON lines were expected")
    return block + rest


def _parse(
    block: bytes, row: int, columns: Sequence[str], problems: Problems, path: Path
) -> Iterator[tuple[pl.DataFrame, int]]:
    """Frames of whole lines, and how many lines that are not blank each stands for."""
    import polars as pl

    try:
        frame = pl.scan_ndjson(
            block, schema=dict.fromkeys(columns, pl.String), row_index_name=ROW, row_index_offset=row
        ).collect()
        yield frame, frame.height
        return
    except pl.exceptions.PolarsError:
        pass
    middle = block.rfind(b"\n", 0, len(block) // 2) + 1
    if len(block) > PIECE and middle:
        for half in (block[:middle], block[middle:]):
            for frame, lines in _parse(half, row, columns, problems, path):
                yield frame, lines
                row += lines
    else:
        yield _line_by_line(block, row, columns, problems, path)


def _line_by_line(
    block: bytes, row: int, columns: Sequence[str], problems: Problems, path: Path
) -> tuple[pl.DataFrame, int]:
    import polars as pl

    rows: list[tuple[int | str | None, ...]] = []
    lines = [line for line in block.split(b"\n") if line.strip()]
    for index, line in enumerate(lines, start=row):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            rows.append((index, *(_text(record.get(column)) for column in columns)))
        else:
            problems.add(NOT_JSON, 1, partial(place, path, index))
    schema = {ROW: pl.get_index_type(), **dict.fromkeys(columns, pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row"), len(lines)


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
