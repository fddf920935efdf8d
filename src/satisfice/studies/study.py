"""A live study: ask for an arm, tell its reward later."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.errors import InvalidData, InvalidReward, InvalidStudy, StudyClosed, UnknownDecision
from satisfice.policies import Policy
from satisfice.problem import Setting
from satisfice.studies.config import Config, shown
from satisfice.studies.machine import Machine
from satisfice.studies.records import ABANDONED, EXPIRED, OPEN, TOLD, Asked, Changed, Decision, Row, Settled
from satisfice.studies.storages.base import Ledger
from satisfice.studies.transitions import apply_change, arm_of, moves, settle

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from satisfice.instances.sources import PandasFrame
    from satisfice.studies.audit import Audit
    from satisfice.studies.explain import Explanation
    from satisfice.studies.replay import Replay
    from satisfice.studies.status import Status, Verdict

# Overdue decisions are expired this many at a time, so that no single `ask` pays for a long pause.
EXPIRE_AT_ONCE = 256


class Study:
    """A live study. `create_study` makes one and `load_study` opens it, from any number of processes.

    It may be shared by threads. Every method that changes something is one transaction: when it returns, the change
    is durable; when it raises, nothing has changed.
    """

    def __init__(self, ledger: Ledger, clock: Callable[[], float] = time.time) -> None:
        self._ledger = ledger
        self._clock = clock

    @property
    def name(self) -> str:
        """The name of the study."""
        return self._ledger.config.name

    @property
    def config(self) -> Config:
        """What was fixed when the study was created."""
        return self._ledger.config

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {self.config.policy.label}, {self.config.setting}>"

    # Ask

    def ask(self, *, subject: str | None = None, exclude: Iterable[str] = ()) -> Decision:
        """The next decision. It never waits for rewards and never refuses.

        Most are pulls that the policy asked for. While the rewards of those are outstanding, the arm that would win
        now is served (the cheapest whose mean so far reaches the threshold), and every eighth time the arm whose
        rewards are missing, to make up for those that never come.

        Parameters
        ----------
        subject : str, optional
            Whom the decision is for. While a subject's decision is open, it gets that same decision again.
        exclude : names of arms, optional
            Arms that cannot be played now. If the policy's arm is among them, the arm that would win now among the
            others is served: the cheapest whose mean reaches the threshold, arms without rewards included.

        Raises
        ------
        StudyClosed
            The study was closed.
        InvalidStudy
            `exclude` names an arm that the study does not have, or leaves none.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1), policy="ucb-cs", horizon=100)
        >>> study.ask().arm
        'small'
        """
        ledger = self._ledger
        with ledger as machine:
            now = self._tick(machine)
            without = self._indices(machine, exclude) if exclude else ()
            if subject is not None:
                row = ledger.open_of(subject)
                if row is not None and row.arm not in without and not machine.arms[row.arm].retired:
                    return Decision(row.id, machine.arms[row.arm].name, "subject", row.lease, subject)
            arm, reason = machine.ask(without)
            machine.clock = now
            number, lease = machine.decisions, machine.lease.number
            ledger.add_decisions((Asked(machine.version, number, arm, reason, lease, subject, now),))
            if machine.due == math.inf:
                self._note_due(machine, now)
            return Decision(number, machine.arms[arm].name, reason, lease, subject)

    def ask_many(self, count: int, *, exclude: Iterable[str] = ()) -> list[Decision]:
        """`count` decisions in one transaction, the same that so many calls of `ask` would give.

        This is also how a process reserves a block of a lease: it hands the decisions out by itself.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InvalidStudy(f"count = {count!r}; it must be a whole number of at least 0")
        ledger = self._ledger
        with ledger as machine:
            now = self._tick(machine)
            if not count:
                return []
            without = self._indices(machine, exclude) if exclude else ()
            first = machine.decisions + 1
            seq = machine.version + 1 - first
            served = machine.ask_many(count, without)
            machine.clock, lease = now, machine.lease.number
            ledger.add_decisions(
                [Asked(seq + i, i, arm, why, lease, None, now) for i, (arm, why) in enumerate(served, first)]
            )
            if machine.due == math.inf:
                self._note_due(machine, now)
            names = [arm.name for arm in machine.arms]
            return [Decision(i, names[arm], why, lease) for i, (arm, why) in enumerate(served, first)]

    # Tell

    def tell(self, decision_id: int, reward: float, *, correct: bool = False) -> bool:
        """Tell the reward of a decision, at any time, from any process.

        Telling the same reward again changes nothing. A different one is an error unless `correct` is True. A reward
        that comes after its decision expired counts.

        Parameters
        ----------
        decision_id : int
            The `id` of the decision.
        reward : float
            Within the range that the study declared, [0, 1] by default.
        correct : bool
            Whether to replace a reward that was told before (or an abandonment).

        Returns
        -------
        bool
            Whether anything changed.

        Raises
        ------
        InvalidReward, UnknownDecision, RewardConflict, StudyClosed
            Nothing has changed.

        Examples
        --------
        >>> from satisfice import FixedThreshold
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, FixedThreshold(0.8), policy="ft-ucb")
        >>> decision = study.ask()
        >>> study.tell(decision.id, 1.0), study.tell(decision.id, 1.0)
        (True, False)
        """
        number = _number(decision_id)
        value = self._reward(number, reward)
        ledger = self._ledger
        with ledger as machine:
            now = self._tick(machine)
            row = ledger.get(number)
            if row is None:
                raise self._unknown(number)
            if not moves(row, TOLD, value, correct):
                return False
            ledger.add_settled((self._settle(machine, row, TOLD, value, now),))
            return True

    def tell_many(self, rewards: Mapping[int, float] | Iterable[tuple[int, float]], *, correct: bool = False) -> int:
        """Tell many rewards, by decision id, in one transaction: all of them or, on an error, none.

        Returns
        -------
        int
            How many of them changed anything.
        """
        values: dict[int, float] = {}
        for key, reward in _pairs(rewards):
            number = _number(key)
            value = self._reward(number, reward)
            if values.setdefault(number, value) != value:
                raise InvalidReward(f"decision {number} is told two rewards at once, {values[number]:g} and {value:g}")
        ledger = self._ledger
        with ledger as machine:
            now = self._tick(machine)
            rows = ledger.find(list(values))
            if len(rows) < len(values):
                raise self._unknown(next(number for number in values if number not in rows))
            new = [(row, values[number]) for number, row in rows.items() if moves(row, TOLD, values[number], correct)]
            ledger.add_settled([self._settle(machine, row, TOLD, value, now) for row, value in new])
            return len(new)

    def abandon(self, decision_id: int) -> bool:
        """Say that a decision will never have a reward; it counts as nothing. Answers whether anything changed.

        Raises
        ------
        UnknownDecision, RewardConflict (it has a reward), StudyClosed
        """
        number = _number(decision_id)
        ledger = self._ledger
        with ledger as machine:
            now = self._tick(machine)
            row = ledger.get(number)
            if row is None:
                raise self._unknown(number)
            if not moves(row, ABANDONED, None, False):
                return False
            ledger.add_settled((self._settle(machine, row, ABANDONED, None, now),))
            return True

    def expire(self) -> int:
        """Expire every decision that has waited longer than `expire_after`, and answer with their number.

        `ask`, `tell` and `status` do this on their way; a study that nobody uses can do it by hand.
        """
        total = 0
        while True:
            with self._ledger as machine:
                before = machine.scanned
                now = self._now(machine)
                if machine.closed or now < machine.due:
                    return total
                total += self._expire(machine, now)
                if machine.scanned == before:
                    return total

    # The world changes

    def set_cost(self, arm: str, cost: float) -> None:
        """Change the cost of one pull of an arm from now on. Nothing that was learned is lost.

        The policy starts its rounds again on the sums as they are, so it passes at once those that it has pulls for.
        """
        self._change("set_cost", arm, cost)

    def add_arm(self, arm: str, cost: float) -> None:
        """Add an arm to the running study, or bring a retired one back with what was learned of it."""
        self._change("add_arm", arm, cost)

    def retire_arm(self, arm: str) -> None:
        """Take an arm out of the running study. Rewards of its open decisions are still taken and stay on record."""
        self._change("retire_arm", arm, None)

    def close(self) -> None:
        """End the study: from now on `ask`, `tell` and changes raise `StudyClosed`; reading goes on."""
        self._change("close", None, None)

    def _change(self, kind: str, arm: str | None, cost: float | None) -> None:
        with self._ledger as machine:
            now, before = self._tick(machine), machine.clock
            machine.clock = now
            try:
                apply_change(machine, kind, arm, cost)
            except InvalidStudy:
                machine.clock = before
                raise
            self._ledger.add_change(Changed(machine.version, kind, arm, cost, now))

    # What is known

    def status(self) -> Status:
        """Per arm: pulls, pending, mean, interval and verdict; the leader, how sure that is, and what was spent.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1), policy="ucb-cs", horizon=100)
        >>> study.tell(study.ask().id, 1.0)
        True
        >>> [(arm.name, arm.pulls, arm.pending) for arm in study.status().arms]
        [('small', 1, 0), ('large', 0, 0)]
        """
        from satisfice.studies.status import make_status

        self.expire()
        with self._ledger as machine:
            return make_status(machine)

    def verdict(self) -> Verdict:
        """The leading arm, how sure that is, and which arms were refuted by which and when."""
        return self.status().verdict

    def explain(self, decision_id: int) -> Explanation:
        """Why this arm at that time: what was known then, and which lease the decision belongs to.

        It reads the log up to the decision, so it takes longer than an `ask`, in proportion to the log.
        """
        from satisfice.studies.explain import explain

        with self._ledger:
            row = self._ledger.get(_number(decision_id))
        if row is None:
            raise self._unknown(decision_id)
        return explain(self._ledger, row)

    def check(self) -> Audit:
        """Rebuild the state from the log and say whether it agrees with the state that is kept."""
        from satisfice.studies.audit import audit

        return audit(self._ledger)

    def log(self) -> pl.DataFrame:
        """One row per decision: id, arm, cost then, reason, lease, subject, times, status and reward by now."""
        from satisfice.studies.replay import log_frame

        return log_frame(self._ledger)

    def export(self, path: str | Path) -> Path:
        """Write `log()` to a Parquet file, folders included.

        Raises
        ------
        InvalidData
            The file cannot be written.
        """
        from polars.exceptions import PolarsError

        target = Path(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self.log().write_parquet(target)
        except (OSError, PolarsError) as error:
            raise _unwritten(target, error) from error
        return target

    def replay(
        self,
        log: Study | pl.DataFrame | PandasFrame | str | Path | None = None,
        *,
        policy: str | Policy | type[Policy] | None = None,
        setting: Setting | None = None,
        seed: int = 0,
    ) -> Replay:
        """Feed a recorded log (by default this study's own) through this study's policy or another; see `sf.replay`."""
        from satisfice.studies.replay import replay

        config = self.config
        return replay(
            config.policy if policy is None else policy,
            self if log is None else log,
            setting=config.setting if setting is None else setting,
            horizon=config.horizon,
            rewards=(config.low, config.high),
            binary=config.binary,
            seed=seed,
        )

    def plot(self, path: str | Path | None = None) -> Figure:
        """Means with their intervals against the threshold, and where the decisions and the money went.

        Raises
        ------
        InvalidData
            The file cannot be written, or its name ends in no known kind of picture.
        """
        from satisfice.plots import save
        from satisfice.studies.picture import picture

        figure = picture(self.status())
        if path is not None:
            known = figure.canvas.get_supported_filetypes()
            if Path(path).suffix[1:].lower() not in known:
                raise InvalidData(f"{path} does not end in a kind of picture: {', '.join(known)}")
            try:
                save(figure, path)
            except OSError as error:
                raise _unwritten(path, error) from error
        return figure

    # Pieces

    def _now(self, machine: Machine) -> float:
        """The time, which never runs backwards within a study, whatever the clocks of its processes."""
        return max(self._clock(), machine.clock)

    def _tick(self, machine: Machine) -> float:
        """The time of an event, after what is overdue has expired."""
        if machine.closed:
            raise StudyClosed(f"the study {self.name!r} is closed")
        now = self._now(machine)
        if now >= machine.due:
            self._expire(machine, now)
        return now

    def _note_due(self, machine: Machine, asked_at: float) -> None:
        if self.config.expire_after is not None:
            machine.due = asked_at + self.config.expire_after

    def _expire(self, machine: Machine, now: float) -> int:
        after, ledger = self.config.expire_after, self._ledger
        if after is None:
            return 0
        rows = ledger.overdue(machine.scanned, now - after, EXPIRE_AT_ONCE)
        waiting = [row for row in rows if row.status == OPEN]
        ledger.add_settled([self._settle(machine, row, EXPIRED, self.config.expire_as, now) for row in waiting])
        if rows:
            machine.scanned = rows[-1].id
        oldest = ledger.first_after(machine.scanned)
        machine.due = math.inf if oldest is None else oldest + after
        return len(waiting)

    def _settle(self, machine: Machine, row: Row, status: str, reward: float | None, now: float) -> Settled:
        machine.clock = now
        settle(machine, row, status, reward)
        return Settled(machine.version, row.id, row.entries + 1, status, reward, now)

    def _reward(self, number: int, reward: float) -> float:
        config = self._ledger.config
        try:
            value = float(reward)
        except (TypeError, ValueError):
            value = math.nan
        what = f"numbers from {config.low:g} to {config.high:g}"
        known = config.low <= value <= config.high
        if config.binary:
            what, known = f"{config.low:g} or {config.high:g}", value in (config.low, config.high)
        if not known:
            raise InvalidReward(f"reward = {shown(reward)} of decision {number}; this study takes {what}")
        return value

    def _indices(self, machine: Machine, names: Iterable[str]) -> Sequence[int]:
        wanted = (names,) if isinstance(names, str) else tuple(names)
        return [arm_of(machine, name) for name in wanted]

    def _unknown(self, number: object) -> UnknownDecision:
        return UnknownDecision(f"the study {self.name!r} never handed out a decision {number!r}")


def _number(decision_id: object) -> int:
    """A decision id: a whole number, NumPy's included, or the text of one."""
    number = -1
    if isinstance(decision_id, str):
        number = int(decision_id) if decision_id.isdecimal() else -1
    elif isinstance(decision_id, Integral) and not isinstance(decision_id, bool):
        number = int(decision_id)
    if not 1 <= number < 1 << 62:
        raise UnknownDecision(f"{shown(decision_id)} is not the id of a decision; ids are 1, 2, 3, ...")
    return number


def _unwritten(path: str | Path, error: Exception) -> InvalidData:
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return InvalidData(f"{path} cannot be written: {reason}")


def _pairs(rewards: object) -> Iterator[tuple[object, float]]:
    """Ids and rewards, or `InvalidReward`."""
    items = rewards.items() if isinstance(rewards, Mapping) else rewards
    if isinstance(items, Iterable) and not isinstance(items, str) and not hasattr(items, "columns"):
        for item in items:
            if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
                raise InvalidReward(f"{shown(item)} is not a pair of a decision id and a reward, such as (17, 1.0)")
            yield item[0], item[1]
    else:
        raise InvalidReward(
            f"rewards are {{17: 1.0, 18: 0.0}} or pairs such as [(17, 1.0), (18, 0.0)]; got {shown(rewards)}"
        )
