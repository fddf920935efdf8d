"""The log of a study as a table: in memory, in a file, and as an archive of decisions that are no longer wanted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from satisfice.errors import InvalidData, InvalidStudy, OutcomeUnknown
from satisfice.exports import kind_of, writer
from satisfice.files import write_whole
from satisfice.studies.config import is_number, shown
from satisfice.studies.machine import Machine
from satisfice.studies.part import StudyPart
from satisfice.studies.records import Event, Outcome, Row
from satisfice.studies.storages.base import Ledger, Transaction, View

if TYPE_CHECKING:
    import polars as pl

CHUNK = 50_000
# A log that changes while an archive of it is written is written again, up to so many times in all.
TRIES = 5

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


def write_log(view: View, path: Path, last: int | None = None, *, new: bool = False) -> Path:
    """Write the log to a file, part by part; its name says what kind of file. With `new`, it overwrites nothing."""
    from polars.exceptions import PolarsError

    if os.path.isdir(path):  # noqa: PTH112 (without an error where nobody may look)
        raise InvalidData(f"{path} cannot be written: it is a folder")
    kind = kind_of(path)
    try:
        return write_whole(path, lambda part: _write(view, part, kind, last), new=new)
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
    if os.path.exists(path):  # noqa: PTH110 (without an error where nobody may look)
        raise InvalidData(f"{path} is there already; an archive overwrites nothing")
    last = ledger.look(lambda view: _settled_until(view, before))
    if not last:
        return 0
    first = ledger.look(lambda view: view.machine.archived)
    written: Reckoning | None = None

    def write(view: View) -> Reckoning:
        found = reckon(view, last)
        write_log(view, path, last, new=written is None)
        return found

    def work(tx: Transaction) -> int:
        # Others wait for this: what takes long, to read and to add up, was done before.
        machine, counted = tx.machine, cast(Reckoning, written)
        if machine.archived != first:
            raise InvalidStudy("somebody else archives this study at the same time; nothing was deleted")
        if tx.size(last) != counted.size or _marks(machine) != counted.marks:
            raise Changed("the decisions to archive change all the time; nothing was deleted")
        tx.add_event(Event(machine.seq + 1, "archive", counted.data(machine), tx.now))
        tx.put_away(last)
        return last - first

    try:
        # First the file, whole and in place; only then is anything deleted, if it is what the file has.
        for _ in range(TRIES - 1):
            written = ledger.look(write)
            with contextlib.suppress(Changed):
                return ledger.run(work)
        written = ledger.look(write)
        return ledger.run(work)
    except OutcomeUnknown:
        raise  # the file may be all that is left of them; it stays, as it does after an interrupt
    except Exception as error:
        if written is not None and (isinstance(error, InvalidStudy | InvalidData) or _untouched(ledger, first)):
            path.unlink(missing_ok=True)
        raise


class Changed(InvalidStudy):
    """What was to be archived is no longer what was written."""


def _untouched(ledger: Ledger, first: int) -> bool:
    """Whether it is certain that nothing was put into an archive since."""
    try:
        return ledger.look(lambda view: view.machine.archived) == first
    except Exception:
        return False


class Reckoning(NamedTuple):
    """What the first decisions that are still in the log amount to, and what that rests on."""

    through: int
    amounts: dict[str, object]
    handed: list[tuple[int, int]]  # of every part, the number of its lease and how many are pulls of it
    size: tuple[int, int]  # as `View.size` has it
    marks: list[list[int]]  # as `_marks` has them

    def data(self, machine: Machine) -> dict[str, object]:
        """The data of the archive's event, for a study whose leases may have changed since."""
        # A lease that was made since has handed out none of these decisions.
        handed = [
            pulls if part.lease.number == number and part.lease.pulls else 0
            for part, (number, pulls) in zip(machine.leaves, self.handed, strict=False)
        ]
        parts = [
            {**amount, "handed": pulls}
            for amount, pulls in zip(cast("list[dict[str, object]]", self.amounts["parts"]), handed, strict=False)
        ]
        return {"through": self.through, "handed": 0 if parts else handed[0], **self.amounts, "parts": parts}


def amounts(view: View, through: int) -> dict[str, object]:
    """What the decisions up to `through` that are still in the log amount to: the data of an archive's event."""
    return reckon(view, through).data(view.machine)


def reckon(view: View, through: int) -> Reckoning:
    """What the decisions up to `through` amount to."""
    machine = view.machine
    handed = [0] * len(machine.leaves)
    part = StudyPart.like(machine)
    lines = names = 0
    for asked, entries in view.chains():
        if asked.id > through:
            break
        lines += 1 + len(entries)
        names += asked.subject is not None
        handed[asked.segment] += machine.part(asked.segment).handed_by(asked)
        part.ask(asked)
        for entry in entries:
            part.enter(entry)
    of_lease = [(leaf.lease.number, pulls) for leaf, pulls in zip(machine.leaves, handed, strict=True)]
    return Reckoning(through, part.counts(), of_lease, (lines, names), _marks(machine))


def _marks(machine: Machine) -> list[list[int]]:
    """Up to which decision the rewards of every arm are of another time, of the study and of every part."""
    return [[arm.changed for arm in part.arms] for part in (machine, *machine.parts)]


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
