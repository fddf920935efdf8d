"""Parameters by name: one class for the same names, found by other processes too."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import all_policies, params
from satisfice.policies.contract import make_problem
from satisfice.policies.params import make_params


def test_names_and_numbers() -> None:
    made = make_params({"kappa": 5, "delta_2": 0.1})
    assert made == (5.0, 0.1)
    assert [type(value) for value in made] == [float, float]
    assert type(made)._fields == ("kappa", "delta_2")  # type: ignore[attr-defined]
    assert make_params({}) == ()


def test_the_class_depends_on_the_names_alone() -> None:
    assert type(make_params({"a": 1, "b": 2})) is type(make_params({"a": 3, "b": 4}))
    # Names that look alike when they are put together.
    kinds = [("a1", "b"), ("a", "b1"), ("a1b",), ("a", "b"), ("b", "a"), ("a2bc",), ("a", "bc")]
    assert len({type(make_params(dict.fromkeys(names, 0.0))) for names in kinds}) == len(kinds)


def test_another_process_finds_the_class_by_its_name() -> None:
    made = make_params({"some": 1.0, "more": 2.0})
    data = pickle.dumps(made)
    cls = type(made)
    delattr(params, cls.__name__)  # as in a process that has not met it
    again = pickle.loads(data)
    assert again == made
    assert type(again)._fields == cls._fields  # type: ignore[attr-defined]
    for name in ("Params4more5", "Params0", "Params4mor", "Other", "Paramsmore"):
        with pytest.raises(AttributeError, match=name):
            getattr(params, name)


def test_every_policy_has_its_own_by_name() -> None:
    for policy in (cls() for cls in all_policies().values()):
        setting = next(s for s in (sf.BestReward(0.1), sf.ReferenceArm(1), sf.FixedThreshold(0.5))
                       if isinstance(s, policy.settings))  # fmt: skip
        problem = make_problem(policy, setting, [1.0, 2.0], np.arange(2), 100, bounded=True)
        assert problem.params._asdict() == policy.params
        assert policy.version >= 1


def test_a_name_that_no_tuple_can_have() -> None:
    for name in ("_hidden", "class"):
        with pytest.raises(InvalidPolicy, match=name):
            make_params({name: 1.0})
