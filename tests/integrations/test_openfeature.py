"""Flags that are studies: in a storage, behind the service, synchronous and not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.track import TrackingEventDetails

import satisfice as sf
from satisfice.integrations.openfeature import SatisficeProvider
from service.running import running

ARMS = {"small": 1.0, "large": 9.0}


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/flags.db"


@pytest.fixture
def provider(storage: str) -> Iterator[SatisficeProvider]:
    sf.create_study("answers", ARMS, sf.BestReward(0.1), storage=storage, seed=1).close()
    made = SatisficeProvider(storage, events={"thumbs up": "answers"})
    api.set_provider(made)
    yield made
    api.shutdown()
    api.clear_providers()


@pytest.fixture
def client(provider: SatisficeProvider) -> OpenFeatureClient:
    return api.get_client()


def told(storage: str) -> int:
    with sf.load_study("answers", storage) as study:
        return sum(arm.pulls for arm in study.status().arms)


def test_a_flag_is_an_arm_and_its_decision_is_in_the_metadata(
    client: OpenFeatureClient, provider: SatisficeProvider, storage: str
) -> None:
    for i in range(20):
        flag = client.get_string_details("answers", "large")
        assert flag.value in ARMS and flag.variant == flag.value and flag.error_code is None
        details = TrackingEventDetails(float(i % 2), {"decision": flag.flag_metadata["decision"], "cost": 2.0})
        client.track("answers", tracking_event_details=details)
    assert provider.flush()
    with sf.load_study("answers", storage) as study:
        status = study.status()
    assert sum(arm.pulls for arm in status.arms) == 20 and status.spending.total == 40.0


def test_a_subject_keeps_its_decision_until_it_is_told(
    client: OpenFeatureClient, provider: SatisficeProvider, storage: str
) -> None:
    anna = EvaluationContext("anna")
    first, again = (client.get_string_details("answers", "large", anna) for _ in range(2))
    assert first.flag_metadata["decision"] == again.flag_metadata["decision"]
    client.track("thumbs up", anna)
    assert provider.flush()
    assert told(storage) == 1
    third = client.get_string_details("answers", "large", anna)
    assert third.flag_metadata["decision"] != first.flag_metadata["decision"]


def test_sessions_and_arms_that_cannot_be_played(client: OpenFeatureClient) -> None:
    for i in range(5):
        context = EvaluationContext(attributes={"exclude": ["small"], "session": f"chat {i}"})
        assert client.get_string_value("answers", "nobody", context) == "large"
    nothing = client.get_string_details("answers", "mine", EvaluationContext(attributes={"exclude": [*ARMS]}))
    assert (nothing.value, nothing.error_code) == ("mine", ErrorCode.INVALID_CONTEXT)


def test_a_flag_that_is_no_study_gives_the_default(
    client: OpenFeatureClient, provider: SatisficeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    flag = client.get_string_details("nothing", "mine")
    assert (flag.value, flag.error_code) == ("mine", ErrorCode.FLAG_NOT_FOUND)
    client.track("nothing", tracking_event_details=TrackingEventDetails(1.0, {"decision": 1}))
    client.track("answers", tracking_event_details=TrackingEventDetails(1.0, {"decision": 12345}))
    client.track("answers", EvaluationContext("nobody was asked for"))
    assert provider.flush()
    assert "was not told" in caplog.text and "of no decision" in caplog.text


def test_numbers_and_switches(storage: str, client: OpenFeatureClient) -> None:
    sf.create_study("size", {"1": 1.0, "2": 2.0}, sf.FixedThreshold(0.5), storage=storage)
    sf.create_study("new", {"on": 1.0, "off": 0.0}, sf.FixedThreshold(0.5), storage=storage)
    assert client.get_integer_value("size", 7) in (1, 2)
    assert client.get_float_value("size", 7.0) in (1.0, 2.0)
    assert client.get_object_details("size", {}).value in ({"arm": "1"}, {"arm": "2"})
    assert client.get_boolean_details("new", False).error_code is None
    wrong = client.get_boolean_details("answers", True)
    assert (wrong.value, wrong.error_code) == (True, ErrorCode.TYPE_MISMATCH)
    with sf.load_study("answers", storage) as study:
        assert sum(arm.pending for arm in study.status().arms) == 0  # no decision was made of it


def test_without_blocking_the_loop(client: OpenFeatureClient, provider: SatisficeProvider, storage: str) -> None:
    async def one(i: int) -> None:
        flag = await client.get_string_details_async("answers", "large", EvaluationContext(f"user {i}"))
        client.track("answers", EvaluationContext(f"user {i}"), TrackingEventDetails(1.0))
        assert flag.value in ARMS

    async def work() -> None:
        await asyncio.gather(*(one(i) for i in range(32)))

    asyncio.run(work())
    assert provider.flush()
    assert told(storage) == 32


def test_against_the_service(tmp_path: Path) -> None:
    with running(sf.studies.get_storage(f"sqlite:///{tmp_path}/s.db")) as up:
        key = up.key("admin")
        with sf.connect(up.url, key) as service:
            service.create_study("answers", ARMS, sf.BestReward(0.1))
            provider = SatisficeProvider(up.url, key)
            api.set_provider(provider)
            flags, anna = api.get_client(), EvaluationContext("anna")
            flag = flags.get_string_details("answers", "large", anna)
            assert flag.value in ARMS and isinstance(flag.flag_metadata["decision"], str)
            flags.track("answers", anna, TrackingEventDetails(1.0, {"cost": 3.0}))
            assert provider.flush()
            assert sum(arm.pulls for arm in service.study("answers").status().arms) == 1
            assert flags.get_string_details("other", "mine").error_code == ErrorCode.FLAG_NOT_FOUND
        logging.getLogger("openfeature").setLevel(logging.CRITICAL)
    away = api.get_client().get_string_details("answers", "mine", EvaluationContext("bert"))
    assert (away.value, away.error_code) == ("mine", ErrorCode.GENERAL)
    api.shutdown()
    api.clear_providers()
