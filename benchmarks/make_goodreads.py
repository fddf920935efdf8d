"""Make a gzipped file of the shape of a Goodreads genre (UCSD Book Graph reviews) from a seed.

    python benchmarks/make_goodreads.py FILE.json.gz [--lines 3500000] [--seed 0]

One JSON object a line with the fields of the real files. Review texts follow a Zipf law over made words, with lengths
that give about 1,000 bytes a line and a compression ratio of about 3, as reviews in the real files do.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

LINES = 3_500_000
RATINGS, SHARES = np.arange(6), np.array([0.035, 0.03, 0.075, 0.21, 0.31, 0.34])
TEXTS, BLOCK = 30_000, 20_000
DAYS = [f"Sun Jul {day:02d} 07:44:{second:02d} -0700 2017" for day in range(1, 32) for second in range(60)]


def make_goodreads(path: Path, lines: int = LINES, seed: int = 0) -> Path:
    """Write `lines` reviews; a rating of 0 means that none was given, as in the real files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    texts = _texts(rng)
    with gzip.open(path, "wb", compresslevel=6) as file:
        for start in range(0, lines, BLOCK):
            size = min(BLOCK, lines - start)
            users, reviews = rng.bytes(16 * size).hex(), rng.bytes(16 * size).hex()
            columns = zip(
                range(0, 32 * size, 32),
                rng.integers(1, 30_000_000, size).tolist(),
                rng.choice(RATINGS, size, p=SHARES).tolist(),
                rng.integers(0, TEXTS, size).tolist(),
                rng.integers(0, len(DAYS), size).tolist(),
                rng.poisson(1.0, size).tolist(),
                strict=True,
            )
            block = "".join(
                f'{{"user_id": "{users[at : at + 32]}", "book_id": "{book}", "review_id": "{reviews[at : at + 32]}", '
                f'"rating": {rating}, "review_text": {texts[text]}, "date_added": "{DAYS[day]}", '
                f'"date_updated": "{DAYS[day]}", "read_at": "{DAYS[-day]}", "started_at": "", '
                f'"n_votes": {votes}, "n_comments": 0}}\n'
                for at, book, rating, text, day, votes in columns
            )
            file.write(block.encode())
    return path


def _texts(rng: np.random.Generator) -> list[str]:
    """Review texts, JSON-encoded (quotes, newlines and accents are escaped there as they are in the real files)."""
    letters, weights = list("etaoinshrdlucmfwypvbgk"), np.arange(22, 0, -1.0)
    vocabulary = ["".join(rng.choice(letters, n, p=weights / weights.sum())) for n in 2 + rng.poisson(3.5, 20_000)]
    vocabulary[50], vocabulary[90], vocabulary[130] = '"so-called"', "café", "\n\n"
    share = 1.0 / np.arange(3, len(vocabulary) + 3)
    share /= share.sum()
    lengths = np.clip(rng.lognormal(4.0, 1.15, TEXTS), 1, 3000).astype(int)
    words = rng.choice(len(vocabulary), size=int(lengths.sum()), p=share)
    ends = np.cumsum(lengths)
    return [
        json.dumps(" ".join(vocabulary[word] for word in words[end - length : end]))
        for end, length in zip(ends, lengths, strict=True)
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    make_goodreads(options.file, options.lines, options.seed)
