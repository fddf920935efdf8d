"""`satisfice study`: live studies from the shell; JSON in and out for scripts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from satisfice.cli import options
from satisfice.errors import InvalidData, InvalidStudy, SatisficeError, StorageError

if TYPE_CHECKING:
    from satisfice.studies import Decision, Study

# How the shell says what a message says in Python.
WORDS = {
    "correct=True corrects it": "--correct corrects it",
    "cannot be abandoned; correct the reward": "cannot be abandoned; --correct replaces the reward",
    "; load_study opens it": "; choose another name, or go on with that one",
    "; create_study makes it": "; `satisfice study create` makes it",
    "set_cost changes its cost": "`satisfice study set-cost` changes its cost",
    "use None (memory), sqlite": "use sqlite",
    ", or storage=None for memory": "",
    '; or give the costs: arms={"small": 0.2, "large": 8.0}': "",
}


class _Group(TyperGroup):
    """The commands of a study, whose errors speak of options."""

    def invoke(self, ctx):  # type: ignore[no-untyped-def]
        try:
            return super().invoke(ctx)
        except SatisficeError as error:
            text = str(error)
            for python, shell in WORDS.items():
                text = text.replace(python, shell)
            raise type(error)(text) from error


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    help="Route real traffic: ask for an arm, tell its reward later, see which arm won.",
    rich_markup_mode=None,
)

NAME = typer.Argument(..., help="The name of the study.", metavar="STUDY")
STORAGE = typer.Option(
    None,
    "--storage",
    envvar="SATISFICE_STORAGE",
    help="Where studies live: sqlite:///studies.db or postgresql://user@host/database.",
    metavar="URL",
)
JSON = typer.Option(False, "--json", help="Print JSON, for scripts.")
ARM = typer.Argument(..., help="The name of the arm.", metavar="ARM")
COST = typer.Argument(..., help="The cost of one pull.", metavar="COST")
# A number such as -0.5 is no option.
NEGATIVE = {"ignore_unknown_options": True}


def _place(storage: str | None) -> str:
    if not storage:
        raise StorageError("give --storage URL or set SATISFICE_STORAGE, for example to sqlite:///studies.db")
    return storage


def _study(name: str, storage: str | None) -> Study:
    from satisfice.studies import load_study

    return load_study(name, _place(storage))


def _print(data: object) -> None:
    typer.echo(json.dumps(data, allow_nan=False))


@app.command()
def create(
    name: str = NAME,
    arm: list[str] = typer.Option(
        ..., "--arm", help="An arm and the cost of one pull; repeat it for every arm.", metavar="NAME=COST"
    ),
    setting: str = options.SETTING,
    alpha: float | None = options.ALPHA,
    reference: str | None = options.REFERENCE,
    threshold: float | None = options.THRESHOLD,
    policy: str = typer.Option("glr", "--policy", "-p", help="A policy, also with parameters: 'pe-cs(kappa=5)'."),
    horizon: str | None = typer.Option(None, "--horizon", "-T", help="Decisions to plan for, for example 1e5."),
    confidence: float | None = typer.Option(None, "--confidence", help="How sure a verdict must be; 0.95 by default."),
    rewards: tuple[float, float] = typer.Option((0.0, 1.0), "--rewards", help="Lowest and highest reward."),
    binary: bool = typer.Option(False, "--binary", help="Every reward is the lowest or the highest."),
    expire_after: float | None = typer.Option(
        None, "--expire-after", help="Seconds after which a decision without a reward expires."
    ),
    expire_as: float | None = typer.Option(
        None, "--expire-as", help="The reward of an expired decision; by default it counts as nothing."
    ),
    seed: int | None = typer.Option(None, "--seed", help="Seed of the policy's random choices."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Create a study."""
    from satisfice.studies import create_study

    study = create_study(
        name,
        _arms(arm),
        options.read_setting(setting, alpha, reference, threshold),
        policy,
        _place(storage),
        None if horizon is None else options.read_whole("--horizon", horizon),
        confidence,
        rewards=rewards,
        binary=binary,
        expire_after=expire_after,
        expire_as=expire_as,
        seed=seed,
    )
    if as_json:
        _print(study.config.to_dict())
    else:
        typer.echo(f"created {study.name!r}: {study.config.policy.label}, {study.config.setting}, {len(arm)} arms")


