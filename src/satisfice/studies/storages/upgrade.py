"""Databases of release 0.1: five tables without a prefix, whose log has one numbering for all its rows.

The rows are moved into the tables of today. What a study had learned is in its rewards; the lease that was under way
and what its rule remembered become the first events of the new log, after the changes of its arms.
"""

from __future__ import annotations

import bisect
import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class OldArm(NamedTuple):
    """What the first fields of an arm were in a state of release 0.1."""

    name: str
    cost: float
    retired: bool
    asked: int
    pulls: int
    dropped: int
    total: int


OLD = ("rewards", "decisions", "changes", "states", "studies")
CHUNK = 5_000


def move_old_tables(connection: Any, lite: bool) -> None:
    """Move the tables of versions 1 and 2 of the schema, if there are any, into those of version 3."""
    known = (
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'states'"
        if lite
        else "SELECT to_regclass('states')"
    )
    row = connection.execute(known).fetchone()
    if row is None or row[0] is None:
        return
    mark = "?" if lite else "%s"
    for study, name, config, created in connection.execute(
        "SELECT id, name, config, created_at FROM studies ORDER BY id"
    ).fetchall():
        _add(
            connection, mark, "studies", "id, name, config, created_at, token", (study, name, config, created, _token())
        )
        _move(connection, mark, study, json.loads(config))
    for table in OLD:
        connection.execute(f"DROP TABLE {table}")
    if not lite:
        connection.execute(
            "SELECT setval(pg_get_serial_sequence('satisfice_studies', 'id'), "
            "(SELECT COALESCE(MAX(id), 0) + 1 FROM satisfice_studies), false)"
        )


def _move(connection: Any, mark: str, study: int, config: dict[str, Any]) -> None:
    token = _token()
    state = connection.execute(f"SELECT book, memory FROM states WHERE study_id = {mark}", (study,)).fetchone()
    book, memory = json.loads(state[0]), json.loads(state[1])
    changes = connection.execute(
        f"SELECT seq, kind, arm, cost, at FROM changes WHERE study_id = {mark} ORDER BY seq", (study,)
    ).fetchall()
    names = [name for name, _ in config["arms"]]
    # Per arm: since which row of the old log it has which cost.
    costs = [([0], [float(cost)]) for _, cost in config["arms"]]
    seqs = _asked(connection, mark, study)
    events: list[tuple[str, dict[str, object], float]] = []
    for seq, kind, arm, cost, at in changes:
        if kind in ("add_arm", "set_cost"):
            if arm not in names:
                names.append(arm)
                costs.append(([], []))
            since, prices = costs[names.index(arm)]
            since.append(seq)
            prices.append(float(cost))
            events.append((kind, {"arm": arm, "cost": cost, "decisions": bisect.bisect_left(seqs, seq)}, at))
        elif kind == "retire_arm":
            events.append((kind, {"arm": arm}, at))
        else:
            events.append(("end", {}, at))
    _decisions(connection, mark, study, costs, token)
    corrections = _rewards(connection, mark, study, token)
    clock = float(book["clock"])
    events.append(("make_lease", _lease(book, memory, names, config, corrections), clock))
    if book["facts"]:
        events.append(("judge", {"facts": book["facts"], "corrections": corrections}, clock))
    for seq, (kind, data, at) in enumerate(events, 1):
        columns = "study_id, seq, kind, data, at, token"
        _add(connection, mark, "events", columns, (study, seq, kind, json.dumps(data), at, token))


def _asked(connection: Any, mark: str, study: int) -> list[int]:
    """The place of every decision in the old log."""
    rows = connection.execute(f"SELECT seq FROM decisions WHERE study_id = {mark} ORDER BY id", (study,))
    return [seq for (seq,) in rows]


