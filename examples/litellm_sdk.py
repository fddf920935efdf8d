"""LiteLLM's SDK: each call goes to the cheapest model that keeps nine tenths of the best one's quality.

pip install 'satisfice[litellm]'
"""

from __future__ import annotations

import asyncio
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the price map that comes with LiteLLM: nothing is downloaded

import litellm
from fake_openai import FakeOpenAI

from satisfice.integrations.litellm import Satisfice


def right(kwargs: dict, response: litellm.ModelResponse) -> float:
    """The reward of an answer: here the fake models say themselves whether they are right."""
    return float(response.choices[0].message.content.startswith("yes"))


async def main() -> None:
    with FakeOpenAI() as fake:
        route = Satisfice("answers", storage="sqlite:///answers.db", alpha=0.1, reward=right)
        litellm.callbacks = [route]
        router = litellm.Router(model_list=fake.deployments("answers"))
        for i in range(400):
            question = [{"role": "user", "content": f"Is {i} a number?"}]
            response = await router.acompletion(model="answers", messages=question)
            if i % 100 == 0:
                print(response.choices[0].message.content, response._hidden_params["satisfice"])
        # A reward may also be told later, from anywhere: here of a stream.
        stream = await router.acompletion(model="answers", messages=question, stream=True)
        words = [chunk.choices[0].delta.content or "" async for chunk in stream]
        print("".join(words))
        await asyncio.sleep(1)  # LiteLLM logs in the background
        print(route.status())
        print(route.counts)
        route.close()
        charged = sum(model.charged for model in fake.models.values())
        print(f"the models charged ${charged:.4f}")
        assert route.counts["decided"] > 0


if __name__ == "__main__":
    asyncio.run(main())
