"""The service as an ASGI application."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from satisfice.service.core import Options, Service
from satisfice.service.endpoint import Answer, Call, Endpoint, Operation
from satisfice.service.openapi import describe
from satisfice.service.pages.rooms import page_routes
from satisfice.service.routes import OPERATIONS, STUDY
from satisfice.studies.storages import Storage, get_storage


def create_app(
    storage: str | Storage | None = None,
    *,
    auth: bool = True,
    rate: str | None = None,
    body_limit: int = 1_000_000,
    cors: Sequence[str] = (),
    root_path: str = "",
    stream_seconds: float = 3600.0,
    poll_seconds: float = 1.0,
) -> Starlette:
    """The service as an ASGI application, for those who have a server of their own; `satisfice serve` runs it.

    Parameters
    ----------
    storage : None, str or Storage
        Where studies and keys live: None (memory), `"sqlite:///studies.db"`, `"postgresql://user@host/database"`.
    auth : bool
        Whether a key is needed. Without, everybody who can connect may do everything: for loopback addresses alone.
    rate : str, optional
        How often each key may call a worker, such as "100/second", where the key has no rate of its own.
    body_limit : int
        The largest body, in bytes.
    cors : sequence of str
        Origins whose pages may call the service from a browser; none by default.
    root_path : str
        Under which path a proxy serves it.
    stream_seconds : float
        After so many seconds a stream of events ends, and the reader connects again.
    poll_seconds : float
        How often a stream of events looks for new ones.

    Examples
    --------
    >>> import asyncio
    >>> import httpx
    >>> app = create_app(auth=False)
    >>> async def health() -> int:
    ...     async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
    ...         return (await client.get("/health")).status_code
    >>> asyncio.run(health())
    200
    """
    options = Options(auth, rate, body_limit, tuple(cors), stream_seconds, poll_seconds, root_path)
    service = Service(get_storage(storage), options)
    text = b""

    async def description(call: Call) -> Answer:
        return Answer(text)

    about = Operation(
        "GET",
        "/openapi.json",
        description,
        "This description",
        answer=dict[str, Any],
        problems=("invalid-request",),
    )
    operations = (*OPERATIONS, about)
    text = msgspec.json.encode(describe(operations, root_path))
    paths: dict[str, list[Operation]] = {}
    for operation in operations:
        paths.setdefault(operation.path, []).append(operation)
    endpoints = {path: Endpoint(service, path, methods) for path, methods in paths.items()}
    routes: list[BaseRoute] = [Route(path, endpoint) for path, endpoint in endpoints.items()]
    routes += page_routes(service)
    routes.append(Route("/{rest:path}", Endpoint(service, "elsewhere", [])))
    middleware = [
        Middleware(
            CORSMiddleware,
            allow_origins=list(cors),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
        )
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watchers = _watchers(service)
        watchers.append(service.metrics.committed)
        try:
            yield
        finally:
            watchers.remove(service.metrics.committed)
            service.close()

    app = _Application(routes=routes, middleware=middleware if cors else [], lifespan=lifespan)
    if not cors:
        app.direct = {last: endpoints[f"{STUDY}/{last}"] for last in ("decisions", "rewards")}
    app.state.service = service
    return app


class _Application(Starlette):
    """Starlette, but that the calls that are made most take no way around: an endpoint answers all errors itself."""

    direct: Mapping[str, Endpoint] = MappingProxyType({})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope.get("root_path"):
            match scope["path"].split("/"):
                case ["", "v1", "studies", study, last] if study and last in self.direct:
                    scope["path_params"], scope["app"] = {"study": study}, self
                    await self.direct[last](scope, receive, send)
                    return
        await super().__call__(scope, receive, send)


def _watchers(service: Service) -> list[Any]:
    """Who is told of commits."""
    if service.quick:
        return []
    from satisfice.studies.storages import hub

    return hub.watchers
