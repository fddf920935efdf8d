"""In the proxy: the callback from its YAML, and rewards on its own application, with its keys.

litellm_settings:
  callbacks: [satisfice.integrations.litellm.proxy]
satisfice:
  answers: {storage: "sqlite:///answers.db", alpha: 0.1}
"""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any, cast

import litellm

from satisfice.errors import InvalidReward, InvalidStudy, SatisficeError
from satisfice.integrations.litellm.callback import Satisfice
from satisfice.integrations.routing.judge import Judge

log = logging.getLogger("satisfice.routing")

_lock = threading.Lock()
_routes: dict[str, Satisfice] = {}


def from_config() -> Satisfice:
    """The callbacks of the groups in the section `satisfice` of the proxy's configuration: the first is the answer, the
    others are registered."""
    with _lock:
        if not _routes:
            made = [read_route(group, terms) for group, terms in _section().items()]
            _routes.update({each.route.group: each for each in made})
            for other in made[1:]:
                litellm.logging_callback_manager.add_litellm_callback(other)
            serve(*made)
    return next(iter(_routes.values()))


def read_route(group: str, terms: dict[str, Any] | None) -> Satisfice:
    """A callback from what the YAML says of a group."""
    said = dict(terms or {})
    judge = said.pop("judge", None)
    if "tokens" in said:
        said["tokens"] = tuple(said["tokens"])
    try:
        return Satisfice(group, judge=None if judge is None else Judge(**judge), **said)
    except TypeError as error:
        raise InvalidStudy(f"the section satisfice.{group} of the proxy's configuration: {error}") from error


def _section() -> dict[str, dict[str, Any] | None]:
    import yaml

    server = sys.modules.get("litellm.proxy.proxy_server")
    place = getattr(server, "user_config_file_path", None) or os.environ.get("CONFIG_FILE_PATH")
    if not place:
        raise InvalidStudy("satisfice.integrations.litellm.proxy is made of the proxy's YAML file, and there is none")
    data = yaml.safe_load(Path(place).read_text()) or {}
    section = data.get("satisfice")
    if not isinstance(section, dict) or not section:
        example = 'satisfice: {answers: {storage: "sqlite:///answers.db", alpha: 0.1}}'
        raise InvalidStudy(f"{place} has no section satisfice that names the groups to route, such as {example}")
    return {
        str(group): {name: _filled(value) for name, value in (terms or {}).items()} for group, terms in section.items()
    }


def _filled(value: object) -> object:
    """A value of the YAML, with `os.environ/NAME` filled in as LiteLLM does it."""
    if isinstance(value, str) and value.startswith("os.environ/"):
        return os.environ.get(value.removeprefix("os.environ/"))
    return value


def _cost(said: object) -> float | None:
    """What a caller says that a call has cost."""
    cost = None if said is None else float(cast(float, said))
    if cost is not None and not 0.0 <= cost < math.inf:
        raise ValueError(f"a cost is a number of at least 0, not {said!r}")
    return cost


def serve(*routes: Satisfice) -> None:
    """Put `POST /satisfice/reward` and `GET /satisfice/status` on the proxy's application, behind its keys.

    The proxy's YAML does this by itself; call it for callbacks of your own.
    """
    from fastapi import Depends, HTTPException, Request
    from litellm.proxy.auth.user_api_key_auth import user_api_key_auth
    from litellm.proxy.proxy_server import app

    known = {each.route.terms.name: each for each in routes}

    def named(study: object) -> Satisfice:
        if study is None and len(known) == 1:
            return next(iter(known.values()))
        if study not in known:
            raise HTTPException(404, f"there is no study {study!r} here; the studies: {', '.join(known)}")
        return known[str(study)]

    async def reward(request: Request) -> dict[str, int]:
        try:
            body = await request.json()
            lines = body.get("rewards", [body])
            told = [
                (named(line.get("study")), str(line["decision"]), line["reward"], _cost(line.get("cost")))
                for line in lines
            ]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            form = '{"decision": "17", "reward": 1.0, "study": "answers"}, or {"rewards": [...]} of such'
            raise HTTPException(422, f"a reward is {form}; {error!r}") from error
        try:
            for owner, _, value, _ in told:
                owner.route.check(value)
            for owner, decision, value, cost in told:
                owner.route.tell(decision, value, cost)
        except InvalidReward as error:
            raise HTTPException(422, str(error)) from error
        except SatisficeError as error:
            raise HTTPException(503, str(error)) from error
        return {"taken": len(told)}

    reward.__annotations__["request"] = Request  # FastAPI looks for the class itself

    def status() -> dict[str, Any]:
        return {name: owner.report() for name, owner in known.items()}

    guarded = [Depends(user_api_key_auth)]
    app.add_api_route("/satisfice/reward", reward, methods=["POST"], dependencies=guarded, tags=["satisfice"])
    app.add_api_route("/satisfice/status", status, methods=["GET"], dependencies=guarded, tags=["satisfice"])
    # Before the routes of the proxy that match any path.
    for _ in range(2):
        app.router.routes.insert(0, app.router.routes.pop())
    app.openapi_schema = None
