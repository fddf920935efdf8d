"""Errors over HTTP: `application/problem+json` with the package's own message and a stable type."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Struct, UnsetType

from satisfice import errors
from satisfice.errors import Hint, SatisficeError

PREFIX = "urn:satisfice:"
# What is wrong, by the last part of its type: the status, and the title.
KINDS: dict[str, tuple[int, str]] = {
    "no-key": (401, "A key is needed"),
    "forbidden": (403, "The key does not allow this"),
    "not-found": (404, "There is nothing here"),
    "unknown-study": (404, "There is no such study"),
    "unknown-decision": (404, "There is no such decision"),
    "method-not-allowed": (405, "This method is not known here"),
    "study-exists": (409, "There is already such a study"),
    "reward-conflict": (409, "The decision is settled in another way"),
    "study-closed": (410, "The study was closed"),
    "too-large": (413, "The body is too large"),
    "not-json": (415, "The body must be JSON"),
    "invalid-request": (422, "The request is not understood"),
    "invalid-reward": (422, "The reward is not one of this study"),
    "invalid-study": (422, "These terms make no sense"),
    "too-many": (429, "Too many requests"),
    "internal": (500, "Something went wrong here"),
    "storage": (503, "The storage does not answer"),
    "outcome-unknown": (503, "Nobody knows whether it happened"),
}
_KIND_OF: tuple[tuple[type[SatisficeError], str], ...] = (
    (errors.UnknownStudy, "unknown-study"),
    (errors.UnknownDecision, "unknown-decision"),
    (errors.RewardConflict, "reward-conflict"),
    (errors.StudyExists, "study-exists"),
    (errors.StudyClosed, "study-closed"),
    (errors.InvalidReward, "invalid-reward"),
    (errors.OutcomeUnknown, "outcome-unknown"),
    (errors.StorageError, "storage"),
    (SatisficeError, "invalid-study"),
)
# How HTTP says what Python says.
HINTS: dict[str, str] = {
    Hint.CORRECT: '"correct": true corrects it',
    Hint.CORRECT_INSTEAD: 'correct the reward with "correct": true',
    Hint.LOAD: '"load_if_exists": true opens it',
    Hint.CREATE: "POST /v1/studies makes it",
    Hint.SET_COST: 'PATCH it with "costs"',
    Hint.REOPEN: 'PATCH it with "closed": false to let it go on',
    # Nobody chooses a storage over HTTP, or reads files.
    Hint.STORAGE: "",
    Hint.FILE: "",
    Hint.GIVE_COSTS: "",
    Hint.ARM_COLUMN: "",
    Hint.REWARD_COLUMN: "",
    Hint.TABLE: "",
    Hint.MAX_BAD: "",
    Hint.SCALE: "",
    Hint.COSTS: "",
}
# Messages about the storage name hosts and files; they are for the log.
_HIDDEN = {
    "storage": "the storage cannot be reached or stays locked; nothing has changed, and trying again may help",
    "outcome-unknown": (
        "the storage was lost in the middle of a change; telling the same again, or asking with the same key, is safe"
    ),
}


class ProblemBody(Struct, omit_defaults=True):
    """What is wrong (RFC 9457). `type` is stable; `place` says where in the body, `parameter` which value."""

    type: str
    title: str
    status: int
    detail: str
    place: str | UnsetType = UNSET
    parameter: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET


class Problem(Exception):
    """A problem to answer with.

    Examples
    --------
    >>> Problem("no-key", "give a key").status
    401
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        place: str | None = None,
        parameter: str | None = None,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail = kind, detail
        self.place, self.parameter, self.hint = place, parameter, hint
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """The status to answer with."""
        return KINDS[self.kind][0]

    @property
    def type(self) -> str:
        """The stable name of what is wrong."""
        return PREFIX + self.kind

    def body(self) -> bytes:
        """The answer."""
        return msgspec.json.encode(
            ProblemBody(
                self.type,
                KINDS[self.kind][1],
                self.status,
                self.detail,
                self.place or UNSET,
                self.parameter or UNSET,
                self.hint or UNSET,
            )
        )


def problem_of(error: SatisficeError, decision: str | None = None) -> Problem:
    """An error of the package as a problem; `decision` is what the caller calls the decision that it is about.

    Examples
    --------
    >>> from satisfice.errors import RewardConflict
    >>> problem = problem_of(RewardConflict("decision 7 was told the reward 1", hint=Hint.CORRECT))
    >>> problem.status, problem.hint
    (409, '"correct": true corrects it')
    """
    kind = next(kind for known, kind in _KIND_OF if isinstance(error, known))
    hint = HINTS.get(error.hint, error.hint) if error.hint else None
    detail = _HIDDEN.get(kind) or error.worded(f"{error.parameter} = ", {error.hint or "": ""}, decision)
    headers = {"Retry-After": "1"} if KINDS[kind][0] == 503 else None
    return Problem(kind, detail, parameter=error.parameter, hint=hint, headers=headers)


def unknown_study(name: str) -> Problem:
    """What is said of a study that is not there, and of one that the key must not know of."""
    return Problem("unknown-study", f"there is no study {name!r}")


def unknown_decision(text: str) -> Problem:
    """What is said of a decision that is not there, and of one that the key must not know of."""
    return Problem("unknown-decision", f"there is no decision {text!r}")


def misread(error: msgspec.DecodeError, what: str = "body") -> Problem:
    """A body or a query that is not what it should be, with the place."""
    message, place = place_of(error)
    return Problem("invalid-request", f"{what}: {message}", place=place)


def place_of(error: msgspec.DecodeError) -> tuple[str, str]:
    """What is wrong, and where: `msgspec` has the place in its message alone.

    Examples
    --------
    >>> try:
    ...     msgspec.convert({"a": [1, "x"]}, dict[str, list[int]])
    ... except msgspec.ValidationError as error:
    ...     place_of(error)
    ('Expected `int`, got `str`', '$[...][1]')
    """
    message, _, place = str(error).partition(" - at `")
    return message, place.rstrip("`") or "$"
