"""The log of a study as a table: in memory, in a file, and as an archive of decisions that are no longer wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from satisfice.errors import InvalidData, InvalidStudy, OutcomeUnknown
from satisfice.exports import kind_of, writer
from satisfice.files import write_whole
from satisfice.studies.config import is_number, shown
from satisfice.studies.part import StudyPart
from satisfice.studies.records import Event, Outcome, Row
from satisfice.studies.storages.base import Ledger, Transaction, View

if TYPE_CHECKING:
    import polars as pl

CHUNK = 50_000

SCHEMA = {
    "id": "Int64",
    "arm": "String",
    "cost": "Float64",
    "reason": "String",
    "lease": "Int64",
    "subject": "String",
    "session": "String",
    "key": "String",
    "segment": "String",
    "chance": "Float64",
    "asked_at": "Float64",
    "status": "String",
    "reward": "Float64",
    "settled_at": "Float64",
}


def frames(view: View, last: int | None = None) -> Iterator[pl.DataFrame]:
    """The log, one row per decision, some at a time."""
    import polars as pl

    names, segments = [arm.name for arm in view.machine.arms], view.machine.segments
    schema = {key: getattr(pl, kind) for key, kind in SCHEMA.items()}
    rows = (row for row in view.rows(1, last) if row.outcome != Outcome.UNUSED)
    while True:
        part = list(islice(rows, CHUNK))
        columns = zip(*(_values(names, segments, row) for row in part), strict=True) if part else [[] for _ in SCHEMA]
        yield pl.DataFrame(dict(zip(SCHEMA, map(list, columns), strict=True)), schema=schema)
        if len(part) < CHUNK:
            return


def _values(names: list[str], segments: list[str], row: Row) -> tuple[object, ...]:
    cost = row.cost if row.told_cost is None else row.told_cost
    segment = segments[row.segment] if segments else None
    return (
        row.id, names[row.arm], cost, str(row.reason), row.lease, row.subject, row.session, row.key, segment,
        row.chance, row.at,
        str(row.outcome), row.reward, row.settled_at,
    )  # fmt: skip


def log_frame(view: View) -> pl.DataFrame:
    """The log of a study, one row per decision."""
    import polars as pl

    return pl.concat(list(frames(view)))


def write_log(view: View, path: Path, last: int | None = None) -> Path:
    """Write the log to a file, part by part; its name says what kind of file."""
    from polars.exceptions import PolarsError

    if path.is_dir():
        raise InvalidData(f"{path} cannot be written: it is a folder")
    kind = kind_of(path)
    try:
        return write_whole(path, lambda part: _write(view, part, kind, last))
    except (OSError, PolarsError) as error:
        raise unwritten(path, error) from error


def _write(view: View, path: Path, kind: str, last: int | None) -> None:
    """A file whose parts were never in memory together: each is a file of its own until the end."""
    import tempfile

    import polars as pl

    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".log-") as folder:
        for number, frame in enumerate(frames(view, last)):
            frame.write_parquet(Path(folder, f"{number:08d}.parquet"))
        writer(pl.scan_parquet(Path(folder, "*.parquet")), kind)(path)


def archive(ledger: Ledger, before: float, path: Path) -> int:
    """Put the settled decisions from before a time into a file, and delete them from the log."""
    if not is_number(before):
        raise InvalidStudy(f"before = {shown(before)}; it must be a time in seconds since 1970", parameter="before")
    kind_of(path, ("parquet",))
    if path.exists():
        raise InvalidData(f"{path} is there already; an archive overwrites nothing")
    last = ledger.look(lambda view: _settled_until(view, before))
    if not last:
        return 0
    first = ledger.look(lambda view: view.machine.archived)
    # First the file, whole and in place; only then is anything deleted.
    ledger.look(lambda view: write_log(view, path, last))

    def work(tx: Transaction) -> int:
        machine = tx.machine
        if machine.archived != first:
            raise InvalidStudy("somebody else archives this study at the same time; nothing was deleted")
        tx.add_event(Event(machine.seq + 1, "archive", amounts(tx, last), tx.now))
        tx.put_away(last)
        return last - first

    try:
        return ledger.run(work)
    except OutcomeUnknown:
        raise  # the file may be all that is left of them; it stays, as it does after an interrupt
    except Exception:
        path.unlink(missing_ok=True)
        raise


def amounts(view: View, through: int) -> dict[str, object]:
    """What the decisions up to `through` that are still in the log amount to: the data of an archive's event."""
    machine = view.machine
    handed = [0] * len(machine.leaves)
    part = StudyPart.like(machine)
    for asked, entries in view.chains():
        if asked.id > through:
            break
        handed[asked.segment] += machine.part(asked.segment).handed_by(asked)
        part.ask(asked)
        for entry in entries:
            part.enter(entry)
    counts = part.counts()
    for amount, pulls in zip(cast("list[dict[str, object]]", counts["parts"]), handed, strict=False):
        amount["handed"] = pulls
    return {"through": through, "handed": 0 if machine.parts else handed[0], **counts}


def _settled_until(view: View, before: float) -> int:
    """The last decision to archive: settled, from before the time, with none before it that is not."""
    machine, last = view.machine, 0
    for row in view.rows(machine.archived + 1, machine.frontier.last):
        if row.at >= before or row.outcome == Outcome.OPEN:
            break
        last = row.id
    return last


def unwritten(path: str | Path, error: Exception) -> InvalidData:
    """What to raise where a file cannot be written."""
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return InvalidData(f"{path} cannot be written: {reason}")


__all__ = ["amounts", "archive", "frames", "log_frame", "unwritten", "write_log"]
