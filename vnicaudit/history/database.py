"""Connections to a history's database, and their transactions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec
from sqlalchemy import (
    URL,
    BindParameter,
    Connection,
    Engine,
    Table,
    bindparam,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    update,
)
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.history import rows
from vnicaudit.history.place import PATIENCE, HistoryPlace, check_file, prepare_file
from vnicaudit.history.tables import META, SCHEMA, schema
from vnicaudit.text.secrets import masked_message

# Inserts and updates many rows at once as fast as the driver allows; SQLAlchemy writes the
# statements.

Value = str | int | float | bytes | None
Row = Sequence[Value]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert rows with a value for each column, in the order of the table's columns."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        _copy(connection, table, rows)
        return
    statement = str(insert(table).compile(dialect=connection.dialect))
    connection.exec_driver_sql(statement, [tuple(row) for row in rows])


def _copy(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Use COPY: it takes a third of the time of INSERTs."""
    import psycopg

    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("not a connection of psycopg")
    quoted = connection.dialect.identifier_preparer
    columns = ", ".join(quoted.quote(column.name) for column in table.columns)
    command = f"COPY {quoted.format_table(table)} ({columns}) FROM STDIN"
    try:
        with driver.cursor() as cursor, cursor.copy(command.encode()) as copy:
            for row in rows:
                copy.write_row(row)
    except psycopg.Error as error:
        raise SQLAlchemyError(str(error)) from error


def set_by_id(connection: Connection, table: Table, rows: Sequence[Row], *columns: str) -> None:
    """Set columns of rows. Each of ``rows`` is an id and a value for each column."""
    if not rows:
        return
    values: dict[str, BindParameter[Value]] = {name: bindparam(f"new_{name}") for name in columns}
    statement = update(table).where(table.c.id == bindparam("row_id")).values(values)
    names = ("row_id", *(f"new_{name}" for name in columns))
    connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])


_DAMAGED = re.compile(
    "database disk image is malformed|malformed database schema|file is not a database"
    "|no such table"
)
_NOT_OPENED = re.compile("unable to open database file")
_DAMAGED_ADVICE = "; restore the file from a backup, or move it away to begin a new history"
_FOLDER_ADVICE = (
    "; SQLite must be able to write to the folder of the file, also for queries: run this as a "
    "user who can, or copy the file to such a folder"
)
_DECODING = ("sqlalchemy.", rows.__name__)
_LOCK = 0x766E6963
"""Key of PostgreSQL's advisory lock: only one process at a time stores in a database."""


class Database:
    """A history's database. ``read_only``: nothing is written, and no file is created.
    ``patience``: seconds to wait for a lock on a file, or to read a table; if it is shorter than
    usual, also for a connection."""

    def __init__(
        self, place: HistoryPlace, *, read_only: bool = False, patience: float = PATIENCE
    ) -> None:
        self.place = place
        self._patience = patience
        self._engine = _engine(place, read_only=read_only, patience=patience)
        self._writes = self._engine.execution_options(writes=True)

    @property
    def is_sqlite(self) -> bool:
        """False: PostgreSQL."""
        return self.place.kind == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of all tables. Raises HistoryError."""
        with self._told(), self._engine.begin() as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
                most = max(1, round(self._patience * 1000))  # 0 would be: without end
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {most}")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that excludes all other writers and is stored completely or not at all.
        Raises HistoryError."""
        with self._told(), self._writes.begin() as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            yield connection

    @contextmanager
    def plain(self) -> Iterator[Connection]:
        """A connection without a transaction, for statements that do not allow one (VACUUM). Raises
        HistoryError."""
        with self._told(), self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    def has_tables(self) -> bool:
        """False if the database has no tables of ours. Raises UsageError for those of another
        version, HistoryError if one is missing."""
        with self.reading() as connection:
            names = set(inspect(connection).get_table_names())
            if schema.name not in names:
                return False
            found = connection.execute(select(schema.c.number)).scalar()
        if found != SCHEMA:
            raise UsageError(
                f"history {self.place.label}: its tables have schema {str(found)[:20]}, this "
                f"version of vnicaudit needs {SCHEMA}: use the version that wrote it, or name "
                "another place with --history"
            )
        if missing := META.tables.keys() - names:
            raise self._failure(f"no such table: {min(missing)}")
        return True

    def prepare(self) -> None:
        """Make the tables and views, if there are none. Raises UsageError, HistoryError."""
        if self.has_tables():
            return
        with self.writing() as connection:
            if inspect(connection).has_table(schema.name):  # another process was faster
                return
            META.create_all(connection)
            for statement in view_statements(self.place.kind):
                connection.exec_driver_sql(statement)
            insert_rows(connection, schema, [(SCHEMA,)])

    def close(self) -> None:
        """Release all connections."""
        self._engine.dispose()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raises HistoryError for errors of the database, and for values that vnicaudit does not
        store, such as text that is not UTF-8 or a time that is out of range. What was not raised by
        decoding may be a mistake of this program: nobody is told to move the history away for it,
        and with VNICAUDIT_DEBUG set it is raised as it is."""
        try:
            yield
        except SQLAlchemyError as error:
            raise self._failure(_reason(error)) from None
        except (
            msgspec.ValidationError, ValueError, TypeError, OverflowError, LookupError,
        ) as error:  # fmt: skip
            if _is_of_decoding(error):
                advice = _DAMAGED_ADVICE if self.is_sqlite else ""
                reason = f"it has an invalid value ({type(error).__name__}: {error})"
                raise HistoryError(f"history {self.place.label}: {reason}{advice}") from None
            if os.environ.get("VNICAUDIT_DEBUG"):
                raise
            raise HistoryError(
                f"history {self.place.label}: it has an invalid value, or this is an internal "
                f"error ({type(error).__name__}: {error}); please report this"
            ) from error

    def _failure(self, reason: str) -> HistoryError:
        advice = _advice(self.place, reason) if self.is_sqlite else ""
        return HistoryError(f"history {self.place.label}: {reason}{advice}")


def _is_of_decoding(error: Exception) -> bool:
    """True if a value of the database caused it: it is the error of a conversion, or was raised by
    SQLAlchemy or by our own decoding of rows."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "" if last is None else str(last.tb_frame.f_globals.get("__name__"))
    found = msgspec.ValidationError | ValueError | OverflowError
    return isinstance(error, found) or module.startswith(_DECODING)


