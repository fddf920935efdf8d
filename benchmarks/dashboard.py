"""What the dashboard costs: `make bench-dashboard`.

A study with 13 arms and a million decisions in SQLite. Every page: milliseconds on the server (the median, and its
processor time) and kilobytes. Then eight writers that ask and tell over HTTP, in turns alone and with ten pages that
look on as a browser does: a stream of events, and the page again whenever it says so. Every number that has a goal is
printed with it. About ten minutes on 2 cores, most of them to make the study; with --quick one.

    python benchmarks/dashboard.py [--quick] [--decisions N] [--turns N] [--keep FILE.db] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

import satisfice as sf
from satisfice.service import create_app
from satisfice.service.keys import NOBODY
from satisfice.studies import create_study, get_storage, load_study
from service import Server, load

ARMS = {f"model-{i:02d}": 0.05 * 1.6**i for i in range(13)}
MEANS = dict(zip(ARMS, np.linspace(0.55, 0.92, 13).tolist(), strict=True))
PAGE_MS, PAGE_KB, COST = 100.0, 60.0, 0.05


def build(url: str, decisions: int) -> None:
    """The study, if it is not there yet."""
    storage = get_storage(url)
    study = create_study("bench", ARMS, sf.BestReward(0.1), storage=storage, binary=True, baseline="model-12", seed=1,
                         load_if_exists=True)  # fmt: skip
    rng, done, began = np.random.default_rng(0), study.status().spending.decisions, time.perf_counter()
    while done < decisions:
        # As in life: few at a time at first, and some rewards that never come.
        made = study.ask_many(min(max(done // 100, 10), 2_000, decisions - done))
        rewards = rng.random(len(made))
        study.tell_many({one.id: float(u < MEANS[one.arm]) for one, u in zip(made, rewards, strict=True) if u < 0.999})
        if done * 4 // decisions != (done + len(made)) * 4 // decisions:
            study.set_cost("model-05", 0.4 + 0.1 * rng.random())
            print(f"  {done + len(made):,} decisions after {time.perf_counter() - began:.0f} s", flush=True)
        done += len(made)
    storage.close()


def pages(url: str, repeats: int) -> list[dict[str, object]]:
    """Every page, asked for in this process."""
    storage = get_storage(url)
    app = create_app(storage, auth=False)
    handle = app.state.service.handle("bench", NOBODY)
    last = handle.id(load_study("bench", storage).status().spending.decisions - 50)
    study = "/studies/bench"
    paths = [
        *("/", "/new", study, f"{study}/time", f"{study}/time.json", f"{study}/decisions"),
        *(f"{study}/decisions?state=open", f"{study}/decisions?arm=model-03", f"{study}/decisions/{last}"),
        *(
            f"{study}/feedback",
            f"{study}/what-if",
            f"{study}/what-if?alpha=0.2",
            f"{study}/changes",
            f"{study}/settings",
        ),
    ]

    async def ask() -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            for path in paths:
                times, work = [], []
                for _ in range(repeats):
                    began, cpu = time.perf_counter(), time.process_time()
                    answer = await client.get(path)
                    times.append(1e3 * (time.perf_counter() - began))
                    work.append(1e3 * (time.process_time() - cpu))
                    assert answer.status_code == 200, (path, answer.status_code)
                shown = path.replace(last, "ID")
                rows.append({"page": shown, "ms": statistics.median(times), "cpu": statistics.median(work),
                             "kb": len(answer.content) / 1e3})  # fmt: skip
        return rows

    try:
        return asyncio.run(ask())
    finally:
        storage.close()


# Ten pages that look on


async def _look(port: int, seen: list[int]) -> None:
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", timeout=None) as client:
        await client.get("/studies/bench")
        async with client.stream("GET", "/studies/bench/live") as stream:
            event = ""
            async for line in stream.aiter_lines():
                if line.startswith("event: "):
                    event = line[7:]
                elif line.startswith("data: ") and event == "fresh":
                    mark = json.loads(line[6:])["mark"]
                    await client.get("/studies/bench", headers={"HX-Request": "true", "X-Mark": mark})
                    seen[0] += 1


def looking(port: int, count: int, ready: multiprocessing.synchronize.Event) -> None:
    """So many pages that look on, until the process is ended."""
    seen = [0]

    async def run() -> None:
        tasks = [asyncio.create_task(_look(port, seen)) for _ in range(count)]
        while seen[0] < count:
            await asyncio.sleep(0.05)
        ready.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())


def writers(url: str, turns: int, pairs: int, lookers: int = 10) -> dict[str, object]:
    """Pairs of ask and tell a second of eight connections, alone and looked on, in turns."""
    server = Server(url)
    alone, watched, share = [], [], []
    try:
        for _ in range(100):
            try:
                httpx.get(f"http://localhost:{server.port}/health")
                break
            except httpx.HTTPError:
                time.sleep(0.1)
        load(server.port, "/v1/studies/bench/decisions", pairs // 2, 8, "pair")  # warm
        server.calm_down()
        for turn in range(2 * turns):
            process = None
            if turn % 2:
                ready = multiprocessing.Event()
                process = multiprocessing.Process(target=looking, args=(server.port, lookers, ready), daemon=True)
                process.start()
                ready.wait(60)
            began, cpu = time.perf_counter(), server.cpu()
            load(server.port, "/v1/studies/bench/decisions", pairs, 8, "pair")
            seconds, cpu = time.perf_counter() - began, server.cpu() - cpu
            (watched if turn % 2 else alone).append((pairs / seconds, 1e6 * cpu / pairs))
            if process is not None:
                process.terminate()
                process.join()
    finally:
        server.process.terminate()
        server.process.wait(timeout=60)
    ratios = [with_them[0] / without[0] for without, with_them in zip(alone, watched, strict=True)]
    share = [with_them[1] / without[1] for without, with_them in zip(alone, watched, strict=True)]
    return {
        "pairs a second alone": statistics.median(rate for rate, _ in alone),
        "pairs a second looked on": statistics.median(rate for rate, _ in watched),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "server CPU ratio": statistics.median(share),
    }


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 decisions, few turns")
    parser.add_argument("--decisions", type=int, default=None)
    parser.add_argument("--turns", type=int, default=None)
    parser.add_argument("--keep", type=Path, default=None, help="a database to use, and to leave there")
    parser.add_argument("--out", type=Path, default=None, help="write the numbers to this file, as JSON")
    given = parser.parse_args()
    decisions = given.decisions or (20_000 if given.quick else 1_000_000)
    turns, pairs = given.turns or (2 if given.quick else 7), 1_500 if given.quick else 6_000
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{given.keep or Path(folder, 'bench.db')}"
        print(f"a study with {len(ARMS)} arms and {decisions:,} decisions:", flush=True)
        build(url, decisions)
        rows = pages(url, 3 if given.quick else 9)
        print(f"\n{'page':42} {'ms':>7} {'CPU ms':>7} {'kB':>6}   goal: {PAGE_MS:g} ms, {PAGE_KB:g} kB")
        wrong = 0
        for row in rows:
            bad = row["ms"] > PAGE_MS or row["kb"] > PAGE_KB  # type: ignore[operator]
            wrong += bad
            print(f"{row['page']:42} {row['ms']:7.1f} {row['cpu']:7.1f} {row['kb']:6.1f}{'   missed' if bad else ''}")
        found = writers(url, turns, pairs)
        print(f"\neight writers: {found['pairs a second alone']:.0f} pairs a second alone, "
              f"{found['pairs a second looked on']:.0f} with ten pages that look on: {found['ratio']:.3f} "
              f"(goal: at least {1 - COST:g}); server CPU per pair: {found['server CPU ratio']:.3f}")  # fmt: skip
        if given.out is not None:
            given.out.write_text(json.dumps({"decisions": decisions, "pages": rows, "writers": found}, indent=1))
            print(f"written to {given.out}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
