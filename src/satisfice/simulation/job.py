"""A job: all runs of one policy on one problem; a piece of it; and what comes out."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from satisfice.policies import Policy
from satisfice.policies.compiled import compile_native
from satisfice.policies.contract import Problem, arrange, make_problem, new_state, unsound
from satisfice.problem import Instance, Setting
from satisfice.simulation.changing import Course
from satisfice.simulation.common import CommonWorld, check_common, common_world
from satisfice.simulation.engine import Engine, Outset, Sheet, compiled_run, compiled_runs, plain_run, runs_compiled
from satisfice.simulation.regret import add_up
from satisfice.simulation.results import Result, Terms, versions
from satisfice.simulation.streams import reachable, settable, states
from satisfice.simulation.world import World, make_world


class Output(NamedTuple):
    """What some runs of a job did."""

    pulls: NDArray[np.int64]  # (runs, arms), in the caller's order
    cost_curve: NDArray[np.float64]  # (runs, checkpoints)
    quality_curve: NDArray[np.float64]  # (runs, checkpoints)


@dataclass(frozen=True, eq=False)
class Job:
    """All runs of one policy: everything that a worker needs, and nothing that depends on who works."""

    policy: Policy
    instance: Instance
    setting: Setting
    horizon: int = field(kw_only=True)
    seed: int = field(kw_only=True)
    checkpoints: NDArray[np.int64] = field(kw_only=True)
    compiled: bool = field(default=True, kw_only=True)  # whether the rule is compiled or runs as plain Python
    common: bool = field(default=False, kw_only=True)  # whether the rewards are those of every policy of the same run

    def check(self) -> None:
        """Raise `InvalidPolicy` when the policy cannot work here, `InvalidRun` where rewards cannot be shared."""
        self.problem  # noqa: B018 - making it is the check
        if self.common:
            check_common(self.instance, self.horizon)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The caller's indices of the arms that the policy sees, in its order."""
        return arrange(self.instance.costs, self.setting, self.instance.names)

    @cached_property
    def problem(self) -> Problem:
        """What the policy may know; `InvalidPolicy` when it cannot work here."""
        return make_problem(
            self.policy,
            self.setting,
            costs=self.instance.costs,
            order=self.order,
            horizon=self.horizon,
            bounded=self.instance.bounded,
            binary=self.instance.binary,
            sigma=self.instance.noise,
        )

    @cached_property
    def world(self) -> World:
        """What the policy does not know."""
        return make_world(self.instance, self.order, self.policy.uses_squares, self.policy.until_zeros)

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """Cost and quality gaps, (2, arms), in the policy's order."""
        both = self.setting.cost_gaps(self.instance), self.setting.quality_gaps(self.instance)
        return np.stack([gaps[self.order] for gaps in both])  # rows one after the other, also of a single arm

    @property
    def engine(self) -> Engine:
        """One run of the policy."""
        return (compiled_run if self.compiled else plain_run)(self.policy, self.common)

    def stream(self, run: int) -> np.random.Generator:
        """The random numbers of one run, from the seed, the policy's label and the number of the run alone."""
        sequence = np.random.SeedSequence(self.seed, spawn_key=(self._label, run))
        return np.random.Generator(np.random.PCG64(sequence))

    @property
    def _label(self) -> int:
        return zlib.crc32(self.policy.label.encode())

    @property
    def prepared(self) -> bool:
        """Whether the engine is compiled already, here or in its cache, or has to be compiled by whoever needs it."""
        return not self.compiled or self.common or len(self.instance.pieces) > 1 or runs_compiled(self.policy)

    def prepare(self) -> None:
        """Compile the engine, or load it from its cache."""
        if self.compiled:
            self.first_pull.work()

    @property
    def first_pull(self) -> Piece:
        """A run of one pull, for which the engine has to be compiled."""
        return Piece(replace(self, checkpoints=np.ones(1, dtype=np.int64)), 0, 1)

    def run(self, first: int, count: int) -> Output:
        """Runs `first`, ..., `first + count - 1`.

        Pulls at the checkpoints are kept for one run at a time: of all runs they would not fit into memory.
        """
        pulls = np.zeros((count, self.instance.arms), dtype=np.int64)
        curves = np.zeros((count, 2, len(self.checkpoints)))
        if len(self.instance.pieces) > 1:
            course = Course(self.policy, self.instance, self.setting, self.horizon, self.checkpoints, self.compiled)
            for i in range(count):
                pulls[i], curves[i] = course.run(self.stream(first + i))
        elif self.compiled and not self.common and reachable():
            self._run_at_once(first, pulls, curves)
        else:
            self._run_one_by_one(first, pulls, curves)
        return Output(pulls, cost_curve=curves[:, 0], quality_curve=curves[:, 1])

    def _run_at_once(self, first: int, pulls: NDArray[np.int64], curves: NDArray[np.float64]) -> None:
        state = new_state(self.policy, len(self.order))
        begun = new_state(self.policy, len(self.order))
        outset = Outset(begun, states(self.seed, self._label, first, len(pulls)), *settable(np.random.PCG64(0)))
        record = np.zeros((len(self.checkpoints), len(self.order)), dtype=np.int64)
        sheet = Sheet(self.order, self.gaps, pulls, curves, record)
        done, t = compiled_runs(self.policy)(self.problem, state, self.world, self.checkpoints, outset, sheet)
        if done < len(pulls):
            raise unsound(self.policy.label, len(self.order), int(t))

    def _run_one_by_one(self, first: int, pulls: NDArray[np.int64], curves: NDArray[np.float64]) -> None:
        engine, weigh, arms = self.engine, add_up if not self.compiled else compile_native(add_up), len(self.order)
        record = np.zeros((len(self.checkpoints), arms), dtype=np.int64)
        for i in range(len(pulls)):
            state = new_state(self.policy, arms)
            world: World | CommonWorld = self.world
            if self.common:
                end = int(self.checkpoints[-1])
                world = common_world(self.world, self.order, seed=self.seed, run=first + i, horizon=end)
            with np.errstate(over="ignore" if self.common else None):  # hashes of plain Python may overflow
                engine(self.problem, state, world, self.checkpoints, record, self.stream(first + i))
            weigh(record, self.gaps, curves[i])
            pulls[i, self.order] = record[-1]

    def trajectory(
        self, rng: np.random.Generator, begun: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
    ) -> NDArray[np.int64]:
        """Pulls of every arm up to every checkpoint, (checkpoints, arms), in the caller's order, of one run.

        `begun`: pulls and totals of every arm that the policy knows already; they are not counted again. It is for
        policies that read nothing but these sums, as GLR does.
        """
        record = np.zeros((len(self.checkpoints), len(self.order)), dtype=np.int64)
        state = new_state(self.policy, len(self.order))
        if begun is not None:
            state.pulls[:], state.totals[:] = begun[0][self.order], begun[1][self.order]
        self.engine(self.problem, state, self.world, self.checkpoints, record, rng)
        pulls = np.zeros((len(self.checkpoints), self.instance.arms), dtype=np.int64)
        pulls[:, self.order] = record
        return pulls

    def terms(self, runs: int) -> Terms:
        """The terms of so many runs, with the versions of this environment."""
        return Terms(
            policy=self.policy.label,
            params=self.policy.params,
            instance=self.instance,
            setting=self.setting,
            horizon=self.horizon,
            runs=runs,
            seed=self.seed,
            common=self.common,
            versions=versions(),
        )

    def result(self, parts: Mapping[int, Output]) -> Result:
        """The result from the outputs of all runs, each under its first run."""
        pulls, cost, quality = (
            np.concatenate(column) for column in zip(*(part for _, part in sorted(parts.items())), strict=True)
        )
        return Result(
            terms=self.terms(len(pulls)),
            checkpoints=self.checkpoints,
            pulls=pulls,
            cost_curve=cost,
            quality_curve=quality,
        )


class Piece(NamedTuple):
    """Some runs of a job: what is handed to a worker."""

    job: Job
    first: int
    runs: int

    def work(self) -> Output:
        """Do them."""
        return self.job.run(self.first, self.runs)
