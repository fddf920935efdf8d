"""MovieLens: every layout gives the same instance, and every kind of broken file its own message."""

from __future__ import annotations

import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satisfice.errors import InvalidData
from satisfice.instances import DataWarning, from_movielens, load_instance, save_instance
from satisfice.instances.movielens import GENRES_100K, NO_GENRES

Movies = dict[int, tuple[str, list[str]]]
Ratings = Sequence[tuple[int, int, float | Fraction]]
# Comedy: ratings 4 and 5 of movie 1: 4.5 / 5 = 0.9. Drama: 4, 5 and 3 of movie 2: 4 / 5 = 0.8.
# Film-Noir: 2 and 1 of movie 3: 1.5 / 5 = 0.3.
MOVIES: Movies = {
    1: ("Café: A Film (1995)", ["Comedy", "Drama"]),
    2: ("Plain", ["Drama"]),
    3: ("Plan, The", ["Film-Noir"]),
}
RATINGS: Ratings = [(1, 1, 4), (2, 1, 5), (1, 2, 3), (2, 3, 2), (3, 3, 1)]
MEANS = {"Comedy": 0.9, "Drama": 0.8, "Film-Noir": 0.3}


def write_csv(folder: Path, movies: Movies = MOVIES, ratings: Ratings = RATINGS) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f'{i},"{title}",{"|".join(genres)}' for i, (title, genres) in movies.items()]
    (folder / "movies.csv").write_text("\n".join(["movieId,title,genres", *lines, ""]), encoding="utf-8")
    lines = [f"{user},{movie},{float(stars)},978300760" for user, movie, stars in ratings]
    (folder / "ratings.csv").write_text("\n".join(["userId,movieId,rating,timestamp", *lines, ""]))
    return folder


def write_dat(folder: Path, encoding: str) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f"{i}::{title}::{'|'.join(genres)}\n" for i, (title, genres) in MOVIES.items()]
    (folder / "movies.dat").write_text("".join(lines), encoding=encoding)
    lines = [f"{user}::{movie}::{stars}::978300760\n" for user, movie, stars in RATINGS]
    (folder / "ratings.dat").write_text("".join(lines))
    return folder


def write_100k(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [
        f"{i}|{title}|01-Jan-1995||http://example.org|" + "|".join(str(int(name in genres)) for name in GENRES_100K)
        for i, (title, genres) in MOVIES.items()
    ]
    (folder / "u.item").write_text("\n".join([*lines, ""]), encoding="latin-1")
    (folder / "u.data").write_text("".join(f"{u}\t{m}\t{s}\t978300760\n" for u, m, s in RATINGS))
    return folder


def write_zip(folder: Path) -> Path:
    write_csv(folder)
    path = folder / "ml-made.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("README.txt", "ratings.csv", "movies.csv"):
            text = (folder / name).read_text(encoding="utf-8") if name.endswith("csv") else "read me"
            archive.writestr(f"ml-made/{name}", text)
    return path


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "25M, 32M, latest": write_csv,
    "10M": lambda folder: write_dat(folder, "utf-8"),
    "1M": lambda folder: write_dat(folder, "latin-1"),
    "100K": write_100k,
    "zip": write_zip,
    "folder in a folder": lambda folder: write_csv(folder / "ml-25m").parent,
}


