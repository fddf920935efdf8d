"""Files that are there whole or not at all."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path


def write_whole(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a file next to `path`, and give it that name when it is whole; answers with the path.

    Whoever reads `path` meanwhile sees what was there before. When `write` fails, that stays and nothing else is left
    behind. The folder is made when it is not there, and the file that `write` gets ends like `path`.

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
    try:
        write(part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target
