"""`satisfice analyse`, as people run it; and what `run`, `plan` and `bounds` say of an instance that is from a log."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from satisfice.cli import make_app

Cli = Callable[..., Result]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    # Of 40 and 40: 22 and 28 successes.
    rows = [("mail", i < 22, 0.1) for i in range(40)] + [("phone", i < 28, 2.0) for i in range(40)]
    pl.DataFrame(rows, schema=["channel", "converted", "cost"], orient="row").write_csv("calls.csv")
    return lambda *words: CliRunner().invoke(make_app(), [str(word) for word in words])


def test_from_a_file_to_a_report(cli: Cli, tmp_path: Path) -> None:
    result = cli("analyse", "calls.csv", "--alpha", 0.1, "--no-plan")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("So far, use phone: ")
    assert "columns by their names: arm = 'channel', reward = 'converted', cost = 'cost'" in result.stdout
    assert "report: results/analysis-calls.html" in result.stdout
    assert {path.suffix for path in (tmp_path / "results").iterdir()} == {".html", ".json", ".csv", ".xlsx"}
    document = json.loads(cli("analyse", "calls.csv", "--no-plan", "--json", "--per-month", 1000).stdout)
    assert document["setting"] == {"kind": "best", "alpha": 0.05}
    assert document["savings"][0]["per_month"] == pytest.approx(1000 * (1.05 - 2.0))
    missing = cli("analyse", "calls.csv", "--reward", "revenue")
    assert missing.exit_code == 2 and "calls.csv has no column 'revenue'" in missing.stderr
    pl.read_csv("calls.csv").drop("cost").write_csv("free.csv")
    free = cli("analyse", "free.csv")
    assert free.exit_code == 2
    assert free.stderr.endswith("--cost COLUMN, --costs FILE or, for experiments, --random-costs SEED\n")


def test_run_plan_and_bounds_say_how_sure_a_log_is_of_its_optimum(cli: Cli) -> None:
    words = ("--arm", "channel", "--reward", "converted", "--cost", "cost", "-o", "calls.json")
    assert cli("instance", "logs", "calls.csv", *words).exit_code == 0
    base = ("-i", "calls.json", "--alpha", 0.1)
    small = ("--horizon", 1000, "--policy", "pe-cs")
    for command in (
        ("run", *base, *small, "--runs", 2, "--workers", 1),
        ("bounds", *base, *small),
        ("plan", *base, *small, "--runs", 5),
    ):
        result = cli(*command)
        assert result.exit_code == 0, result.output
        assert "how sure: by the 80 rows that the means come from, phone is the right arm with a prob" in result.stdout
        document = json.loads(cli(*command, "--json").stdout)
        assert 0.6 < document["doubt"]["sure"] < 0.9
        assert document["doubt"]["shares"]["mail"] == pytest.approx(1 - document["doubt"]["sure"])
    known = json.loads(cli("run", "-i", "toy:0.78", "--alpha", 0.1, *small, "--runs", 1, "--json").stdout)
    assert known["doubt"] is None


def test_plan_names_the_right_arm_and_takes_an_instance(cli: Cli) -> None:
    shared = ("--alpha", 0.1, "--policy", "pe-cs", "--horizon", 1e4, "--runs", 10)
    guess = cli("plan", "--costs", "0.2,1,8", "--guess", "0.6,0.85,0.9", "--names", "small,medium,large", *shared)
    assert "The right arm is medium (cost 1, mean 0.85), the cheapest that is good enough." in guess.stdout
    document = json.loads(cli("plan", "--instance", "toy:0.78", *shared, "--json").stdout)
    assert max(document["right"].values()) == 1.0
    for words in (("--instance", "toy:0.78", "--costs", "1,2"), (), ("--costs", "1,2")):
        wrong = cli("plan", *words, *shared)
        assert wrong.exit_code == 2 and wrong.stderr.startswith("error: ")


def test_the_page_does_what_it_says(cli: Cli) -> None:
    text = (Path(__file__).parents[2] / "docs" / "analyse.md").read_text(encoding="utf-8")
    pl.read_csv("calls.csv").write_csv("campaign.csv")
    (command,) = re.findall(r"^\$ satisfice (.*)$", text, flags=re.MULTILINE)
    result = cli(*shlex.split(command), "--no-plan")
    assert result.exit_code == 0 and "results/analysis-campaign.html" in result.stdout
    (snippet,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    exec(compile(snippet, "docs/analyse.md", "exec"), {})
    assert Path("report.html").exists()
