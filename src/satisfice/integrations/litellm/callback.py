"""The callback: a decision before every attempt, its cost and its reward afterwards."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from litellm.integrations.custom_logger import CustomLogger

from satisfice.errors import InvalidStudy
from satisfice.integrations.litellm import reading
from satisfice.integrations.litellm.attempt import CALLS, Attempt
from satisfice.integrations.litellm.judging import Bench
from satisfice.integrations.litellm.reading import NOTE, Kwargs, metadata_of, note_of, told_of
from satisfice.integrations.routing.deployments import deployment_id
from satisfice.integrations.routing.judge import Judge
from satisfice.integrations.routing.opening import StudyTerms
from satisfice.integrations.routing.route import Route
from satisfice.integrations.routing.sessions import Session
from satisfice.integrations.routing.tickets import Ticket
from satisfice.problem import BestReward, Setting
from satisfice.studies.storages import Storage

if TYPE_CHECKING:
    from satisfice.studies.status import Status

# The reward of an answer, from what LiteLLM logs of the call and the response; None where it is not known yet.
Reward = Callable[[Kwargs, object], object]
_numbers = itertools.count(1)
# Seconds that the first call waits for its study to be opened.
OPENING = 15.0


class Satisfice(CustomLogger):
    """A callback of LiteLLM that routes one group of deployments by a study.

    Parameters
    ----------
    group : str
        The `model_name` that the deployments share and callers ask for.
    storage : None, str or Storage
        Where the study is kept: None (memory), `"sqlite:///answers.db"`, `"postgresql://user@host/database"`, or the
        address of a service, `"http://host:8000"`.
    alpha : float
        Good enough is a mean reward of at least (1 - alpha) times the best model's.
    setting : BestReward, ReferenceArm or FixedThreshold, optional
        What is good enough, in place of `alpha`.
    study : str, optional
        The name of the study; by default that of the group.
    reward : callable, optional
        `reward(kwargs, response)`, called when an answer has been given; it may be a coroutine, and answers None where
        the reward is told later.
    judge : Judge, optional
        A model that grades a share of the answers.
    failed : float, None or callable
        What a failed call is worth: by default the lowest reward; None: it counts as nothing; or `failed(exception)`.
    sessions : bool
        Whether a conversation keeps its model: by `metadata.session_id`, else by how it begins.
    tokens : (int, int)
        Tokens of a call, in and out, for the first guess of what a call costs.
    key : str, optional
        The key of a service; by default the environment's `SATISFICE_KEY`.
    patience : float
        Seconds that a call waits for a decision when none is in stock; then the router's own choice stands.
    lost_after : float
        Seconds after which a call that was not heard of again, such as a cancelled one, counts as nothing.
    **options
        Further terms of `sf.create_study`: `session_ttl`, `expire_after`, `baseline`, `holdout`, `budget`, ...

    Examples
    --------
    >>> route = Satisfice("answers", alpha=0.1)
    >>> route
    <Satisfice answers>
    """

    def __init__(
        self,
        group: str,
        *,
        storage: str | Storage | None = None,
        alpha: float = 0.1,
        setting: Setting | None = None,
        study: str | None = None,
        policy: str = "glr",
        reward: Reward | None = None,
        judge: Judge | None = None,
        failed: float | str | Callable[[object], float | None] | None = "worst",
        sessions: bool = True,
        tokens: tuple[int, int] = (800, 300),
        key: str | None = None,
        patience: float = 2.0,
        lost_after: float = 600.0,
        **options: Any,
    ) -> None:
        super().__init__()
        terms = StudyTerms(
            study or group,
            setting or BestReward(alpha),
            storage,
            key,
            policy,
            {"expire_after": 3600.0, **options},
            patience,
        )
        self.route = Route(
            group,
            terms,
            lookup=reading.listed,
            everything=reading.everything,
            tokens=tokens,
            share=1.0 if judge is None else judge.share,
            sessions=sessions,
            lost_after=lost_after,
        )
        self.judge = judge
        # LiteLLM takes two callbacks of one class for the same one where their plain attributes are the same.
        self.name = f"satisfice-{group}-{next(_numbers)}"
        self._reward, self._failed = reward, failed
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="satisfice-litellm")
        self._tasks: set[asyncio.Task[None]] = set()
        self._bench = Bench(self.route, judge) if judge is not None else None

    def __repr__(self) -> str:
        return f"<Satisfice {self.route.group}>"

    # For people

    def tell(self, decision: object, reward: float) -> None:
        """The reward of an answer: of a decision's id, or of the response that LiteLLM gave, a stream included."""
        number = decision if isinstance(decision, str) else reading.decision_of(decision)
        if number is None:
            raise InvalidStudy("this response was not routed by a study, so it has no decision", parameter="decision")
        self.route.tell(number, reward)

    def status(self) -> Status:
        """The status of the study; `print` it."""
        self.route.study.leased.flush()
        return cast("Status", self.route.study.status())

    @property
    def counts(self) -> dict[str, int]:
        """What was done and what went wrong in this process: `decided`, `failed`, `rewards`, `problem: ...`."""
        return dict(self.route.counts)

    @property
    def judging(self) -> dict[str, float]:
        """What the judge has done in this process: `graded`, `dollars`."""
        graded, dollars = (0, 0.0) if self._bench is None else (self._bench.graded, self._bench.dollars)
        return {"graded": graded, "dollars": dollars}

    def report(self) -> dict[str, Any]:
        """The status as plain data, with what was done in this process."""
        counts, dollars = dict(self.route.counts), dict(self.route.dollars)
        here = {"counts": counts, "served": dict(self.route.served), "dollars": dollars, "judge": self.judging}
        return {"study": self.status().to_dict(), "here": here}

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until what is known has reached the study."""
        return self.route.study.leased.flush(timeout)

    def close(self) -> None:
        """Send what is left, give back what was not used, and let go of the study."""
        self.route.sweep(0.0)
        self.route.close()
        if self._bench is not None:
            self._bench.close()
        self._pool.shutdown(wait=False)

    # What LiteLLM calls

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[Any],
        messages: list[Any] | None,
        request_kwargs: Kwargs | None = None,
        parent_otel_span: object = None,
    ) -> list[Any]:
        """The deployments of one arm, of those that can be called."""
        if request_kwargs is None or not isinstance(healthy_deployments, list):
            return healthy_deployments
        if model != self.route.group:
            for name in CALLS:  # a fallback: what was decided before is not what answers
                self.route.notes.drop(request_kwargs.get(name))
            return healthy_deployments
        try:
            return await self._narrow(model, healthy_deployments, messages, request_kwargs)
        except Exception as error:
            self.route.problem("no decision", f"the router chooses by itself: {error!r}")
            return healthy_deployments

    async def _narrow(self, model: str, healthy: list[Any], messages: list[Any] | None, request: Kwargs) -> list[Any]:
        eligible = await reading.eligible(model, healthy, messages, request)
        if not eligible:
            return healthy
        call = Attempt(self, messages, request)
        ticket = None
        sampled = self.route.sampled(call.session)
        if sampled:
            ticket = self.route.ready(eligible, call.session, call.failed)
            if ticket is None and not self.route.away:
                ticket = await self._trip(eligible, call.session, call.failed)
        elif not self.route.opened and not self.route.away:
            first = await self._trip(eligible, None, ())
            if first is not None:  # it opened the study
                self.route.unused(first)
        if ticket is not None:
            call.decided(ticket)
            return [d for d in eligible if deployment_id(d) in ticket.deployments]
        # Nobody will grade this answer, or the study is away.
        led = self.route.leader(eligible, call.session)
        if led is None:
            return healthy
        call.note({"arm": led[0]})
        return [d for d in eligible if deployment_id(d) in led[1]]

    async def _trip(self, healthy: list[Any], session: Session | None, failed: Sequence[str]) -> Ticket | None:
        """A ticket by a trip to the study in a thread, for which a call waits as long as its patience lasts."""
        loop = asyncio.get_running_loop()
        patience = self.route.terms.patience if self.route.opened else max(OPENING, self.route.terms.patience)
        try:
            async with asyncio.timeout(patience + 0.5):
                # What is not waited for any longer is settled as a lost call, later.
                work = functools.partial(self.route.ask, healthy, session, failed)
                return await asyncio.shield(loop.run_in_executor(self._pool, work))
        except Exception as error:
            self.route.missed()
            self.route.problem("no decision", f"the router chooses by itself, or the leader is called: {error!r}")
            return None

    async def async_log_success_event(
        self, kwargs: Kwargs, response_obj: object, start_time: object, end_time: object
    ) -> None:
        """An answer was given."""
        try:
            ticket = self._of(kwargs)
            if ticket is not None and self._ended(ticket, kwargs):
                await self._rewarded(ticket, kwargs, response_obj)
        except Exception as error:
            self.route.problem("no reward", repr(error))

    async def async_log_failure_event(
        self, kwargs: Kwargs, response_obj: object, start_time: object, end_time: object
    ) -> None:
        """A call failed."""
        self._fail(kwargs, kwargs.get("exception"))

    async def async_post_call_failure_deployment_hook(
        self,
        request_data: Mapping[str, Any],
        exception: Exception,
        call_type: object,
        fallback_depth: int | None = None,
    ) -> None:
        """An attempt failed: this is said before the next one."""
        self._fail({"litellm_params": request_data}, exception)

    def log_success_event(self, kwargs: Kwargs, response_obj: object, start_time: object, end_time: object) -> None:
        """An answer was given by a synchronous call."""
        try:
            ticket = self._of(kwargs)
            if ticket is not None and self._ended(ticket, kwargs):
                asyncio.run(self._rewarded(ticket, kwargs, response_obj, wait=True))
        except Exception as error:
            self.route.problem("no reward", repr(error))

    def log_failure_event(self, kwargs: Kwargs, response_obj: object, start_time: object, end_time: object) -> None:
        """A synchronous call failed."""
        self._fail(kwargs, kwargs.get("exception"))

    async def async_post_call_success_deployment_hook(
        self, request_data: Kwargs, response: object, call_type: object
    ) -> None:
        """Says to the caller what was decided, in `response._hidden_params["satisfice"]`."""
        note = note_of(request_data)
        hidden = getattr(response, "_hidden_params", None)
        if note is not None and note.get("by") == self.name and isinstance(hidden, dict):
            hidden[NOTE] = {name: note[name] for name in ("study", "decision", "arm") if name in note}

    async def async_post_call_response_headers_hook(
        self,
        data: Kwargs,
        user_api_key_dict: object,
        response: object,
        request_headers: object = None,
        litellm_call_info: object = None,
    ) -> dict[str, str] | None:
        """Says to callers of the proxy what was decided."""
        kept = next(filter(None, (self.route.notes.get(data.get(name)) for name in CALLS)), None)
        note = told_of(response) or note_of(data) or cast("Kwargs | None", kept)
        if note is None or note.get("study") != self.route.terms.name or reading.other_group(note, data):
            return None
        words = {"x-satisfice-study": note["study"], "x-satisfice-arm": note["arm"]}
        return {**words, **({"x-satisfice-decision": note["decision"]} if "decision" in note else {})}

    # What became of a call

    def _of(self, kwargs: Kwargs) -> Ticket | None:
        """The ticket of a call that has ended, if it is the call that the decision was made for."""
        note = note_of(kwargs.get("litellm_params") or {})
        if note is None or note.get("by") != self.name:
            return None
        about = metadata_of(kwargs.get("litellm_params") or {})
        called = (about.get("model_info") or {}).get("id") or (kwargs.get("model_info") or {}).get("id")
        if "decision" not in note:
            if about.get("model_group") == note.get("group") and kwargs.get("response_cost"):
                arm = str(note["arm"])
                self.route.served[arm] += 1
                self.route.dollars[arm] = self.route.dollars.get(arm, 0.0) + float(kwargs["response_cost"])
            return None
        ticket = self.route.tickets.find(note["decision"])
        if ticket is None:
            return None
        # After a fallback the metadata still speaks of the decision that failed.
        if about.get("model_group") != ticket.group or (called is not None and str(called) not in ticket.deployments):
            self.route.counts["not ours"] += 1
            return None
        return ticket

    def _ended(self, ticket: Ticket, kwargs: Kwargs) -> bool:
        """Book what a call has cost; False where the answer came from a cache, or was booked already."""
        if ticket.ended:
            return False
        if kwargs.get("cache_hit") is True:
            self.route.unused(ticket)
            return False
        cost = kwargs.get("response_cost")
        if not cost and not self.route.free(ticket.arm):
            self.route.problem(
                "price of zero",
                f"LiteLLM says that a call of {ticket.arm!r} has cost {cost!r}, and nobody declared that it is free; "
                "the cost is not counted. Declare input_cost_per_token and output_cost_per_token for it",
            )
            cost = None
        self.route.ended(ticket, None if cost is None else float(cost))
        return True

    def _fail(self, kwargs: Kwargs, exception: object) -> None:
        try:
            ticket = self._of(kwargs)
            if ticket is None:
                return
            worth: object = self._failed
            if callable(worth):
                worth = worth(exception)
            elif worth == "worst":
                worth = self.route.terms.rewards[0]
            self.route.failed(ticket, None if worth is None else float(cast(float, worth)))
        except Exception as error:
            self.route.problem("no reward", repr(error))

    async def _rewarded(self, ticket: Ticket, kwargs: Kwargs, response: object, *, wait: bool = False) -> None:
        if self._reward is not None:
            value = self._reward(kwargs, response)
            if inspect.isawaitable(value):
                value = await value
            if value is not None:
                self.route.tell(ticket.id, float(cast(float, value)))
        elif self._bench is not None and ticket.reward is None:
            work = self._grade(self._bench, ticket, kwargs, response)
            if wait:
                await work
            else:
                self._later(work)

    async def _grade(self, bench: Bench, ticket: Ticket, kwargs: Kwargs, response: object) -> None:
        cost = await bench.grade(ticket, kwargs, response)
        if cost is not None:
            await asyncio.get_running_loop().run_in_executor(self._pool, bench.book, ticket, cost)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
