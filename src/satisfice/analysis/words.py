"""An analysis in words: the plain sentence first, then what is behind it."""

from __future__ import annotations

import os
from dataclasses import replace

from satisfice.analysis.result import FEW, AnalysedArm, Analysis, Concern
from satisfice.instances.doubt import share
from satisfice.instances.sheets import is_url
from satisfice.tables import fill, layout
from satisfice.words import count, number


def shown(log: object, table: str | None) -> str:
    """What to call a log in messages."""
    if is_url(log):
        return f"table {table!r}" if table else "the table"
    return os.fspath(log) if isinstance(log, (str, os.PathLike)) else "the frame"


def money(value: float) -> str:
    """An amount of cost.

    Examples
    --------
    >>> money(1234.5), money(12.345), money(0.0123), money(-3)
    ('1,234', '12.35', '0.0123', '-3.00')
    """
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"


def rounded(rows: float) -> str:
    """A number of rows that is an estimate: two digits.

    Examples
    --------
    >>> rounded(12345), rounded(87)
    ('12,000', '87')
    """
    return f"{float(f'{rows:.2g}'):,.0f}"


def goal(analysis: Analysis) -> str:
    """What is good enough, in words."""
    setting = analysis.setting
    if setting.fixed:
        return f"a mean {analysis.columns['reward']} of at least {setting.mu0:g}"
    what = "the best" if setting.reference is None else str(setting.reference)
    return f"at least {1 - setting.alpha:.0%} of the mean {analysis.columns['reward']} of {what}"


def with_sentences(analysis: Analysis) -> Analysis:
    """The same analysis with its sentences."""
    return replace(analysis, sentence=_sentence(analysis), details=tuple(_details(analysis)))


def _spoken(part: float) -> str:
    """A share within a sentence."""
    return share(part).replace("> ", "more than ").replace("< ", "less than ")


def _sentence(a: Analysis) -> str:
    if a.choice is None:
        best = max(a.arms, key=lambda arm: arm.mean)
        return (
            f"No option is good enough ({goal(a)}); the best is {best.name} with {number(best.mean)}. "
            f"By {count(a.rows, 'row')}, that is right with a probability of {_spoken(a.sure)}."
        )
    doubt = (
        ""
        if a.state != "open"
        else f" That is not settled: {a.rival} may be it instead ({share(a.rival_belief)})."
        if a.rival
        else " That is not settled."
    )
    saving = next((s for s in a.savings if s.per_row > 0), None)
    saves = ""
    if saving is not None:
        month = saving.per_month
        amount = f"{money(month)} a month" if month is not None else f"{money(1000 * saving.per_row)} per 1,000 rows"
        saves = f" It saves {amount} against {saving.against}."
    lead = f"{'So far, use' if a.state == 'open' else 'Use'} {a.choice}: it is"
    if a.sure < 0.5:
        lead, doubt = f"Not settled. By its mean, {a.choice} is", doubt.replace(" That is not settled: ", " But ")
    chosen = next(arm for arm in a.arms if arm.name == a.choice)
    if chosen.rows < FEW and a.state == "open":
        return (
            f"Not settled. By its mean, {a.choice} is the cheapest option that is good enough ({goal(a)}), "
            f"but there {'is' if chosen.rows == 1 else 'are'} only {count(chosen.rows, 'row')} of it.{saves}"
        )
    return (
        f"{lead} the cheapest option that is good enough ({goal(a)}), with a probability of "
        f"{_spoken(a.sure)}.{doubt}{saves}"
    )


