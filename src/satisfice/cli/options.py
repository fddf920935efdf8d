"""What several commands take: an instance, a setting, numbers such as 5e6."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import typer

from satisfice.errors import InvalidRun, InvalidSetting
from satisfice.limits import MAX_BAD as MOST_BAD

if TYPE_CHECKING:
    from rich.console import Console

    from satisfice.problem import Instance, Setting

INSTANCE = typer.Option(
    ...,
    "--instance",
    "-i",
    help="A built-in instance (see `satisfice instances`) or a .json file.",
    metavar="NAME|FILE",
)
SETTING = typer.Option("best", "--setting", "-s", help="best, reference or fixed.", metavar="KIND")
ALPHA = typer.Option(None, "--alpha", "-a", help="Subsidy factor within [0, 1], for best and reference.")
REFERENCE = typer.Option(None, "--reference", help="The reference arm, by name or by index from 0.", metavar="ARM")
THRESHOLD = typer.Option(None, "--threshold", help="The threshold mu_0, for fixed.", metavar="MU0")
UNIT_COSTS = typer.Option(False, "--unit-costs", help="Divide every cost by the largest one.")
HORIZON = typer.Option(..., "--horizon", "-T", help="Number of pulls, for example 5e6.", metavar="T")
MAX_BAD = typer.Option(MOST_BAD, "--max-bad", help="Share of unusable rows that is accepted (and reported).")
SEED = typer.Option(0, "--seed", help="Seed of all random numbers.")
COMMON = typer.Option(
    False,
    "--common",
    help="The same rewards for every policy: what an arm gives one, it gives all. Differences vary less.",
)
WORKERS = typer.Option(None, "--workers", help="Number of processes; by default one per core for long work.")


def console() -> Console:
    """Where tables are printed: as wide as the terminal, or 120 columns when the output goes to a file."""
    from rich.console import Console

    plain = Console()
    return plain if plain.is_terminal else Console(width=120)


def width() -> int | None:
    """The columns of the terminal; None when the output goes to a file."""
    screen = console()
    return screen.width if screen.is_terminal else None


def say(text: str, err: bool = False) -> None:
    """Print sentences, in lines that fit the terminal."""
    from satisfice.tables import fill

    typer.echo(fill(text, width()), err=err)


def print_table(
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    left: Collection[int] = (0,),
    breakable: Collection[int] = (),
    droppable: Sequence[int] = (),
) -> None:
    """Print a table, whose first row is its head, so that it fits the terminal and no digit is cut."""
    from rich.text import Text

    from satisfice.tables import fill, layout

    screen = console()
    if title:
        screen.print(Text(fill(title, width()), style="italic"), soft_wrap=True)
    room = screen.width if screen.is_terminal else 200
    lines = layout(rows, room, left=left, breakable=breakable, droppable=droppable)
    for number, line in enumerate(lines):
        stacked = len(rows) > 1 and lines[0].strip() != rows[0][0] and lines[0].strip() == rows[1][0].strip()
        heading = number == 0 or (stacked and not line.startswith(" "))
        screen.print(Text(line, style="bold" if heading else ""), soft_wrap=True)


def read_instance(name: str, unit_costs: bool = False) -> Instance:
    """The instance of `--instance`."""
    from satisfice.instances import load_instance

    instance = load_instance(name)
    return instance.scaled_costs() if unit_costs else instance


def doubt_data(instance: Instance, setting: Setting) -> dict[str, object] | None:
    """How sure the optimum of an instance from a log is, with a sentence; None where its means are the truth."""
    from satisfice.instances.doubt import doubt_of

    found = doubt_of(instance, setting)
    if found is None:
        return None
    return {
        "rows": found.rows,
        "optimal_arm": None if found.arm < 0 else instance.names[found.arm],
        "sure": found.sure,
        "shares": dict(zip(instance.names, found.shares.tolist(), strict=True)),
        "none": found.none,
        "sentence": found.sentence(instance.names),
    }


def read_setting(
    kind: str, alpha: float | None, reference: str | None, threshold: float | None, instance: Instance | None = None
) -> Setting:
    """The setting of `--setting`, `--alpha`, `--reference` and `--threshold`."""
    from satisfice.problem import BestReward, FixedThreshold, ReferenceArm

    given = {"--alpha": alpha is not None, "--reference": reference is not None, "--threshold": threshold is not None}
    takes = {"best": {"--alpha"}, "reference": {"--alpha", "--reference"}, "fixed": {"--threshold"}}
    if kind not in takes:
        raise InvalidSetting(f"--setting {kind!r} is unknown; use best, reference or fixed")
    for option, there in given.items():
        if there and option not in takes[kind]:
            raise InvalidSetting(f"{option} does not belong to --setting {kind}")
    if kind == "fixed":
        if threshold is None:
            raise InvalidSetting("--setting fixed needs --threshold MU0")
        return FixedThreshold(threshold)
    if kind == "best":
        if alpha is None:
            raise InvalidSetting("--setting best needs --alpha")
        return BestReward(alpha)
    if reference is None:
        raise InvalidSetting("--setting reference needs --reference ARM")
    names = instance.names if instance is not None else ()
    arm: int | str = int(reference) if reference not in names and reference.lstrip("-").isdigit() else reference
    if instance is not None:
        instance.index(arm)
    return ReferenceArm(arm, alpha if alpha is not None else 0.0)


def read_whole(option: str, text: str) -> int:
    """A whole number written as 5000000, 5_000_000, 5,000,000 or 5e6."""
    value = read_number(text.replace(",", ""))
    if not value.is_integer():
        raise InvalidRun(f"{option} {text!r} is not a whole number such as 5000000 or 5e6")
    return int(value)


def read_number(text: str) -> float:
    """A number written as 0.5, 5_000 or 5e6; nan when it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
