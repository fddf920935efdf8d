"""The form for a new study, which explains each choice."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from satisfice.errors import SatisficeError
from satisfice.policies import all_policies
from satisfice.service.endpoint import Answer
from satisfice.service.pages.page import Visit
from satisfice.service.problems import Problem, place_of, problem_of
from satisfice.service.schemas import NewStudy
from satisfice.service.studies import make_study

# The fields and what they are at first.
FIELDS = {
    "name": "",
    "arms": "",
    "kind": "best",
    "alpha": "0.05",
    "reference": "",
    "mu0": "",
    "confidence": "0.95",
    "policy": "glr",
    "horizon": "",
    "low": "0",
    "high": "1",
    "binary": "",
    "baseline": "",
    "holdout": "",
    "budget": "",
    "worth": "",
    "expire_after": "",
    "mature_after": "",
    "costs": "fixed",
    "drift": "watch",
}
EXAMPLE = "small, 0.2\nmiddle, 1.5\nlarge, 8"


async def form(visit: Visit) -> Answer:
    """The form."""
    return _show(visit, FIELDS)


def _show(visit: Visit, values: Mapping[str, str], error: str | None = None, field: str | None = None) -> Answer:
    return visit.show(
        "new.html",
        code=422 if error else 200,
        values=values,
        error=error,
        field=field,
        policies=[(id, cls.summary) for id, cls in sorted(all_policies().items(), key=lambda pair: pair[0] != "glr")],
        example=EXAMPLE,
    )


def read_arms(text: str) -> dict[str, float]:
    """Arms and costs, one in a line: the name, a comma, the cost. Raises a `Problem`.

    Examples
    --------
    >>> read_arms("small, 0.2\\n\\nlarge; large, 8")
    {'small': 0.2, 'large; large': 8.0}
    """
    arms: dict[str, float] = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, _, cost = line.rpartition(",")
        name = name.strip()
        try:
            value = float(cost)
        except ValueError:
            name = ""
        if not name:
            raise Problem("invalid-request", f"write a name, a comma and a cost in each line; got {line.strip()!r}",
                          place="arms")  # fmt: skip
        if name in arms:
            raise Problem("invalid-request", f"there are two arms {name!r}", place="arms")
        arms[name] = value
    if not arms:
        raise Problem("invalid-request", "a study needs arms: one in each line, a name, a comma and a cost",
                      place="arms")  # fmt: skip
    return arms


def _typed(values: Mapping[str, str], name: str) -> float | None:
    text = values[name]
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise Problem("invalid-request", f"{text!r} is no number", place=name) from None


def read(values: Mapping[str, str]) -> NewStudy:
    """The study that the form describes. Raises a `Problem` whose place is the field."""
    setting: dict[str, object] = {"kind": values["kind"]}
    if values["kind"] == "fixed":
        setting["mu0"] = _needed(values, "mu0")
    else:
        setting["alpha"] = _needed(values, "alpha")
    arms = read_arms(values["arms"])
    if values["kind"] == "reference":
        setting["arm"] = values["reference"]
        if values["reference"] not in arms:
            raise Problem("invalid-request", f"the reference arm is one of {', '.join(arms)}", place="reference")
    data: dict[str, object] = {"name": values["name"], "arms": arms, "setting": setting, "policy": values["policy"]}
    data |= {"confidence": _typed(values, "confidence"), "rewards": [_needed(values, "low"), _needed(values, "high")]}
    data |= {"binary": values["binary"] == "1", "costs": values["costs"], "baseline": values["baseline"] or None}
    data["drift"] = values["drift"] or None
    for name in ("budget", "worth", "expire_after", "mature_after"):
        data[name] = _typed(values, name)
    data["holdout"] = (_typed(values, "holdout") or 0.0) / 100.0
    horizon = _typed(values, "horizon")
    data["horizon"] = None if horizon is None else int(horizon)
    try:
        return msgspec.convert(data, NewStudy)
    except msgspec.ValidationError as error:
        message, place = place_of(error)
        name = place.lstrip("$.").split(".")[0].split("[")[0]
        if name == "name":
            message = "a name has 1 to 100 letters, digits, spaces and _.:@+-, and begins with a letter or digit"
        raise Problem("invalid-request", message, place=name or "name") from None


def _needed(values: Mapping[str, str], name: str) -> float:
    value = _typed(values, name)
    if value is None:
        raise Problem("invalid-request", "a number is needed here", place=name)
    return value


async def create(visit: Visit) -> Answer:
    """Make the study, or say what is wrong with which field."""
    values = {name: visit.said(name, "" if name == "binary" else default) for name, default in FIELDS.items()}
    try:
        new = read(values)
        await visit.service.run(lambda: make_study(visit.service, visit.key, new))
    except (Problem, SatisficeError) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        if problem.kind in ("storage", "outcome-unknown"):
            raise
        field = problem.place if problem.place in FIELDS else problem.parameter
        if problem.kind == "study-exists":
            field = "name"
        detail = problem.detail[:1].upper() + problem.detail[1:]
        return _show(visit, values, detail, field if field in FIELDS else None)
    return visit.go(visit.url("studies", new.name, done="new"))
