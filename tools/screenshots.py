"""Pictures of every screen of the dashboard, light and dark, on a phone and on a desk: `make screenshots`.

`python tools/screenshots.py [FOLDER] [--docs]`: into `screenshots` by default; with --docs, the three pictures of the
documentation are made from them, too. The studies are those of `satisfice demo`, some
minutes after its start. Needs chromium and Playwright.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path

import uvicorn
from PIL import Image
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
    names = [word for word in sys.argv[1:] if word != "--docs"]
    folder = Path(names[0] if names else "screenshots")
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
    if "--docs" in sys.argv:
        document(folder, Path(__file__).parent.parent / "docs" / "images")


def document(folder: Path, target: Path) -> None:
    """The pictures of the documentation: parts of screens, in few colours."""

    def part(name: str, box: tuple[int, int, int, int]) -> Image.Image:
        return Image.open(folder / f"{name}.png").convert("RGB").crop(box)

    def save(picture: Image.Image, name: str) -> None:
        small = picture.quantize(200, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        small.save(target / f"{name}.png", optimize=True)
        print(f"{target / name}.png: {(target / f'{name}.png').stat().st_size / 1e3:.0f} kB")

    desk = (0, 0, 1440, 1280)
    for name, source in (("dashboard-study", "study-desk-light"), ("dashboard-time", "time-desk-dark")):
        save(part(source, desk).resize((1080, 960), Image.Resampling.LANCZOS), name)
    sheet = Image.new("RGB", (1120, 780), "white")
    for place, (name, top) in enumerate(
        (("studies-phone-light", 0), ("proved-phone-dark", 0), ("proved-phone-light", 780))
    ):
        sheet.paste(part(name, (0, top, 360, top + 780)), (380 * place, 0))
    save(sheet, "dashboard-phone")


if __name__ == "__main__":
    main()
