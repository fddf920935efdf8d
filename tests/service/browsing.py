"""A browser for the tests: Debian's chromium, driven by Playwright, where both are there."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run", "--disable-dev-shm-usage"),
]
AXE = Path(__file__).parent / "vendored" / "axe.min.js"
# A page may take so long on a machine with much else to do, in milliseconds.
PATIENCE = 60_000.0


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: no browser is driven")
    if CHROMIUM is None:
        pytest.skip("no browser is installed (apt-get install chromium): the pages are not tried in one")
    with driver.sync_playwright() as play:
        made = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        try:
            yield made
        finally:
            made.close()


class Watched:
    """A page, and whatever went wrong on it: dialogs, errors of scripts and policies, hosts that were called."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.set_default_navigation_timeout(PATIENCE)
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message: Any) -> None:
        # A form that was refused, and a network that is off (as htmx says, too), are what a test is about.
        known = "net::ERR_" in message.text or "responded with a status of 4" in message.text
        known = known or message.text.startswith(("htmx:sendError", "htmx:afterRequest"))
        if message.type in ("error", "warning") and not known:
            self.wrong.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:", "chrome-error:")):
            self.wrong.append(f"elsewhere: {request.url}")

    def go(self, path: str) -> None:
        """Go to a page of the service."""
        self.page.goto(self.url + path, wait_until="load")

    def axe(self) -> list[str]:
        """What axe-core finds: rules of WCAG 2.2 AA and of good practice."""
        if not self.page.evaluate("typeof window.axe === 'object'"):
            self.page.evaluate(AXE.read_text() + "; undefined")
        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        found = self.page.evaluate("tags => axe.run(document, { runOnly: tags, resultTypes: ['violations'] })", tags)
        return [
            f"{one['id']}: {node['target']} {node['failureSummary']}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def fits(self) -> bool:
        """Whether nothing sticks out to the right."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
