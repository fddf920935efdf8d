"""The statements of the SQL storages. `?` stands for a value; PostgreSQL's driver gets its own sign for it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from satisfice.studies.records import MACHINE_EVENTS

# The columns of the log in the order in which rows are written, with their types.
DECISION = {
    "study_id": "int",
    "id": "bigint",
    "arm": "int",
    "reason": "text",
    "lease": "bigint",
    "cost": "double precision",
    "at": "double precision",
    "subject": "text",
    "key": "text",
    "session": "text",
    "extra": "double precision",
    "chance": "double precision",
    "segment": "int",
    "token": "text",
}
ENTRY = {
    "study_id": "int",
    "decision_id": "bigint",
    "nth": "int",
    "arm": "int",
    "outcome": "text",
    "reward": "double precision",
    "was": "text",
    "was_reward": "double precision",
    "cost": "double precision",
    "was_cost": "double precision",
    "price": "double precision",
    "at": "double precision",
    "after": "bigint",
    "control": "boolean",
    "segment": "int",
    "token": "text",
}
EVENT = {"study_id": "int", "seq": "bigint", "kind": "text", "data": "text", "at": "double precision", "token": "text"}

TABLES = {"decisions": DECISION, "rewards": ENTRY, "events": EVENT}

_ASKED = ", ".join(f"d.{name}" for name in list(DECISION)[1:-1])
_ENTRY = ", ".join(f"r.{name}" for name in list(ENTRY)[1:-1])
# A decision and the last entry about it.
_ROWS = (
    f"SELECT {_ASKED}, r.outcome, r.reward, r.cost, r.nth, r.at FROM satisfice_decisions d "
    "LEFT JOIN satisfice_rewards r ON r.study_id = d.study_id AND r.decision_id = d.id AND r.nth = "
    "(SELECT MAX(l.nth) FROM satisfice_rewards l WHERE l.study_id = d.study_id AND l.decision_id = d.id) "
)
ROW = f"{_ROWS} WHERE d.study_id = ? AND d.id = ?"
ROWS_LITE = f"{_ROWS} WHERE d.study_id = ? AND d.id IN (SELECT value FROM json_each(?)) ORDER BY d.id"
ROWS_POSTGRES = f"{_ROWS} WHERE d.study_id = ? AND d.id = ANY(?) ORDER BY d.id"
# The range is said of both tables: PostgreSQL would else read all entries of the study.
RANGE = (
    f"{_ROWS} AND r.decision_id >= ? AND r.decision_id <= ? "
    "WHERE d.study_id = ? AND d.id >= ? AND d.id <= ? ORDER BY d.id"
)
NEWEST = f"{_ROWS} WHERE d.study_id = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?"
OF_KEY = f"{_ROWS} WHERE d.study_id = ? AND d.key = ? ORDER BY d.id"
OF_SUBJECT = (
    f"{_ROWS} WHERE d.study_id = ? AND d.id = "
    "(SELECT MAX(o.id) FROM satisfice_decisions o WHERE o.study_id = ? AND o.subject = ?)"
)
OF_SESSION = OF_SUBJECT.replace("o.subject", "o.session")
DECISIONS = f"SELECT {_ASKED} FROM satisfice_decisions d WHERE d.study_id = ? AND d.id >= ? ORDER BY d.id LIMIT ?"
CHAINS = (
    f"SELECT {_ENTRY} FROM satisfice_rewards r WHERE r.study_id = ? AND r.decision_id >= ? AND r.decision_id <= ? "
    "ORDER BY r.decision_id, r.nth"
)
LAST_ENTRY = "SELECT n, token FROM satisfice_rewards WHERE study_id = ? ORDER BY n DESC LIMIT 1"
LAST_TOKENS = (
    "SELECT token FROM satisfice_events WHERE study_id = ? ORDER BY seq DESC LIMIT 1",
    "SELECT token FROM satisfice_decisions WHERE study_id = ? ORDER BY id DESC LIMIT 1",
)
EVENTS = (
    "SELECT seq, kind, data, at FROM satisfice_events WHERE study_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
)
CHANGES = (
    "SELECT seq, kind, data, at FROM satisfice_events WHERE study_id = ? AND seq < ? "
    f"AND kind NOT IN ({', '.join(repr(kind) for kind in MACHINE_EVENTS)}) ORDER BY seq DESC LIMIT ?"
)
WHOSE = {
    what: f"{_ROWS} WHERE d.study_id = ? AND d.{what} = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?"
    for what in ("subject", "session")
}
SERIES = "SELECT place, decisions, at, arms FROM satisfice_series WHERE study_id = ? ORDER BY place"
POINT = (
    "INSERT INTO satisfice_series (study_id, place, decisions, at, arms) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (study_id, place) DO UPDATE SET decisions = excluded.decisions, at = excluded.at, arms = excluded.arms"
)
# The sign % is PostgreSQL's driver's own.
THIN = "DELETE FROM satisfice_series WHERE study_id = ? AND place - (place / ?) * ? <> 0"
FORGET = "UPDATE satisfice_decisions SET subject = NULL WHERE study_id = ? AND subject = ?"
COUNT_SUBJECT = "SELECT COUNT(*) FROM satisfice_decisions WHERE study_id = ? AND subject = ?"
SIZE = (
    "SELECT COUNT(*), COUNT(subject) FROM satisfice_decisions WHERE study_id = ? AND id <= ?",
    "SELECT COUNT(*) FROM satisfice_rewards WHERE study_id = ? AND decision_id <= ?",
)
PUT_AWAY = (
    "DELETE FROM satisfice_rewards WHERE study_id = ? AND decision_id <= ?",
    "DELETE FROM satisfice_decisions WHERE study_id = ? AND id <= ?",
)
SNAPSHOT = (
    "INSERT INTO satisfice_snapshots (study_id, state, entry, seq_token, decision_token, entry_token) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (study_id) DO UPDATE SET state = excluded.state, entry = excluded.entry, "
    "seq_token = excluded.seq_token, decision_token = excluded.decision_token, entry_token = excluded.entry_token"
)
NO_SNAPSHOT = "DELETE FROM satisfice_snapshots WHERE study_id = ?"
DELETE = tuple(
    f"DELETE FROM satisfice_{table} WHERE {column} = ?"
    for table, column in (
        ("rewards", "study_id"),
        ("decisions", "study_id"),
        ("events", "study_id"),
        ("snapshots", "study_id"),
        ("series", "study_id"),
        ("studies", "id"),
    )
)
ADD_STUDY = "INSERT INTO satisfice_studies (name, config, created_at, token) VALUES (?, ?, ?, ?) RETURNING id"
STUDY = "SELECT id, config, token FROM satisfice_studies WHERE name = ?"
NAMES = "SELECT name FROM satisfice_studies ORDER BY id"
PAGE = "SELECT id, name FROM satisfice_studies WHERE id > ? ORDER BY id LIMIT ?"
NAME = "SELECT name FROM satisfice_studies WHERE id = ?"


class Said(NamedTuple):
    """A statement with whole numbers for its question marks, and the values of no other kind."""

    text: str
    numbers: tuple[int, ...] = ()

    @property
    def whole(self) -> str:
        """The statement with the numbers in it: several statements in one trip take no parameters.

        Examples
        --------
        >>> Said("SELECT ? + ?", (1, 2)).whole
        'SELECT 1 + 2'
        """
        first, *rest = self.text.split("?")
        return first + "".join(f"{number:d}{part}" for number, part in zip(self.numbers, rest, strict=True))


def load(study: int) -> Said:
    """The last snapshot."""
    return Said(
        "SELECT state, entry, seq_token, decision_token, entry_token FROM satisfice_snapshots WHERE study_id = ?",
        (study,),
    )


def finds(study: int, ids: Sequence[int], lite: bool) -> list[Said]:
    """The statements that find some decisions and what became of them: one for each where few, and prepared."""
    if lite and len(ids) == 1:
        return [Said(ROW, (study, ids[0]))]
    if lite or len(ids) > FEW:
        return [Said(f"{_ROWS} WHERE d.study_id = ? AND d.id IN ({', '.join('?' * len(ids))})", (study, *ids))]
    return [Said("EXECUTE satisfice_row(?, ?)", (study, number)) for number in dict.fromkeys(ids)]


def identity(study: int, lite: bool) -> Said:
    """Which study it is, and the storage's own time."""
    if lite:
        return Said("SELECT token, NULL FROM satisfice_studies WHERE id = ?", (study,))
    return Said("EXECUTE satisfice_identity(?)", (study,))


