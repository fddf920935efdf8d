"""Goodreads: shares and means, lines that give no rating, and lines that are broken."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satisfice.errors import InvalidData
from satisfice.instances import DataWarning, from_goodreads, jsonlines
from satisfice.instances.tally import Problems

RATINGS = [5, 4, 3, 3, 2, 1, 5, 4]  # 4 of 8 above 3: 0.5; sum 27: 27 / 8 / 5 = 0.675


def lines(ratings: Iterable[object], text: str = 'A "nice" book.\n\tReally: {rating: 5}') -> str:
    return "".join(json.dumps({"user_id": "u", "rating": r, "review_text": text, "n_votes": 0}) + "\n" for r in ratings)


def write(path: Path, text: str) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", ["goodreads_reviews_poetry.json.gz", "goodreads_reviews_poetry.json", "poetry.jsonl"])
@pytest.mark.parametrize("progress", [False, True])
def test_plain_and_gzipped_files(name: str, progress: bool, tmp_path: Path) -> None:
    path = write(tmp_path / name, lines(RATINGS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        instance = from_goodreads(path, progress=progress)
    assert instance.names == ("poetry",)
    assert instance.means.tolist() == [0.5]
    assert instance.costs == pytest.approx(np.random.RandomState(0).rand(1))
    assert "8 ratings in 1 files, share of ratings above 3" in instance.source


def test_the_mean_and_the_real_ratings(tmp_path: Path) -> None:
    path = write(tmp_path / "poetry.json.gz", lines(RATINGS))
    assert from_goodreads(path, statistic="mean").means.tolist() == [0.675]
    instance = from_goodreads(path, statistic="mean", reward="categorical")
    assert instance.values.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert instance.probabilities.tolist() == [[1 / 8, 1 / 8, 2 / 8, 2 / 8, 2 / 8]]


def test_means_have_3_decimals_unless_they_are_to_be_exact(tmp_path: Path) -> None:
    path = write(tmp_path / "poetry.json", lines([5, 5, 1]))
    assert from_goodreads(path).means.tolist() == [0.667]
    assert from_goodreads(path, exact=True).means.tolist() == [2 / 3]


def test_one_arm_per_file_sorted_by_cost(tmp_path: Path) -> None:
    write(tmp_path / "goodreads_reviews_poetry.json.gz", lines([5]))
    write(tmp_path / "goodreads_reviews_children.json.gz", lines([1]))
    write(tmp_path / "goodreads_reviews_romance.json", lines([4, 1]))
    (tmp_path / "README").write_text("not a genre")
    # RandomState(0).rand(3) = 0.5488, 0.7152, 0.6028 for children, poetry and romance.
    by_folder = from_goodreads(tmp_path)
    assert by_folder.names == ("children", "romance", "poetry")
    assert by_folder.means.tolist() == [0, 0.5, 1]
    assert by_folder == from_goodreads(*sorted(tmp_path.glob("goodreads*"), reverse=True))


def test_ratings_of_0_are_no_ratings(tmp_path: Path) -> None:
    path = write(tmp_path / "poetry.json", lines([5, 0, 1, 0]))
    with pytest.warns(DataWarning, match=r"poetry.json: 2 lines with a rating of 0 \(none given\) were left out"):
        assert from_goodreads(path).means.tolist() == [0.5]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_goodreads(path, zeros="keep").means.tolist() == [0.25]
        # (5 + 0 + 1 + 0) / 4 / 5 = 0.3
        assert from_goodreads(path, zeros="keep", statistic="mean").means.tolist() == [0.3]
    write(path, lines([0, 0]))
    with pytest.warns(DataWarning), pytest.raises(InvalidData, match=r"poetry.json holds no ratings from 1 to 5"):
        from_goodreads(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"rating": 5, "review_text": "cut o', r"not a JSON object \(1, the first is .*poetry.json:501\)"),
        ("hello", r"not a JSON object \(1, .*:501\)"),
        ("[5]", r"not a JSON object \(1, .*:501\)"),
        ('{"rating": 5}{"rating": 4}', r"not a JSON object \(1, .*:501\)"),
        ('{"stars": 5}', r'no "rating" \(1, the first is .*:501\)'),
        ('{"rating": null}', r'no "rating" \(1, the first is .*:501\)'),
        ('{"rating": 6}', r"not a whole number from 0 to 5 \(1, .*:501: '6'\)"),
        ('{"rating": -1}', r"not a whole number from 0 to 5 \(1, .*:501: '-1'\)"),
        ('{"rating": 4.5}', r"not a whole number from 0 to 5 \(1, .*:501: '4.5'\)"),
        ('{"rating": "good"}', r"not a whole number from 0 to 5 \(1, .*:501: 'good'\)"),
        ('{"rating": true}', r"not a whole number from 0 to 5 \(1, .*:501: 'true'\)"),
        ('{"rating": {"stars": 5}}', r"not a whole number from 0 to 5 \(1, .*:501"),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "json.gz"])
def test_bad_lines_are_counted_and_left_out_or_refused(line: str, message: str, suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"poetry.{suffix}", lines([5, 1] * 250) + line + "\n" + lines([5, 1] * 250))
    message = message.replace("poetry.json", path.name)
    with pytest.warns(DataWarning, match="left out of 1,001 lines of .*" + message):
        instance = from_goodreads(path)
    assert instance.means.tolist() == [0.5]
    assert "1,000 ratings" in instance.source
    with pytest.raises(InvalidData, match="1 of 1,001 lines .* more than the accepted 0.00%: .*" + message):
        from_goodreads(path, max_bad=0)


def test_bytes_that_are_not_utf_8_are_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "poetry.json"
    path.write_bytes(lines([5, 1] * 100).encode() + b'{"rating": 5, "review_text": "\xff"}\n')
    with pytest.warns(DataWarning, match=r"not a JSON object \(1, the first is .*poetry.json:201\)"):
        assert from_goodreads(path).means.tolist() == [0.5]


def test_blank_lines_line_ends_and_a_last_line_without_one(tmp_path: Path) -> None:
    path = tmp_path / "poetry.json"
    path.write_bytes(b'\n{"rating": 5}\r\n\n   \n{"rating": 1.0}\n{"rating": "4"}\n{"rating": 2}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        instance = from_goodreads(path)
    assert instance.means.tolist() == [0.5]
    assert "4 ratings" in instance.source


RECORDS = st.one_of(
    st.integers(0, 5).map(lambda rating: json.dumps({"rating": rating, "t": 'é\n"' * 3})),
    st.sampled_from(["", "  ", "{", '{"rating": 5', "[1]", '{"t": 1}', '{"rating": 7}', '{"rating": "x"}', "{}"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(RECORDS, max_size=60), st.booleans(), st.sampled_from([16, 100, 1000]), st.sampled_from([1, 64]))
def test_blocks_and_their_halves_lose_no_line(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], last_newline: bool, block: int, piece: int
) -> None:
    """Against a plain loop, with blocks so small that lines cross their borders."""
    path = tmp_path_factory.mktemp("gr") / "x.json.gz"
    write(path, "\n".join(texts) + ("\n" if last_newline else ""))
    expected: list[tuple[int, str | None]] = []
    broken: list[int] = []
    places: dict[int, int] = {}
    for number, text in enumerate(texts, start=1):
        if not text.strip():
            continue
        try:
            record = json.loads(text)
        except ValueError:
            record = None
        if isinstance(record, dict):
            places[len(expected) + len(broken)] = number
            expected.append(
                (len(expected) + len(broken), None if record.get("rating") is None else str(record["rating"]))
            )
        else:
            broken.append(number)
    problems = Problems("lines", 1.0)
    advanced: list[float] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonlines, "BLOCK", block)
        patch.setattr(jsonlines, "PIECE", piece)
        frames = list(jsonlines.read_json_lines(path, ["rating"], problems=problems, advance=advanced.append))
    assert [row for frame in frames for row in frame.iter_rows()] == expected
    assert problems.count == len(broken)
    if broken:
        first = problems.found[jsonlines.NOT_JSON][1]
        assert not isinstance(first, str) and first() == f"{path}:{broken[0]}"
    for row, number in places.items():
        assert jsonlines.place(path, row) == f"{path}:{number}"
    assert sum(advanced) <= path.stat().st_size


def test_files_of_many_blocks(tmp_path: Path) -> None:
    path = write(tmp_path / "poetry.json.gz", lines([5, 1] * 200) + "oops\n" + lines([5, 1] * 200) + '{"rating": 6}\n')
    with pytest.MonkeyPatch.context() as patch, pytest.warns(DataWarning) as caught:
        patch.setattr(jsonlines, "BLOCK", 500)
        instance = from_goodreads(path)
    assert instance.means.tolist() == [0.5]
    assert "800 ratings" in instance.source
    assert [str(w.message).rpartition("poetry.json.gz")[2] for w in caught] == [":401)", ":802: '6')"]


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="there is no file or folder"):
        from_goodreads(tmp_path / "poetry.json")
    with pytest.raises(InvalidData, match=r"holds no file that ends in .json"):
        from_goodreads(tmp_path)
    with pytest.raises(InvalidData, match="no Goodreads files were given"):
        from_goodreads()
    with pytest.raises(InvalidData, match=r"poetry.json is empty"):
        from_goodreads(write(tmp_path / "poetry.json", ""))
    with pytest.raises(InvalidData, match=r"empty.json.gz is empty"):
        from_goodreads(write(tmp_path / "empty.json.gz", ""))
    with pytest.raises(InvalidData, match=r"x.json holds no ratings"):
        from_goodreads(write(tmp_path / "x.json", "\n\n"))
    good = write(tmp_path / "goodreads_reviews_poetry.json.gz", lines(RATINGS))
    with pytest.raises(InvalidData, match="would both be the arm 'poetry'"):
        from_goodreads(good, write(tmp_path / "poetry.json", lines(RATINGS)))


def test_gzip_files_that_end_too_early_or_are_damaged(tmp_path: Path) -> None:
    whole = gzip.compress(lines(RATINGS * 1000).encode())
    cut, damaged = tmp_path / "cut.json.gz", tmp_path / "damaged.json.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    damaged.write_bytes(whole[:200] + b"\xff" * 20 + whole[220:])
    for path in (cut, damaged):
        with pytest.raises(InvalidData, match=f"{path.name}: the gzip data are damaged or end too early"):
            from_goodreads(path)


def test_gzip_files_of_several_parts_are_read_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / "poetry.json.gz"
    path.write_bytes(gzip.compress(lines([5, 5]).encode()) + gzip.compress(lines([1, 1]).encode()))
    assert from_goodreads(path).means.tolist() == [0.5]


def test_a_file_that_is_one_long_line_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "poetry.json", "[" + '{"rating": 5}, ' * 1000 + "]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonlines, "BLOCK", 100)
        patch.setattr(jsonlines, "LONGEST", 1000)
        with pytest.raises(InvalidData, match=r"poetry.json has a line of more than 0 MB; JSON lines were expected"):
            from_goodreads(path)


def test_wrong_arguments(tmp_path: Path) -> None:
    path = write(tmp_path / "poetry.json", lines(RATINGS))
    with pytest.raises(InvalidData, match="statistic 'median' is unknown"):
        from_goodreads(path, statistic="median")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="zeros = 'some'"):
        from_goodreads(path, zeros="some")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="'gaussian' does not fit ratings"):
        from_goodreads(path, reward="gaussian")  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="with statistic mean"):
        from_goodreads(path, reward="categorical")
