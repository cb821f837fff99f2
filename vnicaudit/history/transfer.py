"""A whole history as JSON lines, and back: to move between databases, or to a data warehouse.

The first line is ``{"schema": "vnicaudit.history-export/1", "tables": "3"}``; each of the others is
a row, ``{"table": "nic", "row": {"id": 1, …}}``. Bytes are hexadecimal digits. An export of what
changed since an audit also names it in the first line (``since``), and has all rows of the small
tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import BinaryIO, Literal, TypeVar

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    Table,
    Text,
    func,
    or_,
    select,
)

from vnicaudit.errors import UsageError
from vnicaudit.history.audits import audit_name, number_of
from vnicaudit.history.database import Database, Row, Value, insert_rows
from vnicaudit.history.migrating import NEWEST
from vnicaudit.history.rows import printable
from vnicaudit.history.tables import META, host_tally, notified
from vnicaudit.model.decoding import json_as

T = TypeVar("T")

EXPORT_SCHEMA: Literal["vnicaudit.history-export/1"] = "vnicaudit.history-export/1"
_LINE_MAX = 1024 * 1024
_AT_ONCE = 5000
_MOST = 1 << 63
_DERIVED = (host_tally, notified)
"""Left out of an export of what changed: counts of other rows, and claims of channels."""
_AUDIT_NUMBERS = ("number", "audit", "opened", "closed")
"""Columns with the number of the audit that wrote a row. Tables without one are small."""
_ENCODER = msgspec.json.Encoder()


class ExportHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    schema: Literal["vnicaudit.history-export/1"] = EXPORT_SCHEMA
    tables: str
    """Number of the schema of the tables."""
    since: str | None = None
    """Id of the audit whose rows and those before it are left out; None: all rows are there."""


class ExportRow(msgspec.Struct, frozen=True):
    """Any other line."""

    table: str
    row: dict[str, str | int | float | None]


def export_lines(database: Database, since: str | None = None) -> Iterator[bytes]:
    """The history, line by line; with ``since``, only rows that audits after that one began or
    ended. Raises UsageError if there is no such audit."""
    with database.reading() as connection:
        after = None if since is None else number_of(connection, since, database)
        named = None if after is None else audit_name(connection, after).audit
        head = ExportHead(tables=NEWEST, since=named)
        yield _ENCODER.encode(head) + b"\n"
        for table in META.sorted_tables:
            if after is not None and table in _DERIVED:
                continue
            names = [str(column.name) for column in table.columns]
            query = select(table).order_by(*table.primary_key.columns)
            dated = [table.c[name] for name in _AUDIT_NUMBERS if name in table.c]
            if after is not None and dated:
                query = query.where(or_(*(column > after for column in dated)))
            for row in connection.execution_options(yield_per=_AT_ONCE).execute(query):
                values = dict(zip(names, map(_json_value, row), strict=True))
                yield _ENCODER.encode(ExportRow(str(table.name), values)) + b"\n"


def _json_value(value: object) -> str | int | float | None:
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()
    return value if isinstance(value, (str, int, float)) else None


def import_lines(database: Database, stream: BinaryIO, name: str) -> int:
    """Fill an empty history from an export, completely or not at all; returns the number of rows.
    Raises UsageError, with the line, if it is not a valid export."""
    with database.writing() as connection:
        _check_empty(connection, database)
        return _Import(connection, name).fill(_lines(stream, name))


def _check_empty(connection: Connection, database: Database) -> None:
    """Raises UsageError if a history is not empty."""
    for table in META.sorted_tables:
        if connection.execute(select(func.count()).select_from(table)).scalar():
            raise UsageError(
                f"history {database.place.label}: it is not empty, but an export can only be "
                "imported into an empty one: choose another place with --history"
            )


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(iter(lambda: stream.readline(_LINE_MAX + 1), b""), 1):
        if len(line) > _LINE_MAX:
            raise UsageError(f"{name}:{number}: too long for a line of an export")
        yield number, line


class _Import:
    """Checks the rows of an export and inserts them into a database."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._table: Table | None = None
        self._rows: list[Row] = []
        self._count = 0

    def fill(self, lines: Iterable[tuple[int, bytes]]) -> int:
        """Insert all rows; returns their number."""
        for number, line in lines:
            if number == 1:
                self._check_head(self._decoded(line, ExportHead, number))
            else:
                one = self._decoded(line, ExportRow, number)
                self._add(one.table, one.row, number)
        self._flush()
        return self._count

    def _check_head(self, head: ExportHead) -> None:
        if head.tables != NEWEST:
            raise self._error(
                1,
                f"exported from tables of schema {head.tables[:20]}, but these have schema "
                f"{NEWEST}: export it again with this version of vnicaudit",
            )
        if head.since is not None:
            raise self._error(1, "it has only what changed since an audit: export without --since")

    def _add(self, name: str, row: Mapping[str, Value], number: int) -> None:
        table = META.tables.get(name)
        if table is None:
            raise self._error(number, f"there is no table {name[:60]!r}")
        if table is not self._table or len(self._rows) >= _AT_ONCE:
            self._flush()
            self._table = table
        unknown = row.keys() - table.columns.keys()
        if unknown:
            raise self._error(number, f"{table.name} has no column {min(unknown)[:60]!r}")
        values = [(column, row.get(column.name)) for column in table.columns]
        self._count += 1
        self._rows.append([self._value(column, value, number) for column, value in values])

    def _value(self, column: Column[object], value: Value, number: int) -> Value:
        if value is None and column.nullable:
            return None
        kind = column.type
        if isinstance(kind, LargeBinary) and isinstance(value, str):
            with suppress(ValueError):
                return bytes.fromhex(value)
        elif isinstance(kind, Float) and isinstance(value, (int, float)):
            return float(value)
        elif isinstance(kind, Integer) and isinstance(value, int) and -_MOST <= value < _MOST:
            return value
        elif isinstance(kind, Text) and isinstance(value, str):
            return printable(value)
        raise self._error(number, f"not a value of {column.table.name}.{column.name}")

    def _flush(self) -> None:
        if self._table is not None:
            insert_rows(self._connection, self._table, self._rows)
        self._rows = []

    def _decoded(self, line: bytes, kind: type[T], number: int) -> T:
        try:
            return json_as(line, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._error(number, f"not a line of an export: {error}") from None

    def _error(self, number: int, text: str) -> UsageError:
        return UsageError(f"{self._name}:{number}: {text}")
