"""Sweeps: simulations over every combination of some parameters, each kept in a file and never done twice."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice import __version__
from satisfice.errors import InvalidData, InvalidRun
from satisfice.limits import MAX_HORIZON, MAX_RUNS, whole
from satisfice.policies import Policy, get_policy
from satisfice.problem import FixedThreshold, Instance, Setting
from satisfice.simulation.checkpoints import even_times
from satisfice.simulation.job import Job, Output
from satisfice.simulation.results import Result, Results, load_results
from satisfice.simulation.schedule import carry_out, split
from satisfice.words import is_number, listed

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

# What may be swept, besides the parameters of policies ("pe-cs.kappa").
NAMES = ("alpha", "threshold", "horizon", "instance", "seed")
MOST = 100_000
Value = float | str
Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class SweepPoint:
    """One combination: the values that are swept, and one policy's results there."""

    values: dict[str, Value]
    result: Result


@dataclass(frozen=True)
class Sweep:
    """The results of every combination and policy."""

    swept: tuple[str, ...]
    points: tuple[SweepPoint, ...]

    def to_polars(self) -> pl.DataFrame:
        """One row per combination, policy and regret: mean, standard error and the rest of a summary; flat."""
        import polars as pl

        rows = []
        for point in self.points:
            label = point.result.terms.policy
            for row in Results({label: point.result}).summary().to_dicts():
                rows.append({**point.values, **row})
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Mean regrets against the first swept parameter, one line per policy (and values of the others)."""
        from satisfice.plots import save
        from satisfice.simulation.sweep_picture import picture

        figure = picture(self)
        if path is not None:
            save(figure, path)
        return figure


@dataclass(frozen=True)
class _Cell:
    """All runs of one policy at one combination."""

    values: tuple[tuple[str, Value], ...]
    job: Job
    runs: int

    @cached_property
    def file(self) -> str:
        """The name of its file: what a person wants to know, and a digest of all settings and the version."""
        terms = self.job.terms(self.runs).to_dict() | {"versions": __version__, "marks": self.job.checkpoints.tolist()}
        digest = hashlib.sha256(json.dumps(terms, sort_keys=True).encode()).hexdigest()[:12]
        words = "-".join([*(f"{name}{value}" for name, value in self.values), self.job.policy.id])
        return "".join(c if c.isalnum() or c in ".-" else "-" for c in words)[:120] + f"-{digest}.parquet"

    def stored(self, folder: Path) -> Result | None:
        """Its result, if it is there whole and was made by the same settings."""
        try:
            result = load_results(folder / self.file)[self.job.policy.label]
        except (InvalidData, KeyError):
            return None
        return result if result.terms == self.job.terms(self.runs) else None


def sweep(
    instance: Instance | str,
    setting: Setting,
    policies: Sequence[str | Policy | type[Policy]],
    horizon: float,
    over: Mapping[str, Sequence[Value]],
    *,
    runs: int = 50,
    seed: int = 0,
    folder: str | Path = "sweep",
    checkpoints: int = 50,
    workers: int | None = None,
    common: bool = False,
    report: Report | None = None,
) -> Sweep:
    """Simulate every combination of some parameters; what is there already is not simulated again.

    Parameters
    ----------
    instance, setting, policies, horizon, runs, seed, checkpoints, workers, common
        As in `simulate`; the values that are swept take their places.
    over : mapping
        The values of every swept parameter: `alpha`, `threshold`, `horizon`, `instance` (names or files), `seed`, or a
        parameter of a policy, as in `"pe-cs.kappa"`.
    folder : path
        Where the results of every combination are kept, one Parquet file each. A sweep that was stopped goes on there.
    report : function, optional
        Called with (simulations done, in all, what is being done).

    Raises
    ------
    SatisficeError
        A parameter that cannot be swept, or a combination that cannot be simulated; nothing is simulated then.

    Examples
    --------
    >>> import tempfile
    >>> from satisfice.settings import BestReward
    >>> with tempfile.TemporaryDirectory() as kept:
    ...     found = sweep("toy:0.78", BestReward(0.1), ["etc-cs"], 1000, {"alpha": [0.1, 0.2]}, runs=2, folder=kept)
    >>> found.to_polars().select("alpha", "policy", "regret").rows()[:2]
    [(0.1, 'etc-cs', 'cost'), (0.1, 'etc-cs', 'quality')]
    """
    runs = whole("runs", runs, 1, MAX_RUNS)
    numbers = {"runs": runs, "seed": seed, "checkpoints": checkpoints}
    cells = _cells(instance, setting, policies, horizon, over, **numbers, common=common)
    kept = Path(folder)
    kept.mkdir(parents=True, exist_ok=True)
    known = {cell.file: cell.stored(kept) for cell in cells}
    missing = [cell for cell in {cell.file: cell for cell in cells}.values() if known[cell.file] is None]
    done = len(cells) - len(missing)
    tell = report or (lambda done, total, what: None)
    tell(done, len(cells), f"{done} of {len(cells)} are there already")
    owners = {cell.job: cell for cell in missing}
    parts: dict[str, dict[int, Output]] = {cell.file: {} for cell in missing}
    pieces = [piece for cell in missing for piece in split([cell.job], runs, 4)]
    for piece, output in carry_out(pieces, workers=workers):
        cell = owners[piece.job]
        parts[cell.file][piece.first] = output
        if sum(len(part.pulls) for part in parts[cell.file].values()) == runs:
            result = cell.job.result(parts.pop(cell.file))
            Results({cell.job.policy.label: result}).save(kept / cell.file)
            known[cell.file] = result
            done += 1
            tell(done, len(cells), cell.file.rpartition("-")[0])
    points = []
    for cell in cells:
        found = known[cell.file]
        assert found is not None
        points.append(SweepPoint(dict(cell.values), found))
    return Sweep(tuple(over), tuple(points))


def _cells(
    instance: Instance | str,
    setting: Setting,
    policies: Sequence[str | Policy | type[Policy]],
    horizon: float,
    over: Mapping[str, Sequence[Value]],
    *,
    runs: int,
    seed: int,
    checkpoints: int,
    common: bool,
) -> list[_Cell]:
    from satisfice.instances import load_instance

    chosen = [get_policy(one) for one in policies]
    if not chosen or not over:
        raise InvalidRun("a sweep needs at least one policy and one parameter with its values")
    _check(over, chosen)
    cells = []
    for values in itertools.product(*over.values()):
        at = dict(zip(over, values, strict=True))
        where = _setting(setting, at)
        world = instance if isinstance(instance, Instance) else load_instance(instance)
        world = load_instance(str(at["instance"])) if "instance" in at else world
        steps = whole("horizon", at.get("horizon", horizon), 1, MAX_HORIZON)
        marks = even_times(steps, min(checkpoints, steps))
        for policy in chosen:
            own = {name.partition(".")[2]: value for name, value in at.items() if name.startswith(f"{policy.id}.")}
            others = [name for name in at if "." in name and not name.startswith(f"{policy.id}.")]
            if others and any(at[name] != over[name][0] for name in others):
                continue  # a parameter of another policy changes nothing here: once is enough
            made = replace(policy, **own) if own else policy
            number = int(at.get("seed", seed))
            job = Job(made, world, where, horizon=steps, seed=number, checkpoints=marks, common=common)
            job.check()
            where.optimal_arm(world)
            shown = tuple((name, value) for name, value in at.items() if name not in others)
            cells.append(_Cell(shown, job, runs))
    return cells


def _check(over: Mapping[str, Sequence[Value]], policies: Sequence[Policy]) -> None:
    size = 1
    for name, values in over.items():
        family, dot, parameter = name.partition(".")
        if dot:
            found = [policy for policy in policies if policy.id == family]
            if not found:
                raise InvalidRun(f"{name!r} cannot be swept: {family!r} is none of the policies")
            if parameter not in found[0].params:
                raise InvalidRun(
                    f"{family} has no parameter {parameter!r}; it has {listed([*found[0].params]) or 'none'}"
                )
        elif name not in NAMES:
            raise InvalidRun(f"{name!r} cannot be swept; use {', '.join(NAMES)}, or a parameter as in 'pe-cs.kappa'")
        if not values:
            raise InvalidRun(f"{name} has no values to sweep over")
        if name != "instance" and not all(is_number(value) for value in values):
            raise InvalidRun(f"the values of {name} must be numbers; got {listed(list(values))}")
        size *= len(values)
    if size > MOST:
        raise InvalidRun(f"{size:,} combinations are too many; at most {MOST:,} are accepted")


def _setting(setting: Setting, at: Mapping[str, Value]) -> Setting:
    if "threshold" in at:
        if not setting.fixed:
            raise InvalidRun("threshold belongs to a fixed threshold; this setting has none")
        return FixedThreshold(float(at["threshold"]))
    if "alpha" in at:
        if setting.fixed:
            raise InvalidRun("alpha belongs to the best reward or a reference arm; a fixed threshold has none")
        return setting.with_alpha(float(at["alpha"]))
    return setting
