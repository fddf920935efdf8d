"""One attempt of a call: what is known of it before it is made, and the note of what was decided for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from satisfice.integrations.litellm.reading import FIELDS, NOTE, Kwargs, input_of
from satisfice.integrations.routing.sessions import Session, session_of
from satisfice.integrations.routing.tickets import Ticket

if TYPE_CHECKING:
    from satisfice.integrations.litellm.callback import Satisfice

# By what a call is known before it is answered.
CALLS = ("litellm_call_id", "litellm_trace_id")


class Attempt:
    """One attempt of a call: its session, and which arms failed it before."""

    def __init__(self, owner: Satisfice, messages: Sequence[object] | None, request: Kwargs) -> None:
        route = owner.route
        self.request, self.route, self.owner = request, route, owner
        self.field = next((field for field in FIELDS if request.get(field) is not None), "metadata")
        self.metadata: Kwargs = request.get(self.field) or {}
        self.failed = route.failures(request.get("litellm_trace_id"))
        self.session: Session | None = None
        if route.sessions is not None:
            named = self.metadata.get("session_id") or (request.get("metadata") or {}).get("session_id")
            said = messages if messages is not None else input_of(request)
            self.session = session_of(named or request.get("litellm_session_id"), said, request)

    def decided(self, ticket: Ticket) -> None:
        """Note a decision with the call."""
        ticket.group, ticket.trace = self.metadata.get("model_group"), self.request.get("litellm_trace_id")
        self.note({"decision": ticket.id, "arm": ticket.arm})

    def note(self, what: Kwargs) -> None:
        # A copy: callers use one dictionary for many calls.
        who = {"study": self.route.terms.name, "by": self.owner.name}
        about = {**who, "group": self.metadata.get("model_group"), **what}
        self.request[self.field] = {**self.metadata, NOTE: about}
        for name in CALLS:
            if isinstance(self.request.get(name), str):
                self.route.notes.put(self.request[name], about)
