"""JSON lines, plain or gzipped, block by block: Polars parses, and what it refuses is looked at line by line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from satisfice.errors import InvalidData
from satisfice.instances.files import open_inflated
from satisfice.instances.progress import Advance
from satisfice.instances.tables import ROW
from satisfice.instances.tally import Problems

if TYPE_CHECKING:
    import polars as pl

# Blocks of 4 MB stay in the cache between being inflated and being parsed; larger ones were measured to be slower.
BLOCK = 4 << 20
AHEAD = 4
# A piece with a broken line is halved until it is this small, and is then read line by line.
PIECE = 64 << 10
LONGEST = 64 << 20
NOT_JSON = "not a JSON object"


def read_json_lines(path: Path, columns: Sequence[str], problems: Problems, advance: Advance) -> Iterator[pl.DataFrame]:
    """The chosen fields of every line, as text, with the line's number (counted from 1) as `ROW`.

    Fields that a line does not have are null, numbers and booleans are written as JSON writes them. Lines that are
    not JSON objects are counted in `problems`; blank lines are passed over.

    Raises
    ------
    InvalidData
        When the file cannot be read, or its gzip data are damaged.
    """
    line = 1
    for block in _blocks(path, advance):
        # Half the time of block.count.
        lines = int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")))
        yield from _parse(block, line, lines, columns, problems, path)
        line += lines


def _blocks(path: Path, advance: Advance) -> Iterator[bytes]:
    """The file in blocks of whole lines; the next ones are read and inflated while the last one is being used."""
    rest = b""
    try:
        with path.open("rb") as raw, open_inflated(raw) as file, ThreadPoolExecutor(1) as pool:
            upcoming = deque(pool.submit(file.read, BLOCK) for _ in range(AHEAD))
            at = 0
            while block := upcoming.popleft().result():
                upcoming.append(pool.submit(file.read, BLOCK))
                # Only whole lines are handed out, the beginning of the next one waits for its end.
                cut = block.rfind(b"\n") + 1
                if cut:
                    yield b"".join((rest, memoryview(block)[:cut]))
                    rest = block[cut:]
                elif len(rest) > LONGEST:
                    raise InvalidData(f"{path} has a line of more than {LONGEST >> 20} MB; JSON lines were expected")
                else:
                    rest += block
                at, before = raw.tell(), at
                advance(at - before)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidData(
            f"{path}: the gzip data are damaged or end too early ({error}); fetch the file again"
        ) from error
    except OSError as error:
        raise InvalidData(f"{path} cannot be read: {error.strerror or error}") from error
    if rest:
        yield rest + b"\n"


def _parse(
    block: bytes, line: int, lines: int, columns: Sequence[str], problems: Problems, path: Path
) -> Iterator[pl.DataFrame]:
    import polars as pl

    try:
        frame = pl.scan_ndjson(
            block, schema=dict.fromkeys(columns, pl.String), row_index_name=ROW, row_index_offset=line
        ).collect()
        if frame.height == lines:
            yield frame
            return
    except pl.exceptions.PolarsError:
        pass
    middle = block.rfind(b"\n", 0, len(block) // 2) + 1
    if len(block) > PIECE and middle:
        half = block.count(b"\n", 0, middle)
        yield from _parse(block[:middle], line, half, columns, problems, path)
        yield from _parse(block[middle:], line + half, lines - half, columns, problems, path)
    else:
        yield _line_by_line(block, line, columns, problems, path)


def _line_by_line(block: bytes, line: int, columns: Sequence[str], problems: Problems, path: Path) -> pl.DataFrame:
    import polars as pl

    rows: list[tuple[int | str | None, ...]] = []
    for number, text in enumerate(block.split(b"\n"), start=line):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except ValueError:
            record = None
        if isinstance(record, dict):
            rows.append((number, *(_text(record.get(column)) for column in columns)))
        else:
            problems.add(NOT_JSON, 1, f"{path}:{number}")
    schema = {ROW: pl.get_index_type(), **dict.fromkeys(columns, pl.String)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
