"""The tables of the SQL storages, their statements, and the steps from one version of the schema to the next.

`decisions`, `rewards` and `changes` are the log: rows are only ever added. `states` has one row per study, which every
transaction locks, reads and writes: the sums, the lease and the policy's memory after event number `version`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    any_,
    bindparam,
    case,
    func,
    insert,
    null,
    select,
    update,
)
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql import ClauseElement

METADATA = MetaData()
# In SQLite the primary key is the table: one tree to write, not two.
_PLAIN: dict[str, Any] = {"sqlite_with_rowid": False}

SCHEMA_VERSION = Table("satisfice_schema", METADATA, Column("version", Integer, nullable=False))
STUDIES = Table(
    "studies",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("config", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    UniqueConstraint("name"),
)
STATES = Table(
    "states",
    METADATA,
    Column("study_id", Integer, ForeignKey("studies.id"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("book", Text, nullable=False),
    Column("memory", Text, nullable=False),
)
DECISIONS = Table(
    "decisions",
    METADATA,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("reason", String(10), nullable=False),
    Column("lease", BigInteger, nullable=False),
    Column("subject", Text),
    Column("asked_at", Double, nullable=False),
    **_PLAIN,
)
REWARDS = Table(
    "rewards",
    METADATA,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("decision_id", BigInteger, primary_key=True, autoincrement=False),
    Column("nth", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("status", String(10), nullable=False),
    Column("reward", Double),
    Column("at", Double, nullable=False),
    **_PLAIN,
)
CHANGES = Table(
    "changes",
    METADATA,
    Column("study_id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("arm", Text),
    Column("cost", Double),
    Column("at", Double, nullable=False),
    **_PLAIN,
)
_SUBJECTS = Index(
    "decisions_of_subject",
    DECISIONS.c.study_id,
    DECISIONS.c.subject,
    DECISIONS.c.id,
    sqlite_where=DECISIONS.c.subject.is_not(None),
    postgresql_where=DECISIONS.c.subject.is_not(None),
)

# What brings a database from version i to version i + 1. Version 0 is an empty one.
STEPS: tuple[Callable[[Dialect], list[str]], ...] = (
    lambda dialect: [_sql(CreateTable(table), dialect) for table in METADATA.sorted_tables],
    # Version 2 finds the open decision of a subject without reading the log.
    lambda dialect: [_sql(CreateIndex(_SUBJECTS), dialect)],
)


def _sql(statement: ClauseElement, dialect: Dialect) -> str:
    return str(statement.compile(dialect=dialect))


class Statements:
    """Every statement as text for one kind of database, with parameters by position, compiled once."""

    def __init__(self, dialect: Dialect) -> None:
        d, r = DECISIONS.c, REWARDS.c
        study, state = bindparam("study", type_=Integer), STATES.c
        mine = and_(r.study_id == d.study_id, r.decision_id == d.id)
        rows = select(
            d.id, d.seq, d.arm, d.reason, d.lease, d.subject, d.asked_at, r.status, r.reward, r.nth
        ).select_from(DECISIONS.outerjoin(REWARDS, mine))
        known = bindparam("known", type_=BigInteger)
        self._dialect = dialect
        self.read_state = self.text(
            select(
                state.version,
                case((state.version == known, null()), else_=state.book),
                case((state.version == bindparam("known_too", type_=BigInteger), null()), else_=state.memory),
            )
            .where(state.study_id == study)
            .with_for_update(),
            "known", "known_too", "study",
        )  # fmt: skip
        new: dict[str, Any] = {"version": bindparam("new_version"), "book": bindparam("new_book")}
        where = state.study_id == bindparam("of")
        self.save_book = self.text(update(STATES).values(**new).where(where), "new_version", "new_book", "of")
        self.save_state = self.text(
            update(STATES).values(**new, memory=bindparam("new_memory")).where(where),
            "new_version", "new_book", "new_memory", "of",
        )  # fmt: skip
        self.add_state = self.text(insert(STATES), "study_id", "version", "book", "memory")
        self.add_decision = self.text(insert(DECISIONS), *DECISIONS.c.keys())
        self.add_reward = self.text(insert(REWARDS), *REWARDS.c.keys())
        self.add_change = self.text(insert(CHANGES), *CHANGES.c.keys())
        self.find = self.text(
            rows.where(d.study_id == study, d.id == bindparam("number")).order_by(r.nth), "study", "number"
        )
        listed: ColumnElement[bool]
        if dialect.name == "sqlite":
            listed = d.id.in_(select(func.json_each(bindparam("numbers")).table_valued("value").c.value))
        else:
            listed = d.id == any_(bindparam("numbers", type_=ARRAY(BigInteger)))
        self.find_many = self.text(rows.where(d.study_id == study, listed).order_by(d.id, r.nth), "study", "numbers")
        other = DECISIONS.alias().c
        latest = (
            select(func.max(other.id))
            .where(other.study_id == bindparam("of", type_=Integer), other.subject == bindparam("subject"))
            .scalar_subquery()
        )
        self.open_of = self.text(
            rows.where(d.study_id == study, d.id == latest).order_by(r.nth), "study", "of", "subject"
        )
        self.overdue = self.text(
            rows.where(
                d.study_id == study, d.id > bindparam("after"), d.id <= bindparam("last"),
                d.asked_at <= bindparam("until"),
            ).order_by(d.id, r.nth),
            "study", "after", "last", "until",
        )  # fmt: skip
        self.asked_at = self.text(
            select(d.asked_at).where(d.study_id == study, d.id == bindparam("number")), "study", "number"
        )
        self.log_decisions = self.text(
            select(d.seq, d.id, d.arm, d.reason, d.lease, d.subject, d.asked_at)
            .where(d.study_id == study, d.seq <= bindparam("end"))
            .order_by(d.id),
            "study", "end",
        )  # fmt: skip
        self.log_rewards = self.text(
            select(r.seq, r.decision_id, r.nth, r.status, r.reward, r.at)
            .where(r.study_id == study, r.seq <= bindparam("end"))
            .order_by(r.seq),
            "study", "end",
        )  # fmt: skip
        c = CHANGES.c
        self.log_changes = self.text(
            select(c.seq, c.kind, c.arm, c.cost, c.at)
            .where(c.study_id == study, c.seq <= bindparam("end"))
            .order_by(c.seq),
            "study", "end",
        )  # fmt: skip
        s = STUDIES.c
        self.add_study = self.text(
            insert(STUDIES).values(name=bindparam("name"), config=bindparam("config"), created_at=bindparam("at"))
            .returning(s.id),
            "name", "config", "at",
        )  # fmt: skip
        self.open_study = self.text(select(s.id, s.config).where(s.name == bindparam("name")), "name")
        self.names = self.text(select(s.name).order_by(s.id))
        self.schema = self.text(select(SCHEMA_VERSION.c.version))
        self.add_schema = self.text(insert(SCHEMA_VERSION), "version")
        self.set_schema = self.text(update(SCHEMA_VERSION).values(version=bindparam("new")), "new")

    def text(self, statement: ClauseElement, *names: str) -> str:
        """The text of a statement whose parameters come in the order of `names`."""
        compiled = statement.compile(dialect=self._dialect, column_keys=list(names) or None)
        order = list(getattr(compiled, "positiontup", None) or [])
        if order != list(names):
            raise AssertionError(f"the parameters come in the order {order}, not {list(names)}")
        return str(compiled)
