"""What commands write: where they cannot, they say so before the work; what is there already is never lost."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import satisfice as sf
from satisfice.cli import make_app
from satisfice.cli.output import slug

RUN = ("run", "-i", "toy:0.78", "-a", "0.2", "-p", "etc-cs")
PLAN = ("plan", "-g", "0.5,0.9", "-a", "0.1", "-T", "1000", "-n", "2", "-p", "etc-cs")
BOUNDS = ("bounds", "-i", "toy:0.78", "-a", "0.2")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def satisfice(*words: str) -> Result:
    return CliRunner().invoke(make_app(), list(words))


@pytest.mark.parametrize("out", ["taken", "taken/below"])
@pytest.mark.parametrize(
    "words",
    [
        (*RUN, "-T", "100", "-n", "2"),
        (*PLAN, "-c", "1,2"),
        (*BOUNDS, "-T", "100", "-n", "2"),
        ("reproduce", "--quick", "asym"),
    ],
)
def test_an_output_that_cannot_be_written_is_found_before_the_work(
    words: tuple[str, ...], out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*args: object, **options: object) -> None:
        raise AssertionError("worked first")

    for module, name in (("simulation", "simulate"), ("planning", "plan"), ("paper", "reproduce")):
        monkeypatch.setattr(importlib.import_module(f"satisfice.{module}"), name, work)
    Path("taken").write_text("mine")
    done = satisfice(*words, "-o", out)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"error: --out {out} is no folder that can be written to: ")
    assert done.stderr.count("\n") == 1
    assert Path("taken").read_text() == "mine"


def test_another_command_does_not_overwrite_and_the_same_one_adds_nothing() -> None:
    first = satisfice(*RUN, "-T", "100", "-n", "2")
    assert first.exit_code == 0 and "kept" not in first.stderr
    files = {path: path.read_bytes() for path in Path("results").iterdir()}
    assert {path.name for path in files} == {"toy-0.78-best-0.2.parquet", "toy-0.78-best-0.2.png"}
    satisfice(*RUN, "-T", "100", "-n", "2")
    assert {path: path.read_bytes() for path in Path("results").iterdir()} == files
    other = satisfice(*RUN, "-T", "200", "-n", "2")
    assert other.exit_code == 0
    assert (
        "toy-0.78-best-0.2 has other results, which are kept; these are in results/toy-0.78-best-0.2-2" in other.stderr
    )
    assert "toy-0.78-best-0.2-2.parquet" in other.stdout and "toy-0.78-best-0.2-2.png" in other.stdout
    assert all(path.read_bytes() == content for path, content in files.items())
    assert sf.load_results("results/toy-0.78-best-0.2-2.parquet")["etc-cs"].terms.horizon == 200
    for words in (("-T", "100", "-n", "2", "--seed", "1"), ("-T", "200", "-n", "2"), ("-T", "100", "-n", "2")):
        satisfice(*RUN, *words)
    assert len(list(Path("results").iterdir())) == 6


def test_pictures_of_other_plans_and_bounds_do_not_overwrite() -> None:
    for words in ((*PLAN, "-c", "1,2"), (*PLAN, "-c", "1,3"), (*PLAN, "-c", "1,2")):
        assert satisfice(*words).exit_code == 0
    for horizon in ("100", "1000", "100"):
        assert satisfice(*BOUNDS, "-T", horizon).exit_code == 0
    assert sorted(path.name for path in Path("results").iterdir()) == [
        "bounds-toy-0.78-best-0.2-pe-cs-2.png",
        "bounds-toy-0.78-best-0.2-pe-cs.png",
        "plan-best-1000-2.png",
        "plan-best-1000.png",
    ]


def test_an_error_leaves_no_folder() -> None:
    assert satisfice(*RUN, "-T", "0", "-o", "a/b").exit_code == 2
    assert not Path("a").exists()


def test_long_names_make_files_all_the_same() -> None:
    assert slug("toy:0.78", "best", None, 0.2) == "toy-0.78-best-0.2"
    assert len(slug("ü" * 300).encode()) <= 200


def no_constant(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.parametrize("words", [(*RUN, "-T", "100", "-n", "1"), (*BOUNDS, "-T", "100")])
def test_json_has_null_for_what_is_not_a_finite_number(words: tuple[str, ...]) -> None:
    done = satisfice(*words, "--json")
    document = json.loads(done.stdout, parse_constant=no_constant)
    if words[0] == "run":
        assert document["summary"][0]["std"] is None
    assert "null" in done.stdout and '"inf"' not in done.stdout


def test_workers_of_a_cluster_are_its_own() -> None:
    done = satisfice("reproduce", "--quick", "asym", "--cluster", "tcp://127.0.0.1:1", "--workers", "2")
    assert done.exit_code == 2 and "--workers and --cluster do not go together" in done.stderr
    assert not list(Path().iterdir())


def test_one_run_is_one_run() -> None:
    assert "100 pulls, 1 run, " in satisfice(*RUN, "-T", "100", "-n", "1").stdout
    assert "T = 1,000, 1 run\n" in satisfice(*PLAN, "-c", "1,2", "-n", "1").stdout
