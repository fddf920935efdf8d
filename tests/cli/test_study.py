"""`satisfice study`, as a shell script would use it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner, Result

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
    assert "agrees with the log (1 events, 2 decisions, 1 rewards)" in run("check", "answers").stdout
    assert "Decision 2" in run("explain", "answers", "2").stdout
    assert run("export", "answers", "out/log.parquet").stdout == "2 decisions: out/log.parquet\n"
    assert pl.read_parquet("out/log.parquet")["status"].to_list() == ["told", "abandoned"]
    for ending, read in ((".csv", pl.read_csv), (".xlsx", pl.read_excel), (".jsonl", pl.read_ndjson)):
        assert run("export", "answers", f"log{ending}").stdout == f"2 decisions: log{ending}\n"
        assert read(f"log{ending}")["status"].to_list() == ["told", "abandoned"]
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
        "key": None,
        "session": None,
        "segment": None,
        "why": "a pull that the policy asked for (lease 1)",
    }
    assert data("ask", "answers", "--exclude", "small")["arm"] == "large"  # type: ignore[index]
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
    assert data("explain", "answers", "1")["lease_arm"] is None  # type: ignore[index]
    assert data("list") == [{"name": "answers", "policy": "ucb-cs", "setting": "BestReward(alpha=0.1)"}]
    assert data("check", "answers")["agrees"] is True  # type: ignore[index]
    assert data("export", "answers", "x.parquet") == {"file": "x.parquet", "decisions": 5}


def test_check_sees_a_state_that_was_tampered_with() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("tell", "answers", run("ask", "answers").stdout.split()[0], "1")
    with sqlite3.connect("studies.db") as connection:
        connection.execute("UPDATE satisfice_rewards SET was_reward = 0.5")
    result = run("check", "answers")
    assert result.exit_code == 1
    assert "does NOT agree" in result.stdout and "entry 1 of decision 1 does not follow" in result.stdout
    assert run("check", "answers", "--json").exit_code == 1


def test_repair_rebuilds_the_state_from_the_log() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("tell", "answers", run("ask", "answers").stdout.split()[0], "1")
    assert (
        run("repair", "answers").stdout == "answers: the state agrees with the log (1 events, 1 decisions, 1 rewards)\n"
    )
    with sqlite3.connect("studies.db") as connection:  # a snapshot that is not what the log makes
        (state,) = connection.execute("SELECT state FROM satisfice_snapshots").fetchone()
        state = json.dumps({**json.loads(state), "corrections": 7})
        connection.execute("UPDATE satisfice_snapshots SET state = ?", (state,))
    result = run("check", "answers")
    assert result.exit_code == 1 and "corrections: the state has 7, the log makes 0" in result.stdout
    assert data("repair", "answers")["agrees"] is True  # type: ignore[index]
    assert run("check", "answers").exit_code == 0


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
        (("list", "--storage", "redis://x"), "no storage that is known; use sqlite:///studies.db or postgresql://"),
        (("list", "--storage", "sqlite://"), "'sqlite://' names no file; use sqlite:///file.db\n"),
        (("list", "--storage", "sqlite:///missing.db"), "no database missing.db; `satisfice study create` makes it"),
        (("create", "b", "--arm", "a=1", "--alpha", "0.1", "--seed", "-1"), "seed = -1; it must be"),
        (("create", "answers", "--arm", "a=1", "--alpha", "0.1"), "; choose another name"),
        (("tell", "answers", "1", "-0.5"), "reward = -0.5 of decision 1; this study takes numbers from 0 to 1"),
        (("tell", "answers", "2", "0.5"), "was told the reward 1, and is now told 0.5; --correct corrects it"),
        (("tell", "answers", "2", "--abandon"), "cannot be abandoned; --correct replaces the reward"),
        (("export", "answers", "file/log.parquet"), "file/log.parquet cannot be written: "),
        (("export", "answers", "."), ". cannot be written: it is a folder"),
        (("export", "answers", "log.txt"), "log.txt: the name must end in .parquet, .pq, .csv,"),
        (("archive", "answers", "2030-01-01", "log.csv"), "log.csv: the name must end in .parquet or .pq"),
        (("status", "answers", "--plot", "file/r3.png"), "file/r3.png cannot be written: "),
        (("status", "answers", "--plot", "r3.foo"), "r3.foo does not end in a kind of picture: "),
        (("set-cost", "answers", "tiny", "1"), "no arm 'tiny'"),
        (("set-cost", "answers", "small", "-1"), "it must be a finite number of at least 0"),
        (("add-arm", "answers", "small", "1"), "already has an arm 'small'; `satisfice study set-cost` changes"),
        (("retire-arm", "answers", "tiny"), "no arm 'tiny'"),
        (("close", "answers"), "a study is ended by `satisfice study end answers`; nothing was changed"),
        (("delete", "answers"), "deletes 'answers' with its log, for good; say it with --yes"),
        (("delete", "nobody", "--yes"), "there is no study 'nobody'"),
        (("archive", "answers", "soon", "x.parquet"), "BEFORE 'soon' is no time such as 2026-11-01"),
        (
            ("archive", "answers", "2030-01-01", "file.parquet"),
            "file.parquet is there already; an archive overwrites nothing",
        ),
        (("forget", "answers", " "), "the subject is ' '; it must be a text of 1 to 200 characters"),
        (("ask", "answers", "--key", ""), "the key is ''; it must be a text of 1 to 200 characters"),
        (("abandon", "answers", "2"), "cannot be abandoned; --correct replaces the reward"),
        (("abandon", "answers", "x"), "'x' is not the id of a decision"),
        (
            ("create", "answers", "--arm", "a=1", "--alpha", "0.1", "--load-if-exists"),
            "with other terms: its ",
        ),
        (("create", "b", "--arm", "a=1", "--alpha", "0.1", "--mature-after", "0"), "mature_after = 0.0; it must be"),
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
    Path("file.parquet").touch()
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
    assert data("status", "neg")["arms"][0]["mean"] == pytest.approx(-0.3)  # type: ignore[index]


def test_one_bad_reward_is_named() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers", "-n", "3")
    rewards = [{"id": 1, "reward": 1.0}, {"id": 2, "reward": 7}, {"id": 3, "reward": 1.0}]
    result = run("tell", "answers", "-", stdin=json.dumps(rewards))
    assert result.stderr == "error: reward = 7 of decision 2; this study takes numbers from 0 to 1\n"
    assert data("status", "answers")["verdict"]["rewards"] == 0  # type: ignore[index]


def test_the_world_changes() -> None:
    run(*CREATE, "--horizon", "1e4")
    assert run("set-cost", "answers", "large", "6").stdout == "'large' costs 6 from now on\n"
    assert run("add-arm", "answers", "tiny", "0.1").stdout == "added 'tiny' at a cost of 0.1\n"
    assert run("retire-arm", "answers", "small").stdout == "retired 'small'\n"
    assert data("add-arm", "answers", "small", "0.3") == {"arm": "small", "cost": 0.3, "changed": True}
    assert data("add-arm", "answers", "small", "0.3") == {"arm": "small", "cost": 0.3, "changed": False}
    assert data("set-cost", "answers", "small", "0.4") == {"arm": "small", "cost": 0.4, "changed": True}
    assert data("retire-arm", "answers", "tiny") == {"arm": "tiny", "retired": True, "changed": True}
    arms = data("status", "answers")["arms"]  # type: ignore[index]
    assert [(arm["name"], arm["cost"], arm["verdict"] == "retired") for arm in arms] == [
        ("small", 0.4, False),
        ("large", 6.0, False),
        ("tiny", 0.1, True),
    ]
    assert run("expire", "answers").stdout == "0 expired\n"
    assert data("expire", "answers") == {"expired": 0}
    run("ask", "answers")
    assert run("end", "answers").stdout == "ended 'answers'\n"
    assert data("end", "answers") == {"ended": True, "changed": False}
    assert run("ask", "answers").stderr == (
        "error: the study 'answers' was ended; `satisfice study reopen` lets it go on\n"
    )
    assert run("tell", "answers", "1", "1.0").stdout == "1 changed\n"  # late
    assert "(ended)" in run("status", "answers").stdout
    assert run("reopen", "answers").stdout == "'answers' goes on\n"
    assert data("reopen", "answers") == {"ended": False, "changed": False}
    assert run("ask", "answers").stdout.startswith("2 ")
    assert data("check", "answers")["agrees"] is True  # type: ignore[index]


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


def test_the_same_key_gives_the_same_again() -> None:
    run(*CREATE, "--horizon", "1e4")
    assert run("ask", "answers", "--key", "q1").stdout == run("ask", "answers", "--key", "q1").stdout == "1 small\n"
    again = data("ask", "answers", "--key", "q1")
    assert isinstance(again, dict) and (again["reason"], again["key"]) == ("key", "q1")
    first = run("ask", "answers", "-n", "3", "--key", "q2").stdout
    assert first.count("\n") == 3 and run("ask", "answers", "-n", "3", "--key", "q2").stdout == first


def test_abandon() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers", "-n", "2")
    assert run("abandon", "answers", "1").stdout == "1 changed\n"
    assert data("abandon", "answers", "1") == {"changed": 0}
    assert data("status", "answers")["arms"][0]["dropped"] == 1  # type: ignore[index]


def test_a_study_is_made_once() -> None:
    for _ in range(2):
        assert run(*CREATE, "--horizon", "1e4", "--mature-after", "60", "--load-if-exists").exit_code == 0
        run("ask", "answers")
    config = data(*CREATE, "--horizon", "1e4", "--mature-after", "60", "--load-if-exists")
    assert isinstance(config, dict) and config["mature_after"] == 60.0
    assert data("check", "answers")["decisions"] == 2  # type: ignore[index]


def test_old_decisions_are_archived() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers", "-n", "4")
    for number in ("1", "2", "4"):
        run("tell", "answers", number, "1")
    assert run("archive", "answers", "2001-02-03", "old.parquet").stdout.startswith(
        "no decisions are settled and older"
    )
    assert not Path("old.parquet").exists()
    later = "2999-01-01T00:00+02:00"
    assert run("archive", "answers", later, "old.parquet").stdout == "2 decisions: old.parquet\n"  # 3 is open
    assert pl.read_parquet("old.parquet")["id"].to_list() == [1, 2]
    run("tell", "answers", "3", "1")
    assert data("archive", "answers", "4e10", "new.parquet") == {"file": "new.parquet", "decisions": 2}
    assert data("archive", "answers", "4e10", "none.parquet") == {"file": None, "decisions": 0}
    status = data("status", "answers")
    assert isinstance(status, dict) and sum(arm["pulls"] for arm in status["arms"]) == 4
    assert run("ask", "answers").stdout.startswith("5 ")
    assert run("check", "answers").exit_code == 0


def test_a_subject_is_forgotten() -> None:
    run(*CREATE, "--horizon", "1e4")
    run("ask", "answers", "--subject", "u")
    assert run("forget", "answers", "u").stdout == "forgotten in 1 decisions\n"
    assert data("forget", "answers", "u") == {"decisions": 0}
    run("export", "answers", "log.parquet")
    assert pl.read_parquet("log.parquet")["subject"].to_list() == [None]


def test_a_study_is_deleted() -> None:
    for name in ("a", "b"):
        run("create", name, "--arm", "x=1", "--alpha", "0.1")
    assert run("delete", "a").exit_code == 2 and run("list").stdout == "a\nb\n"
    assert run("delete", "a", "--yes").stdout == "deleted 'a'\n"
    assert data("delete", "b", "--yes") == {"deleted": "b"}
    assert data("list") == []


def test_segments(tmp_path: Path) -> None:
    run(
        "create", "s", "--arm", "small=1", "--arm", "large=9", "--alpha", "0.1", "--segment", "code", "--segment", "law"
    )
    first = data("ask", "s", "--segment", "law")
    assert isinstance(first, dict) and first["segment"] == "law"
    assert run("tell", "s", str(first["id"]), "1").stdout == "1 changed\n"
    assert "the segments of the study are 'code', 'law'" in run("ask", "s").stderr
    run("record", "s", "large", "1", "--segment", "code")
    log = tmp_path / "calls.csv"
    log.write_text("arm,reward,segment\nlarge,1,code\nsmall,0,law\n")
    assert data("import", "s", str(log)) == {"calls": 2, "recorded": 2}
    status = data("status", "s")
    assert isinstance(status, dict) and [(line["name"], line["rewards"]) for line in status["segments"]] == [
        ("code", 2),
        ("law", 2),
    ]
    both = run("create", "t", "--arm", "a=1", "--alpha", "0", "--segment", "x", "--segments", "3")
    assert "give one of them" in both.stderr
    assert run("status", "s", "--plot", "s.png").exit_code == 0


def test_every_command_speaks_json() -> None:
    from typer.main import get_command

    group = get_command(make_app()).commands["study"]  # type: ignore[attr-defined]
    assert len(group.commands) >= 20
    for name, command in group.commands.items():
        assert any("--json" in option.opts for option in command.params), name


def test_what_live_traffic_needs(tmp_path: Path) -> None:
    """Sessions, told costs, decisions of others, a pause and copies, in the words of the shell."""
    run("create", "s", "--arm", "small=1", "--arm", "large=9", "--alpha", "0.1", "--costs", "told", "--cost-range", "0",
        "20", "--baseline", "large", "--holdout", "0.1", "--budget", "100", "--session-ttl", "60", "--worth", "2",
        "--seed", "1")  # fmt: skip
    first = data("ask", "s", "--session", "chat-17")
    again = data("ask", "s", "--session", "chat-17")
    assert isinstance(first, dict) and isinstance(again, dict)
    assert again["arm"] == first["arm"] and again["session"] == "chat-17"
    up = data("ask", "s", "--available", "large")
    assert isinstance(up, dict) and up["arm"] == "large"
    assert data("tell", "s", str(first["id"]), "1", "--cost", "0.5") == {"changed": 1}
    told = json.dumps([{"id": again["id"], "reward": 1, "cost": 0.7}, {"id": up["id"], "reward": 0}])
    assert data("tell", "s", "-", stdin=told) == {"changed": 2}
    assert data("record", "s", "large", "1", "--cost", "8", "--key", "a") == {"id": 4, "recorded": True}
    assert data("record", "s", "large", "1", "--cost", "8", "--key", "a") == {"id": 4, "recorded": False}
    (tmp_path / "calls.csv").write_text("arm,reward,cost,key\nsmall,1,0.4,b\nlarge,,9,c\nlarge,0.5,,d\n")
    assert data("import", "s", str(tmp_path / "calls.csv")) == {"calls": 2, "recorded": 2}
    assert data("import", "s", str(tmp_path / "calls.csv")) == {"calls": 2, "recorded": 0}
    assert data("pause", "s") == {"paused": True, "changed": True}
    paused = data("ask", "s")
    assert isinstance(paused, dict) and (paused["arm"], paused["reason"]) == ("large", "paused")
    assert data("resume", "s") == {"paused": False, "changed": True}
    arms = data("arms", "s")
    assert isinstance(arms, dict) and set(arms) == {"small", "large"}
    assert "large" in run("arms", "s").output
    assert data("copy", "s", "t") == {"name": "t", "learned": True}
    assert data("copy", "s", "u", "--bare") == {"name": "u", "learned": False}
    for name in ("s", "t", "u"):
        audit = data("check", name)
        assert isinstance(audit, dict) and audit["agrees"]
    (tmp_path / "bad.csv").write_text("model,reward\nsmall,1\n")
    assert "no column arm" in run("import", "s", str(tmp_path / "bad.csv")).output
