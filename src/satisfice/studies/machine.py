"""What the rule of a policy wants next, on the state of a study.

A lease (arm, m) is carried out when m rewards of its arm have come since it was made, whichever decisions they
belong to; then the rule is asked again, at the next `ask`. While all its pulls are out and rewards are missing, what is
outstanding counts as evidence on its way: the rule is asked what it would do if every outstanding reward were as good
as its arm is believed to be, without remembering anything of it (`satisfice.studies.waiting`). Rewards that are lost,
by an abandonment or because later ones have come, are made up for by further pulls of the arm. An arm that does not
answer at all rests: the rule is asked as if it were not there, and now and then a trial shows whether it answers
again.

What the rule decided is in the log, with what it remembers: a lease is an event. So a newer rule does not change what
an older one did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Self

import numpy as np

from satisfice.errors import InvalidStudy
from satisfice.policies.contract import SWEEP, learns
from satisfice.policies.kin import longest
from satisfice.studies.config import Config
from satisfice.studies.counts import UNIT, Arm
from satisfice.studies.deciding import decide
from satisfice.studies.looking import Looking
from satisfice.studies.records import INTERIM, LEASE, Event, Reason
from satisfice.studies.state import FORMAT, StudyState
from satisfice.studies.waiting import Waiting

# An arm without rewards is served in place of others so often at most.
FEW = 8


class Machine(StudyState):
    """The state of one study, and its rule."""

    def __init__(self, config: Config, whole: Self | None = None) -> None:
        self.waiting = Waiting(self)
        self.looking = Looking(self) if config.drift == "adapt" else None
        self._rng: np.random.Generator | None = None
        self._rule = type(config.policy)
        self._next_look = 0  # at the order by cost, once so many costs were told
        super().__init__(config, whole)
        self._look_simple()

    def happen(self, event: Event) -> None:
        """Carry out an event."""
        super().happen(event)
        self._look_simple()

    def _load(self, data: Mapping[str, object], waiting: object) -> None:
        super()._load(data, waiting)
        self._look_simple()

    def _look_simple(self) -> None:
        """Whether every decision is a pull of a lease and every entry a reward of a known cost: all that is thought of
        besides is fixed from the beginning, or changed by events."""
        config = self.config
        never = config.segments or config.drift == "adapt" or config.costs == "told" or self.guarded or self._groups
        waits = config.expire_after is not None or config.mature_after is not None
        now = self.ended or self.paused or self.resting or self.parts
        self.simple = not (never or waits or now)

    # The lease

    @property
    def left(self) -> int:
        """Rewards that are missing for the lease to be carried out."""
        if not self.lease.pulls:
            return 0
        return sum(max(count, 0) for count in self.missing().values())

    def missing(self) -> dict[int, int]:
        """Rewards that are missing for the lease to be carried out, per arm."""
        lease = self.lease
        indices = self._swept if lease.arm == SWEEP else [lease.arm]
        return {i: lease.pulls - (self.arms[i].pulls - self.arms[i].known_pulls) for i in indices}

    @property
    def lease_due(self) -> bool:
        """Whether the rule must be asked before the next decision."""
        lease = self.lease
        if not lease.pulls or (self.looking is not None and self.looking.found):
            return True
        if lease.arm != SWEEP:
            arm = self.arms[lease.arm]
            if arm.pulls - arm.known_pulls >= lease.pulls:
                return True
        elif self.left <= 0:
            return True
        if self.config.costs == "told" and lease.arm != SWEEP and self._reordered():
            return True
        # A replaced reward was perhaps what the rule's memory, or an arm that was chosen for good, rests on.
        return self.corrections != lease.corrections and (learns(self.config.policy) or self.committed)

    def _reordered(self) -> bool:
        """Whether what was told has changed the order of the arms since the lease was made.

        It is looked at when a tenth more has been told, so that arms of the same cost do not end every lease.
        """
        bills = sum(arm.bills for arm in self.arms)
        if bills < self._next_look:
            return False
        self.arrange()
        if self.seen != self.order:
            return True
        self._next_look = math.ceil(1.1 * bills) + 1
        return False

    @property
    def committed(self) -> bool:
        """Whether the rule has given one arm all that is left of the horizon."""
        horizon = self.horizon
        if horizon is None or self.lease.arm == SWEEP or not self.lease.pulls:
            return False
        left = self.left
        return left > 0 and left >= horizon - self.t

    @property
    def eventful(self) -> bool:
        """Whether there is anything to look after but decisions: a newer rule, arms that do not answer, verdicts."""
        if self.parts:
            return bool(self.stirred or self.frontier.alarms) or self.version != self._rule.version
        waiting = self.waiting
        return (
            self.news >= self.patience
            or self.corrections != self.facts_corrections
            or self.version != self._rule.version
            or bool(waiting.silent or waiting.extras or waiting.missed or self.resting or self.frontier.alarms)
        )

    def decide(self, at: float) -> Event:
        """Ask the rule for a lease: the event that says what it wants and what it remembers from now on."""
        policy = type(self.config.policy)
        self.arrange()
        told = self.config.costs == "told"
        ints = None if told and self.seen != self.order else self.ints
        state, rng, t = self.state, self._random(), self.t
        if self.whole is not self:
            horizon = self.horizon or 0
            if not horizon and self.borrows:
                horizon = 2 * t + 1 + self.whole.kinship.audience(self)
            self.problem = self.problem._replace(horizon=horizon)
        anew = (learns(self.config.policy) and self.corrections != self.lease.corrections) or self.committed
        if anew or ints is None or len(ints) != state.ints.size or len(self.floats) != state.floats.size:
            anew = True
            state.ints[:] = 0
            state.floats[:] = 0.0
            policy.start(self.problem, state)
        else:
            state.ints[:], state.floats[:] = ints, self.floats
        if learns(self.config.policy):
            for k, i in enumerate(self.order):
                arm = self.arms[i]
                pulls, total = (arm.seen, arm.seen_total) if anew else _since(arm)
                if pulls:
                    policy.learn(self.problem, state, k, pulls, total / UNIT, rng)
        # The paper's rules look at every arm before anything else; an arm that came later, or was left out of what was
        # recorded, gets its first look here.
        unseen = int(state.pulls.argmin())
        if t > 0 and len(self.order) > 1 and state.pulls[unseen] == 0 and (self.touched or self.swept(t)):
            rank, pulls = unseen, 1
        else:
            rank, pulls = decide(policy, self.problem, state, t, rng)
        if self.borrows:
            pulls = min(pulls, longest(t))
        data: dict[str, object] = {
            "number": self.lease.number + 1,
            "arm": SWEEP if rank == SWEEP else self.order[rank],
            "pulls": pulls,
            "known": [[i, arm.pulls, arm.total] for i, arm in enumerate(self.arms) if _since(arm) != (0, 0)],
            "ints": state.ints.tolist(),
            "floats": state.floats.tolist(),
            "version": policy.version,
            "corrections": self.corrections,
            "dropped": 0 if rank == SWEEP else self.arms[self.order[rank]].dropped,
        }
        if told:
            data["order"] = list(self.order)
        drawn = rng.bit_generator.state
        if drawn != self._drawn:
            data["rng"] = drawn
        return self.event("make_lease", data, at)

    def swept(self, t: int) -> bool:
        """Whether the rule takes it that every arm was pulled by now."""
        return self.config.policy.sweeps_first and t >= len(self.order)

    def _random(self) -> np.random.Generator:
        """The rule's random numbers, from where they were after the last lease."""
        if self._rng is None:
            seed = self.config.seed
            rng = np.random.Generator(np.random.PCG64(seed if self.whole is self else [seed, self.number]))
            self._first = rng.bit_generator.state
            self._rng = rng  # last: an interrupt may come before it
        self._rng.bit_generator.state = self._drawn
        return self._rng

    @property
    def _drawn(self) -> Mapping[str, object]:
        return self._first if self.rng_state is None else self.rng_state

    @property
    def _swept(self) -> list[int]:
        """The arms of a lease that is about every arm."""
        return self.order if self.seen is None else self.seen

    # Which arm

    @property
    def plainly(self) -> int:
        """The arm of the next pull of the lease, where there is nothing else to think of, nearly always; else -1."""
        lease, waiting, corrections = self.lease, self.waiting, self.corrections
        if (
            self.simple
            and self.version == self._rule.version
            and lease.arm >= 0
            and lease.handed < lease.pulls
            and self.news < self.patience
            and corrections == self.facts_corrections
            and corrections == lease.corrections
            and not (waiting.silent or waiting.extras or waiting.missed or self.frontier.alarms)
        ):
            arm = self.arms[lease.arm]
            if arm.pulls - arm.known_pulls < lease.pulls:
                return lease.arm
        return -1

    @property
    def wanted(self) -> int | None:
        """The arm of the next pull of the lease; None when all are handed out."""
        lease = self.lease
        if lease.arm >= 0:
            return lease.arm if lease.handed < lease.pulls else None
        every = self._swept
        return every[lease.handed % len(every)] if lease.handed < lease.pulls * len(every) else None

    def choose(self, exclude: Collection[int] = ()) -> tuple[int, str]:
        """The arm of the next decision, and why."""
        if self.looking is not None:
            look = self.looking.due()
            if look is not None and look not in exclude:
                return look, Reason.LOOK
        lease = self.lease
        if lease.arm >= 0 and lease.handed < lease.pulls and not self.resting and not exclude:  # nearly always
            return lease.arm, LEASE
        trial = self.waiting.trial() if self.resting else None
        if trial is not None and trial not in exclude:
            return trial, Reason.TRIAL
        wanted = self.wanted
        arm, reason = self.waiting.choose() if wanted is None else (wanted, LEASE)
        if arm in self.resting:  # the reference arm
            exclude = {*exclude, *self.resting}
            if all(i in exclude for i in self.active):
                return arm, reason
        if exclude and arm in exclude:
            return self.standin(exclude), Reason.STANDIN
        return arm, reason

    def block(self, exclude: Collection[int] = (), reason: str = LEASE) -> int:
        """How many of the next decisions are surely of the same arm for this reason: pulls of the lease, or what the
        rule would do while their rewards are outstanding."""
        lease = self.lease
        if exclude or self.resting:
            count = 0
        elif reason == INTERIM:
            count = self.waiting.alike
        else:
            count = 0 if lease.arm < 0 or reason != LEASE else max(lease.pulls - lease.handed, 0)
        return count if self.looking is None else max(min(count, self.looking.following - self.decisions), 0)

    def standin(self, exclude: Collection[int] = ()) -> int:
        """The arm that would win now among those not excluded: the cheapest that is known to be good enough, else the
        one with the largest mean; while nothing is known of any, the one that was asked for least.

        Two more rewards of 1/2 are counted in for every mean, so that an arm that had luck with few rewards neither
        sets the threshold nor reaches it for all the decisions that may be made before more rewards come in.
        """
        allowed = [i for i in self.order if i not in exclude]
        if not allowed:  # arms dearer than the reference arm, which no rule plays, and arms that rest
            others = [i for i in self.active if i not in exclude]
            if not others:
                raise InvalidStudy("every arm is excluded; leave at least one to choose", parameter="exclude")
            return min(others, key=lambda i: (i in self.resting, self.price(i)))
        known = [i for i in allowed if self.arms[i].seen]
        if not known:
            if self.whole is not self and self.whole.t:
                return self.whole.standin(exclude)  # a segment of which nothing is known is as its kin
            return min(allowed, key=lambda i: self.arms[i].asked)
        floor = self._floor(self._cautious, [i for i in self.order if self.arms[i].seen])
        for i in known:
            if self.arms[i].mean >= floor:
                return i
        # None is: one that was hardly tried may be.
        fresh = [i for i in allowed if not self.arms[i].seen and self.arms[i].asked < FEW]
        return fresh[0] if fresh else max(known, key=self._cautious)

    def leading(self) -> int:
        """The arm that would win now: the cheapest whose mean reaches the threshold, else the one with the largest
        mean; arms without a reward count as good enough, but those that rest only where no other is."""
        if self.borrows:
            return self._followed()
        floor = self.threshold()
        here = [i for i in self.judged if self.arms[i].seen or i not in self.resting]
        for i in here:
            if not self.arms[i].seen or self.arms[i].mean >= floor:
                return i
        untried = [i for i in self.judged if i not in here]
        return untried[0] if untried else max(here, key=lambda i: self.arms[i].mean)

    def _followed(self) -> int:
        """The arm that would win now by the rewards of a segment and what it borrows from the others."""
        state = self.state
        means = (state.totals + 1.0) / (state.pulls + 2)
        good = np.flatnonzero(means >= self._floor(lambda i: float(means[self.rank[i]]), self.order))
        return self.order[int(good[0]) if good.size else int(means.argmax())]

    def _cautious(self, arm: int) -> float:
        record = self.arms[arm]
        return (record.seen_total / UNIT + 1.0) / (record.seen + 2)

    def threshold(self) -> float:
        """The threshold on [0, 1] by the means so far; nan when nothing is known."""
        return self._floor(lambda i: self.arms[i].mean, [i for i in self.judged if self.arms[i].seen])

    def _floor(self, mean: Callable[[int], float], among: Collection[int]) -> float:
        """The threshold on [0, 1] by the means of these arms; nan where there are none."""
        setting = self.config.scaled_setting
        if setting.fixed:
            return setting.mu0
        if setting.reference is not None:
            among = self.order[-1:]
        return (1.0 - setting.alpha) * max(map(mean, among), default=math.nan)


def _since(arm: Arm) -> tuple[int, int]:
    """What has come of an arm since the lease was made."""
    return arm.pulls - arm.known_pulls, arm.total - arm.known_total


__all__ = ["FORMAT", "Machine"]
