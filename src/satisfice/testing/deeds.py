"""What the tests of a storage do to it: studies, decisions, rewards, changes, and what is then in its books."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from satisfice.problem import FixedThreshold
from satisfice.studies import Storage, Study, create_study
from satisfice.studies.archive import amounts
from satisfice.studies.audit import Audit, audit
from satisfice.studies.config import Config, make_config
from satisfice.studies.records import Asked, Event, Outcome, Row
from satisfice.studies.series import point_of
from satisfice.studies.storages.base import Ledger, Transaction, View


def terms(name: str = "s", *, expire_after: float | None = 9.0) -> Config:
    """The terms of a small study."""
    return make_config(
        name,
        {"a": 1.0, "b": 2.0},
        FixedThreshold(0.5),
        policy="ft-ucb",
        confidence=0.9,
        expire_after=expire_after,
        seed=1,
    )


def make_study(storage: Storage, name: str = "s") -> Study:
    """A small study."""
    return create_study(name, {"a": 1.0, "b": 2.0}, FixedThreshold(0.5), "ft-ucb", storage, seed=1)


def hand_out(tx: Transaction, subject: str | None = None, key: str | None = None, at: float = 0.0) -> int:
    """One decision, as a study would book it."""
    machine = tx.machine
    if machine.lease_due:
        tx.add_event(machine.decide(at))
    arm, reason = machine.choose()
    number, cost = machine.decisions + 1, machine.arms[arm].cost
    tx.add_decisions([Asked(number, arm, reason, machine.lease.number, cost, at, subject, key)])
    return number


def ask(ledger: Ledger, subject: str | None = None, key: str | None = None, at: float = 0.0) -> int:
    """A transaction with one decision; its id."""
    return ledger.run(lambda tx: hand_out(tx, subject, key, at))


def tell(ledger: Ledger, number: int, reward: float, at: float = 1.0) -> None:
    """A transaction with one reward."""

    def work(tx: Transaction) -> None:
        tx.add_entries([tx.find([number])[number].becomes(Outcome.TOLD, reward, None, at, number)])

    ledger.run(work, lock=False)


def change(ledger: Ledger, kind: str, data: dict[str, object]) -> None:
    """A transaction with one event."""
    ledger.run(lambda tx: tx.add_event(Event(tx.machine.seq + 1, kind, data, 1.0)))


def put_away(tx: Transaction, through: int) -> None:
    """Put settled decisions away, as `Study.archive` does."""
    tx.add_event(Event(tx.machine.seq + 1, "archive", amounts(tx, through), 1.0))
    tx.put_away(through)


def entries(tx: Transaction) -> None:
    """One reward and one correction of the first decision."""
    for reward in (0.25, 0.75):
        row = tx.find([4])[4] if tx.find([4]) else tx.find([1])[1]
        tx.add_entries([row.becomes(Outcome.TOLD, reward, None, 2.0, 1)])


def pull(tx: Transaction) -> bool:
    """A decision, and the next pull of its lease in the short way, if there is nothing else to think of."""
    hand_out(tx)
    arm = tx.machine.plainly
    if arm >= 0:
        tx.add_pull(arm, 2.0)
    return arm >= 0


def first_reward(tx: Transaction) -> None:
    """The reward of the third decision, in the short way where the storage has one."""
    if not tx.add_first(3, 0.5):
        tx.add_entries([tx.find([3])[3].becomes(Outcome.TOLD, 0.5, None, tx.now, tx.machine.decisions)])


def keep(tx: Transaction) -> None:
    """A point of the series that somebody else made."""
    tx.keep([point_of(tx.machine, 1 << 10, 2.0)])


# Everything that can be written.
DEEDS: dict[str, Callable[[Transaction], object]] = {
    "pull": pull,
    "first": first_reward,
    "decisions": lambda tx: [hand_out(tx, "u", "new") for _ in range(3)],
    "event": lambda tx: tx.add_event(
        Event(tx.machine.seq + 1, "set_cost", {"arm": "a", "cost": 3.0, "decisions": tx.machine.decisions}, 1.0)
    ),
    "entries": entries,
    "forget": lambda tx: tx.forget("u"),
    "put_away": lambda tx: put_away(tx, 2),
    "keep": keep,
}


def books(ledger: Ledger) -> tuple[object, ...]:
    """All that a ledger has."""

    def work(view: View) -> tuple[object, ...]:
        state = view.machine.to_dict()
        subjects = [view.open_of("u"), view.open_of("v")]
        keys = [view.of_key(key) for key in ("k1", "k4", "new")]
        log = list(view.events()), list(view.chains()), list(view.rows())
        return state, *log, subjects, keys, view.series()

    return ledger.look(work)


def settled_books(ledger: Ledger) -> tuple[object, ...]:
    """All that a ledger has but notes: who only reads keeps none about changes of rewards, since nothing is said of
    them before there is an alarm, which is an event."""
    state, *rest = books(ledger)
    assert isinstance(state, dict)
    return {key: value for key, value in state.items() if key != "notes"}, *rest


def rows(ledger: Ledger, first: int = 1, last: int | None = None) -> list[Row]:
    """The decisions of a ledger."""
    return ledger.look(lambda view: list(view.rows(first, last)))


def events(ledger: Ledger) -> Sequence[Event]:
    """The events of a ledger."""
    return ledger.look(lambda view: list(view.events()))


def agrees(ledger: Ledger) -> bool:
    """Whether log and state agree; says where they do not."""
    found: Audit = ledger.look(audit)
    assert found.agrees, found
    return True


def in_threads(work: Callable[[], None], count: int) -> None:
    """Do something in many threads; an error of any of them is raised."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def newest(view: View, before: int | None, limit: int) -> list[Row]:
    """The last decisions before one."""
    return view.newest(before, limit)
