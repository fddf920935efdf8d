"""TS-CS: the cheapest arm whose posterior sample reaches (1 - alpha) times the largest sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.policies.beta import tail_bound, tail_draw
from satisfice.policies.contract import SWEEP, Lease, Policy, Problem, State
from satisfice.problem import BestReward

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Rows of the table in `state.floats`, one column per arm.
EXCESS = 0  # successes minus the sum of the rewards: 0 while all rewards are 0 or 1
WON, LOST = 1, 2  # S and F
LO, HI = 3, 4  # the arm's interval
BELOW, ABOVE = 5, 6  # bounds on the probability of a sample below `LO`, above `HI`
WON_MIN, WON_MAX, LOST_MIN, LOST_MAX = 7, 8, 9, 10  # the S and F for which these bounds hold
REACH = 11  # sum over the arms up to this one of -log(1 - BELOW - ABOVE)
THETA = 12  # the sample of this step, -1 when it has not been drawn
PULLS, TOTAL = 13, 14  # what `WON` and `LOST` were made of
ROWS = 15
# Places in `state.ints`; the place on the line of `settle` is kept behind the table.
TUNE = 0  # the time at which intervals are chosen next
SURE = 1  # the sure arm, -1 when there is none
LEFT = 2  # the number of steps before the next one in which a sample may lie outside its interval
FROM, LEASED = 3, 4  # pulls of the sure arm when it was leased, and for how many; 0 after a lease of another arm
POINT = 5  # 1 when that lease ends where it does because of `LEFT`
NEVER = 1 << 62
# An arm that would leave its interval more often than this gets the interval [0, 1] instead.
OPEN = 0.75
# More successes or failures than there will ever be.
LIMIT = 1e18
# Keeps levels that are made of each other apart by more than rounding.
NUDGE = 1.0 - 1e-12


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
        return 6, ROWS * arms + 1

    @staticmethod
    def decide(problem: Problem, state: State, t: int, rng: np.random.Generator) -> Lease:
        arms = len(problem.costs)
        if t < arms:
            return SWEEP, 1
        scale = 1.0 - problem.alpha
        ints = state.ints
        table = state.floats[:-1].reshape((ROWS, arms))
        done = 1
        due = False
        if ints[LEASED] > 0:
            done = state.pulls[ints[SURE]] - ints[FROM]
            due = ints[POINT] == 1 and done >= ints[LEASED]
            ints[LEFT] -= max(0, min(done, ints[LEASED]))
        # The number of steps has no memory: it may be drawn anew at any time that does not depend on it. A lease that
        # ended because of it is no such time; then whatever else came up meanwhile has to wait for one step.
        held = count(table, state.pulls, state.totals, due)
        if not due:
            if not held:
                renew(table)
            tuning = t >= ints[TUNE]
            if tuning:
                tune(table, problem.costs, scale)
                ints[TUNE] = t + 32 + arms + t // 64
            # Nothing done: a second decision from the same state, which must not repeat the first.
            if tuning or not held or done <= 0:
                add_up(table)
                ints[SURE] = sure(table, problem.costs, scale)
                ints[LEFT], state.floats[-1] = settle(rng.standard_exponential(), table[REACH, -1])
            held = True
        b = ints[SURE]
        special = b < 0
        if special or ints[LEFT] == 0:
            table[THETA, :] = -1.0
            if ints[LEFT] == 0:
                k = 0
                place = state.floats[-1]
                while place < table[REACH, -1]:
                    while table[REACH, k] <= place:
                        k += 1
                    table[THETA, k] = outside(table, k, rng)
                    special = special or table[THETA, k] >= 0.0
                    place = table[REACH, k] + rng.standard_exponential()
                ints[LEFT], state.floats[-1] = settle(place, table[REACH, -1])
            arm = choose(table, problem.costs, scale, rng) if special else b
            if arm != b or not held or t >= ints[TUNE]:
                ints[LEFT] -= 1
                ints[LEASED] = 0
                return arm, 1
        room = min(table[WON_MAX, b] - table[WON, b], table[LOST_MAX, b] - table[LOST, b])
        most = min(ints[TUNE] - t, int(min(room, LIMIT)) + 1) if problem.binary else 1
        ints[FROM], ints[LEASED] = state.pulls[b], min(most, ints[LEFT])
        ints[POINT] = 1 if ints[LEFT] < most else 0
        return b, ints[LEASED]

    @staticmethod
    def learn(problem: Problem, state: State, arm: int, pulls: int, total: float, rng: np.random.Generator) -> None:
        whole = math.floor(total)
        if whole < total:
            success = 1.0 if rng.random() < total - whole else 0.0
            state.floats[EXCESS * len(problem.costs) + arm] += whole + success - total


def count(table: Floats, pulls: Ints, totals: Floats, wait: bool) -> bool:
    """Bring S and F up to date; False if bounds do not hold for some.

    These are then marked with -1, to be renewed; with `wait`, their S and F are left as they were."""
    held = True
    for k in range(len(pulls)):
        if pulls[k] != table[PULLS, k] or totals[k] != table[TOTAL, k]:
            # A whole number, however the rewards were rounded.
            won = min(max(math.floor(totals[k] + table[EXCESS, k] + 0.5), 0.0), float(pulls[k]))
            lost = pulls[k] - won
            if not (table[WON_MIN, k] <= won <= table[WON_MAX, k] and table[LOST_MIN, k] <= lost <= table[LOST_MAX, k]):
                held = False
                if wait:
                    continue
                table[BELOW, k] = -1.0
            table[PULLS, k], table[TOTAL, k] = pulls[k], totals[k]
            table[WON, k], table[LOST, k] = won, lost
    return held


def renew(table: Floats) -> None:
    """Renew the bounds that `count` marked."""
    for k in range(table.shape[1]):
        if table[BELOW, k] < 0.0:
            confine(table, k, table[LO, k], table[HI, k])


def slack(n: float) -> float:
    """How many more successes or failures a bound allows for, so that it need not be renewed at every pull."""
    return math.floor(math.sqrt(n) / 4.0)


def escape(S: float, F: float, h: float) -> float:
    """A bound on the probability of a sample above `h`, for up to `slack` more successes and any more failures."""
    if h >= 1.0:
        return 0.0
    S += slack(S + F)
    return min(tail_bound(S, F, h), 1.0) if h * (S + F + 2.0) >= S + 1.0 else 1.0


def above(table: Floats, k: int, hi: float) -> float:
    """A bound on the probability of a sample of an arm above `hi`, for some time ahead."""
    return escape(table[WON, k], table[LOST, k], hi)


def below(table: Floats, k: int, lo: float) -> float:
    """A bound on the probability of a sample of an arm below `lo`, for some time ahead."""
    return escape(table[LOST, k], table[WON, k], 1.0 - lo)


def confine(table: Floats, k: int, lo: float, hi: float) -> None:
    """Give an arm the interval [lo, hi], or [0, 1] if it would leave that one too often."""
    outside_lo, outside_hi = below(table, k, lo), above(table, k, hi)
    if outside_lo + outside_hi > OPEN:
        lo, hi, outside_lo, outside_hi = 0.0, 1.0, 0.0, 0.0
    won, lost = table[WON, k], table[LOST, k]
    room = slack(won + lost)
    table[LO, k], table[BELOW, k] = lo, outside_lo
    table[HI, k], table[ABOVE, k] = hi, outside_hi
    table[WON_MIN, k], table[LOST_MAX, k] = (won, lost + room) if lo > 0.0 else (0.0, LIMIT)
    table[LOST_MIN, k], table[WON_MAX, k] = (lost, won + room) if hi < 1.0 else (0.0, LIMIT)


def add_up(table: Floats) -> None:
    """Lay the arms of one step out on a line, an arm's share being -log(1 - BELOW - ABOVE)."""
    total = 0.0
    for k in range(table.shape[1]):
        total -= math.log1p(-table[BELOW, k] - table[ABOVE, k])
        table[REACH, k] = total


