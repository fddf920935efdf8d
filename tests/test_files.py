"""A file is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satisfice.files import write_whole


def test_a_writer_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail(part: Path) -> None:
        part.write_text("half of the n")
        assert target.read_text() == "old"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(target, fail)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"] and target.read_text() == "old"


def test_two_that_write_the_same_file_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"

    def outer(part: Path) -> None:
        write_whole(target, lambda other: other.write_text("inner"))
        assert not part.exists()
        part.write_text("outer")

    assert write_whole(str(target), outer) == target
    assert target.read_text() == "outer" and list(target.parent.iterdir()) == [target]


def test_the_part_ends_like_the_file(tmp_path: Path) -> None:
    endings = []

    def write(part: Path) -> None:
        endings.append(part.suffix)
        part.touch()

    write_whole(tmp_path / "x.tar.gz", write)
    assert endings == [".gz"]


def test_what_a_killed_program_has_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in (".a.01.part.txt", ".a.02.part.txt", ".b.01.part.txt"))
    for path in (old, young, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (1.0, 1.0))
    target = write_whole(tmp_path / "a.txt", lambda part: part.write_text("42"))
    assert set(tmp_path.iterdir()) == {target, young, other}
