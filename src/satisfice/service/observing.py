"""Calls that look on: the status of a study, its events, its log as a file, metrics, whether the service is up."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import quote

import msgspec

from satisfice import __version__
from satisfice.errors import SatisficeError
from satisfice.service.core import Handle
from satisfice.service.endpoint import Answer, Call
from satisfice.service.metrics import CONTENT_TYPE
from satisfice.service.problems import Problem
from satisfice.service.schemas import EventsQuery, ExportQuery, Health
from satisfice.studies import Status
from satisfice.studies.records import MACHINE_EVENTS, Event, Outcome
from satisfice.studies.storages.base import View

_encode = msgspec.json.Encoder().encode
CHUNK = 1 << 16
# Set when the server is told to stop: those who listen are let go.
stopping = threading.Event()


async def health(call: Call) -> Answer:
    """The service is up."""
    return Answer(_encode(Health("ok", __version__)))


async def ready(call: Call) -> Answer:
    """The storage answers."""
    await call.service.run(lambda: call.service.storage.page(0, 1))
    return Answer(_encode(Health("ok", __version__)))


async def status(call: Call) -> Answer:
    """The status of a study."""
    found = await call.service.on(call.study, call.key, lambda handle: handle.study.status().to_dict())
    return Answer(_encode(found))


async def metrics(call: Call) -> Answer:
    """Numbers for Prometheus."""
    service, key = call.service, call.key
    if key.studies is not None:
        raise Problem("forbidden", "this key is for some studies, and the metrics are of all")

    def look(name: str) -> tuple[Status, float] | None:
        try:
            handle = service.handle(name, key)
            return handle.study.status(), handle.ledger.look(_oldest)
        except (Problem, SatisficeError):
            service.forget(name)
            return None

    page = await service.slow(lambda: service.metrics.page(look))
    return Answer(page, content_type=CONTENT_TYPE.encode())


def _oldest(view: View) -> float:
    """The age of the oldest open decision."""
    first = view.machine.frontier.last + 1
    for row in view.rows(first, first + 1000):
        if row.outcome == Outcome.OPEN:
            return max((view.now or time.time()) - row.at, 0.0)
    return 0.0


# Events


async def events(call: Call) -> Answer:
    """Verdicts, refutations and changes as they happen, as server-sent events."""
    query: EventsQuery = call.query
    last = call.headers.get(b"last-event-id")
    if last is not None and not (last.isdigit() and len(last) <= 18):
        raise Problem("invalid-request", "header: Last-Event-ID is the number of an event", place="header")
    after = query.after if last is None else int(last)
    await call.service.on(call.study, call.key, lambda handle: None)
    return Answer(_stream(call, after), content_type=b"text/event-stream")


async def _stream(call: Call, after: int) -> AsyncGenerator[bytes, None]:
    service = call.service
    until, quiet = time.monotonic() + service.options.stream_seconds, time.monotonic()
    told: dict[str, object] = {}
    while True:
        try:
            seq, found = await service.on(call.study, call.key, lambda handle, seq=after: _news(handle, seq))  # type: ignore[misc]
        except (Problem, SatisficeError):
            yield b"event: gone\ndata: {}\n\n"
            return
        parts = [part for event in found for part in _said(event, told)]
        if parts:
            yield b"".join(parts)
            quiet = time.monotonic()
        after = max(after, seq)
        if time.monotonic() - quiet > 15:
            yield b": still here\n\n"
            quiet = time.monotonic()
        if time.monotonic() > until or stopping.is_set():
            return
        yield b""
        await asyncio.sleep(min(service.options.poll_seconds, max(until - time.monotonic(), 0.0) + 0.001))


def _news(handle: Handle, after: int) -> tuple[int, list[tuple[Event, dict[str, object] | None]]]:
    """What has happened since, with the verdict as it is now where the last event is about that."""

    def look(view: View) -> list[Event]:
        return list(view.events(after=after))

    found = handle.ledger.look(look)
    shown = [event for event in found if event.kind not in MACHINE_EVENTS]
    judged = [event for event in shown if event.kind == "judge"]
    verdict = handle.study.status().to_dict()["verdict"] if judged else None
    assert verdict is None or isinstance(verdict, dict)
    # Of many verdicts at once only the last is of interest, and it is the one that can be said.
    kept = [event for event in shown if event.kind != "judge" or event is judged[-1]]
    return (found[-1].seq if found else after), [(event, verdict if event.kind == "judge" else None) for event in kept]


def _said(news: tuple[Event, dict[str, object] | None], told: dict[str, object]) -> list[bytes]:
    event, verdict = news
    if verdict is None:
        data = {"kind": event.kind, "at": event.at, **event.data}
        return [b"id: %d\nevent: change\ndata: %s\n\n" % (event.seq, _encode(data))]
    parts = []
    refuted = verdict["refuted"]
    assert isinstance(refuted, list)
    for refutation in refuted:
        if refutation["arm"] not in told:
            told[refutation["arm"]] = True
            parts.append(b"event: refutation\ndata: %s\n\n" % _encode(refutation))
    parts.append(b"id: %d\nevent: verdict\ndata: %s\n\n" % (event.seq, _encode(verdict)))
    return parts


# The log as a file


async def export(call: Call) -> Answer:
    """The log of a study. It is written to a file first, so that a slow reader holds nobody up."""
    query: ExportQuery = call.query
    folder = tempfile.TemporaryDirectory(prefix="satisfice-export-")
    target = Path(folder.name, "log")

    def work(handle: Handle) -> None:
        handle.ledger.look(lambda view: _write(view, handle, target, query.format))

    try:
        await call.service.on(call.study, call.key, work, slow=True)
    except BaseException:
        folder.cleanup()
        raise
    kind = b"text/csv; charset=utf-8" if query.format == "csv" else b"application/vnd.apache.parquet"
    name = f"attachment; filename*=UTF-8''{quote(call.study)}.{query.format}".encode()
    return Answer(_read(call, folder, target), content_type=kind, headers=[(b"content-disposition", name)])


def _write(view: View, handle: Handle, target: Path, form: str) -> None:
    import polars as pl

    from satisfice.studies.archive import frames

    folder = target.parent / "parts"
    folder.mkdir()
    with target.open("wb") as file:
        for number, frame in enumerate(frames(view)):
            ids = pl.Series("decision", [handle.id(n) for n in frame["id"].to_list()], dtype=pl.String)
            whole = frame.drop("id").insert_column(0, ids)
            if form == "csv":
                whole.write_csv(file, include_header=number == 0)
            else:
                whole.write_parquet(folder / f"{number:08d}.parquet")
    if form == "parquet":
        pl.scan_parquet(folder / "*.parquet").sink_parquet(target)


async def _read(call: Call, folder: tempfile.TemporaryDirectory[str], target: Path) -> AsyncGenerator[bytes, None]:
    try:
        with target.open("rb") as file:
            while part := await call.service.slow(lambda: file.read(CHUNK)):
                yield part
    finally:
        folder.cleanup()
