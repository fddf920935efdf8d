"""A live study: ask for an arm, tell its reward later."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from types import TracebackType
from typing import TYPE_CHECKING

from satisfice.errors import InvalidReward, InvalidStudy, StorageError
from satisfice.studies.changer import StudyChanger
from satisfice.studies.config import shown
from satisfice.studies.given import call_of, cost_of, excluded, reward_of, triples
from satisfice.studies.machine import Machine
from satisfice.studies.overdue import find_overdue
from satisfice.studies.reader import number_of
from satisfice.studies.records import LEASE, REASON_TEXT, TOLD, Asked, Decision, Entry, Outcome, Reason, Row, made
from satisfice.studies.serving import NOBODY, Whom, note, part_of, plain, serve, serve_next
from satisfice.studies.storages.base import Transaction
from satisfice.studies.telling import LOOK_AFTER
from satisfice.studies.transitions import moves

if TYPE_CHECKING:
    from satisfice.studies.leased import LeasedStudy

# So many decisions are made in one transaction at most: others wait for it.
MOST_AT_ONCE = 1_000_000
# Overdue decisions are expired this many at a time, so that no single `ask` pays for a long pause.
EXPIRE_AT_ONCE = 256


class Study(StudyChanger):
    """A live study. `create_study` makes one and `load_study` opens it, from any number of processes.

    It may be shared by threads. Every method that changes something is one transaction: when it returns, the change
    is durable; when it raises, nothing has changed, except with `OutcomeUnknown`: then nobody knows, and telling the
    same again, or asking with the same `key`, is safe.
    """

    def __enter__(self) -> Study:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # 4. Ask

    def ask(
        self,
        *,
        subject: str | None = None,
        session: str | None = None,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> Decision:
        """The next decision. It never waits for rewards and never refuses.

        Most are pulls that the policy asked for. While the rewards of those are outstanding, it does what the policy
        would do if they came as expected; an arm that does not answer is left out, but for a trial now and then.

        Parameters
        ----------
        subject : str, optional
            Whom the decision is for. While a subject's decision is open, it gets that same decision again.
        session : str, optional
            A conversation, for example, which keeps its arm while it goes on, though every call is a decision of its
            own, with a reward of its own. It is forgotten `session_ttl` seconds after its last decision.
        key : str, optional
            What the decision is for, chosen by the caller. The same key gives the same decision again, open or settled:
            a call whose answer was lost can be made again.
        exclude : names of arms, optional
            Arms that cannot be played now. If the policy's arm is among them, the arm that would win now among the
            others is served: the cheapest that is known to be good enough.
        available : names of arms, optional
            The arms that can be played now; the same as excluding all others.
        segment : str, optional
            The kind of traffic that the decision is for, in a study that has segments.

        Raises
        ------
        StudyClosed
            The study was ended, and no decision was made for this key before.
        InvalidStudy
            `exclude` names an arm that the study does not have, or leaves none; or there is no such segment.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1), policy="ucb-cs", horizon=100)
        >>> study.ask().arm
        'small'
        >>> study.ask(key="question 17").id == study.ask(key="question 17").id
        True
        """
        if (
            subject is None
            and session is None
            and key is None
            and not exclude
            and available is None
            and segment is None
        ):
            if not self._open:
                self._usable()
            ready = self._ledger.take()
            return self._ledger.run(self._next) if ready is None else ready
        whom = Whom(subject, key, session, segment)
        return self._run(lambda tx: self._ask(tx, 1, whom, exclude, available)[0])

    def ask_many(
        self,
        count: int,
        *,
        key: str | None = None,
        exclude: Iterable[str] = (),
        available: Iterable[str] | None = None,
        segment: str | None = None,
    ) -> list[Decision]:
        """`count` decisions in one transaction, the same that so many calls of `ask` would give.

        This is also how a process reserves a block of a lease: it hands the decisions out by itself.
        """
        if isinstance(count, bool) or not isinstance(count, Integral) or not 0 <= count <= MOST_AT_ONCE:
            raise InvalidStudy(
                f"count = {shown(count)}; it must be a whole number from 0 to {MOST_AT_ONCE:,}", parameter="count"
            )
        whom = Whom(key=key, segment=segment)
        return self._run(lambda tx: self._ask(tx, int(count), whom, exclude, available))

    def leased(
        self, *, segment: str | None = None, seconds: float = 60.0, most: int = 10_000, patience: float = 2.0
    ) -> LeasedStudy:
        """This study with decisions that are taken in advance and rewards that go in batches, both in the background:
        while there is stock, `ask` and `tell` wait for nothing. The parameters are those of `RemoteStudy.leased`.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
        >>> with study.leased() as leased:
        ...     leased.tell(leased.ask().id, 1.0)
        >>> sum(arm.pulls for arm in study.status().arms)
        1
        """
        from satisfice.studies.leased import LeasedStudy
        from satisfice.studies.sources import StudySource

        return LeasedStudy(StudySource(self, segment), seconds=seconds, most=most, patience=patience)

    def _next(self, tx: Transaction) -> Decision:
        """One decision for nobody in particular."""
        machine = tx.machine
        arm = -1 if tx.spare else machine.plainly
        if arm >= 0:
            tx.add_pull(arm, tx.now if self._clock is None else self._now(tx))
            number, name = machine.decisions, machine.arms[arm].name
            return made(Decision, (number, name, LEASE, machine.lease.number, None, None, None, None))
        if machine.ended or tx.spare or self._expires or machine.parts or not plain(machine):
            return self._ask(tx, 1, NOBODY, (), None)[0]
        now = tx.now if self._clock is None else self._now(tx)
        if machine.eventful:
            self._watch(tx, now)
        row = serve_next(tx, now)
        return _decision(machine, row, row.reason)

    def _ask(
        self, tx: Transaction, count: int, whom: Whom, exclude: Iterable[str], available: Iterable[str] | None
    ) -> list[Decision]:
        machine, config = tx.machine, self._ledger.config
        if whom.key is not None:  # first: what was made before stays made, whatever has become of the study since
            rows = tx.of_key(whom.key)
            if rows and len(rows) != count:
                raise InvalidStudy(
                    f"the key {whom.key!r} was used for {len(rows)} decisions, not for {count}", parameter="key"
                )
            if rows:
                return [_decision(machine, row, Reason.KEY) for row in rows]
        if machine.ended:
            raise self._ended()
        without = excluded(machine, exclude, available) if exclude or available is not None else ()
        if not count:
            return []
        now = tx.now if self._clock is None else self._now(tx)
        part = part_of(tx, whom, now) if machine.parts or whom.segment is not None else machine
        if whom.subject is not None:
            row = tx.open_of(whom.subject)
            same = row is not None and row.segment == part.number
            if row is not None and same and row.arm not in without and not machine.arms[row.arm].retired:
                return [_decision(machine, row, Reason.SUBJECT)]
        if config.expire_after is not None:
            self._expire(tx, now)
        self._watch(tx, now)
        # What is given back was not explored, and would be missing from the budget.
        alike = whom is NOBODY and part is machine
        spare = tx.spare if alike and not without and config.budget is None else 0
        tx.spare = 0
        served = serve(tx, count + spare, now, whom, without, part)
        decisions = [_decision(machine, row, row.reason) for row in served]
        if not spare:
            return decisions
        tx.later(lambda: self._ledger.stock_up(decisions[count:]))
        return decisions[:count]

    # 5. Tell

    def tell(self, decision_id: int, reward: float, cost: float | None = None, *, correct: bool = False) -> bool:
        """Tell the reward of a decision, at any time, from any process.

        Telling the same reward again changes nothing. A different one is an error unless `correct` is True. A reward
        that comes after its decision expired, or after the study was ended, counts.

        Parameters
        ----------
        decision_id : int
            The `id` of the decision.
        reward : float
            Within the range that the study declared, [0, 1] by default.
        cost : float, optional
            What the decision has cost, where that is known only afterwards.
        correct : bool
            Whether to replace a reward that was told before (or an abandonment).

        Returns
        -------
        bool
            Whether anything changed.

        Raises
        ------
        InvalidReward, UnknownDecision, RewardConflict
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
        number, config = number_of(decision_id), self._ledger.config
        value, paid = reward_of(config, number, reward), cost_of(config, number, cost)

        def work(tx: Transaction) -> list[Entry]:
            row = tx.get(number)
            if row is None:
                raise self._unknown(tx, number)
            if not moves(row, TOLD, value, paid, correct):
                return []
            return [row.becomes(TOLD, value, paid, self._now(tx), max(self._last(tx), number))]

        first = (number, value) if paid is None and self._clock is None else None
        return self._enter(work, (number,), first) > 0

    def tell_many(
        self,
        rewards: Mapping[int, float] | Iterable[tuple[int, float] | tuple[int, float, float]],
        *,
        correct: bool = False,
    ) -> int:
        """Tell many rewards, by decision id, in one transaction: all of them or, on an error, none. An item may have a
        third part, the cost.

        Returns
        -------
        int
            How many of them changed anything.
        """
        config = self._ledger.config
        values: dict[int, tuple[float, float | None]] = {}
        for key, reward, cost in triples(rewards):
            number = number_of(key)
            value = reward_of(config, number, reward), cost_of(config, number, cost)
            if values.setdefault(number, value) != value:
                raise InvalidReward(
                    f"decision {number} is told two rewards at once, {values[number][0]:g} and {value[0]:g}"
                )
        return self._enter(lambda tx: self._tell(tx, values, correct), tuple(values)) if values else 0

    def abandon(self, decision_id: int) -> bool:
        """Say that a decision will never have a reward; it counts as nothing. Answers whether anything changed.

        Raises
        ------
        UnknownDecision, RewardConflict (it has a reward)
        """
        number = number_of(decision_id)

        def work(tx: Transaction) -> list[Entry]:
            row = tx.get(number)
            if row is None:
                raise self._unknown(tx, number)
            new = moves(row, Outcome.ABANDONED, None)
            return [row.becomes(Outcome.ABANDONED, None, None, self._now(tx), self._last(tx))] if new else []

        return self._enter(work, (number,)) > 0

    def record(
        self,
        arm: str,
        reward: float,
        cost: float | None = None,
        *,
        key: str | None = None,
        segment: str | None = None,
    ) -> Decision:
        """Count a decision that somebody else made, with its reward: what it proves counts as if the study had made it.

        So a study can watch a router of your own before it is asked anything. With a `key`, saying it again changes
        nothing. Record every decision, whatever its reward: a choice of them proves nothing.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
        >>> study.record("large", 1.0, cost=8.2, key="call 17").reason
        'recorded'
        """
        call = call_of(self._ledger.config, 1, (arm, reward, cost, key, segment))
        return self._run(lambda tx: self._record(tx, [call]))[0]

    def record_many(self, calls: Iterable[Sequence[object]]) -> int:
        """Count many decisions that somebody else made, in their order and in one transaction.

        Each is (arm, reward), (arm, reward, cost), (arm, reward, cost, key) or (arm, reward, cost, key, segment), with
        None for what is not known. Answers how many were new; those whose key is known are passed over.

        Examples
        --------
        >>> from satisfice import BestReward
        >>> from satisfice.studies import create_study
        >>> study = create_study("demo", {"small": 1.0, "large": 9.0}, BestReward(0.1))
        >>> study.record_many([("small", 0.0), ("large", 1.0, 8.2)])
        2
        """
        config = self._ledger.config
        wanted = [call_of(config, number, call) for number, call in enumerate(calls, 1)]
        if not wanted:
            return 0
        made = self._run(lambda tx: self._record(tx, wanted))
        return sum(decision.reason == Reason.RECORDED for decision in made)

    def _record(self, tx: Transaction, calls: Iterable[tuple[str, float, float | None, Whom]]) -> list[Decision]:
        machine, now = tx.machine, self._now(tx)
        made = []
        for number, (arm, value, paid, whom) in enumerate(calls, 1):
            known = tx.of_key(whom.key) if whom.key is not None else []
            if known:
                made.append(_decision(machine, known[0], Reason.KEY))
                continue
            if machine.ended:
                raise self._ended()
            if arm not in (record.name for record in machine.arms):
                names = ", ".join(record.name for record in machine.arms)
                raise InvalidStudy(f"call {number} is of an arm {shown(arm)}; the study has {names}", parameter="arm")
            row = note(tx, machine.index(arm), whom, now)
            tx.add_entries([row.becomes(Outcome.TOLD, value, paid, now, row.id)])
            made.append(_decision(machine, row, Reason.RECORDED))
        self._watch(tx, now)
        return made

    def _tell(self, tx: Transaction, values: Mapping[int, tuple[float, float | None]], correct: bool) -> list[Entry]:
        rows = self._find(tx, values)
        now, last = self._now(tx), self._last(tx)
        return [
            rows[number].becomes(Outcome.TOLD, value, cost, now, max(last, number))
            for number, (value, cost) in values.items()
            if moves(rows[number], Outcome.TOLD, value, cost, correct)
        ]

    def _find(self, tx: Transaction, numbers: Iterable[int]) -> dict[int, Row]:
        wanted = list(numbers)
        rows = tx.find(wanted)
        for number in wanted:
            if number not in rows:
                raise self._unknown(tx, number)
        return rows

    def _enter(
        self,
        work: Callable[[Transaction], list[Entry]],
        finds: Sequence[int] = (),
        first: tuple[int, float] | None = None,
    ) -> int:
        """Log what became of decisions, those that are found; answers with how many. `first` is the same where it is no
        more than the first reward of a decision, which may take less time."""

        def enter(tx: Transaction) -> int:
            if first is not None and tx.add_first(*first):
                count = 1
            else:
                entries = work(tx)
                count = len(entries)
                tx.add_entries(entries)
            if tx.locked:
                machine = tx.machine
                if machine.worth_a_look or machine.frontier.alarms:
                    self._watch(tx, self._now(tx))
            return count

        if not self._open:
            self._usable()
        done = self._ledger.run(enter, lock=False, finds=finds)
        if self._ledger.told >= LOOK_AFTER:
            with contextlib.suppress(StorageError):  # what was told is durable; somebody else looks after the study
                self._run(lambda tx: self._watch(tx, self._now(tx)))
        return done

    @staticmethod
    def _last(tx: Transaction) -> int:
        """The last decision that is known of here."""
        return tx.machine.decisions if tx.locked else 0

    def expire(self) -> int:
        """Expire every decision that has waited longer than `expire_after`, and answer with their number.

        `ask` and `status` do this on their way; a study that nobody uses can do it by hand.
        """
        self._usable()
        total = 0
        while self.config.expire_after is not None:
            count, more = self._run(lambda tx: self._expire(tx, self._now(tx)))
            total += count
            if not more:
                break
        return total

    def _expire(self, tx: Transaction, now: float) -> tuple[int, bool]:
        """Expire what is overdue; answers with how many, and whether there may be more."""
        found = find_overdue(tx, now, EXPIRE_AT_ONCE)
        if found is None:
            return 0, False
        last, reward = self._last(tx), self.config.expire_as
        tx.add_entries([row.becomes(Outcome.EXPIRED, reward, None, now, last) for row in found.rows])
        found.note(tx.machine)
        return len(found.rows), found.more


def _decision(machine: Machine, row: Asked | Row, reason: str) -> Decision:
    segment = machine.segments[row.segment] if machine.parts else None
    arm = machine.arms[row.arm].name
    return made(Decision, (row.id, arm, REASON_TEXT[reason], row.lease, row.subject, row.key, row.session, segment))
