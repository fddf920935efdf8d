"""Keys of the service: what they allow, and where they are kept.

A key is `sf_<prefix>_<secret>`. The prefix is public: it names the key in lists and logs. Of the key itself only its
SHA-256 is kept, so that it can be shown once, when it is made.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import string
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from satisfice.errors import InvalidData
from satisfice.studies.storages import Storage

SCOPES = ("decide", "reward", "read", "admin")
# A key that was revoked elsewhere is still taken for so many seconds at most.
FRESH = 5.0
_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Key:
    """What is kept of a key."""

    prefix: str
    digest: str
    label: str
    scopes: tuple[str, ...]
    studies: tuple[str, ...] | None  # None: all
    rate: str | None
    created_at: float
    revoked_at: float | None = None

    @property
    def named(self) -> str:
        """The key as a log of changes names it."""
        return f"{self.label} (sf_{self.prefix})" if self.digest else self.label

    def allows(self, scope: str) -> bool:
        """Whether the key has a scope; `admin` has them all."""
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, study: str) -> bool:
        """Whether the key may know of a study."""
        return self.studies is None or study in self.studies


# Who comes in without a key where none is asked for.
NOBODY = Key("no-auth", "", "no key", ("admin",), None, None, 0.0)


def make_key(
    label: str, scopes: Iterable[str], studies: Iterable[str] | None = None, rate: str | None = None
) -> tuple[str, Key]:
    """A new key, as it is shown once, and what is kept of it.

    Examples
    --------
    >>> text, key = make_key("gateway", ["decide"])
    >>> text.startswith("sf_"), prefix_of(text) == key.prefix, fits(key, text), fits(key, text + "x")
    (True, True, True, False)
    """
    wanted = tuple(dict.fromkeys(scopes))
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        given = ", ".join(unknown) or "none"
        raise InvalidData(f"the scopes of a key are {', '.join(SCOPES)}; got {given}", parameter="scope")
    if rate is not None:
        from satisfice.service.limiting import read_rate

        read_rate(rate)
    prefix, secret = _draw(8), _draw(32)
    text = f"sf_{prefix}_{secret}"
    named = None if studies is None else tuple(studies)
    return text, Key(prefix, digest_of(text), label, wanted, named, rate, time.time())


def _draw(count: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(count))


def digest_of(text: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(text.encode()).hexdigest()


def prefix_of(text: str) -> str | None:
    """The public part of a key; None where the text is none."""
    parts = text.split("_")
    return parts[1] if len(parts) == 3 and parts[0] == "sf" and text.isascii() and len(text) < 100 else None


def fits(key: Key, text: str) -> bool:
    """Whether the text is this key, in a time that does not tell how nearly."""
    return hmac.compare_digest(key.digest, digest_of(text))


class Keys(ABC):
    """Where keys are kept."""

    @abstractmethod
    def add(self, key: Key, *, first: bool = False) -> bool:
        """Keep a key; with `first`, only if there is none yet. Answers whether it was kept."""

    @abstractmethod
    def find(self, prefix: str) -> Key | None:
        """The key with this prefix."""

    @abstractmethod
    def all(self) -> list[Key]:
        """All keys, in the order of their creation."""

    @abstractmethod
    def revoke(self, prefix: str) -> bool:
        """Take a key for no longer; answers whether there was one that was taken."""


class MemoryKeys(Keys):
    """Keys for as long as the process lives."""

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._lock = threading.Lock()

    def add(self, key: Key, *, first: bool = False) -> bool:
        with self._lock:
            if first and self._keys:
                return False
            self._keys[key.prefix] = key
            return True

    def find(self, prefix: str) -> Key | None:
        return self._keys.get(prefix)

    def all(self) -> list[Key]:
        return list(self._keys.values())

    def revoke(self, prefix: str) -> bool:
        key = self._keys.get(prefix)
        if key is None or key.revoked_at is not None:
            return False
        self._keys[prefix] = replace(key, revoked_at=time.time())
        return True


_COLUMNS = "prefix, digest, label, scopes, studies, rate, created_at, revoked_at"


class SQLKeys(Keys):
    """Keys in the database of the studies."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def _write(self, work: Callable[[Any], bool]) -> bool:
        """Work in a transaction of its own."""
        database = self._storage._database

        def whole(connection: Any) -> bool:
            connection.execute("BEGIN IMMEDIATE" if database.lite else "BEGIN")
            answer = work(connection)
            connection.execute("COMMIT")
            return answer

        return bool(database.work(whole))

    def add(self, key: Key, *, first: bool = False) -> bool:
        storage = self._storage
        values = (
            *(key.prefix, key.digest, key.label, json.dumps(key.scopes)),
            *(None if key.studies is None else json.dumps(key.studies), key.rate, key.created_at, key.revoked_at),
        )

        def work(connection: Any) -> bool:
            if first:
                if not storage._database.lite:
                    connection.execute("LOCK TABLE satisfice_keys IN SHARE ROW EXCLUSIVE MODE")
                if connection.execute("SELECT 1 FROM satisfice_keys LIMIT 1").fetchone() is not None:
                    return False
            connection.execute(
                storage._say(f"INSERT INTO satisfice_keys ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"), values
            )
            return True

        return self._write(work)

    def find(self, prefix: str) -> Key | None:
        rows = self._storage._read(f"SELECT {_COLUMNS} FROM satisfice_keys WHERE prefix = ?", (prefix,))
        return _key(rows[0]) if rows else None

    def all(self) -> list[Key]:
        return [_key(row) for row in self._storage._read(f"SELECT {_COLUMNS} FROM satisfice_keys ORDER BY created_at")]

    def revoke(self, prefix: str) -> bool:
        storage = self._storage
        statement = "UPDATE satisfice_keys SET revoked_at = ? WHERE prefix = ? AND revoked_at IS NULL"
        return self._write(lambda c: c.execute(storage._say(statement), (time.time(), prefix)).rowcount > 0)


