"""Calls to the service as data, and what their answers mean: the same for clients that wait and clients that do not."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar, cast
from urllib.parse import quote

import httpx

from satisfice import errors
from satisfice.errors import SatisficeError
from satisfice.problem import Setting
from satisfice.studies.explain import Explanation
from satisfice.studies.status import ArmStatus, Control, Drift, Refutation, SegmentStatus, Spending, Status, Verdict

T = TypeVar("T")

# The errors of the package, by the last part of a problem's type.
ERRORS: dict[str, type[SatisficeError]] = {
    "unknown-study": errors.UnknownStudy,
    "unknown-decision": errors.UnknownDecision,
    "reward-conflict": errors.RewardConflict,
    "study-exists": errors.StudyExists,
    "study-closed": errors.StudyClosed,
    "invalid-reward": errors.InvalidReward,
    "invalid-study": errors.InvalidStudy,
    "invalid-request": errors.InvalidStudy,
    "storage": errors.StorageBusy,
    "outcome-unknown": errors.OutcomeUnknown,
}
# Answers after which it is worth trying again.
AGAIN = (429, 502, 503, 504)


class RemoteDecision(NamedTuple):
    """A decision of the service: play `arm` once, and tell its reward under `id`."""

    id: str
    arm: str
    reason: str
    why: str
    subject: str | None = None
    key: str | None = None
    session: str | None = None
    segment: str | None = None


@dataclass
class Call(Generic[T]):
    """A call that may be made again until it is answered: it counts once."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    json: dict[str, Any] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    # What to send when it is made again, and the status that then means that the first time went through.
    again: dict[str, Any] | None = None
    done: int | None = None


class Unreachable(errors.StorageError):
    """The service did not answer, however often it was tried."""


def pause(attempt: int, answer: httpx.Response | None) -> float:
    """Seconds to wait before a call is made again."""
    said = answer.headers.get("retry-after", "") if answer is not None else ""
    least = float(said) if said.isdigit() else 0.0
    return min(max(least, 0.05 * 2.0**attempt * (0.5 + random.random())), 10.0)


def result(call: Call[T], answer: httpx.Response, attempt: int) -> T:
    """What an answer means. Raises the error that the service speaks of."""
    if answer.is_success or (attempt and call.done == answer.status_code):
        return call.read(answer)
    try:
        body = answer.json()
    except ValueError:
        body = {}
    kind = str(body.get("type", "")).removeprefix("urn:satisfice:")
    words = body.get("detail") or f"the service answered {answer.status_code}"
    error = ERRORS.get(kind, SatisficeError)
    raise error(words, hint=body.get("hint"), parameter=body.get("parameter") or body.get("place"))


# Reading


def _decisions(answer: httpx.Response) -> list[RemoteDecision]:
    return [RemoteDecision(**decision) for decision in answer.json()["decisions"]]


def _first(answer: httpx.Response) -> RemoteDecision:
    return _decisions(answer)[0]


def _nothing(answer: httpx.Response) -> None:
    return None


def _dict(answer: httpx.Response) -> dict[str, Any]:
    return cast("dict[str, Any]", answer.json())


def _changed(answer: httpx.Response) -> int:
    return int(answer.json()["changed"])


def _told(answer: httpx.Response) -> int:
    """How many rewards changed something. Where some were not taken, an error that says which; the others were."""
    body = answer.json()
    problems = body["problems"]
    if problems:
        first = problems[0]
        error = ERRORS.get(first["type"].removeprefix("urn:satisfice:"), SatisficeError)
        raise error(f"{len(problems)} of the rewards were not taken, the others were; the first: {first['detail']}")
    return int(body["changed"])


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def read_status(data: Mapping[str, Any]) -> Status:
    """A status from the plain data of `Status.to_dict`."""
    arms = tuple(
        ArmStatus(
            **arm
            | {
                "mean": _or_nan(arm["mean"]),
                "interval": tuple(arm["interval"]),
                "unanswered": _or_nan(arm["unanswered"]),
            }
        )
        for arm in data["arms"]
    )
    control = data["control"]
    if control is not None:
        means = {name: _or_nan(control[name]) for name in ("mean", "others_mean")}
        spans = {name: tuple(map(_or_nan, control[name])) for name in ("gain", "saving")}
        control = Control(**control | means | spans)
    return Status(
        **{
            **data,
            "arms": arms,
            "verdict": _verdict(data["verdict"]),
            "spending": Spending(**data["spending"]),
            "control": control,
            "warnings": tuple(data["warnings"]),
            "drifts": tuple(
                Drift(**line | {name: _or_nan(line[name]) for name in ("before", "since")})
                for line in data.get("drifts", ())
            ),
            "segments": tuple(_segment(line) for line in data["segments"]),
        }
    )


