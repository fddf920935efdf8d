"""What an analysis says: the arms, the choice and how sure it is, what it saves, what would settle it, doubts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.problem import Setting
from satisfice.words import plain

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from satisfice.problem import Instance

Range = tuple[float, float]
FEW = 30  # rows of an option: with fewer, little can be said of it


@dataclass(frozen=True)
class AnalysedArm:
    """One option of a log. Means and intervals are on the scale of the rewards."""

    name: str
    rows: int
    cost: float  # of one row
    spent: float  # on all its rows
    mean: float
    interval: Range  # holds for a log that is looked at once, for all arms together
    anytime: Range  # holds whenever one looks, for all arms together
    belief: float  # the believed probability that it is the cheapest that is good enough
    good_enough: float  # the believed probability that it is good enough, whatever it costs
    verdict: str  # "choice", "good enough", "may be good enough" or "not good enough"
    profit: float | None  # a row's worth of reward minus its cost; None where the reward is no money
    profit_interval: Range | None
    profit_per_cost: float | None  # profit for each unit of cost


@dataclass(frozen=True)
class Saving:
    """What the choice saves against something else."""

    against: str
    per_row: float
    per_month: float | None  # None where the log has no time, and nobody said how many rows a month has
    reward_per_row: float  # mean reward that is given up, below 0 where there is more of it


@dataclass(frozen=True)
class More:
    """How many more rows would settle the choice, if the means are what they look like."""

    rows: int | None  # as many of every arm, in proportion, as in the log; None: it is too close to tell
    cost: float | None  # of these rows
    study: Range | None  # rows that a study would need that goes on from the log, 10th to 90th percentile
    study_rows: float | None  # their median; None: more than ten million, or not asked for
    study_cost: float | None  # what these rows cost beyond the right arm's, median
    settles: float | None  # share of the simulated studies that settle on the right arm


@dataclass(frozen=True)
class Concern:
    """Something that makes the log doubtful."""

    kind: str  # "segments", "drift", "costs", "repeats", "few", "rows", "range"
    sentence: str
    table: tuple[tuple[str, ...], ...] = ()  # its numbers, with a head


@dataclass(frozen=True)
class Analysis:
    """What `sf.analyse` found in a log.

    `state` is "proved": the choice is proved at the confidence, whenever one looks; "clear": it is believed at the
    confidence, for a log that is looked at once; "open": neither; "none": no arm looks good enough.
    """

    name: str
    rows: int
    days: float | None  # that the log spans
    setting: Setting
    confidence: float
    columns: dict[str, str | tuple[str, ...] | None]
    guessed: str
    limits: Range
    arms: tuple[AnalysedArm, ...]
    choice: str | None
    state: str
    sure: float  # the believed probability that the choice is right
    rival: str | None  # the arm that is right if the choice is not, most likely
    rival_belief: float
    threshold: float
    savings: tuple[Saving, ...]
    more: More
    concerns: tuple[Concern, ...]
    sentence: str
    details: tuple[str, ...]
    seed: int
    version: str
    curves: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = field(default_factory=dict, repr=False)
    instance: Instance | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON; what is not known is None."""
        data = asdict(self)
        data["setting"] = self.setting.to_dict()
        del data["instance"], data["curves"]
        result = plain(data)
        assert isinstance(result, dict)
        return result

    def to_polars(self) -> pl.DataFrame:
        """The arms as a table, one row each and one number a cell."""
        import polars as pl

        rows = []
        for arm in self.arms:
            row: dict[str, object] = {}
            for key, value in asdict(arm).items():
                if key in ("interval", "anytime", "profit_interval"):
                    low, high = value if value is not None else (None, None)
                    row |= {f"{key}_low": low, f"{key}_high": high}
                else:
                    row[key] = value
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The four pictures in one."""
        from satisfice.analysis.pictures import four
        from satisfice.plots import save

        figure = four(self)
        if path is not None:
            save(figure, path)
        return figure

    def report(self, path: str | Path) -> Path:
        """Write the report: one HTML file that needs no network."""
        from satisfice.analysis.report import html
        from satisfice.files import write_whole

        text = html(self)
        return write_whole(path, lambda part: part.write_text(text, encoding="utf-8"))

    def save(self, folder: str | Path, stem: str | None = None) -> list[Path]:
        """Write the report and every number: .html, .json, .csv and, where XlsxWriter is installed, .xlsx."""
        from satisfice.analysis.report import writers
        from satisfice.files import write_whole

        target = Path(folder)
        return [write_whole(target / f"{stem or self.name}{end}", write) for end, write in writers(self).items()]

    def __str__(self) -> str:
        from satisfice.analysis.words import text

        return text(self)

    def _repr_html_(self) -> str:
        from satisfice.analysis.report import fragment

        return fragment(self)
