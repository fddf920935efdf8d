"""Planning with guessed means: how long until it is settled, what that costs, and what it saves afterwards.

Theory alone answers with constants that are far from what happens, so this simulates. Every run draws its means from
the guessed ranges, so the spread of an answer covers both what is not known beforehand and the luck of the rewards.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satisfice.bounds.picture import log_times
from satisfice.bounds.upper import whole_horizon
from satisfice.errors import InvalidInstance, InvalidPolicy, InvalidRun, NoFeasibleArm
from satisfice.policies import Policy, all_policies, get_policy
from satisfice.policies.contract import arrange, make_problem, new_state
from satisfice.problem import Floats, Instance, ReferenceArm, Setting
from satisfice.simulate.engine import compiled_run, make_world

Ints = NDArray[np.int64]
Guess = float | tuple[float, float]

# Settled: from then on, at least this share of the pulls between any time and twice it is of one arm, the choice.
STEADY = 0.95
# The choice is the arm of the second half of the horizon; what would settle later has not settled. A shorter stretch
# would not do: an arm's part of a round of PE is a long stretch of that arm, too, but never half of all pulls.
LAST = 0.5
PACK = 2**26  # two whole numbers below this fit into one float
SEARCHED = (10**3, 10**4, 10**5, 10**6, 10**7)


@dataclass(frozen=True)
class Outlook:
    """What one policy does in every run, (runs,) each."""

    policy: str
    settled: Floats  # pulls until it is settled on the right arm; nan when that is not in the first half of the horizon
    choice: Ints  # the arm that it plays most in the second half
    right: NDArray[np.bool_]  # whether that is the cheapest feasible arm, or a feasible one as cheap
    spend: Floats  # cost of the pulls until it is settled, or until the horizon
    cost_regret: Floats  # what these pulls cost beyond the optimal arm's cost
    quality_regret: Floats  # reward that they miss below the threshold
    saved: Floats  # cost saved per 1,000 pulls once settled, against always playing `Plan.against`; nan if it is not
    lost: Floats  # reward given up per 1,000 pulls once settled, against the same; nan if it is not
    savings: Floats  # (runs, times): cost saved so far against the same, at `Plan.times`

    @property
    def share(self) -> float:
        """Share of the runs that settle on the right arm."""
        return float(np.isfinite(self.settled).mean())


@dataclass(frozen=True)
class Plan:
    """The outlooks of several policies on the same runs."""

    middle: Instance  # with the middle of every guess
    guess: tuple[tuple[float, float], ...]
    setting: Setting
    horizon: int
    searched: bool  # whether the horizon was searched for, not given
    against: str  # what the savings are compared with
    times: Ints
    dropped: int  # draws of the guess in which no arm is feasible; they are left out
    outlooks: tuple[Outlook, ...]


def plan(
    costs: Sequence[float],
    guess: Sequence[Guess],
    setting: Setting,
    horizon: float | None = None,
    policies: Sequence[str | Policy] | None = None,
    runs: int = 100,
    seed: int = 0,
    names: Sequence[str] | None = None,
    report: Callable[[str], None] | None = None,
) -> Plan:
    """What each policy would cost and lose until it settles, and what the settled choice saves from then on.

    Parameters
    ----------
    costs : sequence of float
        Cost of one pull of each arm.
    guess : sequence of float or (low, high)
        Guessed mean reward of each arm within [0, 1]: a number, or a range from which every run draws.
    setting : Setting
        What is good enough.
    horizon : float, optional
        Number of pulls to plan for. By default the smallest power of ten from 10^3 to 10^7 at which the first policy
        settles in nine of ten runs.
    policies : sequence of str or Policy, optional
        By default every policy that serves the setting, except TS-CS, which never settles and takes long to simulate.
    runs : int
        Simulated runs of each policy.
    seed : int
        Seed of all random numbers; every policy sees the same draws of the means.
    names : sequence of str, optional
        Names of the arms.
    report : function, optional
        Called with the label of every policy before it is simulated.

    Returns
    -------
    Plan
        A run is settled at the time from which on at least 95% of the pulls between any `t` and `2 t` are of one arm.
        It is not settled when that is later than half of the horizon, or when the arm is not the right one. Times are
        read on a grid of about 240 points, evenly spaced in their logarithm.

    Raises
    ------
    SatisficeError
        A guess outside [0, 1], a policy that does not serve the setting, or no feasible arm in any draw.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> result = plan([0.2, 1, 8], [0.6, (0.85, 0.88), 0.9], BestReward(0.1), horizon=1e6, policies=["pe-cs"], runs=20)
    >>> result.outlooks[0].share, round(float(np.median(result.outlooks[0].saved)))
    (1.0, 7000)
    """
    ranges = tuple(_range(one) for one in guess)
    if len(ranges) != len(costs):
        raise InvalidInstance(f"{len(costs)} costs but {len(ranges)} guesses; there must be one of each per arm")
    middle = Instance(costs, [(low + high) / 2 for low, high in ranges], names, label="guess")
    chosen = [get_policy(one) for one in policies] if policies is not None else default_policies(setting)
    if not chosen:
        raise InvalidPolicy("no policy was given; name at least one")
    if isinstance(setting, ReferenceArm):
        middle.index(setting.arm)
    if runs != int(runs) or runs < 1:
        raise InvalidRun(f"runs = {runs}; it must be a whole number of at least 1")
    draws = [np.random.default_rng([seed, run]).uniform(*np.transpose(ranges)) for run in range(int(runs))]
    worlds = [middle.replace(means=means) for means in draws]
    possible = [world for world in worlds if setting.feasible(world).any()]
    if not possible:
        raise NoFeasibleArm(f"no arm reaches the threshold {setting.threshold(middle):g} in any of {len(worlds)} draws")
    steps = _search(chosen[0], setting, possible[:30], seed) if horizon is None else whole_horizon(horizon)
    times = np.array(log_times(steps), dtype=np.int64)
    outlooks = []
    for policy in chosen:
        if report is not None:
            report(policy.label)
        outlooks.append(_outlook(policy, setting, possible, times, seed))
    return Plan(
        middle=middle,
        guess=ranges,
        setting=setting,
        horizon=steps,
        searched=horizon is None,
        against="the reference arm" if isinstance(setting, ReferenceArm) else "the best arm",
        times=times,
        dropped=len(worlds) - len(possible),
        outlooks=tuple(outlooks),
    )


def default_policies(setting: Setting) -> list[Policy]:
    """Every policy that serves the setting, the project's own first, without TS-CS."""
    served = [cls for id, cls in all_policies().items() if isinstance(setting, cls.settings) and id != "ts-cs"]
    return [cls() for cls in sorted(served, key=lambda cls: cls.id != "glr")]


