"""One page: who may see it, what its form says, how it is sent."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, quote, urlencode

from starlette.types import Receive, Scope, Send

from satisfice.errors import SatisficeError
from satisfice.service.endpoint import LOOPBACK, Answer, send_answer
from satisfice.service.keys import NOBODY, Key
from satisfice.service.logs import LOGGER
from satisfice.service.pages.rendering import render
from satisfice.service.pages.sessions import LASTS, is_token, new_text, token_of
from satisfice.service.problems import KINDS, Problem, problem_of

if TYPE_CHECKING:
    from satisfice.service.core import Service
    from satisfice.service.pages.sessions import Sessions

HTML = b"text/html; charset=utf-8"
COOKIE = "satisfice"
# A page that was made for somebody is given to others for so many seconds, if they were told the same.
SHARED = 10.0
_TEXT = re.compile(r"[A-Za-z0-9_-]{20,100}")
# Nothing from elsewhere, no script and no style that is written into a page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
SAFE = [
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"vary", b"Cookie, HX-Request"),
]


class SignIn(Exception):
    """There is nobody here yet."""


@dataclass
class Visit:
    """A request as those who make the page see it."""

    service: Service
    sessions: Sessions
    key: Key
    root: str  # the path under which all of this is served
    path: str  # of this page, below the root
    place: Mapping[str, str]  # what is in the path
    query: Mapping[str, str]
    form: Mapping[str, list[str]]
    headers: Mapping[bytes, bytes]
    text: str  # what the browser keeps
    new: str | None = None  # what it is to keep from now on
    secure: bool = False
    cookies: list[str] = field(default_factory=list)

    @property
    def study(self) -> str:
        """The name of the study in the path."""
        return unwritten(self.place["study"])

    @property
    def admin(self) -> bool:
        """Whether the visitor may change things."""
        return self.key.allows("admin")

    def said(self, name: str, default: str = "") -> str:
        """A field of the form, without space around it."""
        values = self.form.get(name)
        return values[-1].strip() if values else default

    def url(self, *parts: str, **query: object) -> str:
        """The address of a page: parts of the path, with the name of a study as it is."""
        path = "/".join(quote(written(part), safe="@:+") for part in parts)
        asked = urlencode({name: value for name, value in query.items() if value not in (None, "")})
        return f"{self.root}/{path}{'?' + asked if asked else ''}"

    def url_here(self) -> str:
        """The address of this page, with what is asked for."""
        asked = urlencode(self.query)
        return f"{self.root}{quote(self.path, safe='/@:+')}{'?' + asked if asked else ''}"

    def show(
        self, template: str, shared: Mapping[str, object] | None = None, code: int = 200, **values: object
    ) -> Answer:
        """The page, from what it shares with others and its own values."""
        text = render(template, visit=self, token=token_of(self.new or self.text), **{**(shared or {}), **values})
        return Answer(text.encode(), code, HTML, list(SAFE))

    def go(self, address: str) -> Answer:
        """Go on to another page, after something was done."""
        return Answer(b"", 303, HTML, [*SAFE, (b"location", address.encode("ascii"))])


def written(name: str) -> str:
    """A name as a part of a path: what a path cannot have inside a part is written out, once more than usual.

    Examples
    --------
    >>> written("a/b"), written("50%"), written(".."), unwritten(written("a%2Fb/.."))
    ('a%2Fb', '50%25', '%2E%2E', 'a%2Fb/..')
    """
    text = name.replace("%", "%25").replace("/", "%2F")
    return text.replace(".", "%2E") if set(text) <= {"."} else text


def unwritten(text: str) -> str:
    """The name that `written` wrote."""
    return text.replace("%2E", ".").replace("%2F", "/").replace("%25", "%")


Work = Callable[[Visit], Awaitable[Answer]]


@dataclass(frozen=True)
class Room:
    """A page: its path, who makes it, and what a key must allow to see it and to send its form."""

    path: str
    get: Work | None = None
    post: Work | None = None
    scope: str | None = "read"  # None: everybody may come
    change: str | None = "admin"


class Page:
    """A page as an ASGI application."""

    def __init__(self, service: Service, sessions: Sessions, room: Room) -> None:
        self._service, self._sessions, self._room = service, sessions, room
        # Pages that were made for those who look on, by what they were told: they share them.
        self._shared: dict[tuple[object, ...], tuple[float, asyncio.Future[Answer]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, room, service = time.perf_counter(), self._room, self._service
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        visit = self._visit(scope)
        try:
            work = {"GET": room.get, "POST": room.post}.get(method)
            if work is None:
                raise Problem("method-not-allowed", f"{method} is not known here")
            await self._enter(visit, room.scope if method == "GET" else room.change)
            if method == "POST":
                await self._read(visit, scope, receive)
            answer = await (self._share(visit, work) if method == "GET" and b"x-mark" in visit.headers else work(visit))
        except SignIn:
            answer = self._ask_in(visit)
        except (Problem, SatisficeError) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            answer = self._refuse(visit, problem)
        except Exception:
            LOGGER.exception("%s %s failed", method, room.path)
            answer = self._refuse(visit, Problem("internal", "this is a fault of the service; its log says more"))
        if visit.new is not None:
            answer.headers.append((b"set-cookie", self._cookie(visit).encode("ascii")))
        try:
            await send_answer(send, receive, answer, head=scope["method"] == "HEAD")
        finally:
            seconds = time.perf_counter() - began
            service.metrics.answered(
                method if method in ("GET", "POST") else "other", room.path, answer.status, seconds
            )
            if LOGGER.isEnabledFor(logging.INFO):
                LOGGER.info(
                    "%s %s %d %.2f ms key=%s", method, room.path, answer.status, 1e3 * seconds, visit.key.prefix
                )

    async def _share(self, visit: Visit, work: Work) -> Answer:
        """A page for somebody who was told of news by the stream: made once for all who were told the same. It is at
        least as new as what they were told."""
        key = visit.key
        which = (visit.url_here(), key.scopes, key.studies, visit.headers[b"x-mark"][:100])
        now = time.monotonic()
        at, made = self._shared.get(which, (0.0, None))
        if made is None or now - at > SHARED:
            while self._shared and (next(iter(self._shared.values()))[0] < now - SHARED or len(self._shared) > 64):
                del self._shared[next(iter(self._shared))]
            made = asyncio.ensure_future(work(visit))
            self._shared[which] = now, made
        found = await asyncio.shield(made)
        return Answer(found.body, found.status, found.content_type, list(found.headers))

    def _visit(self, scope: Scope) -> Visit:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        root = (scope.get("root_path") or self._service.options.root_path).rstrip("/")
        path = scope["path"].removeprefix(root) if root else scope["path"]
        try:
            morsel = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
        except CookieError:
            morsel = None
        text = morsel.value if morsel is not None and _TEXT.fullmatch(morsel.value) else ""
        forwarded = headers.get(b"x-forwarded-proto", b"") == b"https"
        new = None if text else new_text()
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=500))
        places = scope["path_params"]
        return Visit(
            self._service, self._sessions, NOBODY, root, path, places, query, {}, headers, text, new,
            secure=scope["scheme"] == "https" or forwarded,
        )  # fmt: skip

    async def _enter(self, visit: Visit, scope: str | None) -> None:
        service = self._service
        if not service.options.auth:
            # A page from elsewhere whose name was made to lead here must not come in.
            if not LOOPBACK.fullmatch(visit.headers.get(b"host", b"localhost")):
                raise Problem("forbidden", "without keys the service answers to localhost alone")
            return
        key = await service.run(lambda: visit.sessions.key_of(visit.text)) if visit.text else None
        if key is None:
            visit.key = STRANGER
            if scope is not None:
                raise SignIn
            return
        visit.key = key
        service.limiter.count(key)
        if scope is not None and not key.allows(scope):
            raise Problem("forbidden", f"this needs a key with the scope {scope!r}; you are signed in as {key.label!r}")

    async def _read(self, visit: Visit, scope: Scope, receive: Receive) -> None:
        """The form, if it comes from a page of ours."""
        most, data, more = self._service.options.body_limit, b"", True
        while more:
            message = await receive()
            data, more = data + message.get("body", b""), message.get("more_body", False)
            if len(data) > most:
                raise Problem("too-large", f"a form may have {most:,} bytes")
        if visit.headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            raise Problem("forbidden", "this form was sent by a page of another site; nothing was done")
        try:
            visit.form = parse_qs(data.decode(), keep_blank_values=True, max_num_fields=5000, errors="strict")
        except ValueError:
            raise Problem("invalid-request", "the form cannot be read", place="$") from None
        if not visit.text or not is_token(visit.text, visit.said("token")):
            raise Problem("forbidden", "this form is no longer valid; load the page again. Nothing was done")

    def _ask_in(self, visit: Visit) -> Answer:
        if b"hx-request" in visit.headers:
            return Answer(b"", 401, HTML, [*SAFE, (b"hx-refresh", b"true")])
        there = "" if visit.path in ("/", "/sign-out") else visit.url_here().removeprefix(visit.root)
        return visit.go(visit.url("sign-in", to=there))

    def _refuse(self, visit: Visit, problem: Problem) -> Answer:
        answer = visit.show(
            "problem.html", code=problem.status, title=KINDS[problem.kind][1], detail=problem.detail, room=None
        )
        answer.headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in problem.headers.items()]
        return answer

    def _cookie(self, visit: Visit) -> str:
        parts = [f"{COOKIE}={visit.new}", f"Path={visit.root or '/'}", "HttpOnly", "SameSite=Lax"]
        parts += [f"Max-Age={int(LASTS)}"] + (["Secure"] if visit.secure else [])
        return "; ".join(parts)


# Who has not signed in.
STRANGER = Key("-", "", "nobody", (), (), None, 0.0)

Parts = AsyncGenerator[bytes, None]
