"""Build the distribution, install the wheel into an empty environment and use it where the repository is not.

`python tools/wheel.py [FOLDER]`: with a folder, the files are left in it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
STORAGE = "sqlite:///studies.db"


def main() -> None:
    """Everything, with a line for each step that went well."""
    with tempfile.TemporaryDirectory(prefix="satisfice-wheel-") as room:
        dist = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(room, "dist")
        call(sys.executable, "-m", "build", "--outdir", dist, ROOT)
        (wheel,) = dist.glob("*.whl")
        (source,) = dist.glob("*.tar.gz")
        call(sys.executable, "-m", "twine", "check", "--strict", wheel, source)
        say(f"built and checked {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) and {source.name}")
        venv.create(Path(room, "env"), with_pip=True)
        binaries = Path(room, "env", "Scripts" if os.name == "nt" else "bin")
        call(binaries / "python", "-m", "pip", "install", "--quiet", f"{wheel}[serve]")
        say("installed into an empty environment")
        elsewhere = Path(room, "elsewhere")
        elsewhere.mkdir()
        use(binaries, elsewhere)


def use(binaries: Path, folder: Path) -> None:
    """What the README promises, from a folder that knows nothing of the repository."""

    def satisfice(*words: object) -> str:
        return call(binaries / "satisfice", *words, folder=folder)

    home = call(binaries / "python", "-c", "import satisfice; print(satisfice.__file__)", folder=folder)
    assert Path(home.strip()).is_relative_to(binaries.parent), f"the package comes from {home}"
    run = ["run", "--instance", "movielens", "--alpha", "0.25", "--horizon", "1e5", "--runs", "4", "--json"]
    made = json.loads(satisfice(*run, "--policy", "pe-cs", "--policy", "pe-cs(kappa=5)", "--out", "results"))
    assert {row["policy"] for row in made["summary"]} == {"pe-cs", "pe-cs(kappa=5)"}, made
    assert Path(folder, made["data"]).is_file() and Path(folder, made["picture"]).is_file(), made
    say("satisfice run: two policies on movielens, results and picture written")
    study = ["study", "{}", "answers", "--storage", STORAGE]
    terms = ["--arm", "small=0.2", "--arm", "large=8", "--alpha", "0.1", "--binary"]
    satisfice(*(word.format("create") for word in study), *terms)
    for reward in (1, 0, 1):
        decision = json.loads(satisfice(*(word.format("ask") for word in study), "--json"))
        satisfice("study", "tell", "answers", decision["id"], reward, "--storage", STORAGE)
    status = json.loads(satisfice(*(word.format("status") for word in study), "--json"))
    assert sum(arm["pulls"] for arm in status["arms"]) == 3, status
    satisfice(*(word.format("check") for word in study))
    say("satisfice study: created, asked, told, checked")
    pages(binaries, folder)


def pages(binaries: Path, folder: Path) -> None:
    """The dashboard, with the files that it needs, from the wheel."""
    words = [str(binaries / "satisfice"), "serve", "--storage", STORAGE, "--port", "0", "--no-auth"]
    server = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = re.findall(r"http://\S+", server.stdout.readline())[0]

        def get(path: str) -> str:
            with urllib.request.urlopen(address + path, timeout=120) as answer:
                return str(answer.read().decode())

        page = get("/studies/answers")
        assert "3 decisions" in page and "small" in page, page
        files = re.findall(r'(?:src|href)="(/static/[^"]+)"', get("/studies/answers/time"))
        assert len(files) == 6 and all(len(get(path)) > 100 for path in files), files
    finally:
        server.terminate()
        server.wait(timeout=60)
    say("satisfice serve: the dashboard and its files")


def call(*words: object, folder: Path | None = None) -> str:
    """The output of a command, which must go well, without this repository on Python's path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if folder is not None:
        environment["SATISFICE_CACHE"] = str(folder / "cache")
    done = subprocess.run([*map(str, words)], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """A line about what went well, and when."""
    print(f"[{time.perf_counter() - START:5.1f} s] {text}", flush=True)


if __name__ == "__main__":
    START = time.perf_counter()
    main()
