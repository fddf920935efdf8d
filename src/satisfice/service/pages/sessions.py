"""Who is signed in to the pages: a text that only the browser has, kept here by its SHA-256, beside the key it is for.

So a database that is read by a stranger opens no page, and a key that is revoked ends every session that it began.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from abc import ABC, abstractmethod
from typing import Any

from satisfice.service.keys import Key, Keys, digest_of
from satisfice.studies.storages import Storage

# A session lasts for so many seconds.
LASTS = 12 * 3600.0
# What was looked up is taken for so many seconds; a session that was ended elsewhere lives on for as long.
FRESH = 5.0


class Kept(ABC):
    """Where sessions are kept: by their digest, the prefix of the key and until when."""

    @abstractmethod
    def add(self, digest: str, prefix: str, until: float) -> None:
        """Keep a session, and drop those that are over."""

    @abstractmethod
    def find(self, digest: str) -> tuple[str, float] | None:
        """The prefix of the key, and until when."""

    @abstractmethod
    def drop(self, digest: str) -> None:
        """End a session."""


class MemoryKept(Kept):
    """Sessions for as long as the process lives."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, float]] = {}

    def add(self, digest: str, prefix: str, until: float) -> None:
        now = time.time()
        self._sessions = {name: kept for name, kept in self._sessions.items() if kept[1] > now}
        self._sessions[digest] = prefix, until

    def find(self, digest: str) -> tuple[str, float] | None:
        return self._sessions.get(digest)

    def drop(self, digest: str) -> None:
        self._sessions.pop(digest, None)


class SQLKept(Kept):
    """Sessions in the database of the studies, for all replicas."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def _write(self, *statements: tuple[str, tuple[object, ...]]) -> None:
        database = self._storage._database

        def work(connection: Any) -> None:
            connection.execute("BEGIN IMMEDIATE" if database.lite else "BEGIN")
            for statement, values in statements:
                connection.execute(self._storage._say(statement), values)
            connection.execute("COMMIT")

        database.work(work)

    def add(self, digest: str, prefix: str, until: float) -> None:
        self._write(
            ("DELETE FROM satisfice_sessions WHERE until < ?", (time.time(),)),
            ("INSERT INTO satisfice_sessions (digest, prefix, until) VALUES (?, ?, ?)", (digest, prefix, until)),
        )

    def find(self, digest: str) -> tuple[str, float] | None:
        rows = self._storage._read("SELECT prefix, until FROM satisfice_sessions WHERE digest = ?", (digest,))
        return (rows[0][0], rows[0][1]) if rows else None

    def drop(self, digest: str) -> None:
        self._write(("DELETE FROM satisfice_sessions WHERE digest = ?", (digest,)))


def kept_in(storage: Storage) -> Kept:
    """Where the sessions of a storage are."""
    return SQLKept(storage) if hasattr(storage, "_database") else MemoryKept()


class Sessions:
    """Who is signed in. Every method may wait for the storage."""

    def __init__(self, kept: Kept, keys: Keys) -> None:
        self._kept, self._keys = kept, keys
        self._known: dict[str, tuple[float, Key]] = {}

    def begin(self, key: Key) -> str:
        """A new session for a key: the text that the browser keeps."""
        text = new_text()
        self._kept.add(digest_of(text), key.prefix, time.time() + LASTS)
        return text

    def key_of(self, text: str) -> Key | None:
        """The key that a session is for; None where there is none, or not any more."""
        digest = digest_of(text)
        until, known = self._known.get(digest, (0.0, None))
        if known is not None and until > time.monotonic():
            return known
        self._known.pop(digest, None)
        found = self._kept.find(digest)
        if found is None or found[1] < time.time():
            return None
        key = self._keys.find(found[0])
        if key is None or key.revoked_at is not None:
            return None
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[digest] = time.monotonic() + FRESH, key
        return key

    def end(self, text: str) -> None:
        """End a session."""
        self._known.pop(digest_of(text), None)
        self._kept.drop(digest_of(text))


def new_text() -> str:
    """A text that nobody can guess."""
    return secrets.token_urlsafe(32)


def token_of(text: str) -> str:
    """What a form of this browser has to say: a page from elsewhere cannot know it.

    Examples
    --------
    >>> token_of("a") == token_of("a"), token_of("a") == token_of("b")
    (True, False)
    """
    return hashlib.sha256(b"form:" + text.encode()).hexdigest()[:32]


def is_token(text: str, token: str) -> bool:
    """Whether a form comes from a page that this browser was given."""
    return hmac.compare_digest(token_of(text).encode(), token.encode())
