"""Whether the rewards of an arm have changed: every reward that the frontier passes is watched, in its order.

What is remembered of it are notes, no part of the state of a study: an alarm becomes an event of the log, which says
all that the state depends on. `satisfice.changes` has the test and its promise.
"""

from __future__ import annotations

from typing import cast

from satisfice.changes import insert, make_watch, new_watch, plain_watch, release, replace, safe, where
from satisfice.studies.counts import UNIT, Arm

# The probability that a study in which nothing ever changes has a false alarm, at any time, of any of its arms; or its
# allowed error, if that is smaller.
FALSE_ALARM = 0.01


def observe(arm: Arm, decision: int, reward: int) -> bool:
    """The frontier has passed a reward, in units; answers whether the rewards of the arm have changed.

    Rewards wait, and are watched together, as long as no alarm can come of them.
    """
    if arm.alarm is not None:
        return False
    arm.behind.append(reward)
    arm.stamps.append(decision)
    if len(arm.stamps) <= arm.safe:
        return False
    memory = arm.memory
    if memory is None:
        memory = arm.memory = new_watch()
    if arm.catch_up(memory):
        arm.alarm = where(memory)
        return True
    arm.safe = safe(memory, arm.promise)
    return False


def amend(arm: Arm, old: int | None, new: int) -> bool:
    """A reward that the frontier had passed was replaced, or came after all; answers as `observe`."""
    memory = arm.watch
    if memory is None or arm.alarm is not None or old == new:
        return False
    arm.safe = 0
    if release(memory, arm.promise):
        arm.alarm = where(memory)
    elif old is None:
        insert(memory, new / UNIT)
    else:
        replace(memory, old / UNIT, new / UNIT)
    return arm.alarm is not None


def notes_of(arms: list[Arm]) -> list[object]:
    """What is remembered, as plain data. What is an alarm already is noticed again with the next reward."""
    return [[i, *plain_watch(memory)] for i, arm in enumerate(arms) if (memory := arm.watch) is not None]


def restore(arms: list[Arm], notes: object) -> None:
    """What is remembered, from the data of `notes_of`."""
    for i, *parts in cast("list[list[object]]", notes):
        arms[cast(int, i)].memory = make_watch(*cast("list[list[float]]", parts))