def _key(row: tuple[Any, ...]) -> Key:
    prefix, digest, label, scopes, studies, rate, created, revoked = row
    named = None if studies is None else tuple(json.loads(studies))
    return Key(prefix, digest, label, tuple(json.loads(scopes)), named, rate, created, revoked)


def keys_of(storage: Storage) -> Keys:
    """The keys of a storage: beside the studies in its database, or in memory.

    Examples
    --------
    >>> from satisfice.studies import get_storage
    >>> keys = keys_of(get_storage(None))
    >>> text, key = make_key("first", ["admin"])
    >>> keys.add(key, first=True), keys.add(make_key("second", ["admin"])[1], first=True)
    (True, False)
    """
    if hasattr(storage, "_database"):
        return SQLKeys(storage)
    kept = getattr(storage, "_keys", None)
    if kept is None:
        kept = MemoryKeys()
        storage._keys = kept  # type: ignore[attr-defined]
    assert isinstance(kept, Keys)
    return kept


class Doorkeeper:
    """Who comes in, with what was looked up kept for some seconds."""

    def __init__(self, keys: Keys, fresh: float = FRESH) -> None:
        self._keys, self._fresh = keys, fresh
        self._known: dict[str, tuple[float, Key | None]] = {}

    def known(self, text: str) -> Key | bool | None:
        """The key if it is known to fit, False if it is known not to, None if it must be looked up."""
        prefix = prefix_of(text)
        if prefix is None:
            return False
        until, key = self._known.get(prefix, (0.0, None))
        if until < time.monotonic():
            return None
        return key if key is not None and fits(key, text) else False

    def look_up(self, text: str) -> None:
        """Look a key up; this waits for the storage."""
        prefix = prefix_of(text) or ""
        key = self._keys.find(prefix)
        if key is not None and key.revoked_at is not None:
            key = None
        if len(self._known) > 10_000:
            self._known.clear()
        # What is not there may be made in this moment.
        self._known[prefix] = time.monotonic() + (self._fresh if key is not None else min(self._fresh, 0.5)), key

    def forget(self, prefix: str) -> None:
        """Look a key up anew when it comes again."""
        self._known.pop(prefix, None)
