"""The real router of LiteLLM's SDK: who is called, who gets the credit, and what it has cost."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import litellm
import pytest
from fake_openai import FakeOpenAI

import satisfice as sf
from satisfice.errors import InvalidReward, StorageError
from satisfice.integrations.litellm import Satisfice, SatisficeStrategy, decision_of
from satisfice.studies import get_storage
from service.running import running
from with_litellm.calls import ask, logged, run, says_yes, until

Routed = Callable[..., tuple[Satisfice, Any]]


def books(fake: FakeOpenAI, path: Path) -> None:
    """What the study has counted is what the server was asked, arm by arm, and what it has charged."""
    study = sf.load_study("answers", f"sqlite:///{path}/answers.db")
    status = study.status()
    for arm in status.arms:
        model = fake.models[arm.name.removeprefix("openai/")]
        assert arm.pulls == model.calls + model.failed, arm.name
        assert arm.mean * arm.pulls == pytest.approx(model.correct) if arm.pulls else True
        assert arm.spent == pytest.approx(model.charged, abs=1e-12), arm.name
    assert study.check().agrees
    study.close()


def test_every_call_is_decided_and_costs_are_those_of_the_server(
    routed: Routed, fake: FakeOpenAI, tmp_path: Path
) -> None:
    route, router = routed(reward=says_yes)

    async def work() -> None:
        for i in range(60):
            response = await ask(router, f"question {i}")
            told = response._hidden_params["satisfice"]
            assert told["study"] == "answers" and told["decision"] == decision_of(response)
            assert response.choices[0].message.content.endswith(told["arm"].removeprefix("openai/"))

    run(work())
    route.close()
    assert route.counts == {"decided": 60, "rewards": 60}
    books(fake, tmp_path)


def test_sixty_four_at_once_with_one_dictionary_of_metadata(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    route, router = routed(reward=says_yes)
    mine = {"mine": 1}

    async def work() -> None:
        for turn in range(3):
            await asyncio.gather(*(ask(router, f"question {turn}.{i}", metadata=mine) for i in range(64)))

    run(work())
    route.close()
    assert route.counts == {"decided": 192, "rewards": 192}
    assert "satisfice" not in mine
    books(fake, tmp_path)


def test_streams(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    route, router = routed()

    async def work() -> None:
        for i in range(12):
            stream = await ask(router, f"question {i}", stream=True, stream_options={"include_usage": True})
            words = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
            route.tell(stream, float("yes" in "".join(words)))

    run(work())
    route.close()
    books(fake, tmp_path)


def test_rewards_that_come_before_and_after_the_end_of_the_call(
    routed: Routed, fake: FakeOpenAI, tmp_path: Path
) -> None:
    route, router = routed()

    async def work() -> None:
        first = await ask(router, "one")
        route.tell(first, says_yes(None, first))  # LiteLLM logs in the background: perhaps nothing is booked yet
        second = await ask(router, "two")
        await logged()
        route.tell(decision_of(second), says_yes(None, second))
        with pytest.raises(InvalidReward, match="from 0 to 1"):
            route.tell(second, 7)

    run(work())
    route.close()
    books(fake, tmp_path)


def test_a_retry_goes_to_another_arm_and_failures_count(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    route, router = routed(["small", "medium"], router={"num_retries": 2}, reward=says_yes)

    async def work() -> None:
        for i in range(20):
            if i % 4 == 0:
                fake.models["small"].fail_next = 1
            await ask(router, f"question {i}")

    run(work())
    route.close()
    assert fake.models["small"].failed > 0 and fake.models["medium"].calls >= fake.models["small"].failed
    assert route.counts["failed"] == fake.models["small"].failed
    books(fake, tmp_path)


def test_a_fallback_to_another_group_is_nobodys_credit(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    models = ["small", "medium"]
    route, router = routed(models, router={"num_retries": 1, "fallbacks": [{"answers": ["backup"]}]}, reward=says_yes)

    async def work() -> None:
        for name in models:
            fake.models[name].fail_next = 2
        response = await ask(router, "one")
        assert response.choices[0].message.content.endswith("huge")
        assert decision_of(response) is None

    run(work())
    route.close()
    assert fake.models["huge"].calls == 1
    status = sf.load_study("answers", f"sqlite:///{tmp_path}/answers.db").status()
    assert sorted((arm.name, arm.pulls, arm.mean, arm.spent) for arm in status.arms) == [
        ("openai/medium", 1, 0.0, 0.0),
        ("openai/small", 1, 0.0, 0.0),
    ]


@pytest.mark.parametrize(("failed", "pulls"), [("worst", 1), (None, 0), (lambda error: 0.5, 1)])
def test_what_a_failure_is_worth(routed: Routed, fake: FakeOpenAI, failed: Any, pulls: int) -> None:
    route, router = routed(["small"], failed=failed)
    fake.models["small"].fail_next = 1

    async def work() -> None:
        with pytest.raises(litellm.InternalServerError):
            await ask(router)

    run(work())
    (arm,) = route.status().arms
    assert arm.pulls == pulls and arm.dropped == 1 - pulls
    if pulls:
        assert arm.mean == (0.0 if failed == "worst" else 0.5)


def test_models_come_and_go_while_it_runs(
    routed: Routed, fake: FakeOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satisfice.integrations.routing.route.COMPARE", 0.0)
    monkeypatch.setattr("satisfice.integrations.routing.route.FIRST_LOOK", 0.01)
    route, router = routed(["small", "medium"], reward=says_yes)

    def arms() -> set[str]:
        return {name.removeprefix("openai/") for name in route.route.study.arms()}

    async def work() -> None:
        await ask(router, "one")
        assert arms() == {"small", "medium"}
        router.add_deployment(litellm.types.router.Deployment(**fake.deployments("answers", ["large"])[0]))
        for i in range(40):
            await ask(router, f"two {i}")
        assert arms() == {"small", "medium", "large"}
        assert fake.models["large"].calls > 0
        router.delete_deployment(id="answers-small")
        before = fake.models["small"].calls
        for i in range(20):
            await ask(router, f"three {i}")
        assert fake.models["small"].calls == before
        await until(lambda: arms() == {"medium", "large"})

    run(work())
    route.close()
    books(fake, tmp_path)


def test_a_model_that_was_removed_before_the_start_is_retired(routed: Routed, fake: FakeOpenAI) -> None:
    first, router = routed(["small", "medium"], reward=says_yes)
    run(ask(router))
    first.close()
    litellm.callbacks = []
    second, router = routed(["medium", "large"], reward=says_yes)
    run(ask(router))
    assert second.route.study.arms() == {"openai/medium", "openai/large"}


def test_a_deployment_that_rests_is_not_chosen_and_not_retired(routed: Routed, fake: FakeOpenAI) -> None:
    route, router = routed(["small", "medium"], router={"allowed_fails": 0, "cooldown_time": 600}, reward=says_yes)

    async def work() -> None:
        await ask(router)
        fake.models["small"].fail_next = 10
        for i in range(30):
            try:
                await ask(router, f"question {i}")
            except litellm.InternalServerError:
                await logged()
        assert fake.models["small"].failed == 1  # then it rested

    run(work())
    assert route.route.study.arms() == {"openai/small", "openai/medium"}


def test_a_reward_that_another_worker_was_told_gets_its_cost(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    one, router = routed()

    async def work() -> None:
        answers = [await ask(router, f"question {i}") for i in range(10)]
        litellm.callbacks = []
        two, other = routed()
        answers.append(await ask(other, "question 10"))
        await logged()
        for answer in answers:
            two.tell(answer, says_yes(None, answer))
        assert two.flush()
        # Who made the calls knows what they have cost, and looks after a while.
        await until(lambda: len(one.route.tickets) == 0)
        two.close()

    run(work())
    one.close()
    books(fake, tmp_path)


# Sessions


def arm_of(response: Any) -> str:
    return str(response._hidden_params["satisfice"]["arm"])


def test_a_named_session_keeps_its_arm_in_both_workers(routed: Routed, fake: FakeOpenAI) -> None:
    one, router = routed(reward=says_yes)

    async def work() -> None:
        for i in range(40):
            await ask(router, f"before {i}")
        kept = {}
        for i in range(10):
            kept[i] = arm_of(await ask(router, f"first {i}", metadata={"session_id": f"chat {i}"}))
        litellm.callbacks = []
        two, other = routed(reward=says_yes)  # another worker on the same study
        for i in range(10):
            for turn in range(3):
                assert arm_of(await ask(other, f"{turn}", metadata={"session_id": f"chat {i}"})) == kept[i]
        assert two.counts["decided"] == 30

    run(work())
    one.close()


def test_a_conversation_keeps_its_arm(routed: Routed, fake: FakeOpenAI) -> None:
    _, router = routed(reward=says_yes)
    served: Counter[str] = Counter()

    async def work() -> None:
        for i in range(25):
            said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"question {i}"}]
            arms = []
            for _ in range(4):
                response = await router.acompletion(model="answers", messages=said)
                arms.append(arm_of(response))
                said += [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "more"}]
            assert len(set(arms)) == 1
            served[arms[0]] += 1

    run(work())
    assert len(served) > 1


# Prices


def test_a_price_of_zero_that_nobody_declared_is_refused(
    routed: Routed, fake: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    route, router = routed(["small", "medium"], reward=says_yes)
    strange = {"model": "openai/tiny", "api_base": fake.url, "api_key": "none"}
    free = {**strange, "model": "openai/large", "input_cost_per_token": 0, "output_cost_per_token": 0}
    for params in (strange, free):
        router.add_deployment(litellm.types.router.Deployment(model_name="answers", litellm_params=params))

    async def work() -> None:
        for i in range(30):
            await ask(router, f"question {i}")

    run(work())
    assert route.route.study.arms() == {"openai/small", "openai/medium", "openai/large"}
    assert fake.models["tiny"].calls == 0 and fake.models["large"].calls > 0
    assert route.counts["problem: no price"] >= 1 and "problem: price of zero" not in route.counts
    assert "'openai/tiny' of the group 'answers' has no known price" in caplog.text


def test_a_call_without_a_price_is_counted_without_a_cost(
    routed: Routed, fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    route, router = routed(["small"], reward=says_yes)
    took = route._ended
    monkeypatch.setattr(route, "_ended", lambda ticket, kwargs: took(ticket, {**kwargs, "response_cost": 0.0}))
    run(ask(router))
    (arm,) = route.status().arms
    assert arm.pulls == 1 and arm.cost > 0 and route.counts["problem: price of zero"] == 1


# Routing never breaks a call


def test_without_a_study_the_router_chooses_by_itself(
    routed: Routed, fake: FakeOpenAI, caplog: pytest.LogCaptureFixture
) -> None:
    route, router = routed(storage="sqlite:////nowhere/at/all.db", reward=says_yes)

    async def work() -> None:
        for i in range(5):
            assert (await ask(router, f"question {i}")).choices

    run(work())
    # The first call says so; the others do not wait for what is known to be away.
    assert route.counts == {"problem: no decision": 1}
    assert caplog.text.count("the router chooses by itself") == 1


def test_a_database_that_goes_away_while_it_runs(
    routed: Routed, fake: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    route, router = routed(reward=says_yes, patience=0.2)
    run(ask(router, "one"))
    source = route.route.study.leased._source

    def away(*_: object) -> Any:
        raise StorageError("away")

    monkeypatch.setattr(source, "take", away)
    monkeypatch.setattr(source, "settle", away)

    async def work() -> None:
        for i in range(40):
            assert (await ask(router, f"question {i}")).choices

    run(work())
    assert route.route.study.leased.away > 0
    monkeypatch.undo()
    assert route.flush()
    route.close()
    books(fake, tmp_path)


def test_errors_of_the_reward_and_of_failed_are_counted(routed: Routed, fake: FakeOpenAI) -> None:
    def wrong(*_: object) -> float:
        raise RuntimeError("not today")

    route, router = routed(["small"], reward=wrong, failed=wrong)
    fake.models["small"].fail_next = 1

    async def work() -> None:
        with pytest.raises(litellm.InternalServerError):
            await ask(router)
        assert (await ask(router)).choices

    run(work())
    assert route.counts["problem: no reward"] >= 2


def test_cancelled_calls_and_streams_that_nobody_reads_count_as_nothing(routed: Routed, fake: FakeOpenAI) -> None:
    route, router = routed(["small"], lost_after=0.0)
    fake.models["small"].seconds = 5.0

    async def work() -> None:
        call = asyncio.ensure_future(ask(router))
        await until(lambda: len(route.route.tickets) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        fake.models["small"].seconds = 0.0
        stream = await ask(router, stream=True)
        async for _ in stream:
            break

    run(work())
    route.route.sweep(0.0)
    (arm,) = route.status().arms
    assert (arm.pulls, arm.dropped) == (0, 2) and route.counts["lost"] == 2


def test_what_the_router_checks_afterwards_is_checked_before(routed: Routed, fake: FakeOpenAI) -> None:
    """A prompt that is too long for the cheap model, and tags: the chosen arm can answer."""
    _, router = routed(["small", "medium"], router={"enable_pre_call_checks": True}, reward=says_yes)
    for deployment in router.model_list:
        small = deployment["litellm_params"]["model"] == "openai/small"
        deployment["model_info"]["max_input_tokens"] = 50 if small else 10_000

    async def work() -> None:
        for i in range(10):
            response = await ask(router, f"question {i} " * 100)
            assert arm_of(response) == "openai/medium"

    run(work())
    assert fake.models["small"].calls == 0


def test_two_groups_have_two_studies(routed: Routed, fake: FakeOpenAI) -> None:
    """LiteLLM takes two callbacks of one class for the same one, unless they differ."""
    one, router = routed(["small"], reward=says_yes)
    two = Satisfice("backup", reward=says_yes)
    litellm.callbacks = [one, two]

    async def work() -> None:
        for _ in range(3):
            await ask(router)
            await router.acompletion(model="backup", messages=[{"role": "user", "content": "hello"}])

    run(work())
    assert one.counts == two.counts == {"decided": 3, "rewards": 3}
    assert [arm.pulls for arm in two.status().arms] == [3]
    two.close()


def test_a_study_behind_the_service(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    with running(get_storage(f"sqlite:///{tmp_path}/answers.db")) as up:
        route, router = routed(["small", "medium", "large"], storage=up.url, key=up.key("admin"), reward=says_yes)

        async def work() -> None:
            for i in range(30):
                named = {"metadata": {"session_id": f"chat {i % 4}"}} if i % 3 == 0 else {}
                await ask(router, f"question {i}", **named)

        run(work())
        route.close()
        assert route.counts == {"decided": 30, "rewards": 30}
        # A second one finds it there, with other models.
        litellm.callbacks = []
        again, router = routed(["medium", "large"], storage=up.url, key=up.key("admin"), reward=says_yes)
        run(ask(router, "once more"))
        assert again.route.study.arms() == {"openai/medium", "openai/large"}
        again.close()
    books(fake, tmp_path)


def test_groups_without_a_study_are_left_alone(routed: Routed, fake: FakeOpenAI) -> None:
    route, router = routed(["small"])
    response = run(router.acompletion(model="backup", messages=[{"role": "user", "content": "hello"}]))
    assert decision_of(response) is None and route.counts == {}


# The synchronous router


def test_synchronous_calls(routed: Routed, fake: FakeOpenAI, tmp_path: Path) -> None:
    route, router = routed(reward=says_yes)
    router.set_custom_routing_strategy(SatisficeStrategy(router, route))
    said = [{"role": "user", "content": "hello"}]
    threads = [
        threading.Thread(target=lambda: [router.completion(model="answers", messages=said) for _ in range(5)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert router.completion(model="backup", messages=said).choices
    run(until(lambda: route.counts.get("rewards") == 20))
    route.close()
    assert fake.models["huge"].calls - 1 == sum(
        arm.pulls
        for arm in sf.load_study("answers", f"sqlite:///{tmp_path}/answers.db").status().arms
        if arm.name == "openai/huge"
    )
    fake.models["huge"].calls -= 1
    fake.models["huge"].correct -= fake.right("huge", "hello")
    fake.models["huge"].charged -= 20 * 10e-6 + 1 * 10e-6 + 200 * 40e-6
    books(fake, tmp_path)
