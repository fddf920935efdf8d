"""A study that decides where it is: decisions come in blocks, rewards go in batches, both in the background.

A thread keeps some decisions in stock. `ask` takes one of them, `tell` leaves a reward for the thread; neither waits
for the network while there is stock. When there is none and the service does not answer, the leader is served as the
service last named it; what comes of such a decision is handed in later as one that somebody else made. What is not used
is given back when its time is over, and at the end.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from satisfice.client import wire
from satisfice.client.wire import RemoteDecision
from satisfice.errors import InvalidReward, SatisficeError, StorageError

if TYPE_CHECKING:
    from satisfice.client.waiting import RemoteStudy

# Rewards go after so many seconds at the latest, so many at a time.
INTERVAL, BATCH = 0.1, 5_000
# The first block that is asked for.
FIRST = 16
AWAY = "away-"


class LeasedStudy:
    """A study of a service that decides without a trip. `RemoteStudy.leased` makes one; threads may share it.

    `problems` counts rewards that the service refused, `away` the decisions that were made without it.
    """

    def __init__(self, study: RemoteStudy, *, seconds: float, most: int, patience: float) -> None:
        self.name = study.name
        self.problems = self.away = 0
        self._study, self._seconds, self._most, self._patience = study, seconds, most, patience
        self._stock: deque[RemoteDecision] = deque()
        self._pop = self._stock.popleft
        self._until = 0.0
        self._block, self._taken, self._since = FIRST, 0, time.monotonic()
        self._low = FIRST // 2  # with so many in stock it is time for more
        self._leader: str | None = None
        self._error: SatisficeError | None = None
        self._told: deque[tuple[str, float | None, float | None]] = deque()
        self._arms: dict[str, str] = {}  # of decisions that were made while the service was away
        self._wake, self._change = threading.Event(), threading.Condition()
        self._closing = False
        self._busy = False
        self._thread = threading.Thread(target=self._work, name="satisfice-leased", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def __enter__(self) -> LeasedStudy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # In front

    def ask(self) -> RemoteDecision:
        """The next decision, from what is in stock."""
        try:
            decision = self._pop()
        except IndexError:
            return self._wait()
        if len(self._stock) == self._low:
            self._wake.set()
        return decision

    def tell(self, decision_id: str, reward: float, cost: float | None = None) -> None:
        """Leave the reward of a decision to be sent; `flush` waits until it is."""
        if not isinstance(reward, (int, float)):
            raise InvalidReward(f"reward = {reward!r}; it must be a number")
        self._told.append((decision_id, float(reward), cost))

    def abandon(self, decision_id: str) -> None:
        """Say that a decision will never have a reward."""
        self._told.append((decision_id, None, None))

    @property
    def stock(self) -> int:
        """Decisions that are here and not used yet."""
        return len(self._stock)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until every reward so far has reached the service; False where that took too long."""
        deadline = time.monotonic() + timeout
        with self._change:
            while self._told or self._busy:
                self._wake.set()
                left = deadline - time.monotonic()
                if left <= 0 or not self._thread.is_alive():
                    return False
                self._change.wait(min(left, 0.05))
        return True

    def close(self, timeout: float = 10.0) -> None:
        """Send what is left to send, give back what was not used, and stop."""
        if self._closing:
            return
        self._closing = True
        atexit.unregister(self.close)
        self._wake.set()
        self._thread.join(timeout)

    def _wait(self) -> RemoteDecision:
        """A decision when there is none in stock."""
        if self._closing:
            raise StorageError("this leased study was closed")
        deadline = time.monotonic() + self._patience
        with self._change:
            while self._error is None or self._leader is None:
                self._wake.set()
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
            raise self._error or StorageError(f"the service gave no decision within {self._patience:g} seconds")
        self.away += 1
        decision = RemoteDecision(AWAY + wire.new_key(), self._leader, "away", "the leader, while the service is away")
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
                if closing or (self._stock and time.time() > self._until):
                    self._give_back(tries)
                if not closing and len(self._stock) <= self._low:
                    self._take(tries)
                self._error = None
            except SatisficeError as error:
                self._error = error
            self._busy = False
            with self._change:
                self._change.notify_all()
            if closing:
                return
            if self._error is not None:
                time.sleep(INTERVAL)

    def _take(self, tries: int) -> None:
        """Take a block: about what was used in a second."""
        now = time.monotonic()
        used = self._taken - len(self._stock)
        pace = used / max(now - self._since, 1e-3)
        self._block = min(max(int(pace), 2 * used if not self._stock else used, FIRST), self._most)
        answer = self._study.client.do(wire.lease(self.name, self._block, self._seconds, []), tries)
        self._leader = answer["leader"]
        self._until = min(answer["until"], time.time() + self._seconds)
        for block in answer["blocks"]:
            arm, first = block["arm"], block["first"]
            self._stock.extend(
                [RemoteDecision(f"{first}.{i}", arm, "lease", "taken in advance") for i in range(block["count"])]
            )
        # As much as the service gives, and no more, is what the next call waits for.
        self._block = max(min(self._block, sum(block["count"] for block in answer["blocks"])), 1)
        self._taken, self._since = len(self._stock), now
        self._low = self._block // 2 if not answer["settled"] else self._block

    def _give_back(self, tries: int) -> None:
        unused: list[str] = []
        try:
            while len(unused) < self._most:
                unused.append(self._pop().id)
        except IndexError:
            pass
        if unused:
            self._study.client.do(wire.lease(self.name, 0, self._seconds, unused), tries)

    def _send(self, tries: int) -> None:
        while self._told:
            batch = [self._told[i] for i in range(min(len(self._told), BATCH))]
            lines: list[dict[str, Any]] = []
            records: list[dict[str, Any]] = []
            for decision, reward, cost in batch:
                if decision.startswith(AWAY):
                    if reward is not None:
                        records.append({"arm": self._arms[decision], "reward": reward, "cost": cost, "key": decision})
                elif reward is None:
                    lines.append({"decision": decision, "abandon": True})
                else:
                    lines.append({"decision": decision, "reward": reward, "cost": cost})
            if lines:
                self.problems += len(self._study.client.do(wire.settle(self.name, lines), tries)["problems"])
            for start in range(0, len(records), 1_000):
                self._study.client.do(wire.record(self.name, records[start : start + 1_000]), tries)
            for decision, _, _ in batch:
                self._told.popleft()
                self._arms.pop(decision, None)
