"""What may become of a decision: open, then told, abandoned or expired, and the ways on from there.

| from       | told                              | abandoned | expired |
|------------|-----------------------------------|-----------|---------|
| open       | yes                               | yes       | yes     |
| told       | the same: nothing; else `correct` | conflict  | nothing |
| abandoned  | `correct`                         | nothing   | nothing |
| expired    | yes (late)                        | nothing   | nothing |
| unused     | yes (late)                        | nothing   | nothing |

Nothing ever un-counts a reward, so the pulls of an arm never fall.
"""

from __future__ import annotations

from satisfice.errors import Hint, RewardConflict
from satisfice.studies.records import Outcome, Row


def moves(row: Row, outcome: str, reward: float | None, cost: float | None = None, correct: bool = False) -> bool:
    """Whether a decision goes from where it is to `outcome`; False when it is there already.

    Raises `RewardConflict` where the table says so, or says `correct` and `correct` is False.
    """
    if row.outcome == Outcome.OPEN:
        return True
    if outcome == Outcome.EXPIRED:
        return False
    if outcome == Outcome.ABANDONED:
        if row.outcome == Outcome.TOLD:
            raise RewardConflict(
                f"{{decision}} was told the reward {row.reward:g} and cannot be abandoned",
                hint=Hint.CORRECT_INSTEAD,
                decision=row.id,
            )
        return False
    if row.outcome in (Outcome.EXPIRED, Outcome.UNUSED):
        return True
    if row.outcome == Outcome.TOLD and row.reward == reward and cost in (None, row.told_cost):
        return False
    if not correct:
        was, now = "abandoned", f"{reward:g}"
        if row.outcome == Outcome.TOLD:
            was = f"told the reward {row.reward:g}"
            if row.reward == reward:
                was += " and no cost" if row.told_cost is None else f" and the cost {row.told_cost:g}"
                now = f"the cost {cost:g}"
        message = f"{{decision}} was {was}, and is now told {now}"
        raise RewardConflict(message, hint=Hint.CORRECT, decision=row.id)
    return True
