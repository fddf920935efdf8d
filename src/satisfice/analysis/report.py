"""The report of an analysis: one HTML file that needs no network; and every number as JSON, CSV and Excel."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files
from pathlib import Path

from satisfice.analysis import words
from satisfice.analysis.pictures import each
from satisfice.analysis.result import Analysis, Concern
from satisfice.exports import write_table
from satisfice.words import count, number


def html(a: Analysis) -> str:
    """The whole report as one page."""
    style = files("satisfice.analysis").joinpath("report.css").read_text(encoding="utf-8")
    pictures = "".join(_picture(text, _png(figure)) for text, figure in each(a))
    concerns = "".join(map(_concern, a.concerns))
    doubts = f"<section><h2>What to be careful about</h2>{concerns}</section>" if concerns else ""
    details = "".join(f"<li>{escape(line)}</li>" for line in a.details)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{escape(a.name)}: {escape(a.choice or "no option")}</title>
<style>
{style}</style>
</head>
<body>
<header>
<p class="over">{escape(a.name)}</p>
<h1 class="{a.state}">{escape(a.sentence)}</h1>
<ul>{details}</ul>
</header>
<main>
<section class="pictures">{pictures}</section>
<section>
<h2>Every option</h2>
<div class="wide">{_table(words.table(a))}</div>
<p class="small">Cheapest first. Both intervals hold for all options together at {a.confidence:.0%}: the first if the
log is looked at once, the second whenever and however often one looks. “right one” is the believed probability that the
option is the cheapest that is good enough; it is no proof.</p>
</section>
{doubts}
<section>
<h2>Where this comes from</h2>
<dl>{"".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in _facts(a).items())}</dl>
</section>
</main>
</body>
</html>
"""


def fragment(a: Analysis) -> str:
    """The sentence, the table and the warnings, for a notebook."""
    rows = words.table(a)
    concerns = "".join(f"<li>{escape(concern.sentence)}</li>" for concern in a.concerns)
    return f"<p><strong>{escape(a.sentence)}</strong></p>{_table(rows)}<ul>{concerns}</ul>"


def writers(a: Analysis) -> dict[str, Callable[[Path], object]]:
    """What writes the files of an analysis, by their endings."""
    text = json.dumps(a.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    frame = a.to_polars()
    made: dict[str, Callable[[Path], object]] = {
        ".html": lambda path: path.write_text(html(a), encoding="utf-8"),
        ".json": lambda path: path.write_text(text, encoding="utf-8"),
        ".csv": lambda path: write_table(frame, path),
    }
    try:
        import xlsxwriter  # noqa: F401
    except ImportError:
        return made
    return made | {".xlsx": lambda path: _workbook(a, path)}


def _workbook(a: Analysis, path: Path) -> None:
    """The options, what is said, and the tables of the warnings, a sheet each."""
    import polars as pl
    import xlsxwriter

    with xlsxwriter.Workbook(path, {"default_date_format": "yyyy-mm-dd"}) as book:
        book.set_properties({"created": datetime(2000, 1, 1)})  # else the same analysis is another file every second
        a.to_polars().write_excel(book, worksheet="options", autofit=True)
        said = [a.sentence, *a.details, *(concern.sentence for concern in a.concerns)]
        facts = pl.DataFrame({"what": [*_facts(a), *["said"] * len(said)], "value": [*_facts(a).values(), *said]})
        facts.write_excel(book, worksheet="summary", autofit=True)
        for number, concern in enumerate((c for c in a.concerns if c.table), start=1):
            head, *rows = concern.table
            pl.DataFrame(rows, schema=list(head), orient="row").write_excel(
                book, worksheet=f"{concern.kind}-{number}", autofit=True
            )


def _facts(a: Analysis) -> dict[str, str]:
    columns = ", ".join(
        f"{role}: {value if isinstance(value, str) else ', '.join(value)}" for role, value in a.columns.items() if value
    )
    return {
        "rows": f"{a.rows:,}" + (f" in {count(round(a.days), 'day')}" if a.days and a.days >= 1 else ""),
        "columns": columns,
        "good enough": words.goal(a),
        "threshold": number(a.threshold),
        "rewards within": f"{a.limits[0]:g} and {a.limits[1]:g}",
        "seed of the draws": str(a.seed),
        "satisfice": a.version,
    }


def _png(figure: object) -> bytes:
    from satisfice.plots import style

    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=170)  # type: ignore[attr-defined]
    return buffer.getvalue()


def _picture(text: str, image: bytes) -> str:
    data = base64.b64encode(image).decode()
    return f'<figure><img alt="{escape(text)}" src="data:image/png;base64,{data}"></figure>'


def _concern(concern: Concern) -> str:
    table = f'<div class="wide">{_table(concern.table)}</div>' if concern.table else ""
    return f'<div class="concern"><p>{escape(concern.sentence)}</p>{table}</div>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    cells = "".join(
        f'<tr class="{escape(row[-1].replace(" ", "-"))}">'
        + "".join(f'<td data-of="{escape(name)}">{escape(cell)}</td>' for name, cell in zip(head, row, strict=True))
        + "</tr>"
        for row in body
    )
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>"
