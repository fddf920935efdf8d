"""The service against its own description: schemathesis makes up calls, right and wrong ones, with every check on.

`SATISFICE_SCHEMATHESIS=300 pytest tests/service/test_schemathesis.py` looks for so many seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from satisfice.studies import get_storage
from service.running import STUDY, running

SECONDS = os.environ.get("SATISFICE_SCHEMATHESIS", "8")


def test_the_service_does_what_its_description_says(tmp_path: Path) -> None:
    with running(get_storage(None), stream_seconds=0.01, poll_seconds=0.01) as up:
        key = up.key("admin")
        with up.client(key) as client:
            client.post("/v1/studies", json=STUDY)
        words = [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file"),
            *(str(Path(__file__).with_name("schemathesis.toml")), "run", f"{up.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {key}", "--checks", "all", "--max-time", SECONDS, "--no-color"),
            *([] if "SATISFICE_SCHEMATHESIS" in os.environ else ["--seed", "1"]),
        ]
        run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=float(SECONDS) + 120.0)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert "Tested: 18" in run.stdout