def settle(pulls: Ints, times: Ints) -> tuple[float, int]:
    """When one run settles (nan: not), and on which arm, from its pulls at `times`, (times, arms).

    Settled by the pulls between `t` and `2 t`, not by all that are left: otherwise every policy would look settled at
    once on a horizon that is long enough.
    """
    horizon = int(times[-1])
    starts, before = np.append(0, times[:-1]), np.vstack([np.zeros_like(pulls[:1]), pulls[:-1]])
    choice = int((pulls[-1] - before[np.searchsorted(starts, LAST * horizon, side="right") - 1]).argmax())
    ends = np.searchsorted(times, np.minimum(np.maximum(2 * starts, 1), horizon))
    share = (pulls[ends, choice] - before[:, choice]) / (times[ends] - starts)
    restless = np.flatnonzero(share < STEADY)
    at = int(restless[-1]) + 1 if len(restless) else 0
    found = at < len(starts) and starts[at] <= LAST * horizon
    return float(starts[at]) if found else math.nan, choice


def _range(guess: Guess) -> tuple[float, float]:
    low, high = guess if isinstance(guess, tuple) else (guess, guess)
    if not 0 <= low <= high <= 1:
        raise InvalidInstance(f"the guess {guess} is not a mean, or a range of means from low to high, within [0, 1]")
    return float(low), float(high)


