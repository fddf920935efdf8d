"""Time and memory of reading raw data, against the straightforward ways, in one run: `make bench-data`.

Made files of the shape of MovieLens 25M (25,000,095 ratings, 62,423 movies, 20 genres) and of the largest Goodreads
genre (3,500,000 gzipped JSON lines) are written to a folder (about 2 GB), read, and deleted. Every measurement is a
process of its own, with its imports in the time, so that its peak memory is its own; the means must agree.

    python benchmarks/instances.py [--dir FOLDER] [--repeats 3] [--pandas-fraction 0.1] [--only movielens]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from make_goodreads import LINES, make_goodreads
from make_movielens import RATINGS, make_movielens

# The literal merge-and-explode holds about 12 GB for the whole file.
PANDAS_NEEDS = 18e9


def satisfice_movielens(path: Path) -> dict[str, float]:
    from satisfice.instances import from_movielens

    instance = from_movielens(path, exact=True)
    return dict(zip(instance.names, instance.means.tolist(), strict=True))


def pandas_merge_then_explode(path: Path) -> dict[str, float]:
    import pandas as pd

    rows = pd.read_csv(path / "ratings.csv").merge(pd.read_csv(path / "movies.csv"), on="movieId")
    rows["genres"] = rows["genres"].str.split("|")
    return dict(rows.explode("genres").groupby("genres")["rating"].mean() / 5)


def pandas_explode_then_merge(path: Path) -> dict[str, float]:
    import pandas as pd

    movies = pd.read_csv(path / "movies.csv")
    movies["genres"] = movies["genres"].str.split("|")
    rows = pd.read_csv(path / "ratings.csv").merge(movies.explode("genres"), on="movieId")
    return dict(rows.groupby("genres")["rating"].mean() / 5)


def satisfice_goodreads(path: Path) -> dict[str, float]:
    from satisfice.instances import from_goodreads

    warnings.simplefilter("ignore")
    return {"share": float(from_goodreads(path, exact=True).means[0])}


def json_loads_loop(path: Path) -> dict[str, float]:
    import gzip

    above = rated = 0
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            rating = json.loads(line)["rating"]
            rated += rating > 0
            above += rating > 3
    return {"share": above / rated}


TASKS: dict[str, Callable[[Path], dict[str, float]]] = {
    function.__name__: function
    for function in (
        satisfice_movielens,
        pandas_merge_then_explode,
        pandas_explode_then_merge,
        satisfice_goodreads,
        json_loads_loop,
    )
}


def run_here(task: str, path: Path) -> None:
    start = time.perf_counter()
    means = TASKS[task](path)
    seconds = time.perf_counter() - start
    report = {"seconds": seconds, "cpu": time.process_time(), "mb": peak_memory(), "means": means}
    print(json.dumps(report))


def peak_memory() -> float:
    """In MB. Not from getrusage where that can be avoided: there a child starts with its parent's peak."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def measure(task: str, path: Path) -> dict[str, object]:
    words = [sys.executable, __file__, "--task", task, "--dir", str(path)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{task} failed ({done.returncode}): {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def compare(title: str, ours: str, baselines: list[str], path: Path, repeats: int) -> None:
    """Ours before, between and after the others, so that a machine that is busy for a while is so for all."""
    print(f"\n{title}")
    mine, others = [measure(ours, path)], {}
    for name in baselines:
        others[name] = measure(name, path)
        mine.append(measure(ours, path))
    while len(mine) < repeats:
        mine.append(measure(ours, path))
    median = sorted(mine, key=lambda report: report["seconds"])[len(mine) // 2]
    show(ours.replace("_", " ", 1), median, None)
    for name, report in others.items():
        gap = max(abs(report["means"][key] - median["means"][key]) for key in report["means"])
        if report["means"].keys() != median["means"].keys() or gap > 1e-9:
            sys.exit(f"{name} and {ours} disagree by {gap}")
        show(name.replace("_", " "), report, median)


def show(name: str, report: dict[str, object], ours: dict[str, object] | None) -> None:
    share = ""
    if ours is not None:
        time_ratio, cpu_ratio = report["seconds"] / ours["seconds"], report["cpu"] / ours["cpu"]
        share = f"   ours takes 1/{time_ratio:.1f} of the time, 1/{cpu_ratio:.1f} of the CPU time"
    print(f"  {name:28s} {report['seconds']:8.2f} s   {report['cpu']:8.2f} s CPU   {report['mb']:8,.0f} MB peak{share}")


def available_memory() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0.0
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def movielens(folder: Path, repeats: int, fraction: float | None) -> None:
    print(f"\nmaking {RATINGS:,} ratings ...", flush=True)
    whole = make_movielens(folder / "ml-made")
    both = ["pandas_merge_then_explode", "pandas_explode_then_merge"]
    if fraction is None:
        fraction = 1.0 if available_memory() > PANDAS_NEEDS else 0.1
    if fraction == 1:
        compare(f"MovieLens, {RATINGS:,} ratings", "satisfice_movielens", both, whole, repeats)
        return
    compare(f"MovieLens, {RATINGS:,} ratings", "satisfice_movielens", both[1:], whole, repeats)
    part = make_movielens(folder / "ml-part", fraction=fraction)
    print(f"\nmerge then explode would need about {12 * RATINGS / 25e6:.0f} GB there, so it reads a smaller file:")
    compare(f"MovieLens, {round(RATINGS * fraction):,} ratings", "satisfice_movielens", both, part, repeats)


def goodreads(folder: Path, repeats: int) -> None:
    print(f"\nmaking {LINES:,} reviews ...", flush=True)
    path = make_goodreads(folder / "made.json.gz")
    size = path.stat().st_size / 1e9
    title = f"Goodreads, {LINES:,} gzipped lines, {size:.2f} GB"
    compare(title, "satisfice_goodreads", ["json_loads_loop"], path, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, help="where to put the made files; a temporary folder by default")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of ours; the median is shown")
    parser.add_argument("--pandas-fraction", type=float, help="size of the file that pandas merges and then explodes")
    parser.add_argument("--only", choices=["movielens", "goodreads"])
    parser.add_argument("--task", choices=list(TASKS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_here(options.task, options.dir)
        return
    if options.dir:
        options.dir.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{os.cpu_count()} cores, load {load:.1f}, {time.strftime('%Y-%m-%d')}")
    with tempfile.TemporaryDirectory(prefix="satisfice-bench-", dir=options.dir) as folder:
        if options.only != "goodreads":
            movielens(Path(folder), options.repeats, options.pandas_fraction)
        if options.only != "movielens":
            goodreads(Path(folder), options.repeats)


if __name__ == "__main__":
    main()
