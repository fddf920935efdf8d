"""`analyse`: which option of a log is the cheapest that is good enough, how sure that is, and what would settle it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import satisfice
from satisfice import proofs
from satisfice.analysis import words
from satisfice.analysis.columns import Roles, find_roles, is_money, why_not
from satisfice.analysis.concerns import concerns_of
from satisfice.analysis.evidence import DRAWS, Evidence, collect, shares_of
from satisfice.analysis.intervals import likelihood_interval, nats_of
from satisfice.analysis.reading import Rows, curves_of, read_rows, span
from satisfice.analysis.result import FEW, AnalysedArm, Analysis, Concern, Range, Saving
from satisfice.analysis.settling import PLAN_LEVELS, more_rows
from satisfice.errors import Hint, InvalidData, InvalidSetting
from satisfice.instances.costs import priced
from satisfice.instances.doubt import optimal_of
from satisfice.instances.sources import PandasFrame, columns_of
from satisfice.instances.tally import DataWarning
from satisfice.limits import MAX_BAD
from satisfice.policies.contract import arrange
from satisfice.problem import TOLERANCE, BestReward, Floats, Setting
from satisfice.words import is_number

if TYPE_CHECKING:
    import polars as pl

MONTH = 30.4375  # days


def analyse(
    log: str | os.PathLike[str] | pl.DataFrame | pl.LazyFrame | PandasFrame,
    arm: str | None = None,
    reward: str | None = None,
    *,
    cost: str | None = None,
    costs: Mapping[str, float] | str | os.PathLike[str] | None = None,
    random_costs: int | None = None,
    setting: Setting | None = None,
    segment: str | None = None,
    time: str | None = None,
    rewards: Range | None = None,
    worth: float | None = None,
    per_month: float | None = None,
    confidence: float = 0.95,
    plan: bool = True,
    table: str | None = None,
    max_bad: float = MAX_BAD,
    seed: int = 0,
    progress: bool = False,
) -> Analysis:
    """Which option of a log is the cheapest that is good enough, how sure that is, and what would settle it.

    Parameters
    ----------
    log : path, frame or URL
        A CSV, Excel or Parquet file, JSON lines, a Polars or pandas frame, or the URL of a database; a row is one use
        of an option.
    arm, reward, cost, segment, time : str, optional
        The columns with the option, what came of it, what it cost, whom it was for, and when. Without a name they are
        looked for by usual names; `Analysis.guessed` says what was found.
    costs, random_costs : optional
        Where no column has costs: the cost of every option, as a mapping or a file; or a seed of random ones, for
        experiments.
    setting : Setting
        What is good enough; `BestReward(alpha=0.05)` by default: at least 95% of the best mean.
    rewards : (low, high), optional
        No reward is outside. By default 0 and 1 or, where there are larger ones, the largest seen.
    worth : float, optional
        What a unit of reward is worth, in costs; 1 where the reward is money by its name, as in `revenue`.
    per_month : float, optional
        Rows a month; by default as many as the log has, by its times.
    confidence : float
        How sure "clear" and "proved" are, and all intervals of one kind together.
    plan : bool
        Whether to simulate studies that go on from here, to say how many rows they would need.
    table : str, optional
        The table of a database, or the sheet of a spreadsheet.
    max_bad : float
        Largest share of unusable rows that is accepted.
    seed : int
        Seed of the draws.
    progress : bool
        Whether to show a bar while reading.

    Raises
    ------
    InvalidData
        The log cannot be read, or a column is missing; the message says what is accepted.

    Examples
    --------
    >>> import polars as pl
    >>> log = pl.DataFrame({
    ...     "channel": ["mail"] * 400 + ["phone"] * 400,
    ...     "converted": [1, 0, 1, 0] * 100 + [1, 0, 0, 1] * 100,
    ...     "cost": [0.1] * 400 + [2.0] * 400,
    ... })
    >>> found = analyse(log, setting=BestReward(alpha=0.25), plan=False)
    >>> found.choice, found.state, found.guessed
    ('mail', 'clear', "columns by their names: arm = 'channel', reward = 'converted', cost = 'cost'")
    """
    where = BestReward(0.05) if setting is None else setting
    if not (is_number(confidence) and 0.5 <= confidence < 1):
        raise InvalidSetting("it must be a number within [0.5, 1)", parameter="confidence", value=confidence)
    elsewhere = costs is not None or random_costs is not None
    head, data = columns_of(log, table)
    shown = words.shown(log, table)
    given = {"arm": arm, "reward": reward, "cost": cost, "time": time, "segment": segment}
    roles = find_roles(head, given, shown=shown, no_cost=elsewhere)
    if (roles.cost is None) != elsewhere or (costs is not None and random_costs is not None):
        problem = (
            "the costs come from more than one place"
            if elsewhere
            else f"{shown} has no column of costs{why_not(head, 'cost', set())}"
        )
        raise InvalidData(f"{problem}; give one of these", hint=Hint.COSTS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        rows = read_rows(data, roles, head.columns, table=table, max_bad=max_bad, progress=progress)
        names = rows.frame["arm"].unique().sort().to_list()
        prices = None if roles.cost is not None else priced(names, None, costs, random_costs)[0]
    told = [Concern("rows", f"{w.message}.") for w in caught if issubclass(w.category, DataWarning)]
    evidence = collect(rows.frame, prices, _limits(rows, rewards))
    if len(evidence.names) < 2:
        raise InvalidData(
            f"column {roles.arm!r} of {shown} has one value, {names[0]!r}; there is nothing to choose from"
        )
    if where.reference is not None:
        evidence.face.index(where.reference)
    result = _analysis(rows, evidence, roles, where, confidence, worth, per_month, plan=plan, seed=seed)
    return replace(result, concerns=(*result.concerns, *told))


def _limits(rows: Rows, rewards: Range | None) -> Range | None:
    if rewards is None:
        return None
    low, high = rewards
    if not (is_number(low) and is_number(high) and low < high):
        raise InvalidData("they must be two numbers, the lowest and the highest", parameter="rewards", value=rewards)
    seen = rows.frame["reward"].to_numpy()
    if seen.min() < low or seen.max() > high:
        raise InvalidData(
            f"the log has rewards from {seen.min():g} to {seen.max():g}", parameter="rewards", value=rewards
        )
    return float(low), float(high)


def _analysis(
    rows: Rows,
    evidence: Evidence,
    roles: Roles,
    setting: Setting,
    confidence: float,
    worth: float | None,
    per_month: float | None,
    *,
    plan: bool,
    seed: int,
) -> Analysis:
    means, costs = evidence.draw(DRAWS, seed)
    shares, none = shares_of(setting, evidence, means, costs)
    (choice,) = optimal_of(setting, evidence.costs, evidence.means[None], evidence.names).tolist()
    sure = none if choice < 0 else float(shares[choice])
    threshold = setting.threshold(evidence.face)
    state = _state(evidence, setting, choice, sure, confidence)
    value = worth if worth is not None else 1.0 if is_money(roles.reward) else None
    arms = _arms(evidence, setting, means, costs, shares, choice=choice, confidence=confidence, worth=value)
    others = np.where(np.arange(len(shares)) == choice, -1.0, shares)
    rival = int(np.argmax(others))
    days = span(rows)
    monthly = per_month if per_month is not None else len(rows.frame) / days * MONTH if days and days >= 1 else None
    settled = state in ("proved", "clear")
    more = more_rows(evidence, setting, means, costs, choice, confidence, plan=plan and not settled, seed=seed)
    concerns = concerns_of(rows, evidence, setting, roles.segments, confidence=confidence, choice=choice)
    if evidence.limits[1] > 1:
        concerns = (*concerns, _range(evidence))
    result = Analysis(
        name=rows.name,
        rows=len(rows.frame),
        days=days,
        setting=setting,
        confidence=confidence,
        columns={
            "arm": roles.arm,
            "reward": roles.reward,
            "cost": roles.cost,
            "time": roles.time,
            "segments": roles.segments,
        },
        guessed=roles.sentence(),
        limits=evidence.limits,
        arms=arms,
        choice=None if choice < 0 else evidence.names[choice],
        state=state,
        sure=sure,
        rival=evidence.names[rival] if others[rival] > 0 else None,
        rival_belief=max(float(others[rival]), 0.0),
        threshold=float(threshold),
        savings=_savings(evidence, setting, choice, monthly),
        more=more,
        concerns=concerns,
        sentence="",
        details=(),
        seed=seed,
        version=satisfice.__version__,
        curves=curves_of(rows, evidence.names),
        instance=evidence.instance(PLAN_LEVELS, rows.name),
    )
    return words.with_sentences(result)


def _state(evidence: Evidence, setting: Setting, choice: int, sure: float, confidence: float) -> str:
    """Whether the choice is proved for whenever one looks, believed for one look, or open."""
    if choice < 0:
        return "none"
    order = arrange(evidence.costs, setting, evidence.names)
    low, high = evidence.limits
    scaled = evidence.scaled()
    # A threshold that is a share of a mean is one on [0, 1] only if the scale begins at 0.
    if low == 0.0 or setting.fixed:
        mu0 = (setting.mu0 - low) / (high - low)
        reference = -1 if setting.reference is None else len(order) - 1
        case = proofs.make_case(
            evidence.costs[order],
            evidence.rows[order].astype(np.int64),
            (evidence.rows * scaled)[order],
            1.0 - setting.alpha,
            reference,
            mu0,
            squares=evidence.squares[order],
        )
        certain = bool((evidence.cost_errors == 0).all())
        found = proofs.judge(case, proofs.equal_levels(case, 1.0 - confidence)).certified
        if certain and found >= 0 and order[found] == choice:
            return "proved"
    # The draws know nothing of what so few rows have not shown.
    return "clear" if sure >= confidence and evidence.rows[choice] >= FEW else "open"


def _arms(
    evidence: Evidence,
    setting: Setting,
    means: Floats,
    costs: Floats,
    shares: Floats,
    *,
    choice: int,
    confidence: float,
    worth: float | None,
) -> tuple[AnalysedArm, ...]:
    size = len(evidence.names)
    low, high = evidence.limits
    nats = nats_of((1.0 - confidence) / size)
    pulls, totals = evidence.rows.astype(np.int64), evidence.rows * evidence.scaled()
    anytime = proofs.intervals(pulls, totals, 1.0 - confidence, squares=evidence.squares)
    feasible = _feasible(setting, evidence, means)
    tail = 100 * (1.0 - confidence) / 2
    result = []
    for k in range(size):
        ends = likelihood_interval(evidence.values, evidence.counts[k], evidence.limits, nats)
        good = float(feasible[:, k].mean())
        verdict = "choice" if k == choice else "good enough" if good >= confidence else "may be good enough"
        profit = None if worth is None else worth * evidence.means[k] - evidence.costs[k]
        spread = None
        if worth is not None:
            spread = np.percentile(worth * means[:, k] - costs[:, k], [tail, 100 - tail])
        result.append(
            AnalysedArm(
                name=evidence.names[k],
                rows=int(evidence.rows[k]),
                cost=float(evidence.costs[k]),
                spent=float(evidence.costs[k] * evidence.rows[k]),
                mean=float(evidence.means[k]),
                interval=(float(ends[0]), float(ends[1])),
                anytime=(low + (high - low) * anytime[k][0], low + (high - low) * anytime[k][1]),
                belief=float(shares[k]),
                good_enough=good,
                verdict=verdict if k == choice or good > 1 - confidence else "not good enough",
                profit=None if profit is None else float(profit),
                profit_interval=None if spread is None else (float(spread[0]), float(spread[1])),
                profit_per_cost=_ratio(profit, evidence.costs[k]),
            )
        )
    return tuple(result)


def _ratio(profit: float | None, cost: float) -> float | None:
    return None if profit is None or cost <= 0 else float(profit / cost)


def _feasible(setting: Setting, evidence: Evidence, means: Floats) -> Floats:
    """Whether each arm is good enough in each draw, (draws, arms)."""
    bar = setting.thresholds(means, evidence.face.names)
    return np.asarray(means >= bar[:, None] - TOLERANCE, dtype=np.float64)


def _savings(evidence: Evidence, setting: Setting, choice: int, monthly: float | None) -> tuple[Saving, ...]:
    if choice < 0:
        return ()
    reference = setting.reference
    other = int(np.argmax(evidence.means)) if reference is None else evidence.face.index(reference)
    weight = evidence.rows / evidence.rows.sum()
    rivals = [
        (f"always {evidence.names[other]}, {'the best' if reference is None else 'the reference'}", other),
        ("the mix of the log", -1),
    ]
    result = []
    for against, k in rivals:
        cost = float(weight @ evidence.costs) if k < 0 else float(evidence.costs[k])
        mean = float(weight @ evidence.means) if k < 0 else float(evidence.means[k])
        if k == choice:
            continue
        saved = cost - float(evidence.costs[choice])
        month = None if monthly is None else saved * monthly
        result.append(Saving(against, saved, month, mean - float(evidence.means[choice])))
    return tuple(result)


def _range(evidence: Evidence) -> Concern:
    return Concern(
        "range",
        f"Rewards lie between {evidence.limits[0]:g} and {evidence.limits[1]:g}, the largest in the log. What holds at "
        "any time holds if no larger one can come; give the range with rewards if it can.",
    )
