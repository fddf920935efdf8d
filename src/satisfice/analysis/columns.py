"""Which column of a log is what: by their names, and by what is in them. What is guessed is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satisfice.errors import Hint, InvalidData
from satisfice.instances.tables import require_columns
from satisfice.words import listed, shorten

if TYPE_CHECKING:
    import polars as pl

ROLES = ("arm", "reward", "cost", "time", "segment")
# The words by which columns are known, the best first.
WORDS: dict[str, tuple[str, ...]] = {
    "arm": (
        *("arm", "option", "variant", "variation", "channel", "model", "campaign", "vendor", "provider", "treatment"),
        *(
            "bucket",
            "creative",
            "template",
            "route",
            "genre",
            "algorithm",
            "method",
            "source",
            "version",
            "ad",
            "group",
        ),
    ),
    "reward": (
        *("reward", "converted", "conversion", "conversions", "success", "solved", "correct", "resolved", "passed"),
        *("clicked", "click", "clicks", "bought", "purchased", "purchase", "outcome", "revenue", "sales", "sale"),
        *("income", "turnover", "profit", "score", "rating", "stars", "quality", "accuracy", "label", "value"),
    ),
    "cost": (
        "cost",
        "costs",
        "price",
        "spend",
        "spent",
        "fee",
        "expense",
        "expenses",
        "usd",
        "eur",
        "dollars",
        "euros",
    ),
    "time": ("time", "timestamp", "datetime", "date", "day", "when", "at", "ts", "created", "sent", "week", "month"),
    "segment": (
        *("segment", "country", "region", "device", "platform", "language", "tier", "market", "cohort", "customer"),
        *("browser", "os", "city", "state", "category", "plan", "gender", "age", "kind", "type"),
    ),
}
# Rewards of these names are money: a unit of them is worth a unit of cost.
MONEY = ("revenue", "sales", "sale", "income", "turnover", "profit", "margin", "usd", "eur")
MOST_ARMS, MOST_SEGMENTS = 200, 20


@dataclass(frozen=True)
class Roles:
    """The columns of a log by what they are; None where there is none."""

    arm: str
    reward: str
    cost: str | None
    time: str | None
    segments: tuple[str, ...]
    guessed: tuple[str, ...]  # the roles that nobody named

    def sentence(self) -> str:
        """What was guessed, in words; nothing where nothing was."""
        named = {"arm": self.arm, "reward": self.reward, "cost": self.cost, "time": self.time}
        said = [f"{role} = {named[role]!r}" for role in self.guessed if named.get(role)]
        if "segment" in self.guessed and self.segments:
            said.append(f"segments = {', '.join(map(repr, self.segments))}")
        return f"columns by their names: {', '.join(said)}" if said else ""


def find_roles(head: pl.DataFrame, given: Mapping[str, str | None], *, shown: str, no_cost: bool) -> Roles:
    """The role of every column, from the first rows of a log and what was given.

    Parameters
    ----------
    head : DataFrame
        The first rows, all columns.
    given : mapping
        The columns that were named, by role.
    shown : str
        What to call the log in messages.
    no_cost : bool
        Whether the costs come from elsewhere, so that no column is looked for.

    Raises
    ------
    InvalidData
        A named column is not there, or no column can be told to be the arm or the reward.
    """
    named = {role: column for role, column in given.items() if column is not None}
    if head.columns and not head.height:
        raise InvalidData(f"{shown} holds no rows")
    require_columns(shown, list(named.values()), head.columns)
    taken = set(named.values())
    found: dict[str, str] = dict(named)
    guessed = []
    for role in ("arm", "reward", "cost", "time"):
        if role in found or (role == "cost" and no_cost):
            continue
        column = _by_name(head, role, taken)
        if column is not None:
            found[role] = column
            taken.add(column)
            guessed.append(role)
        elif role in ("arm", "reward"):
            there = listed([shorten(repr(name), 40) for name in head.columns], 20)
            raise InvalidData(
                f"{shown}: which column is the {role}? Its columns are {there}{why_not(head, role, taken)}",
                hint=Hint.ARM_COLUMN if role == "arm" else Hint.REWARD_COLUMN,
                columns=[role],
            )
    segments: tuple[str, ...] = (named["segment"],) if "segment" in named else ()
    if not segments:
        segments = tuple(name for name in head.columns if name not in taken and _is_segment(head, name))[:4]
        guessed += ["segment"] if segments else []
    return Roles(
        arm=found["arm"],
        reward=found["reward"],
        cost=found.get("cost"),
        time=found.get("time"),
        segments=segments,
        guessed=tuple(guessed),
    )


def is_money(column: str) -> bool:
    """Whether a column of rewards is money, by its name.

    Examples
    --------
    >>> is_money("revenue_usd"), is_money("converted"), is_money("OrderRevenue")
    (True, False, True)
    """
    return any(word in MONEY for word in _parts(column))


def _parts(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [part for part in re.split(r"[^A-Za-z]+", spaced.lower()) if part]


def _by_name(head: pl.DataFrame, role: str, taken: set[str]) -> str | None:
    """The column whose name speaks most for a role, among those that could be it."""
    ranked = []
    for place, name in enumerate(head.columns):
        if name in taken or not _fits(head, role, name):
            continue
        parts = _parts(name)
        for rank, word in enumerate(WORDS[role]):
            if word in parts:
                ranked.append((parts != [word], rank, place, name))
                break
    return min(ranked)[3] if ranked else None


def why_not(head: pl.DataFrame, role: str, taken: set[str]) -> str:
    """Why the column that has the name of a role does not fit, in words; nothing where there is none."""
    import polars as pl

    for name in head.columns:
        if name in taken or not set(_parts(name)) & set(WORDS[role]):
            continue
        known = head[name].cast(pl.String).drop_nulls().unique(maintain_order=True)
        if role == "arm":
            return f"; {name!r} has {'one value only' if len(known) == 1 else f'{len(known):,} different values'}"
        wrong = known.filter(~known.str.strip_chars().cast(pl.Float64, strict=False).is_not_null())
        return f"; {name!r} has {shorten(repr(wrong[0]), 40)}, which is no number" if len(wrong) else ""
    return ""


def _fits(head: pl.DataFrame, role: str, name: str) -> bool:
    """Whether what is in a column could be of this role."""
    if role == "arm":
        return 2 <= head[name].n_unique() <= MOST_ARMS
    if role in ("reward", "cost"):
        return _numeric(head[name])
    return True


def _is_segment(head: pl.DataFrame, name: str) -> bool:
    """Whether a column divides the rows into a few groups of some size."""
    different = head[name].n_unique()
    return (
        2 <= different <= min(MOST_SEGMENTS, max(head.height // 20, 2))
        and any(word in WORDS["segment"] for word in _parts(name))
        and head[name].null_count() < head.height // 2
    )


def _numeric(column: pl.Series) -> bool:
    import polars as pl

    from satisfice.instances.tables import as_numbers

    try:
        numbers = column.to_frame().select(as_numbers(column.name, column.dtype)).to_series()
    except InvalidData:
        return False
    known = column.cast(pl.String).str.strip_chars().replace("", None).drop_nulls().len()
    return known > 0 and numbers.drop_nulls().len() >= 0.9 * known
