"""Schemas of a history: the schema of a database, and migration to the newest one."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, inspect, select, table
from sqlalchemy.sql.expression import column

from vnicaudit.base.files import writing
from vnicaudit.errors import MissingExtraError, UsageError
from vnicaudit.history.database import Database
from vnicaudit.history.place import HistoryPlace
from vnicaudit.history.views import create_views, drop_views
from vnicaudit.text.diff import history_command

NEWEST = "1"
"""The schema written by this version."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_VERSION = table("alembic_version", column("version_num"))


def schema_of(connection: Connection) -> str | None:
    """The schema of a database; None: it has none yet."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    found = connection.execute(select(_VERSION.c.version_num)).scalar()
    return None if found is None else str(found)


def has_tables(database: Database) -> bool:
    """False if the database has no tables of ours. A file with an older schema is migrated. Raises
    UsageError, with what to do, if the schema is still not the newest; HistoryError."""
    schema = _schema(database)
    if schema is not None and schema != NEWEST:
        _migrate_file_or_refuse(database.place, schema)
    return schema is not None


def has_newest_tables(database: Database) -> bool:
    """False if the database has no tables of ours. Raises UsageError if the schema is not the
    newest, and HistoryError, also if a table is missing. Nothing is migrated."""
    schema = _schema(database)
    if schema is not None and schema != NEWEST:
        raise _not_newest(database.place, schema)
    if schema is not None:
        database.check_tables()
    return schema is not None


def ready(database: Database) -> None:
    """Prepare the database for writing with the newest schema. A file is copied and migrated
    automatically; tables in a PostgreSQL database are only created if there are none. Raises
    UsageError, HistoryError."""
    schema = _schema(database)
    if schema is None:
        upgrade(database)
    elif schema != NEWEST:
        _migrate_file_or_refuse(database.place, schema)


def _schema(database: Database) -> str | None:
    with database.reading() as connection:
        return schema_of(connection)


def _migrate_file_or_refuse(place: HistoryPlace, schema: str) -> None:
    if place.kind != "sqlite":
        raise _not_newest(place, schema)
    _check_not_newer(schema, place)
    database = Database(place)
    try:
        upgrade(database)
    finally:
        database.close()


def _not_newest(place: HistoryPlace, schema: str) -> UsageError:
    _check_not_newer(schema, place)
    return UsageError(
        f"history {place.label}: it has schema {schema}, this version needs {NEWEST}: run "
        f"`{history_command('history upgrade', place.label)}` when no other version is in use"
    )


def upgrade(database: Database) -> tuple[str | None, str]:
    """Migrate to the newest schema; returns the previous schema (None: there was none) and the
    newest. Raises UsageError if the database is newer than this version, HistoryError."""
    with database.writing() as connection:
        before = schema_of(connection)
        if before == NEWEST:
            return before, NEWEST
        if before is not None:
            _check_not_newer(before, database.place)
            if database.is_sqlite:
                copy_file(database, before)
            drop_views(connection)
        _migrate(connection)
        create_views(connection)
    return before, NEWEST


def copy_file(database: Database, schema: str) -> Path:
    """Copy a history's file beside it, readable only by this user; returns the path of the copy."""
    path = Path(database.place.target)
    copy = path.with_name(f"{path.name}.schema-{schema}")
    with writing(copy):
        copy.unlink(missing_ok=True)
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    source, target = sqlite3.connect(path), sqlite3.connect(copy)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()
    return copy


def _migrate(connection: Connection) -> None:
    """Migrate in the connection's current transaction."""
    try:  # loaded only for this
        from alembic import command
        from alembic.config import Config
    except ModuleNotFoundError:
        raise MissingExtraError("a history", "history") from None
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_not_newer(schema: str, place: HistoryPlace) -> None:
    if not schema.isdigit() or int(schema) > int(NEWEST):
        raise UsageError(
            f"history {place.label}: it has schema {schema[:20]}, but this version supports only "
            f"those up to {NEWEST}: use the version of vnicaudit that wrote it, or a newer one"
        )
