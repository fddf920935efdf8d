"""TS-CS: the cheapest arm whose posterior sample reaches (1 - alpha) times the largest sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.beta import inner_draw, log_density, normal_spread, tail_draw
from satisfice.policies.compiled import inline, uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.policies.ts_intervals import (
    ARM,
    LIMIT,
    PLAN,
    PLAN_SIZE,
    UNKNOWN,
    Floats,
    Plan,
    Table,
    add_up,
    make_room,
    renew,
    sort,
    sure,
    tune,
)
from satisfice.problem import BestReward

Ints = NDArray[np.int64]
NEVER = 1 << 62


@dataclass(frozen=True)
class TSCS(Policy):
    """Cost-subsidized Thompson sampling (the paper's Algorithm in the appendix, after Sinha et al., 2021).

    Every arm once; then at every step `theta_i ~ Beta(S_i + 1, F_i + 1)`, independently, and the cheapest arm
    with `theta_i >= (1 - alpha) max_j theta_j`, where `S_i` and `F_i` count successes and failures. Equal
    costs: the larger sample. A reward strictly between 0 and 1 counts as a success with its own probability.

    No regret bound is known. A dear arm that was hardly tried keeps a wide posterior, for it is played only
    when no cheaper arm is feasible; its large samples then make good cheap arms infeasible again and again.

    The law is the literal rule's, but few samples are drawn. Every arm has an interval such that, while all
    samples lie inside theirs, one arm is `sure` to be played. Whether a sample lies outside is an event of
    small probability, independent between arms and steps, so the time of the next one is drawn at once
    (`step_of`), and the sure arm is leased until then. The probabilities need not be known: bounds on them
    that hold for some time ahead do, and an event that is too many is undone (`beta.tail_draw`). In a step
    with a sample outside its interval, or without a sure arm, the samples are drawn one by one, those known
    to lie inside conditionally on that, until the choice is clear (`choose`). How good the intervals are
    (`ts_intervals.tune`) decides how fast this is, and nothing else.
    """

    id = "ts-cs"
    settings = (BestReward,)
    summary = "cheapest arm whose posterior sample reaches (1 - alpha) x the largest sample"
    version = 2
    needs_horizon = False
    bounded_only = True

    def memory(self, arms: int) -> tuple[int, int]:
        return len(PLAN), len(ARM) * arms + 1

    @staticmethod
    @uncounted
    @inline
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        if t < len(problem.costs):
            return SWEEP, 1
        plan, table = state.ints[:PLAN_SIZE].view(PLAN)[0], state.floats[:-1].view(ARM)
        held = catch_up(problem, state, plan, table, t, rng)
        b = plan.sure
        if b < 0 or plan.left == 0:
            arm = special_step(problem, state, plan, table, rng)
            if arm != b or not held or t >= plan.tune:
                plan.left -= 1
                plan.leased = 0
                return arm, 1
        return b, lease(problem, state, plan, table, t)

    @staticmethod
    @uncounted
    @inline
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        whole = math.floor(total)
        if whole < total:
            success = 1.0 if rng.random() < total - whole else 0.0
            state.floats[:-1].view(ARM)[arm].excess += whole + success - total


@inline
def catch_up(problem: Problem, state: State, plan: Plan, table: Table, t: int, rng: np.random.Generator) -> bool:
    """Take in what happened since the last decision; False if some bounds do not hold, which must wait for one step."""
    scale = 1.0 - problem.alpha
    done = 1
    due = False
    if plan.leased > 0:
        done = state.pulls[plan.sure] - plan.start
        due = plan.point == 1 and done >= plan.leased
        plan.left -= max(0, min(done, plan.leased))
    # The number of steps has no memory: it may be drawn anew at any time that does not depend on it. A lease that
    # ended because of it is no such time; then whatever else came up meanwhile has to wait for one step.
    held = count(table, state.pulls, state.totals, due)
    if due:
        return held
    if not held:
        renew(table)
    tuning = t >= plan.tune
    if tuning:
        make_room(table)
        tune(table, problem.costs, scale)
        plan.tune = t + 32 + len(problem.costs) + t // 64
    # Nothing done: a second decision from the same state, which must not repeat the first.
    if tuning or not held or done <= 0:
        add_up(table)
        plan.sure = sure(table, problem.costs, scale)
        sort(plan, table)
        plan.left, state.floats[-1] = step_of(rng.standard_exponential(), table[-1].reach)
    return True


@inline
def special_step(problem: Problem, state: State, plan: Plan, table: Table, rng: np.random.Generator) -> int:
    """The arm of a step without a sure arm, or with a sample that may lie outside its interval."""
    length = table[-1].reach
    special = plan.sure < 0
    least, most = table[plan.top].lo, table[int(table[0].rank)].hi
    plan.drawn = 0
    if plan.left == 0:
        k = 0
        place = state.floats[-1]
        while place < length:
            while table[k].reach <= place:
                k += 1
            theta = outside(table, k, rng)
            if theta >= 0.0:
                special = True
                note(plan, table, k, theta)
                least, most = max(least, theta), max(most, theta)
            place = table[k].reach + rng.standard_exponential()
        plan.left, state.floats[-1] = step_of(place, length)
    if not special:
        return plan.sure
    if 0.0 <= table[plan.top].theta < table[plan.top].lo:
        least = largest(table)
    arm = choose(plan, table, problem.costs, 1.0 - problem.alpha, least, most, rng)
    for i in range(plan.drawn):
        table[int(table[i].drawn)].theta = -1.0
    return arm


@inline
def note(plan: Plan, table: Table, k: int, theta: float) -> None:
    """Keep the sample of an arm for the rest of this step."""
    table[k].theta = theta
    table[plan.drawn].drawn = k
    plan.drawn += 1


@inline
def lease(problem: Problem, state: State, plan: Plan, table: Table, t: int) -> int:
    """Lease the sure arm for as long as the bounds hold, no tuning is due and all samples lie inside."""
    b = plan.sure
    room = min(table[b].won_max - table[b].won, table[b].lost_max - table[b].lost)
    most = min(plan.tune - t, int(min(room, LIMIT)) + 1) if problem.binary else 1
    pulls = min(most, plan.left)
    plan.start, plan.leased = state.pulls[b], pulls
    plan.point = 1 if plan.left < most else 0
    return pulls


@inline
def count(table: Table, pulls: Ints, totals: Floats, wait: bool) -> bool:
    """Bring S and F up to date; False if bounds do not hold for some.

    These are then marked with -1, to be renewed; with `wait`, their S and F are left as they were."""
    held = True
    for k in range(len(pulls)):
        if pulls[k] != table[k].pulls or totals[k] != table[k].total:
            # A whole number, however the rewards were rounded.
            won = min(max(math.floor(totals[k] + table[k].excess + 0.5), 0.0), float(pulls[k]))
            lost = pulls[k] - won
            if not (table[k].won_min <= won <= table[k].won_max and table[k].lost_min <= lost <= table[k].lost_max):
                held = False
                if wait:
                    continue
                table[k].below = -1.0
            table[k].pulls, table[k].total = pulls[k], totals[k]
            table[k].won, table[k].lost = won, lost
            table[k].shift_below = table[k].shift_above = table[k].spread = UNKNOWN
    return held


def step_of(place: float, length: float) -> tuple[int, float]:
    """The step in which a place on the line lies, counted from 0, and the place within that step."""
    if place >= length * 1e15:
        return NEVER, 0.0
    steps = math.floor(place / length)
    return int(steps), place - steps * length


@inline
def outside(table: Table, k: int, rng: np.random.Generator) -> float:
    """Draw the sample of an arm that may lie outside its interval; -1 if it lies inside after all."""
    arm = table[k]
    won, lost = arm.won, arm.lost
    if arm.above > 0.0 and rng.random() * (arm.below + arm.above) < arm.above:
        if arm.shift_above == UNKNOWN:
            arm.shift_above = shift(won, lost, arm.won_max, arm.lost_min, arm.hi)
        return tail_draw(won, lost, arm.hi, arm.rate_above, arm.rise_above, arm.shift_above, rng)
    if arm.shift_below == UNKNOWN:
        arm.shift_below = shift(lost, won, arm.lost_max, arm.won_min, 1.0 - arm.lo)
    theta = tail_draw(lost, won, 1.0 - arm.lo, arm.rate_below, arm.rise_below, arm.shift_below, rng)
    return 1.0 - theta if theta >= 0.0 else -1.0


def shift(S: float, F: float, most: float, least: float, h: float) -> float:
    """How much lower the log density is at `h` than the one that bounds it."""
    return min(log_density(S, F, h) - log_density(most, least, h), 0.0) if most > S or least < F else 0.0


@inline
def draw(plan: Plan, table: Table, k: int, rng: np.random.Generator) -> float:
    """Draw the sample of an arm that is known to lie inside its interval."""
    arm = table[k]
    if arm.spread == UNKNOWN:
        arm.spread = normal_spread(arm.won, arm.lost, arm.lo, arm.hi)
    theta = inner_draw(arm.won, arm.lost, arm.lo, arm.hi, arm.spread, rng)
    note(plan, table, k, theta)
    return theta


def largest(table: Table) -> float:
    """The largest sample is at least this."""
    least = 0.0
    for k in range(len(table)):
        least = max(least, table[k].lo if table[k].theta < 0.0 else table[k].theta)
    return least


@inline
def choose(
    plan: Plan, table: Table, costs: Floats, scale: float, least: float, most: float, rng: np.random.Generator
) -> int:
    """The cheapest feasible arm, drawing no more samples than it takes to know it.

    The largest sample is known to be at least `least` and at most `most`."""
    arms = len(costs)
    first = 0
    while True:
        end = first + 1
        while end < arms and costs[end] == costs[first]:
            end += 1
        best = -1
        if end == first + 1:
            best = first
        else:
            for k in range(first, end):
                if table[k].theta < 0.0 and table[k].hi >= scale * least:
                    least = max(least, draw(plan, table, k, rng))
                if table[k].theta >= scale * least and (best < 0 or table[k].theta > table[best].theta):
                    best = k
        if best >= 0:
            drawn = table[best].theta >= 0.0
            lo, hi = (table[best].theta, table[best].theta) if drawn else (table[best].lo, table[best].hi)
            if lo >= scale * most:
                return best
            if hi >= scale * least:
                feasible, least = resolve(plan, table, scale, best, least, rng)
                if feasible:
                    return best
        first = end


@inline
def resolve(
    plan: Plan, table: Table, scale: float, arm: int, least: float, rng: np.random.Generator
) -> tuple[bool, float]:
    """Whether an arm is feasible, and the largest sample so far: draws the samples that it takes to know it."""
    drawn = table[arm].theta >= 0.0
    lo, hi = (table[arm].theta, table[arm].theta) if drawn else (table[arm].lo, table[arm].hi)
    for i in range(len(table)):
        k = int(table[i].rank)
        if table[k].hi <= least or scale * table[k].hi <= lo:
            break
        if k == arm or table[k].theta >= 0.0:
            continue
        if lo < hi and hi - lo > table[k].hi - table[k].lo:
            lo = hi = draw(plan, table, arm, rng)
            least = max(least, lo)
            if hi < scale * least:
                return False, least
            if scale * table[k].hi <= lo:
                break
        least = max(least, draw(plan, table, k, rng))
        if hi < scale * least:
            return False, least
    if lo < hi and lo < scale * least:
        lo = draw(plan, table, arm, rng)
        least = max(least, lo)
    return lo >= scale * least, least
