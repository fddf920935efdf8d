"""Files that may be gzipped."""

from __future__ import annotations

from pathlib import Path
from typing import IO, cast


def size(path: Path) -> int:
    """The size of a file in bytes."""
    return path.stat().st_size


def bytes_per_row(path: Path) -> float:
    """About how many bytes of a text file a row takes."""
    with path.open("rb") as file:
        head = file.read(1 << 20)
    return len(head) / max(head.count(b"\n"), 1)


def open_inflated(raw: IO[bytes]) -> IO[bytes]:
    """The bytes of a file, inflated when it is gzipped (which its first bytes say, not its name)."""
    start = raw.read(2)
    raw.seek(0)
    if start != b"\x1f\x8b":
        return raw
    # Inflating is most of the work, and ISA-L does it in a third of zlib's time.
    from isal import igzip

    return cast("IO[bytes]", igzip.IGzipFile(fileobj=raw))  # type: ignore[no-untyped-call]
