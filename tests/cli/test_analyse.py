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


ROWS = [("mail", 1, 0.1), ("mail", 0, 0.1), ("sms", 0, 0.2), ("sms", 1, 0.2)] * 40
CSV = "channel,converted,cost\n" + "".join(f"{a},{r},{c}\n" for a, r, c in ROWS)
SEMICOLONS = CSV.replace(",", ";")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + CSV,  # as Excel saves UTF-8
        SEMICOLONS,
        SEMICOLONS.replace(".", ","),  # decimal commas
        CSV.replace("\n", "\n\n"),  # blank lines
        CSV.replace("\n", "\r\n"),
        CSV.replace(",1,", ",yes,").replace(",0,", ",no,"),
        CSV.replace(",1,", ",TRUE,").replace(",0,", ",FALSE,"),
        CSV.replace(",", "\t"),
    ],
)
def test_odd_tables_that_are_sound(cli: Callable[..., Result], tmp_path: Path, text: str) -> None:
    (tmp_path / "log.csv").write_bytes(text.encode())
    result = cli("analyse", tmp_path / "log.csv", "--no-plan", "--json", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    arms = json.loads(result.stdout)["arms"]
    assert [(arm["name"], arm["rows"], arm["cost"], arm["mean"]) for arm in arms] == [
        ("mail", 80, 0.1, 0.5),
        ("sms", 80, 0.2, 0.5),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", CSV.encode("utf-16"), "is not UTF-8 text but, it seems, UTF-16; save it as UTF-8"),
        (
            "a.csv",
            CSV.replace("mail", "Gr\u00fc\u00dfe").encode("latin-1"),
            "a.csv:2: not UTF-8 text; save it as",
        ),
        ("a.csv", CSV.replace("\n", "\r"), "end in carriage returns alone"),
        ("a.csv", CSV.replace("cost", "converted"), "has the column 'converted' more than once; rename one of them"),
        ("a.csv", "Report;;\n;;\n" + SEMICOLONS, "the first line of FILE does not name the columns"),
        ("a.csv", "channel,converted,cost\n", "FILE holds no rows"),
        ("a.csv", CSV.replace("sms", "mail"), "'channel' has one value only; name it with --arm"),
        ("a.csv", CSV.replace(",1,", ",85%,"), "'converted' has '85%', which is no number; name it with --reward"),
        ("a.csv", CSV.replace(",0.1", ",\u20ac0.10"), "'cost' has '\u20ac0.10', which is no number; give one of these"),
        ("a.csv", CSV.replace("mail,1,0.1", "mail,1,-0.1"), "no number of at least 0 in 'cost'"),
        ("a.csv", CSV.replace("mail,1", "mail,inf"), "no number in 'converted'"),
        ("a.json", '[{"channel": "mail"}]', "FILE is a JSON array; write JSON lines"),
        ("a.parquet", "text", "is not a sound Parquet file"),
        ("a.xlsx", "text", "is not a sound spreadsheet"),
    ],
)
def test_odd_tables_that_are_not(
    cli: Callable[..., Result], tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    result = cli("analyse", tmp_path / name, "--no-plan", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message.replace("FILE", str(tmp_path / name)) in result.stderr


def test_spreadsheets_of_several_sheets_and_with_a_title(cli: Callable[..., Result], tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("notes").write(0, 0, "see the next sheet")
        log, titled = book.add_worksheet("log"), book.add_worksheet("titled")
        titled.merge_range(0, 0, 0, 2, "Campaign")
        log.write_row(0, 0, ("channel", "converted", "cost"))
        titled.write_row(1, 0, ("channel", "converted", "cost"))
        for place, row in enumerate(ROWS):
            log.write_row(place + 1, 0, row[:2])
            log.write_formula(place + 1, 2, "=1", None, row[2])  # what a formula came to is what counts
            titled.write_row(place + 2, 0, row)
    first = cli("analyse", path, "--no-plan", "--out", tmp_path)
    assert "its sheets are 'notes', 'log', 'titled'; name one with --table" in first.stderr
    second = cli("analyse", path, "--table", "log", "--no-plan", "--json", "--out", tmp_path)
    assert [arm["cost"] for arm in json.loads(second.stdout)["arms"]] == [0.1, 0.2]
    third = cli("analyse", path, "--table", "titled", "--no-plan", "--out", tmp_path)
    assert "does not name the columns; delete what is above their names" in third.stderr


def test_a_row_of_totals_is_not_a_choice(cli: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(CSV + "Total,80,24\n")
    result = cli("analyse", tmp_path / "log.csv", "--no-plan", "--out", tmp_path)
    assert "Not settled. By its mean, Total is" in result.stdout.replace("\n", " ")
    assert "but there is only 1 row of it" in result.stdout.replace("\n", " ")


def test_a_password_is_never_shown(cli: Callable[..., Result], tmp_path: Path) -> None:
    for url in ("postgresql://me:geheim@127.0.0.1:1/shop", "foo://me:geheim@h/x", "postgresql://me:ge@heim@h:1/x"):
        result = cli("analyse", url, "--out", tmp_path)
        assert result.exit_code == 2 and "heim" not in result.output
