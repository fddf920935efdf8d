"""Signing in with a key, and out again."""

from __future__ import annotations

import re

from satisfice.service.endpoint import Answer
from satisfice.service.keys import Key
from satisfice.service.pages.page import STRANGER, Visit

_INSIDE = re.compile(r"/[^/\\].*|/?")


async def form(visit: Visit) -> Answer:
    """The form for a key."""
    if visit.key is not STRANGER:
        return visit.go(visit.url(""))
    return visit.show("sign_in.html", to=visit.query.get("to", ""), error=None)


async def sign_in(visit: Visit) -> Answer:
    """Begin a session for a key that is valid and may read."""
    text, to = visit.said("key"), visit.said("to")
    door, service = visit.service.door, visit.service
    key = door.known(text)
    if key is None:
        await service.run(lambda: door.look_up(text))
        key = door.known(text)
    error = None
    if not isinstance(key, Key):
        error = "This is no valid key. A key looks like sf_abcd1234_… and is shown once, when it is made."
    elif not key.allows("read"):
        error = f"This key ({key.label}) may not read. The pages need a key with the scope read or admin."
    if error is not None or not isinstance(key, Key):
        return visit.show("sign_in.html", code=403, to=to, error=error)
    holder = key
    visit.new = await service.run(lambda: visit.sessions.begin(holder))
    # Nowhere but to a page of ours.
    inside = to if _INSIDE.fullmatch(to) and to.isascii() and to.isprintable() else "/"
    return visit.go(visit.root + (inside or "/"))


async def sign_out(visit: Visit) -> Answer:
    """End the session."""
    await visit.service.run(lambda: visit.sessions.end(visit.text))
    return visit.go(visit.url("sign-in"))