def _lease(
    book: dict[str, Any], memory: dict[str, Any], names: list[str], config: dict[str, Any], corrections: int
) -> dict[str, object]:
    number, rank, pulls, _, left, missing = book["lease"]
    arms = [OldArm(*fields[: len(OldArm._fields)]) for fields in book["arms"]]
    # The old lease counts arms in the rule's order: ascending cost, those that are not retired; a reference arm comes
    # last.
    order = sorted((i for i, arm in enumerate(arms) if not arm.retired), key=lambda i: arms[i].cost)
    if config["setting"]["kind"] == "reference":
        ell = names.index(config["setting"]["arm"])
        order = [i for i in order if i != ell and arms[i].cost <= arms[ell].cost] + [ell]
    known = []
    for i, arm in enumerate(arms):
        count = arm.pulls
        if pulls and missing is not None and i in order:
            count -= pulls - missing[order.index(i)]
        elif pulls and missing is None and order[rank] == i:
            count -= pulls - left
        known.append([i, count, arm.total if count == arm.pulls else 0])
    return {
        "number": number,
        "arm": -1 if rank < 0 or not pulls else order[rank],
        "pulls": pulls,
        "known": known,
        "ints": memory["ints"],
        "floats": memory["floats"],
        "version": 1,
        "corrections": corrections,
        "rng": memory["rng"],
    }


def _decisions(connection: Any, mark: str, study: int, costs: list[tuple[list[int], list[float]]], token: str) -> None:
    rows = connection.execute(
        f"SELECT id, seq, arm, reason, lease, subject, asked_at FROM decisions WHERE study_id = {mark} ORDER BY id",
        (study,),
    )
    columns = "study_id, id, arm, reason, lease, cost, at, subject, extra, chance, token"
    for part in _parts(rows):
        moved = []
        for number, seq, arm, reason, lease, subject, at in part:
            since, prices = costs[arm]
            cost = prices[max(bisect.bisect_right(since, seq) - 1, 0)]
            moved.append((study, number, arm, reason, lease, cost, at, subject, 0.0, 1.0, token))
        _add_many(connection, mark, "decisions", columns, moved)


def _rewards(connection: Any, mark: str, study: int, token: str) -> int:
    """Move the rewards; answers with how many of them replaced another."""
    rows = connection.execute(
        "SELECT r.decision_id, r.nth, d.arm, r.status, r.reward, r.at, d.cost FROM rewards r "
        "JOIN satisfice_decisions d ON d.study_id = r.study_id AND d.id = r.decision_id "
        f"WHERE r.study_id = {mark} ORDER BY r.decision_id, r.nth",
        (study,),
    )
    columns = "study_id, decision_id, nth, arm, outcome, reward, was, was_reward, price, at, after, control, token"
    corrections, before = 0, (0, "open", None)
    for part in _parts(rows):
        moved = []
        for number, nth, arm, status, reward, at, price in part:
            was, old = ("open", None) if before[0] != number else before[1:]
            corrections += old is not None and reward is not None and old != reward
            moved.append((study, number, nth, arm, status, reward, was, old, price, at, number, False, token))
            before = number, status, reward
        _add_many(connection, mark, "rewards", columns, moved)
    return corrections


def _parts(rows: Any) -> Iterator[list[Any]]:
    # Everything is read before anything is written: one connection does both.
    everything = rows.fetchall()
    for first in range(0, len(everything), CHUNK):
        yield everything[first : first + CHUNK]


def _insert(mark: str, table: str, columns: str) -> str:
    marks = ", ".join([mark] * (columns.count(",") + 1))
    return f"INSERT INTO satisfice_{table} ({columns}) VALUES ({marks})"


def _add(connection: Any, mark: str, table: str, columns: str, values: tuple[object, ...]) -> None:
    connection.execute(_insert(mark, table, columns), values)


def _add_many(connection: Any, mark: str, table: str, columns: str, rows: Sequence[tuple[object, ...]]) -> None:
    connection.cursor().executemany(_insert(mark, table, columns), rows)


def _token() -> str:
    return secrets.token_hex(4)
