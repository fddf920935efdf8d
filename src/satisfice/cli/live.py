"""What the commands of `satisfice study` share: where studies live, and how answers are printed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from satisfice.errors import StorageError

if TYPE_CHECKING:
    from satisfice.studies import Study

app = typer.Typer(
    no_args_is_help=True,
    help="Route real traffic: ask for an arm, tell its reward later, see which arm won.",
    rich_markup_mode=None,
)

NAME = typer.Argument(..., help="The name of the study.", metavar="STUDY")
STORAGE = typer.Option(
    None,
    "--storage",
    envvar="SATISFICE_STORAGE",
    help="Where studies live: sqlite:///studies.db or postgresql://user@host/database.",
    metavar="URL",
)
JSON = typer.Option(False, "--json", help="Print JSON, for scripts.")
ARM = typer.Argument(..., help="The name of the arm.", metavar="ARM")
COST = typer.Argument(..., help="The cost of one pull.", metavar="COST")
# A number such as -0.5 is no option.
NEGATIVE = {"ignore_unknown_options": True}


def place(storage: str | None) -> str:
    if not storage:
        raise StorageError("give --storage URL or set SATISFICE_STORAGE, for example to sqlite:///studies.db")
    return storage


def open_study(name: str, storage: str | None) -> Study:
    from satisfice.studies import load_study

    return load_study(name, place(storage))


def print_json(data: object) -> None:
    typer.echo(json.dumps(data, allow_nan=False))


def done(data: dict[str, object], sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(data)
    else:
        typer.echo(sentence)
