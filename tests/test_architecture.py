"""The walks of docs/architecture.md go through functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOPS = re.findall(r"`([\w/]+\.py): ([\w., ]+)`", (ROOT / "docs" / "architecture.md").read_text())


@pytest.mark.parametrize(("file", "names"), HOPS)
def test_every_hop_is_there(file: str, names: str) -> None:
    source = (ROOT / "src" / "satisfice" / file).read_text()
    for name in names.split(", "):
        for part in name.split("."):
            assert re.search(rf"^\s*(?:async )?(?:def|class) {part}\b", source, re.MULTILINE), f"{file} has no {part}"
