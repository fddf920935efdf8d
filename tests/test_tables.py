"""Tables that fit: never is a digit cut, whatever the width."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from satisfice.tables import fill, layout

ROWS = [
    ("policy", "regret", "mean", "worst", "what it is"),
    ("pe-cs(kappa=5)", "cost", "160,234", "1,234,567", "pairwise elimination after the best arm is known"),
    ("glr", "cost", "495.3", "1,017", "buys evidence while it is worth its price"),
]


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("droppable", [(), (3,), (3, 4)])
def test_every_line_fits_and_every_number_is_whole(width: int, droppable: tuple[int, ...]) -> None:
    lines = layout(ROWS, width, left=(0, 1, 4), breakable=(4,), droppable=droppable)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for number in ("160,234", "495.3"):
        assert number in text
    if "left out" not in text:
        assert "1,234,567" in text and "1,017" in text
    assert "…" not in text and "..." not in text


def test_what_is_left_out_is_said() -> None:
    lines = layout([row[:4] for row in ROWS], 32, left=(0, 1), droppable=(3,))
    assert "worst" not in lines[0]
    assert " ".join(lines[3:]) == "(left out for want of room: worst)"


def test_rows_below_a_row_stay_below_it() -> None:
    rows = [("regret", "at most"), ("cost", "886,713"), ("  nominal", "145,347")]
    assert layout(rows, 11) == ["cost", "  at most", "    886,713", "  nominal", "    at most", "      145,347"]


def test_words_stay_whole() -> None:
    assert fill("one two three", 8) == "one two\nthree"
    assert fill("see results/analysis-campaign.html", 10) == "see\nresults/analysis-campaign.html"
    assert fill("as it is", None) == "as it is"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("columns", [40, 80])
def test_a_command_on_a_narrow_terminal(columns: int, tmp_path: Path) -> None:
    """A real terminal of so many columns: no line is longer, and no number ends in dots."""
    import fcntl
    import struct
    import termios

    owner, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    command = [sys.executable, "-m", "satisfice", "policies"]
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    environment |= {"TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, cwd=tmp_path, env=environment) as process:
        os.close(terminal)
        shown = b""
        try:
            while part := os.read(owner, 65536):
                shown += part
        except OSError:  # the terminal is gone with the last process that had it
            pass
    os.close(owner)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())
    lines = [line.rstrip("\r") for line in text.split("\n")]
    assert max(map(len, lines)) <= columns
    assert "…" not in text
    for whole in ("asymmetric-pe", "delta=0.05", "exchange=0"):
        assert whole in text
