"""A hundred conversations at the same time in one event loop, which no call ever blocks."""

from __future__ import annotations

import asyncio
import random

import satisfice as sf

rng = random.Random(10)
accuracy = {"small": 0.85, "large": 0.9}


async def serve(study: sf.AsyncStudy, number: int) -> None:
    """One request: ask, call the model, tell."""
    decision = await study.ask(key=f"request {number}")
    await asyncio.sleep(0.01)  # the model is called here
    await study.tell(decision.id, float(rng.random() < accuracy[decision.arm]))


async def main() -> None:
    """A web worker."""
    study = sf.create_study(
        "answers", {"small": 1.0, "large": 9.0}, sf.BestReward(0.1), storage="sqlite:///loop.db", load_if_exists=True
    )
    async with sf.AsyncStudy(study) as live:
        await asyncio.gather(*(serve(live, number) for number in range(100)))
        print(await live.status())


asyncio.run(main())
