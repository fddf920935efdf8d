"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

# A part file that nobody has written to for so many seconds is of a program that was killed.
FORGOTTEN = 3600.0


def write_whole(path: str | Path, write: Callable[[Path], object], *, new: bool = False) -> Path:
    """Let `write` fill a file next to `path`, and give it that name when it is whole; answers with the path.

    Whoever reads `path` meanwhile sees what was there before. When `write` fails, that stays and nothing else is left
    behind. The folder is made when it is not there, and the file that `write` gets ends like `path`. A program that is
    killed meanwhile leaves a hidden part file, which the next one to write `path` removes when it is an hour old. With
    `new`, a file that is there at the end stays, and it is a `FileExistsError`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = write_whole(Path(folder.name, "new", "answer.txt"), lambda part: part.write_text("42"))
    >>> file.read_text(), [path.name for path in file.parent.iterdir()]
    ('42', ['answer.txt'])
    >>> folder.cleanup()
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.stem}.{secrets.token_hex(4)}.part{target.suffix}")
    _clear(target)
    try:
        write(part)
        if new:
            _name(part, target)
        else:
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def _name(part: Path, target: Path) -> None:
    """Give a part its name, if nothing has it."""
    try:
        target.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # a file system that knows no links
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
        part.replace(target)


def _clear(target: Path) -> None:
    """Remove the parts that killed programs have left of a file."""
    begin, end = f".{target.stem}.", f".part{target.suffix}"
    for path in target.parent.iterdir():
        if path.name.startswith(begin) and path.name.endswith(end):
            with contextlib.suppress(OSError):  # somebody else has removed it
                if time.time() - path.stat().st_mtime > FORGOTTEN:
                    path.unlink()
