"""MovieLens ratings to an instance: one arm per genre, in every layout that GroupLens has published."""

from __future__ import annotations

import csv
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np

from satisfice.errors import InvalidData
from satisfice.instances.costs import random_costs
from satisfice.instances.files import bytes_per_row, size
from satisfice.instances.progress import reading
from satisfice.instances.tables import ROW, Table, require_columns, watched
from satisfice.instances.tally import DECIMALS, STARS, Problems, Tally, warn
from satisfice.limits import MAX_BAD
from satisfice.problem import Instance
from satisfice.words import listed

if TYPE_CHECKING:
    import polars as pl

NO_GENRES = "(no genres listed)"
# The flags of u.item in their order; the files of the other releases use these names, but for "Children's" and
# "unknown", which became "Children" and "(no genres listed)", and "IMAX", which came later.
GENRES_100K = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
KNOWN_GENRES = {*GENRES_100K, "Children", "IMAX", NO_GENRES}


@dataclass(frozen=True)
class Layout:
    """How a release stores its ratings, and which two columns of them matter."""

    ratings: str
    movies: str
    separator: str
    columns: tuple[str, ...] | None = None
    movie: str = "movieId"
    stars: str = "rating"


LAYOUTS = (
    Layout("ratings.csv", "movies.csv", ","),
    # The separator of these is "::". To a reader that separates at ":" that is an empty column after each column.
    Layout("ratings.dat", "movies.dat", ":", ("userId", "", "movieId", " ", "rating", "  ", "timestamp")),
    Layout("u.data", "u.item", "\t", ("userId", "movieId", "rating", "timestamp")),
)


def from_movielens(
    path: str | os.PathLike[str],
    *,
    cost_seed: int = 0,
    exact: bool = False,
    reward: Literal["bernoulli", "categorical"] = "bernoulli",
    max_bad: float = MAX_BAD,
    progress: bool = False,
) -> Instance:
    """The instance of a MovieLens release: arms are genres, sorted by cost.

    The mean of a genre is its mean rating / 5 over all pairs of a rating and a genre of the rated movie. Costs are
    the paper's: NumPy's legacy `RandomState(cost_seed).rand(K)` over the genres in alphabetical order.

    Parameters
    ----------
    path : path
        The unpacked folder of a release, or its .zip: 25M, 32M, 20M, latest, latest-small (ratings.csv, movies.csv),
        10M and 1M (ratings.dat, movies.dat), or 100K (u.data, u.item).
    cost_seed : int
        Seed of the costs; 0 is the paper's.
    exact : bool
        Whether to keep the means of a "bernoulli" instance in full, and not to 3 decimals as the paper does.
    reward : {"bernoulli", "categorical"}
        "categorical" keeps the distribution of the ratings / 5 of every genre, so that simulations draw real ratings.
    max_bad : float
        Largest share of unusable rows that is accepted, within [0, 1]. They are left out with a `DataWarning`.
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
    ...     _ = Path(folder, "movies.csv").write_text("movieId,title,genres\\n1,A,Comedy|Drama\\n2,B,Drama\\n")
    ...     _ = Path(folder, "ratings.csv").write_text("userId,movieId,rating,timestamp\\n1,1,4.0,0\\n1,2,3.0,0\\n")
    ...     instance = from_movielens(folder)
    >>> dict(zip(instance.names, instance.means.tolist()))
    {'Comedy': 0.8, 'Drama': 0.7}
    """
    if reward not in ("bernoulli", "categorical"):
        raise InvalidData(f"reward model {reward!r} does not fit ratings; use bernoulli or categorical")
    with _opened(Path(path), progress) as (layout, ratings_path, movies_path, shown):
        movies = _movies(movies_path, f"{shown}/{layout.movies}", layout, max_bad)
        table = Table(
            ratings_path, f"{shown}/{layout.ratings}", layout.separator, layout.columns, quoted=layout.columns is None
        )
        pairs = _pairs(table, layout, progress)
        pairs = _usable(pairs, movies, table, max_bad)
    tally = _by_genre(pairs, movies)
    rows, rated = int(pairs["rows"].sum()), pairs["movie"].n_unique()
    source = (
        f"MovieLens, {Path(path).name}: {rows:,} ratings of {rated:,} movies, mean rating per genre / 5; costs: NumPy "
        f"legacy RandomState({cost_seed}).rand({len(tally.names)}) over the genres in alphabetical order"
    )
    return tally.instance(
        random_costs(tally.names, cost_seed),
        reward,
        label="movielens",
        source=source,
        decimals=None if exact else DECIMALS,
    )