# So many rows are looked for or added one by one, each by a statement that is prepared: to plan one that does it with
# all of them takes PostgreSQL as long as to carry out several of these.
FEW = 4


def prepared(write: bool) -> str:
    """What a connection to PostgreSQL has prepared: what nearly every call says."""
    statements = [
        "PREPARE satisfice_identity (int) AS SELECT token, "
        "EXTRACT(EPOCH FROM clock_timestamp())::double precision FROM satisfice_studies WHERE id = $1",
        f"PREPARE satisfice_row (int, bigint) AS {_ROWS} WHERE d.study_id = $1 AND d.id = $2",
    ]
    for kind, columns in TABLES.items() if write else ():
        values = ", ".join(f"${place}" for place in range(1, len(columns) + 1))
        statements.append(
            f"PREPARE satisfice_add_{kind} ({', '.join(columns.values())}) AS "
            f"INSERT INTO satisfice_{kind} ({', '.join(columns)}) VALUES ({values})"
        )
    return "; ".join(statements)


def safe(study: int) -> Said:
    """The entry up to which all were seen by whoever wrote the last snapshot."""
    return Said("SELECT entry FROM satisfice_snapshots WHERE study_id = ?", (study,))


def numbers(study: int, limit: int) -> Said:
    """The numbers of entries, up to so many."""
    return Said("SELECT n FROM satisfice_rewards WHERE study_id = ? ORDER BY n LIMIT ?", (study, limit))


