"""Those who look on are told when something changes: server-sent events, from looks that all of them share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import msgspec

from satisfice.service import observing
from satisfice.service.endpoint import Answer
from satisfice.service.pages.looking import Glance, Glances, standing
from satisfice.service.pages.page import SAFE, Visit
from satisfice.service.problems import unknown_study

_encode = msgspec.json.Encoder().encode
# Numbers are sent no oftener than this, news at once; and something is said at least so often, in seconds.
CALM, BEAT = 4.0, 10.0


def stream_of(glances: Glances, visit: Visit, name: str) -> AsyncGenerator[bytes, None]:
    """The stream of one study."""
    service = visit.service

    async def parts() -> AsyncGenerator[bytes, None]:
        options = service.options
        until = time.monotonic() + options.stream_seconds
        told: Glance | None = None
        at = 0.0
        while True:
            seen = await service.slow(lambda: glances.at(name, visit.key, options.poll_seconds))
            now = time.monotonic()
            if seen is None:
                yield b"event: gone\ndata: {}\n\n"
                return
            news = told is None or told.verdict != seen.verdict or told.seq != seen.seq
            calm = min(CALM, 4 * options.poll_seconds)
            if told is None or (told.mark != seen.mark and (news or now - at >= calm)):
                yield b"event: fresh\ndata: %s\n\n" % _encode(
                    _said(seen, told is not None and told.verdict != seen.verdict)
                )
                told, at = seen, now
            elif now - at >= BEAT:
                yield b"event: beat\ndata: {}\n\n"
                at = now
            if now > until or observing.stopping.is_set():
                return
            yield b""
            await asyncio.sleep(options.poll_seconds)

    return parts()


def _said(seen: Glance, news: bool) -> dict[str, object]:
    status = seen.status
    return {
        "decisions": status.spending.decisions,
        "rewards": status.verdict.rewards,
        "standing": standing(status)[0],
        "sentence": status.verdict.sentence,
        "news": news,
        "mark": "-".join(map(str, seen.mark)),
    }


async def live(glances: Glances, visit: Visit) -> Answer:
    """The stream of the study in the path."""
    if await visit.service.run(lambda: glances.at(visit.study, visit.key)) is None:
        raise unknown_study(visit.study)
    headers = [*SAFE, (b"x-accel-buffering", b"no")]
    return Answer(stream_of(glances, visit, visit.study), content_type=b"text/event-stream", headers=headers)
