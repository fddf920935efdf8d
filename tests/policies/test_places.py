"""Policies of others: in a file, in a package, in a script without a main guard, and in a live study."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

import satisfice as sf
from satisfice.cli import make_app
from satisfice.policies import places
from satisfice.policies.contract import registered, registry

SAMPLER = """
from dataclasses import dataclass

import satisfice as sf
from satisfice.policies.contract import SWEEP


@dataclass(frozen=True)
class Sampler(sf.Policy):
    samples: int = 10
    id = "file-sampler"
    settings = (sf.BestReward,)
    summary = "every arm so many times, then the first"
    needs_horizon = False

    @staticmethod
    def decide(problem, state, t, rng):
        missing = int(problem.params.samples) - state.pulls.min()
        return (SWEEP, missing) if missing > 0 else (0, 50)
"""
TOY = sf.load_instance("toy:0.78")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SAMPLER)
    with registered():
        yield tmp_path / "mine.py"


def test_a_file_is_a_policy_by_its_place(file: Path) -> None:
    policy = sf.get_policy("mine.py:Sampler(samples=3)")
    assert policy.label == "file-sampler(samples=3)"
    assert sf.get_policy("mine.py") == sf.get_policy(str(file)) == sf.get_policy("file-sampler")
    results = sf.simulate(TOY, sf.BestReward(0.1), ["mine.py:Sampler"], horizon=1000, runs=2, compiled=False)
    assert results["file-sampler"].pulls.tolist() == [[970, 10, 10, 10]] * 2


def test_an_edited_file_is_another_policy_of_the_same_name(file: Path) -> None:
    assert sf.get_policy("mine.py").params == {"samples": 10}
    file.write_text(SAMPLER.replace("samples: int = 10", "samples: int = 20"))
    assert sf.get_policy("mine.py").params == {"samples": 20}


@pytest.mark.parametrize("first", ["imported", "named"])
def test_a_file_may_be_imported_and_named(file: Path, first: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a program that has its own policy, where SATISFICE_POLICIES is set for the shell."""
    monkeypatch.syspath_prepend(file.parent)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    if first == "imported":
        importlib.import_module("mine")
    assert sf.get_policy("mine.py:Sampler").params == {"samples": 10}
    importlib.import_module("mine")
    assert sf.get_policy("file-sampler(samples=3)").params == {"samples": 3}
    monkeypatch.delitem(sys.modules, "mine")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere.py", "nowhere.py: there is no file"),
        ("mine.py:Other", "mine.py has no policy 'Other'; its policies are Sampler"),
        ("broken.py", "broken.py cannot be loaded: ZeroDivisionError"),
        ("empty.py", "empty.py defines no policy"),
        ("no.such.module:X", "no.such.module:X cannot be loaded: ModuleNotFoundError"),
        ("mine.py:Sampler(size=3)", "file-sampler has no parameter 'size'"),
        ("stolen.py", "the id 'pe-cs' belongs to"),
    ],
)
def test_places_where_there_is_none(place: str, message: str, file: Path) -> None:
    Path("broken.py").write_text("1 / 0\n")
    Path("empty.py").write_text("")
    Path("stolen.py").write_text(SAMPLER.replace("file-sampler", "pe-cs"))
    with pytest.raises(sf.InvalidPolicy, match=message):
        sf.get_policy(place)


def test_packages_name_theirs_in_entry_points(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(file.parent))
    file.rename("mine_package.py")
    good = metadata.EntryPoint("sampler", "mine_package:Sampler", places.GROUP)
    bad = metadata.EntryPoint("gone", "nothing_there:Gone", places.GROUP)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [good, bad] if group == places.GROUP else [])
    places.load_installed.cache_clear()
    with pytest.warns(UserWarning, match=r"the policy 'gone' \(nothing_there:Gone\) cannot be loaded"):
        assert "file-sampler" in sf.all_policies()
    places.load_installed.cache_clear()


def test_studies_with_own_policies_open_from_the_command_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def study(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(make_app(), ["study", *words, "--storage", "sqlite:///s.db"])
        return result.exit_code, result.output

    arms = ("--arm", "a=1", "--arm", "b=2", "--alpha", "0.1")
    assert study("create", "own", *arms, "--policy", "mine.py:Sampler")[0] == 0
    registry().pop("file-sampler")
    code, said = study("ask", "own")
    assert code == 2 and "SATISFICE_POLICIES=mypolicy.py:Class" in said
    monkeypatch.setenv(places.VARIABLE, "mine.py:Sampler")
    places.load_installed.cache_clear()
    assert study("ask", "own") == (0, "1 a\n")
    places.load_installed.cache_clear()


def test_a_script_without_a_main_guard_where_processes_are_spawned(file: Path) -> None:
    """With a policy of the script's own, and one from a file: the same as in one process."""
    Path("script.py").write_text(
        "import multiprocessing\nmultiprocessing.set_start_method('spawn')\n"
        + SAMPLER.replace("file-sampler", "script-sampler")
        + """
toy = sf.load_instance("toy:0.78")
ask = dict(horizon=500, runs=2, compiled=False)
policies = [Sampler(samples=4), "mine.py"]
two = sf.simulate(toy, sf.BestReward(0.1), policies, workers=2, **ask)
one = sf.simulate(toy, sf.BestReward(0.1), policies, workers=1, **ask)
print([bool((two[label].pulls == one[label].pulls).all()) for label in two])
"""
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[True, True]\n", 0), done.stderr
