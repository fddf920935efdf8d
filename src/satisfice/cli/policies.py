"""`satisfice policies`: what there is to choose from."""

from __future__ import annotations

import dataclasses

import typer

from satisfice.cli import options, output


def policies(as_json: bool = typer.Option(False, "--json", help="Print as JSON, for machines.")) -> None:
    """List the policies, the settings that each serves, and its parameters."""
    from satisfice.policies import all_policies

    rows = [
        {
            "id": id,
            "settings": [setting.kind for setting in cls.settings],
            "params": {field.name: field.default for field in dataclasses.fields(cls)},
            "needs_horizon": cls.needs_horizon,
            "rewards": "within [0, 1]" if cls.bounded_only else "any",
            "summary": cls.summary,
        }
        for id, cls in all_policies().items()
    ]
    if as_json:
        output.print_json(rows)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("policy", "settings", "parameters (default)", "what it does"):
        table.add_column(name)
    for cls in all_policies().values():
        table.add_row(
            cls.id,
            ", ".join(setting.kind for setting in cls.settings),
            ", ".join(f"{field.name}={field.default}" for field in dataclasses.fields(cls)),
            cls.summary,
        )
    options.console().print(table)
