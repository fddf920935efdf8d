"""What the tests with LiteLLM share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a test's coroutine, and wait for what LiteLLM logs in the background."""

    async def all_of_it() -> Any:
        result = await work
        await logged()
        return result

    return asyncio.run(all_of_it())


async def logged() -> None:
    """Wait until LiteLLM has logged what was called so far."""
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

    for _ in range(3):
        await asyncio.sleep(0.02)
        await GLOBAL_LOGGING_WORKER.flush()


async def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something is true."""
    for _ in range(int(seconds / 0.02)):
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true")


def says_yes(kwargs: object, response: Any) -> float:
    """The reward of the fake server's answers."""
    return float(response.choices[0].message.content.startswith("yes"))


def ask(router: Any, question: str = "hello", **more: Any) -> Any:
    """A call of the group."""
    return router.acompletion(model="answers", messages=[{"role": "user", "content": question}], **more)
