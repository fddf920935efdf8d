"""A judge grades a fifth of the answers by a rubric; the other calls get the model that leads by then.

What the judge costs is booked apart, in a study of its own: it is the price of knowing, not of answering.
"""

from __future__ import annotations

import asyncio
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from fake_openai import FakeOpenAI

import satisfice as sf
from satisfice.integrations.litellm import Judge, Satisfice

RUBRIC = "10: the answer says yes. 0: it says no, or nothing."


async def main() -> None:
    with FakeOpenAI() as fake:
        judge = Judge("judges", rubric=RUBRIC, share=0.2)
        route = Satisfice("answers", storage="sqlite:///judged.db", alpha=0.1, judge=judge)
        litellm.callbacks = [route]
        # The judge is a group of the same router. It should not be one of the models that it grades.
        models = ["tiny", "small", "medium", "huge"]
        router = litellm.Router(model_list=fake.deployments("answers", models) + fake.deployments("judges", ["large"]))
        for i in range(300):
            await router.acompletion(model="answers", messages=[{"role": "user", "content": f"Is {i} a number?"}])
        for _ in range(500):
            if route.judging["graded"] == route.counts["decided"]:
                break
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        print(route.status())
        print(route.counts, route.judging)
        route.close()
    books = sf.load_study("answers-judge", "sqlite:///judged.db").status()
    print(f"the judge: {books.spending.decisions} grades, ${books.spending.total:.5f}")
    assert books.spending.decisions == route.judging["graded"] == route.counts["decided"] < 150
    assert abs(books.spending.total - fake.models["large"].charged) < 1e-9


if __name__ == "__main__":
    asyncio.run(main())
