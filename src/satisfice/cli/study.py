"""`satisfice study`: live studies from the shell; JSON in and out for scripts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from satisfice.cli import options, traffic
from satisfice.cli.live import ARM, COST, JSON, NAME, NEGATIVE, STORAGE, app, done, open_study, place, print_json
from satisfice.errors import InvalidData, InvalidStudy

if TYPE_CHECKING:
    from satisfice.studies import Decision, Study


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
    mature_after: float | None = typer.Option(
        None, "--mature-after", help="Seconds after which proofs no longer wait for the reward of a decision."
    ),
    costs: str = typer.Option(
        "fixed", "--costs", help="fixed, or told: the costs of the arms are first guesses, and learned.", metavar="KIND"
    ),
    cost_range: tuple[float, float] | None = typer.Option(None, "--cost-range", help="Lowest and highest told cost."),
    worth: float | None = typer.Option(None, "--worth", help="What one unit of reward is worth, in costs."),
    baseline: str | None = typer.Option(None, "--baseline", help="The arm of the control group and of pauses."),
    holdout: float = typer.Option(0.0, "--holdout", help="The share of decisions that are the control group."),
    budget: float | None = typer.Option(None, "--budget", help="What finding out may cost beyond the leader."),
    session_ttl: float | None = typer.Option(
        None, "--session-ttl", help="Seconds for which a session keeps its arm; 1800 by default."
    ),
    drift: str = typer.Option(
        "watch",
        "--drift",
        help="watch: notice when the rewards of an arm change; adapt: also look for it; none.",
        metavar="KIND",
    ),
    segment: list[str] = typer.Option(
        [], "--segment", help="A kind of traffic with a verdict of its own; may be repeated."
    ),
    segments: int | None = typer.Option(None, "--segments", help="Instead: how many segments may appear."),
    seed: int | None = typer.Option(None, "--seed", help="Seed of the policy's random choices."),
    load_if_exists: bool = typer.Option(
        False, "--load-if-exists", help="Go on with the study of this name if there is one with the same terms."
    ),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Create a study."""
    from satisfice.studies import create_study

    if segment and segments is not None:
        raise InvalidStudy("--segment names the segments, --segments says how many may appear; give one of them")
    study = create_study(
        name,
        _arms(arm),
        options.read_setting(setting, alpha, reference, threshold),
        policy,
        place(storage),
        None if horizon is None else options.read_whole("--horizon", horizon),
        confidence,
        rewards=rewards,
        binary=binary,
        expire_after=expire_after,
        expire_as=expire_as,
        mature_after=mature_after,
        costs=costs,
        cost_range=cost_range,
        worth=worth,
        baseline=baseline,
        holdout=holdout,
        budget=budget,
        session_ttl=session_ttl,
        drift=None if drift == "none" else drift,
        segments=segment or segments,
        seed=seed,
        load_if_exists=load_if_exists,
    )
    what = f"{study.name!r} is there" if load_if_exists else f"created {study.name!r}"
    done(
        study.config.to_dict(),
        f"{what}: {study.config.policy.label}, {study.config.setting}, {len(arm)} arms",
        as_json,
    )


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
    session: str | None = typer.Option(None, "--session", help="A conversation, which keeps its arm while it goes on."),
    key: str | None = typer.Option(None, "--key", help="What it is for: the same key gives the same again, always."),
    available: list[str] = typer.Option([], "--available", help="An arm that can be played now; may be repeated."),
    exclude: list[str] = typer.Option([], "--exclude", help="An arm that cannot be played now; may be repeated."),
    segment: str | None = typer.Option(None, "--segment", help="The kind of traffic that it is for."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Ask for a decision: prints its id and its arm."""
    study = open_study(name, storage)
    if count is not None and (subject is not None or session is not None):
        raise InvalidStudy("--count and --subject, or --session, do not go together; they are for one decision")
    up = available or None
    decisions = (
        [study.ask(subject=subject, session=session, key=key, exclude=exclude, available=up, segment=segment)]
        if count is None
        else study.ask_many(count, key=key, exclude=exclude, available=up, segment=segment)
    )
    if as_json:
        print_json(_plain(decisions[0]) if count is None else [_plain(decision) for decision in decisions])
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
    cost: float | None = typer.Option(None, "--cost", help="What the decision has cost."),
    correct: bool = typer.Option(False, "--correct", help="Replace a reward that was told before."),
    abandon: bool = typer.Option(False, "--abandon", help="Instead of a reward: there will never be one."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Tell the reward of a decision.

    With - as the id, rewards come from standard input: a JSON list of {"id": 17, "reward": 1.0}, or one such object per
    line; each may have a "cost". All of them are taken, or on an error none.
    """
    study = open_study(name, storage)
    if decision == "-":
        if reward is not None or abandon or cost is not None:
            raise InvalidData("with - the rewards come from standard input, and nothing else is given")
        changed = study.tell_many(_rewards(sys.stdin.read()), correct=correct)
    elif abandon:
        if reward is not None or correct or cost is not None:
            raise InvalidData("--abandon goes with no reward, no --cost and no --correct")
        changed = int(study.abandon(decision))  # type: ignore[arg-type]
    elif reward is None:
        raise InvalidData(f"give the reward of decision {decision}, or --abandon")
    else:
        changed = int(study.tell(decision, reward, cost, correct=correct))  # type: ignore[arg-type]
    done({"changed": changed}, f"{changed} changed", as_json)


@app.command()
def abandon(
    name: str = NAME,
    decision: str = typer.Argument(..., help="The id of the decision.", metavar="ID"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Say that a decision will never have a reward."""
    changed = int(open_study(name, storage).abandon(decision))  # type: ignore[arg-type]
    done({"changed": changed}, f"{changed} changed", as_json)


def _rewards(text: str) -> list[tuple[int, float] | tuple[int, float, float]]:
    try:
        stripped = text.strip()
        rows = (
            json.loads(stripped) if stripped.startswith("[") else [json.loads(line) for line in stripped.splitlines()]
        )
        return [(row["id"], row["reward"], row.get("cost")) for row in rows]
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
    study = open_study(name, storage)
    now = study.status()
    done(now.to_dict(), now.text(options.width()), as_json)
    if plot is not None:
        study.plot(plot)
        typer.echo(f"picture: {plot}", err=True)


@app.command("set-cost", context_settings=NEGATIVE)
def set_cost(
    name: str = NAME, arm: str = ARM, cost: float = COST, storage: str | None = STORAGE, as_json: bool = JSON
) -> None:
    """Change the cost of an arm from now on."""
    changed = open_study(name, storage).set_cost(arm, cost)
    done({"arm": arm, "cost": cost, "changed": changed}, f"{arm!r} costs {cost:g} from now on", as_json)


@app.command("add-arm", context_settings=NEGATIVE)
def add_arm(
    name: str = NAME, arm: str = ARM, cost: float = COST, storage: str | None = STORAGE, as_json: bool = JSON
) -> None:
    """Add an arm, or bring a retired one back."""
    changed = open_study(name, storage).add_arm(arm, cost)
    done({"arm": arm, "cost": cost, "changed": changed}, f"added {arm!r} at a cost of {cost:g}", as_json)


@app.command("retire-arm")
def retire_arm(name: str = NAME, arm: str = ARM, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Take an arm out of the study."""
    changed = open_study(name, storage).retire_arm(arm)
    done({"arm": arm, "retired": True, "changed": changed}, f"retired {arm!r}", as_json)


@app.command()
def expire(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Expire the decisions that have waited too long; `ask` and `status` do so on their way."""
    count = open_study(name, storage).expire()
    done({"expired": count}, f"{count} expired", as_json)


@app.command()
def end(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """End a study: it hands out no more decisions; late rewards still count."""
    changed = open_study(name, storage).end()
    done({"ended": True, "changed": changed}, f"ended {name!r}", as_json)


@app.command()
def reopen(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Let a study go on that was ended."""
    changed = open_study(name, storage).reopen()
    done({"ended": False, "changed": changed}, f"{name!r} goes on", as_json)


@app.command(hidden=True)
def close(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Has another name since release 0.2: `end`."""
    raise InvalidStudy(f"since release 0.2 a study is ended by `satisfice study end {name}`; nothing was changed")


@app.command()
def archive(
    name: str = NAME,
    before: str = typer.Argument(
        ..., help="A time: 2026-11-01, 2026-11-01T12:00+01:00, or seconds since 1970.", metavar="BEFORE"
    ),
    path: Path = typer.Argument(..., help="The Parquet file to write.", metavar="FILE"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Put the settled decisions from before a time into a Parquet file, out of the log."""
    count = open_study(name, storage).archive(_time(before), path)
    wrote = f"{count} decisions: {path}" if count else "no decisions are settled and older; no file was written"
    done({"file": str(path) if count else None, "decisions": count}, wrote, as_json)


def _time(text: str) -> float:
    """A time in seconds since 1970; a date without a zone is in UTC."""
    from datetime import UTC, datetime

    try:
        return float(text)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidStudy(f"BEFORE {text!r} is no time such as 2026-11-01 or 1793491200") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


@app.command()
def forget(
    name: str = NAME,
    subject: str = typer.Argument(..., help="The subject to erase.", metavar="SUBJECT"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Erase a subject from the log; what was learned stays."""
    count = open_study(name, storage).forget(subject)
    done({"decisions": count}, f"forgotten in {count} decisions", as_json)


@app.command()
def delete(
    name: str = NAME,
    yes: bool = typer.Option(False, "--yes", help="Really delete it; it cannot be undone."),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Delete a study with its log, for good."""
    from satisfice.studies import delete_study

    study = open_study(name, storage)
    if not yes:
        raise InvalidStudy(f"this deletes {study.name!r} with its log, for good; say it with --yes")
    delete_study(name, place(storage))
    done({"deleted": name}, f"deleted {name!r}", as_json)


@app.command()
def repair(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Rebuild the state of a study from its log, and check that they agree; exits with 1 if not."""
    study = open_study(name, storage)
    study.repair()
    _audit(study, as_json)


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
    result = open_study(name, storage).replay(log, policy=policy, seed=seed)
    done(result.to_dict(), str(result), as_json)


@app.command()
def explain(
    name: str = NAME,
    decision: int = typer.Argument(..., help="The id of the decision.", metavar="ID"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Say why a decision was made, and what was known then."""
    explanation = open_study(name, storage).explain(decision)
    done(explanation.to_dict(), explanation.text(options.width()), as_json)


@app.command("list")
def list_(storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """List the studies."""
    from satisfice.studies import list_studies, load_study

    where = place(storage)
    names = list_studies(where)
    if as_json:
        studies = [load_study(name, where) for name in names]
        print_json(
            [{"name": s.name, "policy": s.config.policy.label, "setting": str(s.config.setting)} for s in studies]
        )
    else:
        for name in names:
            typer.echo(name)


@app.command()
def export(
    name: str = NAME,
    path: Path = typer.Argument(..., help="The file to write: .parquet, .csv, .jsonl or .xlsx.", metavar="FILE"),
    storage: str | None = STORAGE,
    as_json: bool = JSON,
) -> None:
    """Write the log of a study to a file, one row per decision; the ending of its name says what kind of file."""
    study = open_study(name, storage)
    target = study.export(path)
    rows = sum(arm.pulls + arm.pending + arm.dropped for arm in study.status().arms)
    done({"file": str(target), "decisions": rows}, f"{rows} decisions: {target}", as_json)


@app.command()
def check(name: str = NAME, storage: str | None = STORAGE, as_json: bool = JSON) -> None:
    """Follow the log of a study and say whether it makes the state that is kept; exits with 1 if not."""
    _audit(open_study(name, storage), as_json)


def _audit(study: Study, as_json: bool) -> None:
    from dataclasses import asdict

    audit = study.check()
    done({**asdict(audit), "agrees": audit.agrees}, str(audit), as_json)
    if not audit.agrees:
        raise typer.Exit(1)


__all__ = ["app", "traffic"]
