"""TS-CS: the cheapest arm whose posterior sample reaches (1 - alpha) times the largest sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.arrays import record
from satisfice.policies.beta import tail_bound, tail_draw
from satisfice.policies.compiled import uncounted
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.problem import BestReward

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NEVER = 1 << 62
# An arm that would leave its interval more often than this gets the interval [0, 1] instead.
OPEN = 0.75
# More successes or failures than there will ever be.
LIMIT = 1e18
# Keeps levels that are made of each other apart by more than rounding.
NUDGE = 1.0 - 1e-12


class Arm:
    """What the rule remembers of an arm: a record in `state.floats`."""

    excess: float  # successes minus the sum of the rewards: 0 while all rewards are 0 or 1
    won: float  # S
    lost: float  # F
    lo: float  # the arm's interval
    hi: float
    below: float  # bounds on the probability of a sample below `lo`, above `hi`
    above: float
    won_min: float  # the S and F for which these bounds hold
    won_max: float
    lost_min: float
    lost_max: float
    reach: float  # sum over the arms up to this one of -log(1 - below - above)
    theta: float  # the sample of this step, -1 when it has not been drawn
    pulls: float  # what `won` and `lost` were made of
    total: float


class Plan:
    """What it remembers besides: the record in `state.ints`, and the place on the line of `settle` behind the arms."""

    tune: int  # the time at which intervals are chosen next
    sure: int  # the sure arm, -1 when there is none
    left: int  # the number of steps before the next one in which a sample may lie outside its interval
    start: int  # pulls of the sure arm when it was leased
    leased: int  # and for how many; 0 after a lease of another arm
    point: int  # 1 when that lease ends where it does because of `left`


ARM, PLAN = record(Arm), record(Plan)
PLAN_SIZE = len(PLAN)  # a memory that is larger than needed does no harm
Table = Sequence[Arm]


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
    (`settle`), and the sure arm is leased until then. The probabilities need not be known: bounds on them
    that hold for some time ahead do, and an event that is too many is undone (`beta.tail_draw`). In a step
    with a sample outside its interval, or without a sure arm, the samples are drawn one by one, those known
    to lie inside conditionally on that, until the choice is clear (`choose`). How good the intervals are
    (`tune`) decides how fast this is, and nothing else.
    """

    id = "ts-cs"
    settings = (BestReward,)
    summary = "cheapest arm whose posterior sample reaches (1 - alpha) x the largest sample"
    needs_horizon = False
    bounded_only = True

    def memory(self, arms: int) -> tuple[int, int]:
        return len(PLAN), len(ARM) * arms + 1

    @staticmethod
    @uncounted
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
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        whole = math.floor(total)
        if whole < total:
            success = 1.0 if rng.random() < total - whole else 0.0
            state.floats[:-1].view(ARM)[arm].excess += whole + success - total


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
        tune(table, problem.costs, scale)
        plan.tune = t + 32 + len(problem.costs) + t // 64
    # Nothing done: a second decision from the same state, which must not repeat the first.
    if tuning or not held or done <= 0:
        add_up(table)
        plan.sure = sure(table, problem.costs, scale)
        plan.left, state.floats[-1] = settle(rng.standard_exponential(), table[-1].reach)
    return True


def special_step(problem: Problem, state: State, plan: Plan, table: Table, rng: np.random.Generator) -> int:
    """The arm of a step without a sure arm, or with a sample that may lie outside its interval."""
    length = table[-1].reach
    special = plan.sure < 0
    for k in range(len(table)):
        table[k].theta = -1.0
    if plan.left == 0:
        k = 0
        place = state.floats[-1]
        while place < length:
            while table[k].reach <= place:
                k += 1
            table[k].theta = outside(table, k, rng)
            special = special or table[k].theta >= 0.0
            place = table[k].reach + rng.standard_exponential()
        plan.left, state.floats[-1] = settle(place, length)
    return choose(table, problem.costs, 1.0 - problem.alpha, rng) if special else plan.sure


def lease(problem: Problem, state: State, plan: Plan, table: Table, t: int) -> int:
    """Lease the sure arm for as long as the bounds hold, no tuning is due and all samples lie inside."""
    b = plan.sure
    room = min(table[b].won_max - table[b].won, table[b].lost_max - table[b].lost)
    most = min(plan.tune - t, int(min(room, LIMIT)) + 1) if problem.binary else 1
    pulls = min(most, plan.left)
    plan.start, plan.leased = state.pulls[b], pulls
    plan.point = 1 if plan.left < most else 0
    return pulls


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
    return held


