"""Results: pulls, both regrets and both curves of every run, and what made them."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidData, SatisficeError
from satisfice.files import write_whole
from satisfice.problem import Instance, Setting
from satisfice.words import count

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from satisfice.simulation.comparing import Comparison

FORMAT = 1
Kind = Literal["runs", "curves", "pulls", "summary"]


@dataclass(frozen=True)
class Terms:
    """The settings and the versions that made a result."""

    policy: str  # its label
    params: dict[str, float]
    instance: Instance
    setting: Setting
    horizon: int
    runs: int
    seed: int
    common: bool = False  # whether the rewards were those of every policy of the same seed and run
    versions: dict[str, str] = field(default_factory=dict, compare=False)

    def to_dict(self) -> dict[str, object]:
        """Plain data that `from_dict` reads back: what results files have."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        if not self.common:
            del data["common"]  # readers of before it was there
        return data | {"instance": self.instance.to_dict(), "setting": self.setting.to_dict()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Terms:
        """Terms from the data of `to_dict`."""
        instance, setting = Instance.from_dict(data["instance"]), Setting.from_dict(data["setting"])
        return cls(**(data | {"instance": instance, "setting": setting}))


def versions() -> dict[str, str]:
    """The versions that a result depends on."""
    from satisfice import __version__

    found = {"satisfice": __version__, "python": platform.python_version()}
    return found | {name: metadata.version(name) for name in ("numpy", "numba")}


@dataclass(frozen=True)
class Result:
    """All runs of one policy. Arms are in the caller's order."""

    terms: Terms
    checkpoints: NDArray[np.int64]  # (checkpoints,)
    pulls: NDArray[np.int64]  # (runs, arms), at the horizon
    cost_curve: NDArray[np.float64]  # (runs, checkpoints)
    quality_curve: NDArray[np.float64]  # (runs, checkpoints)

    @property
    def instance(self) -> Instance:
        """The instance that was simulated."""
        return self.terms.instance

    @property
    def setting(self) -> Setting:
        """The setting that was simulated."""
        return self.terms.setting

    @cached_property
    def optimal_arm(self) -> int:
        """Index of `a*`."""
        return self.setting.optimal_arm(self.instance)

    @property
    def cost_regret(self) -> NDArray[np.float64]:
        """Cost regret at the horizon, (runs,): the sum over arms of clipped cost gap x pulls."""
        if len(self.instance.pieces) > 1:
            return self.cost_curve[:, -1]
        return self.pulls @ self.setting.cost_gaps(self.instance)

    @property
    def quality_regret(self) -> NDArray[np.float64]:
        """Quality regret at the horizon, (runs,): the sum over arms of clipped quality gap x pulls."""
        if len(self.instance.pieces) > 1:
            return self.quality_curve[:, -1]
        return self.pulls @ self.setting.quality_gaps(self.instance)

    @property
    def regret(self) -> NDArray[np.float64]:
        """The sum of both, (runs,), which the paper plots. It only makes sense when both are on one scale."""
        return self.cost_regret + self.quality_regret

    @property
    def optimal_share(self) -> NDArray[np.float64]:
        """Share of the pulls that went to the optimal arm, (runs,)."""
        return self.pulls[:, self.optimal_arm] / self.terms.horizon

    def __repr__(self) -> str:
        return f"<Result {self.terms.policy}: {count(len(self.pulls), 'run')} of {count(self.terms.horizon, 'pull')}>"


class Results(Mapping[str, Result]):
    """Results by the policy's label."""

    def __init__(self, results: dict[str, Result], seconds: float = float("nan")) -> None:
        self._results = results
        self.seconds = seconds

    def __getitem__(self, label: str) -> Result:
        if label not in self._results:
            raise KeyError(f"there is no result for {label!r}; there are {', '.join(self._results)}")
        return self._results[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"<Results of {', '.join(self._results)}>"

    def summary(self) -> pl.DataFrame:
        """A table: for each policy and each regret the mean, its standard error, s.d., median, 95th percentile,
        worst, and the mean share of pulls on the optimal arm. It prints in full."""
        from satisfice.simulation.summary import Summary

        rows = []
        for label, result in self.items():
            for name in ("cost", "quality", "sum"):
                values = result.regret if name == "sum" else getattr(result, f"{name}_regret")
                spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
                if spread < 1e-12 * values.max():
                    spread = 0.0  # equal runs, whose sums were rounded differently
                rows.append(
                    {
                        "policy": label,
                        "regret": name,
                        "mean": float(values.mean()),
                        "std_error": spread / len(values) ** 0.5,
                        "std": spread,
                        "median": float(np.median(values)),
                        "p95": float(np.percentile(values, 95)),
                        "worst": float(values.max()),
                        "optimal_share": float(result.optimal_share.mean()),
                        "runs": len(values),
                    }
                )
        return Summary(rows)

    def to_polars(self, what: Kind = "runs") -> pl.DataFrame:
        """A flat table, in long format.

        Parameters
        ----------
        what : {"runs", "curves", "pulls", "summary"}
            One row per policy and run (both regrets, their sum, the share of the optimal arm); per policy, run and
            checkpoint (both regrets so far); per policy, run and arm (pulls at the horizon); or `summary`.

        Examples
        --------
        >>> from satisfice import BestReward, load_instance, simulate
        >>> results = simulate(load_instance("toy:0.78"), BestReward(0.1), ["etc-cs"], 1000, runs=2, checkpoints=5)
        >>> results.to_polars("curves").shape, results.to_polars("pulls").columns
        ((10, 6), ['policy', 'run', 'arm', 'pulls'])
        """
        from satisfice.simulation.frames import frame_of

        return frame_of(self, what)

    def to_pandas(self, what: Kind = "runs") -> pd.DataFrame:
        """`to_polars` as a frame of pandas."""
        from satisfice.simulation.frames import to_pandas

        return to_pandas(self.to_polars(what))

    def to_csv(self, path: str | Path, what: Kind = "runs") -> Path:
        """Write `to_polars` to a file: .csv or, as its name ends, .parquet, .jsonl or .xlsx."""
        from satisfice.exports import write_table

        return write_table(self.to_polars(what), path)

    def to_latex(self, path: str | Path | None = None) -> str:
        """The summary as a LaTeX table in the style of booktabs, written to `path` if given; the least is in bold."""
        from satisfice.simulation.frames import latex

        text = latex(self)
        if path is not None:
            write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))
        return text

    def add(
        self, label: str, pulls: ArrayLike | Result, checkpoints: ArrayLike | None = None, *, like: str | None = None
    ) -> Results:
        """Put results of your own beside these, for tables, pictures and comparisons; answers with the results.

        Parameters
        ----------
        label : str
            What to call them.
        pulls : array or Result
            The pulls of every arm at the horizon, (runs, arms), or up to every checkpoint, (runs, checkpoints, arms),
            in the order of the instance's arms; or a result of another simulation.
        checkpoints : array, optional
            With pulls up to checkpoints, these times; the last one is the horizon.
        like : str, optional
            The label of the result whose instance, setting and horizon they share; the first one by default.

        Raises
        ------
        InvalidData
            The label is taken, or the pulls do not add up to the times.

        Examples
        --------
        >>> from satisfice import BestReward, load_instance, simulate
        >>> results = simulate(load_instance("toy:0.78"), BestReward(0.1), ["etc-cs"], horizon=1000, runs=2)
        >>> results = results.add("always the first", [[1000, 0, 0, 0], [1000, 0, 0, 0]])
        >>> results["always the first"].regret.round(2).tolist()
        [75.0, 75.0]
        """
        from satisfice.simulation.adding import made

        if label in self._results:
            raise InvalidData(f"there is a result for {label!r} already; choose another label")
        first = self[like] if like is not None else next(iter(self.values()))
        self._results[label] = pulls if isinstance(pulls, Result) else made(label, pulls, checkpoints, first)
        return self

    def compare(self, first: str, second: str, regret: str = "sum", confidence: float = 0.95) -> Comparison:
        """Two policies, run by run: the mean difference with an interval, and how often each is better.

        Parameters
        ----------
        first, second : str
            Labels. The runs of the same number are a pair: after `simulate(..., common=True)` both had the same
            rewards, which makes the interval narrower (`width` says by how much), and elsewhere it does no harm.
        regret : {"sum", "cost", "quality"}
            Which regret.
        confidence : float
            Of the interval, within (0, 1).

        Examples
        --------
        >>> from satisfice import BestReward, load_instance, simulate
        >>> results = simulate(load_instance("movielens"), BestReward(0.25), ["glr", "etc-cs"], horizon=10_000, runs=5)
        >>> results.compare("glr", "etc-cs").interval[1] < 0
        True
        """
        from satisfice.simulation.comparing import compare

        if regret not in ("sum", "cost", "quality"):
            raise InvalidData("it must be sum, cost or quality", parameter="regret", value=regret)
        name = "regret" if regret == "sum" else f"{regret}_regret"
        one, other = ((label, getattr(self[label], name)) for label in (first, second))
        terms = self[first].terms, self[second].terms
        common = all(one.common for one in terms) and terms[0].seed == terms[1].seed
        what = "cost + quality" if regret == "sum" else regret
        return compare(one, other, what, confidence=confidence, common=common)

    def _repr_html_(self) -> str:
        """The summary, in a notebook."""
        table = self.summary()
        assert hasattr(table, "_repr_html_")
        return str(table._repr_html_())

    def _stored(self) -> pl.DataFrame:
        """The table of a results file: one row per policy and run, with pulls and curves as lists."""
        import polars as pl

        frames = []
        for label, result in self.items():
            runs = len(result.pulls)
            frames.append(
                pl.DataFrame(
                    {
                        "policy": [label] * runs,
                        "run": np.arange(runs),
                        "cost_regret": result.cost_regret,
                        "quality_regret": result.quality_regret,
                        "regret": result.regret,
                        "optimal_share": result.optimal_share,
                        "pulls": result.pulls.tolist(),
                        "checkpoints": [result.checkpoints.tolist()] * runs,
                        "cost_curve": result.cost_curve.tolist(),
                        "quality_curve": result.quality_curve.tolist(),
                    }
                )
            )
        return pl.concat(frames)

    def save(self, path: str | Path) -> Path:
        """Write everything to one Parquet file, folders included; `load_results` reads it back."""
        import polars as pl

        terms = {label: json.dumps({"format": FORMAT, **result.terms.to_dict()}) for label, result in self.items()}
        frame = self._stored().with_columns(pl.col("policy").replace_strict(terms).alias("terms"))
        return write_whole(path, frame.write_parquet)

    def plot(self, path: str | Path | None = None, *, log_x: bool = False) -> Figure:
        """Regret curves with a band, and the terminal regrets of every run; written to `path` if given.

        `log_x` draws the pulls on a log axis, on which regret that grows as log T is a straight line.
        """
        from satisfice.plots import save
        from satisfice.simulation.picture import picture

        figure = picture(self, log_x)
        if path is not None:
            save(figure, path)
        return figure


