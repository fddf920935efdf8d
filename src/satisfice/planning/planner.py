"""Planning with guessed means: how long until it is settled, what that costs, and what it saves afterwards.

Theory alone answers with constants that are far from what happens, so this simulates. Every run draws its means from
the guessed ranges, so the spread of an answer covers both what is not known beforehand and the luck of the rewards.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from satisfice.errors import InvalidInstance, InvalidPolicy, NoFeasibleArm
from satisfice.instances.doubt import draw_instances
from satisfice.limits import MAX_HORIZON, MAX_RUNS, whole
from satisfice.planning.outlook import Ints, Outlook, Plan, settling
from satisfice.policies import Policy, all_policies, get_policy
from satisfice.problem import Floats, Instance, Setting
from satisfice.simulation.checkpoints import log_times
from satisfice.simulation.job import Job

Guess = float | tuple[float, float]
Known = tuple[Ints, Floats]  # pulls and totals of every arm that a policy begins with

SEARCHED = (10**3, 10**4, 10**5, 10**6, 10**7)


def plan(
    costs: Sequence[float],
    guess: Sequence[Guess],
    setting: Setting,
    horizon: float | None = None,
    *,
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
    >>> result.right
    'arm-2'
    """
    ranges = tuple(_range(one) for one in guess)
    if len(ranges) != len(costs):
        raise InvalidInstance(f"{len(costs)} costs but {len(ranges)} guesses; there must be one of each per arm")
    middle = Instance(costs, [(low + high) / 2 for low, high in ranges], names, label="guess")
    runs = whole("runs", runs, 1, MAX_RUNS)
    draws = [np.random.default_rng([seed, run]).uniform(*np.transpose(ranges)) for run in range(runs)]
    worlds = [middle.replace(means=means) for means in draws]
    return _plan(worlds, middle, ranges, setting, horizon, policies=policies, seed=seed, report=report)


def plan_instance(
    instance: Instance,
    setting: Setting,
    horizon: float | None = None,
    *,
    policies: Sequence[str | Policy] | None = None,
    runs: int = 100,
    seed: int = 0,
    begun: bool = False,
    report: Callable[[str], None] | None = None,
) -> Plan:
    """`plan` for an instance: its means are the guess, and where it comes from a log, they are drawn by its counts.

    Parameters
    ----------
    begun : bool
        Whether the policies know the rows of the log already, and count on from there. For GLR alone.

    Examples
    --------
    >>> from satisfice import BestReward
    >>> log = Instance([1, 2], [0.5, 0.9], ["small", "large"], counts=[50, 50])
    >>> plan_instance(log, BestReward(0.1), 1e4, policies=["pe-cs"], runs=5).right
    'large'
    """
    if not instance.bounded:
        raise InvalidInstance("a plan is for rewards within [0, 1]; divide those of the instance by their largest")
    runs = whole("runs", runs, 1, MAX_RUNS)
    if instance.counts is None:
        worlds, ranges = [instance] * runs, tuple((mean, mean) for mean in instance.means.tolist())
    else:
        worlds = draw_instances(instance, runs, np.random.default_rng(seed))
        means = np.array([world.means for world in worlds])
        ends = zip(means.min(axis=0).tolist(), means.max(axis=0).tolist(), strict=True)
        ranges = tuple(ends)
    known = None
    if begun and instance.counts is not None:
        known = instance.counts, instance.counts * instance.means
    return _plan(worlds, instance, ranges, setting, horizon, policies=policies, seed=seed, report=report, known=known)


