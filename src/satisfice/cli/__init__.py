"""The command line: one module per command; this one puts them together and turns errors into messages."""

from __future__ import annotations

import importlib
import sys

import typer
from typer.core import TyperGroup

from satisfice.cli.wording import worded
from satisfice.errors import SatisficeError

COMMANDS = (
    "analyse",
    "run",
    "sweep",
    "reproduce",
    "bounds",
    "plan",
    "policies",
    "instances",
    "prices",
    "serve",
    "demo",
    "doctor",
)
GROUPS = ("instance", "study", "keys")
HELP = """Find the cheapest option that is good enough, while the options are in use.

Simulate policies for bandits with cost subsidy (run), reproduce the paper (reproduce), see what the theory promises
(bounds, plan), decide from a log (analyse) or make an instance of it (instance), route real traffic (study), also over
HTTP (serve, keys), know what calls of models cost (prices), and look at a dashboard that lives (demo).
"""


class _Group(TyperGroup):
    """Commands whose expected errors are one line on the error stream: 2 for bad input, 130 for an interrupt."""

    def invoke(self, ctx):  # type: ignore[no-untyped-def]
        try:
            return super().invoke(ctx)
        except SatisficeError as error:
            typer.echo(f"error: {worded(error)}", err=True)
            ctx.exit(2)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            ctx.exit(130)
        except BrokenPipeError:
            sys.stderr.close()
            ctx.exit(0)


def _version(shown: bool) -> None:
    if shown:
        from satisfice import __version__

        typer.echo(f"satisfice {__version__}")
        raise typer.Exit


def make_app() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        cls=_Group,
        help=HELP,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def root(
        version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
    ) -> None:
        pass

    for name in COMMANDS:
        module = importlib.import_module(f"satisfice.cli.{name}")
        app.command(name)(getattr(module, name))
    for name in GROUPS:
        app.add_typer(importlib.import_module(f"satisfice.cli.{name}").app, name=name)
    return app


def main() -> None:
    """The entry point of `satisfice` and of `python -m satisfice`."""
    make_app()()
