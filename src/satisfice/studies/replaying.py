"""Replay: what another policy would have done with a recorded log, on the decisions that match.

The replay method of Li, Chu, Langford and Wang (WSDM 2011): go through the log; where the arm that the policy wants
is the arm that was played, it gets the recorded reward; every other row is passed over. Where the log says with
which probability its arm was served (the column `chance`, which studies export), a row that matches stands for
1 / chance of them in the means, so that a log that favoured some arms for no reason of theirs does not do so here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satisfice.errors import Hint, InvalidData, InvalidStudy
from satisfice.policies import Policy
from satisfice.problem import Setting
from satisfice.studies.config import OTHER, make_config
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Outcome, Reason, Row
from satisfice.studies.report import make_status
from satisfice.studies.status import Status
from satisfice.words import shown

if TYPE_CHECKING:
    import polars as pl

    from satisfice.instances.sources import PandasFrame
    from satisfice.studies.study import Study

CAVEAT = (
    "Rewards are those of the logged decisions that match; the others are passed over. This is what the policy would "
    "have seen if rewards depend on the arm alone and do not drift; a log whose own policy favoured some arms answers "
    "about the others only as far as it played them."
)


class Logged(NamedTuple):
    """A row of a log with a reward. `cost` is nan where the log has none."""

    arm: str
    reward: float
    cost: float
    chance: float = 1.0  # the probability with which the arm was served at that moment
    segment: str | None = None


class Pull(NamedTuple):
    """A matching decision."""

    row: int  # its place among the rewards of the log, from 0
    arm: str
    reward: float


@dataclass(frozen=True)
class Replay:
    """What a policy did on the decisions of a log that match."""

    policy: str
    logged: int  # decisions with a reward in the log
    matched: int  # of which the policy made the same
    ended: bool  # whether the policy was still waiting for an arm when the log ended
    pulls: dict[str, int]
    mean_reward: float
    mean_cost: float
    logged_mean_reward: float
    logged_mean_cost: float
    status: Status
    decisions: tuple[Pull, ...]
    caveat: str = CAVEAT

    def to_dict(self) -> dict[str, object]:
        """Plain data for JSON, without the single decisions; what is not known is None."""
        data: dict[str, object] = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "decisions"
        }
        unknown = {key: None for key, value in data.items() if isinstance(value, float) and math.isnan(value)}
        return data | unknown | {"status": self.status.to_dict()}

    def __str__(self) -> str:
        return (
            f"{self.policy}: {self.matched:,} of {self.logged:,} logged decisions match; on them mean reward "
            f"{self.mean_reward:.4g} (log: {self.logged_mean_reward:.4g}) and mean cost {self.mean_cost:.4g} "
            f"(log: {self.logged_mean_cost:.4g}). {self.status.verdict.sentence}\n{self.caveat}"
        )


def replay(
    policy: str | Policy | type[Policy],
    log: Study | pl.DataFrame | PandasFrame | str | Path,
    *,
    setting: Setting | None = None,
    arms: Mapping[str, float] | None = None,
    horizon: int | None = None,
    confidence: float | None = None,
    rewards: tuple[float, float] | None = None,
    binary: bool = False,
    seed: int = 0,
) -> Replay:
    """Feed a recorded log through a policy, to see what it would have done on the decisions that match.

    Parameters
    ----------
    policy : str or Policy
        The policy to try.
    log : Study, table, or path
        A study, a table (Polars or pandas) with the columns `arm` and `reward` (and `cost`, unless `arms` says it, and
        `chance` and `segment`, if they are known; rows without a reward are left out), or a file of such a table:
        Parquet, as `Study.export` writes it, CSV or JSON lines (without `chance`). A log with segments is replayed
        with them.
    setting : Setting, optional
        By default that of the study.
    arms : mapping from name to cost, optional
        By default the arms of the log, each at the mean of its costs there.
    horizon, confidence, rewards, binary, seed
        As in `create_study`. The default horizon is the study's, or the number of logged rewards.

    Returns
    -------
    Replay
        Its `caveat` says when this may be believed.

    Raises
    ------
    InvalidData
        The log cannot be read, lacks a column, or has no rewards.

    Examples
    --------
    >>> import polars as pl
    >>> from satisfice import BestReward
    >>> table = pl.DataFrame({"arm": ["a", "b", "b", "a"], "reward": [0.0, 1.0, 1.0, 1.0]})
    >>> replay("ucb-cs", table, setting=BestReward(0.1), arms={"a": 1.0, "b": 2.0}).pulls
    {'a': 2, 'b': 1}
    """
    from satisfice.studies.study import Study

    if isinstance(log, Study):
        known = log.config
        setting = known.setting if setting is None else setting
        rewards = (known.low, known.high) if rewards is None else rewards
        confidence = known.confidence if confidence is None else confidence
        horizon = known.horizon if horizon is None else horizon
    if setting is None:
        raise InvalidData("a log does not say what is good enough; give a setting, such as BestReward(alpha=0.05)")
    if arms is not None and not isinstance(arms, Mapping):
        raise InvalidStudy(f'arms must be names and costs, such as {{"small": 0.2}}; got {shown(arms)}')
    rows = _study_rows(log) if isinstance(log, Study) else _rows(log, priced=arms is None)
    if arms is None:
        costs = _mean_costs(rows)
        if isinstance(log, Study):
            costs = {arm.name: costs.get(arm.name, arm.cost) for arm in log.status().arms}
    else:
        costs = dict(arms)
        rows = [row._replace(cost=costs[row.arm]) for row in rows if row.arm in costs]
    if not rows:
        raise InvalidData("the log has no rewards of these arms, so there is nothing to replay")
    kinds = list(dict.fromkeys(row.segment for row in rows if row.segment is not None))
    if kinds and any(row.segment is None for row in rows) and OTHER not in kinds:
        kinds.append(OTHER)
    config = make_config(
        "replay",
        costs,
        setting,
        policy=policy,
        horizon=len(rows) if horizon is None else horizon,
        confidence=confidence,
        rewards=rewards or (0.0, 1.0),
        binary=binary,
        segments=kinds or None,
        seed=seed,
    )
    machine = Machine(config)
    names = [name for name, _ in config.arms]
    matched = []
    place_of = {kind: place for place, kind in enumerate(kinds)}
    for place, (arm, reward, _, _, segment) in enumerate(rows):
        if not config.low <= reward <= config.high:
            raise InvalidData(
                f"reward {place} of the log (counted from 0) is {reward:g}, outside [{config.low:g}, {config.high:g}]"
            )
        part = machine.part(place_of.get(segment if segment is not None else OTHER, 0))
        if names[wanted(part)] != arm:
            continue
        play(part, part.choose()[0], reward)
        matched.append(Pull(place, arm, reward))
    pulls = dict.fromkeys(names, 0)
    for pull in matched:
        pulls[pull.arm] += 1
    return Replay(
        policy=config.policy.label,
        logged=len(rows),
        matched=len(matched),
        ended=len(matched) < len(rows),
        pulls=pulls,
        mean_reward=_weighed((pull.reward, rows[pull.row].chance) for pull in matched),
        mean_cost=_weighed((rows[pull.row].cost, rows[pull.row].chance) for pull in matched),
        logged_mean_reward=_mean(row.reward for row in rows),
        logged_mean_cost=_mean(row.cost for row in rows),
        status=make_status(machine, math.nan),  # a replay has no dates
        decisions=tuple(matched),
    )


def wanted(machine: Machine) -> int:
    """The arm that the next decision is for."""
    if machine.lease_due:
        machine.whole.happen(machine.decide(math.nan))
    return machine.choose()[0]


def play(part: Machine, arm: int, reward: float) -> None:
    """A decision whose reward is known at once."""
    machine, lease = part.whole, part.lease.number
    number = machine.decisions + 1
    asked = Asked(number, arm, Reason.LEASE, lease, part.arms[arm].cost, math.nan, segment=part.number)
    machine.ask(asked)
    row = Row(*asked)
    machine.enter(row.becomes(Outcome.TOLD, reward, None, math.nan, number))
    machine.frontier.advance(
        machine.arm_of, number, lambda first, last: (), lambda row: None, lambda row: None, -math.inf, math.inf
    )


def _study_rows(study: Study) -> list[Logged]:
    """The rewards of a study in the order of its decisions."""
    import polars as pl

    frame = study.log().filter(pl.col("reward").is_not_null())
    return [Logged(*row) for row in frame.select("arm", "reward", "cost", "chance", "segment").iter_rows()]


def _rows(log: pl.DataFrame | PandasFrame | str | Path, priced: bool) -> list[Logged]:
    """The rewards of a table or a file in its order, with their costs if `priced`."""
    import polars as pl

    from satisfice.instances.sources import Columns, opened
    from satisfice.instances.tables import ROW

    rows: list[Logged] = []
    names = ("reward", "cost") if priced else ("reward",)
    try:
        with opened(
            log, Columns("arm", "reward", "cost" if priced else None, ("chance", "segment")), 0.0, False
        ) as source:
            for part in source.frames:
                types = part.collect_schema()
                wanted = (*names, "chance") if "chance" in types else names
                numbers = [_as_numbers(name, types[name]).alias(f"{name} as a number") for name in wanted]
                texts = [pl.col(name).cast(pl.String) for name in ("arm", "segment") if name in types]
                frame = source.collect(part.with_columns(*texts, *numbers))
                for row in frame.iter_rows(named=True):
                    reward, cost = row["reward as a number"], row.get("cost as a number", math.nan)
                    if row["reward"] is None or (reward is not None and math.isnan(reward)):
                        continue
                    if row["arm"] is None or reward is None:
                        name = "arm" if row["arm"] is None else "reward"
                        raise InvalidData(f"{source.where(row[ROW])}: {row[name]!r} is no {name}")
                    if priced and (cost is None or not 0.0 <= cost < math.inf):
                        raise InvalidData(f"{source.where(row[ROW])}: {row['cost']!r} is no cost of at least 0")
                    chance = row.get("chance as a number", 1.0)
                    if chance is None or not 0.0 < chance <= 1.0:
                        raise InvalidData(f"{source.where(row[ROW])}: {row['chance']!r} is no chance above 0, up to 1")
                    rows.append(Logged(row["arm"], reward, cost, chance, row.get("segment")))
            source.problems.report(len(rows) + source.problems.count)
    except InvalidData as error:
        if "cost" in error.columns:
            error.hint = Hint.GIVE_COSTS
        raise
    return rows


def _as_numbers(column: str, kind: pl.DataType) -> pl.Expr:
    """A column as numbers, whether it holds numbers or text; null where it holds neither."""
    import polars as pl

    if kind == pl.String:
        return pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return pl.col(column).cast(pl.Float64)
    raise InvalidData(f"the column {column!r} of the log holds {kind}; numbers were expected")


def _mean_costs(rows: Iterable[Logged]) -> dict[str, float]:
    """The mean cost of every arm."""
    costs: dict[str, list[float]] = {}
    for row in rows:
        costs.setdefault(row.arm, []).append(row.cost)
    return {arm: min(max(math.fsum(paid) / len(paid), min(paid)), max(paid)) for arm, paid in costs.items()}


def _weighed(pairs: Iterable[tuple[float, float]]) -> float:
    """The mean of values, each of which stands for 1 / chance of them."""
    items = [(value, 1.0 / chance) for value, chance in pairs]
    return math.fsum(v * w for v, w in items) / math.fsum(w for _, w in items) if items else float("nan")


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / len(items) if items else float("nan")


__all__ = ["CAVEAT", "Pull", "Replay", "replay", "wanted"]