@contextmanager
def _opened(path: Path, progress: bool) -> Iterator[tuple[Layout, Path, Path, str]]:
    """The layout, the files of ratings and movies, and what to call their folder."""
    if path.is_dir():
        # The archives hold one folder; somebody who unpacked one into a folder may name either.
        folders = [path, *sorted(child for child in path.iterdir() if child.is_dir())]
        for folder in folders:
            for layout in LAYOUTS:
                if (folder / layout.ratings).is_file() and (folder / layout.movies).is_file():
                    yield layout, folder / layout.ratings, folder / layout.movies, str(folder)
                    return
        raise _not_a_release(path, [file.name for file in sorted(path.iterdir())])
    if not path.exists():
        raise InvalidData(f"there is no file or folder {path}")
    try:
        with zipfile.ZipFile(path) as archive, TemporaryDirectory(prefix="satisfice-") as unpacked:
            members = {Path(name).name: name for name in archive.namelist() if not name.endswith("/")}
            for layout in LAYOUTS:
                if layout.ratings in members and layout.movies in members:
                    for file in (layout.movies, layout.ratings):
                        _unpack(archive, members[file], Path(unpacked, file), progress)
                    yield layout, Path(unpacked, layout.ratings), Path(unpacked, layout.movies), str(path)
                    return
            raise _not_a_release(path, sorted(members))
    except (zipfile.BadZipFile, EOFError) as error:
        raise InvalidData(f"{path} is neither a folder nor a sound .zip archive: {error}") from error


def _unpack(archive: zipfile.ZipFile, member: str, target: Path, progress: bool) -> None:
    total = archive.getinfo(member).file_size
    with (
        archive.open(member) as packed,
        target.open("wb") as file,
        reading(f"unpacking {member}", total, progress) as advance,
    ):
        while block := packed.read(1 << 20):
            file.write(block)
            advance(len(block))


def _not_a_release(path: Path, there: list[str]) -> InvalidData:
    wanted = ", or ".join(f"{layout.ratings} with {layout.movies}" for layout in LAYOUTS)
    found = listed(there) or "nothing"
    return InvalidData(f"{path} is not a MovieLens release: {wanted} was expected, {found} found")


@dataclass(frozen=True)
class Movies:
    """The listed movies: `frame` has the columns "movie" and "genres" (as one text), `names` the genres in a text."""

    frame: pl.DataFrame
    names: dict[str, tuple[str, ...]]


def _movies(path: Path, shown: str, layout: Layout, max_bad: float) -> Movies:
    import polars as pl

    read = {"movies.csv": _movies_csv, "movies.dat": _movies_dat, "u.item": _movies_100k}[layout.movies]
    problems = Problems(f"movies of {shown}", max_bad)
    listed: dict[int, str] = {}
    first: dict[str, int] = {}
    rows = 0
    # Titles may be in Latin-1; only the ids and the genres matter, and they are ASCII.
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for line, text, genres in read(file, shown):
            rows += 1
            movie = int(text) if text.strip().isdecimal() else None
            if movie is None or genres is None:
                problems.add("the row is broken", 1, f"{shown}:{line}")
            elif movie in listed:
                problems.add("the movie is listed before", 1, f"{shown}:{line}")
            else:
                listed[movie] = genres
                first.setdefault(genres, line)
    if not rows:
        raise InvalidData(f"{shown} lists no movies")
    problems.report(rows)
    unknown: dict[str, int] = {}
    names: dict[str, tuple[str, ...]] = {}
    for genres, line in first.items():
        names[genres] = tuple(dict.fromkeys(name.strip() for name in genres.split("|") if name.strip()))
        if not names[genres]:
            names[genres] = (NO_GENRES,)
            bare = sum(other == genres for other in listed.values())
            warn(f"{bare:,} movies have no genre (the first is {shown}:{line}); they count as {NO_GENRES!r}")
        for name in names[genres]:
            if name not in KNOWN_GENRES and unknown.setdefault(name, line) == line:
                warn(
                    f"{shown}:{line}: genre {name!r} is not one of MovieLens; it becomes an arm and shifts other costs"
                )
    frame = pl.DataFrame(
        {"movie": listed.keys(), "genres": listed.values()}, schema={"movie": pl.Int64, "genres": pl.String}
    )
    return Movies(frame, names)


# Line, id and genres (separated by "|") of each movie; None stands for genres that cannot be read.
MovieRows = Iterator[tuple[int, str, str | None]]


def _movies_csv(file: Iterator[str], shown: str) -> MovieRows:
    reader = csv.reader(file)
    header = next(reader, None)
    if header is None:
        raise InvalidData(f"{shown} is empty")
    require_columns(shown, ("movieId", "genres"), header)
    movie, genres = header.index("movieId"), header.index("genres")
    try:
        for fields in reader:
            if fields:
                sound = len(fields) == len(header)
                yield reader.line_num, fields[movie] if sound else "", fields[genres] if sound else None
    except csv.Error as error:
        raise InvalidData(f"{shown}:{reader.line_num}: {error}") from error


