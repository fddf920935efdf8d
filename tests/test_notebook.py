"""In a notebook: figures, tables and progress bars show by themselves, without ipywidgets and without a backend."""

from __future__ import annotations

import subprocess
import sys

import satisfice as sf

TOY = sf.load_instance("toy:0.78")


def test_everything_has_a_form_for_notebooks() -> None:
    setting = sf.BestReward(0.1)
    results = sf.simulate(TOY, setting, ["etc-cs"], horizon=1000, runs=2)
    study = sf.create_study("n", {"<small>": 1.0, "large": 2.0}, setting)
    status = study.status()
    plan = sf.plan([1, 2], [0.5, 0.9], setting, 1000, policies=["etc-cs"], runs=2)
    shown = [
        results._repr_html_(),
        status._repr_html_(),
        plan._repr_html_(),
        sf.bounds.upper("pe-cs", TOY, setting, 1000)._repr_html_(),
        sf.bounds.lower(TOY, setting)._repr_html_(),
    ]
    assert all("<table" in text for text in shown)
    assert "&lt;small&gt;" in status._repr_html_()
    assert status.verdict._repr_html_().startswith("<p>")
    for figure in (results.plot(), study.plot()):
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_a_progress_bar_does_not_ask_for_ipywidgets() -> None:
    """A shell that says it is a notebook's, and a Python that has no ipywidgets."""
    code = """
import sys
sys.modules["ipywidgets"] = None
class ZMQInteractiveShell: pass
import builtins
builtins.get_ipython = lambda: ZMQInteractiveShell()
from rich.progress import MofNCompleteColumn
from satisfice.progress import progress_bar
bar = progress_bar(MofNCompleteColumn())
with bar:
    bar.update(bar.add_task("work", total=2), completed=2)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
    assert "ipywidgets" not in done.stderr
