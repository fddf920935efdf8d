"""Sweeps: every combination, what is there is not done again, and the same results as `simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import satisfice as sf
from satisfice.cli import make_app
from satisfice.errors import SatisficeError


def test_every_combination_once_and_as_simulate_has_it(tmp_path: Path) -> None:
    said: list[tuple[int, int, str]] = []
    over = {"alpha": [0.1, 0.2], "pe-cs.kappa": [0, 5]}

    def again(grid: dict[str, list[float]]) -> sf.Sweep:
        return sf.sweep(
            "toy:0.78", sf.BestReward(0.1), ["etc-cs", "pe-cs"], 1000, grid, runs=2, workers=1, folder=tmp_path,
            report=lambda *words: said.append(words),
        )  # fmt: skip

    found = again(over)  # type: ignore[arg-type]
    # etc-cs has no kappa: two cells; pe-cs: four.
    assert len(found.points) == 6 and len(list(tmp_path.glob("*.parquet"))) == 6
    assert said[0] == (0, 6, "0 of 6 are there already")
    toy = sf.load_instance("toy:0.78")
    alone = sf.simulate(toy, sf.BestReward(0.2), ["pe-cs(kappa=5)"], 1000, runs=2, workers=1)
    (point,) = (p for p in found.points if p.values == {"alpha": 0.2, "pe-cs.kappa": 5})
    assert (point.result.pulls == alone["pe-cs(kappa=5)"].pulls).all()
    said.clear()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    more = again({"alpha": [0.1, 0.2, 0.3], "pe-cs.kappa": [0, 5]})
    assert said[0] == (6, 9, "6 of 9 are there already")
    assert all(path.stat().st_mtime_ns == then for path, then in before.items())
    table = more.to_polars()
    assert table.height == 27 and not any(kind.is_nested() for kind in table.dtypes)
    damaged = next(iter(before))
    damaged.write_bytes(b"half")
    said.clear()
    again(over)  # type: ignore[arg-type]
    assert said[0] == (5, 6, "5 of 6 are there already") and damaged.stat().st_size > 100
    assert len(more.plot().axes) == 3


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"colour": [1]}, "'colour' cannot be swept; use alpha"),
        ({"glr.delta": [0.1]}, "'glr' is none of the policies"),
        ({"pe-cs.gamma": [0.1]}, "pe-cs has no parameter 'gamma'; it has kappa"),
        ({"alpha": []}, "alpha has no values"),
        ({"alpha": ["x"]}, "the values of alpha must be numbers"),
        ({"threshold": [0.5]}, "threshold belongs to a fixed threshold"),
        ({"horizon": [1.5]}, "it must be a whole number"),
        ({}, "at least one policy and one parameter"),
    ],
)
def test_what_cannot_be_swept(over: dict[str, list[float]], message: str, tmp_path: Path) -> None:
    with pytest.raises(SatisficeError, match=message):
        sf.sweep("toy:0.78", sf.BestReward(0.1), ["pe-cs"], 100, over, runs=1, workers=1, folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def cli(*words: object) -> tuple[int, str, str]:
        result = CliRunner().invoke(make_app(), ["sweep", *map(str, words)])
        return result.exit_code, result.stdout, result.stderr

    base = ("--alpha", 0.1, "--policy", "etc-cs", "--runs", 2, "--workers", 1)
    code, text, _ = cli("--over", "instance=toy:0.6,toy:0.9", "--over", "horizon=500,1e3", *base)
    assert code == 0 and "sweep/sweep-instance-horizon.csv" in text and "toy:0.9" in text
    code, text, _ = cli("--over", "horizon=500", "-i", "toy:0.6", *base, "--json")
    assert code == 0 and len(json.loads(text)["table"]) == 3
    for words, message in (
        (("--over", "alpha", *base), "--over 'alpha' is not a parameter and its values"),
        (("--over", "alpha=0.1,x", *base), "'x' is not a number"),
        (("--over", "alpha=0.1", *base), "give --instance, or sweep over it"),
        (("--over", "alpha=0.1", "-i", "toy:0.6", *base), "give --horizon, or sweep over it"),
        (("--over", "seed=1", "--over", "seed=2", "-i", "toy:0.6", *base), "swept twice"),
    ):
        code, _, error = cli(*words)
        assert code == 2 and message in error, error
