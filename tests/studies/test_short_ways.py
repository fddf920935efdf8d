"""The short ways through a study, for what happens nearly always, do what the long ones do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import satisfice as sf
from satisfice.studies import create_study
from satisfice.studies.folding import advance
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked
from satisfice.studies.serving import NOBODY, serve
from satisfice.studies.storages.base import Transaction, View
from satisfice.studies.storages.books import Books, Seen
from satisfice.studies.storages.memory import MemoryLedger
from satisfice.studies.storages.sql import SQLLedger
from satisfice.studies.storages.statements import others
from satisfice.studies.storages.transactions import SQLTransaction, SQLView

ARMS = {"a": 1.0, "b": 3.0, "c": 2.0}
POLICIES = {
    "glr": sf.BestReward(0.2),
    "ts-cs": sf.BestReward(0.2),
    "pe-cs": sf.BestReward(0.2),
    "ft-ucb": sf.FixedThreshold(0.4),
    "pe": sf.ReferenceArm("b", 0.1),
}
TERMS: list[dict[str, Any]] = [{}, {}, {"drift": "adapt"}, {"expire_after": 20.0}, {"costs": "told"}]
# What to do, to which of the decisions so far, with which reward.
DEEDS = st.tuples(
    st.sampled_from([*["ask"] * 6, *["tell"] * 6, "many", "correct", "abandon", "reprice", "status"]),
    st.integers(0, 9),
    st.sampled_from([0.0, 1 / 3, 1.0]),
)


@contextmanager
def the_long_way() -> Iterator[None]:
    """Without the short ways."""

    def serve_one(tx: Transaction, now: float) -> Asked:
        return serve(tx, 1, now, NOBODY, ())[0]

    with ExitStack() as stack:
        stack.enter_context(patch.object(Machine, "plainly", property(lambda machine: -1)))
        stack.enter_context(patch.object(MemoryLedger, "add_first", Transaction.add_first))
        stack.enter_context(patch.object(MemoryLedger, "add_pull", Transaction.add_pull))
        stack.enter_context(patch.object(SQLTransaction, "add_first", Transaction.add_first))
        stack.enter_context(patch("satisfice.studies.study.serve_next", serve_one))
        stack.enter_context(patch.object(Machine, "brief", False))
        stack.enter_context(patch.object(Machine, "block", lambda *terms: 0))
        yield


def lived(
    policy: str, terms: dict[str, Any], deeds: list[tuple[str, int, float]], storage: str | None = None
) -> tuple[object, ...]:
    """The log and the state after all that was done, at one second after the other."""
    seconds = count(1.0)
    clock = SimpleNamespace(time=lambda: next(seconds), monotonic=time.monotonic)
    with (
        patch("satisfice.studies.storages.memory.time", clock),
        patch("satisfice.studies.storages.sql.time", clock),
    ):
        study = create_study("s", ARMS, POLICIES[policy], policy, storage, horizon=500, seed=3, **terms)
        answers: list[object] = []
        last = 0
        for deed, number, reward in deeds:
            which = max(last - number, 1)
            try:
                answers.append(did(study, deed, which, reward))
            except sf.SatisficeError as error:
                answers.append(str(error))
            last = study._ledger.look(lambda view: view.machine.decisions)

        def everything(view: View) -> tuple[object, ...]:
            return view.machine.to_dict(), list(view.chains()), list(view.events()), view.series()

        assert study.check().agrees
        return answers, *study._ledger.look(everything)


def did(study: sf.Study, deed: str, which: int, reward: float) -> object:
    if deed == "ask":
        return study.ask()
    if deed == "many":
        return study.ask_many(which % 7 + 1)
    if deed in ("tell", "correct"):
        return study.tell(which, reward, correct=deed == "correct")
    if deed == "abandon":
        return study.abandon(which)
    if deed == "reprice":
        return study.set_cost("c", 1.0 + which % 4)
    return study.status().verdict.sentence


@settings(max_examples=40)
@given(st.sampled_from(sorted(POLICIES)), st.sampled_from(TERMS), st.lists(DEEDS, min_size=20, max_size=80))
def test_the_same_calls_make_the_same_log_and_state(
    policy: str, terms: dict[str, Any], deeds: list[tuple[str, int, float]]
) -> None:
    short = lived(policy, terms, deeds)
    with the_long_way():
        long = lived(policy, terms, deeds)
    for mine, theirs in zip(short, long, strict=True):
        assert mine == theirs


@pytest.mark.parametrize("policy", ["glr", "pe-cs", "ft-ucb"])
def test_many_at_once_while_some_rewards_never_come(policy: str) -> None:
    """The rewards of the leases never come. They are made up for once most of those that were asked for later have
    come, in between what the rule would do."""

    def made() -> list[sf.Decision]:
        study = create_study("s", ARMS, POLICIES[policy], policy, horizon=500, seed=3)
        every = []
        for turn in range(40):
            decisions = study.ask_many(turn % 14 + 1)
            study.tell_many({d.id: float(d.id % 3 > 0) for d in decisions if d.reason != "lease"})
            every += decisions
        return every

    short = made()
    with the_long_way():
        assert made() == short
    assert {decision.reason for decision in short} == {"lease", "interim", "extra"}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_long_life_of_asking_and_telling(policy: str) -> None:
    deeds = [(deed, 0, float(turn * turn % 7 < 4)) for turn in range(300) for deed in ("ask", "tell")]
    with patch.object(MemoryLedger, "add_pull", autospec=True, side_effect=MemoryLedger.add_pull) as pulls:
        short = lived(policy, {}, deeds)
    assert pulls.call_count > 50 or policy == "ts-cs"  # which is asked again after every pull
    with the_long_way():
        assert lived(policy, {}, deeds) == short


def test_a_first_reward_in_a_file_is_the_entry_that_the_long_way_makes(tmp_path: Path) -> None:
    """Late, twice, corrected, after an abandonment, of one in the control group."""
    turns = [("ask", 0, 1.0), ("tell", 0, 1 / 3), ("ask", 0, 0.0), ("many", 0, 0.0), ("tell", 2, 1.0), ("tell", 2, 1.0)]
    deeds = [
        *turns,
        ("abandon", 0, 0.0),
        ("tell", 0, 1.0),
        ("correct", 0, 0.0),
        ("correct", 1, 1.0),
        ("tell", 9, 0.0),
    ] * 6
    terms = {"baseline": "b", "holdout": 0.3}
    short_way, taken = SQLTransaction.add_first, []

    def add_first(tx: SQLTransaction, number: int, reward: float) -> bool:
        taken.append(short_way(tx, number, reward))
        return taken[-1]

    with patch.object(SQLTransaction, "add_first", add_first):
        short = lived("pe-cs", terms, deeds, f"sqlite:///{tmp_path}/short.db")
    assert sum(taken) > 10
    with the_long_way():
        assert lived("pe-cs", terms, deeds, f"sqlite:///{tmp_path}/long.db") == short


@settings(max_examples=25)
@given(
    st.sampled_from(sorted(POLICIES)),
    st.sampled_from([{}, {"costs": "told"}, {"mature_after": 5.0}, {"drift": None}]),
    st.lists(st.lists(DEEDS, min_size=20, max_size=60), min_size=2, max_size=3),
)
def test_a_log_that_is_read_briefly_makes_the_state_that_the_whole_log_makes(
    policy: str, terms: dict[str, Any], lives: list[list[tuple[str, int, float]]]
) -> None:
    """Read in several goes, by one who looks out for changes and by one who does not."""
    with TemporaryDirectory() as folder:
        study = create_study("s", ARMS, POLICIES[policy], policy, f"sqlite:///{folder}/s.db", 500, seed=3, **terms)
        ledger = cast(SQLLedger, study._ledger)

        def new() -> Machine:
            return Machine(ledger.config)

        brief, long = ([Books(new(), Seen()), Books(new().watch_nothing(), Seen())] for _ in range(2))
        counted = Books(new().watch_nothing(), Seen())
        for deeds in lives:
            for deed, number, reward in deeds:
                last = study._ledger.look(lambda view: view.machine.decisions)
                with suppress(sf.SatisficeError):
                    did(study, deed, max(last - number, 1), reward)

            def read(view: View) -> None:
                link = cast(SQLView, view)._link
                for books in brief:
                    tails = link.reads(ledger.tail(books))
                    assert len(tails) == 4
                    books.catch_up(tails)
                    advance(books.machine, view)
                tails = link.reads(ledger._news(counted))
                assert len(tails) == 5
                counted.catch_up(tails)
                advance(counted.machine, view)
                with the_long_way():
                    for books in long:
                        tails = link.reads(ledger.tail(books))
                        assert len(tails) == 3
                        books.catch_up(tails)
                        advance(books.machine, view)

            ledger.look(read)
            for mine, theirs in zip([*brief, counted], [*long, long[-1]], strict=True):
                mine_too, theirs_too = mine.machine.to_dict(), theirs.machine.to_dict()
                if mine is counted:  # what is decided from is not noted
                    del mine_too["notes"], theirs_too["notes"]
                assert mine_too == theirs_too
                assert mine.machine.frontier.read == theirs.machine.frontier.read
                assert mine.machine.frontier.ahead.keys() == theirs.machine.frontier.ahead.keys()
                assert mine.machine.news == theirs.machine.news
                assert (mine.seen, mine.since, mine.counted) == (theirs.seen, theirs.since, theirs.counted)
        study.close()


@settings(max_examples=25)
@given(st.sampled_from(["glr", "pe"]), st.lists(st.tuples(DEEDS, st.integers(0, 2)), min_size=5, max_size=40))
def test_a_status_that_is_given_again_is_the_one_that_would_be_made(
    policy: str, deeds: list[tuple[tuple[str, int, float], int]]
) -> None:
    """Between the deeds there are as many looks as it says; another object is a process that has seen nothing yet."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/studies.db"
        study = create_study("s", ARMS, POLICIES[policy], policy, url, horizon=500, seed=3, clock=lambda: 100.0)
        last = 0
        for (deed, number, reward), looks in deeds:
            with suppress(sf.SatisficeError):
                did(study, deed, max(last - number, 1), reward)
            seen = [study.status() for _ in range(looks)]
            last = study._ledger.look(lambda view: view.machine.decisions)
            with patch.object(SQLView, "noted", View.noted):
                made = study.status()
            assert all(str(status.to_dict()) == str(made.to_dict()) for status in seen)
            assert not seen or seen[-1] is seen[0]
        study.close()


def test_entries_that_are_not_counted_yet_are_read_by_their_numbers() -> None:
    """Whichever way is shorter: those that are counted, those that are not, or all after the last."""
    sparse = others(1, 9, 5, {5, 9}, 10).whole
    assert "NOT IN (SELECT unnest('{" in sparse and "r.n >= 5 " in sparse
    whole = others(1, 9, 5, set(range(5, 10)), 10).whole
    assert "r.n > 9)" in whole and "r.n >= 9 " in whole and "unnest" not in whole
    few = others(1, 9, 5, {5, 6, 7, 9}, 10).whole
    assert "(r.n > 9 OR r.n IN (SELECT unnest('{8}'::bigint[])))" in few and "r.n >= 8 " in few
    assert "r.n > 0)" in others(1, 0, 0, set(), 10).whole
