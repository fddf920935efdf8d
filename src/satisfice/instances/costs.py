"""Costs of arms: the paper's random ones, and given ones."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from satisfice.errors import Hint, InvalidData
from satisfice.instances.tally import warn
from satisfice.words import is_number, listed


def random_costs(names: Sequence[str], seed: int) -> dict[str, float]:
    """The paper's random costs: NumPy's legacy `RandomState(seed).rand(K)` over the names in alphabetical order.

    Examples
    --------
    >>> random_costs(["Comedy", "Action"], seed=0)
    {'Action': 0.5488135039273248, 'Comedy': 0.7151893663724195}
    """
    try:
        drawn = np.random.RandomState(seed).rand(len(names)).tolist()
    except ValueError as error:
        raise InvalidData(f"the seed of the costs is {seed}; it must be within 0 and 2**32 - 1") from error
    return dict(zip(sorted(names), drawn, strict=True))


def one_place(*places: object) -> None:
    """Raise `InvalidData` unless exactly one of the places that costs may come from was named: none is made up."""
    given = sum(place is not None for place in places)
    if given != 1:
        problem = "the costs come from more than one place" if given else "there are no costs"
        raise InvalidData(f"{problem}; give one of these", hint=Hint.COSTS)


def priced(
    arms: Sequence[str],
    column: tuple[str, Mapping[str, float]] | None,
    costs: Mapping[str, float] | str | os.PathLike[str] | None,
    seed: int | None,
) -> tuple[dict[str, float], str]:
    """The cost of every arm, from the one place that was named, and where it comes from."""
    if column is not None:
        return {arm: column[1][arm] for arm in arms}, f"mean of {column[0]!r} per arm"
    if costs is not None:
        return given_costs(costs, arms), "given" if isinstance(costs, Mapping) else Path(costs).name
    assert seed is not None
    drawn = f"NumPy legacy RandomState({seed}).rand({len(arms)}) over the arms in alphabetical order"
    warn(f"the costs are drawn at random: {drawn}")
    return random_costs(arms, seed), drawn


def given_costs(costs: Mapping[str, float] | str | os.PathLike[str], arms: Sequence[str]) -> dict[str, float]:
    """The cost of every arm from a mapping, a JSON file with an object, or a CSV file of (arm, cost).

    Raises
    ------
    InvalidData
        When an arm has no cost, or the file is broken.
    """
    entries = costs if isinstance(costs, Mapping) else _cost_file(Path(costs))
    given = {str(arm): cost for arm, cost in entries.items()}
    missing = [arm for arm in arms if arm not in given]
    if missing:
        raise InvalidData(f"{len(missing)} of {len(arms)} arms have no cost: {listed([*map(repr, missing)], 8)}")
    unused = sorted(set(given) - set(arms))
    if unused:
        warn(f"costs of arms that the log does not have were not used: {', '.join(map(repr, unused[:8]))}")
    return {arm: given[arm] for arm in arms}


def _cost_file(path: Path) -> dict[str, float]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidData(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidData(f"{path} is not UTF-8 text") from error
    if path.suffix.lower() == ".json":
        try:
            entries = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidData(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
        if not isinstance(entries, dict):
            raise InvalidData(f"{path} holds no JSON object of arms and their costs")
        for arm, cost in entries.items():
            if not is_number(cost):
                raise InvalidData(f"{path}: the cost of {arm!r} is {cost!r}; a number was expected")
        return entries
    costs: dict[str, float] = {}
    reader = csv.reader(text.splitlines())
    for fields in reader:
        try:
            arm, cost = fields[0].strip(), float(fields[1])
        except (ValueError, IndexError) as error:
            if not costs and reader.line_num == 1:
                continue
            if fields:
                raise InvalidData(
                    f"{path}:{reader.line_num}: an arm and its cost were expected, not {fields!r}"
                ) from error
            continue
        if arm in costs:
            raise InvalidData(f"{path}:{reader.line_num}: a second cost of {arm!r}")
        costs[arm] = cost
    return costs
