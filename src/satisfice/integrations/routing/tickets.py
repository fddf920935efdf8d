"""Calls under way: what was decided for each, and what is known of it by now.

A reward may come before the call has ended, and what the call has cost is known only then; so both are kept here until
they are together.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

# So many calls are kept; the oldest are let go first.
MOST = 200_000


@dataclass
class Ticket:
    """A decision for a call: `id` (of the study), the arm, the ids of its deployments, and the group that was asked
    for."""

    id: str
    arm: str
    deployments: frozenset[str]
    group: str | None = None
    trace: str | None = None  # what all attempts of one call have in common
    began: float = field(default_factory=time.monotonic)
    ended: bool = False
    settled: bool = False
    cost: float | None = None
    reward: float | None = None


class Tickets:
    """The tickets of one study. Threads may share it.

    Examples
    --------
    >>> tickets = Tickets()
    >>> tickets.add(Ticket("17", "small", frozenset({"a"}), "answers"))
    >>> tickets.find("17").arm, tickets.find("18")
    ('small', None)
    >>> [ticket.id for ticket in tickets.older(0.0)], len(tickets)
    (['17'], 0)
    """

    def __init__(self, most: int = MOST) -> None:
        self._tickets: OrderedDict[str, Ticket] = OrderedDict()
        self._most, self._lock = most, threading.Lock()

    def __len__(self) -> int:
        return len(self._tickets)

    def add(self, ticket: Ticket) -> None:
        """Keep a ticket."""
        with self._lock:
            self._tickets[ticket.id] = ticket
            while len(self._tickets) > self._most:
                self._tickets.popitem(last=False)

    def find(self, decision: object) -> Ticket | None:
        """The ticket of a decision, if it is here."""
        return self._tickets.get(decision) if isinstance(decision, str) else None

    def drop(self, ticket: Ticket) -> bool:
        """Let a ticket go; False where somebody did already."""
        with self._lock:
            return self._tickets.pop(ticket.id, None) is not None

    def older(self, seconds: float) -> list[Ticket]:
        """Let go of the tickets that are older than so many seconds, and answer with them."""
        before, old = time.monotonic() - seconds, []
        with self._lock:
            while self._tickets:
                ticket = next(iter(self._tickets.values()))
                if ticket.began > before:
                    break
                del self._tickets[ticket.id]
                old.append(ticket)
        return old


class Recent:
    """A few things by name, for so many seconds each. Threads may share it.

    Examples
    --------
    >>> recent = Recent(60.0)
    >>> recent.put("call 17", ("small",))
    >>> recent.get("call 17"), recent.get("call 18")
    (('small',), None)
    """

    def __init__(self, seconds: float, most: int = 10_000) -> None:
        self._seconds, self._most = seconds, most
        self._kept: OrderedDict[str, tuple[float, object]] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, name: str, value: object) -> None:
        """Keep something."""
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = time.monotonic() + self._seconds, value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def drop(self, name: object) -> None:
        """Let go of what is kept under a name."""
        with self._lock:
            if isinstance(name, str):
                self._kept.pop(name, None)

    def get(self, name: object) -> object:
        """What is kept under a name; None where nothing is."""
        until, value = self._kept.get(name, (0.0, None)) if isinstance(name, str) else (0.0, None)
        return value if until > time.monotonic() else None