def settle(place: float, length: float) -> tuple[int, float]:
    """The step in which a place on the line lies, counted from 0, and the place within that step."""
    if place >= length * 1e15:
        return NEVER, 0.0
    steps = math.floor(place / length)
    return int(steps), place - steps * length


def outside(table: Floats, k: int, rng: np.random.Generator) -> float:
    """Draw the sample of an arm that may lie outside its interval; -1 if it lies inside after all."""
    won, lost = table[WON, k], table[LOST, k]
    if table[ABOVE, k] > 0.0 and rng.random() * (table[BELOW, k] + table[ABOVE, k]) < table[ABOVE, k]:
        return tail_draw(won, lost, table[WON_MAX, k], table[LOST_MIN, k], table[HI, k], rng)
    theta = tail_draw(lost, won, table[LOST_MAX, k], table[WON_MIN, k], 1.0 - table[LO, k], rng)
    return 1.0 - theta if theta >= 0.0 else -1.0


def draw(table: Floats, k: int, rng: np.random.Generator) -> float:
    """Draw the sample of an arm that is known to lie inside its interval."""
    while True:
        theta = rng.beta(table[WON, k] + 1.0, table[LOST, k] + 1.0)
        if table[LO, k] <= theta <= table[HI, k]:
            table[THETA, k] = theta
            return float(theta)


