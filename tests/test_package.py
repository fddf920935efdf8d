"""The package as a whole: what it costs to import, what it promises, and the worked example of CONTRIBUTING.md."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import satisfice as sf

ROOT = Path(__file__).parent.parent
HEAVY = ("numba", "scipy", "polars", "matplotlib", "rich", "typer", "sqlalchemy", "pandas")


def test_importing_loads_nothing_heavy() -> None:
    code = f"import sys, satisfice; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    for name in sf.__all__:
        assert getattr(sf, name) is not None


def test_the_example_of_contributing_works_word_for_word(tmp_path: Path) -> None:
    """The file of the worked example, put where it says, into a copy of the package: the commands run."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    path, code = re.search(r"<!-- example: src/(\S+) -->\n```python\n(.*?)```", text, re.DOTALL).groups()  # type: ignore[union-attr]
    (commands,) = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "src" / path).write_text(code)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src"), "SATISFICE_CACHE": str(tmp_path / "cache")}
    outputs = []
    for command in commands.strip().splitlines():
        line = command.replace("satisfice", f"{sys.executable} -m satisfice", 1)
        done = subprocess.run(line, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert "sampler" in outputs[0]
    assert "sampler(samples=50)" in outputs[1] and "results/movielens-best-0.25.png" in outputs[1]
    lint = ["check", "--config", str(ROOT / "pyproject.toml"), str(tmp_path / "src" / path)]
    assert subprocess.run([sys.executable, "-m", "ruff", *lint], capture_output=True).returncode == 0
