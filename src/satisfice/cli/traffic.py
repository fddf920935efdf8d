"""`satisfice study`: decisions that somebody else made, arms, pauses, copies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

import typer

from satisfice.cli.live import ARM, JSON, NAME, NEGATIVE, STORAGE, app, done, open_study
from satisfice.errors import InvalidData

# Calls are recorded so many at a time, each time all or none.
AT_ONCE = 5_000


@app.command(context_settings=NEGATIVE)
def record(
    name: str = NAME,
    arm: str = ARM,
    reward: float = typer.Argument(..., help="The reward.", metavar="REWARD"),
    cost: float | None = typer.Option(None, "--cost", help="What it has cost."),
    key: str | None = typer.Option(None, "--key", help="What it was for: with the same key it is counted once."),
    segment: str | None = typer.Option(None, "--segment", help="The kind of traffic that it was for."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Count a decision that somebody else made, with its reward."""
    decision = open_study(name, storage).record(arm, reward, cost, key=key, segment=segment)
    new = decision.reason == "recorded"
    done(
        {"id": decision.id, "recorded": new}, f"recorded as {decision.id}" if new else "it is counted already", as_json
    )


@app.command("import")
def import_(
    name: str = NAME,
    path: Path = typer.Argument(
        ..., help="CSV or Parquet: arm, reward; cost, key and segment if known.", metavar="FILE"
    ),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Count many decisions that somebody else made, in the order of a file; rows without a reward are left out.

    With a key in every row, importing a file again counts nothing twice.
    """
    study = open_study(name, storage)
    calls = _calls(path)
    new = sum(study.record_many(calls[i : i + AT_ONCE]) for i in range(0, len(calls), AT_ONCE))
    done({"calls": len(calls), "recorded": new}, f"recorded {new:,} of {len(calls):,} calls", as_json)


def _calls(path: Path) -> list[tuple[object, ...]]:
    """The calls of a file: arm, reward, cost, key, segment."""
    import polars as pl

    try:
        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InvalidData(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    missing = [column for column in ("arm", "reward") if column not in frame.columns]
    if missing:
        raise InvalidData(f"{path} has no column {' and no '.join(missing)}; it needs arm and reward")
    for column in ("cost", "key", "segment"):
        if column not in frame.columns:
            frame = frame.with_columns(pl.lit(None).alias(column))
    frame = frame.filter(pl.col("reward").is_not_null()).with_columns(pl.col("arm", "key", "segment").cast(pl.String))
    rows = frame.select("arm", "reward", "cost", "key", "segment").rows()
    return [(arm, reward, _known(cost), key, segment) for arm, reward, cost, key, segment in rows]


def _known(cost: object) -> float | None:
    return None if cost is None or (isinstance(cost, float) and math.isnan(cost)) else cast(float, cost)


@app.command()
def arms(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """The arms that may be served, with what one pull of each costs."""
    found = open_study(name, storage).arms
    done(dict(found), "\n".join(f"{arm}\t{cost:g}" for arm, cost in found.items()), as_json)


@app.command()
def pause(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Serve the baseline to everybody, until `resume`."""
    changed = open_study(name, storage).pause()
    done({"paused": True, "changed": changed}, f"{name!r} is paused: the baseline is served", as_json)


@app.command()
def resume(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Let the policy go on after `pause`."""
    changed = open_study(name, storage).resume()
    done({"paused": False, "changed": changed}, f"{name!r} goes on", as_json)


@app.command()
def copy(
    name: str = NAME,
    new: str = typer.Argument(..., help="The name of the new study.", metavar="NEW"),
    bare: bool = typer.Option(False, "--bare", help="Only the terms, without what was learned."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Make a new study with the terms of another, and what it has learned."""
    made = open_study(name, storage).copy(new, learned=not bare)
    done({"name": made.name, "learned": not bare}, f"copied {name!r} to {made.name!r}", as_json)
