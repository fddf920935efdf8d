"""What the paper says about each figure, in our own words, and whether our data agree.

The words "better", "failed" and "growth" are those of `measures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from satisfice.instances import load_instance
from satisfice.paper.cells import PanelData
from satisfice.paper.experiments import OURS
from satisfice.paper.figures import name_of
from satisfice.paper.measures import Floats, beats, error, failures, growth, halves, number, with_error, worst

Judgement = Literal["holds", "holds partly", "does not hold", "not decided", "no claim"]

PE, UCB, ETC, TS, PECS = "pe", "ucb-cs", "etc-cs", "ts-cs", "pe-cs(kappa=5)"
LINEAR, FLAT = 0.9, 0.1
SIMILAR = 1.1
SEVERAL = 3


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the verdict, and the measurements behind it."""

    claim: str
    verdict: Judgement
    measured: tuple[str, ...]


def judge(name: str, data: list[PanelData]) -> list[Claim]:
    """The claims about a figure, judged by its data; none for a figure that is not the paper's."""
    return CLAIMS[name](data) if name in CLAIMS else []


def _verdict(hits: int, of: int) -> Judgement:
    return "holds" if hits == of else "holds partly" if hits else "does not hold"


def _less(won: list[float], lost: list[float], of: int) -> Judgement:
    """Whether a policy has less regret: won and lost are the points at which it clearly has, and clearly has not."""
    return _verdict(len(won), of) if won or lost else "not decided"


def _single(a: Floats, b: Floats) -> Judgement:
    """Whether `a` has less regret than `b` at a single point."""
    return _less([0.0] * beats(a, b), [0.0] * beats(b, a), 1)


def _places(xs: list[float]) -> str:
    return ", ".join(f"{x:g}" for x in xs)


def _at(xs: list[float], of: int) -> str:
    return f"at {len(xs)} of {of} ({_places(xs)})" if xs else f"at none of {of}"


def _wins(part: PanelData, a: str, b: str, xs: list[float] | None = None) -> list[float]:
    first, second = part.regret(a), part.regret(b)
    return [x for x in (part.points if xs is None else xs) if beats(first[x], second[x])]


def _ours(part: PanelData) -> tuple[str, ...]:
    """How the project's own policies compare with the best of the paper's at every point."""
    lines = []
    for label in (label for label in part.panel.policies if label in OURS):
        won, lost = [], []
        for x, results in part.points.items():
            others = [results[p].regret for p in part.panel.policies if p not in OURS]
            lead = min(others, key=lambda values: float(values.mean()))
            won += [x] if beats(results[label].regret, lead) else []
            lost += [x] if beats(lead, results[label].regret) else []
        failed = sum(failures(results[label]) for results in part.points.values())
        lines.append(
            f"{name_of(label)}: clearly below the best policy shown at {len(won)} of {len(part.points)} points, "
            f"clearly above it at {len(lost)}{f' ({_places(lost)})' if lost else ''}; "
            f"{failed} of {part.panel.runs * len(part.points)} runs failed."
        )
    return tuple(lines)


def _pe_against_ucb(part: PanelData, where: list[float], claim: str, what: str) -> Claim:
    won = _wins(part, PE, UCB, where)
    everywhere, against = _wins(part, PE, UCB), _wins(part, UCB, PE)
    detail = "; ".join(
        f"{x:g}: PE {with_error(part.regret(PE)[x])}, UCB-CS {with_error(part.regret(UCB)[x])}" for x in where
    )
    return Claim(
        claim,
        _less(won, [x for x in where if x in against], len(where)),
        (
            f"Of these {what}, PE is clearly better {_at(won, len(where))}. {detail}.",
            f"Over the whole grid PE is clearly better {_at(everywhere, len(part.points))}, "
            f"UCB-CS {_at(against, len(part.points))}.",
            *_ours(part),
        ),
    )


