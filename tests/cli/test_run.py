"""`satisfice run` and the lists, as a user would try them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import satisfice as sf
from satisfice.cli import make_app


def run(*words: str) -> Result:
    """A command in this process, which has loaded what it needs."""
    return CliRunner().invoke(make_app(), words)


def satisfice(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-m", "satisfice", *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )


USUAL = ("run", "--instance", "movielens", "--setting", "best", "--alpha", "0.25", "--runs", "3", "--seed", "0")


def test_a_run_prints_a_table_and_writes_data_and_a_picture(tmp_path: Path) -> None:
    done = satisfice(*USUAL, "--policy", "pe-cs", "--policy", "ts-cs", "--horizon", "2e4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "optimal arm Sci-Fi" in done.stdout and "pe-cs" in done.stdout and "95th" in done.stdout
    assert "6/6" in done.stderr
    results = sf.load_results(tmp_path / "results" / "movielens-best-0.25.parquet")
    assert list(results) == ["pe-cs", "ts-cs"] and results["pe-cs"].terms.horizon == 20_000
    assert (tmp_path / "results" / "movielens-best-0.25.png").stat().st_size > 10_000
    for name in ("parquet", "png"):
        assert str(Path("results") / f"movielens-best-0.25.{name}") in done.stdout


def test_json_is_all_that_is_printed(tmp_path: Path) -> None:
    done = run(*USUAL, "--policy", "pe-cs(kappa=5)", "--horizon", "1000", "--json", "--out", str(tmp_path))
    document = json.loads(done.stdout)
    assert done.stderr == ""
    assert document["optimal_arm"] == "Sci-Fi" and document["horizon"] == 1000
    assert {row["policy"] for row in document["summary"]} == {"pe-cs(kappa=5)"}
    assert Path(document["data"]).is_file() and Path(document["picture"]).is_file()


def test_without_a_policy_all_that_serve_the_setting_run(tmp_path: Path) -> None:
    done = run(
        "run", "-i", "asymmetric", "-s", "reference", "--reference", "arm-3", "-T", "500", "-n", "2", "--json",
        "--plain", "-o", str(tmp_path),
    )  # fmt: skip
    ran = {row["policy"] for row in json.loads(done.stdout)["summary"]}
    assert {"pe", "asymmetric-pe", "ucb-cs"} <= ran and "pe-cs" not in ran


def test_plain_python_gives_the_same_numbers(tmp_path: Path) -> None:
    words = (*USUAL, "--policy", "pe-cs", "--horizon", "1000", "--json", "--out", str(tmp_path))
    compiled, plain = (json.loads(run(*words, *more).stdout) for more in ((), ("--plain",)))
    assert plain["summary"] == compiled["summary"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("-i", "nothing", "-a", "0.1", "-T", "10"), "no instance 'nothing'"),
        (("-i", "movielens", "-a", "2", "-T", "10"), "--alpha 2"),
        (("-i", "movielens", "-T", "10"), "--setting best needs --alpha"),
        (("-i", "movielens", "-a", "0.1", "-T", "ten"), "--horizon 'ten' is not a whole number"),
        (("-i", "movielens", "-a", "0.1", "-T", "0"), "--horizon 0; it must be from 1"),
        (("-i", "movielens", "-a", "0.1", "-T", "10", "-p", "pe"), "pe does not serve BestReward"),
        (("-i", "movielens", "-s", "fixed", "-T", "10"), "needs --threshold"),
        (("-i", "movielens", "-s", "fixed", "--threshold", "0.99", "-T", "10"), "no arm of 'movielens' reaches"),
        (("-i", "movielens", "-s", "fixed", "--threshold", "0.5", "-a", "0.1", "-T", "10"), "--alpha does not belong"),
        (("-i", "movielens", "-s", "reference", "--reference", "Jazz", "-T", "10"), "no arm 'Jazz'"),
        (("-i", "movielens", "-s", "nearest", "-T", "10"), "'nearest' is unknown"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("run", *arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ") and message in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and not list(tmp_path.iterdir())


def test_lists() -> None:
    rows = {row["id"]: row for row in json.loads(run("policies", "--json").stdout)}
    assert set(rows) >= {"pe", "asymmetric-pe", "pe-cs", "ft-ucb", "etc-cs", "ucb-cs", "ts-cs", "glr"}
    assert rows["ucb-cs"]["settings"] == ["best", "reference"] and rows["etc-cs"]["params"] == {"c": 5}
    text = run("policies").stdout
    assert all(id in text for id in rows)
    assert "movielens" in run("instances").stdout


def test_help_and_version() -> None:
    shown = satisfice("--help").stdout
    for command in ("run", "reproduce", "bounds", "plan", "instance", "study", "policies", "instances"):
        assert f"  {command} " in shown
    assert satisfice("--version").stdout.strip() == f"satisfice {sf.__version__}"
    assert satisfice("nonsense").returncode == 2
