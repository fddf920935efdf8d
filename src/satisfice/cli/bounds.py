"""`satisfice bounds`: what the theory promises and demands on an instance, beside a simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from satisfice import words
from satisfice.cli import options, output
from satisfice.errors import InvalidRun
from satisfice.words import shorten

if TYPE_CHECKING:
    from satisfice.bounds import LowerBound, RegretBound, UpperBound
    from satisfice.problem import Instance, Setting
    from satisfice.simulation import Result

DEFAULTS = {"best": "pe-cs", "reference": "pe", "fixed": "ft-ucb"}


def bounds(
    instance: str = options.INSTANCE,
    setting: str = options.SETTING,
    alpha: float | None = options.ALPHA,
    reference: str | None = options.REFERENCE,
    threshold: float | None = options.THRESHOLD,
    horizon: str = options.HORIZON,
    policy: str | None = typer.Option(
        None,
        "--policy",
        "-p",
        help="pe, asymmetric-pe, pe-cs or ft-ucb, also as 'pe-cs(kappa=5)'; by default the one of the setting.",
    ),
    simulate: int = typer.Option(0, "--simulate", "-n", help="Also simulate so many runs.", metavar="RUNS"),
    family: str | None = typer.Option(
        None, "--family", help="bernoulli or gaussian, for the lower bound; by default the instance's own."
    ),
    seed: int = options.SEED,
    workers: int | None = options.WORKERS,
    unit_costs: bool = options.UNIT_COSTS,
    out: Path = typer.Option(Path("results"), "--out", "-o", help=f"Folder for the picture. {output.KEPT}"),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON, for machines."),
) -> None:
    """What theory promises (upper bound) and demands (lower bound), per arm and per regret, beside a simulation."""
    from satisfice.bounds import lower, upper
    from satisfice.bounds import regret as least_regret
    from satisfice.bounds.picture import picture
    from satisfice.plots import pretty, save
    from satisfice.simulation import simulate as run
    from satisfice.simulation.checkpoints import log_times

    problem = options.read_instance(instance, unit_costs)
    where = options.read_setting(setting, alpha, reference, threshold, problem)
    steps = options.read_whole("--horizon", horizon)
    if simulate < 0:
        raise InvalidRun(f"--simulate {simulate}; it must be a number of runs, or 0 for none")
    promise = upper(policy or DEFAULTS[where.kind], problem, where, steps)
    demand = lower(problem, where, family)  # type: ignore[arg-type]
    constant = least_regret(problem, where, family)  # type: ignore[arg-type]
    title = f"{problem.label}, {describe(where)}, {pretty(promise.policy)}, T = {steps:,}"
    result = None
    with output.ready(out):
        if simulate:
            marks = log_times(steps)
            results = run(problem, where, promise.policy, steps, simulate, seed, marks, workers, progress=not as_json)
            result = results[promise.policy]
        figure = picture(title, promise, demand, result=result)
        stem = output.slug("bounds", problem.label, where.kind, reference, alpha, threshold, promise.policy)
        (path,) = output.keep(out, stem, {".png": partial(save, figure)})
    doubt = options.doubt_data(problem, where)
    if as_json:
        _print_json(problem, where, promise, demand, constant, result=result, path=path, doubt=doubt)
        return
    best = where.optimal_arm(problem)
    options.say(
        f"{title}\nthreshold {where.threshold(problem):.4g}; the optimal arm is {problem.names[best]} "
        f"(cost {problem.costs[best]:g}, mean {problem.means[best]:g})"
    )
    options.say(f"{doubt['sentence']}\n" if doubt is not None else "")
    _print_arms(problem, where, promise, demand, result=result)
    _print_regrets(promise, demand, result)
    options.say(
        f"\nNo consistent policy has a summed regret below {number(constant.regret)} per log T as T grows (cost "
        f"{number(constant.cost_regret)}, quality {number(constant.quality_regret)}): the program of Graves and Lai."
    )
    if where.kind == "best":
        from satisfice.bounds import order_optimal

        options.say(f"\n{order_optimal(problem, where.alpha).words}")
    typer.echo(f"\npicture: {path}")


def _print_arms(
    problem: Instance, where: Setting, promise: UpperBound, demand: LowerBound, *, result: Result | None
) -> None:
    from satisfice.simulation.regret import standard_error

    log = math.log(promise.horizon)
    cost_gaps, quality_gaps = where.cost_gaps(problem), where.quality_gaps(problem)
    names = _shown(problem.names)
    head = ["arm", "cost", "mean", "cost gap", "quality gap", "role", "at least*", "at most"]
    rows = [head + (["simulated", "± s.e."] if result is not None else [])]
    for i in sorted(range(problem.arms), key=lambda arm: (problem.costs[arm], arm)):
        role = promise.roles[i]
        bound = "the rest" if role == "optimal" else number(promise.pulls[i])
        least = "the rest" if role == "optimal" else number(demand.pulls[i] * log if demand.pulls[i] else 0.0)
        row = [names[i], f"{problem.costs[i]:g}", f"{problem.means[i]:.4g}"]
        row += [number(cost_gaps[i]), number(quality_gaps[i]), role, least, bound]
        if bound not in ("the rest", "inf") and promise.pulls[i] > promise.horizon:
            row[-1] = f"({bound})"
        if result is not None:
            pulls = result.pulls[:, i].astype(float)
            row += [number(float(pulls.mean())), number(standard_error(pulls))]
        rows.append(row)
    options.print_table(rows, title="Expected pulls", left=(0, 5), droppable=(3, 4, 9, 5))
    notes = [f"* lower bound x log T ({demand.family} rewards): it holds as T grows, not at a short horizon."]
    if ((promise.pulls > promise.horizon) & (promise.pulls < math.inf)).any():
        notes.append("(In parentheses: beyond the horizon, so the bound says nothing.)")
    notes += [f"High-cost arms: {reason}." for reason in sorted({r for r in promise.reasons if "shared" in r})]
    options.say("\n".join(notes) + "\n")


def _print_regrets(promise: UpperBound, demand: LowerBound, result: Result | None) -> None:
    from satisfice.simulation.regret import standard_error

    rows = [["regret", "at most", "what it is"]]
    log = math.log(promise.horizon)
    for kind in ("cost", "quality"):
        total = float(getattr(promise, f"{kind}_regret"))
        trivial = float(getattr(promise, f"trivial_{kind}_regret"))
        remark = f"no more than {number(trivial)} is possible at all" if total > trivial else ""
        rows.append([kind, number(total), remark])
        for term in getattr(promise, f"{kind}_terms"):
            remark = f"{term.meaning}: {term.reason}" if term.reason else term.meaning
            rows.append([f"  {term.name}", number(term.value), remark])
        slope = float(getattr(demand, f"{kind}_regret"))
        rows.append(["  lower bound", number(slope * log if slope else 0.0), f"{number(slope)} per log T"])
        if result is not None:
            values = getattr(result, f"{kind}_regret")
            share = f", {values.mean() / total:.1%} of the bound" if 0 < total < math.inf else ""
            error = f"± {number(standard_error(values))}{share}"
            rows.append(["  simulated", number(float(values.mean())), error])
    options.print_table(rows, title=promise.theorem, left=(0, 2), breakable=(2,))


def _print_json(
    problem: Instance,
    where: Setting,
    promise: UpperBound,
    demand: LowerBound,
    constant: RegretBound,
    *,
    result: Result | None,
    path: Path,
    doubt: dict[str, object] | None,
) -> None:
    arms = [
        {
            "name": problem.names[i],
            "cost": float(problem.costs[i]),
            "mean": float(problem.means[i]),
            "role": promise.roles[i],
            "lower_per_log_t": float(demand.pulls[i]),
            "upper": float(promise.pulls[i]),
            "simulated": None if result is None else float(result.pulls[:, i].mean()),
        }
        for i in range(problem.arms)
    ]
    regrets = {
        kind: {
            "upper": float(getattr(promise, f"{kind}_regret")),
            "trivial": float(getattr(promise, f"trivial_{kind}_regret")),
            "lower_per_log_t": float(getattr(demand, f"{kind}_regret")),
            "simulated": None if result is None else float(getattr(result, f"{kind}_regret").mean()),
            "terms": {
                term.name: {"value": term.value, "meaning": term.meaning, "reason": term.reason}
                for term in getattr(promise, f"{kind}_terms")
            },
        }
        for kind in ("cost", "quality")
    }
    document = {
        "instance": problem.label,
        "setting": where.to_dict(),
        "policy": promise.policy,
        "theorem": promise.theorem,
        "horizon": promise.horizon,
        "optimal_arm": problem.names[where.optimal_arm(problem)],
        "doubt": doubt,
        "arms": arms,
        "regrets": regrets,
        "least_regret_per_log_t": constant.regret,
        "caveat": promise.caveat,
        "picture": str(path),
    }
    output.print_json(document)


def _shown(names: Sequence[str], most: int = 30) -> list[str]:
    """Names for a table, long ones cut in the middle unless that makes two of them the same."""
    short = [shorten(name, most) for name in names]
    return [full if short.count(cut) > 1 else cut for full, cut in zip(names, short, strict=True)]


def number(value: float) -> str:
    """A number for a table: 1,234,567 or 0.1234."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    return words.number(value)


def describe(where: Setting) -> str:
    """A setting in a title: best (alpha = 0.1)."""
    fields = ", ".join(f"{name} = {value}" for name, value in where.to_dict().items() if name != "kind")
    return f"{where.kind} ({fields})"
