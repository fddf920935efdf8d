"""A ledger on trial: transactions, the log, and what is read from it, as `satisfice.studies.storages.base` says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest

from satisfice.errors import InvalidStudy
from satisfice.studies import Storage
from satisfice.studies.records import Asked, Entry, Event, Outcome, Row
from satisfice.studies.storages.base import Ledger, Transaction
from satisfice.testing.deeds import (
    DEEDS,
    agrees,
    ask,
    books,
    change,
    entries,
    events,
    first_reward,
    hand_out,
    in_threads,
    make_study,
    newest,
    pull,
    put_away,
    rows,
    settled_books,
    tell,
    terms,
)

Reopen = Callable[[], Storage]
T = TypeVar("T")


class LedgerTests:
    """The tests of the ledgers of a storage; `satisfice.testing.StorageTests` has them among its own."""

    @pytest.fixture
    def reopen(self) -> Reopen:
        """A function that opens the same storage each time."""
        raise NotImplementedError("give a fixture `reopen` that answers with a function that opens the storage")

    @pytest.fixture
    def ledger(self, reopen: Reopen) -> Ledger:
        """A new study."""
        return reopen().create(terms())

    # Transactions

    def test_a_transaction_is_seen_by_others_when_it_ends(self, reopen: Reopen) -> None:
        first, second = reopen().create(terms()), reopen().open("s")
        ask(first)
        assert second.run(lambda tx: (tx.machine.decisions, tx.machine.arms[0].asked)) == (1, 1)
        ask(second)
        tell(second, 1, 0.5)
        assert first.run(lambda tx: (tx.machine.decisions, tx.machine.arms[0].pulls)) == (2, 1)
        assert first.look(lambda view: (view.machine.decisions, view.machine.arms[0].pulls)) == (2, 1)

    def test_it_answers_with_what_the_work_answers(self, ledger: Ledger) -> None:
        assert ledger.run(lambda tx: "x") == ledger.run(lambda tx: "x", lock=False) == "x"
        assert ledger.look(lambda view: "x") == "x"

    def test_all_is_there_after_opening_again(self, reopen: Reopen) -> None:
        ledger = reopen().create(terms())
        for number in range(1, 21):
            ask(ledger, subject=f"u{number % 3}", key=f"k{number}", at=float(number))
            if number % 2:
                tell(ledger, number, number / 20, at=100.0 + number)
        tell(ledger, 1, 0.25, at=200.0)
        change(ledger, "set_cost", {"arm": "a", "cost": 0.7, "decisions": 20})
        change(ledger, "end", {})
        before = books(ledger)
        ledger.close()
        again = reopen().open("s")
        assert books(again) == before
        assert agrees(again)
        ledger.close()
        assert books(ledger) == before  # it reconnects

    @pytest.mark.parametrize("kind", [ZeroDivisionError, InvalidStudy, KeyboardInterrupt])
    @pytest.mark.parametrize("deed", ["nothing", *DEEDS, "everything"])
    def test_an_error_rolls_back(self, reopen: Reopen, deed: str, kind: type[BaseException]) -> None:
        ledger = reopen().create(terms(expire_after=None))
        for number in range(1, 5):
            ask(ledger, subject="u", key=f"k{number}")
        tell(ledger, 1, 1.0)
        tell(ledger, 2, 0.5)
        before = books(ledger)

        def work(tx: Transaction) -> None:
            for name in DEEDS if deed == "everything" else [deed] if deed in DEEDS else []:
                DEEDS[name](tx)
            raise kind("on purpose")

        for _ in range(2):
            with pytest.raises(kind, match="on purpose"):
                ledger.run(work)
            assert books(ledger) == before
        assert books(reopen().open("s")) == before
        assert agrees(ledger)
        for name in DEEDS:  # and what was rolled back can be done
            ledger.run(DEEDS[name])
        assert books(ledger) != before
        assert agrees(reopen().open("s"))

    def test_the_short_ways_write_what_the_long_ones_do(self, reopen: Reopen) -> None:
        ledger = reopen().create(terms(expire_after=None))
        for _ in range(4):
            ask(ledger)
        tell(ledger, 1, 1.0)
        tell(ledger, 2, 0.5)
        assert ledger.run(pull)
        ledger.run(first_reward)
        third, *_, before, last = rows(reopen().open("s"), 3)
        assert last == before._replace(id=before.id + 1, at=2.0)
        assert (third.outcome, third.reward, third.entries) == ("told", 0.5, 1)
        assert agrees(ledger)

    def test_an_error_without_the_lock_rolls_back(self, ledger: Ledger) -> None:
        ask(ledger)
        before = books(ledger)

        def work(tx: Transaction) -> None:
            entries(tx)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ledger.run(work, lock=False)
        assert books(ledger) == before

    def test_a_refused_event_is_not_logged(self, ledger: Ledger) -> None:
        ask(ledger)
        before = books(ledger)

        def work(tx: Transaction) -> None:
            with pytest.raises(InvalidStudy, match="already retired"):
                for seq in (2, 3):
                    tx.add_event(Event(seq, "retire_arm", {"arm": "b"}, 1.0))

        ledger.run(work)
        assert [event.kind for event in events(ledger)] == ["make_lease", "retire_arm"]
        with pytest.raises(InvalidStudy, match="no arm 'x'"):
            change(ledger, "retire_arm", {"arm": "x"})
        assert len(events(ledger)) == 2 and books(ledger) != before
        assert agrees(ledger)

    def test_threads_exclude_each_other(self, reopen: Reopen) -> None:
        """What a transaction has read is still so when it writes."""
        reopen().create(terms())
        inside: list[int] = []
        most: list[int] = []

        def work(tx: Transaction) -> None:
            inside.append(1)
            most.append(len(inside))
            hand_out(tx)
            inside.pop()

        def many() -> None:
            ledger = reopen().open("s")
            for _ in range(10):
                ledger.run(work)

        in_threads(many, 4)
        assert max(most) == 1
        ledger = reopen().open("s")
        assert [row.id for row in rows(ledger)] == list(range(1, 41))
        assert agrees(ledger)

    def test_one_of_many_tells_first(self, reopen: Reopen) -> None:
        """Entries need no lock; whoever comes second sees what the first has written, and nothing counts twice."""
        ledger = reopen().create(terms())
        for _ in range(10):
            ask(ledger)
        changed: list[int] = []

        def work(tx: Transaction, number: int) -> int:
            row = tx.find([number])[number]
            if row.outcome != Outcome.OPEN:
                return 0
            tx.add_entries([row.becomes(Outcome.TOLD, 1.0, None, 1.0, number)])
            return 1

        def many() -> None:
            mine = reopen().open("s")
            for number in range(1, 11):
                changed.append(mine.run(partial(work, number=number), lock=False))

        in_threads(many, 4)
        assert sum(changed) == 10
        assert [row.entries for row in rows(ledger)] == [1] * 10
        assert ledger.look(lambda view: sum(arm.pulls for arm in view.machine.arms)) == 10
        assert agrees(ledger)

    def test_threads_may_share_a_study(self, reopen: Reopen) -> None:
        study = make_study(reopen())
        seen: list[int] = []

        def work() -> None:
            for _ in range(25):
                decision = study.ask()
                study.tell(decision.id, 1.0)
                seen.append(decision.id)

        in_threads(work, 4)
        # Every decision once; a storage may make some in advance, and number those, too.
        assert len(seen) == len(set(seen)) == 100
        assert sum(arm.pulls for arm in study.status().arms) == 100
        assert study.check().agrees

    # The log

    def test_the_log_comes_back_as_it_was_written(self, reopen: Reopen) -> None:
        ledger = reopen().create(terms())
        asked = [Asked(i, i % 2, "lease", 1, 0.1 * i, 1.5, "u" if i == 1 else None, "k") for i in (1, 2, 3)]
        told = Entry(2, 1, 0, "told", 1 / 3, "open", None, 0.1, None, 0.2, 2.5, 3)
        wrong = Entry(2, 2, 0, "told", 0.1, "told", 1 / 3, 1e-300, 0.1, 0.2, 3.5, 3)
        over = Entry(1, 1, 1, "expired", None, "open", None, None, None, 0.1, 4.5, 0)

        def work(tx: Transaction) -> None:
            tx.add_decisions(asked[:2])
            tx.add_decisions(asked[2:])
            tx.add_entries([told])
            tx.add_entries([wrong, over])
            tx.add_event(Event(1, "set_cost", {"arm": "a", "cost": 0.7, "decisions": 3}, 3.5))
            tx.add_event(Event(2, "end", {}, 4.5))

        ledger.run(work)
        again = reopen().open("s")
        assert again.look(lambda view: list(view.chains())) == [
            (asked[0], [over]),
            (asked[1], [told, wrong]),
            (asked[2], []),
        ]
        assert events(again) == [
            Event(1, "set_cost", {"arm": "a", "cost": 0.7, "decisions": 3}, 3.5), Event(2, "end", {}, 4.5)
        ]  # fmt: skip
        assert again.look(lambda view: [event.seq for event in view.events(until=1)]) == [1]
        assert rows(again) == [
            Row(*asked[0], "expired", None, None, 1, 4.5), Row(*asked[1], "told", 0.1, 1e-300, 2, 3.5), Row(*asked[2])
        ]  # fmt: skip

    def test_find_sees_the_last_entry_and_its_own_writes(self, ledger: Ledger) -> None:
        for _ in range(3):
            ask(ledger)

        def work(tx: Transaction) -> dict[int, Row]:
            for nth, reward in enumerate((0.25, 0.75), 1):
                row = tx.find([2])[2]
                assert row.entries == nth - 1
                tx.add_entries([row.becomes(Outcome.TOLD, reward, None, float(nth), 3)])
            hand_out(tx, key="new")
            assert [row.id for row in tx.of_key("new")] == [4]
            return tx.find([3, 2, 99, 4])

        found = ledger.run(work)
        assert found.keys() == {2, 3, 4}
        assert (found[2].outcome, found[2].reward, found[2].entries, found[2].settled_at) == ("told", 0.75, 2, 2.0)
        assert (found[3].outcome, found[3].reward, found[3].entries, found[3].settled_at) == ("open", None, 0, None)
        assert ledger.look(lambda view: view.find([1, 2, 3, 4]))[2] == found[2]
        assert ledger.look(lambda view: view.find([])) == {}

    def test_rows_and_the_newest(self, ledger: Ledger) -> None:
        for _ in range(9):
            ask(ledger)
        for first, last, expected in ((1, None, range(1, 10)), (4, 6, range(4, 7)), (8, 99, range(8, 10)), (5, 4, ())):
            assert [row.id for row in rows(ledger, first, last)] == list(expected)
        for before, limit, numbers in ((None, 100, [*range(9, 0, -1)]), (None, 2, [9, 8]), (4, 2, [3, 2]), (1, 5, [])):
            found = ledger.look(partial(newest, before=before, limit=limit))
            assert [row.id for row in found] == numbers
        assert ledger.look(lambda view: view.newest()[0]) == rows(ledger, 9)[0]

    def test_the_open_decision_of_a_subject(self, ledger: Ledger) -> None:
        assert ledger.look(lambda view: view.open_of("u")) is None
        number = ask(ledger, subject="u")
        ask(ledger, subject="other")
        row = ledger.look(lambda view: view.open_of("u"))
        assert row is not None and (row.id, row.subject) == (number, "u")
        tell(ledger, number, 1.0)
        assert ledger.look(lambda view: view.open_of("u")) is None
        again = ask(ledger, subject="u")
        row = ledger.run(lambda tx: tx.open_of("u"))
        assert row is not None and row.id == again

    def test_the_decisions_of_a_key(self, ledger: Ledger) -> None:
        for key in ("k", None, "k", "l", "k"):
            ask(ledger, key=key)
        tell(ledger, 3, 1.0)
        found = ledger.look(lambda view: view.of_key("k"))
        assert [(row.id, row.key, row.outcome) for row in found] == [
            (1, "k", "open"),
            (3, "k", "told"),
            (5, "k", "open"),
        ]
        assert ledger.run(lambda tx: tx.of_key("m")) == []

    def test_a_subject_is_erased(self, reopen: Reopen) -> None:
        ledger = reopen().create(terms())
        for subject in ("u", "v", "u", None):
            ask(ledger, subject=subject)
        state = ledger.look(lambda view: view.machine.to_dict())
        assert ledger.run(lambda tx: tx.forget("u")) == 2
        assert ledger.run(lambda tx: tx.forget("u")) == 0
        again = reopen().open("s")
        assert [row.subject for row in rows(again)] == [None, "v", None, None]
        assert again.look(lambda view: view.open_of("u")) is None
        assert again.look(lambda view: view.machine.to_dict()) == state
        assert agrees(again)

    def test_decisions_are_put_away(self, reopen: Reopen) -> None:
        ledger = reopen().create(terms())
        for number in range(1, 9):
            ask(ledger, subject="u", key=f"k{number % 2}")
            if number != 7:
                tell(ledger, number, number / 8)
        tell(ledger, 6, 0.0)
        for through in (2, 5):
            state = ledger.look(lambda view: view.machine.to_dict())
            kept = [row for row in rows(ledger) if row.id > through]
            ledger.run(partial(put_away, through=through))
            after = reopen().open("s")
            assert rows(after) == kept
            assert [asked.id for asked, _ in after.look(lambda view: list(view.chains()))] == [row.id for row in kept]
            assert after.look(lambda view: view.find([1, 2, 6, 8])).keys() == {n for n in (1, 2, 6, 8) if n > through}
            assert after.look(lambda view: view.machine.arms) == ledger.look(lambda view: view.machine.arms)
            assert after.look(lambda view: view.machine.to_dict()["arms"]) == state["arms"]
            assert agrees(after)
        assert [row.id for row in ledger.look(lambda view: view.newest())] == [8, 7, 6]
        assert [row.id for row in ledger.look(lambda view: view.of_key("k0"))] == [6, 8]
        assert ask(ledger) == 9
        tell(ledger, 7, 1.0)
        tell(ledger, 6, 0.5)
        assert agrees(reopen().open("s"))

    def test_a_state_is_rebuilt_from_the_log(self, reopen: Reopen) -> None:
        ledger = reopen().create(terms())
        for number in range(1, 6):
            ask(ledger)
            tell(ledger, number, 1.0)
        before = settled_books(ledger)
        ledger.repair()
        assert settled_books(ledger) == before == settled_books(reopen().open("s"))
        assert agrees(ledger)
