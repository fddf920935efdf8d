"""Goodreads reviews to an instance: one arm per genre, one file of JSON lines per genre."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from satisfice.errors import InvalidData
from satisfice.instances.costs import random_costs
from satisfice.instances.files import size
from satisfice.instances.jsonlines import place, read_json_lines
from satisfice.instances.progress import reading
from satisfice.instances.tables import ROW
from satisfice.instances.tally import DECIMALS, STARS, Problems, Tally, warn
from satisfice.limits import MAX_BAD
from satisfice.problem import Instance

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".json", ".jsonl", ".ndjson")
# Blocks are counted that many at a time, which is faster than one by one.
TOGETHER = 64
PREFIXES = ("goodreads_reviews_", "goodreads_interactions_")


def from_goodreads(
    *paths: str | os.PathLike[str],
    statistic: Literal["share", "mean"] = "share",
    zeros: Literal["drop", "keep"] = "drop",
    cost_seed: int = 0,
    exact: bool = False,
    reward: Literal["bernoulli", "categorical"] = "bernoulli",
    max_bad: float = MAX_BAD,
    progress: bool = False,
) -> Instance:
    """The instance of Goodreads files: arms are genres (files), sorted by cost.

    Parameters
    ----------
    paths : path
        Files of JSON lines, plain or gzipped, one per genre, or folders of them. Every line has a "rating" from 0 to
        5. The arm is called after the file: "poetry" for goodreads_reviews_poetry.json.gz.
    statistic : {"share", "mean"}
        "share" is the share of ratings above 3, which is what the paper's published numbers are; "mean" is the mean
        rating / 5, which is what its text says.
    zeros : {"drop", "keep"}
        A rating of 0 means that the reader gave none. "drop" leaves these lines out, "keep" counts them as a reward
        of 0.
    cost_seed : int
        Seed of the costs, NumPy's legacy `RandomState(cost_seed).rand(K)` over the genres in alphabetical order. The
        paper's own costs of Goodreads are those of `load_instance("goodreads")`; their seed is not published.
    exact : bool
        Whether to keep the means of a "bernoulli" instance in full, and not to 3 decimals as the paper does.
    reward : {"bernoulli", "categorical"}
        "categorical" keeps the distribution of the ratings / 5 of every genre; it needs `statistic="mean"`.
    max_bad : float
        Largest share of unusable lines of a file that is accepted, within [0, 1]. They are left out with a
        `DataWarning`.
    progress : bool
        Whether to show a bar on the error stream.

    Raises
    ------
    InvalidData
        Says which file and, where possible, which line is wrong.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "poetry.json").write_text('{"rating": 5}\\n{"rating": 2}\\n')
    ...     instance = from_goodreads(f"{folder}/poetry.json")
    >>> instance.names, instance.means.tolist()
    (('poetry',), [0.5])
    """
    if statistic not in ("share", "mean"):
        raise InvalidData(f"statistic {statistic!r} is unknown; use share (of ratings above 3) or mean (rating / 5)")
    if zeros not in ("drop", "keep"):
        raise InvalidData(f"zeros = {zeros!r}; use drop or keep for lines without a rating")
    if reward not in ("bernoulli", "categorical"):
        raise InvalidData(f"reward model {reward!r} does not fit ratings; use bernoulli or categorical")
    if reward == "categorical" and statistic == "share":
        raise InvalidData("categorical rewards are the ratings / 5; use them with statistic mean")
    files = _files(paths)
    counts = np.array([_count(file, max_bad, progress) for file in files.values()])
    if zeros == "drop":
        for name, zero in zip(files, counts[:, 0], strict=True):
            if zero:
                warn(f"{files[name]}: {zero:,} lines with a rating of 0 (none given) were left out")
        counts[:, 0] = 0
    for file, total in zip(files.values(), counts.sum(axis=1), strict=True):
        if not total:
            raise InvalidData(f"{file} holds no ratings from 1 to 5")
    stars = np.arange(STARS + 1)
    values = (stars > 3).astype(float) if statistic == "share" else stars / STARS
    used = counts.sum(axis=0) > 0
    tally = Tally(list(files), values[used], counts[:, used])
    source = (
        f"Goodreads, {counts.sum():,} ratings in {len(files)} files, "
        f"{'share of ratings above 3' if statistic == 'share' else 'mean rating / 5'} per genre"
        f"{', ratings of 0 counted as such' if zeros == 'keep' else ''}; costs: NumPy legacy "
        f"RandomState({cost_seed}).rand({len(files)}) over the genres in alphabetical order"
    )
    return tally.instance(
        random_costs(list(files), cost_seed),
        reward,
        label="goodreads",
        source=source,
        decimals=None if exact else DECIMALS,
    )


def _files(paths: Sequence[str | os.PathLike[str]]) -> dict[str, Path]:
    """The files by the name of their arm."""
    files: dict[str, Path] = {}
    for path in map(Path, paths):
        if path.is_dir():
            found = sorted(file for file in path.iterdir() if _stem(file) is not None)
            if not found:
                raise InvalidData(f"{path} holds no file that ends in {', '.join(ENDINGS)}, or one of these and .gz")
        elif path.exists():
            found = [path]
        else:
            raise InvalidData(f"there is no file or folder {path}")
        for file in found:
            name = _stem(file) or file.name
            for prefix in PREFIXES:
                name = name.removeprefix(prefix)
            if name in files:
                raise InvalidData(f"{files[name]} and {file} would both be the arm {name!r}; give one file per genre")
            files[name] = file
    if not files:
        raise InvalidData("no Goodreads files were given; give one file per genre")
    return files


def _stem(file: Path) -> str | None:
    name = file.name.removesuffix(".gz")
    return next((name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending)), None)


def _count(path: Path, max_bad: float, progress: bool) -> NDArray[np.int64]:
    """How often each rating from 0 to 5 occurs."""
    import polars as pl

    problems = Problems(f"lines of {path}", max_bad)
    frames: list[pl.DataFrame] = []
    with reading(f"reading {path}", size(path), progress) as advance:
        for frame in read_json_lines(path, ["rating"], problems=problems, advance=advance):
            frames.append(frame.select("rating", pl.lit(1, dtype=pl.Int64).alias("lines"), ROW))
            if len(frames) == TOGETHER:
                frames = [_grouped(frames)]
    if not frames:
        raise InvalidData(f"{path} is empty")
    ratings = _grouped(frames).sort(ROW)
    counts = np.zeros(STARS + 1, dtype=np.int64)
    not_json = problems.count
    for text, lines, first in ratings.iter_rows():
        rating = _rating(text)
        if rating is not None:
            counts[rating] += lines
        elif text is None:
            problems.add('no "rating"', lines, partial(place, path, first))
        else:
            problems.add("the rating is not a whole number from 0 to 5", lines, partial(_place, path, first, text))
    problems.report(int(ratings["lines"].sum()) + not_json)
    return counts


def _place(path: Path, row: int, text: str) -> str:
    return f"{place(path, row)}: {text[:40]!r}"


def _grouped(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """How many lines have each rating, and the first such row."""
    import polars as pl

    return pl.concat(frames).group_by("rating").agg(pl.col("lines").sum(), pl.col(ROW).min())


def _rating(text: str | None) -> int | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return int(value) if value in range(STARS + 1) else None
