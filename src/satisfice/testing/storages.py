"""A storage of studies on trial: what the contract in `satisfice.studies.storages.base` promises, as tests for pytest.

Whoever writes a storage of their own can try it by subclassing `StorageTests`, as this package does for its own.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from satisfice.errors import InvalidStudy, SatisficeError, StudyExists, UnknownStudy
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.studies import create_study, load_study
from satisfice.studies.config import make_config
from satisfice.studies.storages.base import Transaction
from satisfice.testing.deeds import (
    agrees,
    ask,
    books,
    hand_out,
    make_study,
    rows,
    tell,
    terms,
)
from satisfice.testing.ledgers import LedgerTests, Reopen

__all__ = ["ODD_TEXTS", "REFUSED_TEXTS", "StorageTests"]

# Texts that a storage must keep as they are, and texts that no storage is given.
ODD_TEXTS = (
    "50% off; --", "back\\slash", 'it\'s "quoted"', "%s %(x)s ?", "ünïcödé 模型", "a\nline", "'; DROP TABLE x; --",
    "{0} $1 :name", "\N{PILE OF POO}" * 200, "x" * 200, " spaces ", "\u202eleft to right", "NULL", "0",
)  # fmt: skip
REFUSED_TEXTS = ("", "  ", "x" * 201, "a\0b", "\ud800")


class StorageTests(LedgerTests):
    """The tests of a storage. A subclass, whose name begins with `Test`, says how it is made.

    It gives a fixture `reopen`: a function that opens one storage, empty at first, again and again, each time as
    another process would.

    Examples
    --------
    >>> from satisfice.studies.storages.memory import MemoryStorage
    >>> class TestMyStorage(StorageTests):
    ...     @pytest.fixture
    ...     def reopen(self):
    ...         storage = MemoryStorage()  # or: lambda: MyStorage("the same place")
    ...         return lambda: storage
    """

    # Studies

    def test_names_are_unique_and_in_order(self, reopen: Reopen) -> None:
        storage = reopen()
        for name in ("b", "a", "c d"):
            storage.create(terms(name))
        with pytest.raises(StudyExists, match="already a study 'a'"):
            storage.create(terms("a"))
        assert reopen().names() == ["b", "a", "c d"]
        with pytest.raises(UnknownStudy, match=r"no study 'x'.*b, a, c d"):
            reopen().open("x")

    def test_a_study_is_made_with_what_is_in_it_or_not_at_all(self, reopen: Reopen) -> None:
        """Nobody else sees it empty, and an error leaves no study of its name."""
        storage, seen = reopen(), []

        def fail(tx: Transaction) -> None:
            hand_out(tx)
            raise RuntimeError("not made")

        def fill(tx: Transaction) -> None:
            seen.append(reopen().names())
            hand_out(tx)

        with pytest.raises(RuntimeError, match="not made"):
            storage.create(terms("a"), fail)
        assert reopen().names() == []
        made = storage.create(terms("a"), fill)
        assert seen == [[]]
        assert len(rows(made)) == len(rows(reopen().open("a"))) == 1
        assert agrees(reopen().open("a"))

    def test_terms_come_back_as_they_were(self, reopen: Reopen) -> None:
        for i, setting in enumerate((BestReward(0.25), ReferenceArm("b", 0.1), FixedThreshold(0.5))):
            config = make_config(
                f"s{i}",
                {"a": 0.1, "b": 1 / 3},
                setting,
                policy="ucb-cs" if i < 2 else "ft-ucb",
                horizon=10**12,
                confidence=0.99,
                rewards=(-1.0, 3.0),
                binary=True,
                expire_after=60.0,
                expire_as=-1.0,
                mature_after=30.0,
                seed=2**63,
            )
            reopen().create(config)
            assert reopen().open(f"s{i}").config == config

    def test_a_deleted_study_is_gone(self, reopen: Reopen) -> None:
        storage = reopen()
        for name in ("gone", "stays"):
            tell(storage.create(terms(name)), ask(storage.open(name)), 1.0)
        before = books(storage.open("stays"))
        storage.delete("gone")
        assert reopen().names() == ["stays"]
        assert books(reopen().open("stays")) == before
        for lost in (storage.open, storage.delete):
            with pytest.raises(UnknownStudy, match="no study 'gone'"):
                lost("gone")
        anew = reopen().create(terms("gone"))
        assert books(anew) == books(reopen().create(terms("other")))
        assert ask(anew) == 1

    def test_studies_do_not_mix(self, reopen: Reopen) -> None:
        one, two = reopen().create(terms("one")), reopen().create(terms("two"))
        for count, ledger in ((3, one), (1, two)):
            for _ in range(count):
                tell(ledger, ask(ledger, subject="u", key=f"{ledger.config.name} {count}"), 1.0)
                count -= 1
        assert one.look(lambda view: [len(list(view.rows())), len(list(view.chains()))]) == [3, 3]
        assert two.look(lambda view: [len(list(view.rows())), len(list(view.chains()))]) == [1, 1]
        assert two.look(lambda view: view.of_key("one 3")) == []
        assert one.run(lambda tx: tx.forget("u")) == 3
        assert [row.subject for row in rows(two)] == ["u"]

    # Through a study

    def test_a_refused_exclusion_changes_nothing(self, reopen: Reopen) -> None:
        study = make_study(reopen())
        for _ in range(3):
            with pytest.raises(InvalidStudy, match="every arm is excluded"):
                study.ask(exclude=["a", "b"])
            assert study.check().agrees and study.check().events == 0
            with pytest.raises(SatisficeError):
                study.tell_many({1: 1.0, 99: 1.0})
        assert study.ask().id == 1
        assert study.check().agrees

    def test_texts_come_back_as_they_were(self, reopen: Reopen) -> None:
        names = [text for text in ODD_TEXTS if text == text.strip()]
        for name in names:
            make_study(reopen(), name)
        assert reopen().names() == names
        study = create_study("o'%s", dict.fromkeys(ODD_TEXTS, 1.0), FixedThreshold(0.5), "ft-ucb", reopen(), seed=1)
        for text in ODD_TEXTS:
            decision = study.ask(subject=text)
            assert study.ask(subject=text).id == decision.id
            assert study.ask(key=text).id == study.ask(key=text).id == decision.id + 1
            study.tell(decision.id, 0.5)
        study.set_cost(ODD_TEXTS[0], 2.0)
        study.add_arm("100%", 0.5)
        again = load_study("o'%s", reopen())
        assert [arm.name for arm in again.status().arms] == [*ODD_TEXTS, "100%"]
        assert again.log()["subject"].to_list()[::2] == list(ODD_TEXTS)
        assert [again.forget(text) for text in ODD_TEXTS] == [1] * len(ODD_TEXTS)
        assert again.check().agrees

    @pytest.mark.parametrize("text", REFUSED_TEXTS)
    def test_the_same_texts_are_refused_everywhere(self, reopen: Reopen, text: str) -> None:
        study = make_study(reopen())
        acts: list[Callable[[], object]] = [
            lambda: make_study(reopen(), text),
            lambda: study.ask(subject=text),
            lambda: study.ask(key=text),
            lambda: study.ask_many(2, key=text),
            lambda: study.forget(text),
            lambda: study.add_arm(text, 1.0),
        ]
        for act in acts:
            with pytest.raises(InvalidStudy, match="a text of 1 to 200 characters"):
                act()
        with pytest.raises(UnknownStudy):
            reopen().open(text)
        assert reopen().names() == ["s"] and study.check().decisions == 0


# What tests do with a ledger