def load_results(path: str | Path) -> Results:
    """Read back what `Results.save` wrote.

    Raises
    ------
    InvalidData
        The file is missing, or is not a results file of this package.

    Examples
    --------
    >>> import tempfile
    >>> from satisfice import BestReward, load_instance, simulate
    >>> results = simulate(load_instance("toy:0.78"), BestReward(0.1), ["etc-cs"], horizon=1000, runs=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_results(results.save(f"{folder}/toy.parquet"))
    >>> bool((again["etc-cs"].pulls == results["etc-cs"].pulls).all())
    True
    """
    import polars as pl

    source = Path(path)
    if not source.is_file():
        raise InvalidData(f"there is no results file {str(source)!r}")
    try:
        frame = pl.read_parquet(source)
        results: dict[str, Result] = {}
        for (label,), part in frame.group_by("policy", maintain_order=True):
            rows = part.sort("run")
            terms = json.loads(rows["terms"][0])
            if terms.pop("format") != FORMAT:
                raise InvalidData(f"{str(source)!r} was written by a newer version; format {FORMAT} is understood")
            results[str(label)] = Result(
                terms=Terms.from_dict(terms),
                checkpoints=np.array(rows["checkpoints"][0].to_list(), dtype=np.int64),
                pulls=np.array(rows["pulls"].to_list(), dtype=np.int64),
                cost_curve=np.array(rows["cost_curve"].to_list(), dtype=np.float64),
                quality_curve=np.array(rows["quality_curve"].to_list(), dtype=np.float64),
            )
        return Results(results)
    except SatisficeError:
        raise
    except Exception as error:
        raise InvalidData(f"{str(source)!r} is not a results file: {error}") from error