def _movies_dat(file: Iterator[str], shown: str) -> MovieRows:
    for line, text in enumerate(file, start=1):
        fields = text.rstrip("\r\n").split("::")
        if text.strip():
            # A title may hold "::", so the genres are the last field and not the third.
            yield line, fields[0], fields[-1] if len(fields) >= 3 else None


def _movies_100k(file: Iterator[str], shown: str) -> MovieRows:
    for line, text in enumerate(file, start=1):
        fields = text.rstrip("\r\n").split("|")
        flags = fields[-len(GENRES_100K) :]
        if text.strip():
            sound = len(fields) == 5 + len(GENRES_100K) and set(flags) <= {"0", "1"}
            names = [genre for genre, flag in zip(GENRES_100K, flags, strict=False) if flag == "1"]
            yield line, fields[0], "|".join(names) if sound else None


def _pairs(table: Table, layout: Layout, progress: bool) -> pl.DataFrame:
    """How often each movie got each rating ("rows"), both as the text of the file, and the first such row ("row").

    That is all that the instance needs of 25 million rows: a table of some 100,000. Genres are joined to this one.
    """
    import polars as pl

    frame = table.scan([layout.movie, layout.stars])
    with reading(f"reading {table.shown}", size(table.path), progress) as advance:
        if progress:
            frame = watched(frame, bytes_per_row(table.path), advance)
        grouped = frame.group_by(
            pl.col(layout.movie).fill_null("").alias("movie"), pl.col(layout.stars).fill_null("").alias("stars")
        ).agg(pl.len().cast(pl.Int64).alias("rows"), pl.col(ROW).min())
        pairs = table.collect(grouped)
    if pairs.is_empty():
        raise InvalidData(f"{table.shown} holds no ratings")
    return pairs


def _usable(pairs: pl.DataFrame, movies: Movies, table: Table, max_bad: float) -> pl.DataFrame:
    """The pairs whose movie is known and whose rating is one, with its genres; others are counted and reported."""
    import polars as pl

    pairs = pairs.with_columns(
        pl.col("movie").alias("movie_text"),
        pl.col("stars").alias("stars_text"),
        pl.col("movie").str.strip_chars().cast(pl.Int64, strict=False),
        pl.col("stars").str.strip_chars().cast(pl.Float64, strict=False),
    )
    halves = pl.col("stars") * 2
    problem = (
        pl.when(pl.col("movie").is_null() | pl.col("stars").is_null())
        .then(pl.lit("the movie or the rating is missing or not a number"))
        .when(~(halves.is_between(1, 2 * STARS) & (halves == halves.floor())))
        .then(pl.lit("the rating is not one of 0.5, 1, ..., 5"))
        .when(pl.col("genres").is_null())
        .then(pl.lit("the movie is not in the list of movies"))
    )
    checked = pairs.join(movies.frame, on="movie", how="left").with_columns(problem=problem)
    problems = Problems(f"ratings of {table.shown}", max_bad)
    bad = checked.filter(pl.col("problem").is_not_null()).sort(ROW)
    for kind in bad["problem"].unique(maintain_order=True):
        these = bad.filter(pl.col("problem") == kind)
        first = these.row(0, named=True)
        where = f"{table.where(first[ROW])}: movie {first['movie_text']!r}, rating {first['stars_text']!r}"
        problems.add(kind, int(these["rows"].sum()), where)
    rows = int(pairs["rows"].sum())
    problems.report(rows)
    good = checked.filter(pl.col("problem").is_null())
    if good.is_empty():
        raise InvalidData(f"{table.shown}: none of its {rows:,} ratings can be used")
    return good.select("movie", "genres", "stars", "rows")


def _by_genre(pairs: pl.DataFrame, movies: Movies) -> Tally:
    import polars as pl

    counted = pairs.group_by("genres", "stars").agg(pl.col("rows").sum())
    names = sorted({name for genres in counted["genres"].unique() for name in movies.names[genres]})
    stars = sorted(counted["stars"].unique().to_list())
    unrated = sorted({name for group in movies.names.values() for name in group} - set(names))
    if unrated:
        warn(f"no rated movie has genre {', '.join(unrated)}; no arm was made of it")
    counts = np.zeros((len(names), len(stars)), dtype=np.int64)
    at_genre = {name: at for at, name in enumerate(names)}
    at_stars = {value: at for at, value in enumerate(stars)}
    for genres, value, rows in counted.iter_rows():
        for name in movies.names[genres]:
            counts[at_genre[name], at_stars[value]] += rows
    return Tally(names, np.array(stars) / STARS, counts)
