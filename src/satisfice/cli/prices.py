"""`satisfice prices`: what a call of a model costs, as a first guess."""

from __future__ import annotations

import typer

from satisfice.cli import options, output


def prices(
    models: list[str] = typer.Argument(help="Models as LiteLLM calls them, such as gpt-5-mini.", show_default=False),
    tokens_in: int = typer.Option(800, "--input", min=0, help="Tokens of the prompt."),
    tokens_out: int = typer.Option(300, "--output", min=0, help="Tokens of the answer."),
    as_json: bool = typer.Option(False, "--json", help="Print as JSON, for machines."),
) -> None:
    """What a call of each model costs, by the map of prices that comes with LiteLLM: first guesses for a study.

    A study with costs="told" begins with these guesses and learns what calls really cost.
    """
    from satisfice.integrations.routing.prices import price

    found = sorted((price(model, (tokens_in, tokens_out)) for model in models), key=lambda line: line.call)
    if as_json:
        output.print_json([line._asdict() for line in found])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("model", no_wrap=True)
    table.add_column("provider")
    for name in ("$ per million in", "out", "$ per call", "calls per $"):
        table.add_column(name, justify="right")
    for line in found:
        each = f"{1 / line.call:,.0f}" if line.call else ""
        table.add_row(line.model, line.provider, f"{line.input:g}", f"{line.output:g}", f"{line.call:.6g}", each)
    options.console().print(table)
    typer.echo(f"A call: {tokens_in:,} tokens in, {tokens_out:,} out. Prices of the LiteLLM that is installed here.")
