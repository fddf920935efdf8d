"""`satisfice analyse`: from a log to a decision, with a report for the boss and every number for a spreadsheet."""

from __future__ import annotations

from pathlib import Path

import typer

from satisfice.cli import options, output

COLUMN = "The column with {}; looked for by its name when it is not given."


def analyse(
    log: str = typer.Argument(
        help="A log, a row for each use of an option: CSV, Excel, Parquet, JSON lines, or the URL of a database.",
        metavar="FILE|URL",
    ),
    arm: str | None = typer.Option(None, "--arm", help=COLUMN.format("the option"), metavar="COLUMN"),
    reward: str | None = typer.Option(None, "--reward", help=COLUMN.format("what came of it"), metavar="COLUMN"),
    cost: str | None = typer.Option(None, "--cost", help=COLUMN.format("what it cost"), metavar="COLUMN"),
    costs: Path | None = typer.Option(
        None, "--costs", help="The costs instead: a JSON object, or a CSV file of option and cost.", metavar="FILE"
    ),
    random_costs: int | None = typer.Option(
        None, "--random-costs", help="Seed of random costs, for experiments with a log that has none.", metavar="SEED"
    ),
    segment: str | None = typer.Option(None, "--segment", help=COLUMN.format("whom it was for"), metavar="COLUMN"),
    time: str | None = typer.Option(None, "--time", help=COLUMN.format("when it was"), metavar="COLUMN"),
    setting: str = options.SETTING,
    alpha: float | None = typer.Option(
        None, "--alpha", "-a", help="How much less than the best (or the reference) is good enough; 0.05 by default."
    ),
    reference: str | None = options.REFERENCE,
    threshold: float | None = options.THRESHOLD,
    confidence: float = typer.Option(0.95, "--confidence", help="How sure it must be to be called clear."),
    rewards: tuple[float, float] | None = typer.Option(
        None, "--rewards", help="Lowest and highest reward; by default 0 and 1, or the largest seen."
    ),
    worth: float | None = typer.Option(
        None, "--worth", help="What a unit of reward is worth, in costs; 1 for columns such as revenue."
    ),
    per_month: float | None = typer.Option(None, "--per-month", help="Rows a month; by default by the log's times."),
    table: str | None = typer.Option(None, "--table", help="The table of a database, or the sheet of a spreadsheet."),
    plan: bool = typer.Option(True, "--plan/--no-plan", help="Simulate how many rows a study would still need."),
    max_bad: float = options.MAX_BAD,
    seed: int = options.SEED,
    out: Path = typer.Option(Path("results"), "--out", "-o", help=f"Folder for the report and data. {output.KEPT}"),
    as_json: bool = typer.Option(False, "--json", help="Print every number as JSON, for machines."),
) -> None:
    """From a log to a decision: the cheapest option that is good enough, how sure that is, and what it saves.

    Writes a report (HTML) and every number (JSON, CSV and, with satisfice[excel], Excel).
    """
    from satisfice.analysis import analyse as analysed
    from satisfice.analysis.report import writers
    from satisfice.analysis.words import text

    where = options.read_setting(setting, 0.05 if setting == "best" and alpha is None else alpha, reference, threshold)
    with output.ready(out):
        result = analysed(
            log,
            arm,
            reward,
            cost=cost,
            costs=costs,
            random_costs=random_costs,
            setting=where,
            segment=segment,
            time=time,
            rewards=rewards,
            worth=worth,
            per_month=per_month,
            confidence=confidence,
            plan=plan,
            table=table,
            max_bad=max_bad,
            seed=seed,
            progress=not as_json,
        )
        written = output.keep(out, output.slug("analysis", result.name), writers(result))
    if as_json:
        output.print_json({**result.to_dict(), "files": [str(path) for path in written]})
        return
    typer.echo(text(result, options.width()))
    options.say(f"report: {written[0]}\ndata: {', '.join(str(path) for path in written[1:])}")
