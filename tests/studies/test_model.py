"""A state machine over everything that can happen to a study, against a model that is too simple to be wrong."""

from __future__ import annotations

import math
import tempfile
from fractions import Fraction

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import satisfice as sf
from satisfice.errors import InvalidStudy, RewardConflict, StudyClosed
from satisfice.studies import create_study, get_storage, load_study

REWARDS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1 / 3, 0.7, 1.0])
NAMES = ("a", "b", "c", "d", "e")
EXPIRE = 100.0
POLICIES = {
    "pe-cs": sf.BestReward(0.2),
    "ucb-cs": sf.BestReward(0.2),
    "ts-cs": sf.BestReward(0.2),
    "etc-cs": sf.BestReward(0.2),
    "glr": sf.BestReward(0.2),
    "ft-ucb": sf.FixedThreshold(0.4),
    "pe": sf.ReferenceArm("b", 0.1),
}


class Life(RuleBasedStateMachine):
    """The model: a dictionary of decisions, each with its arm, its time, and its reward or its end."""

    @initialize(
        policy=st.sampled_from(sorted(POLICIES)),
        expire_as=st.sampled_from([None, 0.0]),
        seed=st.integers(0, 9),
        durable=st.sampled_from([False, False, True]),
    )
    def begin(self, policy: str, expire_as: float | None, seed: int, durable: bool) -> None:
        self.now = 0.0
        self.folder = tempfile.TemporaryDirectory()
        self.storage = get_storage(f"sqlite:///{self.folder.name}/s.db?synchronous=normal" if durable else None)
        self.expire_as = expire_as
        self.study = create_study(
            "s", {"a": 1.0, "b": 3.0, "c": 2.0}, POLICIES[policy], policy, self.storage, 500,
            expire_after=EXPIRE, expire_as=expire_as, seed=seed, clock=lambda: self.now,
        )  # fmt: skip
        self.costs = {"a": 1.0, "b": 3.0, "c": 2.0}
        self.reference = "b" if policy == "pe" else None
        self.arm: dict[int, str] = {}
        self.asked_at: dict[int, float] = {}
        self.state: dict[int, str] = {}
        self.reward: dict[int, float] = {}
        self.subject: dict[str, int] = {}
        self.subject_of: dict[int, str] = {}
        self.keys: dict[str, list[int]] = {}
        self.retired: set[str] = set()
        self.spent = Fraction(0)

    def catch_up(self) -> None:
        """What is overdue expires before anything else happens."""
        for number, at in self.asked_at.items():
            if self.state[number] == "open" and self.now - at >= EXPIRE:
                self.state[number] = "expired"
                if self.expire_as is not None:
                    self.reward[number] = self.expire_as

    def note(self, number: int, arm: str) -> None:
        assert number == len(self.arm) + 1
        assert arm in self.costs
        if self.reference:
            assert self.costs[arm] <= self.costs[self.reference]
        self.arm[number], self.asked_at[number], self.state[number] = arm, self.now, "open"
        self.spent += Fraction(self.costs[arm])

    def any_decision(self, data: st.DataObject) -> int:
        return int(data.draw(st.sampled_from(sorted(self.arm))))

    @rule(seconds=st.sampled_from([0.0, 1.0, 30.0, 99.0, 150.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def ask(self) -> None:
        self.catch_up()
        decision = self.study.ask()
        self.note(decision.id, decision.arm)

    @rule(count=st.integers(0, 12))
    def ask_many(self, count: int) -> None:
        self.catch_up()
        for decision in self.study.ask_many(count):
            self.note(decision.id, decision.arm)

    @rule(subject=st.sampled_from(["u", "v"]))
    def ask_for(self, subject: str) -> None:
        self.catch_up()
        decision = self.study.ask(subject=subject)
        known = self.subject.get(subject)
        if known is not None and self.state[known] == "open" and self.arm[known] in self.costs:
            assert (decision.id, decision.arm) == (known, self.arm[known])
        else:
            self.note(decision.id, decision.arm)
            self.subject[subject] = decision.id
            self.subject_of[decision.id] = subject

    @rule(data=st.data())
    def ask_without(self, data: st.DataObject) -> None:
        self.catch_up()
        known = sorted(self.costs) if not self.reference else sorted(set(self.costs) - {self.reference})
        without = data.draw(st.sets(st.sampled_from(known), max_size=len(self.costs) - 1)) if known else set()
        decision = self.study.ask(exclude=without)
        assert decision.arm not in without
        self.note(decision.id, decision.arm)

    @precondition(lambda self: self.arm)
    @rule(data=st.data(), reward=REWARDS, correct=st.booleans())
    def tell(self, data: st.DataObject, reward: float, correct: bool) -> None:
        number = self.any_decision(data)
        state = self.state[number]
        same = state == "told" and self.reward[number] == reward
        if state in ("open", "expired") or same or correct:
            assert self.study.tell(number, reward, correct=correct) == (not same)
            self.state[number], self.reward[number] = "told", reward
        else:
            try:
                self.study.tell(number, reward)
                raise AssertionError("a conflict was not seen")
            except RewardConflict:
                pass

    @precondition(lambda self: self.arm)
    @rule(data=st.data(), reward=REWARDS)
    def tell_many(self, data: st.DataObject, reward: float) -> None:
        self.catch_up()
        chosen = data.draw(st.sets(st.sampled_from(sorted(self.arm)), max_size=10))
        fresh = {number: reward for number in chosen if self.state[number] in ("open", "expired")}
        assert self.study.tell_many(fresh) == len(fresh)
        for number in fresh:
            self.state[number], self.reward[number] = "told", reward

    @precondition(lambda self: self.arm)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        self.catch_up()
        number = self.any_decision(data)
        if self.state[number] == "told":
            try:
                self.study.abandon(number)
                raise AssertionError("a conflict was not seen")
            except RewardConflict:
                return
        assert self.study.abandon(number) == (self.state[number] == "open")
        if self.state[number] == "open":
            self.state[number] = "abandoned"

    @rule()
    def expire(self) -> None:
        waiting = sum(s == "open" for s in self.state.values())
        self.catch_up()
        assert self.study.expire() == waiting - sum(s == "open" for s in self.state.values())

    @rule(arm=st.sampled_from(NAMES), cost=st.sampled_from([0.0, 0.5, 1.0, 2.5, 7.0]))
    def set_cost(self, arm: str, cost: float) -> None:
        self.catch_up()
        if arm in self.costs:
            self.study.set_cost(arm, cost)
            self.costs[arm] = cost

    @rule(arm=st.sampled_from(NAMES), cost=st.sampled_from([0.5, 1.0, 7.0]))
    def add_arm(self, arm: str, cost: float) -> None:
        known = self.costs.get(arm)
        try:
            assert self.study.add_arm(arm, cost) == (known is None)
            assert known in (None, cost)
            self.costs[arm] = cost
        except InvalidStudy:
            assert known not in (None, cost)

    @rule(arm=st.sampled_from(NAMES))
    def retire_arm(self, arm: str) -> None:
        playing = arm in self.costs
        allowed = (playing and len(self.costs) > 1 and arm != self.reference) or arm in self.retired
        try:
            assert self.study.retire_arm(arm) == playing
            assert allowed
            self.costs.pop(arm, None)
            self.retired.add(arm)
        except InvalidStudy:
            assert not allowed

    @rule()
    def end_and_reopen(self) -> None:
        assert self.study.end() and not self.study.end()
        for refused in (self.study.ask, lambda: self.study.ask_many(3), lambda: self.study.set_cost("b", 9.0)):
            try:
                refused()
                raise AssertionError("an ended study went on")
            except StudyClosed:
                pass
        assert self.study.status().ended
        assert self.study.reopen() and not self.study.reopen()

    @precondition(lambda self: self.arm)
    @rule(key=st.sampled_from(["k", "l"]), count=st.integers(1, 3))
    def ask_with_a_key(self, key: str, count: int) -> None:
        known = self.keys.get(key)
        if known is not None and len(known) != count:
            try:
                self.study.ask_many(count, key=key)
                raise AssertionError("a key was used twice")
            except InvalidStudy:
                return
        decisions = self.study.ask_many(count, key=key)
        if known is None:
            self.catch_up()
            for decision in decisions:
                self.note(decision.id, decision.arm)
            self.keys[key] = [decision.id for decision in decisions]
        else:
            assert [(d.id, d.arm) for d in decisions] == [(number, self.arm[number]) for number in known]

    @rule(subject=st.sampled_from(["u", "v"]))
    def forget(self, subject: str) -> None:
        assert self.study.forget(subject) == sum(name == subject for name in self.subject_of.values())
        self.subject_of = {number: name for number, name in self.subject_of.items() if name != subject}
        self.subject.pop(subject, None)

    @rule()
    def repair(self) -> None:
        self.study.repair()

    @rule()
    def open_again(self) -> None:
        self.study = load_study("s", self.storage, clock=lambda: self.now)

    @invariant()
    def sums_are_exact(self) -> None:
        if not hasattr(self, "study"):
            return
        self.catch_up()
        status = self.study.status()
        assert {arm.name: arm.cost for arm in status.arms if arm.verdict != "retired"} == self.costs
        for arm in status.arms:
            mine = [number for number, name in self.arm.items() if name == arm.name]
            rewards = [Fraction(self.reward[number]) for number in mine if number in self.reward]
            assert arm.pulls == len(rewards)
            assert arm.pending == sum(self.state[number] == "open" for number in mine)
            assert arm.dropped == len(mine) - arm.pulls - arm.pending
            if rewards:
                assert arm.mean == float(sum(rewards) / len(rewards))
            else:
                assert math.isnan(arm.mean)
        assert math.isclose(status.spending.total, self.spent, rel_tol=1e-12)

    def teardown(self) -> None:
        if hasattr(self, "study"):
            audit = self.study.check()
            self.study.close()
            self.folder.cleanup()
            assert audit.agrees, audit


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
