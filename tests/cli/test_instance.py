"""`satisfice instance` and `satisfice instances`, as people run them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from satisfice.cli import make_app
from satisfice.instances import builtin_instances, load_instance

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(make_app(), [str(word) for word in words])


@pytest.fixture
def movielens(tmp_path: Path) -> Path:
    folder = tmp_path / "ml-made"
    folder.mkdir()
    (folder / "movies.csv").write_text("movieId,title,genres\n1,A,Comedy|Drama\n2,B,Drama\n")
    # Comedy: (5 + 4 + 5) / 3 / 5 = 14 / 15; Drama: the same and 1: 15 / 4 / 5 = 0.75.
    (folder / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,1,5,0\n2,1,4,0\n3,1,5,0\n3,2,1,0\n")
    return folder


def test_movielens_writes_a_file_that_loads(cli: Cli, movielens: Path, tmp_path: Path) -> None:
    result = cli("instance", "movielens", movielens, "--out", "new/m.json")
    assert result.exit_code == 0, result.output
    instance = load_instance(tmp_path / "new" / "m.json")
    assert dict(zip(instance.names, instance.means.tolist(), strict=True)) == {"Comedy": 0.933, "Drama": 0.75}
    for part in (
        "Comedy",
        "0.933",
        "0.5488",
        "new/m.json",
        "4 ratings of 2 movies",
        "satisfice run --instance new/m.json",
    ):
        assert part in result.stdout
    assert result.stderr == ""


def test_movielens_options(cli: Cli, movielens: Path, tmp_path: Path) -> None:
    assert cli("instance", "movielens", movielens, "--exact", "--cost-seed", 1).exit_code == 0
    exact = load_instance(tmp_path / "movielens.json")
    assert exact.means[list(exact.names).index("Comedy")] == pytest.approx(14 / 15, abs=1e-15)
    assert "RandomState(1)" in exact.source
    result = cli("instance", "movielens", movielens, "--reward", "categorical", "--json")
    document = json.loads(result.stdout)
    assert document["file"] == "movielens.json"
    assert document["warnings"] == []
    assert document["instance"] == load_instance(tmp_path / "movielens.json").to_dict()
    assert document["instance"]["reward"] == "categorical"


def test_goodreads_reports_what_it_left_out(cli: Cli, tmp_path: Path) -> None:
    good = '{"rating": 5}\n{"rating": 1}\n' * 100
    for name in ("poetry", "children"):
        with gzip.open(f"goodreads_reviews_{name}.json.gz", "wt") as file:
            file.write(good + '{"rating": 0}\noops\n')
    files = ["goodreads_reviews_poetry.json.gz", "goodreads_reviews_children.json.gz"]
    result = cli("instance", "goodreads", *files)
    assert result.exit_code == 0, result.output
    assert load_instance(tmp_path / "goodreads.json").means.tolist() == [0.5, 0.5]
    warned = result.stderr.splitlines()
    assert len(warned) == 4
    assert all(line.startswith("warning: ") for line in warned)
    assert sum("not a JSON object (1, the first is goodreads_reviews_" in line for line in warned) == 2
    result = cli("instance", "goodreads", *files, "--json", "--statistic", "mean", "--zeros", "keep", "--exact")
    document = json.loads(result.stdout)
    assert len(document["warnings"]) == 2
    # (5 + 1) * 100 / 201 / 5
    assert document["instance"]["arms"][0]["mean"] == pytest.approx(600 / 201 / 5, abs=1e-15)
    result = cli("instance", "goodreads", *files, "--max-bad", 0)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: 1 of 202 lines")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rows = ["small,3,0.1", "large,5,2", "small,5,0.1", "large,4,2"] * 25
    (tmp_path / "traffic.csv").write_text("\n".join(["model,stars,usd", *rows, ""]))
    return tmp_path / "traffic.csv"


def test_an_instance_made_from_logs_runs_with_categorical_rewards(cli: Cli, log: Path, tmp_path: Path) -> None:
    words = ["--arm", "model", "--reward", "stars", "--cost", "usd", "--scale", "5", "--reward-model", "categorical"]
    result = cli("instance", "logs", log, *words, "--name", "traffic of May")
    assert result.exit_code == 0, result.output
    instance = load_instance(tmp_path / "traffic-instance.json")
    assert instance.label == "traffic of May"
    assert instance.values.tolist() == [0.6, 0.8, 1.0]
    assert instance.costs.tolist() == pytest.approx([0.1, 2])
    # small: (3 + 5) / 2 / 5 = 0.8 is at least (1 - 0.15) * 0.9 = 0.765, so the cheap one is good enough.
    setting = ["--setting", "best", "--alpha", 0.15, "--policy", "pe-cs"]
    size = ["--horizon", 5000, "--runs", 2, "--workers", 1]
    result = cli("run", "--instance", "traffic-instance.json", *setting, *size, "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["optimal_arm"] == "small"
    assert document["instance"] == "traffic of May"


def test_logs_without_costs_or_with_a_file_of_them(cli: Cli, log: Path, tmp_path: Path) -> None:
    words = ["instance", "logs", log, "--arm", "model", "--reward", "stars", "--scale", 5, "--out", "x.json"]
    result = cli(*words)
    assert result.exit_code == 2
    assert "--cost COLUMN, --costs FILE or, for experiments, --random-costs SEED" in result.stderr
    assert "warning: the costs are drawn at random" in cli(*words, "--random-costs", 0).stderr
    (tmp_path / "costs.json").write_text('{"small": 3, "large": 4}')
    assert cli(*words, "--costs", "costs.json").exit_code == 0
    assert load_instance(tmp_path / "x.json").costs.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["movielens", "nowhere"], "there is no file or folder nowhere"),
        (["movielens", ".", "--out", "x.txt"], "--out x.txt: instance files end in .json"),
        (["goodreads", "nowhere"], "there is no file or folder nowhere"),
        (["logs", "traffic.csv", "--arm", "x", "--reward", "stars", "--cost", "usd"], "traffic.csv has no column 'x'"),
        (
            ["logs", "traffic.csv", "--arm", "model", "--reward", "stars", "--cost", "usd"],
            "; divide the rewards with --scale, or use another --reward-model",
        ),
        (
            ["logs", "traffic.csv", "--arm", "stars", "--reward", "model", "--cost", "usd"],
            "no number in 'model' (100, the first is traffic.csv:2); a larger --max-bad accepts more",
        ),
        (
            ["logs", "traffic.csv", "--arm", "model", "--reward", "stars", "--cost", "usd", "--costs", "costs.csv"],
            "the costs come from more than one place; give one of these; --cost COLUMN, --costs FILE or",
        ),
        (["logs", "traffic.csv", "--arm", "model", "--reward", "stars", "--scale", "-5"], "error: --scale -5.0;"),
        (
            ["logs", "traffic.csv", "--arm", "model", "--reward", "stars", "--max-bad", "2", "--cost", "usd"],
            "error: --max-bad 2.0;",
        ),
        (
            ["logs", "traffic.csv", "--arm", "model", "--reward", "x", "-o", "traffic.csv/a.json"],
            "--out traffic.csv is no",
        ),
        (["logs", ".", "--arm", "a", "--reward", "b", "--cost", "c"], ". is a folder; a log is one file"),
        (["logs", "traffic.json", "--arm", "a", "--reward", "b", "--out", "traffic.json"], "would overwrite the data"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    words: list[str], message: str, cli: Cli, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "traffic.json").write_text('{"a": "x", "b": 1}\n')
    result = cli("instance", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (tmp_path / "traffic.json").read_text() == '{"a": "x", "b": 1}\n'


def test_many_arms_are_not_all_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("arm,reward\n" + "".join(f"a{i},1\n" for i in range(100)))
    result = cli("instance", "logs", "x.csv", "--arm", "arm", "--reward", "reward", "--random-costs", 0)
    assert "... and 60 more" in result.stdout


def test_instances_lists_what_loads(cli: Cli) -> None:
    rows = json.loads(cli("instances", "--json").stdout)
    assert [row["name"] for row in rows] == builtin_instances()
    assert rows[0] == {
        "name": "movielens",
        "arms": 20,
        "reward": "bernoulli",
        "source": load_instance("movielens").source,
    }
    text = cli("instances").stdout
    for name in builtin_instances():
        assert name in text
