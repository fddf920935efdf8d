"""What can be changed of a live study while it runs: arms, costs, whether it goes on, and what is kept of it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.errors import Hint, InvalidStudy, StudyClosed
from satisfice.policies.looks import RECALL
from satisfice.studies.config import check_cost, check_text
from satisfice.studies.counts import units
from satisfice.studies.evidence import judge
from satisfice.studies.facts import plain
from satisfice.studies.machine import Machine
from satisfice.studies.reader import StudyReader
from satisfice.studies.records import Event
from satisfice.studies.storages.base import T, Transaction

if TYPE_CHECKING:
    from satisfice.studies.study import Study

# Verdicts are looked at again when the number of rewards has grown by this share.
LOOK = 0.1

_BY: ContextVar[str | None] = ContextVar("who changes studies", default=None)


@contextlib.contextmanager
def signed(by: str) -> Iterator[None]:
    """Whatever is changed inside says in the log who did it.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> from satisfice.studies import create_study
    >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
    >>> with signed("Ada"):
    ...     study.set_cost("large", 8.0)
    True
    """
    token = _BY.set(by)
    try:
        yield
    finally:
        _BY.reset(token)


class StudyChanger(StudyReader):
    """The part of a `Study` that changes it, and looks after it."""

    # 3. The world changes

    def set_cost(self, arm: str, cost: float) -> bool:
        """Change the cost of one pull of an arm from now on. Nothing that was learned is lost.

        The policy starts its rounds again on the sums as they are, so it passes at once those that it has pulls for.
        Answers whether anything changed, as `add_arm` and `retire_arm` do: said again, they change nothing.
        """

        def change(machine: Machine) -> dict[str, object] | None:
            record = machine.arms[machine.index(arm)]
            price = check_cost(arm, cost)
            return None if record.cost == price else {"arm": arm, "cost": price, **_counted(machine)}

        return self._change("set_cost", change)

    def add_arm(self, arm: str, cost: float) -> bool:
        """Add an arm to the running study, or bring a retired one back with what was learned of it."""

        def change(machine: Machine) -> dict[str, object] | None:
            known = next((record for record in machine.arms if record.name == arm and not record.retired), None)
            if known is not None and known.cost == check_cost(arm, cost):
                return None
            return {"arm": arm, "cost": cost, **_counted(machine)}

        return self._change("add_arm", change)

    def retire_arm(self, arm: str) -> bool:
        """Take an arm out of the running study. Rewards of its open decisions are still taken and stay on record."""

        def change(machine: Machine) -> dict[str, object] | None:
            return None if machine.arms[machine.index(arm)].retired else {"arm": arm}

        return self._change("retire_arm", change)

    def pause(self) -> bool:
        """Serve the baseline to everybody from now on, until `resume`. Rewards are taken as ever."""
        setting = self.config.setting
        if self.config.baseline is None and setting.reference is None:
            raise InvalidStudy("there is no baseline to serve while the study is paused; create_study takes one")
        return self._change("pause", lambda machine: None if machine.paused else {})

    def resume(self) -> bool:
        """Let the policy go on after `pause`."""
        return self._change("resume", lambda machine: {} if machine.paused else None)

    def end(self) -> bool:
        """End the study: from now on `ask` and changes raise `StudyClosed`; late rewards still count."""
        return self._change("end", lambda machine: None if machine.ended else {}, going=False)

    def reopen(self) -> bool:
        """Let a study go on that was ended."""
        return self._change("reopen", lambda machine: {} if machine.ended else None, going=False)

    def _change(
        self, kind: str, change: Callable[[Machine], Mapping[str, object] | None], *, going: bool = True
    ) -> bool:
        by = _BY.get()

        def work(tx: Transaction) -> bool:
            machine, now = tx.machine, self._now(tx)
            data = change(machine)
            if data is None:
                return False
            if going and machine.ended:
                raise self._ended()
            if by is not None:
                data = {**data, "by": by}
            tx.add_event(Event(machine.seq + 1, kind, data, now))
            for part in machine.leaves:
                part.news = part.patience
            machine.stirred.update(range(len(machine.parts)))
            self._watch(tx, now)
            return True

        return self._run(work)

    def forget(self, subject: str) -> int:
        """Erase a subject from the log; answers with how many decisions were its own. What was learned stays."""
        check_text("the subject", subject)
        return self._run(lambda tx: tx.forget(subject))

    def archive(self, before: float, path: str | Path) -> int:
        """Put old decisions into a Parquet file, out of the log; answers with their number.

        Those that were asked for before the time `before` (seconds since 1970), up to the first that is still open, are
        written as `export` writes them, and then deleted. What was learned from them stays, and so does every verdict;
        they can no longer be told, corrected or explained. Their keys go with them: a call that is recorded again with
        the key of one of them counts again.
        """
        from satisfice.studies.archive import archive

        self._usable()
        return archive(self._ledger, before, Path(path))

    def copy(self, name: str, *, learned: bool = True) -> Study:
        """A new study of this name in the same storage, with the terms of this one, and its arms and costs as they are.

        With `learned`, all that was decided and told is copied, too, and the new study goes on from there.
        """
        from satisfice.studies.copying import copy_study
        from satisfice.studies.study import Study

        self._usable()
        return Study(copy_study(self._ledger, name, learned), self._clock)

    # Pieces

    def _run(self, work: Callable[[Transaction], T], *, lock: bool = True) -> T:
        self._usable()
        return self._ledger.run(work, lock=lock)

    def _watch(self, tx: Transaction, now: float) -> None:
        """Look at the verdicts if it is time to, and note that the rule is a newer one."""
        machine = tx.machine
        if not machine.eventful:
            return
        newest = type(self.config.policy).version
        if machine.version != newest:
            tx.add_event(Event(machine.seq + 1, "start_anew", {"version": newest}, now))
        if machine.frontier.alarms:
            self._say_changes(tx, now)
        if not machine.parts:
            self._look_after(tx, machine, now)
        while machine.stirred:
            self._look_after(tx, machine.parts[machine.stirred.pop()], now)

    def _look_after(self, tx: Transaction, part: Machine, now: float) -> None:
        """Look at the verdicts of a part if it is time to, and at arms that do not answer."""
        resting = part.waiting.resting() if part.waiting.restless else part.resting
        if resting != part.resting:
            pulls = [part.arms[i].pulls for i in resting]
            data: dict[str, object] = {"arms": resting, "pulls": pulls, "decisions": part.decisions}
            tx.add_event(part.event("rest", data, now))
        if not part.worth_a_look:
            return
        facts = plain(judge(part, now))
        part.news, part.patience = 0, max(math.ceil(LOOK * part.t), 1)
        if facts != part.facts or part.corrections != part.facts_corrections:
            tx.add_event(part.event("judge", {"facts": facts, "corrections": part.corrections}, now))

    def _say_changes(self, tx: Transaction, now: float) -> None:
        """Log that the rewards of arms have changed."""
        machine = tx.machine
        machine.frontier.alarms.clear()
        for number, part in enumerate(machine.leaves):
            for i, arm in enumerate(part.arms):
                if arm.alarm is None:
                    continue
                change, since = arm.alarm, int(arm.alarm.stamp)
                row = tx.find((since,)).get(since)
                data: dict[str, object] = {
                    "arm": i,
                    "decisions": machine.decisions,
                    "since": since,
                    "around": now if row is None else row.at,
                    "noticed": now,
                    "before": [int(change.pulls_before), units(change.total_before)],
                    "after": [int(change.pulls), units(change.total)],
                    "faded": _faded(part, i),
                }
                tx.add_event(part.event("drift", data, now))
                part.news = part.patience
                if machine.parts:
                    machine.stirred.add(number)

    def _ended(self) -> StudyClosed:
        return StudyClosed(f"the study {self.name!r} was ended", hint=Hint.REOPEN)


def _faded(part: Machine, changed: int) -> list[list[int]]:
    """Rewards of the other arms, and their sums, that a rule counts no more: where one arm has changed, others may
    have, and what is known of them counts as `RECALL` rewards at most. A rule that buys proofs counts all, as proofs
    do: else it would buy again what is proved."""
    off: list[list[int]] = []
    if getattr(part.config.policy, "proof", 0.0) > 0.0:
        return off
    for i, arm in enumerate(part.arms):
        excess = arm.seen - RECALL
        if i != changed and excess > 0:
            off.append([i, excess, arm.seen_total * excess // arm.seen])
    return off


def _counted(machine: Machine) -> dict[str, object]:
    """How many decisions there were by now, in all and of every part."""
    of: dict[str, object] = {"of": [part.decisions for part in machine.parts]} if machine.parts else {}
    return {"decisions": machine.decisions} | of
