"""What a study does while rewards are outstanding, and with arms that do not answer.

All of this only chooses arms, and what was chosen is in the log; the counts in here are notes, no part of the state.

- While the rewards of a lease are outstanding, the rule is asked what it would do if every outstanding reward of an arm
  came in at the mean that the arm is believed to have (two rewards of 1/2 counted in), with a copy of what it
  remembers. So a day without rewards is spent as the policy would spend it, its first looks at every arm included,
  and when the rewards come in the rule goes on from what is known.
- A reward that was abandoned, or is outstanding while most of those that were asked for later have come, is lost. The
  arm of the lease is played once more for each.
- An arm rests that did not answer so often in a row that this would be a chance of one in a thousand at the rate at
  which decisions are answered, at least `SILENT` times. It gets a trial after 16 decisions, then after 32, 64, ... up
  to 1,024; when a reward of it comes, it is back. The reference arm, without which nothing can be said, stays in the
  rule's view, and the arm that would win now is served in its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from satisfice.policies.contract import SWEEP, new_state
from satisfice.studies.deciding import decide
from satisfice.studies.records import Asked, Entry, Outcome, Reason

if TYPE_CHECKING:
    from satisfice.studies.machine import Machine

# An arm rests after so many decisions in a row, at least, that came to nothing or could not be made since it was
# excluded: so many that it happens with this probability to an arm that answers as often as decisions are answered.
SILENT = 4
BY_CHANCE = 0.001
# A lease that is made on what is only expected is no longer than this share of what is outstanding.
GUESS = 0.125
# The first trial of an arm that rests comes after so many decisions.
FIRST_TRIAL = 16
LONGEST_GAP = 1_024
# What a rule gets that draws no random numbers: to make a generator takes longer than most decisions.
UNUSED = np.random.Generator(np.random.PCG64(0))


class Waiting:
    """The notes of a machine about what is outstanding."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.silent: dict[int, int] = {}  # per arm: decisions in a row that came to nothing
        self.missed: dict[int, int] = {}  # per arm: decisions that it should have had but was excluded from
        # Per arm that rests: when it is tried next, and the gap after that.
        self.trials: dict[int, tuple[int, int]] = {}
        self.rested: dict[int, int] = {}  # per arm that rests: how many rewards it had when it began to
        self.begin()

    def begin(self) -> None:
        """A lease begins."""
        self.last = 0  # its last decision that the policy asked for
        self.later = self.answered = 0  # decisions after that, and how many of them have their rewards
        self.extras = 0
        self.guess: tuple[int, int] | None = None  # what the rule would do now, and how often still
        self.fresh = 0  # rewards that may come in before it must be asked again

    def asked(self, row: Asked) -> None:
        """A decision was handed out."""
        if row.lease == self.machine.lease.number:
            if row.reason == "lease":
                self.last = row.id
            else:
                self._beside(row)
        if row.reason == "trial":
            _, gap = self.trials.get(row.arm, (0, FIRST_TRIAL))
            self.trials[row.arm] = self.machine.decisions + gap, min(2 * gap, LONGEST_GAP)
        if self.missed:
            self.missed.pop(row.arm, None)

    def _beside(self, row: Asked) -> None:
        """A decision was handed out that is none of those that the policy asked for."""
        self.last = self.last or row.id - 1
        self.later += 1
        if row.reason == Reason.EXTRA:
            self.extras += 1
        elif row.reason == Reason.INTERIM and self.guess is not None:
            arm, left = self.guess
            self.guess = (arm, left - 1) if left > 1 else None
        elif row.reason == Reason.STANDIN:
            wanted = self.machine.wanted
            if wanted is not None:
                self.missed[wanted] = self.missed.get(wanted, 0) + 1

    def entered(self, entry: Entry) -> None:
        """Something became of a decision."""
        if entry.reward is not None:
            self.told(entry.arm, entry.id)
        elif entry.outcome in (Outcome.ABANDONED, Outcome.EXPIRED):
            self.silent[entry.arm] = self.silent.get(entry.arm, 0) + 1

    def told(self, arm: int, decision: int) -> None:
        """A decision has a reward."""
        if self.silent:
            self.silent.pop(arm, None)
        if decision > self.last:
            self.answered += self.last > 0
            if self.guess is not None:
                self.fresh -= 1
                if self.fresh <= 0:
                    self.guess = None

    # Arms that do not answer

    @property
    def restless(self) -> bool:
        """Whether it is worth asking which arms should rest."""
        return self.extras >= SILENT or bool(self.silent or self.missed or self.machine.resting)

    def resting(self) -> list[int]:
        """The arms that should rest now."""
        machine = self.machine
        lease = machine.lease
        quiet = {arm for arm, count in self.missed.items() if count >= SILENT}
        quiet.update(arm for arm, count in self.silent.items() if count >= SILENT and count >= self._patience(arm))
        kept = [arm for arm in machine.resting if not self._back(arm)]
        quiet.update(kept)
        enough = max(lease.pulls, SILENT)
        if lease.arm >= 0 and self.extras >= enough and self._none_since(lease.arm):
            quiet.update([lease.arm] if self.extras >= self._patience(lease.arm) else [])
        found = sorted(arm for arm in quiet if not machine.arms[arm].retired)
        # Somebody has to be there.
        return [] if all(arm in found for arm in machine.active) else found

    def _patience(self, arm: int) -> float:
        """How many decisions of an arm in a row may come to nothing: by its own rate if it ever answered, else by that
        of all arms."""
        records = [self.machine.arms[arm]] if self.machine.arms[arm].pulls else self.machine.arms
        pulls = sum(record.pulls for record in records)
        others = sum(record.dropped for record in records) - self.silent.get(arm, 0)
        rate = (pulls + 1) / (pulls + max(others, 0) + 2)
        return math.log(BY_CHANCE) / math.log1p(-rate)

    def _none_since(self, arm: int) -> bool:
        record = self.machine.arms[arm]
        return record.pulls == record.known_pulls

    def _back(self, arm: int) -> bool:
        """Whether an arm that rests has answered."""
        pulls = self.machine.arms[arm].pulls
        return not self.silent.get(arm) and pulls > self.rested.get(arm, pulls)

    def rest(self, arms: list[int], pulls: list[int], decisions: int) -> None:
        """These arms rest from now on: after so many rewards of each, and so many decisions."""
        first = decisions + FIRST_TRIAL, 2 * FIRST_TRIAL
        self.rested = {arm: self.rested.get(arm, count) for arm, count in zip(arms, pulls, strict=True)}
        self.trials = {arm: self.trials.get(arm, first) for arm in arms}
        for arm in list(self.missed):
            if arm in arms:
                del self.missed[arm]

    def trial(self) -> int | None:
        """An arm that rests and should be tried now."""
        for arm, (due, _) in self.trials.items():
            if self.machine.decisions + 1 >= due and arm in self.machine.resting:
                return arm
        return None

    # While rewards are outstanding

    def choose(self) -> tuple[int, str]:
        """The arm of the next decision when every pull of the lease is handed out."""
        lost = self._lost()
        if lost is not None:
            return lost, Reason.EXTRA
        if self.guess is None:
            self.guess = self._guess()
            _, self.fresh = self.guess
        arm, _ = self.guess
        return arm, Reason.INTERIM

    @property
    def alike(self) -> int:
        """How many decisions in a row surely go on with what the rule would do."""
        lost = self.answered >= 8 and 2 * self.answered >= self.later
        if lost or self.guess is None:
            return 1
        _, left = self.guess
        return left

    def _lost(self) -> int | None:
        """The arm whose rewards are lost and must be made up for."""
        machine, lease = self.machine, self.machine.lease
        if lease.arm != SWEEP:
            arm = machine.arms[lease.arm]
            if arm.dropped - lease.dropped > self.extras:
                return lease.arm
        # Most of what was asked for later has come: what is still missing will not come, or not soon.
        if self.answered >= 8 and 2 * self.answered >= self.later and self.later % 2:
            missing = machine.missing()
            for i in sorted(missing, key=lambda i: -missing[i]):
                if missing[i] > 0 and (lease.arm == SWEEP or self.extras < 4 * lease.pulls + SILENT):
                    return i
        return None

    def _guess(self) -> tuple[int, int]:
        """What the rule would do if all that is outstanding came in as expected, and how often."""
        machine = self.machine
        machine.arrange()
        policy = type(machine.config.policy)
        late = [max(machine.arms[i].pending, 0) for i in machine.order]
        outstanding = sum(late)
        known = list(zip(late, *machine.sums(), strict=True))
        pulls = [n + pending for pending, n, _ in known]
        totals = [total + pending * (total + 1.0) / (n + 2) if pending else total for pending, n, total in known]
        # The paper's rules look at every arm before anything else: also at one that came later, whose first looks came
        # to nothing, or that was left out of what was recorded.
        unseen, t = pulls.index(min(pulls)), machine.t + outstanding
        first = machine.touched or machine.arms[machine.order[unseen]].dropped or machine.swept(t)
        if not pulls[unseen] and len(pulls) > 1 and first:
            return machine.order[unseen], 1
        squares = machine.squares_of(pulls, totals)
        if policy.bounded_only:
            totals = [float(round(total)) for total in totals]
        expected = new_state(machine.config.policy, len(pulls))
        expected.pulls[:], expected.totals[:], expected.squares[:] = pulls, totals, squares
        if machine.ints is not None and (machine.seen is None or machine.seen == machine.order):
            expected.ints[:], expected.floats[:] = machine.ints, machine.floats
        else:
            policy.start(machine.problem, expected)
        rng = np.random.Generator(np.random.PCG64(machine.decisions)) if policy.draws else UNUSED
        rank, wanted = decide(policy, machine.problem, expected, t, rng)
        if rank == SWEEP:
            rank = pulls.index(min(pulls))
        return machine.order[rank], max(1, min(wanted, int(GUESS * outstanding)))

    # Plain data

    def to_dict(self) -> dict[str, object]:
        """The notes as plain data."""
        return {
            "lease": [self.last, self.later, self.answered, self.extras],
            "silent": list(self.silent.items()),
            "missed": list(self.missed.items()),
            "trials": [[arm, *trial] for arm, trial in self.trials.items()],
            "rested": list(self.rested.items()),
        }

    def from_dict(self, data: dict[str, object]) -> None:
        """The notes from the data of `to_dict`."""
        pairs = {key: dict(cast("list[tuple[int, int]]", data[key])) for key in ("silent", "missed", "rested")}
        self.silent, self.missed, self.rested = pairs["silent"], pairs["missed"], pairs["rested"]
        self.last, self.later, self.answered, self.extras = cast("list[int]", data["lease"])
        self.trials = {arm: (due, gap) for arm, due, gap in cast("list[tuple[int, int, int]]", data["trials"])}
