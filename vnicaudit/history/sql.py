"""The history for SQL users: how to connect, its views, and the statements of its tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from vnicaudit.history.place import HistoryPlace
from vnicaudit.history.tables import META
from vnicaudit.history.views import VIEWS, view_sql


def sql_text(place: HistoryPlace) -> Iterator[str]:
    """The tables and views of the history as SQL, with explanations as SQL comments."""
    yield f"-- read-only: {read_only_url(place)}\n"
    if place.kind == "postgresql":
        yield "-- a user for Grafana:\n"
        yield "--   CREATE USER grafana PASSWORD '…';\n"
        yield "--   GRANT SELECT ON ALL TABLES IN SCHEMA public TO grafana;\n"
    for view in VIEWS:
        yield f"\n-- view {view.name}: {view.meaning}\n"
        for column in view.columns:
            yield f"--   {column.name}: {column.meaning}\n"
    dialect = _dialect(place)
    for table in META.sorted_tables:
        yield f"\n-- {table.comment}\n{str(CreateTable(table).compile(dialect=dialect)).strip()};\n"
        for index in sorted(table.indexes, key=lambda one: str(one.name)):
            yield f"{CreateIndex(index).compile(dialect=dialect)};\n"
    for view in VIEWS:
        yield f"\n{view_sql(view, dialect.name)};\n"


def read_only_url(place: HistoryPlace) -> str:
    """The URL of a read-only connection, without a password."""
    if place.kind == "sqlite":
        return f"file:{quote(os.fsencode(Path(place.target).absolute()))}?mode=ro"
    mark = "&" if "?" in place.label else "?"
    return f"{place.label}{mark}options=-c%20default_transaction_read_only%3Don"


def _dialect(place: HistoryPlace) -> Dialect:
    name = "postgresql+psycopg" if place.kind == "postgresql" else "sqlite"
    return URL.create(name).get_dialect()()
