"""`satisfice plan`: with guessed means, how long until it is settled, what that costs, and what it saves."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from satisfice.cli import options, output
from satisfice.cli.bounds import describe, number
from satisfice.errors import InvalidInstance
from satisfice.words import count

if TYPE_CHECKING:
    from satisfice.planning import Outlook, Plan
    from satisfice.problem import Floats


def plan(
    instance: str | None = typer.Option(
        None,
        "--instance",
        "-i",
        help="Instead of --costs and --guess: a built-in instance or a .json file; the means of one from a log are "
        "drawn by its counts.",
        metavar="NAME|FILE",
    ),
    costs: str | None = typer.Option(
        None, "--costs", "-c", help="Cost of one pull of each arm: 0.2,1,8.", metavar="LIST"
    ),
    guess: str | None = typer.Option(
        None,
        "--guess",
        "-g",
        help="Guessed mean of each arm within [0, 1], a number or a range: 0.6-0.75,0.85,0.9.",
        metavar="LIST",
    ),
    names: str | None = typer.Option(None, "--names", help="Names of the arms: small,medium,large.", metavar="LIST"),
    setting: str = options.SETTING,
    alpha: float | None = options.ALPHA,
    reference: str | None = options.REFERENCE,
    threshold: float | None = options.THRESHOLD,
    horizon: str | None = typer.Option(
        None, "--horizon", "-T", help="Number of pulls to plan for; by default one at which it settles.", metavar="T"
    ),
    policy: list[str] = typer.Option(
        None, "--policy", "-p", help="A policy; repeat it for several. By default all but TS-CS, which never settles."
    ),
    runs: int = typer.Option(100, "--runs", "-n", help="Simulated runs of each policy."),
    seed: int = options.SEED,
    out: Path = typer.Option(Path("results"), "--out", "-o", help=f"Folder for the picture. {output.KEPT}"),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON, for machines."),
) -> None:
    """With guessed means: pulls until it is settled, what they cost and lose, and what the choice saves afterwards."""
    from satisfice.planning import plan as make_plan
    from satisfice.planning import plan_instance
    from satisfice.planning.picture import picture
    from satisfice.plots import save
    from satisfice.problem import Instance

    if (instance is None) == (costs is None and guess is None and names is None):
        raise InvalidInstance("give --instance, or --costs and --guess (and --names)")
    if instance is not None:
        arms = options.read_instance(instance)
        prepared = partial(plan_instance, arms)
    else:
        if costs is None or guess is None:
            raise InvalidInstance("--costs and --guess go together; give both")
        prices = [_parsed("--costs", text) for text in _split(costs)]
        guesses = [_guess(text) for text in _split(guess)]
        called = None if names is None else _split(names)
        # Read with any means: what a reference arm may be depends on the names alone.
        arms = Instance(prices, [0.5] * len(prices), called)
        prepared = partial(make_plan, prices, guesses, names=called)
    where = options.read_setting(setting, alpha, reference, threshold, arms)
    steps = None if horizon is None else options.read_whole("--horizon", horizon)

    def report(label: str) -> None:
        typer.echo(f"simulating {label} ...", err=True)

    with output.ready(out):
        result = prepared(
            where, steps, policies=policy or None, runs=runs, seed=seed, report=None if as_json else report
        )
        title = f"plan: {describe(where)}, T = {result.horizon:,}, {count(runs, 'run')}"
        figure = picture(title, result)
        (path,) = output.keep(out, f"plan-{where.kind}-{result.horizon}", {".png": partial(save, figure)})
    doubt = options.doubt_data(result.middle, where)
    if as_json:
        _print_json(result, path, doubt)
        return
    options.say(f"{title}\n{result.sentence}\n")
    if doubt is not None:
        options.say(f"{doubt['sentence']}\n")
    _print_table(result)
    for sentence in _sentences(result):
        options.say(sentence)
    typer.echo(f"\npicture: {path}")


def _print_table(result: Plan) -> None:
    until = [("policy", "settles", "pulls", "extra cost", "lost quality")]
    after = [("policy", "saved*", "given up*", "arm of the second half (runs)")]
    for outlook in result.outlooks:
        regrets = (_spread(outlook.cost_regret), _spread(outlook.quality_regret))
        until.append((outlook.policy, f"{outlook.share:.0%}", _spread(outlook.settled), *regrets))
        after.append((outlook.policy, _spread(outlook.saved), _spread(outlook.lost), _choices(result, outlook)))
    options.print_table(until, title="Until it is settled")
    options.say(
        "Medians (10th to 90th percentile of the runs). settles: share of the runs that play the right arm (the "
        "cheapest one that is good enough) from a time in the first half of the horizon on. Extra cost and lost "
        "quality count up to that time, and in the other runs up to the horizon.\n"
    )
    options.print_table(after, title="Once it is settled", left=(0, 3), breakable=(3,))
    options.say(
        f"* cost saved and reward given up per 1,000 pulls, in the runs that settle, against always playing "
        f"{result.against}.\n"
    )


def _sentences(result: Plan) -> list[str]:
    """What the tables say of the first policy, and what theory has to say."""
    from satisfice.bounds import upper
    from satisfice.bounds.upper_bound import THEOREMS

    first = result.outlooks[0]
    said = []
    if first.share < 0.5:
        said.append(
            f"{first.policy} settles in {first.share:.0%} of the runs within half of {result.horizon:,} pulls: "
            "the means are too close for this horizon."
        )
    if result.searched:
        said.append(
            f"The horizon is the first power of ten at which {first.policy} settles in 9 of 10 runs, up to 10^7."
        )
    if result.dropped:
        said.append(f"In {count(result.dropped, 'draw')} of the guess no arm was good enough; such draws are left out.")
    for outlook in result.outlooks:
        if outlook.policy.partition("(")[0] not in THEOREMS or not result.setting.feasible(result.middle).any():
            continue
        bound = upper(outlook.policy, result.middle, result.setting, result.horizon)
        promises = []
        for kind in ("cost", "quality"):
            value, most = getattr(bound, f"{kind}_regret"), getattr(bound, f"trivial_{kind}_regret")
            promises.append(
                f"{kind} regret at most {number(value)}" if value <= most else f"no promise on {kind} regret"
            )
        said.append(
            f"Theory, at the middle of the guess: {outlook.policy} has {', and '.join(promises)} by the horizon."
        )
    return said


def _print_json(result: Plan, path: Path, doubt: dict[str, object] | None) -> None:
    def percentiles(values: Floats) -> list[float] | None:
        import numpy as np

        known = values[np.isfinite(values)]
        return [float(value) for value in np.percentile(known, [10, 50, 90])] if len(known) else None

    document = {
        "setting": result.setting.to_dict(),
        "horizon": result.horizon,
        "runs": len(result.outlooks[0].settled),
        "dropped": result.dropped,
        "against": result.against,
        "right": dict(zip(result.middle.names, result.shares, strict=True)),
        "doubt": doubt,
        "percentiles": [10, 50, 90],
        "policies": {
            outlook.policy: {
                "settles": outlook.share,
                "right": float(outlook.right.mean()),
                "pulls_until_settled": percentiles(outlook.settled),
                "spend": percentiles(outlook.spend),
                "cost_regret": percentiles(outlook.cost_regret),
                "quality_regret": percentiles(outlook.quality_regret),
                "saved_per_1000": percentiles(outlook.saved),
                "given_up_per_1000": percentiles(outlook.lost),
                "choices": {
                    name: float((outlook.choice == arm).mean()) for arm, name in enumerate(result.middle.names)
                },
            }
            for outlook in result.outlooks
        },
        "picture": str(path),
    }
    output.print_json(document)


def _choices(result: Plan, outlook: Outlook) -> str:
    shares = [(float((outlook.choice == arm).mean()), name) for arm, name in enumerate(result.middle.names)]
    return ", ".join(f"{name} ({share:.0%})" for share, name in sorted(shares, reverse=True) if share > 0)


def _spread(values: Floats) -> str:
    import numpy as np

    known = values[np.isfinite(values)]
    if len(known) == 0:
        return "-"
    low, middle, high = (_three_digits(float(value)) for value in np.percentile(known, [10, 50, 90]))
    return middle if low == high else f"{middle} ({low} to {high})"


def _three_digits(value: float) -> str:
    """Three digits: there are no more in a percentile of a hundred runs."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def _split(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",") if piece.strip()]


def _parsed(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInstance(f"{option} {text!r} is not a number; give one per arm, as in 0.2,1,8") from None


def _guess(text: str) -> float | tuple[float, float]:
    match = re.fullmatch(r"([0-9.eE+]+)\s*(?:-|:|\.\.)\s*([0-9.eE+]+)", text)
    if match is None:
        return _parsed("--guess", text)
    return _parsed("--guess", match[1]), _parsed("--guess", match[2])
