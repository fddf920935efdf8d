"""What may become of a decision: open, then told, abandoned or expired, and the ways on from there.

| from       | told                              | abandoned | expired |
|------------|-----------------------------------|-----------|---------|
| open       | yes                               | yes       | yes     |
| told       | the same: nothing; else `correct` | conflict  | nothing |
| abandoned  | `correct`                         | nothing   | nothing |
| expired    | yes (late)                        | nothing   | nothing |

Nothing ever un-counts a reward, so the pulls of an arm never fall.
"""

from __future__ import annotations

from satisfice.errors import RewardConflict
from satisfice.studies.records import ABANDONED, EXPIRED, OPEN, TOLD, Row


def moves(row: Row, status: str, reward: float | None, correct: bool) -> bool:
    """Whether a decision goes from where it is to `status`; False when it is there already.

    Raises `RewardConflict` where the table says so, or says `correct` and `correct` is False.
    """
    if row.status == OPEN:
        return True
    if status == EXPIRED:
        return False
    if status == ABANDONED:
        if row.status == TOLD:
            raise RewardConflict(
                f"decision {row.id} was told the reward {row.reward:g} and cannot be abandoned; correct the reward"
            )
        return False
    if row.status == EXPIRED:
        return True
    if row.status == TOLD and row.reward == reward:
        return False
    if not correct:
        was = f"told the reward {row.reward:g}" if row.status == TOLD else "abandoned"
        raise RewardConflict(f"decision {row.id} was {was}, and is now told {reward:g}; correct=True corrects it")
    return True


def dropped(status: str, reward: float | None) -> int:
    """1 for a decision that came to nothing."""
    return int(status in (ABANDONED, EXPIRED) and reward is None)


__all__ = ["TOLD", "dropped", "moves"]
