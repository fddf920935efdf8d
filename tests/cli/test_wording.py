"""The shell words every hint and every refused parameter in its own way."""

from __future__ import annotations

import pytest

from satisfice.cli.wording import HINTS, worded
from satisfice.errors import Hint, InvalidData, InvalidSetting


@pytest.mark.parametrize("hint", Hint)
def test_every_hint_has_words_for_the_shell(hint: Hint) -> None:
    text = worded(InvalidData("that is so", hint=hint))
    assert text == (f"that is so; {HINTS[hint]}" if HINTS[hint] else "that is so")
    assert "=True" not in text and "_study" not in text


def test_a_parameter_is_an_option() -> None:
    assert worded(InvalidSetting("it must be finite", parameter="mu0", value=None)) == (
        "--threshold None; it must be finite"
    )
    assert worded(InvalidSetting("no such thing", parameter="mu0")) == "no such thing"
    assert worded(InvalidData("no such thing", hint="look again")) == "no such thing; look again"