def _details(a: Analysis) -> list[str]:
    lines = []
    if a.choice is not None:
        chosen = next(arm for arm in a.arms if arm.name == a.choice)
        lines.append(
            f"{chosen.name} costs {money(chosen.cost)} and has a mean {a.columns['reward']} of {number(chosen.mean)} "
            f"({interval(chosen)}); the threshold is {number(a.threshold)}."
        )
        lines.append(
            {
                "proved": f"It is proved at {a.confidence:.0%}, and would be however often you had looked.",
                "clear": f"It is clear at {a.confidence:.0%} for a log that is looked at once; if you look again and "
                "again until it is clear, go by the intervals that hold at any time.",
                "open": f"It is not clear at {a.confidence:.0%}.",
            }[a.state]
        )
        if a.rival is not None and a.rival_belief >= 0.001:
            lines.append(f"If it is not {a.choice}, it is most likely {a.rival} ({share(a.rival_belief)}).")
    for saving in a.savings:
        month = "" if saving.per_month is None else f", {money(saving.per_month)} a month"
        word, amount = ("saves", saving.per_row) if saving.per_row >= 0 else ("costs", -saving.per_row)
        change = saving.reward_per_row
        gives = f"{'gives up' if change > 0 else 'gains'} {number(abs(change))} {a.columns['reward']} a row"
        lines.append(
            f"Against {saving.against}, it {word} {money(amount)} a row{month.replace('-', '')}, and "
            f"{gives if change else 'gives up nothing'}."
        )
    lines += _more(a)
    return lines


def _more(a: Analysis) -> list[str]:
    if a.state in ("proved", "clear"):
        return []
    lines = []
    if a.more.rows is None:
        lines.append("It is too close to the threshold to be settled by more rows like these; choose another alpha.")
    elif a.more.rows > 0 and a.more.cost is not None:
        lines.append(
            f"If the means are what they look like, about {rounded(a.more.rows)} more rows like these would settle it, "
            f"at a cost of {money(a.more.cost)}."
        )
    if a.more.study_rows is not None and a.more.study is not None and a.more.study_cost is not None:
        low, high = a.more.study
        extra = f"an extra cost of {money(a.more.study_cost)}" if a.more.study_cost > 0 else "no extra cost"
        lines.append(
            f"A study that goes on from here would settle on the right option after about "
            f"{rounded(a.more.study_rows)} rows ({rounded(low)} to {rounded(high)}), at {extra}: it uses what is dear "
            "or poor only while that is worth its price."
        )
    elif a.more.settles is not None:
        lines.append("A study that goes on from here would need more than five million rows to settle.")
    return lines


def interval(arm: AnalysedArm, anytime: bool = False) -> str:
    """The interval of an arm."""
    low, high = arm.anytime if anytime else arm.interval
    return f"{number(low)} to {number(high)}"


def table(a: Analysis) -> list[list[str]]:
    """The arms as a table of texts, with a head."""
    money_rewards = any(arm.profit is not None for arm in a.arms)
    head = ["option", "cost", "rows", f"mean {a.columns['reward']}", "interval", "at any time"]
    head += ["profit", "per cost"] if money_rewards else []
    head += ["right one", "verdict"]
    rows = [head]
    for arm in a.arms:
        row = [
            arm.name,
            number(arm.cost),
            f"{arm.rows:,}",
            number(arm.mean),
            interval(arm),
            interval(arm, anytime=True),
        ]
        if money_rewards:
            row += [
                "" if arm.profit is None else number(arm.profit),
                "" if arm.profit_per_cost is None else number(arm.profit_per_cost),
            ]
        rows.append([*row, share(arm.belief), arm.verdict])
    return rows


def text(a: Analysis, width: int | None = None) -> str:
    """Everything in plain text, in lines of at most so many characters."""
    rows = table(a)
    rows[0][3] = "mean"  # of what is said above; its name is often longer than the numbers
    last = len(rows[0]) - 1
    # Looked at once, what holds at any time may be missed; the rows and the profit are in the files.
    lines = layout(rows, width, left=(0, last), droppable=(5, *range(6, last - 1), 2, 4))
    said = [*a.details]
    for concern in a.concerns:
        said += [f"warning: {concern.sentence}", *(f"  {line}" for line in _indented(concern, width))]
    said += [a.guessed] if a.guessed else []
    wrapped = (line if line.startswith("  ") else fill(line, width) for line in said)
    return "\n".join([fill(a.sentence, width), "", *lines, "", *wrapped])


def _indented(concern: Concern, width: int | None) -> list[str]:
    return layout(concern.table, None if width is None else width - 2) if concern.table else []
