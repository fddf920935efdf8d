"""What happened to a study, in sentences: changes, refutations, verdicts, and who did it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from satisfice.service.pages.rendering import amount
from satisfice.studies.facts import CERTIFIED, REFUTED, Fact, Facts, read_facts
from satisfice.studies.records import Event

# What the study finds by itself.
FOUND = ("rest", "drift", "add_segment")


@dataclass(frozen=True)
class Happening:
    """Something that happened. `kind` is "change" or "finding"."""

    seq: int
    at: float
    kind: str
    words: str
    who: str | None
    decisions: int | None = None  # how many there were by then, where that is known


def happenings(events: Sequence[Event], names: Sequence[str], segments: Sequence[str] = ()) -> list[Happening]:
    """What events (newest first) say, newest first. `names` are those of the arms."""
    found: list[Happening] = []
    before: dict[object, list[Fact]] = {}
    for event in reversed(events):
        place = event.data.get("segment")
        where = f"In ‘{segments[place]}’: " if isinstance(place, int) and place < len(segments) else ""
        if event.kind == "judge":
            facts = read_facts(cast(Facts, event.data["facts"]))
            found += [
                Happening(event.seq, event.at, "finding", where + words, None)
                for words in _findings(event, facts, before.get(place), names)
            ]
            before[place] = facts
            continue
        who = cast("str | None", event.data.get("by"))
        number = cast("int | None", event.data.get("decisions"))
        kind = "finding" if event.kind in FOUND else "change"
        found.append(Happening(event.seq, event.at, kind, where + _words(event, names), who, number))
    return found[::-1]


def _name(names: Sequence[str], arm: object) -> str:
    return f"‘{names[arm]}’" if isinstance(arm, int) and 0 <= arm < len(names) else f"arm {arm}"


def _findings(event: Event, facts: list[Fact], before: list[Fact] | None, names: Sequence[str]) -> list[str]:
    """What is proved since the last look, and what no longer is."""
    known = {(fact.kind, fact.arm) for fact in before or []}
    now = {(fact.kind, fact.arm) for fact in facts}
    words = []
    for fact in facts:
        # Of the first event that is looked at, what is older is known by its date.
        if (fact.kind, fact.arm) in known or (before is None and fact.at != event.at):
            continue
        if fact.kind == REFUTED:
            whom = "the threshold" if fact.by < 0 else _name(names, fact.by)
            words.append(f"{_name(names, fact.arm)} is proved not to be good enough (by {whom})")
        elif fact.kind == CERTIFIED:
            words.append(f"{_name(names, fact.arm)} is certified: proved to be the cheapest arm that is good enough")
        else:
            words.append("It is proved that no arm is good enough")
    for kind, arm in known - now:
        what = "The verdict for" if kind == CERTIFIED else "The refutation of" if kind == REFUTED else "The verdict"
        words.append(f"{what} {_name(names, arm)} is withdrawn: a reward was corrected, or the arms changed")
    return words


def _words(event: Event, names: Sequence[str]) -> str:
    data = event.data
    arm = "" if "arm" not in data else _name(names, data["arm"]) if event.kind == "drift" else f"‘{data['arm']}’"
    if event.kind == "set_cost":
        return f"The price of {arm} is {amount(cast(float, data['cost']))} from now on"
    if event.kind == "add_arm":
        return f"{arm} was added, at {amount(cast(float, data['cost']))}"
    if event.kind == "rest":
        arms = cast("list[int]", data["arms"])
        listed = ", ".join(_name(names, one) for one in arms)
        return f"Does not answer and rests: {listed}" if arms else "All arms answer again"
    if event.kind == "archive":
        return f"Decisions up to number {data['through']:,} were put into an archive"
    return {
        "retire_arm": f"{arm} was retired",
        "pause": "The study was paused: the baseline is served",
        "resume": "The study goes on after a pause",
        "end": "The study was closed",
        "reopen": "The study was opened again",
        "drift": f"The rewards of {arm} have changed, around decision {data.get('since')}",
        "add_segment": f"The segment ‘{data.get('name')}’ came up",
    }.get(event.kind, f"{event.kind.replace('_', ' ')} {arm}".strip().capitalize())
