"""Sessions of calls: a conversation keeps its model while it goes on, so that prompt caches survive.

A session is named by the caller, or known by how the conversation begins: its system prompt, its tools, and the first
thing that the user said. What this process has served is remembered here, so that most calls of a session need no trip
to the study; where another process has gone on with it, the study is asked.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# So many sessions are remembered; the study itself forgets none before its time.
MOST = 100_000
LONGEST = 200


class Session(NamedTuple):
    """A session of a call: its key, whether the caller named it, and how often the model has spoken in it."""

    key: str
    named: bool
    turns: int


@dataclass
class Kept:
    """The arm of a session in this process: until when, since when the study knows of it (None: it does not), and the
    turn of the last call."""

    arm: str
    until: float
    bound: float | None
    turns: int


def session_of(named: object, messages: Sequence[object] | None, request: Mapping[str, object]) -> Session | None:
    """The session of a call; None where there is nothing to know it by.

    Examples
    --------
    >>> first = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    >>> later = [*first, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "More"}]
    >>> a, b = session_of(None, first, {}), session_of(None, later, {})
    >>> a.key == b.key, a.turns, b.turns
    (True, 0, 1)
    >>> session_of("chat 17", first, {})
    Session(key='chat 17', named=True, turns=0)
    """
    said = [message for message in messages or () if isinstance(message, Mapping)]
    turns = sum(message.get("role") == "assistant" for message in said)
    if named:
        text = str(named)
        return Session(text if len(text) <= LONGEST else _digest([text]), True, turns)
    first = next((message.get("content") for message in said if message.get("role") == "user"), None)
    if first is None:
        return None
    system = [message.get("content") for message in said if message.get("role") in ("system", "developer")]
    return Session(_digest([request.get("system"), system, request.get("tools"), first]), False, turns)


def _digest(parts: object) -> str:
    data = json.dumps(parts, sort_keys=True, default=str).encode()
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def drawn(session: Session) -> float:
    """A number within [0, 1) that is the same for every call of a session, in every process."""
    return int.from_bytes(hashlib.blake2b(session.key.encode(), digest_size=8).digest(), "big") / 2**64


class Sessions:
    """The sessions that this process has served, for `ttl` seconds each. Threads may share it.

    Examples
    --------
    >>> sessions = Sessions(1800.0)
    >>> session = Session("chat 17", True, 0)
    >>> sessions.keep(session, "small", bound=True)
    >>> sessions.find(session).arm
    'small'
    """

    def __init__(self, ttl: float, most: int = MOST) -> None:
        self.ttl, self._most = ttl, most
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, session: Session) -> Kept | None:
        """What is known of a session here; None where nothing is, or another process has gone on with it since."""
        with self._lock:
            kept = self._kept.get(session.key)
            if kept is None or kept.until < time.monotonic():
                return None
            # The model has spoken once more since the call that was served here, or not at all (the call is repeated).
            return kept if session.named or session.turns in (kept.turns, kept.turns + 1) else None

    def keep(self, session: Session, arm: str, *, bound: bool) -> None:
        """A call of a session was served by `arm`; `bound` where the study knows of it."""
        now = time.monotonic()
        with self._lock:
            known = self._kept.pop(session.key, None)
            since = now if bound else known.bound if known is not None and known.arm == arm else None
            self._kept[session.key] = Kept(arm, now + self.ttl, since, session.turns)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
