"""Pictures of every screen of the dashboard, light and dark, on a phone and on a desk: `make screenshots`.

`python tools/screenshots.py [FOLDER]`: into `screenshots` by default. The studies are those of `satisfice demo`, some
minutes after its start. Needs chromium and Playwright.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright

from satisfice.service import create_app
from satisfice.service.demo import Fleet
from satisfice.service.keys import NOBODY
from satisfice.service.server import Settings, listen
from satisfice.studies import get_storage

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
SIZES = {"phone": (360, 780), "desk": (1440, 900)}


def main() -> None:
    """All pictures."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no browser is installed: apt-get install chromium")
    storage = get_storage(None)
    fleet = Fleet(storage, past=6_000)
    print("making up some hours of calls ...", flush=True)
    fleet.make_up(whole=True)
    app = create_app(storage, auth=False)
    place = listen(Settings("", port=0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False))
    threading.Thread(target=server.run, kwargs={"sockets": [place]}, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{place.getsockname()[1]}"
    handle = app.state.service.handle("support-answers", NOBODY)
    study = "/studies/support-answers"
    screens = {
        "studies": "/",
        "new": "/new",
        "study": study,
        "proved": "/studies/invoices",
        "time": f"{study}/time",
        "decisions": f"{study}/decisions",
        "decision": f"{study}/decisions/{handle.id(400)}",
        "feedback": f"{study}/feedback",
        "what-if": f"{study}/what-if?alpha=0.1&ahead=1",
        "changes": f"{study}/changes",
        "settings": f"{study}/settings",
    }
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme=scheme,
                )
                page = context.new_page()
                for name, path in screens.items():
                    page.goto(url + path, wait_until="load", timeout=120_000)
                    if name == "time":
                        page.locator("canvas").last.wait_for()
                    page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
                print(f"{size}, {scheme}: {len(screens)} pictures", flush=True)
                context.close()
        browser.close()
    server.should_exit = True
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
