"""A rehearsal at full length: what a study decides under late rewards and costs that are told, compiled, run by run.

`rehearse` runs a whole study, with its log and its verdicts, at some 20 to 100 microseconds a decision. For one kind of
traffic (every reward is told the same number of decisions late, and none is lost) what a study does is short enough
to be compiled together with the rule: leases, what is expected of outstanding rewards, and the order of learned costs.
A test drives a study with the same rewards and compares every decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidInstance, InvalidStudy
from satisfice.limits import MAX_HORIZON, MAX_RECORD, MAX_RUNS, whole
from satisfice.policies import Policy
from satisfice.policies.compiled import compile_native, link
from satisfice.policies.contract import SWEEP, Problem, State, arrange, make_problem, new_state, sound, unsound
from satisfice.problem import Instance, Setting
from satisfice.simulation.engine import Floats, Ints, decide, learn, start
from satisfice.simulation.world import World, draw, make_world
from satisfice.studies.config import make_config
from satisfice.studies.waiting import GUESS


class Feed(NamedTuple):
    """How rewards and costs come in."""

    delay: int  # in decisions
    told: bool  # whether costs are learned
    costs: Floats  # (arms,) the mean cost of a call
    shape: float  # of the gamma distribution of costs; 0: they do not vary
    rounded: bool  # whether the rule needs whole sums of rewards


class Outstanding(NamedTuple):
    """Decisions whose rewards are to come, oldest first: blocks of one arm each, in a ring."""

    arms: Ints
    counts: Ints


class Accounts(NamedTuple):
    """What a study knows of every arm, in the order of the instance."""

    asked: Ints
    pulls: Ints
    totals: Floats
    known_pulls: Ints  # when the lease was made
    known_totals: Floats
    guesses: Floats  # the costs that were given
    paid: Floats  # the sum of those that were told


@dataclass(frozen=True)
class LateRuns:
    """What came of many runs. Regret is the paper's: gaps of the means times the decisions for every arm."""

    checkpoints: NDArray[np.int64]  # (checkpoints,): numbers of decisions
    decisions: NDArray[np.int64]  # (runs, checkpoints, arms)
    cost_regret: NDArray[np.float64]  # (runs, checkpoints)
    quality_regret: NDArray[np.float64]  # (runs, checkpoints)

    @property
    def regret(self) -> NDArray[np.float64]:
        """Both regrets together, at the end of every run."""
        total: NDArray[np.float64] = self.cost_regret[:, -1] + self.quality_regret[:, -1]
        return total


def rehearse_late(
    instance: Instance,
    setting: Setting,
    decisions: int,
    *,
    policy: str | Policy | type[Policy] = "glr",
    delay: int = 0,
    costs: str = "fixed",
    guesses: Collection[float] | None = None,
    worth: float | None = None,
    binary: bool = False,
    runs: int = 1,
    seed: int = 0,
    horizon: int | None = None,
    checkpoints: int = 50,
) -> LateRuns:
    """What live studies would decide when every reward is told `delay` decisions late; the parameters are those of
    `rehearse`, and `runs` is the number of studies.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> inst = Instance(costs=[1.0, 9.0], means=[0.85, 0.9], names=["small", "large"])
    >>> runs = rehearse_late(inst, BestReward(0.1), 10_000, policy="pe-cs", delay=1_000, runs=2, seed=1)
    >>> runs.decisions[:, -1].sum(axis=1)
    array([10000, 10000])
    """
    if not instance.bounded:
        raise InvalidInstance("a study takes rewards within a range; this instance's have none, or are beyond [0, 1]")
    total = whole("decisions", decisions, 1, MAX_HORIZON, error=InvalidStudy)
    late = whole("delay", delay, 0, MAX_RECORD, error=InvalidStudy)
    count = whole("runs", runs, 1, MAX_RUNS, error=InvalidStudy)
    arms = dict(zip(instance.names, instance.costs.tolist(), strict=True))
    config = make_config(
        "rehearsal", arms, setting, policy=policy, horizon=total if horizon is None else horizon, costs=costs,
        worth=worth, binary=binary, seed=seed,
    )  # fmt: skip
    told = config.costs == "told"
    if told and setting.reference is not None:
        raise InvalidStudy(
            "costs = 'told' with a reference arm changes which arms can win; use rehearse", parameter="costs"
        )
    cls = type(config.policy)
    engine = compile_native(run_late, decide=cls.decide, **linked(cls))
    marks = whole("checkpoints", checkpoints, 1, MAX_RECORD, error=InvalidStudy)
    times = np.unique(np.linspace(0, total, marks + 1).astype(np.int64)[1:])
    spread, record = instance.cost_spread, np.zeros((count, len(times), instance.arms), dtype=np.int64)
    feed = Feed(late, told, instance.costs.copy(), spread**-2 if spread else 0.0, cls.bounded_only)
    world = make_world(instance, np.arange(instance.arms))
    for run in range(count):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(run,))))
        accounts = new_accounts(instance)
        if guesses is not None:
            accounts.guesses[:] = list(guesses)
        elif told:
            accounts.guesses[:] = [price(feed, k, 1, rng) for k in range(instance.arms)]
        order = arrange(accounts.guesses, setting, instance.names)
        problem = make_problem(
            config.policy, config.scaled_setting, accounts.guesses, order, config.horizon, bounded=True, binary=binary
        )  # fmt: skip
        state = new_state(config.policy, len(order))
        if engine(problem, state, world, feed, accounts, order, times, record[run], rng) < total:
            raise unsound(config.policy.label, len(order), int(accounts.pulls.sum()))
    return LateRuns(times, record, record @ setting.cost_gaps(instance), record @ setting.quality_gaps(instance))


