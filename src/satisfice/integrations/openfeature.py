"""OpenFeature: a flag is a study, its variants are the arms, and tracked events are rewards.

api.set_provider(SatisficeProvider("sqlite:///studies.db"))
client = api.get_client()
flag = client.get_string_details("answers", "small", EvaluationContext(targeting_key="anna"))
client.track("answers", EvaluationContext("anna"), TrackingEventDetails(1.0))
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, cast

from satisfice.errors import MissingExtra, SatisficeError, UnknownStudy

try:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import FlagNotFoundError, GeneralError, InvalidContextError, TypeMismatchError
    from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails
except ModuleNotFoundError as error:
    raise MissingExtra(f"this provider needs {error.name}; pip install 'satisfice[openfeature]'") from error

if TYPE_CHECKING:
    from satisfice.client.waiting import Client
    from satisfice.studies import Storage, Study

__all__ = ["SatisficeProvider"]

log = logging.getLogger("satisfice.openfeature")
T = TypeVar("T")

# So many decisions are remembered by whom they are for, so that an event without the id of a decision finds it.
MOST = 100_000
# The attributes of a context that are told to the study.
TERMS = ("session", "exclude", "available")
YES, NO = ("true", "on", "yes", "1"), ("false", "off", "no", "0")


class SatisficeProvider(AbstractProvider):
    """A provider of OpenFeature whose flags are studies.

    A flag's key is the name of a study and its value an arm; `flag_metadata["decision"]` is what rewards are told for.
    The targeting key is the subject: while its decision is open it gets the same again. The attributes `session`,
    `exclude` and `available` of a context go to `ask`. Where there is no such study, or it cannot be reached,
    OpenFeature gives the caller's default and an error code.

    `track(event, context, details)` tells a reward: `details.value` is the reward (1 by default), its attributes
    `decision` and `cost` say of which decision and what it has cost. Without a decision it is the last one of the
    targeting key in this process. It waits for nothing; `flush` and `shutdown` do.

    Parameters
    ----------
    storage : str or Storage
        A storage as of `sf.load_study`, or the address of a service, `"http://host:8000"`.
    key : str, optional
        A key of the service.
    events : mapping, optional
        Names of events, and the study that each is a reward of; by default an event is named like its study.

    Examples
    --------
    >>> import satisfice as sf
    >>> from openfeature import api
    >>> from openfeature.evaluation_context import EvaluationContext
    >>> from openfeature.track import TrackingEventDetails
    >>> here = sf.studies.get_storage(None)
    >>> study = sf.create_study("answers", {"small": 1.0, "large": 9.0}, sf.BestReward(0.1), storage=here)
    >>> provider = SatisficeProvider(here)
    >>> api.set_provider(provider)
    >>> client, anna = api.get_client(), EvaluationContext("anna")
    >>> flag = client.get_string_details("answers", "large", anna)
    >>> flag.value in ("small", "large"), flag.flag_metadata["study"]
    (True, 'answers')
    >>> client.track("answers", anna, TrackingEventDetails(1.0))
    >>> provider.flush()
    True
    >>> sum(arm.pulls for arm in study.status().arms)
    1
    """

    def __init__(
        self, storage: str | Storage, key: str | None = None, *, events: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._storage, self._key, self._events = storage, key, dict(events or {})
        self._client: Client | None = None
        self._studies: dict[str, Any] = {}
        self._given: OrderedDict[tuple[str, str], int | str] = OrderedDict()
        self._fits: set[tuple[str, object]] = set()
        self._lock = threading.Lock()
        self._teller = ThreadPoolExecutor(1, thread_name_prefix="satisfice-openfeature")
        self._told: set[Future[None]] = set()

    def get_metadata(self) -> Metadata:
        """The name of the provider."""
        return Metadata(name="satisfice")

    # Flags

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """An arm by its name."""
        return self._resolve(flag_key, evaluation_context, str)

    async def resolve_string_details_async(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """An arm by its name, without blocking the loop."""
        return await asyncio.to_thread(self.resolve_string_details, flag_key, default_value, evaluation_context)

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """An arm that is called `on` or `off`, `true` or `false`."""
        return self._resolve(flag_key, evaluation_context, _boolean)

    async def resolve_boolean_details_async(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """The same, without blocking the loop."""
        return await asyncio.to_thread(self.resolve_boolean_details, flag_key, default_value, evaluation_context)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """An arm whose name is a whole number."""
        return self._resolve(flag_key, evaluation_context, int)

    async def resolve_integer_details_async(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """The same, without blocking the loop."""
        return await asyncio.to_thread(self.resolve_integer_details, flag_key, default_value, evaluation_context)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """An arm whose name is a number."""
        return self._resolve(flag_key, evaluation_context, float)

    async def resolve_float_details_async(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """The same, without blocking the loop."""
        return await asyncio.to_thread(self.resolve_float_details, flag_key, default_value, evaluation_context)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """An arm as `{"arm": name}`."""
        return self._resolve(flag_key, evaluation_context, _object)

    async def resolve_object_details_async(
        self,
        flag_key: str,
        default_value: Sequence[FlagValueType] | Mapping[str, FlagValueType],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[FlagValueType] | Mapping[str, FlagValueType]]:
        """The same, without blocking the loop."""
        return await asyncio.to_thread(self.resolve_object_details, flag_key, default_value, evaluation_context)

    def _resolve(
        self, flag: str, context: EvaluationContext | None, read: Callable[[str], T]
    ) -> FlagResolutionDetails[T]:
        subject = context.targeting_key or None if context is not None else None
        said = context.attributes if context is not None else {}
        terms: dict[str, Any] = {name: said[name] for name in TERMS if said.get(name) is not None}
        study = self._study(flag)
        self._readable(study, flag, read)
        try:
            decision = study.ask(subject=subject, **terms)
        except SatisficeError as error:
            raise (InvalidContextError if isinstance(error, ValueError) else GeneralError)(str(error)) from error
        if subject is not None:
            with self._lock:
                self._given[flag, subject] = decision.id
                self._given.move_to_end((flag, subject))
                while len(self._given) > MOST:
                    self._given.popitem(last=False)
        return FlagResolutionDetails(
            value=read(decision.arm),
            variant=decision.arm,
            reason=Reason.SPLIT,
            flag_metadata={"decision": decision.id, "study": flag, "why": decision.why},
        )

    def _readable(self, study: Any, flag: str, read: Callable[[str], T]) -> None:
        """Refuse a flag whose arms are not of the type that was asked for, before a decision is made of it."""
        if read is str or (flag, read) in self._fits:
            return
        arms = study.arms if self._client is None else study.terms()["arms"]
        for arm in arms:
            try:
                read(arm)
            except ValueError as error:
                raise TypeMismatchError(f"the arm {arm!r} of the study {flag!r} is not of this type") from error
        self._fits.add((flag, read))

    # Rewards

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Tell a reward, in the background. What cannot be told is logged: tracking never breaks an application."""
        name = self._events.get(tracking_event_name, tracking_event_name)
        said: Mapping[str, Any] = tracking_event_details.attributes if tracking_event_details is not None else {}
        value = tracking_event_details.value if tracking_event_details is not None else None
        subject = evaluation_context.targeting_key if evaluation_context is not None else None
        decision = said.get("decision")
        if decision is None and subject:
            decision = self._given.get((name, subject))
        if decision is None:
            log.warning("the event %r is of no decision that is known here", tracking_event_name)
            return
        future = self._teller.submit(self._tell, name, decision, 1.0 if value is None else value, said.get("cost"))
        self._told.add(future)
        future.add_done_callback(self._told.discard)

    def _tell(self, name: str, decision: int | str, reward: float, cost: float | None) -> None:
        try:
            self._study(name).tell(decision, reward, cost)
        except Exception as error:
            log.error("the reward %r of decision %r of the study %r was not told: %s", reward, decision, name, error)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until every reward so far was told; False where that took too long."""
        from concurrent.futures import wait

        return not wait(list(self._told), timeout if math.isfinite(timeout) else None).not_done

    def shutdown(self) -> None:
        """Tell what is left, and let go of the studies."""
        self._teller.shutdown(wait=True)
        for study in self._studies.values():
            if self._client is None:
                cast("Study", study).close()
        if self._client is not None:
            self._client.close()

    def _study(self, name: str) -> Any:
        known = self._studies.get(name)
        if known is not None:
            return known
        try:
            with self._lock:
                if name not in self._studies:
                    self._studies[name] = self._open(name)
                return self._studies[name]
        except UnknownStudy as error:
            raise FlagNotFoundError(str(error)) from error
        except SatisficeError as error:
            raise GeneralError(str(error)) from error

    def _open(self, name: str) -> Any:
        if isinstance(self._storage, str) and self._storage.startswith(("http://", "https://")):
            from satisfice.client import connect

            self._client = self._client or connect(self._storage, self._key, timeout=5.0, tries=2)
            study = self._client.study(name)
            study.terms()  # a study that is not there is known as such now
            return study
        from satisfice.studies import load_study

        return load_study(name, self._storage)


def _object(arm: str) -> Sequence[FlagValueType] | Mapping[str, FlagValueType]:
    return {"arm": arm}


def _boolean(arm: str) -> bool:
    word = arm.lower()
    if word not in YES + NO:
        raise ValueError(arm)
    return word in YES