def _search(policy: Policy, setting: Setting, worlds: list[Instance], seed: int) -> int:
    horizon = SEARCHED[0]
    for horizon in SEARCHED:
        times = np.array(log_times(horizon), dtype=np.int64)
        settled = _outlook(policy, setting, worlds, times, seed).settled
        if np.isfinite(settled).mean() >= 0.9:
            break
    return horizon


def _outlook(policy: Policy, setting: Setting, worlds: list[Instance], times: Ints, seed: int) -> Outlook:
    settled, saved, lost = np.zeros((3, len(worlds)))
    spend, cost, quality = np.zeros((3, len(worlds)))
    choice, right = np.zeros(len(worlds), dtype=np.int64), np.zeros(len(worlds), dtype=np.bool_)
    savings = np.zeros((len(worlds), len(times)))
    for run, world in enumerate(worlds):
        pulls = trajectory(policy, setting, world, times, np.random.SeedSequence([seed, run]))
        cost_gaps, quality_gaps = setting.cost_gaps(world), setting.quality_gaps(world)
        when, arm = settle(pulls, times)
        choice[run], right[run] = arm, cost_gaps[arm] == 0 and quality_gaps[arm] == 0
        # A policy that plays a wrong arm all the time is mistaken or, as FT-UCB, not yet done with testing it.
        settled[run] = when if right[run] else math.nan
        against = world.index(setting.arm) if isinstance(setting, ReferenceArm) else int(world.means.argmax())
        # A run that does not settle counts up to the horizon: leaving it out would flatter the policy.
        at = int(np.searchsorted(times, settled[run])) if math.isfinite(settled[run]) else len(times) - 1
        until = np.zeros(world.arms) if settled[run] == 0 else pulls[at]
        spend[run], cost[run], quality[run] = until @ world.costs, until @ cost_gaps, until @ quality_gaps
        steady = 1000 if math.isfinite(settled[run]) else math.nan
        saved[run] = steady * (world.costs[against] - world.costs[arm])
        lost[run] = steady * (world.means[against] - world.means[arm])
        savings[run] = times * world.costs[against] - pulls @ world.costs
    return Outlook(policy.label, settled, choice, right, spend, cost, quality, saved, lost, savings)


def trajectory(
    policy: Policy, setting: Setting, instance: Instance, times: Ints, stream: np.random.SeedSequence
) -> Ints:
    """The pulls of every arm at `times`, (times, arms), of one run.

    The engine reports two weighted sums of pulls over time, meant for the two regrets. With the weights 1 and 2^26 on
    two arms, a sum is the pulls of both, exactly; the same run is repeated, from the same stream, until every arm has
    been seen.
    """
    order = arrange(instance.costs, setting, instance.names)
    horizon = int(times[-1])
    problem = make_problem(
        policy, setting, instance.costs, order, horizon, instance.bounded, instance.binary, instance.noise
    )
    world = make_world(instance, order)
    engine = compiled_run(policy)
    key = np.random.SeedSequence(stream.entropy, spawn_key=(zlib.crc32(policy.label.encode()),))
    packed = 2 if horizon < PACK else 1
    pulls = np.zeros((len(times), instance.arms), dtype=np.int64)
    for group in range(0, len(order), 2 * packed):
        weights, sums = np.zeros((2, len(order))), np.zeros((2, len(times)))
        seen = [divmod(place, packed) for place in range(min(2 * packed, len(order) - group))]
        for place, (sheet, digit) in enumerate(seen):
            weights[sheet, group + place] = PACK**digit
        rng = np.random.Generator(np.random.PCG64(key))
        state = new_state(policy, len(order))
        engine(problem, state, world, weights[0], weights[1], times, sums[0], sums[1], rng)
        for place, (sheet, digit) in enumerate(seen):
            pulls[:, order[group + place]] = sums[sheet] // PACK**digit % (PACK if packed == 2 else math.inf)
    return pulls
