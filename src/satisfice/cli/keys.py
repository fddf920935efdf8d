"""`satisfice keys`: who may call the service."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from satisfice.cli.serve import STORAGE as PLACE
from satisfice.errors import InvalidData

if TYPE_CHECKING:
    from satisfice.service.keys import Keys

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke keys of the service.", rich_markup_mode=None)

STORAGE = typer.Option(
    PLACE, "--storage", envvar="SATISFICE_STORAGE", help="The storage that the service uses.", metavar="URL"
)
JSON = typer.Option(False, "--json", help="Print JSON, for scripts.")


def _keys(storage: str) -> Keys:
    from satisfice.service.keys import keys_of
    from satisfice.studies import get_storage

    return keys_of(get_storage(storage))


@app.command()
def create(
    label: str = typer.Argument(..., help="What the key is for.", metavar="LABEL"),
    scope: list[str] = typer.Option(
        ..., "--scope", "-s", help="decide, reward, read or admin; repeat it for several.", metavar="SCOPE"
    ),
    study: list[str] = typer.Option(
        [], "--study", help="A study that the key is for; repeat it. By default all.", metavar="STUDY"
    ),
    rate: str | None = typer.Option(None, "--rate", help="How often it may call a worker, such as 100/second."),
    storage: str = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Create a key, and show it this once."""
    from satisfice.service.keys import make_key

    text, key = make_key(label, scope, study or None, rate)
    _keys(storage).add(key)
    if as_json:
        typer.echo(json.dumps({"key": text, "prefix": key.prefix}))
    else:
        typer.echo(text)
        typer.echo("It is shown this once, and kept nowhere.", err=True)


@app.command("list")
def list_(storage: str = STORAGE, as_json: bool = JSON) -> None:
    """List the keys, by their public prefix."""
    for key in _keys(storage).all():
        if as_json:
            typer.echo(json.dumps({name: value for name, value in asdict(key).items() if name != "digest"}))
            continue
        made = datetime.fromtimestamp(key.created_at, UTC).date()
        where = "all studies" if key.studies is None else ", ".join(key.studies)
        state = "revoked" if key.revoked_at is not None else f"{key.rate}" if key.rate else "valid"
        typer.echo(f"sf_{key.prefix}  {made}  {','.join(key.scopes)}  {where}  {state}  {key.label}")


@app.command()
def revoke(
    prefix: str = typer.Argument(..., help="The prefix that `satisfice keys list` shows.", metavar="PREFIX"),
    storage: str = STORAGE,
) -> None:
    """Revoke a key; it is refused everywhere within some seconds."""
    parts = prefix.removeprefix("sf_").split("_")
    if not _keys(storage).revoke(parts[0]):
        raise InvalidData(f"there is no valid key sf_{parts[0]}")
    typer.echo(f"revoked sf_{parts[0]}")