def _advice(place: HistoryPlace, reason: str) -> str:
    """How to mend a file; empty if nothing is known about that."""
    if _DAMAGED.match(reason):
        return _DAMAGED_ADVICE
    if _NOT_OPENED.match(reason) and os.access(place.target, os.R_OK):
        return _FOLDER_ADVICE
    return ""


def _reason(error: SQLAlchemyError) -> str:
    """The message of a driver on one line, without the statement and its values."""
    original = getattr(error, "orig", None)
    text = str(original if original is not None else error).strip()
    return masked_message(" ".join(text.split()))[:500]


def _engine(place: HistoryPlace, *, read_only: bool, patience: float) -> Engine:
    try:
        if place.kind == "postgresql":
            url = make_url(place.target).set(drivername="postgresql+psycopg")
            return create_engine(
                url, poolclass=NullPool, connect_args=_connection_limits(url, patience)
            )
        return _sqlite_engine(place, read_only=read_only, patience=patience)
    except ArgumentError:
        raise UsageError(f"{place.label}: not a URL of a database") from None
    except SQLAlchemyError as error:
        raise HistoryError(f"history {place.label}: {_reason(error)}") from None


def _connection_limits(url: URL, patience: float) -> dict[str, int]:
    """Seconds to wait for a connection to PostgreSQL, if that is to be shorter than usual and the
    URL sets no time: as long as for a lock, but at least psycopg's minimum of 2."""
    if patience >= PATIENCE or "connect_timeout" in url.query:
        return {}
    return {"connect_timeout": max(2, round(patience))}


def _sqlite_engine(place: HistoryPlace, *, read_only: bool, patience: float) -> Engine:
    path = Path(place.target).absolute()
    check_file(path)
    if not read_only:
        prepare_file(path)
    mode = {"mode": "ro" if read_only else "rw", "uri": "true"}
    url = URL.create("sqlite", database=f"file:{quote(os.fsencode(path))}", query=mode)
    # transactions are begun by _begin: the driver itself would begin them late, or not at all
    given = {"timeout": patience, "isolation_level": None}
    engine = create_engine(url, poolclass=NullPool, connect_args=given)
    event.listen(engine, "connect", _to_read if read_only else _to_write)
    event.listen(engine, "begin", _begin)
    return engine


def _to_read(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in ("trusted_schema=OFF", "cache_size=-65536"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _to_write(connection: DBAPIConnection, entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    # one transaction per audit, so this costs nothing
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
    _to_read(connection, entry)


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("isolation_level") == "AUTOCOMMIT":
        return
    writes = options.get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# The views, and how SQL users connect to the history.


def view_statements(kind: str) -> list[str]:
    """The statements that create the views in a database of this kind, with their comments."""
    text = Path(__file__).with_name("views.sql").read_text("utf-8")
    for name, function in _FUNCTIONS[kind].items():
        text = re.sub(rf"\b{name}\(([\w.]+)\)", function, text)
    return text.strip().removesuffix(";").split(";\n")


def _dashed(digits: str) -> str:
    pieces = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 99))
    return "||'-'||".join(f"substr({digits},{begin},{length})" for begin, length in pieces)


_FUNCTIONS = {
    "sqlite": {
        "time": r"strftime('%Y-%m-%dT%H:%M:%fZ', \1/1000.0, 'unixepoch')",
        "uuid": _dashed(r"lower(hex(\1))"),
        "digits": r"lower(hex(\1))",
    },
    "postgresql": {
        "time": r"to_timestamp(\1/1000.0)",
        "uuid": _dashed(r"encode(\1,'hex')"),
        "digits": r"encode(\1,'hex')",
    },
}


def sql_text(place: HistoryPlace) -> Iterator[str]:
    """The views of the history as SQL, with explanations as SQL comments."""
    yield f"-- read-only: {read_only_url(place)}\n"
    if place.kind == "postgresql":
        yield "-- a user for Grafana:\n"
        yield "--   CREATE USER grafana PASSWORD '…';\n"
        yield "--   GRANT SELECT ON ALL TABLES IN SCHEMA public TO grafana;\n"
    yield from (f"\n{statement};\n" for statement in view_statements(place.kind))


def read_only_url(place: HistoryPlace) -> str:
    """The URL of a read-only connection, without a password."""
    if place.kind == "sqlite":
        return f"file:{quote(os.fsencode(Path(place.target).absolute()))}?mode=ro"
    mark = "&" if "?" in place.label else "?"
    return f"{place.label}{mark}options=-c%20default_transaction_read_only%3Don"
