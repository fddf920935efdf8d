"""What is read from LiteLLM: notes in the metadata of a call, the routers of this process, prices, answers."""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

import litellm

from satisfice.integrations.routing.deployments import Deployment, deployment_id
from satisfice.integrations.routing.judge import text_of

log = logging.getLogger("satisfice.routing")

Kwargs = dict[str, Any]

NOTE = "satisfice"  # under which a decision travels in the metadata of a call
FIELDS = ("litellm_metadata", "metadata")


def decision_of(response: object) -> str | None:
    """The id of the decision that a response was given by; None where there was none. Streams have one, too."""
    note = told_of(response)
    return None if note is None else cast("str | None", note.get("decision"))


def answer_of(response: object) -> str:
    """The words of a response: of a chat, of the responses API, of a message."""
    choices = getattr(response, "choices", None)
    if choices:
        message = getattr(choices[0], "message", None)
        calls = getattr(message, "tool_calls", None)
        words = getattr(message, "content", None) or ""
        return f"{words}\n{calls}" if calls else str(words)
    output = getattr(response, "output", None)
    if output:
        parts = [part for item in output for part in (getattr(item, "content", None) or ())]
        return "\n".join(str(getattr(part, "text", "") or "") for part in parts)
    return text_of(response.get("content")) if isinstance(response, Mapping) else str(response)


def told_of(response: object) -> Kwargs | None:
    hidden = getattr(response, "_hidden_params", None)
    note = hidden.get(NOTE) if isinstance(hidden, Mapping) else None
    if note is None:  # a stream
        logged = getattr(getattr(response, "logging_obj", None), "model_call_details", None) or {}
        note = note_of(logged.get("litellm_params") or {})
    return note


def metadata_of(holder: Mapping[str, Any]) -> Kwargs:
    """The metadata that has a decision in it, or any."""
    found = [holder[field] for field in FIELDS if isinstance(holder.get(field), Mapping)]
    return cast(Kwargs, next((about for about in found if NOTE in about), found[0] if found else {}))


def note_of(holder: Mapping[str, Any]) -> Kwargs | None:
    note = metadata_of(holder).get(NOTE)
    return cast(Kwargs, note) if isinstance(note, Mapping) else None


def other_group(note: Kwargs, data: Kwargs) -> bool:
    """Whether another group has answered than the one that the decision was made for."""
    now = metadata_of(data).get("model_group")
    return now is not None and "group" in note and note["group"] is not None and now != note["group"]


def input_of(request: Kwargs) -> Sequence[object] | None:
    given = request.get("input")
    return (
        [{"role": "user", "content": given}] if isinstance(given, str) else given if isinstance(given, list) else None
    )


def listed(model: str) -> Mapping[str, object] | None:
    """What LiteLLM's map of prices says of a model."""
    try:
        return cast("Mapping[str, object]", litellm.get_model_info(model))
    except Exception:
        return None


def routers() -> list[Any]:
    """The routers of this process: the proxy's, and those that have registered their callbacks."""
    server = sys.modules.get("litellm.proxy.proxy_server")
    found = [getattr(server, "llm_router", None)]
    for callback in [*litellm._async_success_callback, *litellm.success_callback]:
        found.append(getattr(callback, "__self__", None))
    return [router for router in found if isinstance(router, litellm.Router)]


def router_of(group: str, healthy: Sequence[Deployment]) -> Any | None:
    ids = {deployment_id(deployment) for deployment in healthy}
    for router in reversed(routers()):  # the newest first
        if group in router.model_name_to_deployment_indices and ids <= set(router.get_model_ids(model_name=group)):
            return router
    return None


def everything(group: str, healthy: Sequence[Deployment]) -> Sequence[Deployment] | None:
    try:
        router = router_of(group, healthy)
        return None if router is None else cast("Sequence[Deployment]", router.get_model_list(model_name=group))
    except Exception as error:
        log.warning("the deployments of %s cannot be listed: %r", group, error)
        return None


def healthy_of(router: Any, group: str) -> list[Any]:
    """The deployments of a group that a synchronous call may use."""
    from litellm.router_utils.cooldown_handlers import _get_cooldown_deployments

    resting = set(_get_cooldown_deployments(litellm_router_instance=router, parent_otel_span=None))
    every = router.get_model_list(model_name=group) or []
    return [deployment for deployment in every if deployment_id(deployment) not in resting] or list(every)


async def eligible(model: str, healthy: list[Any], messages: list[Any] | None, request: Kwargs) -> list[Any]:
    """The deployments that would pass what the router checks after its callbacks: tags, orders, windows, exclusions.

    If one were chosen that does not, the call would break, though another deployment could have answered it.
    """
    left = litellm.utils.get_order_filtered_deployments(healthy, target_order=request.get("_target_order"))
    for name in ("_excluded_deployment_ids", "_retry_skipped_deployment_ids"):
        if request.get(name):
            left = litellm.utils.get_excluded_filtered_deployments(left, excluded_deployment_ids=request[name])
    router = router_of(model, healthy) if _picky() else None
    if router is None:
        return cast("list[Any]", left)
    if router.enable_tag_filtering:
        from litellm.router_strategy.tag_based_routing import get_deployments_for_tag

        left = await get_deployments_for_tag(
            llm_router_instance=router,
            model=model,
            request_kwargs=request,
            healthy_deployments=left,
            metadata_variable_name=router._get_metadata_variable_name_from_kwargs(request),
        )
    if router.enable_pre_call_checks and messages is not None:
        check = functools.partial(
            router._pre_call_checks, model=model, healthy_deployments=left, messages=messages, request_kwargs=request
        )
        left = await asyncio.get_running_loop().run_in_executor(None, check)
    return cast("list[Any]", left)


def _picky() -> bool:
    """Whether a router of this process checks anything after its callbacks."""
    return any(router.enable_pre_call_checks or router.enable_tag_filtering for router in routers())


async def complete(model: str, messages: list[dict[str, str]], options: Kwargs) -> object:
    """An answer of the judge: by a router that has such a group, else by LiteLLM itself."""
    for router in routers():
        if model in router.model_name_to_deployment_indices:
            return await router.acompletion(model=model, messages=messages, **options)
    return await litellm.acompletion(model=model, messages=messages, **options)


def cost_of(response: object) -> float:
    hidden = getattr(response, "_hidden_params", None) or {}
    return float(hidden.get("response_cost") or 0.0)
