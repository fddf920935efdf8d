"""Worlds with segments in the simulator: many leases at the same time, carried out in the order in which they end.

Which segment a step of the traffic is of, is drawn by the shares; given how many steps each segment has, their order is
uniform among all orders. So the steps of a segment are that many independent uniform times within [0, 1], and the time
until `m` more of `r` have come is Beta(m, r - m + 1) of what is left: a lease is one draw, whatever the other segments
do meanwhile, and the law of the run is that of going step by step. A segment is asked when a step of it comes, with
what is known by then: what other segments have learned counts once their leases have ended.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidInstance, InvalidPolicy, InvalidRun
from satisfice.limits import MAX_HORIZON, MAX_RUNS, MAX_SEED, whole
from satisfice.policies import Policy, get_policy
from satisfice.policies.compiled import compile_native, link
from satisfice.policies.contract import SWEEP, Problem, State, arrange, learns, make_problem, new_state, sound, unsound
from satisfice.policies.kin import Kin, audience, borrow, longest, new_kin
from satisfice.problem import Setting
from satisfice.segments import SegmentedInstance
from satisfice.simulation.engine import decide, learn, share_of, start
from satisfice.simulation.world import World, draw, make_world

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHARING = ("shared", "separate", "pooled")


@dataclass(frozen=True)
class SegmentedResult:
    """What some runs did in a world with segments."""

    policy: str
    sharing: str
    segments: tuple[str, ...]
    pulls: Ints  # (runs, segments, arms), in the caller's order
    totals: Floats  # (runs, segments, arms): sums of the rewards
    cost_regret: Floats  # (runs, segments)
    quality_regret: Floats  # (runs, segments)

    @property
    def regret(self) -> Floats:
        """Both regrets together, over all segments, (runs,): their sum only makes sense when they are on one scale."""
        total: Floats = (self.cost_regret + self.quality_regret).sum(axis=1)
        return total


def simulate_segments(
    instance: SegmentedInstance,
    setting: Setting,
    policy: str | Policy | type[Policy] = "glr",
    *,
    horizon: int | float,
    runs: int = 1,
    sharing: str = "shared",
    seed: int = 0,
    planned: bool = True,
    compiled: bool = True,
) -> SegmentedResult:
    """Simulate a policy in a world with segments, exactly.

    Parameters
    ----------
    instance : SegmentedInstance
        The world.
    setting : Setting
        What is good enough, in each segment.
    policy : str or Policy
        The rule that decides in every segment.
    horizon : int
        Steps of the traffic in each run, over all segments.
    runs, seed : int
        As in `simulate`.
    sharing : "shared", "separate" or "pooled"
        Whether segments learn from each other, each learns by itself, or one rule serves all as if there were none.
    planned : bool
        Whether the rule is told the horizon (in a segment: its share of it); else it has none.
    compiled : bool
        As in `simulate`.

    Examples
    --------
    >>> from satisfice import BestReward, Instance
    >>> code, law = Instance(costs=[1, 9], means=[0.85, 0.9]), Instance(costs=[1, 9], means=[0.4, 0.9])
    >>> world = SegmentedInstance({"code": code, "law": law})
    >>> done = simulate_segments(world, BestReward(0.1), horizon=1_000, compiled=False)
    >>> done.pulls.sum(), done.pulls[0].argmax(axis=1).tolist()
    (np.int64(1000), [0, 1])
    """
    if not isinstance(instance, SegmentedInstance):
        raise InvalidRun(f"instance = {instance!r}; it must be a SegmentedInstance, such as load_segments('routellm')")
    if not isinstance(setting, Setting):
        raise InvalidRun(f"setting = {setting!r}; it must be a BestReward, a ReferenceArm or a FixedThreshold")
    if sharing not in SHARING:
        raise InvalidRun(f"sharing = {sharing!r}; it is one of {', '.join(SHARING)}")
    horizon, runs = whole("horizon", horizon, 1, MAX_HORIZON), whole("runs", runs, 1, MAX_RUNS)
    seed, rule = whole("seed", seed, 0, MAX_SEED), get_policy(policy)
    if sharing == "shared" and learns(rule):
        raise InvalidPolicy(f"{rule.id} learns more from rewards than sums, which is all that segments can share")
    setup = _Setup(instance, setting, rule, horizon, sharing, planned)
    play = (compile_native if compiled else link)(
        play_out, start=type(rule).start, decide=type(rule).decide, learn=type(rule).learn
    )
    pulls = np.zeros((runs, len(instance.names), instance.arms), dtype=np.int64)
    totals = np.zeros(pulls.shape)
    label = zlib.crc32(f"{rule.label} {sharing}".encode())
    for run in range(runs):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(label, run))))
        setup.run(play, pulls[run], totals[run], rng)
    gaps = [
        np.stack([gaps(inst) for inst in instance.segments.values()])
        for gaps in (setting.cost_gaps, setting.quality_gaps)
    ]
    both = [(pulls * gap).sum(axis=2) for gap in gaps]
    return SegmentedResult(rule.label, sharing, instance.names, pulls, totals, both[0], both[1])


class _Setup:
    """All that a run needs: one set of arms for each segment, or for all of them."""

    def __init__(
        self, instance: SegmentedInstance, setting: Setting, policy: Policy, horizon: int, sharing: str, planned: bool
    ) -> None:
        self.instance, self.policy, self.horizon, self.sharing = instance, policy, horizon, sharing
        kinds = [instance.whole()] if sharing == "pooled" else list(instance.segments.values())
        shares = np.ones(1) if sharing == "pooled" else instance.shares
        orders = [arrange(kind.costs, setting, kind.names) for kind in kinds]
        if len({len(order) for order in orders}) > 1:
            raise InvalidInstance(
                "the arms dearer than the reference arm are others in some segments than in the first"
            )
        self.orders = np.stack(orders)
        first = kinds[0]
        self.problem = make_problem(
            policy, setting, first.costs, orders[0], horizon if planned else None, bounded=True, binary=first.binary
        )
        self.costs = np.stack([kind.costs[order] for kind, order in zip(kinds, orders, strict=True)])
        self.horizons = np.zeros(len(kinds), dtype=np.int64)
        if planned:
            self.horizons[:] = np.maximum(np.round(horizon * shares), 1.0)
        # The world is in the caller's order.
        every = np.arange(instance.arms)
        self.worlds = [make_world(inst, every) for inst in instance.segments.values()]
        self.means = np.stack([world.means for world in self.worlds])
        self.tables = np.stack([world.probabilities for world in self.worlds])

    def run(self, play: Callable[..., Any], pulls: Ints, totals: Floats, rng: np.random.Generator) -> None:
        """One run; fills in the pulls and the sums of the rewards."""
        segments, arms = len(self.orders), self.orders.shape[1]
        memory = new_state(self.policy, arms)
        ints, floats = np.tile(memory.ints, (segments, 1)), np.tile(memory.floats, (segments, 1))
        kin = new_kin(segments, self.instance.arms)
        steps = np.array([self.horizon]) if segments == 1 else rng.multinomial(self.horizon, self.instance.shares)
        problem, world = self.problem, self.worlds[0]
        done = play(
            problem,
            self.costs,
            self.horizons,
            self.orders,
            world,
            self.means,
            self.tables,
            self.instance.shares,
            steps,
            kin,
            self.sharing == "shared",
            ints,
            floats,
            pulls,
            totals,
            rng,
        )
        if done < self.horizon:
            raise unsound(self.policy.label, arms, int(done))


def play_out(
    problem: Problem,
    costs: Floats,
    horizons: Ints,
    orders: Ints,
    world: World,
    means: Floats,
    tables: Floats,
    shares: Floats,
    steps: Ints,
    kin: Kin,
    shared: bool,
    ints: Ints,
    floats: Floats,
    pulls: Ints,
    totals: Floats,
    rng: np.random.Generator,
) -> int:
    """One run. Rules are asked for as many parts as there are `orders`, one for each segment or one for all; `pulls`
    and `totals`, (segments, arms), are filled in. Answers with the number of steps: all, or less where a rule
    answered with no lease."""
    parts, arms = orders.shape
    state = State(
        np.zeros(arms, dtype=np.int64),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(ints.shape[1], dtype=np.int64),
        np.zeros(floats.shape[1]),
    )
    lent, sums = np.zeros(arms, dtype=np.int64), np.zeros(arms)
    left = steps.copy()
    when, arm_of, size = np.full(parts, math.inf), np.full(parts, -2), np.zeros(parts, dtype=np.int64)
    done = 0
    for s in range(parts):
        state.ints[:] = 0
        state.floats[:] = 0.0
        start(part_problem(problem, costs[s], horizons[s]), state)
        ints[s, :] = state.ints
        floats[s, :] = state.floats
        if left[s] > 0:
            when[s] = rng.beta(1.0, left[s])
    while True:
        s = int(np.argmin(when))
        now = when[s]
        if now == math.inf:
            return done
        mine = part_problem(problem, costs[s], horizons[s])
        t = 0
        for k in range(arms):
            t += int(kin.pulls[s, orders[s, k]])
        state.ints[:] = ints[s]
        state.floats[:] = floats[s]
        if arm_of[s] == -2:
            if shared:
                borrow(kin, s, mine, orders[s], lent, sums)
                if horizons[s] == 0:
                    mine = part_problem(problem, costs[s], 2 * t + 1 + int(audience(kin, s, orders[s])))
            for k in range(arms):
                state.pulls[k] = int(kin.pulls[s, orders[s, k]]) + lent[k]
                state.totals[k] = kin.totals[s, orders[s, k]] + sums[k]
            arm, count = decide(mine, state, t, rng)
            ints[s, :] = state.ints
            floats[s, :] = state.floats
            if not sound(arm, count, arms):
                return done
            if shared:
                count = min(count, longest(t))
            count = min(count if arm != SWEEP else count * arms, left[s])
            arm_of[s], size[s] = arm, count
            left[s] -= count
            if count > 1:  # the first step is now, and count - 1 of those still to come are to follow
                when[s] = now + (1.0 - now) * rng.beta(count - 1.0, left[s] + 1.0)
                continue
        arm, count = arm_of[s], size[s]
        for k in range(arms):
            state.pulls[k] = int(kin.pulls[s, orders[s, k]])
            state.totals[k] = kin.totals[s, orders[s, k]]
        for k in range(0 if arm == SWEEP else arm, arms if arm == SWEEP else arm + 1):
            share = share_of(k, arm, count, arms)
            if share > 0:
                i = orders[s, k]
                total = 0.0
                if len(shares) == parts:
                    total = draw(segment_world(world, means[s], tables[s]), i, share, rng)[0]
                    pulls[s, i] += share
                    totals[s, i] += total
                else:
                    total = draw_mixed(world, means, tables, shares, i, share, pulls, totals, rng)
                kin.pulls[s, i] += share
                kin.totals[s, i] += total
                state.pulls[k] += share
                state.totals[k] += total
                learn(mine, state, k, share, total, rng)
        ints[s, :] = state.ints
        floats[s, :] = state.floats
        done += count
        arm_of[s] = -2
        when[s] = now + (1.0 - now) * rng.beta(1.0, left[s]) if left[s] > 0 else math.inf


def part_problem(problem: Problem, costs: Floats, horizon: int) -> Problem:
    """What the rule of a segment may know."""
    return Problem(
        costs,
        horizon,
        problem.alpha,
        problem.reference,
        problem.mu0,
        problem.bounded,
        problem.params,
        problem.binary,
        problem.sigma,
    )


def segment_world(world: World, means: Floats, table: Floats) -> World:
    """The arms as they are in a segment."""
    return World(world.model, means, world.sigma, world.values, table, world.squares)


def draw_mixed(
    world: World,
    means: Floats,
    tables: Floats,
    shares: Floats,
    arm: int,
    count: int,
    pulls: Ints,
    totals: Floats,
    rng: np.random.Generator,
) -> float:
    """The sum of rewards of so many steps of all traffic: of which segments they are is a multinomial draw, segment by
    segment."""
    total, mass = 0.0, 1.0
    for s in range(len(shares)):
        mine = 0
        if count > 0:
            mine = count if s == len(shares) - 1 or shares[s] >= mass else rng.binomial(count, shares[s] / mass)
        mass -= shares[s]
        if mine > 0:
            own = draw(segment_world(world, means[s], tables[s]), arm, mine, rng)[0]
            pulls[s, arm] += mine
            totals[s, arm] += own
            total += own
            count -= mine
    return total


__all__ = ["SegmentedResult", "simulate_segments"]
