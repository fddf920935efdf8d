"""Make a file of the MovieLens 25M release's shape (25,000,095 ratings, 62,423 movies, 20 genres) from a seed.

    python benchmarks/make_movielens.py FOLDER [--seed 0] [--fraction 0.1]

The ids, the popularity of movies, the ratings and the number of genres per movie are drawn so that the files have
about the size and the skew of the release (ratings.csv of about 650 MB); the ratings themselves mean nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

RATINGS, MOVIES, USERS = 25_000_095, 62_423, 162_541
GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
NO_GENRES = "(no genres listed)"
BLOCK = 2_000_000


def make_movielens(folder: Path, seed: int = 0, fraction: float = 1.0) -> Path:
    """Write ratings.csv and movies.csv; `fraction` scales the number of ratings, not that of movies."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    movie_ids = np.sort(rng.choice(np.arange(1, 209_172), size=MOVIES, replace=False))
    _movies(folder / "movies.csv", movie_ids, rng)
    quality = rng.normal(3.5, 0.5, size=MOVIES)
    popularity = rng.permutation(1.0 / np.arange(1, MOVIES + 1) ** 0.9)
    cumulative = np.cumsum(popularity / popularity.sum())
    total = round(RATINGS * fraction)
    with (folder / "ratings.csv").open("wb") as file:
        file.write(b"userId,movieId,rating,timestamp\n")
        for start in range(0, total, BLOCK):
            size = min(BLOCK, total - start)
            movie = np.searchsorted(cumulative, rng.random(size)).clip(max=MOVIES - 1)
            stars = np.clip(np.rint(2 * (quality[movie] + rng.normal(0, 0.9, size))), 1, 10) / 2
            pl.DataFrame(
                {
                    "userId": (np.arange(start, start + size) * (USERS / total)).astype(np.int64) + 1,
                    "movieId": movie_ids[movie],
                    "rating": stars,
                    "timestamp": rng.integers(789_652_009, 1_574_327_703, size),
                }
            ).write_csv(file, include_header=False, float_precision=1)
    return folder


def _movies(path: Path, movie_ids: np.ndarray, rng: np.random.Generator) -> None:
    share = 1.0 / np.arange(1, len(GENRES) + 1)
    share = rng.permutation(share / share.sum())
    lines = ["movieId,title,genres"]
    for i, movie_id in enumerate(movie_ids):
        count = 0 if i % 12 == 0 else 1 + rng.binomial(4, 0.22)
        picked = sorted(rng.choice(GENRES, size=count, replace=False, p=share))
        # Titles with a comma are quoted, as they are in the release.
        lines.append(f'{movie_id},"Made Film No. {i}, The (1995)",{"|".join(picked) or NO_GENRES}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fraction", type=float, default=1.0)
    options = parser.parse_args()
    make_movielens(options.folder, options.seed, options.fraction)
