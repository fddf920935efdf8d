"""The intervals of TS-CS: which samples lie where, nearly always, so that few must be drawn.

Intervals and bounds on the probability of leaving them are chosen (`tune`), kept up to date (`renew`), and laid out on
a line, from which the time of the next sample outside is drawn (`add_up`). They decide how fast the rule is, never what
it does. Plain functions, compiled with the rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from satisfice.arrays import record
from satisfice.policies.beta import tail_bound, tail_rate, tail_rise

Floats = NDArray[np.float64]
# An arm that would leave its interval more often than this gets the interval [0, 1] instead.
OPEN = 0.75
# More successes or failures than there will ever be.
LIMIT = 1e18
# Something to be computed when it is needed; shifts are at most 0, spreads at most 1/2.
UNKNOWN = 1.0
# Bounds are renewed up to about this often for an arm until intervals are chosen again.
LATELY = 8.0
# How many standard deviations below its mean the sample of an arm is expected at the least.
DOUBT = 3.5
# An interval is cut short if it is left less often than this: drawing a sample from a tail costs more than from inside.
CUT = 0.4
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
    rate_below: float  # for `beta.tail_draw` beyond `lo` and `hi`; a shift may be UNKNOWN
    rise_below: float
    shift_below: float
    rate_above: float
    rise_above: float
    shift_above: float
    spread: float  # for `beta.inner_draw`, or UNKNOWN
    room: float  # how many more successes or failures the bounds allow for
    before: float  # pulls when intervals were last chosen
    reach: float  # sum over the arms up to this one of -log(1 - below - above)
    theta: float  # the sample of this step, -1 when it has not been drawn
    rank: float  # the arm with the k-th largest `hi`
    drawn: float  # the arm whose sample was drawn as the k-th of this step
    pulls: float  # what `won` and `lost` were made of
    total: float


class Plan:
    """What it remembers besides: the record in `state.ints`, and the place on the line of `step_of` behind the arms."""

    tune: int  # the time at which intervals are chosen next
    sure: int  # the sure arm, -1 when there is none
    left: int  # the number of steps before the next one in which a sample may lie outside its interval
    start: int  # pulls of the sure arm when it was leased
    leased: int  # and for how many; 0 after a lease of another arm
    point: int  # 1 when that lease ends where it does because of `left`
    drawn: int  # how many samples of this step have been drawn
    top: int  # the arm with the largest `lo`


ARM, PLAN = record(Arm), record(Plan)
PLAN_SIZE = len(PLAN)  # a memory that is larger than needed does no harm
Table = Sequence[Arm]


def renew(table: Table) -> None:
    """Renew the bounds that `count` marked."""
    for k in range(len(table)):
        if table[k].below < 0.0:
            confine(table, k, table[k].lo, table[k].hi)


def escape(S: float, F: float, h: float, room: float) -> float:
    """A bound on the probability of a sample above `h`, for up to `room` more successes and any more failures."""
    if h >= 1.0:
        return 0.0
    S += room
    return min(tail_bound(S, F, h), 1.0) if h * (S + F + 2.0) >= S + 1.0 else 1.0


def above(table: Table, k: int, hi: float) -> float:
    """A bound on the probability of a sample of an arm above `hi`, for some time ahead."""
    return escape(table[k].won, table[k].lost, hi, table[k].room)


def below(table: Table, k: int, lo: float) -> float:
    """A bound on the probability of a sample of an arm below `lo`, for some time ahead."""
    return escape(table[k].lost, table[k].won, 1.0 - lo, table[k].room)


def most_room(table: Table, k: int) -> float:
    """So many more successes or failures move a sample by a quarter of its standard deviation at most."""
    return float(math.floor(math.sqrt(table[k].won + table[k].lost) / 4.0))


def make_room(table: Table) -> None:
    """Bounds that need not be renewed at every pull: the more, the more often an arm was pulled lately."""
    for k in range(len(table)):
        lately = table[k].pulls - table[k].before
        table[k].room = min(float(math.floor(lately / LATELY)), most_room(table, k))
        table[k].before = table[k].pulls


def confine(table: Table, k: int, lo: float, hi: float) -> None:
    """Give an arm the interval [lo, hi], or [0, 1] if it would leave that one too often."""
    outside_lo, outside_hi = below(table, k, lo), above(table, k, hi)
    if outside_lo + outside_hi > OPEN:
        lo, hi, outside_lo, outside_hi = 0.0, 1.0, 0.0, 0.0
    won, lost = table[k].won, table[k].lost
    room = table[k].room
    table[k].lo, table[k].below = lo, outside_lo
    table[k].hi, table[k].above = hi, outside_hi
    table[k].won_min, table[k].lost_max = (won, lost + room) if lo > 0.0 else (0.0, LIMIT)
    table[k].lost_min, table[k].won_max = (lost, won + room) if hi < 1.0 else (0.0, LIMIT)
    if outside_lo > 0.0:
        table[k].rate_below = tail_rate(lost + room, won, 1.0 - lo)
        table[k].rise_below = tail_rise(table[k].rate_below, 1.0 - lo)
    if outside_hi > 0.0:
        table[k].rate_above = tail_rate(won + room, lost, hi)
        table[k].rise_above = tail_rise(table[k].rate_above, hi)
    table[k].shift_below = table[k].shift_above = table[k].spread = UNKNOWN


def add_up(table: Table) -> None:
    """Lay the arms of one step out on a line, an arm's share being -log(1 - BELOW - ABOVE)."""
    total = 0.0
    for k in range(len(table)):
        total -= math.log1p(-table[k].below - table[k].above)
        table[k].reach = total


def sort(plan: Plan, table: Table) -> None:
    """Bring `rank` and `top` up to date. Arms seldom change places, so that this is nearly one walk."""
    arms = len(table)
    if arms > 1 and table[0].rank == table[arms - 1].rank:  # for the first time
        for k in range(arms):
            table[k].rank = k
    plan.top = 0
    for k in range(arms):
        table[k].theta = -1.0
        if table[k].lo > table[plan.top].lo:
            plan.top = k
        arm, j = table[k].rank, k
        while j > 0 and table[int(table[j - 1].rank)].hi < table[int(arm)].hi:
            table[j].rank = table[j - 1].rank
            j -= 1
        table[j].rank = arm


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
    table[b].room = most_room(table, b)
    # The arm whose large samples keep the cheaper arms infeasible.
    g = b
    for k in range(arms):
        if costs[k] > costs[b] and below_mean(table, k, 2.0) > below_mean(table, g, 2.0):
            g = k
    cheaper = costs[0] < costs[b]
    level = best_level(table, costs, scale, b, b, True, cheaper and g == b)
    floor = best_level(table, costs, scale, b, g, False, True) if cheaper and g != b else level
    # Where a cheaper arm is feasible at times: the least of the largest samples that it may fall short of.
    doubt = math.inf
    for k in range(arms):
        if costs[k] < costs[b]:
            confine(table, k, 0.0, scale * floor * NUDGE)
            if table[k].hi == 1.0:
                doubt = min(doubt, below_mean(table, k, DOUBT) / scale * NUDGE)
    for k in range(arms):
        if costs[k] < costs[b]:
            if doubt < table[k].hi < 1.0 and above(table, k, doubt) < CUT:
                confine(table, k, 0.0, doubt)
            continue
        lo = level if k == b else floor if k == g and cheaper and doubt == math.inf else 0.0
        hi = 1.0
        if k != b and costs[k] == costs[b]:
            hi = level
        elif k != b and level < scale:
            hi = level / scale * NUDGE
        if hi > doubt and above(table, k, doubt) < CUT:
            hi = doubt
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
