"""Errors over HTTP: in words of its own, and about decisions as the caller calls them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import satisfice as sf
from satisfice.errors import Hint, InvalidData, SatisficeError
from satisfice.service.problems import HINTS, problem_of
from satisfice.studies import create_study


@pytest.mark.parametrize("hint", Hint)
def test_every_hint_has_words_for_http(hint: Hint) -> None:
    problem = problem_of(InvalidData("that is so", hint=hint))
    assert problem.detail == "that is so" and problem.hint == HINTS[hint]
    assert "=True" not in HINTS[hint] and "_study" not in HINTS[hint] and "()" not in HINTS[hint]


def test_a_decision_is_called_what_the_caller_calls_it() -> None:
    study = create_study("s", {"a": 1.0, "b": 2.0}, sf.BestReward(0.1), seed=1)
    study.tell(study.ask().id, 1.0)
    acts: list[tuple[Callable[[], object], str]] = [
        (lambda: study.tell(1, 0.0), "{} was told the reward 1, and is now told 0"),
        (lambda: study.abandon(1), "{} was told the reward 1 and cannot be abandoned"),
        (lambda: study.tell(1, 7.0), "reward = 7.0 of {}; this study takes numbers from 0 to 1"),
        (lambda: study.tell(1, 1.0, cost=-1.0), "cost = -1.0 of {}; this study takes finite numbers of at least 0"),
    ]
    for act, said in acts:
        with pytest.raises(SatisficeError) as caught:
            act()
        error = caught.value
        assert error.decision == 1
        assert error.message == said.format("decision 1")
        assert problem_of(error, "decision 'abc'").detail == said.format("decision 'abc'")
    explanation = study.explain(1)
    assert explanation.sentence == explanation.sentence_for("1")
    assert explanation.sentence_for("abc") == explanation.sentence.replace("Decision 1 ", "Decision abc ", 1)
