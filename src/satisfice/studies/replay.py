"""Replay: what another policy would have done with a recorded log, on the decisions that match.

The replay method of Li, Chu, Langford and Wang (WSDM 2011): go through the log; where the arm that the policy wants
is the arm that was played, it gets the recorded reward; every other row is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satisfice.errors import InvalidData
from satisfice.policies import Policy
from satisfice.problem import Setting
from satisfice.studies.config import make_config
from satisfice.studies.machine import Machine
from satisfice.studies.records import Asked, Settled
from satisfice.studies.status import Status, make_status
from satisfice.studies.storages.base import Ledger
from satisfice.studies.transitions import units

if TYPE_CHECKING:
    import polars as pl

    from satisfice.studies.study import Study

CAVEAT = (
    "Rewards are those of the logged decisions that match; the others are passed over. This is what the policy would "
    "have seen if rewards depend on the arm alone and do not drift; a log whose own policy favoured some arms answers "
    "about the others only as far as it played them."
)


class Pull(NamedTuple):
    """A matching decision."""

    row: int  # its place in the log, from 0
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

    def __str__(self) -> str:
        return (
            f"{self.policy}: {self.matched:,} of {self.logged:,} logged decisions match; on them mean reward "
            f"{self.mean_reward:.4g} (log: {self.logged_mean_reward:.4g}) and mean cost {self.mean_cost:.4g} "
            f"(log: {self.logged_mean_cost:.4g}). {self.status.verdict.sentence}\n{self.caveat}"
        )


def log_frame(ledger: Ledger) -> pl.DataFrame:
    """The log of a study, one row per decision."""
    import polars as pl

    config = ledger.config
    names = [name for name, _ in config.arms]
    costs = [cost for _, cost in config.arms]
    columns: dict[str, list[object]] = {key: [] for key in _SCHEMA}
    for event in ledger.log():
        if isinstance(event, Asked):
            values = (event.id, names[event.arm], costs[event.arm], event.reason, event.lease, event.subject, event.at)
            for key, value in zip(_SCHEMA, (*values, "open", None, None), strict=True):
                columns[key].append(value)
        elif isinstance(event, Settled):
            place = event.id - 1
            columns["status"][place], columns["reward"][place] = event.status, event.reward
            columns["settled_at"][place] = event.at
        elif event.kind in ("add_arm", "set_cost") and event.arm is not None and event.cost is not None:
            if event.arm in names:
                costs[names.index(event.arm)] = event.cost
            else:
                names.append(event.arm)
                costs.append(event.cost)
    return pl.DataFrame(columns, schema={key: getattr(pl, kind) for key, kind in _SCHEMA.items()})


_SCHEMA = {
    "id": "Int64",
    "arm": "String",
    "cost": "Float64",
    "reason": "String",
    "lease": "Int64",
    "subject": "String",
    "asked_at": "Float64",
    "status": "String",
    "reward": "Float64",
    "settled_at": "Float64",
}


def replay(
    policy: str | Policy | type[Policy],
    log: Study | pl.DataFrame | str | Path,
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
        A study, a table with the columns `arm` and `reward` (and `cost`, unless `arms` says it; rows without a reward
        are left out), or a Parquet file of such a table, as `Study.export` writes it.
    setting : Setting, optional
        By default that of the study.
    arms : mapping from name to cost, optional
        By default the arms of the log, each at the last cost recorded.
    horizon, confidence, rewards, binary, seed
        As in `create_study`. The default horizon is the study's, or the number of logged rewards.

    Returns
    -------
    Replay
        Its `caveat` says when this may be believed.

    Raises
    ------
    InvalidData
        The log cannot be read, or has no rewards.

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
    rows, prices = _read(log)
    costs = dict(prices if arms is None else arms)
    rows = [(arm, reward) for arm, reward in rows if arm in costs]
    if not rows:
        raise InvalidData("the log has no rewards of these arms, so there is nothing to replay")
    config = make_config(
        "replay",
        costs,
        setting,
        policy,
        horizon or len(rows),
        confidence,
        rewards or (0.0, 1.0),
        binary,
        None,
        None,
        seed,
    )
    machine = Machine(config)
    names = [name for name, _ in config.arms]
    matched = []
    machine.prepare()
    for place, (arm, reward) in enumerate(rows):
        if not config.low <= reward <= config.high:
            raise InvalidData(f"row {place} has the reward {reward:g}, outside [{config.low:g}, {config.high:g}]")
        if names[wanted(machine)] != arm:
            continue
        k, _ = machine.ask()
        machine.settle(k, None, units(config, reward))
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
        mean_reward=_mean(pull.reward for pull in matched),
        mean_cost=_mean(costs[pull.arm] for pull in matched),
        logged_mean_reward=_mean(reward for _, reward in rows),
        logged_mean_cost=_mean(costs[arm] for arm, _ in rows),
        status=make_status(machine),
        decisions=tuple(matched),
    )


def wanted(machine: Machine) -> int:
    """The arm that the next `ask` will hand out."""
    machine.prepare()
    lease = machine.lease
    return machine.order[lease.arm if lease.arm >= 0 else lease.handed % len(machine.order)]


def _read(log: Study | pl.DataFrame | str | Path) -> tuple[list[tuple[str, float]], dict[str, float]]:
    """Rewards in the order of the decisions, and the last cost of every arm."""
    import polars as pl

    from satisfice.studies.study import Study

    if isinstance(log, Study):
        frame = log.log()
        prices = {arm.name: arm.cost for arm in log.status().arms}
    else:
        if isinstance(log, pl.DataFrame):
            frame = log
        else:
            try:
                frame = pl.read_parquet(log)
            except Exception as error:
                raise InvalidData(f"{str(log)!r} is not a Parquet file that can be read: {error}") from error
        prices = {}
    missing = [name for name in ("arm", "reward") if name not in frame.columns]
    if missing:
        raise InvalidData(f"the log has no column {missing[0]!r}; it has {', '.join(frame.columns)}")
    frame = frame.filter(pl.col("reward").is_not_null())
    if not prices and "cost" in frame.columns:
        prices = dict(zip(frame["arm"].to_list(), frame["cost"].to_list(), strict=True))
    return list(zip(frame["arm"].to_list(), frame["reward"].to_list(), strict=True)), prices


def _mean(values: Iterable[float]) -> float:
    items = list(values)
    return sum(items) / len(items) if items else float("nan")


__all__ = ["CAVEAT", "Pull", "Replay", "log_frame", "replay", "wanted"]
