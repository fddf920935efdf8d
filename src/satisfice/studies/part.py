"""What a part of a log amounts to: the same fold, on nothing but that part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from satisfice.studies.config import Config
from satisfice.studies.counts import Arm
from satisfice.studies.records import Asked, Entry
from satisfice.studies.state import StudyState

# The counts of an arm that add up over its decisions.
COUNTS = ("asked", "pulls", "dropped", "total", "spent", "paid", "paid_squares", "bills")


class Nothing:
    """Notes that nobody takes."""

    def asked(self, row: Asked) -> None:
        """Nothing is noted."""

    def entered(self, entry: Entry) -> None:
        """Nothing is noted."""


class StudyPart(StudyState):
    """What a part of a log amounts to."""

    def __init__(self, config: Config, arms: Sequence[Arm]) -> None:
        self.waiting = Nothing()  # type: ignore[assignment]
        super().__init__(config)
        self.arms = [Arm(arm.name, arm.cost) for arm in arms]

    def counts(self) -> dict[str, object]:
        """The amounts, as `StudyState.archive` takes them."""
        return {
            "arms": [{name: getattr(arm, name) for name in COUNTS} for arm in self.arms],
            "groups": [asdict(group) for group in (self.control, self.treated)],
            "explored": self.explored,
            "corrections": self.corrections,
        }
