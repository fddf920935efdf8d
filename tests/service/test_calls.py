"""What every call answers, over HTTP."""

from __future__ import annotations

import io

import httpx
import msgspec
import polars as pl
import pytest

from satisfice.service import schemas as types
from satisfice.service.ids import belongs, read_id, write_id
from service.running import STUDY, Running

Client = httpx.Client


@pytest.fixture
def study(admin: Client) -> Client:
    assert admin.post("/v1/studies", json=STUDY).status_code == 201
    return admin


def ask(client: Client, **body: object) -> list[dict[str, str]]:
    answer = client.post("/v1/studies/answers/decisions", json=body)
    assert answer.status_code == 200, answer.text
    decisions: list[dict[str, str]] = answer.json()["decisions"]
    return decisions


def kind(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    return answer.status_code, body["type"].removeprefix("urn:satisfice:")


def test_whoever_names_no_segment_leaves_the_others_alone(admin: Client) -> None:
    terms = STUDY | {"segments": ["code", "law"]}
    assert admin.post("/v1/studies", json=terms).json()["segments"] == ["code", "law"]
    first = ask(admin, segment="law")[0]
    assert first["segment"] == "law"
    # A decision without a segment is refused, as one of another kind is; rewards are taken all the same.
    assert kind(admin.post("/v1/studies/answers/decisions", json={})) == (422, "invalid-study")
    assert kind(admin.post("/v1/studies/answers/decisions", json={"segment": "news"})) == (422, "invalid-study")
    told = admin.post("/v1/studies/answers/rewards", json={"decision": first["id"], "reward": 1.0})
    assert told.json()["changed"] == 1
    status = admin.get("/v1/studies/answers/status").json()
    assert [(line["name"], line["rewards"]) for line in status["segments"]] == [("code", 0), ("law", 1)]
    assert admin.get("/v1/studies/answers/decisions").json()["decisions"][0]["segment"] == "law"
    wrong = admin.post("/v1/studies", json=STUDY | {"name": "x", "segments": []})
    assert kind(wrong) == (422, "invalid-request")


def test_a_study_takes_every_option_of_create_study_by_its_name(admin: Client) -> None:
    terms = {
        **{"name": "all", "arms": {"a": 1.0, "b": 2.0}, "setting": {"kind": "reference", "arm": "b", "alpha": 0.2}},
        **{"policy": {"id": "pe-cs", "params": {"kappa": 5}}, "horizon": 1000, "confidence": 0.9},
        **{"rewards": [0, 5], "binary": True, "expire_after": 60, "expire_as": 0, "mature_after": 90},
        **{"costs": "told", "cost_range": [0, 10], "baseline": "b", "holdout": 0.1, "budget": 50.0},
        **{"session_ttl": 5.0, "segments": 5, "seed": 7},
    }
    answer = admin.post("/v1/studies", json={**terms, "policy": "asymmetric-pe(kappa=5)"})
    assert answer.status_code == 201, answer.text
    got = answer.json()
    assert answer.headers["location"] == "/v1/studies/all"
    assert (got["setting"], got["policy"]["params"]["kappa"]) == (terms["setting"], 5.0)
    assert (got["low"], got["high"], got["cost_range"]) == (0.0, 5.0, [0.0, 10.0])
    assert [got[name] for name in ("horizon", "confidence", "baseline", "holdout", "seed")] == [
        *(1000, 0.9, "b", 0.1, 7)
    ]
    assert admin.get("/v1/studies/all").json() == got
    assert kind(admin.post("/v1/studies", json=STUDY | {"name": "all"})) == (409, "study-exists")
    assert kind(admin.post("/v1/studies", json=STUDY | {"name": "x", "policy": "nope"})) == (422, "invalid-study")


def test_the_same_reward_twice_is_200_another_409_and_correct_corrects(study: Client) -> None:
    (first,) = ask(study)
    tell = {"decision": first["id"], "reward": 1.0}
    for path in ("/v1/rewards", "/v1/studies/answers/rewards"):
        assert study.post(path, json=tell).status_code == 200
    assert kind(study.post("/v1/rewards", json=tell | {"reward": 0.0})) == (409, "reward-conflict")
    assert study.post("/v1/rewards", json=tell | {"reward": 0.0, "correct": True}).json()["changed"] == 1
    assert kind(study.post("/v1/rewards", json=tell | {"reward": 2.0})) == (422, "invalid-reward")
    arms = study.get("/v1/studies/answers/status").json()["arms"]
    assert [(arm["name"], arm["pulls"], arm["mean"]) for arm in arms] == [("small", 1, 0.0), ("large", 0, None)]


def test_one_bad_reward_of_many_leaves_the_others(study: Client) -> None:
    first, second, third = ask(study, count=3)
    rewards = [
        *({"decision": first["id"], "reward": 1}, {"decision": second["id"], "reward": 7}),
        *({"decision": "nobody0000", "reward": 1}, {"decision": third["id"], "abandon": True}),
    ]
    answer = study.post("/v1/rewards", json={"rewards": rewards}).json()
    assert answer["changed"] == 2
    assert [(p["decision"], p["status"]) for p in answer["problems"]] == [("nobody0000", 404), (second["id"], 422)]
    small = study.get("/v1/studies/answers/status").json()["arms"][0]
    assert (small["pulls"], small["pending"], small["dropped"]) == (1, 1, 1)


def test_a_key_gives_the_same_decisions_again(study: Client) -> None:
    made = ask(study, count=2, key="batch 1")
    again = study.post("/v1/studies/answers/decisions", json={"count": 2}, headers={"Idempotency-Key": "batch 1"})
    assert [d["id"] for d in again.json()["decisions"]] == [d["id"] for d in made]
    assert kind(study.post("/v1/studies/answers/decisions", json={"count": 3, "key": "batch 1"}))[0] == 422
    other = study.post("/v1/studies/answers/decisions", json={"key": "a"}, headers={"Idempotency-Key": "b"})
    assert kind(other) == (422, "invalid-request")


def test_whom_a_decision_is_for(study: Client) -> None:
    (one,), (same,) = ask(study, subject="me"), ask(study, subject="me")
    assert one["id"] == same["id"] and same["subject"] == "me"
    assert ask(study, exclude=["small"])[0]["arm"] == "large"
    assert ask(study, available=["large"])[0]["arm"] == "large"
    arm = ask(study, session="talk")[0]["arm"]
    assert ask(study, session="talk")[0]["arm"] == arm
    assert kind(study.post("/v1/studies/answers/decisions", json={"count": 2, "subject": "me"}))[0] == 422


def test_bad_bodies_are_422_with_the_place(study: Client) -> None:
    for body, place in (
        ({"count": 0}, "$.count"),
        ({"count": "two"}, "$.count"),
        ({"count": 1001}, "$.count"),
        ({"nothing": 1}, "$"),
        ({"exclude": [3]}, "$.exclude[0]"),
    ):
        answer = study.post("/v1/studies/answers/decisions", json=body)
        assert (answer.status_code, answer.json()["place"]) == (422, place)
    assert kind(study.post("/v1/rewards", content=b"{", headers={"Content-Type": "application/json"}))[0] == 422
    assert kind(study.post("/v1/rewards", content=b"{}", headers={"Content-Type": "text/plain"})) == (415, "not-json")
    assert kind(study.get("/v1/studies/answers/status", params={"x": 1})) == (422, "invalid-request")
    assert kind(study.post("/v1/rewards", content=b" " * 1_000_001)) == (413, "too-large")


def test_changes_of_a_study(study: Client) -> None:
    changed = study.patch("/v1/studies/answers", json={"costs": {"small": 0.3}, "add": {"mid": 1.0}}).json()
    assert changed["arms"] == {"small": 0.3, "large": 8.0, "mid": 1.0}
    assert study.patch("/v1/studies/answers", json={"retire": ["mid"]}).json()["arms"] == {"small": 0.3, "large": 8.0}
    assert kind(study.patch("/v1/studies/answers", json={"paused": True}))[0] == 422  # it has no baseline
    (late,) = ask(study)
    assert study.patch("/v1/studies/answers", json={"closed": True}).json()["closed"]
    assert kind(study.post("/v1/studies/answers/decisions")) == (410, "study-closed")
    assert study.post("/v1/rewards", json={"decision": late["id"], "reward": 1}).json()["changed"] == 1
    assert not study.patch("/v1/studies/answers", json={"closed": False}).json()["closed"]
    assert ask(study)


def test_pages_of_decisions_and_why(study: Client) -> None:
    made = [d["id"] for d in ask(study, count=5)]
    seen: list[str] = []
    before: dict[str, str] = {}
    for _ in range(3):
        page = study.get("/v1/studies/answers/decisions", params={"limit": 2, **before}).json()
        seen += [line["id"] for line in page["decisions"]]
        before = {"before": page["next"]}
    assert seen == made[::-1] and page["next"] is None
    why = study.get(f"/v1/studies/answers/decisions/{made[0]}").json()
    assert why["id"] == made[0] and f"Decision {made[0]} " in why["sentence"]
    assert kind(study.get("/v1/studies/answers/decisions/nobody0000")) == (404, "unknown-decision")


def test_answers_have_the_fields_that_the_description_names_and_no_others(study: Client) -> None:
    (first,) = ask(study, session="chat")
    study.post("/v1/rewards", json={"decision": first["id"], "reward": 1.0, "cost": 0.1})
    for path, answer in (
        ("", types.StudyTerms),
        ("/status", types.StatusAnswer),
        ("/decisions", types.DecisionPage),
        (f"/decisions/{first['id']}", types.Explained),
    ):
        data = study.get(f"/v1/studies/answers{path}").json()
        assert msgspec.to_builtins(msgspec.convert(data, answer)) == data, path


def test_studies_come_in_pages(admin: Client) -> None:
    for number in range(5):
        admin.post("/v1/studies", json=STUDY | {"name": f"s{number}"})
    seen, after = [], 0
    for _ in range(3):
        page = admin.get("/v1/studies", params={"limit": 2, "after": after}).json()
        seen += [line["name"] for line in page["studies"]]
        after = page["next"]
    assert seen == [f"s{number}" for number in range(5)] and after is None


def test_a_deleted_study_is_gone_and_its_ids_with_it(study: Client) -> None:
    (old,) = ask(study)
    assert study.delete("/v1/studies/answers").status_code == 204
    assert kind(study.get("/v1/studies/answers")) == (404, "unknown-study")
    assert study.post("/v1/studies", json=STUDY).status_code == 201
    ask(study)
    assert kind(study.post("/v1/rewards", json={"decision": old["id"], "reward": 1})) == (404, "unknown-decision")


def test_events_tell_of_verdicts_refutations_and_changes(admin: Client) -> None:
    admin.post("/v1/studies", json=STUDY | {"setting": {"kind": "fixed", "mu0": 0.8}})
    for _ in range(6):
        rewards = [{"decision": d["id"], "reward": int(d["arm"] == "large")} for d in ask(admin, count=20)]
        admin.post("/v1/rewards", json={"rewards": rewards})
    admin.patch("/v1/studies/answers", json={"costs": {"small": 0.3}})
    text = admin.get("/v1/studies/answers/events").text
    assert 'event: refutation\ndata: {"arm":"small"' in text
    assert "event: verdict" in text and '"kind":"set_cost"' in text
    last = [line for line in text.splitlines() if line.startswith("id: ")][-1].removeprefix("id: ")
    assert admin.get("/v1/studies/answers/events", headers={"Last-Event-ID": last}).text == ""


def test_the_log_as_a_file(study: Client) -> None:
    made = [d["id"] for d in ask(study, count=3)]
    study.post("/v1/rewards", json={"decision": made[1], "reward": 0.5})
    csv = study.get("/v1/studies/answers/export", params={"format": "csv"})
    parquet = study.get("/v1/studies/answers/export")
    for frame in (pl.read_csv(io.BytesIO(csv.content)), pl.read_parquet(io.BytesIO(parquet.content))):
        assert frame["decision"].to_list() == made
        assert frame["reward"].to_list() == [None, 0.5, None]


def test_records_count_once_per_key(study: Client) -> None:
    body = {"records": [{"arm": "large", "reward": 1.0, "key": "mine"}]}
    first, second = (study.post("/v1/studies/answers/records", json=body).json()["decisions"][0] for _ in range(2))
    assert first["id"] == second["id"]
    assert study.get("/v1/studies/answers/status").json()["arms"][1]["pulls"] == 1


def test_metrics_count_what_happens(service: Running, study: Client) -> None:
    for decision in ask(study, count=4)[:3]:
        study.post("/v1/rewards", json={"decision": decision["id"], "reward": 1})
    text = study.get("/metrics").text
    assert 'satisfice_rewards_total{study="answers"} 3.0' in text
    assert 'satisfice_study_verdict{state="exploring",study="answers"} 1.0' in text
    pending = [line for line in text.splitlines() if line.startswith("satisfice_study_pending")]
    assert sum(float(line.split()[-1]) for line in pending) == 1.0
    if not service.app.state.service.quick:
        assert "satisfice_commit_callers_count 0.0" not in text


def test_ids_name_their_study_and_nothing_else_does() -> None:
    text = write_id(3, "0011223344556677", 12)
    parts = read_id(text)
    assert parts is not None and (parts.study, parts.number) == (3, 12)
    assert belongs(parts, "0011223344556677")
    # One in 16 million others would fit by chance; these do not.
    assert not belongs(parts, "8811223344556677") and not belongs(parts._replace(first=13), "0011223344556677")
    inside = read_id(f"{text}.7")
    assert inside is not None and inside.number == 19 and belongs(inside, "0011223344556677")
    wrong = (
        "",
        "a b",
        "ä" * 16,
        "z" * 17,
        f"{text}.",
        f"{text}.x",
        f"{text}.10000",
        f"{text}.-1",
        f"{text}.1.1",
        f"{text}\n",
    )
    assert [read_id(each) for each in wrong] == [None] * len(wrong)


def test_leases_are_small_while_little_is_known_and_can_be_given_back(study: Client) -> None:
    def lease(**body: object) -> dict[str, object]:
        answer: dict[str, object] = study.post("/v1/studies/answers/leases", json=body).json()
        return answer

    def ids(answer: dict[str, object]) -> list[str]:
        blocks = answer["blocks"]
        assert isinstance(blocks, list)
        return [f"{block['first']}.{i}" for block in blocks for i in range(block["count"])]

    # 16 may be outstanding while nothing is known: half of them, then half of the rest, then one at a time.
    sizes = [len(ids(lease(count=100))) for _ in range(6)]
    assert sizes == [8, 4, 2, 1, 1, 1]
    first = lease(count=100, key="again")
    assert ids(lease(count=100, key="again")) == ids(first) and first["outstanding"] == 18
    told = study.post("/v1/rewards", json={"decision": ids(first)[0], "reward": 1.0})
    assert told.json()["changed"] == 1
    lines = study.get("/v1/studies/answers/decisions").json()["decisions"]
    unused = [line["id"] for line in lines if line["outcome"] == "open"]
    assert len(unused) == 17
    assert lease(count=0, unused=unused)["outstanding"] == 0
    assert kind(study.post("/v1/studies/answers/leases", json={"count": 1, "unused": ["nobody0000"]}))[0] == 404