def _verdict(data: Mapping[str, Any]) -> Verdict:
    refuted = tuple(Refutation(**line | {"at": _or_nan(line["at"])}) for line in data["refuted"])
    return Verdict(**{**data, "refuted": refuted, "threshold": _or_nan(data["threshold"])})


def _segment(data: Mapping[str, Any]) -> SegmentStatus:
    means = {arm: _or_nan(mean) for arm, mean in data["means"].items()}
    known = {"share": _or_nan(data["share"]), "means": means, "verdict": _verdict(data["verdict"])}
    return SegmentStatus(**{**data, **known})


def _status(answer: httpx.Response) -> Status:
    return read_status(answer.json())


def _explanation(answer: httpx.Response) -> Explanation:
    data = answer.json()
    return Explanation(**data | {"status": read_status(data["status"])})


# Calls


def study_path(name: str, *parts: str) -> str:
    """The path of a study, or of something of it."""
    return "/".join(["/v1/studies", quote(name, safe=""), *(quote(part, safe="") for part in parts)])


def new_key() -> str:
    """A key that nobody else has."""
    return uuid.uuid4().hex


def create(
    name: str, arms: Mapping[str, float], setting: Setting, policy: str, options: Mapping[str, Any]
) -> Call[dict[str, Any]]:
    body = {"name": name, "arms": dict(arms), "setting": setting.to_dict(), "policy": policy, **options}
    # With the seed chosen here, the study that a lost answer spoke of is known as this one.
    body.setdefault("seed", random.SystemRandom().getrandbits(62))
    return Call("POST", "/v1/studies", _dict, body, again={**body, "load_if_exists": True})


def page(after: int) -> Call[dict[str, Any]]:
    return Call("GET", "/v1/studies", _dict, params={"after": after, "limit": 1000})


def delete(name: str) -> Call[None]:
    return Call("DELETE", study_path(name), _nothing, done=404)


def show(name: str) -> Call[dict[str, Any]]:
    return Call("GET", study_path(name), _dict)


def change(name: str, **body: object) -> Call[dict[str, Any]]:
    return Call("PATCH", study_path(name), _dict, body)


def ask(name: str, key: str | None, **body: object) -> Call[RemoteDecision]:
    given = {what: value for what, value in body.items() if value not in (None, ())}
    return Call("POST", study_path(name, "decisions"), _first, {"key": key or new_key(), **_plain(given)})


def ask_many(name: str, count: int, key: str | None, **body: object) -> Call[list[RemoteDecision]]:
    given = {what: value for what, value in body.items() if value not in (None, ())}
    return Call(
        "POST", study_path(name, "decisions"), _decisions, {"count": count, "key": key or new_key(), **_plain(given)}
    )


def _plain(body: Mapping[str, object]) -> dict[str, object]:
    return {
        what: list(cast("Iterable[object]", value)) if what in ("exclude", "available") and not isinstance(value, str)
        else [value] if what in ("exclude", "available") else value
        for what, value in body.items()
    }  # fmt: skip


def tell(name: str, decision: str, reward: float, cost: float | None, correct: bool) -> Call[int]:
    body = {"decision": decision, "reward": reward, "cost": cost, "correct": correct}
    return Call("POST", study_path(name, "rewards"), _changed, body)


def tell_many(
    name: str, rewards: Mapping[str, float] | Iterable[tuple[str, float] | tuple[str, float, float]], correct: bool
) -> Call[int]:
    items = rewards.items() if isinstance(rewards, Mapping) else rewards
    lines = [
        {"decision": item[0], "reward": item[1], "cost": item[2] if len(item) == 3 else None, "correct": correct}
        for item in items
    ]
    return Call("POST", study_path(name, "rewards"), _told, {"rewards": lines})


def abandon(name: str, decision: str) -> Call[int]:
    return Call("POST", study_path(name, "rewards"), _changed, {"decision": decision, "abandon": True})


def settle(name: str, lines: list[dict[str, Any]]) -> Call[dict[str, Any]]:
    return Call("POST", study_path(name, "rewards"), _dict, {"rewards": lines})


def record(name: str, lines: list[dict[str, Any]]) -> Call[list[RemoteDecision]]:
    return Call("POST", study_path(name, "records"), _decisions, {"records": lines})


def status(name: str) -> Call[Status]:
    return Call("GET", study_path(name, "status"), _status)


def explain(name: str, decision: str) -> Call[Explanation]:
    return Call("GET", study_path(name, "decisions", decision), _explanation)


def export(name: str) -> Call[bytes]:
    return Call("GET", study_path(name, "export"), lambda answer: answer.content)


def lease(name: str, count: int, seconds: float, unused: list[str], segment: str | None) -> Call[dict[str, Any]]:
    wanted = {"key": new_key(), "segment": segment} if count else {}
    body = {"count": count, "seconds": seconds, "unused": unused, **wanted}
    return Call("POST", study_path(name, "leases"), _dict, body)