def linked(policy: type[Policy]) -> dict[str, Callable[..., Any]]:
    """The parts of a run that call the rule, linked to it."""
    return {
        "teach": link(teach, start=policy.start, learn=policy.learn),
        "expect": link(expect, start=policy.start, decide=policy.decide),
    }


def new_accounts(instance: Instance) -> Accounts:
    """What is known before the first decision."""
    ints, floats = np.zeros((3, instance.arms), dtype=np.int64), np.zeros((3, instance.arms))
    return Accounts(ints[0], ints[1], floats[0], ints[2], floats[1], instance.costs.copy(), floats[2])


def price(feed: Feed, arm: int, calls: int, rng: np.random.Generator) -> float:
    """What so many calls of an arm cost together."""
    if feed.shape == 0.0 or feed.costs[arm] == 0.0:
        return float(calls * feed.costs[arm])
    return float(rng.gamma(calls * feed.shape, feed.costs[arm] / feed.shape))


def look(problem: Problem, feed: Feed, accounts: Accounts, order: Ints, seen: Ints) -> bool:
    """Bring the order of the arms by cost up to date; whether it is still the one that the lease was made on."""
    if not feed.told:
        return True
    prices = np.where(accounts.pulls > 0, accounts.paid / np.maximum(accounts.pulls, 1), accounts.guesses)
    now = np.argsort(prices, kind="mergesort")
    same = True
    for k in range(len(order)):
        order[k] = now[k]
        problem.costs[k] = prices[now[k]]
        same &= order[k] == seen[k]
    return same


def fill(state: State, accounts: Accounts, order: Ints, expected: bool) -> int:
    """The sums as the rule sees them; with what is outstanding at the mean that an arm is believed to have, or not.
    Answers with how much is outstanding."""
    outstanding = 0
    for k in range(len(order)):
        i = order[k]
        state.pulls[k], state.totals[k] = accounts.pulls[i], accounts.totals[i]
        if expected:
            pending = accounts.asked[i] - accounts.pulls[i]
            state.pulls[k] += pending
            state.totals[k] += pending * (accounts.totals[i] + 1.0) / (accounts.pulls[i] + 2)
            outstanding += pending
    return outstanding


def arrive(world: World, feed: Feed, accounts: Accounts, arm: int, count: int, rng: np.random.Generator) -> None:
    """Rewards, and costs, of an arm are told."""
    accounts.totals[arm] += draw(world, arm, count, rng)[0]
    if feed.told:
        accounts.paid[arm] += price(feed, arm, count, rng)
    accounts.pulls[arm] += count


