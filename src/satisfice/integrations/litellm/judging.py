"""A judge at work: it grades answers through LiteLLM, and what that costs is booked apart."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from satisfice.integrations.litellm.reading import Kwargs, answer_of, complete, cost_of
from satisfice.integrations.routing.judge import Judge, text_of
from satisfice.integrations.routing.opening import Opened, open_study
from satisfice.integrations.routing.route import Route
from satisfice.integrations.routing.tickets import Ticket
from satisfice.problem import FixedThreshold

# The name of the study in which a judge's costs are booked is that of the study with this behind it.
BOOKS = "-judge"


class Bench:
    """Where a judge sits. Its calls and costs are in a study of their own, whose one arm is the judge."""

    def __init__(self, route: Route, judge: Judge) -> None:
        self.route, self.judge = route, judge
        self.graded, self.dollars = 0, 0.0
        self._books: Opened | None = None
        self._lock = threading.Lock()

    async def grade(self, ticket: Ticket, kwargs: Kwargs, response: object) -> float | None:
        """Grade an answer, and tell its reward; answers with what the grade has cost, None where it failed."""
        try:
            question = text_of(kwargs.get("messages") or kwargs.get("input"))
            options: dict[str, Any] = dict(self.judge.options or {})
            said = await complete(self.judge.model, self.judge.messages(question, answer_of(response)), options)
            cost = cost_of(said)
            self.graded += 1
            self.dollars += cost
            grade = self.judge.grade(answer_of(said))
            low, high = self.route.terms.rewards
            self.route.tell(ticket.id, low + grade * (high - low))
            return cost
        except Exception as error:
            self.route.problem("no grade", repr(error))
            self.route.dropped(ticket)
            return None

    def book(self, ticket: Ticket, cost: float) -> None:
        """Book what a grade has cost, in a thread. It counts once, however often it is said."""
        try:
            with self._lock:
                if self._books is None:
                    terms = replace(
                        self.route.terms,
                        name=self.route.terms.name + BOOKS,
                        setting=FixedThreshold(0.0),
                        policy="ft-ucb",
                        options={},
                    )
                    self._books = open_study(terms, {self.judge.model: cost})
            self._books.record(self.judge.model, 1.0, cost, f"{ticket.id}")
        except Exception as error:
            self.route.problem("not booked", repr(error))

    def close(self) -> None:
        """Let go of the books."""
        if self._books is not None:
            self._books.close()
            self._books = None
