"""Compiled code is cached, and never served after an edit of any function that it calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import helper, outer
from satisfice.simulate.native import compile_native
function = compile_native(outer.outer)
print(function(1.0), sum(function.stats.cache_hits.values()))
"""


def test_an_edit_of_a_called_function_is_seen(tmp_path: Path) -> None:
    code, cache = tmp_path / "code", tmp_path / "cache"
    code.mkdir()
    (code / "outer.py").write_text("from helper import helper\n\ndef outer(x):\n    return helper(x) + 1\n")

    def answer() -> tuple[float, int]:
        out = subprocess.run(
            [sys.executable, "-B", "-c", SCRIPT, str(code)],
            env=os.environ | {"SATISFICE_CACHE": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        value, hits = out.stdout.split()
        return float(value), int(hits)

    (code / "helper.py").write_text("FACTOR = 10\n\ndef helper(x):\n    return FACTOR * x\n")
    assert answer() == (11.0, 0)
    assert answer() == (11.0, 1)
    (code / "helper.py").write_text("FACTOR = 20\n\ndef helper(x):\n    return FACTOR * x\n")
    assert answer() == (21.0, 0)
    (code / "helper.py").write_text("FACTOR = 20\n\ndef helper(x):\n    return FACTOR * x * x + 1\n")
    assert answer() == (22.0, 0)
