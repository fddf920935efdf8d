"""Runs in a world that changes. A lease goes on over a change, and its rewards are drawn from both sides of it.

Rules are told nothing of the means. Costs they know: where those change, a rule begins again from the sums as they are,
as it does in a live study.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.changing import ChangingInstance
from satisfice.policies import Policy
from satisfice.policies.compiled import compile_native, link
from satisfice.policies.contract import SWEEP, Problem, State, arrange, make_problem, new_state, sound, unsound
from satisfice.problem import REWARD_MODELS, Instance, Setting
from satisfice.simulation.engine import decide, learn, share_of, start
from satisfice.simulation.world import World, draw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Pieces(NamedTuple):
    """The worlds that follow each other. In the policy's order."""

    times: Ints  # (pieces,) after how many pulls each begins
    model: int
    means: Floats  # (pieces, arms)
    sigma: float
    values: Floats  # (levels,)
    probabilities: Floats  # (pieces, arms, levels)


def draw_over(
    pieces: Pieces, k: int, arm: int, t: int, end: int, arms: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The sum of the rewards of arm `k`, and that of their squares, in the pulls from `t` to `end` of a lease of `arm`
    that began at `t`."""
    total, squares = 0.0, 0.0
    here = t
    piece = int(np.searchsorted(pieces.times, t, side="right")) - 1
    while here < end:
        following = end
        if piece + 1 < len(pieces.times):
            following = min(end, pieces.times[piece + 1])
        pulls = share_of(k, arm, following - t, arms) - share_of(k, arm, here - t, arms)
        if pulls > 0:
            world = World(
                pieces.model, pieces.means[piece], pieces.sigma, pieces.values, pieces.probabilities[piece], False
            )
            more = draw(world, k, pulls, rng)
            total += more[0]
            squares += more[1]
        here = following
        piece += 1
    return total, squares


def run_over(
    problem: Problem, state: State, pieces: Pieces, t: int, marks: Ints, record: Ints, rng: np.random.Generator
) -> int:
    """A part of a run, from `t` to the last of the `marks`, with the costs as they are. The rule begins, from the sums
    in `state`. Fills `record`, (marks, arms), with the pulls of every arm in this part up to each mark.

    Answers with the number of pulls: the last mark, or less where the rule answered with no lease.
    """
    arms = len(problem.costs)
    horizon = marks[-1]
    mark = 0
    done = np.zeros(arms, dtype=np.int64)
    start(problem, state)
    for k in range(arms):
        if state.pulls[k] > 0:
            learn(problem, state, k, state.pulls[k], state.totals[k], rng)
    while t < horizon:
        arm, pulls = decide(problem, state, t, rng)
        if not sound(arm, pulls, arms):
            break
        pulls = min(pulls, horizon - t)
        sweep = arm == SWEEP
        end = min(horizon, t + pulls * (arms if sweep else 1))
        while marks[mark] < end:
            for k in range(arms):
                record[mark, k] = done[k] + share_of(k, arm, marks[mark] - t, arms)
            mark += 1
        for k in range(0 if sweep else arm, arms if sweep else arm + 1):
            share = share_of(k, arm, end - t, arms)
            if share > 0:
                total, squares = draw_over(pieces, k, arm, t, end, arms, rng)
                done[k] += share
                state.pulls[k] += share
                state.totals[k] += total
                state.squares[k] += squares
                learn(problem, state, k, share, total, rng)
        t = end
    for k in range(arms):
        record[mark, k] = done[k]
    return t


class Course:
    """One policy in a world that changes: what all of its runs share."""

    def __init__(
        self,
        policy: Policy,
        instance: Instance,
        setting: Setting,
        horizon: int,
        checkpoints: Ints,
        compiled: bool,
    ) -> None:
        if not isinstance(instance, ChangingInstance):
            raise TypeError(f"{instance!r} does not change")
        self.policy, self.arms, self.horizon = policy, instance.arms, horizon
        self.end = int(checkpoints[-1])
        times = instance.times[instance.times < self.end]
        pieces = instance.pieces[: len(times)]
        # Regret is added up between marks: the checkpoints, and the changes, so that gaps are the same between two.
        self.marks = np.union1d(checkpoints, times[1:]).astype(np.int64)
        self.kept = np.searchsorted(self.marks, checkpoints)
        of_mark = np.searchsorted(times, self.marks, side="left") - 1
        gaps = np.array([[setting.cost_gaps(piece), setting.quality_gaps(piece)] for piece in pieces])
        self.gaps = gaps[of_mark]  # (marks, 2, arms)
        firsts = [p for p in range(len(pieces)) if p == 0 or not np.array_equal(pieces[p].costs, pieces[p - 1].costs)]
        self.parts = [
            self._part(instance, setting, pieces, times, first, last)
            for first, last in zip(firsts, [*firsts[1:], len(pieces)], strict=True)
        ]
        cls = type(policy)
        make = compile_native if compiled else link
        self.engine: Callable[..., int] = make(run_over, start=cls.start, decide=cls.decide, learn=cls.learn)

    def _part(
        self,
        instance: ChangingInstance,
        setting: Setting,
        pieces: tuple[Instance, ...],
        times: Ints,
        first: int,
        last: int,
    ) -> tuple[Ints, Problem, Pieces, Ints]:
        """The pieces from `first` to `last`, which have the same costs."""
        here = pieces[first]
        order = arrange(here.costs, setting, here.names)
        problem = make_problem(
            self.policy,
            setting,
            costs=here.costs,
            order=order,
            horizon=self.horizon,
            bounded=all(piece.bounded for piece in instance.pieces),
            binary=here.binary,
            sigma=here.noise,
        )
        worlds = Pieces(
            times=times[first:last],
            model=REWARD_MODELS.index(here.reward),
            means=np.array([piece.means[order] for piece in pieces[first:last]]),
            sigma=float(here.sigma),
            values=np.ascontiguousarray(here.values),
            probabilities=np.array([piece.probabilities[order] for piece in pieces[first:last]]),
        )
        end = self.end if last == len(times) else int(times[last])
        return order, problem, worlds, self.marks[(self.marks > times[first]) & (self.marks <= end)]

    def run(self, rng: np.random.Generator) -> tuple[Ints, Floats]:
        """One run: pulls of every arm, and both regret curves, (2, checkpoints), in the caller's order."""
        counts = np.zeros((len(self.marks), self.arms), dtype=np.int64)
        pulls, totals = np.zeros(self.arms, dtype=np.int64), np.zeros(self.arms)
        known, squares, mark = np.zeros(self.arms, dtype=np.int64), np.zeros(self.arms), 0
        for order, problem, worlds, marks in self.parts:
            state = new_state(self.policy, len(order))
            state.pulls[:], state.totals[:], state.squares[:] = known[order], totals[order], squares[order]
            record = np.zeros((len(marks), len(order)), dtype=np.int64)
            done = self.engine(problem, state, worlds, int(worlds.times[0]), marks, record, rng)
            if done < marks[-1]:
                raise unsound(self.policy.label, len(order), int(done))
            counts[mark : mark + len(marks)] = pulls
            counts[mark : mark + len(marks), order] += record
            pulls, mark = counts[mark + len(marks) - 1], mark + len(marks)
            known[order], totals[order], squares[order] = state.pulls, state.totals, state.squares
        steps = np.diff(counts, axis=0, prepend=0)
        curves = np.cumsum((steps[:, None, :] * self.gaps).sum(axis=2), axis=0).T
        return pulls, curves[:, self.kept]
