"""The state of a study from its log: the whole of it, or what has come since."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from satisfice.errors import InvalidStudy, StorageError
from satisfice.studies.config import Config
from satisfice.studies.counts import units
from satisfice.studies.frontier import NEVER
from satisfice.studies.machine import Machine
from satisfice.studies.records import Row

if TYPE_CHECKING:
    from satisfice.studies.storages.base import View


@contextlib.contextmanager
def followed(config: Config) -> Iterator[None]:
    """A log that was damaged, so that it cannot be followed, is an error of the storage."""
    try:
        yield
    except StorageError:
        raise
    except (InvalidStudy, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StorageError(f"the log of the study {config.name!r} cannot be followed: {error}") from error


def fold(config: Config, view: View, frontier: int | None = None, *, watch: bool = True) -> Machine:
    """The state that a log makes: events first, then decision by decision, since their order among each other does not
    matter. `frontier` says how far the decisions that proofs rest on go; by default as far as they are settled. Without
    `watch` it has no notes about changes of rewards."""
    machine = Machine(config) if watch else Machine(config).watch_nothing()
    for event in view.events():
        machine.happen(event)
    if frontier is not None:
        machine.frontier.move(frontier)
    for asked, entries in view.chains():
        machine.ask(asked)
        for entry in entries:
            machine.enter(entry)
    machine.arrange()
    if frontier is None:
        advance(machine, view)
    return machine


def advance(machine: Machine, view: View) -> None:
    """Bring the frontier of a caught up machine forward."""
    frontier, config = machine.frontier, machine.config
    # Where silence counts as a reward it is waited for: an overdue decision has it once somebody expires it, and proofs
    # that passed it over meanwhile would rest on the others alone.
    silence = config.expire_after is not None and config.expire_as is not None
    wait = None if silence else config.mature_after
    if frontier.step() and wait is None:
        return
    mature = NEVER if wait is None else view.today - wait
    if frontier.last >= machine.decisions or (
        mature == NEVER and frontier.last < frontier.read and frontier.last + 1 not in frontier.ahead
    ):
        return

    def worth(row: Row) -> int | None:
        return None if row.reward is None else machine.units_of(row.reward)

    def paid(row: Row) -> int | None:
        return units(row.told_cost) if row.told_cost is not None and config.costs == "told" else None

    def rows(first: int, last: int) -> Iterator[Row]:
        return view.rows(first, last)

    frontier.advance(machine.arm_of, machine.decisions, rows, worth, paid, mature, view.today)
