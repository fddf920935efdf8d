"""Logs in spreadsheets and in databases, as Polars frames."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from satisfice.errors import Hint, InvalidData, MissingExtra
from satisfice.words import listed

if TYPE_CHECKING:
    import polars as pl

EXCEL_ENDINGS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


def read_sheet(path: Path, sheet: str | None = None) -> pl.DataFrame:
    """A sheet of a spreadsheet, the first one by default; its first row names the columns.

    Raises
    ------
    MissingExtra
        When what reads spreadsheets is not installed.
    InvalidData
        When it is no spreadsheet, or has no such sheet.
    """
    import polars as pl

    try:
        import fastexcel
    except ImportError as error:
        raise MissingExtra(f"{path}: spreadsheets need fastexcel: pip install 'satisfice[excel]'") from error
    try:
        book = fastexcel.read_excel(str(path))
    except fastexcel.FastExcelError as error:
        raise InvalidData(f"{path} is not a sound spreadsheet: {str(error).splitlines()[0]}") from error
    if sheet is not None and sheet not in book.sheet_names:
        raise InvalidData(f"{path} has no sheet {sheet!r}; its sheets are {listed([*map(repr, book.sheet_names)])}")
    try:
        frame = pl.read_excel(path, sheet_name=sheet or book.sheet_names[0], engine="calamine")
    except (pl.exceptions.PolarsError, fastexcel.FastExcelError, ValueError) as error:
        raise InvalidData(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    if 2 * sum(name.startswith("__UNNAMED__") for name in frame.columns) > frame.width:
        raise InvalidData(f"the first row of {path} does not name the columns; delete what is above their names")
    if sheet is None and len(book.sheet_names) > 1 and (frame.width < 2 or not frame.height):
        sheets = listed([*map(repr, book.sheet_names)])
        raise InvalidData(f"the first sheet of {path} holds no log; its sheets are {sheets}", hint=Hint.TABLE)
    return frame.rename({name: name.strip() for name in frame.columns})


def is_url(data: object) -> bool:
    """Whether a log is a table of a database.

    Examples
    --------
    >>> is_url("postgresql://host/shop"), is_url("sqlite:///shop.db"), is_url("log.csv"), is_url("C:/log.csv")
    (True, True, False, False)
    """
    return isinstance(data, str) and re.match(r"[a-zA-Z][\w+.-]+://", data) is not None


def read_database(url: str, table: str | None) -> pl.DataFrame:
    """All rows of a table of a database.

    Raises
    ------
    MissingExtra
        When SQLAlchemy is not installed.
    InvalidData
        When the database cannot be reached, or has no such table; the message names those that it has.
    """
    import polars as pl

    try:
        import sqlalchemy as sa
    except ImportError as error:
        raise MissingExtra("databases need SQLAlchemy: pip install 'satisfice[live]'") from error
    if url.partition("://")[2].partition("/")[0].count("@") > 1:
        raise InvalidData("an @ in the name or the password of a database's URL is written %40")
    address = url.replace("postgresql://", "postgresql+psycopg://").replace("postgres://", "postgresql+psycopg://")
    try:
        engine = sa.create_engine(address)
        file = engine.url.database
        if engine.dialect.name == "sqlite" and (not file or not Path(file).is_file()):
            raise InvalidData(f"there is no database {file}")
        shown = engine.url.render_as_string(hide_password=True)
        with engine.connect() as connection:
            there = sa.inspect(connection).get_table_names() + sa.inspect(connection).get_view_names()
            if table is None and len(there) == 1:
                (table,) = there
            if table is None or table not in there:
                asked = "" if table is None else f"there is no table {table!r}; "
                tables = listed([*map(repr, there)]) or "none"
                raise InvalidData(f"{shown}: {asked}its tables are {tables}", hint=Hint.TABLE if there else None)
            rows = pl.read_database(sa.select(sa.text("*")).select_from(sa.table(table)), connection)
        engine.dispose()
        return rows
    except (sa.exc.SQLAlchemyError, ImportError) as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise InvalidData(f"the database cannot be read: {reason}") from error
