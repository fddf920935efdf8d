"""What commands leave behind: a folder that is checked before the work, files that never replace others, and JSON."""

from __future__ import annotations

import filecmp
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from satisfice.cli import options
from satisfice.errors import InvalidData
from satisfice.words import plain

KEPT = "A file that is there with other content is kept, and the new one is numbered: name-2.png."


@contextmanager
def ready(folder: Path) -> Iterator[None]:
    """Make the folder of `--out` and see that it can be written to before the body works; a new one that the body
    leaves empty is taken away again.

    Raises
    ------
    InvalidData
        When it cannot be made or written to.
    """
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        _remove(new)
        reason = "it is a file" if folder.is_file() else error.strerror
        raise InvalidData(f"--out {folder} is no folder that can be written to: {reason}") from error
    try:
        yield
    finally:
        _remove(new)


def _remove(folders: list[Path]) -> None:
    for path in folders:
        try:
            path.rmdir()
        except OSError:  # there is something in it, or it was never made
            return


def keep(folder: Path, stem: str, writers: dict[str, Callable[[Path], object]]) -> list[Path]:
    """Write files that belong together, `stem` and the endings of `writers`, and answer with their paths.

    Files of these names with other content stay: then the first number is used under which nothing else is lost, and
    a line on the error stream says so. The same content under the same name is no loss.

    Raises
    ------
    InvalidData
        When they cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".satisfice-") as room:
            made = [Path(room, f"new{ending}") for ending in writers]
            for path, write in zip(made, writers.values(), strict=True):
                write(path)
            for number in itertools.count(1):
                name = stem if number == 1 else f"{stem}-{number}"
                targets = [folder / f"{name}{ending}" for ending in writers]
                if all(not old.exists() or _same(new, old) for new, old in zip(made, targets, strict=True)):
                    break
            for new, target in zip(made, targets, strict=True):
                new.replace(target)
    except OSError as error:
        raise InvalidData(f"{folder} cannot be written to: {error.strerror or error}") from error
    if name != stem:
        options.say(f"note: {folder / stem} has other results, which are kept; these are in {folder / name}", err=True)
    return targets


def _same(new: Path, old: Path) -> bool:
    return old.is_file() and filecmp.cmp(new, old, shallow=False)


def slug(*parts: object) -> str:
    """A file's name of some parts, without those that are None, and without what is not welcome in names everywhere:
    loose ends such as ":" in toy:0.78, and more than 200 bytes."""
    text = "-".join(str(part) for part in parts if part is not None)
    safe = "".join(c if c.isalnum() or c in ".-_" else "-" for c in text).strip("-")
    return safe.encode()[:200].decode(errors="ignore")


def print_json(data: object) -> None:
    """Print JSON as its standard has it: null stands for what is not a finite number."""
    typer.echo(json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False))
