"""What `deploy/` has: the dashboard asks for numbers that the service gives."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx

from satisfice.studies import get_storage
from service.running import STUDY, running

DEPLOY = Path(__file__).parents[2] / "deploy"


def test_grafana_asks_for_numbers_that_are_there(tmp_path: Path) -> None:
    text = (DEPLOY / "grafana.json").read_text()
    wanted = set(re.findall(r"satisfice_[a-z_]+", " ".join(re.findall(r'"(?:expr|query)": "(.*?)",?\n', text))))
    with running(get_storage(f"sqlite:///{tmp_path}/studies.db")) as up, up.client(up.key("admin")) as client:
        client.post("/v1/studies", json=STUDY)
        decision = client.post("/v1/studies/answers/decisions").json()["decisions"][0]["id"]
        client.post("/v1/rewards", json={"decision": decision, "reward": 1})
        numbers: httpx.Response = client.get("/metrics")
    given = set(re.findall(r"^(satisfice_[a-z_]+)", numbers.text, flags=re.MULTILINE))
    assert len(json.loads(text)["panels"]) == 12
    assert wanted and wanted <= given, wanted - given
