"""The dashboard in a real browser: what people do there, at every width, light and dark, with and without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import satisfice as sf
from satisfice.service.keys import keys_of, make_key
from satisfice.studies import Storage, Study, create_study, get_storage, load_study
from service.browsing import PATIENCE, Watched, browser
from service.running import Running, running

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = "<script>alert(1)</script>"
ARMS = {"small": 0.2, EVIL: 1.0, "large": 8.0}
MEANS = {"small": 0.2, EVIL: 0.9, "large": 0.92}
ROOMS = ("", "/time", "/decisions", "/feedback", "/what-if?alpha=0.3", "/changes", "/settings")


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as made:
        yield made


def play(study: Study, decisions: int, seed: int = 0) -> None:
    """Decisions and rewards, ten at a time."""
    rng = np.random.default_rng(seed)
    for _ in range(decisions // 10):
        made = study.ask_many(10)
        study.tell_many({one.id: float(rng.random() < MEANS[one.arm]) for one in made[:9]})
        study.abandon(made[9].id)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    made = get_storage(f"sqlite:///{tmp_path_factory.mktemp('pages')}/studies.db?synchronous=normal")
    study = create_study("routing", ARMS, sf.BestReward(0.1), storage=made, binary=True, baseline="large", seed=1)
    play(study, 300)
    study.set_cost("large", 7.5)
    study.ask(subject=EVIL, session="s1")
    return made


@pytest.fixture(scope="module")
def up(storage: Storage) -> Iterator[Running]:
    with running(storage, stream_seconds=600.0, poll_seconds=0.05) as made:
        yield made


def key_for(storage: Storage, *scopes: str) -> str:
    text, key = make_key("Ada", scopes)
    keys_of(storage).add(key)
    return text


def sign_in(watched: Watched, key: str) -> None:
    watched.go("/")
    watched.page.get_by_label("Key").fill(key)
    watched.page.get_by_role("button", name="Sign in").click()
    watched.page.get_by_role("heading", name="Studies").wait_for()


def test_a_study_from_the_form_to_its_verdict(chrome: Browser, up: Running, storage: Storage) -> None:
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    with ExitStack() as stack:
        context = stack.enter_context(chrome.new_context(viewport={"width": 1440, "height": 900}))
        watched = Watched(context.new_page(), up.url)
        page = watched.page
        sign_in(watched, key_for(storage, "admin"))

        # The form explains what is wrong, keeps what was typed, and makes the study.
        page.get_by_role("link", name="New study").click()
        page.get_by_label("Name").fill("answers")
        page.get_by_label("Arms and what one decision").fill("small, 0.2\nmiddle")
        page.get_by_role("button", name="Make the study").click()
        expect(page.get_by_role("alert")).to_contain_text("a name, a comma and a cost")
        expect(page.get_by_label("Name")).to_have_value("answers")
        page.get_by_label("Arms and what one decision").fill("\n".join(f"{arm}, {cost}" for arm, cost in ARMS.items()))
        page.get_by_label("nearly that of an arm that you know").check()
        page.get_by_label("alpha").fill("0.15")
        page.get_by_label("The arm that you know").fill("large")
        page.get_by_text("More choices").click()
        page.get_by_label("Baseline").fill("large")
        page.get_by_role("button", name="Make the study").click()
        expect(page.get_by_role("heading", name="answers")).to_be_visible()
        expect(page.get_by_role("table").first).to_contain_text(EVIL)

        # A verdict arrives while the page is open.
        expect(page.locator("#live-state")).to_have_text("Live")
        expect(page.locator("#standing")).to_have_text("waiting for its first decision")
        study = load_study("answers", storage)
        rounds = 0
        while study.status().verdict.state != "certified" and rounds < 60:
            play(study, 100, seed=(rounds := rounds + 1))
        assert study.status().verdict.state == "certified"
        play(study, 200, seed=0)  # whoever asks next writes it down
        expect(page.locator(".lead")).to_contain_text("is the cheapest arm that is good enough")
        expect(page.locator("#standing")).to_have_text("proved")
        expect(page.locator("#news")).to_contain_text("is the cheapest arm that is good enough")

        # Lost is said, and found again, too.
        context.set_offline(True)
        expect(page.locator("#live-state")).to_contain_text("Connection lost")
        context.set_offline(False)
        expect(page.locator("#live-state")).to_have_text("Live")

        # A price changes, the study pauses; who did it is on record.
        page.get_by_role("link", name="Settings").click()
        page.get_by_role("region", name="Prices").get_by_label("large").fill("6.5")
        page.get_by_role("button", name="Set prices").click()
        expect(page.get_by_text("The prices are set.")).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#standing")).to_have_text("paused")
        assert study.arms["large"] == 6.5 and study.status().paused
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("The study goes on.")).to_be_visible()
        page.get_by_role("link", name="Changes").click()
        row = page.get_by_role("row").filter(has_text="The price of ‘large’ is 6.5")
        expect(row).to_contain_text("Ada (sf_")

        # Why a decision was made.
        page.get_by_role("link", name="Decisions").click()
        page.get_by_label("Arm").select_option(EVIL)
        page.get_by_role("button", name="Show").click()
        page.get_by_role("row").nth(1).get_by_role("link").first.click()
        expect(page.locator(".lead")).to_contain_text(EVIL)
        exact = page.get_by_role("link", name="Work it out exactly")
        if exact.count():
            exact.click()
        expect(page.locator(".lead")).to_contain_text(re.compile("known|rewards so far"))
        expect(page.get_by_role("row").filter(has_text="(served)")).to_contain_text(EVIL)
        assert watched.wrong == []


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (768, "light"), (1440, "light")])
def test_every_page_fits_and_axe_finds_nothing(
    chrome: Browser, up: Running, storage: Storage, width: int, scheme: str
) -> None:
    with chrome.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:  # type: ignore[arg-type]
        watched = Watched(context.new_page(), up.url)
        watched.go("/sign-in")
        found = {"/sign-in": watched.axe()}
        sign_in(watched, key_for(storage, "admin"))
        first = up.app.state.service.handle("routing", make_key("x", ["read"])[1]).id(1)
        paths = [
            "/",
            "/new",
            *(f"/studies/routing{room}" for room in ROOMS),
            f"/studies/routing/decisions/{first}",
            "/studies/none",
        ]
        for path in paths:
            watched.go(path)
            if path.endswith("/time"):
                watched.page.locator("canvas").first.wait_for()
            assert watched.fits(), f"{path} is wider than {width} px"
            # The widths between the ends differ in layout alone.
            if width != 768:
                found[path] = watched.axe()
        assert {path: wrong for path, wrong in found.items() if wrong} == {}
        assert watched.wrong == []


def test_without_a_script_all_is_there(chrome: Browser, up: Running, storage: Storage) -> None:
    with chrome.new_context(java_script_enabled=False, viewport={"width": 768, "height": 900}) as context:
        watched = Watched(context.new_page(), up.url)
        page = watched.page
        sign_in(watched, key_for(storage, "admin"))
        page.get_by_role("link", name="routing").click()
        assert page.locator("svg.interval").count() == 3 and page.locator("svg.plane").count() == 1
        assert "As of" in page.locator("#live-state").inner_text()
        page.get_by_role("link", name="Over time").click()
        assert page.locator("svg.chart").count() == 4 and page.locator("svg.closing").count() == 3
        page.get_by_role("link", name="What if").click()
        page.get_by_label("alpha").fill("0.9")
        page.get_by_role("button", name="Work it out").click()
        assert "Then it would say" in page.locator("main").inner_text()
        page.get_by_role("link", name="Settings").click()
        page.get_by_label("New arm").fill("tiny")
        page.get_by_label("Cost", exact=True).fill("0.1")
        page.get_by_role("button", name="Add").click()
        assert "The arm was added." in page.locator("main").inner_text()
        page.get_by_label("Retire an arm").select_option("tiny")
        page.get_by_role("button", name="Retire").click()
        assert "tiny" not in load_study("routing", storage).arms
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("Key").wait_for()
        assert watched.wrong == []


def test_under_a_sub_path_behind_a_proxy(chrome: Browser, storage: Storage) -> None:
    from playwright.sync_api import expect

    root = "/tools/satisfice"
    with (
        running(storage, root_path=root, under=root, stream_seconds=600.0) as up,
        chrome.new_context(viewport={"width": 1024, "height": 800}) as context,
    ):
        watched = Watched(context.new_page(), up.url + root)
        page = watched.page
        sign_in(watched, key_for(storage, "read"))
        page.get_by_role("link", name="routing").click()
        expect(page.locator("#live-state")).to_have_text("Live", timeout=PATIENCE)
        for name in ("Over time", "Decisions", "Feedback", "What if", "Changes", "Settings"):
            page.get_by_role("link", name=name).click()
            page.get_by_role("heading", name="routing").wait_for()
            assert page.url.startswith(watched.url)
        # A key that reads only is told so, and offered nothing else.
        assert page.get_by_role("button", name="Set prices").count() == 0
        assert watched.wrong == []


def test_the_files_of_others_come_with_their_licences() -> None:
    home = Path(sf.__file__).parent / "service" / "pages" / "static"
    for name in ("htmx", "uplot"):
        assert (home / f"{name}.min.js").stat().st_size > 10_000
        assert len((home / f"{name}.LICENSE.txt").read_text()) > 200