@pytest.mark.parametrize("write", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("progress", [False, True])
def test_every_layout(write: Callable[[Path], Path], progress: bool, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        instance = from_movielens(write(tmp_path), progress=progress)
    # RandomState(0).rand(3) = 0.5488, 0.7152, 0.6028 for Comedy, Drama and Film-Noir.
    assert instance.names == ("Comedy", "Film-Noir", "Drama")
    assert instance.costs == pytest.approx([0.54881350, 0.60276338, 0.71518937], abs=1e-8)
    assert instance.means.tolist() == [MEANS[name] for name in instance.names]
    assert "5 ratings of 3 movies" in instance.source
    assert instance.label == "movielens"


def test_means_have_3_decimals_unless_they_are_to_be_exact(tmp_path: Path) -> None:
    # (5 + 5 + 4) / 3 / 5 = 14 / 15 = 0.9333...
    write_csv(tmp_path, {1: ("A", ["War"])}, [(1, 1, 5), (2, 1, 5), (3, 1, 4)])
    assert from_movielens(tmp_path).means.tolist() == [0.933]
    assert from_movielens(tmp_path, exact=True).means == pytest.approx([14 / 15], abs=1e-15)


def test_categorical_rewards_are_the_ratings(tmp_path: Path) -> None:
    instance = from_movielens(write_csv(tmp_path), reward="categorical")
    assert instance.values.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert instance.probabilities[0].tolist() == [0, 0, 0, 0.5, 0.5]
    assert instance.probabilities[1].tolist() == [0.5, 0.5, 0, 0, 0]
    assert instance.probabilities[2] == pytest.approx([0, 0, 1 / 3, 1 / 3, 1 / 3])
    assert instance.means == pytest.approx([MEANS[name] for name in instance.names])
    save_instance(instance, tmp_path / "x.json")
    assert load_instance(tmp_path / "x.json") == instance


def test_the_costs_of_the_20_genres_are_the_papers(tmp_path: Path) -> None:
    published = load_instance("movielens")
    movies = {i: ("A", [name]) for i, name in enumerate(published.names)}
    instance = from_movielens(write_csv(tmp_path, movies, [(1, movie, 3.5) for movie in movies]))
    assert instance.names == published.names
    assert np.round(instance.costs, 3).tolist() == published.costs.tolist()


def test_another_seed_gives_other_costs(tmp_path: Path) -> None:
    write_csv(tmp_path)
    assert from_movielens(tmp_path, cost_seed=1).costs.tolist() == sorted(np.random.RandomState(1).rand(3))
    with pytest.raises(InvalidData, match="seed of the costs is -1"):
        from_movielens(tmp_path, cost_seed=-1)


GENRES = st.lists(st.sampled_from([*GENRES_100K[1:6], "IMAX", NO_GENRES]), min_size=1, max_size=4, unique=True)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(GENRES, min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10)), min_size=1, max_size=60),
)
def test_means_are_those_of_the_rating_genre_rows(
    tmp_path_factory: pytest.TempPathFactory, genres: list[list[str]], rows: list[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("ml")
    ratings = [(1, movie % len(genres), Fraction(halves, 2)) for movie, halves in rows]
    write_csv(folder, {i: ("A", names) for i, names in enumerate(genres)}, ratings)
    by_genre = defaultdict(list)
    for _, movie, stars in ratings:
        for name in genres[movie]:
            by_genre[name].append(stars)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        instance = from_movielens(folder, exact=True)
    assert set(instance.names) == set(by_genre)
    for name, mean in zip(instance.names, instance.means, strict=True):
        assert mean == pytest.approx(float(sum(by_genre[name]) / len(by_genre[name]) / 5), abs=1e-15)


HEADER = "userId,movieId,rating,timestamp\n"
MANY = "1,1,4.0,978300760\n" * 999


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,1,good,978300760\n", r"not a number \(1, the first is .*ratings.csv:1001: movie '1', rating 'good'"),
        ("1,,4.0,978300760\n", r"missing or not a number \(1, .*ratings.csv:1001: movie '', rating '4.0'"),
        ("1,1\n", r"missing or not a number \(1, .*ratings.csv:1001: movie '1', rating ''"),
        ("\n", r"missing or not a number \(1, .*ratings.csv:1001"),
        ("1,1,5.5,978300760\n", r"not one of 0.5, 1, ..., 5 \(1, .*ratings.csv:1001: movie '1', rating '5.5'"),
        ("1,1,0.0,978300760\n", r"not one of 0.5, 1, ..., 5 \(1, .*rating '0.0'"),
        ("1,1,3.7,978300760\n", r"not one of 0.5, 1, ..., 5 \(1, .*rating '3.7'"),
        ("1,1,nan,978300760\n", r"not one of 0.5, 1, ..., 5 \(1, .*rating 'nan'"),
        ("1,77,4.0,978300760\n", r"not in the list of movies \(1, .*ratings.csv:1001: movie '77'"),
    ],
)
def test_a_bad_rating_is_counted_and_left_out_or_refused(row: str, message: str, tmp_path: Path) -> None:
    write_csv(tmp_path, {1: ("A", ["War"])})
    (tmp_path / "ratings.csv").write_text(HEADER + MANY + row)
    with pytest.warns(DataWarning, match=message):
        instance = from_movielens(tmp_path, exact=True)
    assert instance.means.tolist() == [0.8]
    assert "999 ratings" in instance.source
    with pytest.raises(InvalidData, match="1 of 1,000 ratings .* more than the accepted 0.00%: .*" + message):
        from_movielens(tmp_path, max_bad=0)


def test_several_kinds_of_bad_ratings_are_told_apart(tmp_path: Path) -> None:
    write_csv(tmp_path, {1: ("A", ["War"])})
    (tmp_path / "ratings.csv").write_text(HEADER + "1,1,9,0\n1,1,x,0\n" + MANY + "1,1,8,0\n")
    with pytest.warns(DataWarning) as caught:
        from_movielens(tmp_path)
    assert ["not one of" in str(w.message) and "(2, the first is" in str(w.message) for w in caught] == [True, False]
    assert "ratings.csv:2:" in str(caught[0].message)
    assert "ratings.csv:3:" in str(caught[1].message)


def test_the_line_is_right_after_a_quoted_line_break(tmp_path: Path) -> None:
    write_csv(tmp_path, {1: ("A", ["War"])})
    (tmp_path / "ratings.csv").write_text(HEADER + '"1\n2",1,4.0,0\n' + MANY + "1,1,x,0\n")
    with pytest.warns(DataWarning, match=r"ratings.csv:1003: movie '1', rating 'x'"):
        from_movielens(tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("ratings.csv", "", "ratings.csv is empty"),
        ("ratings.csv", HEADER, "ratings.csv holds no ratings"),
        (
            "ratings.csv",
            "userId,movie,rating\n1,1,4.0\n",
            "ratings.csv has no column 'movieId'; its columns are 'userId'",
        ),
        ("ratings.csv", HEADER + "1,9,4.0,0\n", "1 of 1 ratings"),
        ("movies.csv", "", "movies.csv is empty"),
        ("movies.csv", "movieId,title,genres\n", "movies.csv lists no movies"),
        ("movies.csv", "movieId,title\n1,A\n", "movies.csv has no column 'genres'"),
        ("movies.csv", "movieId,title,genres\n1,A,War\n2,B\n", r"the row is broken \(1, the first is .*movies.csv:3"),
        (
            "movies.csv",
            "movieId,title,genres\n1,A,War\nx,B,War\n",
            r"the row is broken \(1, the first is .*movies.csv:3",
        ),
        ("movies.csv", "movieId,title,genres\n1,A,War\n1,B,Drama\n", r"listed before \(1, .*movies.csv:3"),
    ],
)
def test_files_that_cannot_be_used(file: str, text: str, message: str, tmp_path: Path) -> None:
    write_csv(tmp_path, {1: ("A", ["War"])}, [(1, 1, 4)])
    (tmp_path / file).write_text(text)
    with pytest.raises(InvalidData, match=message):
        from_movielens(tmp_path)


