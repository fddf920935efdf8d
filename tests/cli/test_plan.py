"""`satisfice plan`, as a new user would try it."""

import json
from pathlib import Path

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner, Result

from satisfice.cli import make_app


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Result:
    return CliRunner().invoke(make_app(), ["plan", *words])


MODELS = ("--costs", "0.2,1,8", "--names", "small,medium,large", "--alpha", "0.1")


def test_tables_and_a_picture() -> None:
    result = run(*MODELS, "--guess", "0.6-0.75, 0.84:0.88, 0.9", "--horizon", "1e6", "--runs", "15")
    assert result.exit_code == 0, result.output
    for part in (
        "Until it is settled",
        "Once it is settled",
        "glr",
        "pe-cs",
        "etc-cs",
        "ucb-cs",
        "medium (100%)",
        "7,000",
    ):
        assert part in result.output, part
    assert "Theory, at the middle of the guess: pe-cs has cost regret at most" in result.output
    assert "ts-cs" not in result.output
    assert imread(Path("results") / "plan-best-1000000.png").shape[1] > 600


def test_without_a_horizon_one_is_found() -> None:
    result = run(*MODELS, "--guess", "0.6,0.86,0.9", "-p", "glr", "-n", "20", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["horizon"] in (10**3, 10**4, 10**5, 10**6, 10**7)
    glr = document["policies"]["glr"]
    assert glr["settles"] >= 0.9
    low, middle, high = glr["pulls_until_settled"]
    assert 0 <= low <= middle <= high <= document["horizon"] / 2
    assert glr["saved_per_1000"][1] == pytest.approx(7000)
    assert glr["given_up_per_1000"][1] == pytest.approx(40)
    assert sum(glr["choices"].values()) == pytest.approx(1)


def test_the_other_settings() -> None:
    reference = run(
        *MODELS, "--guess", "0.6,0.86,0.9", "-s", "reference", "--reference", "large", "-T", "1e4", "-n", "5"
    )
    assert reference.exit_code == 0, reference.output
    assert "against always playing the reference arm" in reference.output.lower()
    fixed = run(
        "-c", "1,2,3", "-g", "0.5-0.7,0.7-0.9,0.6", "-s", "fixed", "--threshold", "0.85", "-T", "1e4", "-n", "20"
    )
    assert fixed.exit_code == 0, fixed.output
    assert "draws of the guess no arm was good enough" in fixed.output
    assert "Theory" not in fixed.output  # at the middle of this guess no arm is good enough


def test_means_too_close_for_the_horizon_say_so() -> None:
    result = run("-c", "1,2", "-g", "0.80,0.82", "-a", "0", "-T", "1000", "-p", "pe-cs", "-n", "10")
    assert result.exit_code == 0, result.output
    assert "too close for this horizon" in result.output
    assert "no promise on quality regret" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-c", "1,2", "-g", "0.5", "-a", "0.1"), "2 costs but 1 guesses"),
        (("-c", "1,x", "-g", "0.5,0.6", "-a", "0.1"), "--costs 'x' is not a number"),
        (("-c", "1,2", "-g", "0.5,high", "-a", "0.1"), "--guess 'high' is not a number"),
        (("-c", "1,2", "-g", "0.5,1.5", "-a", "0.1"), "the guess 1.5 is not a mean"),
        (("-c", "1,2", "-g", "0.5,0.9-0.8", "-a", "0.1"), "the guess (0.9, 0.8) is not a mean"),
        (("-c", "1,-2", "-g", "0.5,0.6", "-a", "0.1"), "the cost of arm 1 is -2"),
        (("-c", "1,2", "-g", "0.5,0.6"), "--setting best needs --alpha"),
        (("-c", "1,2", "-g", "0.5,0.6", "-a", "0.1", "-n", "0"), "--runs 0; it must be from 1"),
        (("-c", "1,2", "-g", "0.5,0.6", "-a", "0.1", "-p", "pe"), "pe does not serve BestReward"),
        (("-c", "1,2", "-g", "0.5,0.6", "-s", "reference", "--reference", "x"), "there is no arm 'x'"),
        (("-c", "1,2", "-g", "0.5,0.6", "-s", "fixed", "--threshold", "0.9"), "no arm reaches the threshold 0.9"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
