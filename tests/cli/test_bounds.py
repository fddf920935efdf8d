"""`satisfice bounds`, as a new user would try it."""

import json
from pathlib import Path

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner, Result

import satisfice as sf
from satisfice.bounds import lower, upper
from satisfice.cli import make_app


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> Result:
    return CliRunner().invoke(make_app(), ["bounds", *words])


ISSUE = ("--instance", "movielens", "--setting", "best", "--alpha", "0.25", "--horizon", "5e6")


def test_tables_and_a_picture() -> None:
    result = run(*ISSUE, "--simulate", "5")
    assert result.exit_code == 0, result.output
    for part in (
        "the optimal arm is Sci-Fi",
        "Film-Noir",
        "high-cost",
        "best_nominal",
        "277,916",  # the term, as in tests of upper
        "58.81 per log T",
        "of the bound",
        "Delta_min = 0.027",
        "no arm is cheaper than the optimal one",
    ):
        assert part in " ".join(result.output.split()), part
    path = Path("results") / "bounds-movielens-best-0.25-pe-cs.png"
    assert str(path) in result.output
    assert imread(path).shape[1] > 600


def test_json_holds_what_the_library_says() -> None:
    result = run(*ISSUE, "--simulate", "4", "--json", "--seed", "3", "--out", "elsewhere")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    instance, setting = sf.load_instance("movielens"), sf.BestReward(0.25)
    bound, least = upper("pe-cs", instance, setting, 5e6), lower(instance, setting)
    simulated = sf.simulate(instance, setting, "pe-cs", 5e6, runs=4, seed=3)["pe-cs"]
    assert document["regrets"]["cost"]["upper"] == pytest.approx(bound.cost_regret)
    assert document["regrets"]["cost"]["lower_per_log_t"] == pytest.approx(least.cost_regret)
    assert document["regrets"]["cost"]["simulated"] == pytest.approx(simulated.cost_regret.mean())
    assert document["regrets"]["quality"]["terms"]["low_cost_nominal"]["value"] == 0
    assert [arm["name"] for arm in document["arms"]] == list(instance.names)
    assert [arm["simulated"] for arm in document["arms"]] == pytest.approx(simulated.pulls.mean(axis=0))
    assert document["arms"][0]["lower_per_log_t"] is None  # infinite
    assert Path(document["picture"]).parent == Path("elsewhere")


def test_every_setting_without_a_simulation() -> None:
    for words, parts in (
        (
            ("-s", "reference", "--reference", "genre-7", "-a", "0.05"),
            ("PE,", "pruned", "reference_nominal", "genre-8"),
        ),
        (("-s", "reference", "--reference", "6", "-p", "asymmetric-pe(kappa=1)"), ("Asymmetric-PE (kappa=1)",)),
        (("-s", "fixed", "--threshold", "0.67"), ("FT-UCB", "high_cost_initial", "after the first pull")),
        (("-s", "best", "-a", "0.05", "--family", "gaussian"), ("PE-CS", "gaussian rewards")),
    ):
        result = run("-i", "goodreads", "-T", "1000000", *words)
        assert result.exit_code == 0, result.output
        assert "simulated" not in result.output
        for part in parts:
            assert part in result.output, part


def test_what_is_infinite_or_vacuous_says_so() -> None:
    sf.instances.save_instance(
        sf.Instance([1, 2, 3], [0.7, 0.8, 0.8], names=["a", "b", "[c]"], label="tie"), "tie.json"
    )
    result = run("-i", "tie.json", "-s", "best", "-a", "0.2", "-T", "1e4", "-n", "2")
    assert result.exit_code == 0, result.output
    assert "b and [c] share the best mean" in " ".join(result.output.split())
    assert "no more than 20,000 is possible at all" in result.output
    short = run("-i", "goodreads", "-s", "best", "-a", "0.05", "-T", "1e4")
    assert "beyond the horizon, so the bound says nothing" in short.output


def test_arms_with_long_names_can_be_told_apart() -> None:
    begin = "provider/a-model-with-a-very-long-name-of-the-year-2025"
    same = [f"{begin}-{middle}-{'with-the-same-end' * 2}" for middle in ("one", "two")]
    names = [f"{begin}-small", f"{begin}-large", *same]
    sf.instances.save_instance(sf.Instance([1, 2, 3, 4], [0.5, 0.9, 0.6, 0.7], names=names, label="long"), "long.json")
    result = run("-i", "long.json", "-a", "0.1", "-T", "1e4", "-n", "2")
    table = result.output[result.output.index("Expected pulls") : result.output.index("* lower bound")]
    assert "year-2025-small" in table and "year-2025-large" in table and "provider/a-mod" in table
    # Cut in the middle these two would be the same, so they are there in full, in as many lines as that takes.
    whole = "".join(line.split("  ")[0] for line in table.splitlines())
    assert same[0] in whole and same[1] in whole


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-i", "movielens", "-T", "1e4"), "--setting best needs --alpha"),
        (("-i", "nothing", "-a", "0.1", "-T", "1e4"), "there is no instance 'nothing'"),
        (("-i", "movielens", "-a", "0.1", "-T", "many"), "--horizon 'many' is not a whole number"),
        (("-i", "movielens", "-a", "0.1", "-T", "0"), "--horizon 0; it must be from 1"),
        (("-i", "movielens", "-a", "0.1", "-T", "1e4", "-p", "ts-cs"), "no upper bound for ts-cs"),
        (("-i", "movielens", "-a", "0.1", "-T", "1e4", "-p", "pe"), "pe does not serve BestReward"),
        (("-i", "movielens", "-a", "0.1", "-T", "1e4", "-n", "-1"), "--simulate -1"),
        (("-i", "movielens", "-a", "0.1", "-T", "1e4", "--family", "poisson"), "no reward family 'poisson'"),
        (("-i", "movielens", "-s", "fixed", "--threshold", "0.9", "-T", "1e4"), "no arm of 'movielens' reaches"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(Path().rglob("*.png"))
