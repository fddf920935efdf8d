"""One path of the API: who may come in, what is read, who works, how it is answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive, Scope, Send

from satisfice.errors import OutcomeUnknown, SatisficeError, StorageError
from satisfice.service.keys import NOBODY, Key
from satisfice.service.logs import LOGGER
from satisfice.service.problems import Problem, misread, problem_of

if TYPE_CHECKING:
    from satisfice.service.core import Service

JSON = b"application/json"
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
LOOPBACK = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?")


@dataclass
class Call:
    """A request as those who answer it see it."""

    service: Service
    key: Key
    path: Mapping[str, str]
    body: Any
    query: Any
    headers: Mapping[bytes, bytes]

    @property
    def study(self) -> str:
        """The name in the path."""
        return self.path["study"]


@dataclass
class Answer:
    """What is answered: bytes, or parts of them one after the other."""

    body: bytes | AsyncGenerator[bytes, None] = b""
    status: int = 200
    content_type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


@dataclass(frozen=True)
class Operation:
    """A method of a path. The description of the API follows from these."""

    method: str
    path: str
    work: Callable[[Call], Awaitable[Answer]]
    summary: str
    scope: str | None = None  # None: any key will do
    open: bool = False  # needs no key
    body: Any = None
    optional: bool = False  # whether the body may be left out
    query: type[msgspec.Struct] | None = None
    answer: Any = None  # the type of the answer, or the content types of one that is no JSON
    status: int = 200
    problems: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()  # that it reads


class Endpoint:
    """The methods of one path, as an ASGI application."""

    def __init__(self, service: Service, route: str, operations: list[Operation]) -> None:
        self._service, self._route = service, route
        self._operations = {operation.method: operation for operation in operations}
        # Where a body is one of two kinds, the first is known by the name of its only field.
        self._decoders = {
            operation.method: [msgspec.json.Decoder(kind) for kind in _kinds(operation.body)]
            for operation in operations
            if operation.body
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        method = scope["method"]
        given = headers.get(b"x-request-id", b"")
        request = given if given and _REQUEST_ID.fullmatch(given) else b"%016x" % random.getrandbits(64)
        key: Key | None = None
        try:
            operation = self._operations.get(method)
            if operation is None or not operation.open:
                key = await self._enter(headers)
                self._service.limiter.count(key)
            if not self._operations:
                raise Problem("not-found", "there is nothing at this address; /openapi.json says what there is")
            if operation is None:
                raise Problem(
                    "method-not-allowed",
                    f"{method} is not known here; these are: {', '.join(self._operations)}",
                    headers={"Allow": ", ".join(self._operations)},
                )
            if operation.scope is not None and key is not None and not key.allows(operation.scope):
                raise Problem("forbidden", f"this needs a key with the scope {operation.scope!r}")
            query = self._query(operation, scope["query_string"])
            body = await self._body(operation, headers, receive)
            call = Call(self._service, key or NOBODY, scope["path_params"], body, query, headers)
            answer = await operation.work(call)
        except Problem as problem:
            answer = _refused(problem)
        except SatisficeError as error:
            if isinstance(error, (StorageError, OutcomeUnknown)):
                LOGGER.warning("storage: %s", error, extra={"request": request.decode()})
            answer = _refused(problem_of(error))
        except Exception:
            LOGGER.exception("%s %s failed", method, self._route, extra={"request": request.decode()})
            answer = _refused(Problem("internal", "this is a fault of the service; its log says more"))
        try:
            await send_answer(send, receive, answer, request)
        finally:
            seconds = time.perf_counter() - began
            self._service.metrics.answered(
                method if method in self._operations else "other", self._route, answer.status, seconds
            )
            if LOGGER.isEnabledFor(logging.INFO):
                self._log(method, answer.status, seconds, request, key)

    def _log(self, method: str, status: int, seconds: float, request: bytes, key: Key | None) -> None:
        who = "-" if key is None else key.prefix
        ms = round(1000 * seconds, 2)
        extra = {
            **{"request": request.decode(), "method": method, "route": self._route, "status": status, "ms": ms},
            "key": who,
        }
        words = ("%s %s %d %.2f ms key=%s request=%s", method, self._route, status, ms, who, request.decode())
        LOGGER.info(*words, extra=extra)

    async def _enter(self, headers: Mapping[bytes, bytes]) -> Key:
        """Whose call it is. Raises a `Problem`."""
        service = self._service
        if not service.options.auth:
            # A page from elsewhere whose name was made to lead here must not come in.
            if not LOOPBACK.fullmatch(headers.get(b"host", b"localhost")):
                raise Problem("forbidden", "without keys the service answers to localhost alone")
            return NOBODY
        kind, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        text = text.strip() if kind.lower() == "bearer" else ""
        key = service.door.known(text)
        if key is None:
            await service.run(lambda: service.door.look_up(text))
            key = service.door.known(text)
        if not isinstance(key, Key):
            raise Problem(
                "no-key",
                "give a key that is valid: Authorization: Bearer sf_...",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return key

    def _query(self, operation: Operation, text: bytes) -> Any:
        if not text:
            return None if operation.query is None else operation.query()
        try:
            pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
            if len({name for name, _ in pairs}) < len(pairs):
                raise msgspec.ValidationError("a parameter is given twice")
            if operation.query is None:
                if pairs:
                    raise msgspec.ValidationError(f"Object contains unknown field `{pairs[0][0]}`")
                return None
            return msgspec.convert(dict(pairs), operation.query, strict=False)
        except msgspec.ValidationError as error:
            raise misread(error, "query") from None
        except ValueError:
            raise Problem("invalid-request", "query: it cannot be read", place="$") from None

    async def _body(self, operation: Operation, headers: Mapping[bytes, bytes], receive: Receive) -> Any:
        most = self._service.options.body_limit
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        message = await receive()
        data: bytes = message.get("body", b"")
        while message.get("more_body") and len(data) <= most:
            message = await receive()
            data += message.get("body", b"")
        if len(data) > most:
            raise _too_large(most)
        if operation.body is None:
            return None
        if not data and operation.optional:
            return operation.body()
        kind = headers.get(b"content-type", JSON).split(b";")[0].strip().lower()
        if kind != JSON:
            raise Problem("not-json", "send JSON, with Content-Type: application/json")
        decoders = self._decoders[operation.method]
        try:
            if len(decoders) > 1 and decoders[0].type.__struct_fields__[0].encode() not in data:
                return decoders[1].decode(data)
            return decoders[0].decode(data)
        except msgspec.DecodeError as error:
            raise misread(error) from None
        except UnicodeDecodeError:
            raise Problem("invalid-request", "body: it is not UTF-8", place="$") from None


def _too_large(most: int) -> Problem:
    return Problem("too-large", f"a body may have {most:,} bytes")


def _kinds(body: Any) -> tuple[Any, ...]:
    return body if isinstance(body, tuple) else (body,)


def _refused(problem: Problem) -> Answer:
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in problem.headers.items()]
    return Answer(problem.body(), problem.status, b"application/problem+json", headers)


async def send_answer(
    send: Send, receive: Receive, answer: Answer, request: bytes = b"-", *, head: bool = False
) -> None:
    """Send an answer; with `head`, without its body."""
    headers = [
        (b"x-request-id", request),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        *answer.headers,
    ]
    if answer.status != 204:
        headers.append((b"content-type", answer.content_type))
    if isinstance(answer.body, bytes):
        if answer.status != 204:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if head else answer.body})
        return
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    gone = asyncio.ensure_future(_gone(receive))
    try:
        async with contextlib.aclosing(answer.body) as parts:
            async for part in parts:
                if gone.done():
                    return
                if part:
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