def choose(table: Floats, costs: Floats, scale: float, rng: np.random.Generator) -> int:
    """The cheapest feasible arm, drawing no more samples than it takes to know it."""
    arms = len(costs)
    least = 0.0  # the largest sample is at least this
    for k in range(arms):
        least = max(least, table[LO, k] if table[THETA, k] < 0.0 else table[THETA, k])
    first = 0
    while True:
        end = first + 1
        while end < arms and costs[end] == costs[first]:
            end += 1
        if end == first + 1 and table[LO, first] >= scale * least and reaches(table, first, scale):
            return first
        best = -1
        for k in range(first, end):
            if table[THETA, k] < 0.0 and table[HI, k] >= scale * least:
                least = max(least, draw(table, k, rng))
            if table[THETA, k] >= scale * least and (best < 0 or table[THETA, k] > table[THETA, best]):
                best = k
        if best >= 0:
            for k in range(arms):
                if table[THETA, k] < 0.0 and scale * table[HI, k] > table[THETA, best]:
                    least = max(least, draw(table, k, rng))
                    if scale * least > table[THETA, best]:
                        break
            if table[THETA, best] >= scale * least:
                return best
        first = end


def reaches(table: Floats, arm: int, scale: float) -> bool:
    """Whether an arm whose sample has not been drawn is feasible by what is known of all samples."""
    if table[THETA, arm] >= 0.0:
        return False
    for k in range(table.shape[1]):
        most = table[HI, k] if table[THETA, k] < 0.0 else table[THETA, k]
        if k != arm and scale * most > table[LO, arm]:
            return False
    return True


def sure(table: Floats, costs: Floats, scale: float) -> int:
    """The arm that is played whenever every sample lies inside its interval, -1 if that does not determine it."""
    arms = len(costs)
    least = 0.0
    for k in range(arms):
        least = max(least, table[LO, k])
    b = 0
    while table[HI, b] < scale * least:
        b += 1
    for k in range(b + 1, arms):
        if costs[k] == costs[b] and table[LO, k] > table[LO, b]:
            b = k
    for k in range(arms):
        tied = costs[k] == costs[b] and table[HI, k] >= scale * least and table[HI, k] > table[LO, b]
        if k != b and (tied or scale * table[HI, k] > table[LO, b]):
            return -1
    return b


def tune(table: Floats, costs: Floats, scale: float) -> None:
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
            contested = contested or table[HI, k] == 1.0
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


def narrow(table: Floats) -> None:
    """Shorten every interval as far as that costs next to nothing, so that fewer samples must be drawn."""
    arms = table.shape[1]
    total = 0.0
    for k in range(arms):
        total += table[BELOW, k] + table[ABOVE, k]
    z = min(max(math.sqrt(2.0 * math.log(10.0 * arms / (total + 1e-9))), 3.0), 6.0)
    most = 0.1 * (total + 1e-9) / arms
    for k in range(arms):
        lo, hi = table[LO, k], table[HI, k]
        usual = below_mean(table, k, z)
        if usual > lo and below(table, k, usual) < most:
            lo = usual
        usual = below_mean(table, k, -z)
        if usual < hi and above(table, k, usual) < most:
            hi = usual
        if lo > table[LO, k] or hi < table[HI, k]:
            confine(table, k, lo, hi)


def below_mean(table: Floats, k: int, z: float) -> float:
    """The point `z` standard deviations below the posterior mean of an arm."""
    n = table[WON, k] + table[LOST, k]
    mean = (table[WON, k] + 1.0) / (n + 2.0)
    return float(mean - z * math.sqrt(mean * (1.0 - mean) / (n + 3.0)))


def best_level(table: Floats, costs: Floats, scale: float, b: int, arm: int, dearer: bool, cheaper: bool) -> float:
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
