"""A study as the beginning of another."""

from __future__ import annotations

import dataclasses
from itertools import islice

from satisfice.errors import InvalidStudy
from satisfice.studies.config import check_text
from satisfice.studies.records import Asked, Entry, Outcome, Row
from satisfice.studies.storages.base import Ledger, Transaction, View

CHUNK = 2_000


def copy_study(ledger: Ledger, name: str, learned: bool) -> Ledger:
    """A new study in the storage of another, with or without its log."""
    check_text("the name of the study", name)
    config = dataclasses.replace(ledger.config, name=name.strip())
    if not learned:
        arms = ledger.look(_arms)
        return ledger.storage.create(dataclasses.replace(config, arms=arms))

    def work(view: View) -> Ledger:
        if view.machine.archived:
            raise InvalidStudy(
                f"a part of the log of {ledger.config.name!r} is in an archive; copy it without what was learned"
            )
        return ledger.storage.create(config, lambda tx: _copy(view, tx))

    with ledger.storage.copying():
        return ledger.look(work)


def _arms(view: View) -> tuple[tuple[str, float], ...]:
    machine = view.machine
    return tuple((machine.arms[i].name, machine.arms[i].cost) for i in machine.active)


def _copy(view: View, tx: Transaction) -> None:
    for event in view.events():
        tx.add_event(event)
    tx.keep(view.series())
    chains = view.chains()
    while part := list(islice(chains, CHUNK)):
        tx.add_decisions([asked for asked, _ in part])
        tx.add_entries([entry for asked, entries in part for entry in entries or [_left(asked, view.now)]])


def _left(asked: Asked, now: float) -> Entry:
    """A decision that is open belongs to the study that made it: its reward is told there."""
    return Row(*asked).becomes(Outcome.UNUSED, None, None, now, asked.id)
