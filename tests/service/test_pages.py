"""The pages without a browser: who gets in, what a form must prove, what is escaped, what is read."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from html import unescape

import httpx
import numpy as np
import pytest

import satisfice as sf
from satisfice.service.keys import keys_of, make_key
from satisfice.service.pages import sessions, what_if
from satisfice.studies import Storage, Study, create_study, get_storage, load_study
from service.running import Running, running

EVIL = '"><img src=x onerror=alert(1)>'


@contextlib.contextmanager
def browse(up: Running, key: str) -> Iterator[httpx.Client]:
    """A client that is signed in, as a browser would be."""
    with httpx.Client(base_url=up.url, follow_redirects=True, timeout=60.0) as client:
        token = token_on(client.get("/sign-in").text)
        assert client.post("/sign-in", data={"token": token, "key": key}).status_code == 200
        yield client


def token_on(page: str) -> str:
    """The token of the forms of a page."""
    return str(re.findall(r'name="token" value="([^"]+)"', page)[-1])


def words(page: str) -> str:
    """A page as people read it."""
    body = page.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


@pytest.fixture(params=["memory", "sqlite"])
def up(request: pytest.FixtureRequest, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    # Few futures, and as long as they take: how far one gets in a second depends on who else uses the machine.
    monkeypatch.setattr(what_if, "SECONDS", 600.0)
    monkeypatch.setattr(what_if, "FUTURES", 2)
    url = None if request.param == "memory" else f"sqlite:///{tmp_path}/studies.db?synchronous=normal"
    storage = get_storage(url)
    arms = {"small": 1.0, EVIL: 2.0, "large": 9.0}
    study = create_study("one", arms, sf.BestReward(0.1), storage=storage, binary=True, baseline="large", seed=1)
    play(study, 60)
    create_study("two/three", {"a": 1.0, "b": 2.0}, sf.FixedThreshold(0.5), storage=storage)
    with running(storage) as made:
        yield made


def play(study: Study, decisions: int) -> None:
    rng = np.random.default_rng(0)
    for first in range(1, decisions, 10):
        made = study.ask_many(10)
        study.tell_many({one.id: float(rng.random() < 0.7) for one in made[2:]})
        if first == 1:
            study.abandon(made[0].id)


def test_strangers_are_sent_to_the_door_and_back_to_where_they_wanted(up: Running) -> None:
    with httpx.Client(base_url=up.url) as client:
        sent = client.get("/studies/one/decisions?arm=small")
        assert (
            sent.status_code == 303
            and sent.headers["location"] == "/sign-in?to=%2Fstudies%2Fone%2Fdecisions%3Farm%3Dsmall"
        )
        token = token_on(client.get(sent.headers["location"]).text)
        form = {"token": token, "key": up.key("read"), "to": "/studies/one/decisions?arm=small"}
        back = client.post("/sign-in", data=form)
        assert back.headers["location"] == "/studies/one/decisions?arm=small"
    for elsewhere in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/x\r\nset-cookie: a=b"):
        with httpx.Client(base_url=up.url) as client:
            form = {"token": token_on(client.get("/sign-in").text), "key": up.key("read"), "to": elsewhere}
            assert client.post("/sign-in", data=form).headers["location"] == "/"
    with httpx.Client(base_url=up.url) as client:  # a part of a page is not a page to sign in on
        assert client.get("/studies/one", headers={"HX-Request": "true"}).status_code == 401


def test_a_key_that_may_not_read_does_not_get_in(up: Running) -> None:
    with httpx.Client(base_url=up.url) as client:
        for key, what in (("sf_abcdefgh_x", "no valid key"), (up.key("decide", "reward"), "may not read")):
            form = {"token": token_on(client.get("/sign-in").text), "key": key}
            refused = client.post("/sign-in", data=form)
            assert refused.status_code == 403 and what in words(refused.text)
            assert client.get("/").status_code == 303


def test_the_cookie_is_for_this_service_alone(up: Running) -> None:
    key = up.key("read")
    for headers, secure in (({}, False), ({"X-Forwarded-Proto": "https"}, True)):
        with httpx.Client(base_url=up.url, headers=headers) as client:
            page = client.get("/sign-in")
            first = page.headers["set-cookie"]
            client.cookies.set("satisfice", re.findall(r"satisfice=([^;]+)", first)[0])
            done = client.post("/sign-in", data={"token": token_on(page.text), "key": key})
            cookie = done.headers["set-cookie"]
            for part in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="):
                assert part in cookie
            assert ("Secure" in cookie) == secure and key not in cookie
            assert cookie.split(";")[0] != first.split(";")[0], "who signs in gets a session that nobody knew before"


def test_a_revoked_key_and_a_closed_session_end_it(up: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "FRESH", 0.0)
    text, key = make_key("short", ["read"])
    keys_of(up.storage).add(key)
    with browse(up, text) as client, browse(up, up.key("read")) as other:
        assert client.get("/").url.path == "/"
        keys_of(up.storage).revoke(key.prefix)
        assert client.get("/").url.path == "/sign-in"
        old = dict(other.cookies)
        other.post("/sign-out", data={"token": token_on(other.get("/").text)})
        assert httpx.get(up.url + "/", cookies=old).status_code == 303


def test_nothing_is_changed_without_the_token_of_a_page(up: Running) -> None:
    with browse(up, up.key("admin")) as client, browse(up, up.key("admin")) as other:
        mine, theirs = (token_on(one.get("/studies/one/settings").text) for one in (client, other))
        form = {"do": "prices", "price.large": "1"}
        for data, headers in (
            (form, {}),
            (form | {"token": "x"}, {}),
            (form | {"token": theirs}, {}),
            (form | {"token": mine}, {"Sec-Fetch-Site": "cross-site"}),
            (form | {"token": mine}, {"Sec-Fetch-Site": "same-site"}),
        ):
            assert client.post("/studies/one/settings", data=data, headers=headers).status_code == 403
        assert load_study("one", up.storage).arms["large"] == 9.0
        # The session is for pages: the API wants the key itself.
        assert client.patch("/v1/studies/one", json={"costs": {"large": 1}}).status_code == 401
        assert client.post("/studies/one/settings", data=form | {"token": mine}).status_code == 200
        assert load_study("one", up.storage).arms["large"] == 1.0


def test_a_key_that_reads_changes_nothing_and_one_for_a_study_sees_no_other(up: Running) -> None:
    with browse(up, up.key("read")) as client:
        token = token_on(client.get("/studies/one/settings").text)
        for path, data in (
            ("/studies/one/settings", {"do": "prices", "price.large": "1"}),
            ("/studies/one/settings", {"do": "delete", "name": "one"}),
            ("/new", {"name": "x", "arms": "a, 1"}),
        ):
            assert client.post(path, data=data | {"token": token}).status_code == 403
        assert client.get("/new").status_code == 403
        assert "Delete for good" not in client.get("/studies/one/settings").text
    with browse(up, up.key("admin", studies=["one"])) as client:
        assert "two/three" not in client.get("/").text and "one" in words(client.get("/").text)
        for room in (
            "",
            "/time",
            "/time.json",
            "/decisions",
            "/feedback",
            "/what-if",
            "/changes",
            "/settings",
            "/live",
        ):
            assert client.get(f"/studies/two%252Fthree{room}").status_code == 404
        page = client.get("/studies/one/settings").text
        assert "Keys that may see" not in page
        made = {"token": token_on(page), "do": "make-key", "label": "more", "scope": "admin", "where": "all"}
        assert client.post("/studies/one/settings", data=made).status_code == 403
        copied = client.post("/studies/one/settings", data={"token": token_on(page), "do": "copy", "name": "mine"})
        assert copied.status_code == 422 and "mine" not in up.storage.names()


def test_every_page_is_strict_and_escapes_what_people_typed(up: Running) -> None:
    study = load_study("one", up.storage)
    study.ask(subject=EVIL, session=EVIL, key=EVIL)
    with browse(up, up.key("admin")) as client:
        decision = re.findall(r'href="(/studies/one/decisions/[^"?]+)"', client.get("/studies/one/decisions").text)[0]
        rooms = ("", "/time", "/decisions", "/feedback", "/what-if?alpha=0.2&ahead=1", "/changes", "/settings")
        paths = [*(f"/studies/one{room}" for room in rooms), decision, "/", f"/?q={EVIL}", "/new", "/studies/none"]
        paths += ["/studies/one/what-if?alpha=" + EVIL, "/studies/one/decisions?subject=" + EVIL, f"/studies/{EVIL}"]
        for path in paths:
            answer = client.get(path)
            assert answer.status_code in (200, 404), path
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
            assert answer.headers["x-frame-options"] == "DENY" and answer.headers["cache-control"] == "no-store"
            assert "<img" not in answer.text and " style=" not in answer.text and "<style" not in answer.text, path
            assert (
                not re.search(r"<script(?! src=)", answer.text)
                and " onerror=alert" not in answer.text.split("<main")[0]
            )
            assert not re.search(r'(?:src|href|action)="https?:', answer.text), "nothing comes from elsewhere"


def test_without_keys_only_this_machine_is_answered() -> None:
    storage = get_storage(None)
    with running(storage, auth=False) as up, httpx.Client(base_url=up.url) as client:
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
        token = token_on(client.get("/new").text)
        form = {
            "token": token,
            "name": "new",
            "arms": "a, 1\nb, 2",
            "kind": "best",
            "alpha": "0.1",
            "low": "0",
            "high": "1",
        }
        assert httpx.post(up.url + "/new", data=form, cookies={"satisfice": "x" * 43}).status_code == 403
        assert client.post("/new", data=form).status_code == 303 and storage.names() == ["new"]


def test_the_list_has_pages_and_a_search(up: Running) -> None:
    for number in range(14):
        create_study(f"more {number:02d}", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), storage=up.storage)
    with browse(up, up.key("read")) as client:
        first, second = (words(client.get("/", params={"page": page}).text) for page in (1, 2))
        assert "more 13" in first and "page 1 of 2, 16 studies" in first and "more 00" not in first
        assert "more 00" in second and "two/three" in second
        found = words(client.get("/", params={"q": "MORE 07"}).text)
        assert "more 07" in found and "more 08" not in found
        assert "No study has “zebra”" in words(client.get("/", params={"q": "zebra"}).text)
        assert "two/three" in words(client.get("/studies/two%252Fthree").text)


def test_decisions_by_what_they_are(up: Running) -> None:
    study = load_study("one", up.storage)
    mine = study.ask(subject="me")
    with browse(up, up.key("read")) as client:

        def numbers(**query: str) -> list[str]:
            page = client.get("/studies/one/decisions", params=query).text
            return re.findall(r'data-label="Decision"><a href="[^"]+">([\d,]+)<', page)

        assert numbers()[0] == f"{mine.id}" and len(numbers()) == 25
        assert numbers(state="abandoned") == ["1"] and numbers(subject="me") == [f"{mine.id}"]
        assert numbers(state="open", arm=mine.arm)[0] == f"{mine.id}" and numbers(subject="you") == []
        page = client.get("/studies/one/decisions").text
        older = unescape(re.findall(r'rel="next" href="([^"]+)"', page)[0])
        assert f'">{mine.id - 25}</a>' in client.get(older).text
        there = client.get("/studies/one/decisions", params={"id": up.app.state.service.handle("one", STRANGE).id(7)})
        assert "Decision 7" in words(there.text) and "What was known then" in words(there.text)
        assert client.get("/studies/one/decisions/nonsense").status_code == 404


STRANGE = make_key("x", ["admin"])[1]


def test_settings_do_what_they_say(up: Running) -> None:
    with browse(up, up.key("admin")) as client:

        def do(what: str, study: str = "one", **data: str) -> httpx.Response:
            token = token_on(client.get(f"/studies/{study}/settings").text)
            return client.post(f"/studies/{study}/settings", data={"token": token, "do": what, **data})

        study = load_study("one", up.storage)
        assert "arm was added" in words(do("add", arm="tiny", cost="0.5").text) and study.arms["tiny"] == 0.5
        assert "Nothing was changed" in words(do("add", arm="tiny", cost="much").text)
        assert "cannot be retired" in words(do("retire", arm="large").text)
        assert "is closed" in words(do("close").text) and study.status().ended
        assert "open again" in words(do("reopen").text) and not study.status().ended
        assert "This is the copy" in words(do("copy", name="one again", learned="1").text)
        assert load_study("one again", up.storage).status().spending.decisions == 60
        made = do("make-key", label="gateway", scope="decide", where="here")
        (text,) = re.findall(r'class="key">(sf_[^<]+)<', made.text)
        assert client.post("/v1/studies/one/decisions", headers={"Authorization": f"Bearer {text}"}).status_code == 200
        assert "was revoked" in words(do("revoke-key", prefix=text.split("_")[1]).text)
        assert "Type the name" in words(do("delete", name="two").text) and "one" in up.storage.names()
        log = client.get("/studies/one/export?format=csv")
        assert log.text.startswith("decision,arm") and log.text.count("\n") == 62
        assert "The study was deleted" in words(do("delete", name="one").text)
        assert "one" not in up.storage.names() and client.get("/studies/one").status_code == 404


def test_a_service_whose_stream_ends_says_what_changed(up: Running) -> None:
    with browse(up, up.key("read")) as client, client.stream("GET", "/studies/one/live") as stream:
        text = "".join(stream.iter_text())
    assert stream.headers["content-type"] == "text/event-stream"
    assert text.startswith("event: fresh\ndata: {") and '"standing":"exploring"' in text


def test_what_if_judges_the_sums_anew_and_changes_nothing(up: Running) -> None:
    before = load_study("one", up.storage).status().to_dict()
    with browse(up, up.key("read")) as client:
        page = words(client.get("/studies/one/what-if", params={"alpha": "0.9", "price.large": "0.1"}).text)
        assert "Then it would say" in page and "'large'" in page.partition("Then it would say")[2]
        assert "alpha" in words(client.get("/studies/one/what-if", params={"alpha": "7"}).text)
        ahead = words(client.get("/studies/one/what-if", params={"ahead": "1"}).text)
        assert "Looking ahead" in ahead and "futures" in ahead
    assert load_study("one", up.storage).status().to_dict() == before


def test_two_replicas_share_their_sessions(tmp_path: object) -> None:
    url = f"sqlite:///{tmp_path}/studies.db?synchronous=normal"
    storages: list[Storage] = [get_storage(url), get_storage(url)]
    with running(storages[0]) as first, running(storages[1]) as second, browse(first, first.key("read")) as client:
        assert httpx.get(second.url + "/", cookies=dict(client.cookies)).status_code == 200
