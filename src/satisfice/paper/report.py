"""The report: one HTML file that needs no network, and the table of Figures 2(b) and 2(d) as Markdown."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from satisfice.paper.cells import PanelData
from satisfice.paper.claims import Claim, Judgement
from satisfice.paper.experiments import Experiment
from satisfice.paper.figures import name_of
from satisfice.paper.measures import with_error

PAPER = (
    "Juneja, Joe-Wong, Yağan: Pairwise Elimination with Instance-Dependent Guarantees for Bandits with Cost Subsidy "
    "(ICLR 2025)"
)
VERDICTS: dict[Judgement, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds partly": ("holds partly", "hold partly"),
    "does not hold": ("does not hold", "do not hold"),
    "not decided": ("is not decided", "are not decided"),
}


@dataclass(frozen=True)
class Section:
    """One figure in the report."""

    experiment: Experiment
    claims: list[Claim]
    tables: list[list[list[str]]]  # of each panel, with its head
    picture: Path
    seconds: float


def table_of(part: PanelData) -> list[list[str]]:
    """Mean terminal cost + quality regret ± standard error: a row per point, a column per policy, and a head."""
    labels = part.panel.policies
    rows = [[f"{x:g}", *(with_error(results[label].regret) for label in labels)] for x, results in part.points.items()]
    return [[part.panel.x or "point", *map(name_of, labels)], *rows]


def markdown(parts: Iterable[PanelData]) -> str:
    """Tables of mean terminal regret as Markdown."""
    blocks = []
    for part in parts:
        head, *rows = table_of(part)
        lines = [head, ["---:"] * len(head), *rows]
        about = (
            f"{part.panel.title}: mean cost + quality regret at T = {part.panel.horizon:,} ± standard error, "
            f"{part.panel.runs} runs"
        )
        blocks.append("\n".join([about, "", *(f"| {' | '.join(line)} |" for line in lines)]))
    return "\n\n".join(blocks) + "\n"


def counted(verdicts: Iterable[Judgement]) -> str:
    """How often each verdict was given: 12 hold, 1 is not decided."""
    found = Counter(verdicts)
    words = ((found[verdict], one if found[verdict] == 1 else many) for verdict, (one, many) in VERDICTS.items())
    return ", ".join(f"{number} {word}" for number, word in words if number)


def html(sections: list[Section], facts: Mapping[str, str], quick: bool) -> str:
    """The whole report as one page."""
    style = files("satisfice.paper").joinpath("report.css").read_text(encoding="utf-8")
    ordered = sorted(sections, key=lambda s: (not s.experiment.name[0].isdigit(), s.experiment.name))
    counts = counted(claim.verdict for section in ordered for claim in section.claims)
    warning = (
        '<p class="warning">This is the small version: short horizons and few runs show that everything works. '
        "Its verdicts say nothing about the paper; run <code>satisfice reproduce</code> without --quick for that.</p>"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>The paper, reproduced</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>Bandits with cost subsidy: the paper, reproduced</h1>
<p>Every experiment of {escape(PAPER)}, run again with exact simulation.
Of the paper's claims, <strong>{counts}</strong> in our data.</p>
{warning if quick else ""}
<dl>{"".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items())}</dl>
</header>
<main>
<section>
<h2>The claims at a glance</h2>
{_overview(ordered)}
</section>
{"".join(map(_section, ordered))}
{NOTES}
</main>
</body>
</html>
"""


NOTES = """<section>
<h2>How we judge, and what differs</h2>
<ul>
<li>Regret is pseudo-regret: clipped gaps times pulls. “±” is the standard error of the mean over independent runs.</li>
<li>A policy is “clearly” better when its mean is lower by more than two standard errors of the difference.
A claim about several points holds when it holds at all of them, and partly when it holds at some. It is not decided
when nobody is clearly better anywhere.</li>
<li>A policy's run r uses the same random numbers at every point of a figure, so its points move together; different
runs and different policies are independent.</li>
<li>A run failed when its regret is above 10% of the worst possible: the arm with the largest clipped gaps, always.</li>
<li>Growth is the exponent log₂(R(T) / R(T/2)) of the mean regret: 1 is linear, 0 is flat; its standard error is from a
bootstrap over the runs.</li>
<li>PE-CS runs with κ = 5, as the published figures did; the paper's pseudo-code is κ = 0. The policies follow the
paper's text where the authors' program differs from it, so single numbers may differ from the published figures.</li>
<li>Rewards are Bernoulli with each genre's mean. The horizon of the asymmetric example and the number of its runs are
not given in the paper; here they are 5,000,000 and 500 (50 do not tell PE and Asymmetric-PE apart).</li>
<li>A series “ours, not from the paper” is this project's own policy and no part of the paper.</li>
</ul>
</section>"""


def _badge(verdict: str) -> str:
    return f'<span class="badge {verdict.replace(" ", "-")}">{verdict}</span>'


def _overview(sections: list[Section]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{s.experiment.name}">{escape(_called(s.experiment))}</a></td>'
        f"<td>{escape(claim.claim)}</td><td>{_badge(claim.verdict)}</td></tr>"
        for s in sections
        for claim in s.claims
        if claim.verdict != "no claim"
    )
    head = "<tr><th>figure</th><th>the paper says</th><th>here</th></tr>"
    return f'<div class="wide"><table class="overview"><thead>{head}</thead><tbody>{rows}</tbody></table></div>'


def _called(experiment: Experiment) -> str:
    name = experiment.name
    return f"{name[0]}({name[1:]})" if name[0].isdigit() else name


def _section(section: Section) -> str:
    name, title = section.experiment.name, section.experiment.title
    image = base64.b64encode(section.picture.read_bytes()).decode()
    claims = "".join(
        f'<div class="claim"><p>{_badge(claim.verdict)} {escape(claim.claim)}</p>'
        f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in claim.measured)}</ul></div>"
        for claim in section.claims
    )
    tables = "".join(
        f'<h4>{escape(panel.title)}</h4><div class="wide">{_table(rows)}</div>'
        for panel, rows in zip(section.experiment.panels, section.tables, strict=True)
        if rows
    )
    if tables:
        tables = (
            f"<details><summary>Mean regret at the horizon ± standard error</summary>{tables}</details>"
            f'<p class="time">Simulated in {section.seconds:,.1f} s of wall time; '
            "data that figures share are counted in each.</p>"
        )
    return f"""<section id="{name}">
<h2>{escape(title)}</h2>
<figure><img alt="{escape(title)}" src="data:image/png;base64,{image}"></figure>
{claims}
{tables}
</section>
"""


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body)
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>"