def _reference(data: list[PanelData]) -> list[Claim]:
    (part,) = data
    arms = load_instance(part.panel.grid[0].instance).arms
    cheap = [x for x in part.points if x <= arms / 2]
    claim = (
        "PE always has less regret than UCB-CS (which is told ℓ too) when the reference arm is among the cheaper half "
        f"of the arms, here ℓ = {_places(cheap)}."
    )
    return [_pe_against_ucb(part, cheap, claim, "reference arms")]


def _subsidy(data: list[PanelData]) -> list[Claim]:
    (part,) = data
    small = list(part.points)[: len(part.points) // 2]
    claim = (
        "PE always has less regret than UCB-CS for smaller α. The paper gives no bound for “smaller”; "
        f"we take the lower half of the grid, α = {_places(small)}."
    )
    return [_pe_against_ucb(part, small, claim, "α")]


def _fixed_reference(data: list[PanelData]) -> list[Claim]:
    (results,) = data[0].points.values()
    slope, spread = growth(results[UCB])
    flat, flat_spread = growth(results[PE])
    verdict: Judgement = "does not hold" if slope < LINEAR else "holds" if flat < FLAT else "holds partly"
    return [
        Claim(
            "UCB-CS can have linear regret, and has it here; PE settles on an arm and stops losing.",
            verdict,
            (
                f"Growth over the second half of the horizon: UCB-CS {slope:.2f} ± {spread:.2f}, "
                f"PE {flat:.2f} ± {flat_spread:.2f}.",
                f"At the horizon: UCB-CS {with_error(results[UCB].regret)} "
                f"({results[UCB].regret.mean() / worst(results[UCB]):.0%} of the worst possible), "
                f"PE {with_error(results[PE].regret)}.",
                *_ours(data[0]),
            ),
        )
    ]


def _trend(data: list[PanelData]) -> list[Claim]:
    (results,) = data[0].points.values()
    pe_cs, ts, etc = results[PECS], results[TS], results[ETC]
    ts_gain, pe_gain = (end - half for half, end in (halves(ts), halves(pe_cs)))
    rises = float(ts_gain.mean()) > 2 * error(ts_gain)
    still = float(pe_gain.mean()) <= 0.01 * float(pe_cs.regret.mean())
    ts_slope, pe_slope = growth(ts), growth(pe_cs)
    return [
        Claim(
            "The mean regret of TS-CS stays below that of PE-CS.",
            _single(ts.regret, pe_cs.regret),
            (
                f"At the horizon: TS-CS {with_error(ts.regret)}, PE-CS {with_error(pe_cs.regret)}, "
                f"ETC-CS {with_error(etc.regret)}.",
                *_ours(data[0]),
            ),
        ),
        Claim(
            "TS-CS keeps adding regret, slowly but steadily, while PE-CS adds none once it has found its arm.",
            _verdict(int(rises) + int(still), 2),
            (
                f"Regret added over the second half of the horizon: TS-CS {with_error(ts_gain)} "
                f"(growth {ts_slope[0]:.2f} ± {ts_slope[1]:.2f}), PE-CS {with_error(pe_gain)} "
                f"(growth {pe_slope[0]:.2f} ± {pe_slope[1]:.2f}).",
                f"Half of what TS-CS adds comes from {_half_from(ts_gain)} of its {len(ts_gain)} runs.",
            ),
        ),
        Claim(
            "PE-CS has less regret than ETC-CS, the other policy with a guarantee.",
            _single(pe_cs.regret, etc.regret),
            (f"At the horizon: PE-CS {with_error(pe_cs.regret)}, ETC-CS {with_error(etc.regret)}.",),
        ),
    ]


def _half_from(gains: Floats) -> int:
    """The least number of runs that make up half of a sum."""
    ordered = np.sort(np.maximum(gains, 0))[::-1]
    return int(np.searchsorted(np.cumsum(ordered), ordered.sum() / 2) + 1) if ordered.sum() > 0 else 0


def _share(part: PanelData, label: str, points: list[float] | None = None) -> str:
    chosen = [part.points[x][label] for x in (part.points if points is None else points)]
    return f"{sum(map(failures, chosen))} of {sum(len(result.pulls) for result in chosen)}"


def _subsidized(data: list[PanelData]) -> list[Claim]:
    (part,) = data
    count = len(part.points)
    etc_won, etc_lost = _wins(part, PECS, ETC), _wins(part, ETC, PECS)
    ucb_won, ucb_lost = _wins(part, PECS, UCB), _wins(part, UCB, PECS)
    slopes = {x: growth(results[UCB])[0] for x, results in part.points.items()}
    linear = [x for x in slopes if slopes[x] >= LINEAR]
    ts_won, ts_lost = _wins(part, TS, PECS), _wins(part, PECS, TS)
    ts_failed = {x: failures(part.points[x][TS]) for x in part.points}
    pe_failed = sum(failures(results[PECS]) for results in part.points.values())
    return [
        Claim(
            "PE-CS has less regret than ETC-CS, the only other policy with a guarantee.",
            _less(etc_won, etc_lost, count),
            (
                f"By α: PE-CS is clearly better {_at(etc_won, count)}, ETC-CS {_at(etc_lost, count)}.",
                *_ours(part),
            ),
        ),
        Claim(
            "PE-CS has less regret than UCB-CS.",
            _less(ucb_won, ucb_lost, count),
            (f"By α: PE-CS is clearly better {_at(ucb_won, count)}, UCB-CS {_at(ucb_lost, count)}.",),
        ),
        Claim(
            "UCB-CS has linear regret, since it goes on taking the wrong arm for the best one.",
            _verdict(len(linear), count),
            (
                f"By α: its growth over the second half of the horizon is at least {LINEAR} {_at(linear, count)}; "
                + ", ".join(f"{x:g}: {slope:.2f}" for x, slope in slopes.items())
                + ".",
            ),
        ),
        Claim(
            "The mean regret of TS-CS is below that of PE-CS.",
            _less(ts_won, ts_lost, count),
            (f"By α: TS-CS is clearly better {_at(ts_won, count)}, PE-CS {_at(ts_lost, count)}.",),
        ),
        Claim(
            "TS-CS is unreliable: some of its runs fail; those of PE-CS do not.",
            "does not hold" if sum(ts_failed.values()) <= pe_failed else "holds partly" if pe_failed else "holds",
            (
                f"Runs that failed, over all α: TS-CS {_share(part, TS)}, PE-CS {_share(part, PECS)}, "
                f"ETC-CS {_share(part, ETC)}, UCB-CS {_share(part, UCB)}.",
                f"Of TS-CS by α (of {part.panel.runs}): "
                + ", ".join(f"{x:g}: {n}" for x, n in ts_failed.items())
                + ".",
            ),
        ),
    ]  # fmt: skip


def _toy(data: list[PanelData]) -> list[Claim]:
    (part,) = data
    runs, count = part.panel.runs, len(part.points)
    mean = {label: {x: float(r.mean()) for x, r in part.regret(label).items()} for label in part.panel.policies}
    similar = [x for x in part.points if mean[PECS][x] <= SIMILAR * mean[ETC][x]]
    hard = 0.78
    failed = {p: {x: failures(part.points[x][p]) for x in part.points} for p in (PECS, ETC, UCB, TS)}
    hardest = {p: max(part.points, key=lambda x: failed[p][x]) for p in (UCB, TS)}
    totals = {p: sum(failed[p].values()) for p in failed}
    marks = [failed[UCB][hard] > runs / 2, failed[TS][hard] >= SEVERAL * runs / 50]
    overall = {p: float(np.mean(list(mean[p].values()))) for p in failed}
    balance = [overall[PECS] < overall[ETC] or totals[PECS] < totals[ETC], totals[PECS] < min(totals[UCB], totals[TS])]
    return [
        Claim(
            "PE-CS does as well as ETC-CS or better on almost all instances of the family.",
            "holds" if len(similar) >= count - 2 else _verdict(int(len(similar) >= count / 2), 2),
            (
                f"The mean regret of PE-CS is at most {SIMILAR:g} times that of ETC-CS on {len(similar)} of {count} "
                f"instances; it is clearly lower {_at(_wins(part, PECS, ETC), count)} and clearly higher "
                f"{_at(_wins(part, ETC, PECS), count)}.",
                *_ours(part),
            ),
        ),
        Claim(
            "Instances near the threshold of 0.76 are the hardest: at μ₁ = 0.78 most runs of UCB-CS and several of "
            "TS-CS fail.",
            _verdict(sum(marks), 2),
            (
                f"Runs that failed at μ₁ = 0.78: UCB-CS {failed[UCB][hard]}, TS-CS {failed[TS][hard]}, "
                f"PE-CS {failed[PECS][hard]}, ETC-CS {failed[ETC][hard]} (of {runs}).",
                f"Most failures: UCB-CS at μ₁ = {hardest[UCB]:g} ({failed[UCB][hardest[UCB]]}), "
                f"TS-CS at {hardest[TS]:g} ({failed[TS][hardest[TS]]}). Largest mean regret: "
                + ", ".join(f"{name_of(p)} at {max(mean[p], key=lambda x: mean[p][x]):g}" for p in failed)
                + ".",
            ),
        ),
        Claim(
            "Of the four, PE-CS is the best balance of performance and reliability. (We ask: fewer failed runs than "
            "UCB-CS and TS-CS, and fewer, or less regret over the family, than ETC-CS.)",
            _verdict(sum(balance), 2),
            (
                "Mean regret over the family, and failed runs: "
                + "; ".join(f"{name_of(p)} {number(overall[p])}, {totals[p]} of {runs * count}" for p in failed)
                + ".",
            ),
        ),
    ]


def _asymmetric(data: list[PanelData]) -> list[Claim]:
    (results,) = data[0].points.values()
    plain, lean = results[PE].regret, results["asymmetric-pe"].regret
    ratio = float(lean.mean() / plain.mean())
    spread = ratio * float(np.hypot(error(lean) / lean.mean(), error(plain) / plain.mean()))
    return [
        Claim(
            "Asymmetric-PE, which uses every sample of the reference arm, can save regret compared with PE.",
            _single(lean, plain),
            (
                f"It saves {1 - ratio:.1%} ± {spread:.1%}: PE {with_error(plain)}, Asymmetric-PE {with_error(lean)}.",
                *_ours(data[0]),
            ),
        )
    ]


def _trade_off(data: list[PanelData]) -> list[Claim]:
    lines = []
    for part in data:
        means = []
        for label in part.panel.policies:
            cost = np.concatenate([results[label].cost_regret for results in part.points.values()])
            quality = np.concatenate([results[label].quality_regret for results in part.points.values()])
            means.append(f"{name_of(label)} {number(float(cost.mean()))} and {number(float(quality.mean()))}")
        lines.append(f"{part.panel.title}: mean cost and quality regret over the grid: {'; '.join(means)}.")
    return [
        Claim(
            "The paper shows how cost and quality regret trade off and claims nothing more.", "no claim", tuple(lines)
        )
    ]


def _instance(data: list[PanelData]) -> list[Claim]:
    instance = load_instance(data[0].panel.grid[0].instance)
    return [
        Claim(
            "The arms: one per genre, with a mean reward from the ratings and a cost drawn at random.",
            "no claim",
            (
                f"{instance.arms} arms, mean rewards from {instance.means.min():g} to {instance.means.max():g}, "
                f"costs from {instance.costs.min():g} to {instance.costs.max():g}.",
                f"Source: {instance.source}",
            ),
        )
    ]


CLAIMS: dict[str, Callable[[list[PanelData]], list[Claim]]] = {
    "1a": _reference,
    "1b": _reference,
    "1c": _subsidy,
    "1d": _subsidy,
    "2a": _trend,
    "2b": _subsidized,
    "2c": _trend,
    "2d": _subsidized,
    "toy": _toy,
    "asymmetric": _asymmetric,
    "fixed-reference": _fixed_reference,
    "trade-off-best": _trade_off,
    "trade-off-known": _trade_off,
    "instance-movielens": _instance,
    "instance-goodreads": _instance,
}