def _plan(
    worlds: list[Instance],
    middle: Instance,
    ranges: tuple[tuple[float, float], ...],
    setting: Setting,
    horizon: float | None,
    *,
    policies: Sequence[str | Policy] | None,
    seed: int,
    report: Callable[[str], None] | None,
    known: Known | None = None,
) -> Plan:
    """The plan for these worlds, one for each run."""
    chosen = [get_policy(one) for one in policies] if policies is not None else default_policies(setting)
    if not chosen:
        raise InvalidPolicy("no policy was given; name at least one")
    if setting.reference is not None:
        middle.index(setting.reference)
    possible = [world for world in worlds if setting.feasible(world).any()]
    if not possible:
        raise NoFeasibleArm(f"no arm reaches the threshold {setting.threshold(middle):g} in any of {len(worlds)} draws")
    steps = (
        _search(chosen[0], setting, possible[:30], seed=seed, known=known)
        if horizon is None
        else whole("horizon", horizon, 1, MAX_HORIZON)
    )
    times = log_times(steps)
    outlooks = []
    for policy in chosen:
        if report is not None:
            report(policy.label)
        outlooks.append(_outlook(policy, setting, possible, times=times, seed=seed, known=known))
    right = np.bincount([setting.optimal_arm(world) for world in possible], minlength=middle.arms) / len(possible)
    return Plan(
        middle=middle,
        guess=ranges,
        setting=setting,
        horizon=steps,
        searched=horizon is None,
        against="the best arm" if setting.reference is None else "the reference arm",
        times=times,
        dropped=len(worlds) - len(possible),
        outlooks=tuple(outlooks),
        shares=tuple(right.tolist()),
    )


def default_policies(setting: Setting) -> list[Policy]:
    """Every policy that serves the setting, the project's own first, without TS-CS and those for means that change."""
    usual = [cls for id, cls in all_policies().items() if id != "ts-cs" and not cls.changing]
    served = [cls for cls in usual if cls.serves(setting)]
    return [cls() for cls in sorted(served, key=lambda cls: cls.id != "glr")]


def _range(guess: Guess) -> tuple[float, float]:
    low, high = guess if isinstance(guess, tuple) else (guess, guess)
    if not 0 <= low <= high <= 1:
        raise InvalidInstance(f"the guess {guess} is not a mean, or a range of means from low to high, within [0, 1]")
    return float(low), float(high)


def _search(policy: Policy, setting: Setting, worlds: list[Instance], *, seed: int, known: Known | None) -> int:
    horizon = SEARCHED[0]
    for horizon in SEARCHED:
        settled = _outlook(policy, setting, worlds, times=log_times(horizon), seed=seed, known=known).settled
        if np.isfinite(settled).mean() >= 0.9:
            break
    return horizon


def _outlook(
    policy: Policy, setting: Setting, worlds: list[Instance], *, times: Ints, seed: int, known: Known | None
) -> Outlook:
    settled, saved, lost = np.zeros((3, len(worlds)))
    spend, cost, quality = np.zeros((3, len(worlds)))
    choice, right = np.zeros(len(worlds), dtype=np.int64), np.zeros(len(worlds), dtype=np.bool_)
    savings = np.zeros((len(worlds), len(times)))
    for run, world in enumerate(worlds):
        job = Job(policy, world, setting, horizon=int(times[-1]), seed=seed, checkpoints=times)
        pulls = trajectory(job, run, known)
        cost_gaps, quality_gaps = setting.cost_gaps(world), setting.quality_gaps(world)
        when, arm = settling(pulls, times)
        choice[run], right[run] = arm, cost_gaps[arm] == 0 and quality_gaps[arm] == 0
        # A policy that plays a wrong arm all the time is mistaken or, as FT-UCB, not yet done with testing it.
        settled[run] = when if right[run] else math.nan
        against = int(world.means.argmax()) if setting.reference is None else world.index(setting.reference)
        # A run that does not settle counts up to the horizon: leaving it out would flatter the policy.
        at = int(np.searchsorted(times, settled[run])) if math.isfinite(settled[run]) else len(times) - 1
        until = np.zeros(world.arms) if settled[run] == 0 else pulls[at]
        spend[run], cost[run], quality[run] = until @ world.costs, until @ cost_gaps, until @ quality_gaps
        steady = 1000 if math.isfinite(settled[run]) else math.nan
        saved[run] = steady * (world.costs[against] - world.costs[arm])
        lost[run] = steady * (world.means[against] - world.means[arm])
        savings[run] = times * world.costs[against] - pulls @ world.costs
    return Outlook(policy.label, settled, choice, right, spend, cost, quality, saved, lost, savings)


def trajectory(job: Job, run: int, known: Known | None = None) -> Ints:
    """The pulls of every arm at the job's checkpoints, (checkpoints, arms), of one run of a plan.

    The random numbers are from the seed, the number of the run and the policy's label alone, and others than those that
    the run's means are drawn with.
    """
    stream = np.random.SeedSequence([job.seed, run], spawn_key=(zlib.crc32(job.policy.label.encode()),))
    return job.trajectory(np.random.Generator(np.random.PCG64(stream)), known)
