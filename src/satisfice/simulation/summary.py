"""The table of `Results.summary`: a Polars frame that prints all of its columns and rows."""

from __future__ import annotations

from typing import Any

import polars as pl


class Summary(pl.DataFrame):
    """A frame as any other, except that nothing of it is left out when it is printed or shown in a notebook.

    What is made from it (`filter`, `select`, ...) is a plain frame, which prints as Polars is told to.
    """

    def __str__(self) -> str:
        with _whole():
            return super().__str__()

    def __repr__(self) -> str:
        with _whole():
            return super().__repr__()

    def _repr_html_(self, **options: Any) -> str:
        with _whole():
            return super()._repr_html_(**options)


def _whole() -> pl.Config:
    # Lines as narrow as that allows: neither the kinds of the columns nor the shape are news.
    return pl.Config(
        tbl_cols=-1,
        tbl_rows=-1,
        tbl_width_chars=200,
        fmt_str_lengths=100,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
    )
