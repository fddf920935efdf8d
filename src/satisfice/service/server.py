"""Running the service: sockets, workers, and a stop that answers what was accepted."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import sys
import tempfile
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors import Multiprocess

from satisfice.errors import InvalidData
from satisfice.service import create_app, observing
from satisfice.service.keys import keys_of, make_key
from satisfice.service.logs import set_up
from satisfice.studies.storages import Storage

# Where a worker finds how it was started. It may have a password in it, which a list of processes must not show.
_SETTINGS = "SATISFICE_WORKER"
# Requests that are under way have so many seconds to come to their end.
GRACE = 20
# The thread that commits waits for so many seconds, not five times as many, until one that computes lets it go on.
SWITCH = 0.001


@dataclass(frozen=True)
class Settings:
    """How a server is run; `satisfice serve --help` says what it means."""

    storage: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    root_path: str = ""
    log_level: str = "info"
    log_json: bool = False
    auth: bool = True
    rate: str | None = None
    body_limit: int = 1_000_000
    cors: tuple[str, ...] = ()


def worker() -> Starlette:
    """The application of one worker."""
    settings = msgspec.json.decode(os.environ[_SETTINGS], type=Settings)
    set_up(settings.log_level, settings.log_json)
    sys.setswitchinterval(SWITCH)
    _let_go_on_stop()
    return create_app(
        settings.storage,
        auth=settings.auth,
        rate=settings.rate,
        body_limit=settings.body_limit,
        cors=settings.cors,
        root_path=settings.root_path,
    )


def _let_go_on_stop() -> None:
    """Those who listen to events are let go when the server is told to stop; it would wait for them otherwise."""
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def stop(number: int, frame: FrameType | None, before: Any = before) -> None:
            observing.stopping.set()
            if callable(before):
                before(number, frame)

        signal.signal(number, stop)


def check(settings: Settings) -> None:
    """Raise `InvalidData` where the settings would open the door to everybody."""
    if not settings.auth and not is_loopback(settings.host):
        raise InvalidData(
            f"--no-auth on {settings.host} would let everybody in; it is for loopback addresses such as 127.0.0.1"
        )
    if settings.workers < 1:
        raise InvalidData(f"--workers {settings.workers}; it must be at least 1")
    if settings.log_level not in ("critical", "error", "warning", "info", "debug"):
        raise InvalidData(f"--log-level {settings.log_level}; use critical, error, warning, info or debug")


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def first_key(storage: Storage) -> str | None:
    """An admin key, where there is none of any kind yet."""
    text, key = make_key("first", ["admin"])
    return text if keys_of(storage).add(key, first=True) else None


def listen(settings: Settings) -> socket.socket:
    """The socket that the workers share. Raises `InvalidData` where the address is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((settings.host, settings.port))
        place.listen(2048)  # who comes before the workers are up waits
    except (OSError, OverflowError) as error:
        place.close()
        raise InvalidData(f"cannot listen on {settings.host}:{settings.port}: {error}") from error
    place.set_inheritable(True)
    return place


def serve(settings: Settings, place: socket.socket) -> None:
    """Serve until a signal says stop."""
    os.environ[_SETTINGS] = msgspec.json.encode(asdict(settings)).decode()
    config = uvicorn.Config(
        "satisfice.service.server:worker",
        factory=True,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        root_path=settings.root_path,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE,
    )
    set_up(settings.log_level, settings.log_json)
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[place])
        return
    with tempfile.TemporaryDirectory(prefix="satisfice-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        Multiprocess(config, sockets=[place]).run()
