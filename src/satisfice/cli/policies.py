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
    table = [("policy", "settings", "parameters (default)", "what it does")]
    for cls in all_policies().values():
        settings = ", ".join(setting.kind for setting in cls.settings)
        params = ", ".join(f"{field.name}={field.default}" for field in dataclasses.fields(cls))
        table.append((cls.id, settings, params, cls.summary))
    options.print_table(table, left=(0, 1, 2, 3), breakable=(2, 3))
