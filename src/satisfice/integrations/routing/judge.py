"""A judge: a model that grades a share of the answers, by a rubric. What it costs is booked apart."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satisfice.errors import InvalidReward, InvalidStudy

RUBRIC = """Is the answer correct, complete, and in the form that was asked for?
10: nothing to improve. 7: right, with small flaws. 4: partly right. 0: wrong, empty, or no answer to what was asked."""

FORM = """You grade answers. The rubric:

{rubric}

Say nothing but a JSON object with your grade, a number from 0 to 10: {{"grade": 7}}"""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Judge:
    """A model that grades answers.

    Parameters
    ----------
    model : str
        As LiteLLM calls it: a model, or a group of the router. It should not be one of the models that it grades.
    rubric : str
        What a good answer is, in words, with grades from 0 to 10.
    share : float
        The share of calls that are graded. Only these get a decision of the study, and so only these explore; all
        others get its leader.
    longest : int
        So many characters of the question, and of the answer, are shown to the judge.
    options : mapping
        Further arguments of the call, such as `{"temperature": 0, "api_base": ...}`.

    Examples
    --------
    >>> judge = Judge("gpt-5-mini", rubric="10: valid JSON with all fields. 0: anything else.", share=0.2)
    >>> [message["role"] for message in judge.messages("List two colours.", "[\'red\', \'blue\']")]
    ['system', 'user']
    >>> judge.grade('{"grade": 8}')
    0.8
    """

    model: str
    rubric: str = RUBRIC
    share: float = 0.1
    longest: int = 20_000
    options: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.share, (int, float)) or not 0.0 < self.share <= 1.0:
            raise InvalidStudy("it must be above 0 and at most 1", parameter="share", value=self.share)

    def messages(self, question: str, answer: str) -> list[dict[str, str]]:
        """What the judge is asked."""
        cut = self.longest
        asked = f"QUESTION\n{_cut(question, cut)}\n\nANSWER\n{_cut(answer, cut)}"
        return [{"role": "system", "content": FORM.format(rubric=self.rubric)}, {"role": "user", "content": asked}]

    def grade(self, said: str) -> float:
        """The grade as a reward within [0, 1], from what the judge said.

        Examples
        --------
        >>> Judge("m").grade("Grade: 7/10"), Judge("m").grade('Here it is: {"grade": 10}.')
        (0.7, 1.0)
        """
        try:
            found = json.loads(said[said.index("{") : said.rindex("}") + 1])
            value = float(found["grade"])
        except (ValueError, KeyError, TypeError):
            numbers = _NUMBER.findall(said)
            value = float(numbers[0]) if numbers else -1.0
        if not 0.0 <= value <= 10.0:
            raise InvalidReward(f"the judge {self.model!r} gave no grade from 0 to 10 but {said[:200]!r}")
        return value / 10.0


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n[...]\n{text[-most // 2 :]}"


def text_of(said: object) -> str:
    """The words of a conversation, or of one message: texts alone, without pictures and tools.

    Examples
    --------
    >>> text_of([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}])
    'user: Hello'
    """
    if isinstance(said, str):
        return said
    if isinstance(said, Mapping):
        content = said.get("content", said.get("text", ""))
        role = said.get("role")
        words = content if isinstance(content, str) else text_of(content)
        return f"{role}: {words}" if role else str(words or "")
    if isinstance(said, Sequence):
        return "\n".join(filter(None, (text_of(part) for part in said)))
    return "" if said is None else str(said)
