"""Schemas: the newest one is what the tables say, and every earlier one comes to it with its
data."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from tests.cli.inside import inside
from tests.history.conftest import Server
from tests.history.make_schema import FOLDER
from vnicaudit.errors import UsageError
from vnicaudit.history import migrating
from vnicaudit.history.database import Database
from vnicaudit.history.history import History
from vnicaudit.history.opening import history_to_read, history_to_write, upgrade_history
from vnicaudit.history.place import HistoryPlace, history_place
from vnicaudit.history.tables import META
from vnicaudit.history.views import VIEWS

SCHEMAS = [str(number) for number in range(1, int(migrating.NEWEST) + 1)]


def test_the_newest_schema_is_that_of_the_scripts_and_each_has_a_kept_history() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrating.__file__).parent / "migrations"))
    scripts = [one.revision for one in ScriptDirectory.from_config(config).walk_revisions()]
    assert scripts == SCHEMAS[::-1]
    kept = {path.name for path in FOLDER.iterdir()}
    kinds = ("sqlite", "postgresql")
    assert kept == {f"{number}.{kind}.sql" for number in SCHEMAS for kind in kinds}


def test_migrations_make_the_tables_that_the_program_uses(history: History) -> None:
    with history.database.reading() as connection:
        options = {"include_object": lambda *about: about[2] != "view"}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, META) == []


def kept_sqlite(schema: str, folder: Path) -> HistoryPlace:
    folder.mkdir(mode=0o700)
    path = folder / "history.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((FOLDER / f"{schema}.sqlite.sql").read_text("utf-8"))
    connection.close()
    return history_place(str(path), "")


def kept_postgresql(schema: str, server: Server) -> HistoryPlace:
    import psycopg

    address = server.empty()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute((FOLDER / f"{schema}.postgresql.sql").read_bytes())
    return history_place(address, "")


def check_data(place: HistoryPlace) -> None:
    """What was stored by the program that had that schema is there, and goes on."""
    with history_to_write(place) as history:
        status = history.status()
        assert [one.id[:8] for one in status.audits] == ["20260103", "20260102", "20260101"]
        assert (status.tables, status.hosts) == (migrating.NEWEST, 2)
        drift = history.drift("2026-01-02", "2026-01-04")
        assert {(one.state, one.host) for one in drift.findings} == {("moved", "kvm2")}
        with history.database.reading() as connection:
            for view in VIEWS:
                connection.exec_driver_sql(f"SELECT * FROM {view.name}").fetchall()
            query = "SELECT host, state, COUNT(*) FROM findings GROUP BY host, state"
            found = {tuple(row) for row in connection.exec_driver_sql(query)}
    assert found == {
        ("kvm1", "known", 3), ("kvm1", "gone", 6), ("kvm2", "known", 3), ("kvm2", "returned", 3),
    }  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_file_is_migrated_after_a_copy(schema: str, tmp_path: Path) -> None:
    place = kept_sqlite(schema, tmp_path / "state")
    before = Path(place.target).read_bytes()
    with history_to_read(place) as history:
        assert len(history.status().audits) == 3
    check_data(place)
    copy = Path(f"{place.target}.schema-{schema}")
    assert copy.exists() == (schema != migrating.NEWEST)
    if copy.exists():
        assert copy.stat().st_mode & 0o077 == 0
        assert len(copy.read_bytes()) == len(before)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_postgresql_database_is_migrated_by_command_only(schema: str, postgresql: Server) -> None:
    place = kept_postgresql(schema, postgresql)
    if schema != migrating.NEWEST:
        for opened in (history_to_read, history_to_write):
            with pytest.raises(UsageError, match=r"run `vnicaudit history upgrade --history"):
                opened(place).__enter__()
    assert upgrade_history(place) == (schema, migrating.NEWEST)
    check_data(place)


def test_a_schema_of_a_later_version_is_refused(history: History) -> None:
    with history.database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '99'")
    with pytest.raises(UsageError, match="schema 99, but this version supports only those up to"):
        upgrade_history(history.database.place)


def test_a_migration_that_fails_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = kept_sqlite("1", tmp_path / "state")

    def failing(_connection: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(migrating, "create_views", failing)
    with pytest.raises(ZeroDivisionError):
        upgrade_history(place)
    monkeypatch.undo()
    database = Database(place)
    with database.reading() as connection:
        assert migrating.schema_of(connection) == "1"
    check_data(place)


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    place = kept_sqlite("1", tmp_path / "state")
    done = inside("history", "upgrade", "--history", place.target)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r".*/history\.db: schema 3 \(was 1\)\n", done.stdout)
