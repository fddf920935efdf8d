"""Whether the mean of an arm has changed, at any time: a test for policies, studies and logs alike. Plain code.

The rewards of an arm lie within [0, 1]. While nothing changes, their mean `mu` is the same whatever came before. Two
things are kept of each arm, in a memory of `SIZE` numbers (`Watch`):

- where `mu` lies, by the confidence interval [low, high] that holds at all times (`satisfice.statistics.interval`), at
  level `delta / 2`;
- for each of `ALTERNATIVES` shifts `d` of the log-odds, up from `high` or down from `low`, bets on that shift. With
  every reward `x` a bet multiplies by `(1 - x) (1 - q) / (1 - p) + x q / p`, where `p` is the end of the interval and
  `q` the mean at log-odds `logit(p) + d`. A bet is begun before every reward, by a stake out of one unit for all times:
  the n-th stake is about `1 / (n log(n)^2)`. All bets on one shift go on together, as one number.

While the mean stays what it is and the interval holds it, the expected factor is at most 1: it is linear in `x`, 1 for
a mean of `p`, and falls towards the inside of the interval. So the sum of all bets, minus the stakes put in, is a
supermartingale, and by Ville's inequality it ever reaches `2 / delta` units with probability at most `delta / 2`. With
the interval's half that makes `delta`: the probability that an arm whose mean never changes is ever said to have
changed, at whatever times one looks, for any rewards within [0, 1], however many there are. (E-detectors: Shin, Ramdas
and Rinaldo, 2024; bets: Waudby-Smith and Ramdas, 2024.)

After a change that carries `kl` nats per reward the alarm comes after about `(log(1 / delta) + log(n) + 2 log log(n)
+ 5) / kl` rewards. Several rewards may be watched at once, by their sum: a bet then multiplies by at most what it would
have (equally much, if every reward is 0 or 1), so that the promise holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.arrays import record
from satisfice.statistics import kl, penalty

Floats = NDArray[np.float64]

# Shifts of the log-odds, each twice the one before: a change between two of them loses a sixth of its nats at most.
SHIFTS = 9
SMALLEST = 0.025
ALTERNATIVES = 2 * SHIFTS
# The interval is computed first after so many rewards, then whenever there are so many times more.
FIRST = 16
MORE = 1.2
# So many rewards are held back at most before the bets are brought up to date, while these are below `CALM` in all and
# the rewards are no surprise.
HOLD = 32
CALM = 0.1
# So many rewards wait at most before they are watched together.
LONGEST = 64


@dataclass(slots=True)
class Head:
    """What is remembered of an arm as a whole: a record in an array where code is compiled."""

    pulls: float = 0.0  # the rewards since the arm began
    total: float = 0.0  # their sum
    low: float = 0.0  # the interval
    high: float = 1.0
    next: float = 0.0  # when it is computed next; 0: it never was
    given: float = 0.0  # the stakes so far
    sum: float = 0.0  # of all bets
    # What is held back until it is worth a look: rewards, their sum, the stamp of the first.
    held: float = 0.0
    held_total: float = 0.0
    held_stamp: float = 0.0


HEAD = record(Head)
HEAD_SIZE = len(HEAD)
SIZE = HEAD_SIZE + 9 * ALTERNATIVES


class Watch(NamedTuple):
    """What is remembered of an arm: arrays where code is compiled; plain code may use lists, which are faster there.

    All but the first have one number for each alternative.
    """

    head: Sequence[Head]  # (1,): tuples of compiled code hold no records
    win: Floats  # what its bets multiply by with a reward of 1,
    fail: Floats  # and with one of 0; both 0: there is no mean beyond this end of the interval
    log_win: Floats
    log_fail: Floats
    bets: Floats  # all bets on it together
    best: Floats  # the bet that was begun at the best time, with a stake of 1
    since: Floats  # what that time was: rewards before it,
    before: Floats  # their sum,
    stamp: Floats  # and the mark of the reward


class Change(NamedTuple):
    """Where the mean probably changed: rewards and their sum before and since, and the stamp of the first since."""

    pulls_before: float
    total_before: float
    pulls: float
    total: float
    stamp: float


def view(numbers: Floats, arm: int) -> Watch:
    """The memory of an arm in an array that has `SIZE` numbers for each.

    Examples
    --------
    >>> view(np.zeros(2 * SIZE), 1).bets.shape
    (18,)
    """
    first = SIZE * arm
    head = numbers[first : first + HEAD_SIZE].view(HEAD)
    rows = numbers[first + HEAD_SIZE : first + SIZE].reshape(9, ALTERNATIVES)
    return Watch(head, rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7], rows[8])


def shift(k: int) -> float:
    """The shift of the log-odds of an alternative: up for the first half of them.

    Examples
    --------
    >>> shift(0), shift(SHIFTS + 3)
    (0.025, -0.2)
    """
    size: float = SMALLEST * 2.0 ** (k % SHIFTS)
    return size if k < SHIFTS else -size


def stakes(n: float) -> float:
    """What of the one unit is given for the first `n` rewards.

    Examples
    --------
    >>> stakes(0.0), round(stakes(1000.0), 3)
    (0.0, 0.806)
    """
    return 1.0 - 1.0 / (1.0 + math.log1p(n / FIRST))


def limit(delta: float) -> float:
    """The sum of all bets, in units of stakes, at which there is an alarm."""
    return 2.0 * ALTERNATIVES / delta


def begin(memory: Watch, pulls: float = 0.0, total: float = 0.0) -> None:
    """Begin to watch an arm; of so many rewards, if any, the sum is known already and may be trusted.

    Examples
    --------
    >>> memory = new_watch()
    >>> begin(memory, 100, 50.0)
    >>> memory.head[0].pulls, memory.head[0].next
    (100.0, 0.0)
    """
    head = memory.head[0]
    head.pulls, head.total = float(pulls), float(total)
    head.low, head.high = 0.0, 1.0
    head.next = head.given = head.sum = 0.0
    head.held = head.held_total = head.held_stamp = 0.0
    for k in range(ALTERNATIVES):
        memory.win[k] = memory.fail[k] = memory.bets[k] = memory.best[k] = 0.0


def new_watch() -> Watch:
    """A memory of its own for one arm that begins, for plain code: of lists.

    Examples
    --------
    >>> new_watch().head[0].high
    1.0
    """
    return make_watch([], *([0.0] * ALTERNATIVES for _ in range(9)))


def make_watch(head: Sequence[float], *parts: list[float]) -> Watch:
    """A memory for plain code from the data of `plain_watch`."""
    return Watch([Head(*head)], *parts)  # type: ignore[arg-type]


def plain_watch(memory: Watch) -> list[list[float]]:
    """The memory of an arm as plain data.

    Examples
    --------
    >>> make_watch(*plain_watch(new_watch())) == new_watch()
    True
    """
    (head,), *parts = memory
    return [[getattr(head, name) for name in Head.__match_args__], *map(list, parts)]


def watch(memory: Watch, pulls: int, total: float, stamp: float, delta: float) -> bool:
    """Watch so many rewards of this sum, in the order of time; whether the mean has changed.

    `stamp` is the caller's mark of the first of them, such as the number of its decision.

    Examples
    --------
    >>> memory = new_watch()
    >>> any(watch(memory, 1, float(t % 20 > 0), t, delta=0.01) for t in range(2000))  # 95% succeed
    False
    >>> next(t for t in range(2000, 3000) if watch(memory, 1, float(t % 3 == 0), t, delta=0.01)) < 2025  # then 33%
    True
    >>> change = where(memory)
    >>> int(change.stamp), round(change.total_before / change.pulls_before, 3)
    (2000, 0.95)
    """
    head = memory.head[0]
    n, before = head.pulls, head.total
    if n >= FIRST and n >= head.next:
        _look(memory, delta)
    head.pulls, head.total = n + pulls, before + total
    if head.next == 0.0:  # too little is known yet to bet on anything
        return False
    given = stakes(n + pulls)
    stake = given - head.given
    head.given = given
    failed, one = pulls - total, pulls == 1
    win, fail, log_win, log_fail = memory.win, memory.fail, memory.log_win, memory.log_fail
    bets, best, since, befores, stamps = memory.bets, memory.best, memory.since, memory.before, memory.stamp
    every = 0.0
    for k in range(ALTERNATIVES):
        if one:
            factor = failed * fail[k] + total * win[k]
        elif win[k] > 0.0:
            factor = math.exp(min(total * log_win[k] + failed * log_fail[k], 600.0))
        else:
            factor = 0.0
        now = (bets[k] + stake) * factor
        bets[k] = now
        every += now
        if best[k] <= 1.0:
            since[k], befores[k], stamps[k] = n, before, stamp
            best[k] = factor
        else:
            best[k] *= factor
    head.sum = every
    return every >= limit(delta) or head.low > head.high


def feed(memory: Watch, reward: float, stamp: float, delta: float) -> bool:
    """`watch`, reward by reward: those of 0 and 1 are held back while nothing is going on, which takes less time.

    Examples
    --------
    >>> memory = new_watch()
    >>> any(feed(memory, float(t % 20 > 0), t, delta=0.01) for t in range(2000))
    False
    >>> next(t for t in range(2000, 3000) if feed(memory, float(t % 3 == 0), t, delta=0.01)) < 2030
    True
    """
    head = memory.head[0]
    held = head.held
    if held == 0.0:
        head.held_stamp = stamp
    n = head.pulls
    if (reward == 0.0 or reward == 1.0) and n >= 4 * FIRST and head.sum < CALM:
        held += 1.0
        head.held = held
        total = head.held_total + reward
        head.held_total = total
        mean = head.total / n
        surprise = total - held * mean
        # Three standard deviations, and two rewards more.
        if held < HOLD and surprise * surprise < 9.0 * held * mean * (1.0 - mean) + 4.0:
            return False
        return release(memory, delta)
    if held > 0.0 and release(memory, delta):
        insert(memory, reward)
        return True
    return watch(memory, 1, reward, stamp, delta)


def safe(memory: Watch, delta: float) -> int:
    """How many rewards may come, whatever they are, before `feed` could answer with an alarm or compute the interval:
    so many may wait and be watched together (`feed_each`), and nobody hears of a change any later.

    Examples
    --------
    >>> memory = new_watch()
    >>> safe(memory, 0.01)
    16
    """
    head = memory.head[0]
    here = head.pulls + head.held
    quiet = (head.next if head.next > 0.0 else float(FIRST)) - here
    if head.next == 0.0 or quiet < 1.0:
        return max(int(quiet), 0)
    # The bets on the largest shifts grow most, by at most this factor with every reward. What is held back has made no
    # bet grow by more than its likelihood ratio to the nearer end of the interval.
    most = max(1.001, memory.win[SHIFTS - 1], memory.fail[-1])
    stake = head.sum + ALTERNATIVES * (stakes(here + LONGEST) - head.given)
    room = math.log(0.99 * limit(delta) / stake)
    if head.held > 0.0:
        mean = head.held_total / head.held
        room -= head.held * kl(mean, min(max(mean, head.low), head.high))
    room /= math.log(most)
    return max(int(min(quiet, room, LONGEST)), 0)


def feed_each(memory: Watch, rewards: list[float], stamps: list[float], delta: float) -> bool:
    """`feed`, one after the other, to the last bit, in less time: alternative by alternative. An alarm can only come
    with the last of the rewards (`safe`). Plain code.

    Examples
    --------
    >>> memory = new_watch()
    >>> feed_each(memory, [1.0, 0.0, 1.0], [1, 2, 3], 0.01), memory.head[0].pulls
    (False, 3.0)
    """
    head, count = memory.head[0], len(rewards)
    n, wins, falls = head.pulls, memory.win, memory.fail
    # The bets on the smallest shifts hardly move: while one of them is above `CALM`, nothing is held back.
    least = max(memory.bets[k] * min(wins[k], falls[k]) ** count for k in (0, SHIFTS))
    busy = least >= CALM or n + count <= 4 * FIRST
    if head.held > 0.0 or not n + count <= head.next or not busy:
        alarm = False
        for reward, stamp in zip(rewards, stamps, strict=True):
            alarm = feed(memory, reward, stamp, delta)
        return alarm
    steps, before, given = [], head.total, head.given
    for reward, stamp in zip(rewards, stamps, strict=True):
        now = stakes(n + 1)
        steps.append((1 - reward, reward, now - given, (n, before, stamp)))
        n, before, given = n + 1, before + reward, now
    head.pulls, head.total, head.given, head.held_stamp = n, before, given, stamps[-1]
    bets, best, every = memory.bets, memory.best, 0.0
    for k in range(ALTERNATIVES):
        bet, top, fail, win, at = bets[k], best[k], falls[k], wins[k], None
        for failed, total, stake, place in steps:
            factor = failed * fail + total * win
            bet = (bet + stake) * factor
            if top <= 1.0:
                at = place
                top = factor
            else:
                top *= factor
        bets[k], best[k] = bet, top
        every += bet
        if at is not None:
            memory.since[k], memory.before[k], memory.stamp[k] = at
    head.sum = every
    return every >= limit(delta) or head.low > head.high


def release(memory: Watch, delta: float) -> bool:
    """Watch what is held back."""
    head = memory.head[0]
    held, total, stamp = int(head.held), head.held_total, head.held_stamp
    head.held = head.held_total = 0.0
    return held > 0 and watch(memory, held, total, stamp, delta)


def replace(memory: Watch, old: float, new: float) -> None:
    """A reward that was watched is replaced by another. The bets never grow by it.

    By `(1 + g new) / (1 + g old)`, with `g = exp(shift) - 1`, the factor of that reward changes, whatever the interval
    was at that time.

    Examples
    --------
    >>> memory = new_watch()
    >>> begin(memory, 100, 90.0)
    >>> replace(memory, 1.0, 0.0)
    >>> memory.head[0].total
    89.0
    """
    head = memory.head[0]
    for k in range(ALTERNATIVES):
        odds = math.exp(shift(k)) - 1.0
        factor = min((1.0 + odds * new) / (1.0 + odds * old), 1.0)
        memory.bets[k] *= factor
        memory.best[k] *= factor
    head.total += new - old
    head.low, head.high = 0.0, 1.0
    if head.next > 0.0:
        head.next = head.pulls


def insert(memory: Watch, reward: float) -> None:
    """A reward comes in late, for a time that has been watched. The bets never grow by it.

    Examples
    --------
    >>> memory = new_watch()
    >>> begin(memory, 100, 90.0)
    >>> insert(memory, 1.0)
    >>> memory.head[0].pulls, memory.head[0].total
    (101.0, 91.0)
    """
    for k in range(ALTERNATIVES):
        factor = min((1.0 - reward) * memory.fail[k] + reward * memory.win[k], 1.0)
        memory.bets[k] *= factor
        memory.best[k] *= factor
    memory.head[0].pulls += 1.0
    memory.head[0].total += reward


def where(memory: Watch) -> Change:
    """Where the mean has probably changed: where the bet that has won most was begun."""
    best = 0
    for k in range(1, ALTERNATIVES):
        if memory.best[k] > memory.best[best]:
            best = k
    head, n, total = memory.head[0], memory.since[best], memory.before[best]
    return Change(n, total, head.pulls - n, head.total - total, memory.stamp[best])


def _look(memory: Watch, delta: float) -> None:
    """Compute the interval, inside of what it was, and what the bets pay from now on."""
    head = memory.head[0]
    n = head.pulls
    m = min(max(head.total / n, 0.0), 1.0)
    room = (math.log(2.0 / delta) + penalty(n, m)) / n
    head.low = max(head.low, _end(m, 0.0, room))
    head.high = min(head.high, _end(m, 1.0, room))
    head.next = float(math.ceil(MORE * n))
    for k in range(ALTERNATIVES):
        p = head.high if k < SHIFTS else head.low
        if p <= 0.0 or p >= 1.0:
            memory.win[k] = memory.fail[k] = 0.0
            continue
        # q = p e^d / (1 - p + p e^d), so that q / p and (1 - q) / (1 - p) are:
        d = shift(k)
        whole = math.log(1.0 - p + p * math.exp(d))
        memory.log_win[k], memory.log_fail[k] = d - whole, -whole
        memory.win[k], memory.fail[k] = math.exp(d - whole), math.exp(-whole)


def _end(m: float, end: float, room: float) -> float:
    """A mean between `m` and `end` at divergence `room` from `m`, or a little more."""
    inside, outside = m, end
    if kl(m, end) <= room:
        return end
    for _ in range(24):
        middle = 0.5 * (inside + outside)
        if kl(m, middle) <= room:
            inside = middle
        else:
            outside = middle
    return outside
