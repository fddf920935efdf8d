"""The state of a study and its transitions: pure bookkeeping around the rule of a policy, no storage, no clock.

A lease (arm, m) is carried out when m rewards of its arm have come since it was made, whichever decisions they
belong to; then the rule is asked again, at the next `ask`. When all m pulls are out and rewards are still missing,
`ask` serves the arm that would win now, and every `AGAIN`th time the lease's arm once more, so that rewards that never
come hold nothing up. (Serving the lease's arm every time is what Joulani, Gyorgy and Szepesvari, ICML 2013, analyse;
with rewards up to 10,000 decisions late this choice had from half to nine tenths of its regret.) A lease over all arms
in turn is handed out in turn; then "the lease's arm" is one whose rewards are missing.

Sums are exact: a reward on [0, 1] is a whole number of units of 2^-80 (a float loses nothing by it unless it is below
2^-28, and then less than 2^-80), so sums do not depend on the order in which rewards come, are corrected or are read
back from the log.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import fields
from operator import attrgetter
from typing import cast

import numpy as np

from satisfice.errors import InvalidStudy
from satisfice.policies.contract import SWEEP, Policy, Problem, State, arrange, make_problem, new_state
from satisfice.problem import BestReward, FixedThreshold, ReferenceArm
from satisfice.studies.arms import UNIT, Arm, Lease
from satisfice.studies.config import Config, check_cost, check_name
from satisfice.studies.rules import decide
from satisfice.studies.verdict import REFUTED, Fact, judge, judge_anew

# Why an arm was served: as a pull of the lease; beyond it, while its rewards are outstanding, as the arm that would win
# now or as the lease's arm once more; in place of an excluded arm.
LEASE, INTERIM, EXTRA, STANDIN = "lease", "interim", "extra", "standin"
AGAIN = 8
# Verdicts are looked at again when the number of rewards has grown by this factor.
LOOK = 1.1


class Machine:
    """The state of one study. Arms are counted in the order in which the study got them."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.version = 0  # the number of events so far
        self.decisions = 0  # the id of the last decision
        self.clock = 0.0  # the time of the last event, seconds since 1970
        self.closed = False
        self.arms = [Arm(name, cost) for name, cost in config.arms]
        self.lease = Lease()
        self.scanned = 0  # every decision up to this id is settled, expired ones included
        self.due = math.inf  # when the first decision after `scanned` expires
        self.look = 8  # the number of rewards at which verdicts are looked at next
        self.facts: list[Fact] = []
        self.doubt = False  # whether a counted reward was replaced since verdicts were looked at last
        self.rng = np.random.Generator(np.random.PCG64(config.seed))
        self.learns = type(config.policy).learn is not Policy.learn
        self.memory_changed = True
        self._arrange()
        self._begin()

    # What the rule sees

    def _arrange(self) -> None:
        """The rule's view of the arms: `order` (its arms in its order), `rank` (where an arm is in it), `problem`."""
        active = [i for i, arm in enumerate(self.arms) if not arm.retired]
        costs = [self.arms[i].cost for i in active]
        setting = self.config.scaled_setting
        order = arrange(costs, setting, [self.arms[i].name for i in active])
        config = self.config
        self.problem: Problem = make_problem(
            config.policy, setting, costs, order, config.horizon, bounded=True, binary=config.binary
        )
        self.order: list[int] = [active[k] for k in order.tolist()]
        self.rank: list[int] = [-1] * len(self.arms)
        for k, i in enumerate(self.order):
            self.rank[i] = k
        self.state: State = new_state(config.policy, len(self.order))
        self.t = 0

    def _fill(self) -> None:
        """Bring the sums into the rule's state."""
        for k, i in enumerate(self.order):
            self.state.pulls[k] = self.arms[i].pulls
            self.state.totals[k] = self.arms[i].units / UNIT
        self.t = int(self.state.pulls.sum())

    def _begin(self) -> None:
        """A fresh memory of the rule, which then learns the sums as if they had come in one lease per arm."""
        self.state.ints[:] = 0
        self.state.floats[:] = 0.0
        cls = type(self.config.policy)
        cls.start(self.problem, self.state)
        self._fill()
        if self.learns:
            for k in range(len(self.order)):
                if self.state.pulls[k]:
                    cls.learn(
                        self.problem, self.state, k, int(self.state.pulls[k]), float(self.state.totals[k]), self.rng
                    )
        self.memory_changed = True

    def _decide(self) -> None:
        arm, pulls = -2, 0
        if self.t > 0 and len(self.order) > 1:
            # The paper's rules look at every arm before anything else; an arm that came later gets its first look here.
            unseen = int(self.state.pulls.argmin())
            if self.state.pulls[unseen] == 0 and self.changed:
                arm, pulls = unseen, 1
        if arm == -2:
            arm, pulls = decide(type(self.config.policy), self.problem, self.state, self.t, self.rng)
            self.memory_changed = True
        number = self.lease.number + 1
        if arm == SWEEP:
            self.lease = Lease(number, SWEEP, pulls, 0, len(self.order), [pulls] * len(self.order))
        else:
            self.lease = Lease(number, arm, pulls, 0, pulls)

    @property
    def changed(self) -> bool:
        """Whether the arms or their costs were changed since the study began."""
        return len(self.arms) > len(self.config.arms) or self._touched

    _touched = False

    # Asking

    def ask(self, exclude: Collection[int] = ()) -> tuple[int, str]:
        """Hand out one decision: the arm and the reason (LEASE, INTERIM, EXTRA or STANDIN)."""
        if self.lease.left <= 0:
            self._decide()
        lease = self.lease
        if lease.arm >= 0 and lease.handed < lease.pulls:
            arm, reason = self.order[lease.arm], LEASE
        else:
            arm, reason = self._turn(lease)
        if exclude and arm in exclude:
            arm, reason = self.standin(exclude), STANDIN
        self.serve(arm, reason)
        return arm, reason

    def serve(self, arm: int, reason: str) -> None:
        """Book a decision that was handed out."""
        if reason != STANDIN:
            self.lease.handed += 1
        self.arms[arm].asked += 1
        self.decisions += 1
        self.version += 1

    def ask_many(self, count: int, exclude: Collection[int] = ()) -> list[tuple[int, str]]:
        """Hand out `count` decisions, the same that so many calls of `ask` would give."""
        if self.lease.left <= 0:
            self._decide()
        lease = self.lease
        block = min(lease.pulls - lease.handed, count)
        if exclude or lease.arm < 0 or block <= 0:
            return [self.ask(exclude) for _ in range(count)]
        arm = self.order[lease.arm]
        lease.handed += block
        self.arms[arm].asked += block
        self.decisions += block
        self.version += block
        return [(arm, LEASE)] * block + [self.ask() for _ in range(count - block)]

    def prepare(self) -> None:
        """Have a lease that is not carried out yet."""
        if self.lease.left <= 0:
            self._decide()

    def _turn(self, lease: Lease) -> tuple[int, str]:
        arms = len(self.order)
        over = lease.handed - lease.pulls * (arms if lease.arm < 0 else 1)
        if over < 0:
            return self.order[lease.handed % arms], LEASE
        if over % AGAIN != AGAIN - 1:
            unknown = [i for i in self.order if not self.arms[i].pulls]
            if len(unknown) < arms:
                return self.standin(unknown, cautious=True), INTERIM
        if lease.missing is None:
            return self.order[lease.arm], EXTRA
        waiting = [k for k in range(arms) if lease.missing[k] > 0]
        return self.order[waiting[(over + over // AGAIN) % len(waiting)]], EXTRA

    def standin(self, exclude: Collection[int] = (), cautious: bool = False) -> int:
        """The arm that would win now among those not excluded: the cheapest whose mean reaches the threshold,
        else the one with the largest mean; arms without a reward count as good enough.

        `cautious`: many decisions may be made before more rewards come in, and an arm that had luck with few rewards
        must not set the threshold for all of them; so two more rewards of 1/2 are counted in for the largest mean.
        """
        allowed = [i for i in self.order if i not in exclude]
        if not allowed:  # arms dearer than the reference arm, which no rule plays
            others = [i for i, arm in enumerate(self.arms) if not arm.retired and i not in exclude]
            if not others:
                raise InvalidStudy("every arm is excluded; leave at least one to choose")
            return min(others, key=lambda i: self.arms[i].cost)
        setting = self.config.scaled_setting
        if cautious and isinstance(setting, BestReward):
            records = [self.arms[i] for i in self.order]
            floor = (1.0 - setting.alpha) * max((arm.units / UNIT + 1.0) / (arm.pulls + 2) for arm in records)
        else:
            floor = self.threshold()
        for i in allowed:
            if not self.arms[i].pulls or self.arms[i].mean >= floor:
                return i
        return max(allowed, key=lambda i: self.arms[i].mean)

    def threshold(self) -> float:
        """The threshold on [0, 1] by the means so far; nan when nothing is known."""
        setting = self.config.scaled_setting
        if isinstance(setting, FixedThreshold):
            return setting.mu0
        if isinstance(setting, ReferenceArm):
            return (1.0 - setting.alpha) * self.arms[self.order[-1]].mean
        means = [self.arms[i].mean for i in self.order if self.arms[i].pulls]
        return (1.0 - cast(BestReward, setting).alpha) * max(means) if means else math.nan

    # Rewards

    def settle(self, arm: int, old: int | None, new: int | None, dropped: int = 0) -> None:
        """Book that a decision's reward went from `old` to `new` (units; None: no reward counted).

        `dropped` is the change in the number of decisions of the arm that came to nothing.
        """
        self.version += 1
        record = self.arms[arm]
        record.dropped += dropped
        if new is None:
            return
        rank = self.rank[arm]
        if old is not None:
            if new != old:
                self._replace(record, rank, new - old)
            return
        record.pulls += 1
        record.units += new
        if rank < 0:
            return
        state = self.state
        state.pulls[rank] += 1
        state.totals[rank] = record.units / UNIT
        self.t += 1
        if self.learns:
            type(self.config.policy).learn(self.problem, state, rank, 1, new / UNIT, self.rng)
            self.memory_changed = True
        lease = self.lease
        if lease.arm == rank:
            lease.left -= 1
        elif lease.missing is not None:
            lease.missing[rank] -= 1
            if lease.missing[rank] == 0:
                lease.left -= 1
        if self.t >= self.look:
            self.look = max(self.look + 1, math.ceil(self.t * LOOK))
            self.facts, self.doubt = self.proved(look=True), False

    def _replace(self, record: Arm, rank: int, difference: int) -> None:
        """Replace a counted reward. All that was proved is in doubt then, and so is an arm that was chosen for good."""
        record.units += difference
        self.doubt = True
        if rank < 0:
            return
        self.state.totals[rank] = record.units / UNIT
        if self.committed:
            self.lease = Lease(self.lease.number)
            self._begin()
        elif self.learns:
            self._begin()

    @property
    def committed(self) -> bool:
        """Whether the rule has given one arm all that is left of the horizon."""
        lease, horizon = self.lease, self.config.horizon
        return lease.arm != SWEEP and lease.left > 0 and horizon is not None and lease.left >= horizon - self.t

    def proved(self, look: bool = False) -> list[Fact]:
        """What is proved: by the last look at the verdicts, or by now if `look` or if a reward was replaced since."""
        if not (look or self.doubt):
            return self.facts
        if self.doubt:
            return judge_anew(self, self.facts)
        facts = list(self.facts)
        judge(self, facts)
        return facts

    # A world that changes

    def set_cost(self, arm: int, cost: float) -> None:
        """Change the cost of an arm from now on."""
        record = self.arms[arm]
        price = check_cost(record.name, cost)
        record.spent_before, record.asked_before = record.spent, record.asked
        record.would_before, record.since = record.would(self.decisions), self.decisions
        record.cost = price
        self._change()

    def add_arm(self, name: str, cost: float) -> None:
        """Add an arm, or bring a retired one back with what was learned of it."""
        price = check_cost(check_name(name), cost)
        known = next((i for i, arm in enumerate(self.arms) if arm.name == name), None)
        if known is None:
            self.arms.append(Arm(name, price))
            self._change()
        elif self.arms[known].retired:
            self.arms[known].retired = False
            self.set_cost(known, price)
        else:
            raise InvalidStudy(f"the study already has an arm {name!r}; set_cost changes its cost")

    def retire_arm(self, arm: int) -> None:
        """Take an arm out of the choice; what was learned of it stays on record."""
        record, setting = self.arms[arm], self.config.setting
        if record.retired:
            raise InvalidStudy(f"{record.name!r} is already retired")
        if isinstance(setting, ReferenceArm) and setting.arm == record.name:
            raise InvalidStudy(f"{record.name!r} is the reference arm, which cannot be retired")
        if sum(not other.retired for other in self.arms) == 1:
            raise InvalidStudy(f"{record.name!r} is the last arm and cannot be retired")
        record.retired = True
        self._change()

    def _change(self) -> None:
        self.version += 1
        self._touched = True
        self._arrange()
        self._begin()
        self.lease = Lease(self.lease.number)
        # A refutation is about means, not costs: it stands as long as the arm that it rests on is in the study.
        self.facts = [
            fact for fact in self.facts if fact.kind == REFUTED and (fact.by < 0 or not self.arms[fact.by].retired)
        ]
        self.facts, self.doubt = self.proved(look=True), False

    def close(self) -> None:
        """Take no more questions and no more rewards."""
        self.version += 1
        self.closed = True

    # Plain data

    def book(self) -> dict[str, object]:
        """Everything but the rule's memory, as plain data."""
        lease = self.lease
        return {
            "decisions": self.decisions,
            "clock": self.clock,
            "closed": self.closed,
            "touched": self._touched,
            "arms": [list(_values(arm)) for arm in self.arms],
            "lease": [lease.number, lease.arm, lease.pulls, lease.handed, lease.left, lease.missing],
            "scanned": self.scanned,
            "due": self.due,
            "look": self.look,
            "facts": [list(fact) for fact in self.facts],
            "doubt": self.doubt,
        }

    def memory(self) -> dict[str, object]:
        """What the rule remembers beyond the sums, and its random generator, as plain data."""
        return {
            "ints": self.state.ints.tolist(),
            "floats": self.state.floats.tolist(),
            "rng": self.rng.bit_generator.state,
        }

    @classmethod
    def restore(
        cls,
        config: Config,
        version: int,
        book: dict[str, object],
        memory: dict[str, object],
        old: Machine | None = None,
    ) -> Machine:
        """The machine from the data of `book` and `memory`. An `old` one that nobody uses any more saves time."""
        machine = cls.__new__(cls)
        machine.config = config
        machine.version = version
        machine.decisions = cast(int, book["decisions"])
        machine.clock = cast(float, book["clock"])
        machine.closed = cast(bool, book["closed"])
        machine._touched = cast(bool, book["touched"])
        machine.arms = [Arm(*values) for values in cast("list[list[object]]", book["arms"])]  # type: ignore[arg-type]
        machine.lease = Lease(*cast("list[object]", book["lease"]))  # type: ignore[arg-type]
        machine.scanned, machine.due = cast(int, book["scanned"]), cast(float, book["due"])
        machine.look = cast(int, book["look"])
        machine.facts = [Fact(*values) for values in cast("list[list[object]]", book["facts"])]  # type: ignore[arg-type]
        machine.doubt = cast(bool, book.get("doubt", False))
        machine.learns = type(config.policy).learn is not Policy.learn
        machine.rng = np.random.Generator(np.random.PCG64(0)) if old is None else old.rng
        machine.rng.bit_generator.state = cast("dict[str, object]", memory["rng"])
        if old is not None and [arm.price_tag for arm in old.arms] == [arm.price_tag for arm in machine.arms]:
            machine.order, machine.rank = old.order, old.rank
            machine.problem, machine.state = old.problem, old.state
        else:
            machine._arrange()
        machine._fill()
        machine.state.ints[:] = cast("list[int]", memory["ints"])
        machine.state.floats[:] = cast("list[float]", memory["floats"])
        machine.memory_changed = False
        return machine


_values = attrgetter(*(field.name for field in fields(Arm)))
