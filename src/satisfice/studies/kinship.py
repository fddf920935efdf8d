"""What the segments of a study borrow from each other: `satisfice.policies.kin` on the sums of its parts.

All of this only chooses arms, and what was chosen is in the log; what is kept in here are notes, no part of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.kin import CLOSENESS, Kin, audience, borrow, follow, new_kin
from satisfice.studies.counts import UNIT

if TYPE_CHECKING:
    from satisfice.studies.fields import StudyFields


class Kinship:
    """The notes of a study about how closely its segments follow each other."""

    def __init__(self, machine: StudyFields) -> None:
        self.machine = machine
        self.kin: Kin = new_kin(0, 0)

    def renew(self) -> None:
        """Forget what was noted on the way: who looks at the same sums afterwards sees the same."""
        self.kin = new_kin(0, 0)

    def lend(self, part: StudyFields) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The pulls that a part borrows, and their totals, in the order of its rule."""
        pulls, totals = np.zeros(len(part.order), dtype=np.int64), np.zeros(len(part.order))
        kin = self._known()
        borrow(kin, part.number, part.problem, np.array(part.order), pulls, totals)
        return pulls, totals

    def audience(self, part: StudyFields) -> int:
        """The decisions of other parts that the next rewards of a part may serve, too."""
        return int(audience(self._known(), part.number, np.array(part.order)))

    def _known(self) -> Kin:
        """The sums as they are, with what is known of who follows whom."""
        parts = self.machine.parts
        segments, arms = len(parts), len(self.machine.arms)
        old = self.kin
        if old.pulls.shape != (segments, arms):
            self.kin = new_kin(segments, arms)
            self._count(self.kin)
            # From the beginning, twice: who follows depends on who else does.
            weight, mean, count = np.zeros((3, len(CLOSENESS)))
            for _ in range(2):
                for s, k in zip(*np.nonzero(self.kin.pulls), strict=True):
                    follow(self.kin, int(s), int(k), weight, mean, count)
        else:
            self._count(old)
        return self.kin

    def _count(self, kin: Kin) -> None:
        for s, part in enumerate(self.machine.parts):
            for k, arm in enumerate(part.arms):
                kin.pulls[s, k], kin.totals[s, k] = arm.seen, arm.seen_total / UNIT