def _arms(words: list[str]) -> dict[str, float]:
    arms: dict[str, float] = {}
    for word in words:
        name, equals, cost = word.rpartition("=")
        try:
            price = float(cost)
        except ValueError:
            equals = ""
        if not equals:
            raise InvalidStudy(f"--arm {word!r} is not NAME=COST, such as small=0.2")
        if name in arms:
            raise InvalidStudy(f"--arm {name!r} is given twice")
        arms[name] = price
    return arms


def _plain(decision: Decision) -> dict[str, object]:
    return {**decision._asdict(), "why": decision.why}


@app.command()
def ask(
    name: str = NAME,
    count: int | None = typer.Option(None, "--count", "-n", help="This many decisions at once; with --json a list."),
    subject: str | None = typer.Option(None, "--subject", help="Whom it is for: keeps its arm while it is open."),
    exclude: list[str] = typer.Option([], "--exclude", help="An arm that cannot be played now; may be repeated."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Ask for a decision: prints its id and its arm."""
    study = _study(name, storage)
    if count is not None and subject is not None:
        raise InvalidStudy("--count and --subject do not go together; a subject has one open decision")
    decisions = (
        [study.ask(subject=subject, exclude=exclude)] if count is None else study.ask_many(count, exclude=exclude)
    )
    if as_json:
        _print(_plain(decisions[0]) if count is None else [_plain(decision) for decision in decisions])
    else:
        for decision in decisions:
            typer.echo(f"{decision.id} {decision.arm}")


@app.command(context_settings=NEGATIVE)
def tell(
    name: str = NAME,
    decision: str = typer.Argument(
        ..., help="The id of the decision, or - for JSON on standard input.", metavar="ID|-"
    ),
    reward: float | None = typer.Argument(None, help="The reward.", metavar="[REWARD]"),
    correct: bool = typer.Option(False, "--correct", help="Replace a reward that was told before."),
    abandon: bool = typer.Option(False, "--abandon", help="Instead of a reward: there will never be one."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Tell the reward of a decision.

    With - as the id, rewards come from standard input: a JSON list of {"id": 17, "reward": 1.0}, or one such object per
    line. All of them are taken, or on an error none.
    """
    study = _study(name, storage)
    if decision == "-":
        if reward is not None or abandon:
            raise InvalidData("with - the rewards come from standard input, and nothing else is given")
        changed = study.tell_many(_rewards(sys.stdin.read()), correct=correct)
    elif abandon:
        if reward is not None or correct:
            raise InvalidData("--abandon goes with no reward and no --correct")
        changed = int(study.abandon(decision))  # type: ignore[arg-type]
    elif reward is None:
        raise InvalidData(f"give the reward of decision {decision}, or --abandon")
    else:
        changed = int(study.tell(decision, reward, correct=correct))  # type: ignore[arg-type]
    if as_json:
        _print({"changed": changed})
    else:
        typer.echo(f"{changed} changed")


def _rewards(text: str) -> list[tuple[int, float]]:
    try:
        stripped = text.strip()
        rows = (
            json.loads(stripped) if stripped.startswith("[") else [json.loads(line) for line in stripped.splitlines()]
        )
        return [(row["id"], row["reward"]) for row in rows]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidData(
            f'standard input is not rewards: a JSON list of {{"id": 17, "reward": 1.0}}, or one per line ({error!r})'
        ) from error


@app.command()
def status(
    name: str = NAME,
    plot: Path | None = typer.Option(None, "--plot", help="Write a picture to this file.", metavar="FILE"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Show every arm, the leader, how sure that is, and what was spent."""
    study = _study(name, storage)
    now = study.status()
    if as_json:
        _print(now.to_dict())
    else:
        typer.echo(str(now))
    if plot is not None:
        study.plot(plot)
        typer.echo(f"picture: {plot}", err=True)


@app.command("set-cost", context_settings=NEGATIVE)
def set_cost(
    name: str = NAME, arm: str = ARM, cost: float = COST, storage: str | None = STORAGE, as_json: bool = JSON
) -> None:
    """Change the cost of an arm from now on."""
    _study(name, storage).set_cost(arm, cost)
    _done({"arm": arm, "cost": cost}, f"{arm!r} costs {cost:g} from now on", as_json)


@app.command("add-arm", context_settings=NEGATIVE)
def add_arm(
    name: str = NAME, arm: str = ARM, cost: float = COST, storage: str | None = STORAGE, as_json: bool = JSON
) -> None:
    """Add an arm, or bring a retired one back."""
    _study(name, storage).add_arm(arm, cost)
    _done({"arm": arm, "cost": cost}, f"added {arm!r} at a cost of {cost:g}", as_json)


@app.command("retire-arm")
def retire_arm(name: str = NAME, arm: str = ARM, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Take an arm out of the study."""
    _study(name, storage).retire_arm(arm)
    _done({"arm": arm, "retired": True}, f"retired {arm!r}", as_json)


@app.command()
def expire(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Expire the decisions that have waited too long; other commands do so on their way."""
    count = _study(name, storage).expire()
    _done({"expired": count}, f"{count} expired", as_json)


@app.command()
def close(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """End a study: it hands out no more decisions and takes no more rewards."""
    _study(name, storage).close()
    _done({"closed": True}, f"closed {name!r}", as_json)


def _done(data: dict[str, object], sentence: str, as_json: bool) -> None:
    if as_json:
        _print(data)
    else:
        typer.echo(sentence)


@app.command()
def replay(
    name: str = NAME,
    policy: str | None = typer.Option(None, "--policy", "-p", help="The policy to try; by default the study's."),
    log: Path | None = typer.Option(
        None,
        "--log",
        help="CSV, Parquet or JSON lines with arm, reward and cost; by default the study's own log.",
        metavar="FILE",
    ),
    seed: int = options.SEED,
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Say what a policy would have done with a recorded log, on the decisions that match."""
    result = _study(name, storage).replay(log, policy=policy, seed=seed)
    _done(result.to_dict(), str(result), as_json)


@app.command()
def explain(
    name: str = NAME,
    decision: int = typer.Argument(..., help="The id of the decision.", metavar="ID"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Say why a decision was made, and what was known then."""
    explanation = _study(name, storage).explain(decision)
    if as_json:
        _print(explanation.to_dict())
    else:
        typer.echo(str(explanation))


@app.command("list")
def list_(storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """List the studies."""
    from satisfice.studies import list_studies, load_study

    place = _place(storage)
    names = list_studies(place)
    if as_json:
        studies = [load_study(name, place) for name in names]
        _print([{"name": s.name, "policy": s.config.policy.label, "setting": str(s.config.setting)} for s in studies])
    else:
        for name in names:
            typer.echo(name)


@app.command()
def export(
    name: str = NAME,
    path: Path = typer.Argument(..., help="The Parquet file to write.", metavar="FILE"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Write the log of a study to a Parquet file, one row per decision."""
    study = _study(name, storage)
    target = study.export(path)
    rows = sum(arm.pulls + arm.pending + arm.dropped for arm in study.status().arms)
    if as_json:
        _print({"file": str(target), "decisions": rows})
    else:
        typer.echo(f"{rows} decisions: {target}")


@app.command()
def check(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Rebuild the state of a study from its log and say whether they agree; exits with 1 if not."""
    from dataclasses import asdict

    audit = _study(name, storage).check()
    if as_json:
        _print({**asdict(audit), "agrees": audit.agrees})
    else:
        typer.echo(str(audit))
    if not audit.agrees:
        raise typer.Exit(1)
