"""`satisfice study`, as a shell script would use it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from click.testing import Result
from matplotlib.image import imread
from typer.testing import CliRunner

from satisfice.cli import make_app

CREATE = ("create", "answers", "--arm", "small=0.2", "--arm", "large=8", "--alpha", "0.1", "--policy", "ucb-cs")


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SATISFICE_STORAGE", "sqlite:///studies.db?synchronous=normal")


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(make_app(), ["study", *words], input=stdin)


def data(*words: str, stdin: str | None = None) -> object:
    result = run(*words, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_whole_life() -> None:
    assert run(*CREATE, "--horizon", "1e4").stdout == "created 'answers': ucb-cs, BestReward(alpha=0.1), 2 arms\n"
    assert run("list").stdout == "answers\n"
    assert run("ask", "answers").stdout == "1 small\n"
    assert run("ask", "answers").stdout == "2 large\n"
    assert run("tell", "answers", "1", "1.0").stdout == "1 changed\n"
    assert run("tell", "answers", "1", "1.0").stdout == "0 changed\n"
    assert run("tell", "answers", "1", "0.5", "--correct").stdout == "1 changed\n"
    assert run("tell", "answers", "2", "--abandon").stdout == "1 changed\n"
    shown = run("status", "answers").stdout
    assert "Still exploring after 1 reward:" in shown and "small" in shown
    assert "agrees with the log (5 events, 2 decisions, 1 rewards)" in run("check", "answers").stdout
    assert "Decision 2" in run("explain", "answers", "2").stdout
    assert run("export", "answers", "out/log.parquet").stdout == "2 decisions: out/log.parquet\n"
    assert pl.read_parquet("out/log.parquet")["status"].to_list() == ["told", "abandoned"]
    assert run("status", "answers", "--plot", "s.png").exit_code == 0
    assert imread("s.png").shape[1] > 500


def test_json_in_and_out() -> None:
    config = data(*CREATE, "--horizon", "10000", "--seed", "3")
    assert isinstance(config, dict) and config["seed"] == 3
    first = data("ask", "answers", "--subject", "u")
    assert first == {
        "id": 1,
        "arm": "small",
        "reason": "lease",
        "lease": 1,
        "subject": "u",
        "why": "a pull that the policy asked for (lease 1)",
    }
    assert data("ask", "answers", "--exclude", "small")["arm"] == "large"  # type: ignore[index,call-overload]
    many = data("ask", "answers", "-n", "3")
    assert isinstance(many, list) and [row["id"] for row in many] == [3, 4, 5]
    rewards = [{"id": number, "reward": 1.0} for number in range(1, 6)]
    assert data("tell", "answers", "-", stdin=json.dumps(rewards[:3])) == {"changed": 3}
    lines = "\n".join(json.dumps(row) for row in rewards)
    assert data("tell", "answers", "-", stdin=lines) == {"changed": 2}
    status = data("status", "answers")
    assert isinstance(status, dict)
    assert sum(arm["pulls"] for arm in status["arms"]) == 5
    assert status["verdict"]["state"] == "exploring"
    assert data("explain", "answers", "1")["lease_arm"] is None  # type: ignore[index,call-overload]
    assert data("list") == [{"name": "answers", "policy": "ucb-cs", "setting": "BestReward(alpha=0.1)"}]
    assert data("check", "answers")["agrees"] is True  # type: ignore[index,call-overload]
    assert data("export", "answers", "x.parquet") == {"file": "x.parquet", "decisions": 5}


def test_check_sees_a_state_that_was_tampered_with() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("tell", "answers", run("ask", "answers").stdout.split()[0], "1")
    with sqlite3.connect("studies.db") as connection:
        connection.execute("UPDATE rewards SET reward = 0.5")
    result = run("check", "answers")
    assert result.exit_code == 1
    assert "does NOT agree" in result.stdout and "arms:" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("ask", "nobody"), "there is no study 'nobody'"),
        (("tell", "answers", "99", "1.0"), "never handed out a decision 99"),
        (("tell", "answers", "x", "1.0"), "'x' is not the id of a decision"),
        (("tell", "answers", "1", "7"), "from 0 to 1"),
        (("tell", "answers", "1"), "give the reward of decision 1"),
        (("tell", "answers", "1", "1.0", "--abandon"), "--abandon goes with no reward"),
        (("tell", "answers", "-", "1.0"), "from standard input"),
        (("tell", "answers", "-"), "not rewards"),
        (("ask", "answers", "--exclude", "tiny"), "no arm 'tiny'"),
        (("ask", "answers", "--subject", "u", "-n", "2"), "do not go together"),
        (("create", "answers", "--arm", "a=1", "--alpha", "0.1"), "already a study 'answers'"),
        (("create", "b", "--arm", "a", "--alpha", "0.1"), "is not NAME=COST"),
        (("create", "b", "--arm", "a=1", "--arm", "a=2", "--alpha", "0.1"), "given twice"),
        (("create", "b", "--arm", "a=1"), "--setting best needs --alpha"),
        (("list", "--storage", "redis://x"), "'redis://x'; use sqlite:///"),
        (("list", "--storage", "sqlite://"), "use sqlite:///file.db\n"),
        (("list", "--storage", "sqlite:///missing.db"), "no database missing.db; `satisfice study create` makes it"),
        (("create", "b", "--arm", "a=1", "--alpha", "0.1", "--seed", "-1"), "seed = -1; it must be"),
        (("create", "answers", "--arm", "a=1", "--alpha", "0.1"), "; choose another name"),
        (("tell", "answers", "1", "-0.5"), "reward = -0.5 of decision 1; this study takes numbers from 0 to 1"),
        (("tell", "answers", "2", "0.5"), "was told the reward 1, and is now told 0.5; --correct corrects it"),
        (("tell", "answers", "2", "--abandon"), "cannot be abandoned; --correct replaces the reward"),
        (("export", "answers", "file/log.parquet"), "file/log.parquet cannot be written: "),
        (("export", "answers", "."), ". cannot be written: "),
        (("status", "answers", "--plot", "file/r3.png"), "file/r3.png cannot be written: "),
        (("status", "answers", "--plot", "r3.foo"), "r3.foo does not end in a kind of picture: "),
        (("set-cost", "answers", "tiny", "1"), "no arm 'tiny'"),
        (("set-cost", "answers", "small", "-1"), "it must be a finite number of at least 0"),
        (("add-arm", "answers", "small", "1"), "already has an arm 'small'; `satisfice study set-cost` changes"),
        (("retire-arm", "answers", "tiny"), "no arm 'tiny'"),
        (("replay", "answers", "--policy", "best"), "best"),
        (("replay", "answers", "--log", "missing.csv"), "there is no file missing.csv"),
        (
            ("replay", "answers", "--log", "free.csv"),
            "free.csv has no column 'cost'; its columns are 'arm', 'reward'\n",
        ),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str) -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers")
    run("tell", "answers", run("ask", "answers").stdout.split()[0], "1")
    Path("file").touch()
    Path("free.csv").write_text("arm,reward\nsmall,1\n")
    result = run(*words, stdin="{]")
    assert result.exit_code == 2
    assert not Path("missing.db").exists()
    assert result.stderr.startswith("error: ") and message in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SATISFICE_STORAGE")
    result = run("list")
    assert result.exit_code == 2
    assert "set SATISFICE_STORAGE" in result.stderr


def test_negative_rewards() -> None:
    run("create", "neg", "--arm", "a=1", "--arm", "b=2", "--alpha", "0.1", "--rewards", "-1", "1")
    run("ask", "neg", "-n", "2")
    assert run("tell", "neg", "1", "-0.5").stdout == "1 changed\n"
    assert run("tell", "neg", "--correct", "1", "-1e-1").stdout == "1 changed\n"
    assert run("tell", "neg", "2", "-.5", "--json").stdout == '{"changed": 1}\n'
    assert run("tell", "neg", "2", "0.5", "--corect").exit_code == 2
    assert data("status", "neg")["arms"][0]["mean"] == pytest.approx(-0.3)  # type: ignore[index,call-overload]


def test_one_bad_reward_is_named() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers", "-n", "3")
    rewards = [{"id": 1, "reward": 1.0}, {"id": 2, "reward": 7}, {"id": 3, "reward": 1.0}]
    result = run("tell", "answers", "-", stdin=json.dumps(rewards))
    assert result.stderr == "error: reward = 7 of decision 2; this study takes numbers from 0 to 1\n"
    assert data("status", "answers")["verdict"]["rewards"] == 0  # type: ignore[index,call-overload]


def test_the_world_changes() -> None:
    run(*CREATE, "--horizon", "1e4")
    assert run("set-cost", "answers", "large", "6").stdout == "'large' costs 6 from now on\n"
    assert run("add-arm", "answers", "tiny", "0.1").stdout == "added 'tiny' at a cost of 0.1\n"
    assert run("retire-arm", "answers", "small").stdout == "retired 'small'\n"
    assert data("add-arm", "answers", "small", "0.3") == {"arm": "small", "cost": 0.3}
    assert data("set-cost", "answers", "small", "0.4") == {"arm": "small", "cost": 0.4}
    assert data("retire-arm", "answers", "tiny") == {"arm": "tiny", "retired": True}
    arms = data("status", "answers")["arms"]  # type: ignore[index,call-overload]
    assert [(arm["name"], arm["cost"], arm["verdict"] == "retired") for arm in arms] == [
        ("small", 0.4, False),
        ("large", 6.0, False),
        ("tiny", 0.1, True),
    ]
    assert run("expire", "answers").stdout == "0 expired\n"
    assert data("expire", "answers") == {"expired": 0}
    assert run("close", "answers").stdout == "closed 'answers'\n"
    assert "is closed" in run("ask", "answers").stderr
    assert data("check", "answers")["agrees"] is True  # type: ignore[index,call-overload]


def test_decisions_expire() -> None:
    run(*CREATE, "--horizon", "1e4", "--expire-after", "1e-3")
    run("ask", "answers")
    assert run("expire", "answers").stdout == "1 expired\n"


def test_replay() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers", "-n", "2")
    run("tell", "answers", "1", "1")
    run("tell", "answers", "2", "1")
    assert run("replay", "answers").stdout.startswith("ucb-cs: 2 of 2 logged decisions match")
    run("export", "answers", "log.parquet")
    result = data("replay", "answers", "--policy", "glr", "--log", "log.parquet")
    assert isinstance(result, dict)
    assert (result["policy"], result["logged"], result["status"]["verdict"]["rewards"]) == ("glr", 2, result["matched"])
