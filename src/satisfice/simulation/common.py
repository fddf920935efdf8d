"""Common random numbers: the n-th pull of an arm gives the same reward to every policy of a run.

Policies take their pulls in leases of different lengths, so what must agree is the sum of any stretch of pulls. The
pulls 1, 2, ... of an arm are laid out in blocks of 1, 2, 4, 8, ... pulls, each block is halved down to single pulls,
and every node of these trees has random numbers of its own, found from (seed, run, arm, node) alone. The sum of a block
is drawn first; how it falls to the two halves is drawn from its law given the sum: hypergeometric for counts, and for
Gaussian rewards a normal split of the sum and a Beta split of the squared deviations. So every reward has its law, the
rewards are independent, and the sum of the first n needs about log2(n) draws, of which the next stretch knows most.
"""

from __future__ import annotations

import math
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidRun
from satisfice.problem import Instance
from satisfice.simulation.streams import Settable, Words, reachable, settable
from satisfice.simulation.world import BERNOULLI, GAUSSIAN, World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Above it the logarithms of factorials that `hypergeometric` starts from are no longer exact to 1e-5.
MAX_COMMON = 10**9
STREAM = zlib.crc32(b"common random numbers")
# Of the generator SplitMix64.
STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
INCREMENT = np.uint64(0x5851F42D4C957F2D)  # odd, as PCG64 wants it


class CommonWorld(NamedTuple):
    """A world in which the n-th reward of an arm is fixed. In the policy's order, for one run of one policy."""

    world: World
    levels: Floats  # (levels,) the values that a reward may have; none for Gaussian rewards
    chances: Floats  # (arms, levels)
    keys: Words  # (arms, 2)
    generator: Settable
    done: Ints  # (arms,) pulls so far
    seen: Floats  # (arms, parts) what came of them: the count of each level, or a sum and a sum of squares
    blocks: Ints  # (arms,) how many whole blocks are in `past`
    past: Floats  # (arms, parts)
    kept: Ints  # (arms, depth) the last node that was looked at, of 1, 2, 4, ... pulls; 0 is none
    nodes: Floats  # (arms, depth, parts) what is in it


def common_world(world: World, order: Ints, *, seed: int, run: int, horizon: int) -> CommonWorld:
    """The world of one run. `order` are the caller's indices of the arms, so that policies agree on what arm it is."""
    arms, depth = len(order), int(horizon).bit_length() + 1
    levels, chances = world.values, world.probabilities
    if world.model == BERNOULLI:
        levels, chances = np.array([1.0, 0.0]), np.stack([world.means, 1 - world.means], axis=1)
    parts = 2 if world.model == GAUSSIAN else len(levels)
    sequence = np.random.SeedSequence(seed, spawn_key=(STREAM, run, 1))
    words = sequence.generate_state(2 * (int(order.max()) + 1), np.uint64).astype(np.uint64)
    return CommonWorld(
        world=world,
        levels=levels,
        chances=chances,
        keys=words.reshape(-1, 2)[order],
        generator=settable(np.random.PCG64(0)),
        done=np.zeros(arms, dtype=np.int64),
        seen=np.zeros((arms, parts)),
        blocks=np.zeros(arms, dtype=np.int64),
        past=np.zeros((arms, parts)),
        kept=np.zeros((arms, depth), dtype=np.int64),
        nodes=np.zeros((arms, depth, parts)),
    )


def check_common(instance: Instance, horizon: int) -> None:
    """Raise `InvalidRun` where rewards cannot be shared."""
    if len(instance.pieces) > 1:
        raise InvalidRun(
            "common = True: the means change with time, so the n-th pull of an arm differs between policies"
        )
    if horizon > MAX_COMMON:
        raise InvalidRun(f"common = True: it is exact up to a horizon of {MAX_COMMON:,}; this one is {horizon:,}")
    if not reachable():
        raise InvalidRun("common = True: the random generators of this NumPy cannot be set; other versions can")


def as_it_is(common: CommonWorld, arm: int, pulls: int, most: int, rng: np.random.Generator) -> tuple[int, float]:
    """A lease that nothing prolongs: the engine's `stretch` here."""
    return min(pulls, most), -1.0


def draw_common(common: CommonWorld, arm: int, pulls: int, rng: np.random.Generator) -> tuple[float, float]:
    """The sum of the next `pulls` rewards of an arm and that of their squares: the engine's `draw` here."""
    now = common.seen[arm]
    before = now.copy()
    common.done[arm] += pulls
    _look(common, arm, common.done[arm], now)
    total, squares = 0.0, 0.0
    if common.world.model == GAUSSIAN:  # from standard normal rewards to those of the arm
        mean, sigma = common.world.means[arm], common.world.sigma
        off = sigma * (now[0] - before[0])
        total = pulls * mean + off
        squares = pulls * mean * mean + 2 * mean * off + sigma * sigma * max(now[1] - before[1], 0.0)
        return total, squares
    for level in range(len(common.levels)):
        count = now[level] - before[level]
        total += count * common.levels[level]
        squares += count * common.levels[level] ** 2
    return total, squares