def test_rows_of_other_layouts_are_checked_too(tmp_path: Path) -> None:
    write_dat(tmp_path / "dat", "utf-8")
    (tmp_path / "dat" / "ratings.dat").write_text("1::1::5::0\n1::1\n")
    with pytest.raises(InvalidData, match=r"1 of 2 ratings .*ratings.dat:2: movie '1', rating ''"):
        from_movielens(tmp_path / "dat")
    (tmp_path / "dat" / "movies.dat").write_text("1::A\n")
    with pytest.raises(InvalidData, match=r"1 of 1 movies .*movies.dat:1"):
        from_movielens(tmp_path / "dat")
    write_100k(tmp_path / "100k")
    (tmp_path / "100k" / "u.item").write_text("1|A|01-Jan-1995||http://example.org|0|1\n")
    with pytest.raises(InvalidData, match=r"1 of 1 movies .*u.item:1"):
        from_movielens(tmp_path / "100k")


def test_genres_that_are_new_missing_or_not_rated(tmp_path: Path) -> None:
    movies = {1: ("A", ["War"]), 2: ("B", ["Telenovela"]), 3: ("C", [""]), 4: ("D", ["IMAX"])}
    write_csv(tmp_path, movies, [(1, 1, 4), (1, 2, 5), (1, 3, 1)])
    with pytest.warns(DataWarning) as caught:
        instance = from_movielens(tmp_path)
    assert sorted(instance.names) == [NO_GENRES, "Telenovela", "War"]
    assert dict(zip(instance.names, instance.means.tolist(), strict=True))[NO_GENRES] == 0.2
    messages = sorted(str(warning.message) for warning in caught)
    assert any("movies.csv:3: genre 'Telenovela' is not one of MovieLens" in message for message in messages)
    assert any("1 movies have no genre (the first is" in m and "movies.csv:4" in m for m in messages)
    assert any("no rated movie has genre IMAX" in message for message in messages)
    assert all(warning.filename == __file__ for warning in caught)


