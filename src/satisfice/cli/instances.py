"""`satisfice instances`: the instances that come with the package."""

from __future__ import annotations

import typer

from satisfice.cli import options, output


def instances(as_json: bool = typer.Option(False, "--json", help="Print as JSON, for machines.")) -> None:
    """List the built-in instances, with their arms, reward model and source."""
    from satisfice.instances import builtin_instances, load_instance

    loaded = {name: load_instance(name) for name in builtin_instances()}
    if as_json:
        rows = [
            {"name": name, "arms": instance.arms, "reward": instance.reward, "source": instance.source}
            for name, instance in loaded.items()
        ]
        output.print_json(rows)
        return
    table = [("instance", "arms", "rewards", "source")]
    family = ""
    for name, instance in loaded.items():
        # The members of a family such as toy:<mu_1> differ in a number; their source is said once.
        before, family = family, name.partition(":")[0]
        table.append((name, str(instance.arms), instance.reward, "" if family == before else instance.source))
    options.print_table(table, left=(0, 2, 3), breakable=(3,))
    options.say(
        "toy:<mu_1> takes any mean within [0, 1]. Make an instance from data with `satisfice instance`; use its .json "
        "file wherever an instance is asked for."
    )
