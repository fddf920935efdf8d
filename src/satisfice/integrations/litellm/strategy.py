"""Synchronous calls of a `litellm.Router`, which ask no callback before they choose."""

from __future__ import annotations

import functools
import random
from typing import Any

from litellm.types.router import CustomRoutingStrategyBase

from satisfice.integrations.litellm.attempt import Attempt
from satisfice.integrations.litellm.callback import Satisfice
from satisfice.integrations.litellm.reading import Kwargs, healthy_of
from satisfice.integrations.routing.deployments import deployment_id


class SatisficeStrategy(CustomRoutingStrategyBase):
    """The same for synchronous calls of a `litellm.Router`, which ask no callback before they choose.

    Every group without a study is chosen by the router itself. Make it after the callback, and hand it to the router:

        route = Satisfice("answers", storage="sqlite:///answers.db")
        litellm.callbacks = [route]
        router.set_custom_routing_strategy(SatisficeStrategy(router, route))
    """

    def __init__(self, router: Any, *routes: Satisfice) -> None:
        self.router = router
        self._routes = {each.route.group: each for each in routes}
        kind = type(router)
        self._sync = kind.get_available_deployment.__get__(router, kind)
        self._async = kind.async_get_available_deployment.__get__(router, kind)

    async def async_get_available_deployment(self, model: str, *args: Any, **terms: Any) -> Any:
        """Asynchronous calls ask the callback by themselves."""
        return await self._async(model, *args, **terms)

    def get_available_deployment(
        self,
        model: str,
        messages: list[Any] | None = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: Kwargs | None = None,
    ) -> Any:
        """The deployment of a synchronous call."""
        own = functools.partial(
            self._sync,
            model=model,
            messages=messages,
            input=input,
            specific_deployment=specific_deployment,
            request_kwargs=request_kwargs,
        )
        owner = self._routes.get(model)
        if owner is None or specific_deployment or request_kwargs is None or owner.route.away:
            return own()
        try:
            healthy = healthy_of(self.router, model)
            call = Attempt(owner, messages, request_kwargs)
            route = owner.route
            if not route.sampled(call.session):
                led = route.leader(healthy, call.session)
                if led is not None:
                    call.note({"arm": led[0]})
                    return random.choice([d for d in healthy if deployment_id(d) in led[1]])
            ticket = route.ready(healthy, call.session, call.failed) or route.ask(healthy, call.session, call.failed)
            if ticket is None:
                return own()
            call.decided(ticket)
            return random.choice([d for d in healthy if deployment_id(d) in ticket.deployments])
        except Exception as error:
            owner.route.missed()
            owner.route.problem("no decision", f"the router chooses by itself: {error!r}")
            return own()
