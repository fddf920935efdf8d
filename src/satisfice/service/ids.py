"""Ids of decisions as the service says them: one opaque text that names the study, too.

The number of the decision, the number of the study in its storage and 24 bits that only this study makes of them, in
base 64. So a text that nobody was given is known as one, also after the study was deleted and its number used again.
The decisions of a block that was taken in advance are numbered from its first: `<first>.0`, `<first>.1`, ...
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import NamedTuple

_NUMBER, _STUDY, _CHECK = 5, 4, 3  # bytes, which makes 16 letters
# So many decisions of a block can be named from its first.
MOST_IN_BLOCK = 10_000
_ID = re.compile(r"([A-Za-z0-9_-]{16})(?:\.(0|[1-9][0-9]{0,3}))?")


class Parts(NamedTuple):
    """What an id says: the study, the decision that it names or counts from, the check, and how far to count."""

    study: int
    first: int
    check: bytes
    place: int

    @property
    def number(self) -> int:
        """The number of the decision."""
        return self.first + self.place


def write_id(study: int, token: str, number: int) -> str:
    """The id of a decision.

    Examples
    --------
    >>> text = write_id(7, "0123456789abcdef", 42)
    >>> len(text), read_id(text).study, read_id(text).number
    (16, 7, 42)
    """
    named = number.to_bytes(_NUMBER, "big") + study.to_bytes(_STUDY, "big")
    return urlsafe_b64encode(_check(named, token) + named).decode()


def read_id(text: str) -> Parts | None:
    """What an id says; None where it is none.

    Examples
    --------
    >>> read_id("not one")
    >>> parts = read_id(write_id(7, "0123456789abcdef", 42) + ".3")
    >>> parts.study, parts.number, belongs(parts, "0123456789abcdef"), belongs(parts, "fedcba9876543210")
    (7, 45, True, False)
    """
    found = _ID.fullmatch(text)
    if found is None:
        return None
    data = urlsafe_b64decode(found[1])
    number = int.from_bytes(data[_CHECK : _CHECK + _NUMBER], "big")
    study = int.from_bytes(data[_CHECK + _NUMBER :], "big")
    # Numbers of studies are those that a database can have.
    return Parts(study, number, data[:_CHECK], int(found[2] or 0)) if number and 0 < study < 1 << 31 else None


def belongs(parts: Parts, token: str) -> bool:
    """Whether the check of an id is the one that the study with this token makes."""
    named = parts.first.to_bytes(_NUMBER, "big") + parts.study.to_bytes(_STUDY, "big")
    return _check(named, token) == parts.check


def _check(named: bytes, token: str) -> bytes:
    return blake2b(named, digest_size=_CHECK, key=token.encode()).digest()