def renew(table: Table) -> None:
    """Renew the bounds that `count` marked."""
    for k in range(len(table)):
        if table[k].below < 0.0:
            confine(table, k, table[k].lo, table[k].hi)


def slack(n: float) -> float:
    """How many more successes or failures a bound allows for, so that it need not be renewed at every pull."""
    return math.floor(math.sqrt(n) / 4.0)


def escape(S: float, F: float, h: float) -> float:
    """A bound on the probability of a sample above `h`, for up to `slack` more successes and any more failures."""
    if h >= 1.0:
        return 0.0
    S += slack(S + F)
    return min(tail_bound(S, F, h), 1.0) if h * (S + F + 2.0) >= S + 1.0 else 1.0


def above(table: Table, k: int, hi: float) -> float:
    """A bound on the probability of a sample of an arm above `hi`, for some time ahead."""
    return escape(table[k].won, table[k].lost, hi)


def below(table: Table, k: int, lo: float) -> float:
    """A bound on the probability of a sample of an arm below `lo`, for some time ahead."""
    return escape(table[k].lost, table[k].won, 1.0 - lo)


def confine(table: Table, k: int, lo: float, hi: float) -> None:
    """Give an arm the interval [lo, hi], or [0, 1] if it would leave that one too often."""
    outside_lo, outside_hi = below(table, k, lo), above(table, k, hi)
    if outside_lo + outside_hi > OPEN:
        lo, hi, outside_lo, outside_hi = 0.0, 1.0, 0.0, 0.0
    won, lost = table[k].won, table[k].lost
    room = slack(won + lost)
    table[k].lo, table[k].below = lo, outside_lo
    table[k].hi, table[k].above = hi, outside_hi
    table[k].won_min, table[k].lost_max = (won, lost + room) if lo > 0.0 else (0.0, LIMIT)
    table[k].lost_min, table[k].won_max = (lost, won + room) if hi < 1.0 else (0.0, LIMIT)


def add_up(table: Table) -> None:
    """Lay the arms of one step out on a line, an arm's share being -log(1 - BELOW - ABOVE)."""
    total = 0.0
    for k in range(len(table)):
        total -= math.log1p(-table[k].below - table[k].above)
        table[k].reach = total


def settle(place: float, length: float) -> tuple[int, float]:
    """The step in which a place on the line lies, counted from 0, and the place within that step."""
    if place >= length * 1e15:
        return NEVER, 0.0
    steps = math.floor(place / length)
    return int(steps), place - steps * length


def outside(table: Table, k: int, rng: np.random.Generator) -> float:
    """Draw the sample of an arm that may lie outside its interval; -1 if it lies inside after all."""
    won, lost = table[k].won, table[k].lost
    if table[k].above > 0.0 and rng.random() * (table[k].below + table[k].above) < table[k].above:
        return tail_draw(won, lost, table[k].won_max, table[k].lost_min, table[k].hi, rng)
    theta = tail_draw(lost, won, table[k].lost_max, table[k].won_min, 1.0 - table[k].lo, rng)
    return 1.0 - theta if theta >= 0.0 else -1.0


def draw(table: Table, k: int, rng: np.random.Generator) -> float:
    """Draw the sample of an arm that is known to lie inside its interval."""
    while True:
        theta = rng.beta(table[k].won + 1.0, table[k].lost + 1.0)
        if table[k].lo <= theta <= table[k].hi:
            table[k].theta = theta
            return float(theta)


def choose(table: Table, costs: Floats, scale: float, rng: np.random.Generator) -> int:
    """The cheapest feasible arm, drawing no more samples than it takes to know it."""
    arms = len(costs)
    least = 0.0  # the largest sample is at least this
    for k in range(arms):
        least = max(least, table[k].lo if table[k].theta < 0.0 else table[k].theta)
    first = 0
    while True:
        end = first + 1
        while end < arms and costs[end] == costs[first]:
            end += 1
        if end == first + 1 and table[first].lo >= scale * least and reaches(table, first, scale):
            return first
        best = -1
        for k in range(first, end):
            if table[k].theta < 0.0 and table[k].hi >= scale * least:
                least = max(least, draw(table, k, rng))
            if table[k].theta >= scale * least and (best < 0 or table[k].theta > table[best].theta):
                best = k
        if best >= 0:
            for k in range(arms):
                if table[k].theta < 0.0 and scale * table[k].hi > table[best].theta:
                    least = max(least, draw(table, k, rng))
                    if scale * least > table[best].theta:
                        break
            if table[best].theta >= scale * least:
                return best
        first = end


