"""Make a gzipped file of the shape of a Goodreads genre (UCSD Book Graph reviews) from a seed.

    python benchmarks/make_goodreads.py FILE.json.gz [--lines 3500000] [--seed 0]

One JSON object a line with the fields of the real files, the reviews of a reader one after the other as there. The
texts are made words in made phrases, of lengths that give about 1,050 bytes a line, 340 when compressed: the real file
of all genres has 5,381,053,528 compressed bytes for 15,739,967 reviews.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

LINES = 3_500_000
RATINGS, SHARES = np.arange(6), np.array([0.035, 0.03, 0.075, 0.21, 0.31, 0.34])
TEXTS, BLOCK, REVIEWS_A_READER = 30_000, 20_000, 12
DAYS = [f"Sun Jul {day:02d} 07:44:{second:02d} -0700 2017" for day in range(1, 32) for second in range(60)]


def make_goodreads(path: Path, lines: int = LINES, seed: int = 0) -> Path:
    """Write `lines` reviews; a rating of 0 means that none was given, as in the real files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    texts = _texts(rng)
    with gzip.open(path, "wb", compresslevel=6) as file:
        for start in range(0, lines, BLOCK):
            size = min(BLOCK, lines - start)
            readers, reviews = rng.bytes(16 * size).hex(), rng.bytes(16 * size).hex()
            reader = 32 * np.cumsum(rng.random(size) < 1 / REVIEWS_A_READER).clip(max=size - 1)
            columns = zip(
                range(0, 32 * size, 32),
                reader.tolist(),
                rng.integers(1, 30_000_000, size).tolist(),
                rng.choice(RATINGS, size, p=SHARES).tolist(),
                rng.integers(0, TEXTS, size).tolist(),
                rng.integers(0, len(DAYS), size).tolist(),
                rng.poisson(1.0, size).tolist(),
                strict=True,
            )
            block = "".join(
                f'{{"user_id": "{readers[who : who + 32]}", "book_id": "{book}", '
                f'"review_id": "{reviews[at : at + 32]}", '
                f'"rating": {rating}, "review_text": {texts[text]}, "date_added": "{DAYS[day]}", '
                f'"date_updated": "{DAYS[day]}", "read_at": "{DAYS[-day]}", "started_at": "", '
                f'"n_votes": {votes}, "n_comments": 0}}\n'
                for at, who, book, rating, text, day, votes in columns
            )
            file.write(block.encode())
    return path


def _texts(rng: np.random.Generator) -> list[str]:
    """Review texts, JSON-encoded (quotes, newlines and accents are escaped there as they are in the real files)."""
    letters, weights = list("etaoinshrdlucmfwypvbgk"), np.arange(22, 0, -1.0)
    vocabulary = ["".join(rng.choice(letters, n, p=weights / weights.sum())) for n in 2 + rng.poisson(3.5, 20_000)]
    vocabulary[50], vocabulary[90], vocabulary[130] = '"so-called"', "café", "\n\n"
    # Words come in phrases, as in any language: that is what makes text compressible.
    share = 1.0 / np.arange(3, len(vocabulary) + 3)
    phrases = [
        " ".join(vocabulary[word] for word in rng.choice(len(vocabulary), size=length, p=share / share.sum()))
        for length in 1 + rng.poisson(0.7, 20_000)
    ]
    share = 1.0 / np.arange(60, len(phrases) + 60)
    lengths = np.clip(rng.lognormal(3.47, 1.15, TEXTS), 1, 2000).astype(int)
    chosen = rng.choice(len(phrases), size=int(lengths.sum()), p=share / share.sum())
    ends = np.cumsum(lengths)
    return [
        json.dumps(" ".join(phrases[phrase] for phrase in chosen[end - length : end]))
        for end, length in zip(ends, lengths, strict=True)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    make_goodreads(options.file, options.lines, options.seed)
