"""Who may do what: every route with no key, a revoked key, a wrong scope and a key for another study."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import httpx
import pytest
from starlette.routing import Route

from satisfice import BestReward, InvalidData
from satisfice.service import logs
from satisfice.service.keys import keys_of, make_key, prefix_of
from satisfice.service.pages.looking import Glances
from satisfice.service.pages.rooms import rooms
from satisfice.service.problems import Problem
from satisfice.service.routes import OPERATIONS
from satisfice.service.server import Settings, check
from satisfice.studies import create_study, get_storage
from service.running import STUDY, Running, running

BODIES: dict[str, dict[str, object]] = {
    "/v1/studies/{study}/decisions": {},
    "/v1/studies/{study}/rewards": {"decision": "DECISION", "reward": 1.0},
    "/v1/rewards": {"decision": "DECISION", "reward": 1.0},
    "/v1/studies/{study}/leases": {"count": 1},
    "/v1/studies/{study}/records": {"records": [{"arm": "small", "reward": 1.0}]},
    "/v1/studies/{study}": {"costs": {"small": 0.5}},
    "/v1/studies": STUDY | {"name": "new"},
}
ROUTES = [(o.method, o.path, o.scope, o.open) for o in OPERATIONS] + [("GET", "/openapi.json", None, False)]


def call(client: httpx.Client, method: str, path: str, decision: str, study: str = "answers") -> httpx.Response:
    url = path.replace("{study}", study).replace("{decision}", decision)
    body = BODIES.get(path) if method in ("POST", "PATCH") else None
    text = None if body is None else json.dumps(body).replace("DECISION", decision)
    headers = {} if text is None else {"Content-Type": "application/json"}
    return client.request(method, url, content=text, headers=headers)


def decision_of(service: Running) -> str:
    with service.client(service.key("admin")) as client:
        client.post("/v1/studies", json=STUDY)
        client.post("/v1/studies", json=STUDY | {"name": "others"})
        answer: str = client.post("/v1/studies/answers/decisions").json()["decisions"][0]["id"]
    return answer


def test_without_a_valid_key_nothing_but_health_answers(service: Running) -> None:
    decision = decision_of(service)
    revoked = service.key("admin")
    keys_of(service.storage).revoke(prefix_of(revoked) or "")
    valid = service.key("admin")
    routes = [*ROUTES, ("GET", "/nowhere", None, False), ("PUT", "/v1/studies", None, False)]
    for key in (None, revoked, "sf_abcdefgh_" + "x" * 32, valid[:-1] + "!", valid[:12] + "x" * 32, "nonsense"):
        with service.client(key) as client:
            for method, path, _, is_open in routes:
                answer = call(client, method, path, decision)
                assert answer.status_code == (200 if is_open else 401), (method, path, key)
                if not is_open:
                    assert answer.headers["www-authenticate"] == "Bearer"


def test_every_route_needs_its_scope(service: Running) -> None:
    decision = decision_of(service)
    for scope in ("decide", "reward", "read"):
        with service.client(service.key(scope)) as client:
            for method, path, needed, _ in ROUTES:
                status = call(client, method, path, decision).status_code
                if needed is None or needed == scope:
                    assert status in (200, 201, 409), (method, path, scope, status)
                else:
                    assert status == 403, (method, path, scope, status)


def test_another_studys_key_sees_nothing_also_not_by_an_error(service: Running) -> None:
    decision = decision_of(service)
    with service.client(service.key("admin", studies=["others"])) as client:
        for method, path, _, _ in ROUTES:
            answer = call(client, method, path, decision)
            if "{study}" in path:
                # The same words as for a study that is not there at all.
                nowhere = call(client, method, path, decision, "nowhere")
                assert answer.status_code == nowhere.status_code == 404
                body = nowhere.text.replace("nowhere", "answers")
                assert answer.text == body, (method, path)
            elif path == "/v1/rewards":
                missing = client.post(path, json={"decision": "0" + decision[1:], "reward": 1.0})
                assert (answer.status_code, missing.status_code) == (404, 404)
                assert answer.json()["type"] == missing.json()["type"]
            elif path in ("/metrics",) or (method, path) == ("POST", "/v1/studies"):
                assert answer.status_code == 403
        assert client.get("/v1/studies").json() == {"studies": [{"name": "others"}], "next": None}
        # Whether a name is taken is not said either.
        assert client.post("/v1/studies", json=STUDY).status_code == 403
        assert client.get("/v1/studies/others").status_code == 200
        many = client.post("/v1/rewards", json={"rewards": [{"decision": decision, "reward": 1.0}]}).json()
        assert (many["changed"], many["problems"][0]["status"]) == (0, 404)


def test_every_route_is_walked(service: Running) -> None:
    """The walks follow from the table of operations: a path that is served and not in it, nor a page, is forgotten."""
    pages = {room.path for room in rooms(Glances(service.app.state.service))}
    served = {route.path for route in service.app.routes if isinstance(route, Route)}
    assert served == {path for _, path, _, _ in ROUTES} | pages | {"/{rest:path}"}
    with service.client(None) as client:
        for room in rooms(Glances(service.app.state.service)):
            for method in ("GET", "POST"):
                answer = client.request(method, room.path.replace("{", "").replace("}", ""), follow_redirects=False)
                if room.scope is None:
                    assert answer.status_code in (200, 401, 403, 404, 405), (method, room.path)
                else:  # sent to the door, or refused
                    assert answer.status_code in (303, 401, 403, 405), (method, room.path, answer.status_code)
                    assert answer.status_code != 303 or "/sign-in" in answer.headers["location"]


@pytest.mark.parametrize("place", ["{file}:Evil", "{file}", "evil:Evil", "evil.module:Evil(x=1)"])
def test_no_file_is_run_for_a_caller(service: Running, tmp_path: Path, place: str) -> None:
    file = tmp_path / "evil.py"
    file.write_text("import pathlib; pathlib.Path(__file__).with_name('ran').touch()")
    for policy in (place.format(file=file), {"id": place.format(file=file), "params": {}}):
        with service.client(service.key("admin")) as client:
            answer = client.post("/v1/studies", json=STUDY | {"name": "mine", "policy": policy})
        assert answer.status_code == 422, answer.text
        assert "by their ids" in answer.text or answer.json()["place"] == "$.policy.id"
    assert not (tmp_path / "ran").exists()


def test_a_key_may_call_so_often(service: Running) -> None:
    with service.client(service.key("read", rate="3/hour")) as client:
        answers = [client.get("/v1/studies") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 3600


def test_without_auth_only_names_of_this_machine_are_answered_to() -> None:
    with running(get_storage(None), auth=False) as up, up.client(None) as client:
        assert client.get("/v1/studies").status_code == 200
        # The name of a page from elsewhere that was made to lead here.
        assert client.get("/v1/studies", headers={"Host": "evil.example"}).status_code == 403


def test_no_auth_is_for_loopback_addresses() -> None:
    check(Settings("", host="127.0.0.1", auth=False))
    with pytest.raises(InvalidData, match="would let everybody in"):
        check(Settings("", host="0.0.0.0", auth=False))


def test_pages_from_elsewhere_are_let_in_by_name_only() -> None:
    origin = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    for cors, allowed in (((), None), (("https://shop.example",), "https://shop.example")):
        with running(get_storage(None), cors=cors) as up, up.client(None) as client:
            answer = client.options("/v1/rewards", headers=origin)
            assert answer.headers.get("access-control-allow-origin") == allowed


def test_the_log_names_keys_by_prefix_and_shows_no_secret(service: Running, caplog: pytest.LogCaptureFixture) -> None:
    key = service.key("read")
    with caplog.at_level(logging.INFO, logger="satisfice.service"), service.client(key) as client:
        client.get("/v1/studies", headers={"X-Request-ID": "my-request"}, params={"key": key})
    deadline = time.monotonic() + 300.0  # the line is written after the answer
    found: list[logging.LogRecord] = []
    while not found and time.monotonic() < deadline:
        found = [record for record in caplog.records if getattr(record, "request", "") == "my-request"]
        time.sleep(0.01)
    (record,) = found
    assert getattr(record, "key", "") == prefix_of(key)
    assert key not in caplog.text
    shown = logs._JSON().format(
        logging.LogRecord("x", logging.INFO, "", 0, f"{key} postgresql://me:pw@host/x", (), None)
    )
    assert key not in shown and ":pw@" not in shown and json.loads(shown)["level"] == "info"


def test_a_key_is_kept_as_its_hash() -> None:
    text, key = make_key("x", ["read"], ["a"], "5/second")
    assert text not in repr(key) and text.split("_")[2] not in repr(key)
    with pytest.raises(InvalidData, match="scopes"):
        make_key("x", ["write"])
    with pytest.raises(InvalidData, match="rate"):
        make_key("x", ["read"], rate="often")


def test_errors_of_the_storage_do_not_say_where_it_is(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    from satisfice.errors import StorageError

    create_study("answers", {"a": 1.0, "b": 2.0}, BestReward(0.1), storage=service.storage)

    def broken(*_: object) -> None:
        raise StorageError("postgresql://me@secret-host/db: it is gone")

    monkeypatch.setattr(service.app.state.service, "handle", broken)
    with service.client(service.key("admin")) as client:
        answer = client.get("/v1/studies/answers")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "secret-host" not in answer.text
    assert Problem("storage", "x").status == 503
