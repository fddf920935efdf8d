"""Errors carry data, say message and hint, and survive the way from another process."""

from __future__ import annotations

import copy
import pickle

import pytest

from satisfice import errors
from satisfice.errors import Hint, InvalidData, SatisficeError, StorageError

CLASSES = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, SatisficeError)]


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_survives_another_process(kind: type[SatisficeError]) -> None:
    # A value that cannot be pickled must not keep its error from travelling.
    error = kind("there is none", hint=Hint.CREATE, parameter="name", value=lambda: 0, columns=["arm", "cost"])
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is kind and str(copied) == str(error)
        assert str(copied).startswith("name = ") and str(copied).endswith("; there is none; create_study makes it")
        assert copied.hint is Hint.CREATE and copied.parameter == "name" and copied.columns == ("arm", "cost")


@pytest.mark.parametrize("kind", CLASSES)
def test_an_error_is_caught_by_its_family_and_says_its_message(kind: type[SatisficeError]) -> None:
    with pytest.raises(SatisficeError, match=r"^no such thing$") as caught:
        raise kind("no such thing")
    assert caught.value.hint is None and caught.value.columns == ()
    assert kind is SatisficeError or issubclass(kind, (ValueError, LookupError, RuntimeError, ImportError))


def test_a_refused_value_is_shown_in_one_line() -> None:
    assert str(InvalidData("it must be short", parameter="x", value=list(range(99)))) == "x = a list; it must be short"
    assert str(InvalidData("it must be a number", parameter="x", value=None)) == "x = None; it must be a number"
    assert str(InvalidData("it is missing", parameter="x")) == "it is missing"


def test_what_a_hint_is_worth_to_another_interface() -> None:
    error = InvalidData("no column 'cost'", hint=Hint.GIVE_COSTS)
    shell = {Hint.GIVE_COSTS: "give --arms"}
    assert error.hint is not None and f"{error.message}; {shell[Hint(error.hint)]}" == "no column 'cost'; give --arms"


def test_an_unknown_outcome_is_an_error_of_the_storage() -> None:
    assert issubclass(errors.OutcomeUnknown, StorageError) and issubclass(errors.StorageBusy, StorageError)
