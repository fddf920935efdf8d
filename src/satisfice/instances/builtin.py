"""The instances that come with the package, and instance files."""

from __future__ import annotations

import csv
import difflib
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from satisfice.errors import InvalidData, SatisficeError
from satisfice.files import write_whole
from satisfice.problem import Instance

PUBLISHED = ("movielens", "goodreads", "asymmetric")
LLM_SOURCE = (
    "LLMRouterBench, {benchmark}: the mean is the measured accuracy, the cost is what running the whole benchmark "
    "cost in US dollars"
)

POLYGLOT_SOURCE = (
    "aider's polyglot leaderboard of May 2026 (Aider-AI/aider, polyglot_leaderboard.yml, Apache-2.0), 225 programming "
    "tasks: the mean is the share that was passed {tries}, the cost is US dollars per task (both tries); models "
    "without a recorded cost are left out"
)
TRIES = {"aider-polyglot": "within two tries", "aider-polyglot:first": "at the first try"}


def load_instance(name: str | os.PathLike[str]) -> Instance:
    """A built-in instance by name, or the instance of a JSON file.

    Parameters
    ----------
    name : str or path
        "movielens", "goodreads", "asymmetric", "toy:<mu_1>" with any mean within [0, 1],
        "llm-routing:<benchmark>", "aider-polyglot", "aider-polyglot:first", or the path of a file that
        ends in .json, as written by `save_instance` and `satisfice instance`.

    Raises
    ------
    InvalidData
        When there is no such instance (the message lists what there is) or the file does not hold one.

    Examples
    --------
    >>> load_instance("movielens")
    <Instance movielens: 20 arms, bernoulli rewards>
    >>> load_instance("toy:0.78").means.tolist()
    [0.78, 0.81, 0.95, 0.8]
    """
    text = os.fspath(name)
    if isinstance(name, os.PathLike) or text.lower().endswith(".json"):
        return _read(Path(text))
    family, colon, member = text.partition(":")
    if text in PUBLISHED:
        return Instance.from_dict(_shipped(text))
    if family == "toy" and colon:
        return _toy(member)
    if text in TRIES:
        return _polyglot(text)
    if family == "llm-routing" and member in _llm_routing():
        return _llm(member)
    raise InvalidData(f"there is no instance {text!r}; {_hint(text)}")


def builtin_instances() -> list[str]:
    """The names of the built-in instances, each of which `load_instance` loads.

    "toy:<mu_1>" is listed for the 12 published values of mu_1; other values load as well.

    Examples
    --------
    >>> builtin_instances()[:4]
    ['movielens', 'goodreads', 'asymmetric', 'toy:0.6']
    """
    return [
        *PUBLISHED,
        *(f"toy:{mu_1}" for mu_1 in _toy_means()),
        *(f"llm-routing:{benchmark}" for benchmark in _llm_routing()),
        *TRIES,
    ]


def save_instance(instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write an instance as JSON, in full precision, for `load_instance` to read back; folders are made as needed.

    Raises
    ------
    InvalidData
        When the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_instance(Instance(costs=[1, 2], means=[0.5, 1 / 3]), f"{folder}/two.json")
    ...     load_instance(f"{folder}/two.json").means.tolist()
    [0.5, 0.3333333333333333]
    """
    try:
        text = json.dumps(instance.to_dict(), indent=1, ensure_ascii=False) + "\n"
        write_whole(Path(path), lambda part: part.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise InvalidData(f"{os.fspath(path)} cannot be written: {error.strerror}") from error


def _read(path: Path) -> Instance:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InvalidData(f"there is no file {path}; {_hint(path.stem)}") from error
    except OSError as error:
        raise InvalidData(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidData(f"{path} is not UTF-8 text") from error
    except json.JSONDecodeError as error:
        raise InvalidData(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    if not isinstance(data, dict):
        raise InvalidData(f"{path} holds a JSON {type(data).__name__}; an instance is an object with a list of arms")
    try:
        return Instance.from_dict(data)
    except (SatisficeError, ValueError) as error:
        raise InvalidData(f"{path}: {error}") from error


@cache
def _text(file: str) -> str:
    return files("satisfice.instances").joinpath("data", file).read_text(encoding="utf-8")


def _shipped(name: str) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(_text(f"{name}.json")))


def _toy_means() -> list[float]:
    arms = cast("list[dict[str, object]]", _shipped("toy")["arms"])
    return cast("list[float]", arms[0]["mean"])


def _toy(member: str) -> Instance:
    try:
        mu_1 = float(member)
    except ValueError:
        mu_1 = float("nan")
    if not 0 <= mu_1 <= 1:
        raise InvalidData(f"toy:{member} needs a mean within [0, 1] after the colon, such as toy:0.78")
    data = _shipped("toy")
    cast("list[dict[str, object]]", data["arms"])[0]["mean"] = mu_1
    return Instance.from_dict(data | {"name": f"toy:{mu_1}"})


@cache
def _llm_routing() -> dict[str, list[dict[str, str]]]:
    benchmarks: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(_text("llm-routing.csv").splitlines()):
        benchmarks.setdefault(row["benchmark"], []).append(row)
    return benchmarks


def _llm(benchmark: str) -> Instance:
    rows = _llm_routing()[benchmark]
    return Instance(
        costs=[float(row["cost_usd"]) for row in rows],
        means=[float(row["mean"]) for row in rows],
        names=[row["model"] for row in rows],
        label=f"llm-routing:{benchmark}",
        source=LLM_SOURCE.format(benchmark=benchmark),
    )


def _polyglot(name: str) -> Instance:
    rows = list(csv.DictReader(_text("aider-polyglot.csv").splitlines()))
    passed = "passed" if name == "aider-polyglot" else "passed_first"
    return Instance(
        costs=[float(row["cost_usd"]) / int(row["cases"]) for row in rows],
        means=[int(row[passed]) / int(row["cases"]) for row in rows],
        names=[row["model"] for row in rows],
        label=name,
        source=POLYGLOT_SOURCE.format(tries=TRIES[name]),
    )


def _hint(text: str) -> str:
    known = {name.lower(): name for name in builtin_instances()} | {"toy": "toy:<mu_1>"}
    # Benchmarks are also looked for by their bare name, so that "gpqa" finds "llm-routing:GPQA".
    known |= {benchmark.lower(): f"llm-routing:{benchmark}" for benchmark in _llm_routing()}
    close = dict.fromkeys(known[match] for match in difflib.get_close_matches(text.lower(), known, n=3, cutoff=0.7))
    meant = f"did you mean {' or '.join(close)}? There" if close else "there"
    return (
        f"{meant} are {', '.join(PUBLISHED)}, toy:<mu_1>, llm-routing:<benchmark> "
        f"(benchmarks: {', '.join(_llm_routing())}), {', '.join(TRIES)}, and paths that end in .json"
    )
