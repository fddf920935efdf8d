"""A running service for the tests: a server in a thread, on a free port of the loopback address."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from satisfice.service import create_app
from satisfice.service.keys import keys_of, make_key
from satisfice.service.server import Settings, listen
from satisfice.studies.storages import Storage

STUDY = {"name": "answers", "arms": {"small": 0.2, "large": 8.0}, "setting": {"kind": "best", "alpha": 0.1}, "seed": 1}


@dataclass
class Running:
    """A service that is up, its storage, and keys for it."""

    url: str
    storage: Storage
    app: Starlette

    def key(self, *scopes: str, studies: list[str] | None = None, rate: str | None = None) -> str:
        """A new key."""
        text, key = make_key("test", scopes, studies, rate)
        keys_of(self.storage).add(key)
        return text

    def client(self, key: str | None) -> httpx.Client:
        """A client that comes with a key."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=300.0)


@contextlib.contextmanager
def running(storage: Storage, *, under: str = "", **options: object) -> Iterator[Running]:
    """A service over a storage; with `under`, as a server tells it that it is behind a proxy, under this path."""
    app = create_app(storage, **{"stream_seconds": 0.2, "poll_seconds": 0.02, **options})  # type: ignore[arg-type]

    async def served(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "root_path": under} if under and scope["type"] == "http" else scope, receive, send)

    place = listen(Settings("", port=0))
    server = uvicorn.Server(uvicorn.Config(served, log_config=None, access_log=False, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 300.0
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    assert server.started
    try:
        yield Running(f"http://127.0.0.1:{place.getsockname()[1]}", storage, app)
    finally:
        server.should_exit = True
        thread.join(timeout=300.0)
