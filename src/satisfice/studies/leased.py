"""A study that decides where it is: decisions come in blocks, rewards go in batches, both in the background.

A thread keeps some decisions in stock. `ask` takes one of them, `tell` leaves a reward for the thread; neither waits
for the network or a database while there is stock. When there is none and the study cannot be reached, the leader is
served as the study last named it; what comes of such a decision is handed in later as one that somebody else made. What
is not used is given back when its time is over, and at the end.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from numbers import Integral
from typing import NamedTuple, TypeVar

from satisfice.errors import (
    InvalidReward,
    InvalidStudy,
    RewardConflict,
    SatisficeError,
    StorageError,
    UnknownDecision,
)
from satisfice.studies.reader import number_of
from satisfice.studies.sources import Recorded, Settled, Source
from satisfice.words import count, shown

# Rewards go after so many seconds at the latest, so many at a time.
INTERVAL, BATCH = 0.1, 5_000
# The first block that is asked for.
FIRST = 16
# So many decisions in stock are looked through for an arm that can be played.
LOOK_THROUGH = 256
AWAY = "away-"
# No id is longer.
LONGEST = 64
# What a study says to a line that it will never take.
REFUSED = (InvalidReward, InvalidStudy, RewardConflict, UnknownDecision)

Line = TypeVar("Line")


class LeasedDecision(NamedTuple):
    """A decision that was taken in advance: play `arm` once, and tell its reward under `id`."""

    id: str
    arm: str
    reason: str = "lease"
    why: str = "taken in advance"


class LeasedStudy:
    """A study that decides without a trip. `Study.leased` and `RemoteStudy.leased` make one; threads may share it.

    `problems` counts what the study refused, `away` the decisions that were made while it could not be reached. A
    process that is forked begins with nothing in stock and nothing to send: that is its parent's.
    """

    def __init__(self, source: Source, *, seconds: float, most: int, patience: float) -> None:
        self.name = source.name
        self.problems = self.away = 0
        self._source, self._seconds, self._most, self._patience = source, seconds, most, patience
        self._stock: deque[LeasedDecision] = deque()
        self._pop = self._stock.popleft
        self._until = 0.0
        self._block, self._taken, self._since = FIRST, 0, time.monotonic()
        self._low = FIRST // 2  # with so many in stock it is time for more
        self._leader: str | None = None
        self._error: SatisficeError | None = None
        self._told: deque[Settled] = deque()
        self._back: deque[str] = deque()
        self._arms: dict[str, str] = {}  # of decisions that were made while the service was away
        self._closing = False
        self._deadline = math.inf  # until then what is left is tried again, after `close`
        self._begin()
        self._nudge()
        _all.add(self)
        atexit.register(self.close)

    def _begin(self) -> None:
        """Nobody is at work."""
        self._wake, self._change = threading.Event(), threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False
        self._wanted = True  # whether anybody has asked since the last block was taken

    def after_fork(self) -> None:
        """In a process that was forked: leave to the parent what is the parent's."""
        self._stock.clear()
        self._told.clear()
        self._back.clear()
        self.problems = self.away = 0
        self._taken, self._error = 0, None
        self._begin()

    def _nudge(self) -> None:
        """Have the thread look; it is started where there is none: at first, after a fork, after `close`."""
        with self._change:
            if (self._left or not self._closing) and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._work, name="satisfice-leased", daemon=True)
                self._thread.start()
        self._wake.set()

    def __enter__(self) -> LeasedStudy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # In front

    def ready(self, available: Collection[str] | None = None) -> LeasedDecision | None:
        """The next decision in stock whose arm is among those that can be played; None where there is none. It never
        waits."""
        passed: list[LeasedDecision] = []
        found = None
        try:
            while found is None and len(passed) < LOOK_THROUGH:
                decision = self._pop()
                if available is None or decision.arm in available:
                    found = decision
                else:
                    passed.append(decision)
        except IndexError:
            pass
        self._stock.extendleft(reversed(passed))
        if len(self._stock) <= self._low:
            self._wanted = True
            self._nudge()
        return found

    def put_back(self, decision: LeasedDecision) -> None:
        """Put a decision back into the stock that `ask` gave and that was not used."""
        self._stock.appendleft(decision)

    def unused(self, decision_id: str | int) -> None:
        """Give a decision back to the study: it was not used."""
        number = _text(decision_id)
        if not number.startswith(AWAY):
            self._back.append(number)
            if self._thread is None:
                self._nudge()

    def anew(self) -> None:
        """Give back what is in stock, since the arms have changed."""
        self._until = 0.0
        self._nudge()

    @property
    def leader(self) -> str | None:
        """The arm that the study would recommend, as of the last block; None before the first."""
        return self._leader

    def ask(self) -> LeasedDecision:
        """The next decision, from what is in stock."""
        try:
            decision = self._pop()
        except IndexError:
            return self._wait()
        if len(self._stock) <= self._low:
            self._wanted = True
            self._nudge()
        return decision

    def tell(self, decision_id: str | int, reward: float, cost: float | None = None) -> None:
        """Leave the reward of a decision to be sent; `flush` waits until it is.

        What is no id, and what is no number, is refused at once; what the study refuses later is counted in `problems`.
        """
        if not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise InvalidReward(f"reward = {shown(reward)}; it must be a finite number")
        if cost is not None:
            if not isinstance(cost, (int, float)) or not math.isfinite(cost):
                raise InvalidReward(f"cost = {shown(cost)}; it must be a finite number", parameter="cost")
            cost = float(cost)
        self._leave(Settled(_text(decision_id), float(reward), cost))

    def abandon(self, decision_id: str | int) -> None:
        """Say that a decision will never have a reward."""
        self._leave(Settled(_text(decision_id), None, None))

    def _leave(self, line: Settled) -> None:
        self._told.append(line)
        if self._thread is None:
            self._nudge()

    @property
    def stock(self) -> int:
        """Decisions that are here and not used yet."""
        return len(self._stock)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until every reward so far has reached the study; False where that took too long."""
        deadline = time.monotonic() + timeout
        with self._change:
            while self._told or self._back or self._busy:
                self._nudge()
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._change.wait(min(left, 0.05))
        return True

    def close(self, timeout: float = 10.0) -> None:
        """Send what is left to send, give back what was not used, and stop.

        Raises
        ------
        StorageError
            The study could not be reached for `timeout` seconds. What is left is kept: `close` again tries again.
        """
        self._deadline = time.monotonic() + timeout
        self._closing = True
        if self._left:
            self._nudge()
        thread = self._thread
        if thread is not None:
            self._wake.set()
            thread.join(timeout)
        if self._left:
            raise StorageError(
                f"the study {self.name!r} could not be reached for {timeout:g} seconds: it was not told what came of "
                f"{count(len(self._told), 'decision')}, and {count(len(self._back) + len(self._stock), 'decision')} "
                f"that nobody used could not be given back; close() tries again ({self._error or 'no answer yet'})"
            )
        atexit.unregister(self.close)

    @property
    def _left(self) -> bool:
        """Whether there is anything to send or to give back at the end."""
        return bool(self._told or self._back or self._stock)

    def _wait(self) -> LeasedDecision:
        """A decision when there is none in stock."""
        if self._closing:
            raise StorageError("this leased study was closed")
        deadline = time.monotonic() + self._patience
        with self._change:
            while self._error is None or self._leader is None:
                self._wanted = True
                self._nudge()
                try:
                    return self._pop()
                except IndexError:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        break
                    self._change.wait(left)
        if self._error is not None and not isinstance(self._error, StorageError):
            raise self._error
        if self._leader is None:
            raise self._error or StorageError(f"the study gave no decision within {self._patience:g} seconds")
        self.away += 1
        decision = LeasedDecision(AWAY + uuid.uuid4().hex, self._leader, "away", "the leader, while the study is away")
        self._arms[decision.id] = decision.arm
        return decision

    # Behind

    def _work(self) -> None:
        while True:
            self._wake.wait(INTERVAL)
            self._wake.clear()
            closing = self._closing
            tries = 2 if closing else 1
            self._busy = True
            try:
                self._send(tries)
                self._give_back(tries, stock=closing or time.time() > self._until)
                if not closing and self._wanted and len(self._stock) <= self._low:
                    self._take(tries)
                self._error = None
            except SatisficeError as error:
                self._error = error
            except Exception as error:  # a thread that died would leave everybody waiting
                self._error = StorageError(f"the study cannot be reached: {error!r}")
            self._busy = False
            with self._change:
                self._change.notify_all()
                if closing:
                    # Who leaves something from now on starts another thread; what was left before is still done here.
                    mine, self._thread = self._thread, None
                    if not self._left or time.monotonic() > self._deadline:
                        return
                    self._thread = mine
            if self._error is not None:
                time.sleep(INTERVAL)

    def _take(self, tries: int) -> None:
        """Take a block: about what was used in a second."""
        now = time.monotonic()
        used = self._taken - len(self._stock)
        pace = used / max(now - self._since, 1e-3)
        self._block = min(max(int(pace), 2 * used if not self._stock else used, FIRST), self._most)
        answer = self._source.take(self._block, self._seconds, (), tries)
        if answer is None:
            return
        self._wanted = False
        self._leader = answer.leader
        self._until = min(answer.until, time.time() + self._seconds)
        self._stock.extend([LeasedDecision(number, arm) for number, arm in answer.decisions])
        # As much as the study gives, and no more, is what the next call waits for.
        self._block = max(min(self._block, len(answer.decisions)), 1)
        self._taken, self._since = len(self._stock), now
        self._low = self._block // 2 if not answer.settled else self._block

    def _give_back(self, tries: int, *, stock: bool) -> None:
        """Give back what was said to be unused, and the stock, too."""
        while stock and self._stock:
            try:
                self._back.append(self._pop().id)
            except IndexError:  # somebody has asked for the last one
                break
        while self._back:
            unused = list(islice(self._back, self._most))
            self.problems += _hand_in(lambda part: self._source.take(0, self._seconds, part, tries), unused)
            for _ in unused:
                self._back.popleft()

    def _send(self, tries: int) -> None:
        while self._told:
            batch = [self._told[i] for i in range(min(len(self._told), BATCH))]
            lines: list[Settled] = []
            records: list[Recorded] = []
            refused = 0
            for line in batch:
                if not line.id.startswith(AWAY):
                    lines.append(line)
                elif line.reward is not None and line.id in self._arms:
                    records.append(Recorded(line.id, self._arms[line.id], line.reward, line.cost))
                else:  # of a process that is gone
                    refused += line.reward is not None
            if lines:
                refused += _hand_in(lambda part: self._source.settle(part, tries), lines)
            for start in range(0, len(records), 1_000):
                refused += _hand_in(lambda part: self._source.record(part, tries), records[start : start + 1_000])
            self.problems += refused
            for line in batch:
                self._told.popleft()
                self._arms.pop(line.id, None)


def _text(decision_id: object) -> str:
    """A decision id as a text, or `UnknownDecision`."""
    if isinstance(decision_id, str):
        if 0 < len(decision_id) <= LONGEST and decision_id.isascii():
            return decision_id
    elif isinstance(decision_id, Integral):
        return str(number_of(decision_id))
    raise UnknownDecision(f"{shown(decision_id)} is not the id of a decision; ids are as `ask` gives them")


def _hand_in(deed: Callable[[Sequence[Line]], object], lines: Sequence[Line]) -> int:
    """Hand lines in, in halves where some are refused, so that the others count; answers with how many were."""
    try:
        refused = deed(lines)
    except REFUSED:
        half = len(lines) // 2
        return _hand_in(deed, lines[:half]) + _hand_in(deed, lines[half:]) if half else 1
    return refused if isinstance(refused, int) else 0


_all: weakref.WeakSet[LeasedStudy] = weakref.WeakSet()


def _after_fork() -> None:
    for leased in list(_all):
        leased.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