# The first reward of a decision whose cost was not told: nearly every entry is one.
_FIRST = "r.nth = 1 AND r.outcome = 'told' AND r.cost IS NULL"
_EVENTS_SINCE = (
    "SELECT seq, kind, data, at, token FROM satisfice_events WHERE study_id = ? AND seq >= ? ORDER BY seq LIMIT ?"
)
_DECISIONS_SINCE = (
    f"SELECT {_ASKED}, d.token FROM satisfice_decisions d WHERE d.study_id = ? AND d.id >= ? ORDER BY d.id LIMIT ?"
)
_TERMS = "d.arm, d.reason, d.lease, d.cost"
_BRIEFLY_SINCE = _DECISIONS_SINCE.replace(_ASKED, f"d.id, {_TERMS}")
# How many there are of each kind, and the tokens of the first and the last.
_GROUPS_SINCE = (
    f"SELECT {_TERMS}, COUNT(*) FROM (SELECT {_TERMS} FROM satisfice_decisions d WHERE d.study_id = ? AND d.id > ? "
    f"ORDER BY d.id LIMIT ?) d GROUP BY {_TERMS}"
)
_ENDS_SINCE = (
    "SELECT d.id, d.token FROM satisfice_decisions d WHERE d.study_id = ? AND (d.id = ? OR d.id = "
    "(SELECT MAX(l.id) FROM satisfice_decisions l WHERE l.study_id = ?)) ORDER BY d.id"
)
_ENTRIES = f"SELECT {_ENTRY}, r.n, r.token FROM satisfice_rewards r WHERE r.study_id = ? AND r.n >= ?"
_FIRSTS = (
    "SELECT r.decision_id, r.arm, r.reward, r.n, r.token FROM satisfice_rewards r "
    f"WHERE r.study_id = ? AND r.n > ? AND {_FIRST}"
)
_IN_ORDER = "ORDER BY r.n LIMIT ?"


def tail(
    study: int, seq: int, decision: int, entry: int, limit: int, *, brief: bool, counts: bool = False
) -> list[Said]:
    """The events, decisions and entries since, up to so many of each, and the last one before of each, to be
    recognised. `brief`: of decisions what counts of them, and first rewards by themselves, with what counts of them;
    with `counts`, the first and the last decision alone, and at the end how many there are of each kind."""
    events = Said(_EVENTS_SINCE, (study, seq, limit))
    if not brief:
        entries = Said(f"{_ENTRIES} {_IN_ORDER}", (study, entry, limit))
        return [events, Said(_DECISIONS_SINCE, (study, decision, limit)), entries]
    others = Said(f"{_ENTRIES} AND (r.n = ? OR NOT ({_FIRST})) {_IN_ORDER}", (study, entry, entry, limit))
    firsts = Said(f"{_FIRSTS} {_IN_ORDER}", (study, entry, limit))
    if counts:
        groups = Said(_GROUPS_SINCE, (study, decision, limit))
        return [events, Said(_ENDS_SINCE, (study, decision, study)), others, firsts, groups]
    return [events, Said(_BRIEFLY_SINCE, (study, decision, limit)), others, firsts]


def others(study: int, entry: int, since: int, counted: Set[int], limit: int) -> Said:
    """The entries after `since` but for those that are counted, and the last one that is, `entry`, to be recognised,
    before them. PostgreSQL looks the numbers of a subquery up in a table of hashes."""
    missing = entry - since + (since in counted) - len(counted)
    if not missing:
        new, floor = f"r.n > {entry:d}", entry
    elif missing < len(counted):  # numbers of other studies, and of what was never written, or is on its way
        gaps = set(range(since, entry)) - counted
        new, floor = f"(r.n > {entry:d} OR r.n IN ({_numbers(gaps)}))", min(gaps)
    else:
        new, floor = f"r.n NOT IN ({_numbers(counted)})", since
    text = f"{_ENTRIES} AND (r.n = ? OR {new}) ORDER BY r.n <> ?, r.n LIMIT ?"
    return Said(text, (study, min(floor, entry), entry, entry, limit))


def _numbers(numbers: Set[int]) -> str:
    return f"SELECT unnest('{{{','.join(map(str, numbers))}}}'::bigint[])"
