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

from satisfice.errors import InvalidStudy, RewardConflict
from satisfice.studies.arms import UNIT
from satisfice.studies.config import Config
from satisfice.studies.machine import Machine
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


def arm_of(machine: Machine, name: object) -> int:
    """The index of an arm by name, or `InvalidStudy`."""
    for i, arm in enumerate(machine.arms):
        if arm.name == name:
            return i
    raise InvalidStudy(f"the study has no arm {name!r}; its arms are {', '.join(arm.name for arm in machine.arms)}")


def units(config: Config, reward: float) -> int:
    """A reward in whole UNITs of the range."""
    return round(config.scale(reward) * UNIT)


def settle(machine: Machine, row: Row, status: str, reward: float | None) -> None:
    """Book that a decision goes to `status`."""
    config = machine.config
    machine.settle(
        row.arm,
        None if row.reward is None else units(config, row.reward),
        None if reward is None else units(config, reward),
        dropped(status, reward) - dropped(row.status, row.reward),
    )


def apply_change(machine: Machine, kind: str, arm: str | None, cost: float | None) -> None:
    """Carry out a change of the world on a machine."""
    if kind == "add_arm":
        machine.add_arm(arm, cost)  # type: ignore[arg-type]
    elif kind == "set_cost":
        machine.set_cost(arm_of(machine, arm), cost)  # type: ignore[arg-type]
    elif kind == "retire_arm":
        machine.retire_arm(arm_of(machine, arm))
    else:
        machine.close()