def reaches(table: Table, arm: int, scale: float) -> bool:
    """Whether an arm whose sample has not been drawn is feasible by what is known of all samples."""
    if table[arm].theta >= 0.0:
        return False
    for k in range(len(table)):
        most = table[k].hi if table[k].theta < 0.0 else table[k].theta
        if k != arm and scale * most > table[arm].lo:
            return False
    return True


def sure(table: Table, costs: Floats, scale: float) -> int:
    """The arm that is played whenever every sample lies inside its interval, -1 if that does not determine it."""
    arms = len(costs)
    least = 0.0
    for k in range(arms):
        least = max(least, table[k].lo)
    b = 0
    while table[b].hi < scale * least:
        b += 1
    for k in range(b + 1, arms):
        if costs[k] == costs[b] and table[k].lo > table[b].lo:
            b = k
    for k in range(arms):
        tied = costs[k] == costs[b] and table[k].hi >= scale * least and table[k].hi > table[b].lo
        if k != b and (tied or scale * table[k].hi > table[b].lo):
            return -1
    return b


def tune(table: Table, costs: Floats, scale: float) -> None:
    """Choose intervals that make an arm sure and that are seldom left. They decide how fast, never what."""
    arms = len(costs)
    top = 0.0
    for k in range(arms):
        top = max(top, below_mean(table, k, 0.0))
    b = 0
    while below_mean(table, b, 0.0) < scale * top:
        b += 1
    for k in range(b + 1, arms):
        if costs[k] == costs[b] and below_mean(table, k, 0.0) > below_mean(table, b, 0.0):
            b = k
    # The arm whose large samples keep the cheaper arms infeasible.
    g = b
    for k in range(arms):
        if costs[k] > costs[b] and below_mean(table, k, 2.0) > below_mean(table, g, 2.0):
            g = k
    cheaper = costs[0] < costs[b]
    level = best_level(table, costs, scale, b, b, True, cheaper and g == b)
    floor = best_level(table, costs, scale, b, g, False, True) if cheaper and g != b else level
    contested = False
    for k in range(arms):
        if costs[k] < costs[b]:
            confine(table, k, 0.0, scale * floor * NUDGE)
            contested = contested or table[k].hi == 1.0
    for k in range(arms):
        if costs[k] < costs[b]:
            continue
        lo = level if k == b else floor if k == g and cheaper else 0.0
        hi = 1.0
        if k != b and costs[k] == costs[b]:
            hi = level
        elif k != b and level < scale:
            hi = level / scale * NUDGE
        if contested and k != g and hi > floor and above(table, k, floor) < 0.02:
            hi = floor
        confine(table, k, lo, hi)
    narrow(table)


def narrow(table: Table) -> None:
    """Shorten every interval as far as that costs next to nothing, so that fewer samples must be drawn."""
    arms = len(table)
    total = 0.0
    for k in range(arms):
        total += table[k].below + table[k].above
    z = min(max(math.sqrt(2.0 * math.log(10.0 * arms / (total + 1e-9))), 3.0), 6.0)
    most = 0.1 * (total + 1e-9) / arms
    for k in range(arms):
        lo, hi = table[k].lo, table[k].hi
        usual = below_mean(table, k, z)
        if usual > lo and below(table, k, usual) < most:
            lo = usual
        usual = below_mean(table, k, -z)
        if usual < hi and above(table, k, usual) < most:
            hi = usual
        if lo > table[k].lo or hi < table[k].hi:
            confine(table, k, lo, hi)


def below_mean(table: Table, k: int, z: float) -> float:
    """The point `z` standard deviations below the posterior mean of an arm."""
    n = table[k].won + table[k].lost
    mean = (table[k].won + 1.0) / (n + 2.0)
    return float(mean - z * math.sqrt(mean * (1.0 - mean) / (n + 3.0)))


def best_level(table: Table, costs: Floats, scale: float, b: int, arm: int, dearer: bool, cheaper: bool) -> float:
    """The lower level of `arm` that, with the upper levels that follow from it, is crossed least often."""
    best, least = 0.0, math.inf
    for half in range(2, 17):
        level = below_mean(table, arm, half / 2.0)
        if level <= 0.0:
            break
        total = below(table, arm, level)
        for k in range(len(costs)):
            if costs[k] < costs[b]:
                if cheaper:
                    total += min(above(table, k, scale * level), OPEN)
            elif dearer and k != b:
                if costs[k] == costs[b]:
                    total += min(above(table, k, level), OPEN)
                elif level < scale:
                    total += min(above(table, k, level / scale), OPEN)
        if total > least:
            break
        best, least = level, total
    return best
