"""The random streams of many runs, made in bulk: the numbers of `numpy.random.SeedSequence` and `PCG64`, bit for bit.

Seeding a generator and entering compiled code take longer than a short run. Here the states of many generators are
computed at once, and one generator is set to each of them in turn, inside compiled code, by writing to its memory.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
# Of `numpy.random.SeedSequence`: a pool of words, hashed and mixed.
POOL = 4
INIT_A, MULT_A, INIT_B, MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
MIX_L, MIX_R = 0xCA01F9DD, 0x4973F715
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
# The multiplier of PCG64, high and low.
MULTIPLIER = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)


def states(seed: int, label: int, first: int, count: int) -> Words:
    """The states of `PCG64(SeedSequence(seed, spawn_key=(label, run)))` for `count` runs from `first` on.

    Four words each: state and increment, low before high, as the generator keeps them.

    Examples
    --------
    >>> ours = states(7, 3, 5, 1)[0]
    >>> numpy = np.random.PCG64(np.random.SeedSequence(7, spawn_key=(3, 5))).state["state"]
    >>> int(ours[0]) + (int(ours[1]) << 64) == numpy["state"], int(ours[2]) + (int(ours[3]) << 64) == numpy["inc"]
    (True, True)
    """
    runs = np.arange(first, first + count, dtype=np.uint32)
    entropy = [np.full(count, word, dtype=np.uint32) for word in [*_words(seed), label]] + [runs]
    made = _generate(_pool(entropy))
    seed_high, seed_low, stream_high, stream_low = (made[2 * i] | made[2 * i + 1] << HALF for i in range(4))
    one = np.uint64(1)
    inc_low, inc_high = stream_low << one | one, stream_high << one | stream_low >> np.uint64(63)
    # From a state of 0: one step, plus the seed, one step.
    low = inc_low + seed_low
    high = inc_high + seed_high + (low < inc_low)
    high, low = _times(high, low)
    last = low + inc_low
    return np.stack([last, high + inc_high + (last < low), inc_low, inc_high], axis=1)


def _words(seed: int) -> list[int]:
    words = [seed >> shift & 0xFFFFFFFF for shift in range(0, max(seed.bit_length(), 1), 32)]
    return words + [0] * (POOL - len(words))


def _pool(entropy: list[NDArray[np.uint32]]) -> list[NDArray[np.uint32]]:
    constant = INIT_A

    def hashed(value: NDArray[np.uint32]) -> NDArray[np.uint32]:
        nonlocal constant
        value = value ^ np.uint32(constant)
        constant = constant * MULT_A & 0xFFFFFFFF
        value = value * np.uint32(constant)
        return value ^ value >> np.uint32(16)

    def mixed(x: NDArray[np.uint32], y: NDArray[np.uint32]) -> NDArray[np.uint32]:
        value: NDArray[np.uint32] = np.uint32(MIX_L) * x - np.uint32(MIX_R) * y
        return value ^ value >> np.uint32(16)

    pool = [hashed(word) for word in entropy[:POOL]]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in entropy[POOL:]:
        for target in range(POOL):
            pool[target] = mixed(pool[target], hashed(word))
    return pool


def _generate(pool: list[NDArray[np.uint32]]) -> list[Words]:
    constant, made = INIT_B, []
    for i in range(8):
        value = pool[i % POOL] ^ np.uint32(constant)
        constant = constant * MULT_B & 0xFFFFFFFF
        value = value * np.uint32(constant)
        made.append((value ^ value >> np.uint32(16)).astype(np.uint64))
    return made


def _times(high: Words, low: Words) -> tuple[Words, Words]:
    """128-bit numbers times the multiplier of PCG64, the last 128 bits."""
    m_high, m_low = MULTIPLIER
    a, b = low >> HALF, low & LOW
    c, d = m_low >> HALF, m_low & LOW
    middle = (b * d >> HALF) + (a * d & LOW) + (b * c & LOW)
    carry = a * c + (a * d >> HALF) + (b * c >> HALF) + (middle >> HALF)
    return high * m_low + low * m_high + carry, low * m_low


@cache
def reachable() -> bool:
    """Whether the memory of a generator is laid out as it is written here."""
    bits = np.random.PCG64(0)
    generator, words, half = settable(bits)
    words[:], half[0] = (2, 1, 5, 3), 0
    kept = bits.state
    number = generator.random()
    bits.state = kept
    same = kept["state"] == {"state": (1 << 64) + 2, "inc": (3 << 64) + 5} and kept["has_uint32"] == 0
    return same and number == generator.random()


class Settable(NamedTuple):
    """A generator with its own memory, which it goes on from when that is written to."""

    rng: np.random.Generator
    words: Words  # (4,) its state, as in `states`
    half: NDArray[np.int32]  # (1,) whether half a number is left over


def settable(bits: np.random.PCG64) -> Settable:
    """A generator whose state can be set."""
    address: int = bits.ctypes.state_address
    pointer = ctypes.c_void_p.from_address(address).value
    words = np.ctypeslib.as_array((ctypes.c_uint64 * 4).from_address(pointer or 0))
    half = np.ctypeslib.as_array((ctypes.c_int32 * 4).from_address(address))[2:3]  # behind a pointer of two words
    return Settable(np.random.Generator(bits), words, half)
