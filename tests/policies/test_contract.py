"""The contract: who is known by an id; one of several, each with the same probability."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest

import satisfice as sf
from satisfice.errors import InvalidPolicy
from satisfice.policies import all_policies
from satisfice.policies.contract import make_problem, new_state, one_of


def test_tests_leave_no_policy_behind() -> None:
    """A policy of a test is defined with `register=False`, or within `with registered():`."""
    assert [cls for cls in all_policies().values() if not cls.__module__.startswith("satisfice.")] == []


class Scripted:
    """Random numbers as they are given."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)


def test_one_of_several() -> None:
    # 2^53 = 3 x 3002399751580330 + 2, so the two last of 2^53 equally likely numbers are drawn again.
    last = 1 - 2.0**-53
    assert one_of(3, Scripted(0.0)) == 0 and one_of(3, Scripted(2.0**-52)) == 2  # type: ignore[arg-type]
    assert one_of(3, Scripted(last, 1 - 2.0**-52, 4 * 2.0**-53)) == 1  # type: ignore[arg-type]
    # A third of the numbers that are left each.
    assert one_of(3, Scripted(1 - 3 * 2.0**-53)) == 2  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    counts = np.bincount([one_of(7, rng) for _ in range(70_000)], minlength=7)
    # 10,000 each, standard deviation 93: 520 is 5.6 of them, error probability 2e-7.
    assert (abs(counts - 10_000) < 520).all()


def test_a_rule_that_says_it_draws_nothing_draws_nothing() -> None:
    calm = [cls for cls in all_policies().values() if not cls.draws]
    assert sf.GLR in calm
    setting = sf.BestReward(0.2)
    for cls in calm:
        policy = cls()
        for pulls in ([0, 0, 0], [5, 0, 9], [40, 80, 300]):
            problem = make_problem(policy, setting, [1.0, 2.0, 4.0], np.arange(3), horizon=1_000, bounded=True)
            state = new_state(policy, 3)
            cls.start(problem, state)
            state.pulls[:], state.totals[:], state.squares[:] = pulls, np.array(pulls) / 2, np.array(pulls) / 2
            arm, lease = cls.decide(problem, state, sum(pulls), cast(np.random.Generator, None))
            assert 0 <= arm < 3 and lease > 0


def test_a_parameter_that_is_no_number_is_refused_in_a_sentence() -> None:
    for cls, name in ((sf.GLR, "care"), (sf.GravesLai, "gamma"), (sf.COF, "growth"), (sf.ETCCS, "c")):
        for wrong in ("a", None, [1.0]):
            with pytest.raises(InvalidPolicy, match=f"{cls.id}: {name} = .*must be a number"):
                cls(**{name: wrong})  # type: ignore[arg-type]
    for growth in (-1.0, math.nan, math.inf):
        with pytest.raises(InvalidPolicy, match="growth"):
            sf.COF(growth=growth)
    for none in (None, 3, object()):
        with pytest.raises(InvalidPolicy, match="there is no policy"):
            sf.simulate(sf.Instance([1, 2], [0.5, 0.6]), sf.BestReward(0.1), none, horizon=5)  # type: ignore[arg-type]
