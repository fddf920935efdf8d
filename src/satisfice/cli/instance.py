"""`satisfice instance`: make an instance from raw data, as a .json file that every other command takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from satisfice.cli import options, output
from satisfice.errors import InvalidData
from satisfice.words import count

if TYPE_CHECKING:
    from satisfice.problem import Instance

app = typer.Typer(
    help="Make an instance from MovieLens, Goodreads or your own logs.", no_args_is_help=True, rich_markup_mode=None
)
SHOWN_ARMS = 40


class Ratings(StrEnum):
    """Reward models that fit ratings."""

    BERNOULLI = "bernoulli"
    CATEGORICAL = "categorical"


class Model(StrEnum):
    """Reward models."""

    BERNOULLI = "bernoulli"
    CATEGORICAL = "categorical"
    GAUSSIAN = "gaussian"


class Statistic(StrEnum):
    """What the mean of a Goodreads genre is."""

    SHARE = "share"
    MEAN = "mean"


class Zeros(StrEnum):
    """What to do with lines that give no rating."""

    DROP = "drop"
    KEEP = "keep"


OUT = typer.Option(None, "--out", "-o", help="The .json file to write.", metavar="FILE")
COST_SEED = typer.Option(0, "--cost-seed", help="Seed of the random costs; 0 is the paper's for MovieLens.")
EXACT = typer.Option(False, "--exact", help="Keep Bernoulli means in full, not to 3 decimals as the paper does.")
REWARD = typer.Option(
    Ratings.BERNOULLI,
    "--reward-model",
    "--reward",
    help="bernoulli, or categorical: simulations draw real ratings.",
)
JSON = typer.Option(False, "--json", help="Print the instance and the warnings as JSON, for machines.")


@app.command()
def movielens(
    path: Path = typer.Argument(help="A MovieLens release: its folder or its .zip.", metavar="PATH"),
    cost_seed: int = COST_SEED,
    exact: bool = EXACT,
    reward: Ratings = REWARD,
    max_bad: float = options.MAX_BAD,
    out: Path | None = OUT,
    as_json: bool = JSON,
) -> None:
    """Arms are genres, means are mean ratings / 5 (25M, 32M, 20M, latest, 10M, 1M and 100K releases).

    Writes movielens.json unless --out says otherwise.
    """
    from satisfice.instances import from_movielens

    read = partial(from_movielens, path, cost_seed=cost_seed, exact=exact, reward=reward.value, max_bad=max_bad)
    _make(read, [path], out=out or Path("movielens.json"), as_json=as_json)


@app.command()
def goodreads(
    paths: list[Path] = typer.Argument(help="Files of JSON lines, plain or .gz, one per genre; or a folder of them."),
    statistic: Statistic = typer.Option(
        Statistic.SHARE, "--statistic", help="share of ratings above 3 (the published numbers), or mean rating / 5."
    ),
    zeros: Zeros = typer.Option(
        Zeros.DROP, "--zeros", help="A rating of 0 means none was given: drop the line, or keep it as a reward of 0."
    ),
    cost_seed: int = COST_SEED,
    exact: bool = EXACT,
    reward: Ratings = REWARD,
    max_bad: float = options.MAX_BAD,
    out: Path | None = OUT,
    as_json: bool = JSON,
) -> None:
    """Arms are genres, one file each; means are the share of ratings above 3, or the mean rating / 5.

    Writes goodreads.json unless --out says otherwise.
    """
    from satisfice.instances import from_goodreads

    read = partial(from_goodreads, *paths, cost_seed=cost_seed, exact=exact, reward=reward.value, max_bad=max_bad)
    chosen = partial(read, statistic=statistic.value, zeros=zeros.value)
    _make(chosen, paths, out=out or Path("goodreads.json"), as_json=as_json)


@app.command()
def logs(
    file: str = typer.Argument(
        help="A log: CSV, Excel, Parquet or JSON lines, or the URL of a database.", metavar="FILE|URL"
    ),
    arm: str = typer.Option(..., "--arm", help="The column with the arm of each pull.", metavar="COLUMN"),
    reward: str = typer.Option(..., "--reward", help="The column with the reward of each pull.", metavar="COLUMN"),
    cost: str | None = typer.Option(
        None,
        "--cost",
        help="The column with the cost of each pull; an arm costs the mean of its pulls.",
        metavar="COLUMN",
    ),
    costs: Path | None = typer.Option(
        None, "--costs", help="The costs instead: a JSON object, or a CSV file of arm and cost.", metavar="FILE"
    ),
    random_costs: int | None = typer.Option(
        None, "--random-costs", help="Seed of random costs, for experiments with a log that has none.", metavar="SEED"
    ),
    model: Model = typer.Option(
        Model.BERNOULLI,
        "--reward-model",
        help="bernoulli (rewards within [0, 1]), categorical (the rewards as they are) or gaussian.",
    ),
    scale: float = typer.Option(1.0, "--scale", help="What rewards are divided by, for example 5 for 1 to 5 stars."),
    label: str | None = typer.Option(None, "--name", help="What to call the instance; the file's name by default."),
    table: str | None = typer.Option(None, "--table", help="The table of a database, or the sheet of a spreadsheet."),
    max_bad: float = options.MAX_BAD,
    out: Path | None = OUT,
    as_json: bool = JSON,
) -> None:
    """Arms and rewards are columns of a log, one pull a row: CSV, Excel, Parquet, JSON lines, or a database by URL.

    Writes <name>-instance.json unless --out says otherwise.
    """
    from satisfice.instances import from_logs
    from satisfice.instances.sheets import is_url

    name = table or file.rpartition("/")[2] if is_url(file) else Path(file).name
    priced = partial(from_logs, file, arm, reward, cost=cost, costs=costs, random_costs=random_costs, table=table)
    read = partial(priced, model=model.value, scale=scale, label=label, max_bad=max_bad)
    inputs = [path for path in (None if is_url(file) else Path(file), costs) if path is not None]
    _make(read, inputs, out=out or Path(f"{name.split('.')[0]}-instance.json"), as_json=as_json)


def _make(read: Callable[..., Instance], inputs: Sequence[Path], *, out: Path, as_json: bool) -> None:
    """Read the data (with a bar, or not), write the file, show the arms and every warning."""
    import warnings

    from satisfice.instances import DataWarning, save_instance

    if out.suffix.lower() != ".json":
        raise InvalidData(f"--out {out}: instance files end in .json")
    if out.exists() and any(path.exists() and path.samefile(out) for path in inputs):
        raise InvalidData(f"--out {out} would overwrite the data it is made from")
    with output.ready(out.parent), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        instance = read(progress=not as_json)
        save_instance(instance, out)
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, DataWarning)]
    if as_json:
        document = {"file": str(out), "warnings": messages, "instance": instance.to_dict()}
        output.print_json(document)
        return
    for message in messages:
        typer.echo(f"warning: {message}", err=True)
    options.say(f"{instance.label}: {count(instance.arms, 'arm')}, {instance.reward} rewards\n{instance.source}")
    _show(instance)
    typer.echo(f"instance: {out}\ntry it:   satisfice run --instance {out} --setting best --alpha 0.1 --horizon 1e6")


def _show(instance: Instance) -> None:
    counts = None if instance.counts is None else instance.counts.tolist()
    rows = [["arm", "cost", "mean", *([] if counts is None else ["rows"])]]
    for i, name in enumerate(instance.names[:SHOWN_ARMS]):
        last = [] if counts is None else [f"{counts[i]:,}"]
        rows.append([name, f"{instance.costs[i]:.4g}", f"{instance.means[i]:.4g}", *last])
    options.print_table(rows)
    if instance.arms > SHOWN_ARMS:
        typer.echo(f"... and {instance.arms - SHOWN_ARMS:,} more")
