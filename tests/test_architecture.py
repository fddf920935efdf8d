"""The walks of docs/architecture.md go through functions that exist, and each is called by one before it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text()
Hop = tuple[str, str]  # a file and a function, or a class, in it
Row = tuple[list[Hop], list[Hop]]  # the functions of a hop, and those that it says to use on its way


def hops(text: str) -> list[Hop]:
    """The functions that a text names, in order."""
    found = re.findall(r"`([\w/]+\.py): ([\w., ]+)`", text)
    return [(file, name) for file, names in found for name in names.split(", ")]


def walks() -> list[list[Row]]:
    """The tables of the page."""
    tables = re.findall(r"(?:^\| \d+ \|.*\n)+", PAGE, re.MULTILINE)
    rows = [[line.strip(" |").split(" | ") for line in table.splitlines()] for table in tables]
    return [[(hops(where), hops(what)) for _, where, what in table] for table in rows]


@cache
def source(file: str, name: str) -> ast.AST:
    """A class of a file, a function, or a function of a class itself."""
    node: ast.AST = ast.parse((ROOT / "src" / "satisfice" / file).read_text())
    for part in name.split("."):
        inside = ast.iter_child_nodes(node)
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = [child for child in inside if isinstance(child, kinds) and child.name == part]
        assert found, f"{file} has no {name}"
        node = found[0]
    return node


def named(hop: Hop) -> set[str]:
    """All names and attributes in the code of a hop."""
    nodes = list(ast.walk(source(*hop)))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def test_the_page_has_its_walks() -> None:
    assert [walk[0][0][0][1] for walk in walks()] == [
        "simulate", "Study.ask", "Study._next", "Study.tell", "StudyReader.status"
    ]  # fmt: skip


@pytest.mark.parametrize("hop", sorted(set(hops(PAGE))), ids=": ".join)
def test_every_hop_is_there(hop: Hop) -> None:
    assert source(*hop)


@pytest.mark.parametrize("walk", walks(), ids=lambda walk: str(walk[0][0][0][1]))
def test_every_hop_is_called_by_one_before_it(walk: list[Row]) -> None:
    known: set[str] = set()
    for number, (way, aside) in enumerate(walk, 1):
        assert way, f"hop {number} names no function"
        for file, name in way:
            last = name.rpartition(".")[2]
            assert not known or last in known, f"nothing before hop {number} calls {file}: {name}"
            known |= named((file, name))
        for file, name in aside:
            last = name.rpartition(".")[2]
            assert any(last in named(hop) for hop in way), f"hop {number} does not call {file}: {name}"
