"""The tables of the SQL storages, and the steps from one version of the schema to the next.

`satisfice_decisions`, `satisfice_rewards` and `satisfice_events` are the log: rows are only ever added, but for what
is put into an archive. `satisfice_snapshots` has one row per study: the state after some event, decision and entry,
written now and then; who opens a study goes on from there. `token` is drawn anew for every transaction: who has read
a row knows by it whether the database still is the one that it was read from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    Identity,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement

from satisfice.studies.records import MACHINE_EVENTS
from satisfice.studies.storages.upgrade import move_old_tables

METADATA = MetaData()
# In SQLite the primary key is the table: one tree to write, not two.
_PLAIN: dict[str, Any] = {"sqlite_with_rowid": False}
_BIG = BigInteger().with_variant(Integer, "sqlite")

SCHEMA = Table("satisfice_schema", METADATA, Column("version", Integer, nullable=False))
STUDIES = Table(
    "satisfice_studies",
    METADATA,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("config", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("token", String(16), nullable=False),
    UniqueConstraint("name"),
)
SNAPSHOTS = Table(
    "satisfice_snapshots",
    METADATA,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
    Column("entry", _BIG, nullable=False),  # every entry up to this `n` is counted
    Column("seq_token", String(16)),
    Column("decision_token", String(16)),
    Column("entry_token", String(16)),
    **_PLAIN,
)
DECISIONS = Table(
    "satisfice_decisions",
    METADATA,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("id", _BIG, primary_key=True, autoincrement=False),
    Column("arm", Integer, nullable=False),
    Column("reason", String(10), nullable=False),
    Column("lease", _BIG, nullable=False),
    Column("cost", Double, nullable=False),
    Column("at", Double, nullable=False),
    Column("subject", Text),
    Column("key", Text),
    Column("session", Text),
    Column("extra", Double, nullable=False),
    Column("chance", Double, nullable=False),
    Column("segment", Integer, nullable=False, server_default="0"),
    Column("token", String(16), nullable=False),
    **_PLAIN,
)
REWARDS = Table(
    "satisfice_rewards",
    METADATA,
    Column("n", _BIG, Identity(), primary_key=True),
    Column("study_id", Integer, nullable=False),
    Column("decision_id", _BIG, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("outcome", String(10), nullable=False),
    Column("reward", Double),
    Column("was", String(10), nullable=False),
    Column("was_reward", Double),
    Column("cost", Double),
    Column("was_cost", Double),
    Column("price", Double, nullable=False),
    Column("at", Double, nullable=False),
    Column("after", _BIG, nullable=False),
    Column("control", Boolean),
    Column("segment", Integer, nullable=False, server_default="0"),
    Column("token", String(16), nullable=False),
    UniqueConstraint("study_id", "decision_id", "nth"),
    sqlite_autoincrement=True,
)
EVENTS = Table(
    "satisfice_events",
    METADATA,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("seq", _BIG, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("data", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("token", String(16), nullable=False),
    **_PLAIN,
)


# How a study went over time: a bounded number of points, thinned out while it goes on.
SERIES = Table(
    "satisfice_series",
    MetaData(),
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("place", _BIG, primary_key=True, autoincrement=False),
    Column("decisions", _BIG, nullable=False),
    Column("at", Double, nullable=False),
    Column("arms", Text, nullable=False),  # JSON
    **_PLAIN,
)
# Who is signed in to the pages of the service, by the SHA-256 of what the browser keeps.
SESSIONS = Table(
    "satisfice_sessions",
    MetaData(),
    Column("digest", String(64), primary_key=True),
    Column("prefix", String(16), nullable=False),  # of the key
    Column("until", Double, nullable=False),
    **_PLAIN,
)
# The keys of the service. A key itself is not kept, only what recognises it.
KEYS = Table(
    "satisfice_keys",
    MetaData(),
    Column("prefix", String(16), primary_key=True),
    Column("digest", String(64), nullable=False),  # SHA-256 of the whole key
    Column("label", Text, nullable=False),
    Column("scopes", Text, nullable=False),  # JSON
    Column("studies", Text),  # JSON; none: all studies
    Column("rate", Text),  # such as 100/second
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
    **_PLAIN,
)


def _partial(name: str, column: str) -> Index:
    where = DECISIONS.c[column].is_not(None)
    columns = (DECISIONS.c.study_id, DECISIONS.c[column], DECISIONS.c.id)
    return Index(name, *columns, sqlite_where=where, postgresql_where=where)


INDEXES = (
    Index("satisfice_rewards_in_order", REWARDS.c.study_id, REWARDS.c.n),
    _partial("satisfice_decisions_of_subject", "subject"),
    _partial("satisfice_decisions_of_key", "key"),
    _partial("satisfice_decisions_of_session", "session"),
)
# What happened to a study, without what its machine notes for itself.
CHANGES = Index(
    "satisfice_events_of_note",
    EVENTS.c.study_id,
    EVENTS.c.seq,
    sqlite_where=EVENTS.c.kind.not_in(MACHINE_EVENTS),
    postgresql_where=EVENTS.c.kind.not_in(MACHINE_EVENTS),
)


def _sql(statement: ClauseElement, dialect: Dialect) -> str:
    return str(statement.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _tables(dialect: Dialect) -> list[str]:
    tables = [table for table in METADATA.sorted_tables if table is not SCHEMA]
    return [_sql(CreateTable(table), dialect) for table in tables] + [_sql(CreateIndex(i), dialect) for i in INDEXES]


def _pages(dialect: Dialect) -> list[str]:
    return [
        _sql(CreateTable(SERIES), dialect),
        _sql(CreateTable(SESSIONS), dialect),
        _sql(CreateIndex(CHANGES), dialect),
    ]


def _add_segments(connection: Any, lite: bool) -> None:
    """Decisions and rewards have a segment since version 6; tables that were made by version 6 have it already."""
    for table in ("satisfice_decisions", "satisfice_rewards"):
        column = "segment INTEGER DEFAULT 0 NOT NULL"
        if not lite:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column}")
        elif all(row[1] != "segment" for row in connection.execute(f"PRAGMA table_info({table})").fetchall()):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")


# What brings a database up to a version: statements, and what moves the data.
Step = tuple[int, Callable[[Dialect], list[str]], Callable[[Any, bool], None] | None]
STEPS: tuple[Step, ...] = (
    (3, _tables, move_old_tables),
    (4, lambda dialect: [_sql(CreateTable(KEYS), dialect)], None),
    (5, _pages, None),
    (6, lambda dialect: [], _add_segments),
)
VERSION = STEPS[-1][0]
NEW_SCHEMA = "CREATE TABLE satisfice_schema (version INTEGER NOT NULL)"