def test_a_path_is_not_a_pattern(tmp_path: Path) -> None:
    assert from_movielens(write_csv(tmp_path / "ml[25]*")).arms == 3


def test_an_open_quote_in_the_list_of_movies(tmp_path: Path) -> None:
    write_csv(tmp_path)
    (tmp_path / "movies.csv").write_text('movieId,title,genres\n1,"A,War\n' + "2,B,War\n" * 50_000)
    with pytest.raises(InvalidData, match=r"movies.csv:\d+: field larger than field limit"):
        from_movielens(tmp_path)


def test_paths_that_are_no_release(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="there is no file or folder"):
        from_movielens(tmp_path / "nowhere")
    (tmp_path / "ratings.csv").write_text(HEADER)
    with pytest.raises(InvalidData, match=r"ratings.csv with movies.csv, or .* was expected, ratings.csv found"):
        from_movielens(tmp_path)
    with pytest.raises(InvalidData, match=r"neither a folder nor a sound .zip archive"):
        from_movielens(tmp_path / "ratings.csv")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("x/readme", "")
    with pytest.raises(InvalidData, match=r"not a MovieLens release: .* readme found"):
        from_movielens(tmp_path / "x.zip")


def test_a_damaged_archive(tmp_path: Path) -> None:
    path = write_zip(tmp_path)
    data = bytearray(path.read_bytes())
    # The first member is stored at the front; its name ends at byte 30 + 18, the compressed data follow.
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("ml-made/ratings.csv")
    at = info.header_offset + 30 + len(info.filename) + 10
    data[at : at + 8] = b"\x00" * 8
    path.write_bytes(data)
    with pytest.raises(InvalidData, match=r"neither a folder nor a sound .zip archive"):
        from_movielens(path)


def test_wrong_arguments(tmp_path: Path) -> None:
    write_csv(tmp_path)
    with pytest.raises(InvalidData, match="'gaussian' does not fit ratings"):
        from_movielens(tmp_path, reward="gaussian")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="max_bad = 2"):
        from_movielens(tmp_path, max_bad=2)