def run_late(
    problem: Problem,
    state: State,
    world: World,
    feed: Feed,
    accounts: Accounts,
    order: Ints,
    checkpoints: Ints,
    record: Ints,
    rng: np.random.Generator,
) -> int:
    """One run up to the last checkpoint. Fills `record`, (checkpoints, arms), with the decisions for every arm.

    Answers with the number of decisions: the last checkpoint, or less where the rule answered with no lease.
    """
    arms, seen = len(order), order.copy()
    trial = State(state.pulls.copy(), state.totals.copy(), state.squares.copy(), state.ints.copy(), state.floats.copy())
    room = feed.delay + 2
    queue = Outstanding(np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64))
    first, blocks = 0, 0
    arm, pulls, handed = 0, 0, 0  # the lease; no pulls: there is none
    guess, left = 0, 0  # what the rule would do now, and how often still
    look_at, done, arrived, mark = 0, 0, 0, 0
    while done < checkpoints[-1]:
        while arrived < done - feed.delay:
            count = min(queue.counts[first], done - feed.delay - arrived)
            arrive(world, feed, accounts, queue.arms[first], count, rng)
            arrived += count
            queue.counts[first] -= count
            if queue.counts[first] == 0:
                first, blocks = (first + 1) % room, blocks - 1
        missing = lacking(accounts, order, arm, pulls)
        due = missing == 0
        if not due and feed.told and arm != SWEEP and arrived >= look_at:
            due = not look(problem, feed, accounts, order, seen)
            if not due:
                look_at = math.ceil(1.1 * arrived) + 1
        if due:
            anew = done == 0 or not look(problem, feed, accounts, order, seen)
            fill(state, accounts, order, False)
            teach(problem, state, accounts, order, anew, rng)
            seen[:] = order
            rank, pulls = decide(problem, state, arrived, rng)
            if not sound(rank, pulls, arms):
                return done
            arm = SWEEP if rank == SWEEP else order[rank]
            accounts.known_pulls[:], accounts.known_totals[:] = accounts.pulls, accounts.totals
            handed, left = 0, 0
            missing = lacking(accounts, order, arm, pulls)
        # Whose turn it is, and for how many decisions nothing can change that.
        if arm == SWEEP and handed < pulls * arms:
            now, steps = seen[handed % arms], 1
        elif arm != SWEEP and handed < pulls:
            now, steps = arm, pulls - handed
        else:
            if left == 0:
                guess, left = expect(problem, state, trial, feed, accounts, order, seen, rng)
                if left == 0:
                    return done
            now, steps = guess, left
        # One reward comes in between two decisions, at most.
        steps = min(steps, missing, checkpoints[mark] - done)
        if feed.told:
            steps = max(min(steps, look_at - arrived), 1)
        left = max(left - steps, 0)
        handed += steps
        done += steps
        accounts.asked[now] += steps
        last = (first + blocks - 1) % room
        if blocks > 0 and queue.arms[last] == now:
            queue.counts[last] += steps
        else:
            last, blocks = (first + blocks) % room, blocks + 1
            queue.arms[last], queue.counts[last] = now, steps
        if done == checkpoints[mark]:
            record[mark] = accounts.asked
            mark += 1
    return done


def lacking(accounts: Accounts, order: Ints, arm: int, pulls: int) -> int:
    """Rewards that are missing for the lease to be carried out."""
    missing = 0
    for i in order:
        if arm == SWEEP or i == arm:
            missing += max(pulls - (accounts.pulls[i] - accounts.known_pulls[i]), 0)
    return missing


def teach(
    problem: Problem, state: State, accounts: Accounts, order: Ints, anew: bool, rng: np.random.Generator
) -> None:
    """Let the rule learn what has come in since its last lease, or all of it, where its memory begins anew."""
    if anew:
        state.ints[:] = 0
        state.floats[:] = 0.0
        start(problem, state)
    for k in range(len(order)):
        i = order[k]
        count, total = accounts.pulls[i], accounts.totals[i]
        if not anew:
            count, total = count - accounts.known_pulls[i], total - accounts.known_totals[i]
        if count > 0:
            learn(problem, state, k, count, total, rng)


def expect(
    problem: Problem,
    state: State,
    trial: State,
    feed: Feed,
    accounts: Accounts,
    order: Ints,
    seen: Ints,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """What the rule would do if all that is outstanding came in as expected, and how often; 0 times: no lease."""
    same = look(problem, feed, accounts, order, seen)
    outstanding = fill(trial, accounts, order, True)
    if same:
        trial.ints[:] = state.ints
        trial.floats[:] = state.floats
    else:
        trial.ints[:] = 0
        trial.floats[:] = 0.0
        start(problem, trial)
    if feed.rounded:
        trial.totals[:] = np.round(trial.totals)
    rank, wanted = decide(problem, trial, trial.pulls.sum(), rng)
    if not sound(rank, wanted, len(order)):
        return 0, 0
    if rank == SWEEP:
        rank = int(np.argmin(trial.pulls))
    return order[rank], max(1, min(wanted, int(GUESS * outstanding)))


__all__ = ["LateRuns", "rehearse_late"]
