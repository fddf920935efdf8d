"""What a part of a log amounts to: the same fold, on nothing but that part."""

from __future__ import annotations

from dataclasses import asdict
from typing import Self

from satisfice.studies.config import Config
from satisfice.studies.counts import Arm
from satisfice.studies.records import Asked, Entry
from satisfice.studies.state import StudyState

# The counts of an arm that add up over its decisions.
COUNTS = (
    *("asked", "pulls", "dropped", "total", "squares", "spent", "paid", "paid_squares", "bills"),
    *("old_asked", "old_pulls", "old_dropped", "old_total", "old_squares"),
)


class Nothing:
    """Notes that nobody takes."""

    def asked(self, row: Asked) -> None:
        """Nothing is noted."""

    def entered(self, entry: Entry) -> None:
        """Nothing is noted."""


class StudyPart(StudyState):
    """What a part of a log amounts to."""

    def __init__(self, config: Config, whole: Self | None = None) -> None:
        self.waiting = Nothing()  # type: ignore[assignment]
        super().__init__(config, whole)

    @classmethod
    def like(cls, machine: StudyState) -> Self:
        """Nothing yet, for the arms and the segments of a study."""
        made = cls(machine.config)
        for name in machine.segments[len(made.segments) :]:
            made.add_segment(name)
        for part, kin in zip((made, *made.parts), (machine, *machine.parts), strict=True):
            part.arms = [Arm(arm.name, arm.cost, changed=arm.changed) for arm in kin.arms]
        return made

    def counts(self) -> dict[str, object]:
        """The amounts, as `StudyState.archive` takes them."""
        return {
            "arms": self._amounts(),
            "groups": [asdict(group) for group in (self.control, self.treated)],
            "explored": self.explored,
            "corrections": self.corrections,
            "parts": [
                {"arms": part._amounts(), "corrections": part.corrections, "decisions": part.decisions}
                for part in self.parts
            ],
        }

    def _amounts(self) -> list[dict[str, int]]:
        return [{name: getattr(arm, name) for name in COUNTS} for arm in self.arms]