def _look(common: CommonWorld, arm: int, pulls: int, found: Floats) -> None:
    """Fill `found` with what came of the first `pulls` pulls of an arm."""
    block = common.blocks[arm]  # of 2^block pulls, the first of which is number 2^block
    past, nodes, index = common.past[arm], common.nodes[arm], common.kept[arm]
    while 2 << block <= pulls:
        _root(common, arm, block)
        _add(past, nodes[block])
        block += 1
    common.blocks[arm] = block
    _root(common, arm, block)
    found[:] = 0.0
    _add(found, past)
    depth, node, left = block, 1, pulls - (1 << block) + 1
    while left < 1 << depth:
        half = 1 << (depth - 1)
        if index[depth - 1] >> 1 != node:
            _halve(common, arm, depth, node)
        second = 1 if left > half else 0
        if index[depth - 1] & 1 != second:  # the other half is kept: what is not in it is in this one
            for part in range(len(found)):
                nodes[depth - 1, part] = nodes[depth, part] - nodes[depth - 1, part]
            index[depth - 1] = 2 * node + second
        if second == 1:
            for part in range(len(found)):
                found[part] += nodes[depth, part] - nodes[depth - 1, part]
            left -= half
        node = 2 * node + second
        depth -= 1
    _add(found, nodes[depth])


def _add(to: Floats, what: Floats) -> None:
    """In a loop: sums of whole arrays take Numba seconds to compile."""
    for part in range(len(to)):
        to[part] += what[part]


def _root(common: CommonWorld, arm: int, depth: int) -> None:
    """Draw the block of 2^depth pulls, if it is not there."""
    if common.kept[arm, depth] == 1:
        return
    common.kept[arm, depth] = 1
    rng, node, size = _at(common, arm, depth, 0), common.nodes[arm, depth], 1 << depth
    if common.world.model == GAUSSIAN:
        node[0] = math.sqrt(size) * rng.standard_normal()
        node[1] = node[0] * node[0] / size
        if size > 1:
            node[1] += rng.chisquare(size - 1)
        return
    left, mass = size, 1.0
    for level in range(len(common.levels)):
        share = common.chances[arm, level]
        count = 0
        if left > 0 and share > 0.0:
            count = left if share >= mass else rng.binomial(left, share / mass)
        node[level] = count
        left -= count
        mass -= share
    if left > 0:  # rounding left a sliver of mass: it belongs to the last possible level
        level = len(common.levels) - 1
        while common.chances[arm, level] == 0.0:
            level -= 1
        node[level] += left


def _halve(common: CommonWorld, arm: int, depth: int, index: int) -> None:
    """Draw what the first half of a node has of it."""
    common.kept[arm, depth - 1] = 2 * index
    rng, size = _at(common, arm, depth, index), 1 << depth
    node, half = common.nodes[arm, depth], common.nodes[arm, depth - 1]
    if common.world.model == GAUSSIAN:
        # Squared deviations from the mean, Q, are those between the halves and those within each. Their shares of Q are
        # Beta distributed, as ratios of independent chi-squares of 1 and size - 2, then size/2 - 1 each, degrees.
        around = max(node[1] - node[0] * node[0] / size, 0.0)
        between = around * rng.beta(0.5, (size - 2) / 2) if size > 2 else around
        step = 0.5 * math.sqrt(between * size)
        half[0] = 0.5 * node[0] + (step if rng.random() < 0.5 else -step)
        half[1] = half[0] * half[0] / (size // 2)
        if size > 2:
            half[1] += (around - between) * rng.beta((size // 2 - 1) / 2, (size // 2 - 1) / 2)
        return
    pool, left = size, size // 2
    for level in range(len(common.levels)):
        good = int(node[level])
        count = hypergeometric(good, pool - good, left, rng)
        half[level] = count
        pool -= good
        left -= count


def hypergeometric(good: int, bad: int, sample: int, rng: np.random.Generator) -> int:
    """How many of `sample` balls, drawn from an urn of `good` and `bad` ones, are good.

    From the likeliest number on, to both sides in turn, until the probabilities add up to a uniform number: about as
    many steps as the standard deviation. (Numba has no `Generator.hypergeometric`.)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> hypergeometric(3, 0, 2, rng), hypergeometric(0, 5, 2, rng)
    (2, 0)
    >>> abs(hypergeometric(500_000, 500_000, 500_000, rng) - 250_000) < 1_500  # six standard deviations
    True
    """
    low, high = max(0, sample - bad), min(good, sample)
    if low == high:
        return low
    mode = min(max((sample + 1) * (good + 1) // (good + bad + 2), low), high)
    down = math.exp(_log_choose(good, mode) + _log_choose(bad, sample - mode) - _log_choose(good + bad, sample))
    up, less, more = down, mode, mode
    left = rng.random() - down
    while left >= 0.0 and (less > low or more < high):
        if more < high:
            up *= (good - more) * (sample - more) / ((more + 1.0) * (bad - sample + more + 1.0))
            more += 1
            left -= up
            if left < 0.0:
                return more
        if less > low:
            down *= less * (bad - sample + less * 1.0) / ((good - less + 1.0) * (sample - less + 1.0))
            less -= 1
            left -= down
            if left < 0.0:
                return less
        if up < 1e-300 and down < 1e-300:  # rounding: all that is possible adds up to less than the number
            return mode
    return mode


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def _at(common: CommonWorld, arm: int, depth: int, index: int) -> np.random.Generator:
    """The generator, set to the random numbers of a node."""
    rng, words, half = common.generator
    where = np.uint64(index) * np.uint64(64) + np.uint64(depth)
    words[0] = _mixed(common.keys[arm, 0] + where * STEP)
    words[1] = _mixed(common.keys[arm, 1] ^ words[0])
    words[2], words[3] = INCREMENT, STEP
    half[0] = 0
    return rng


def _mixed(word: np.uint64) -> np.uint64:
    """SplitMix64's hash of a word."""
    word = (word ^ (word >> np.uint64(30))) * FIRST
    word = (word ^ (word >> np.uint64(27))) * SECOND
    return word ^ (word >> np.uint64(31))
