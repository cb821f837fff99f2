"""Schemas: schema 1 is what the tables say, and a history comes to a next one with its data."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from tests.cli.inside import inside
from tests.history.conftest import Server
from tests.history.filled import fill
from vnicaudit.errors import UsageError
from vnicaudit.history import migrating
from vnicaudit.history.database import Database
from vnicaudit.history.history import History
from vnicaudit.history.opening import history_to_read, history_to_write, upgrade_history
from vnicaudit.history.place import HistoryPlace, history_place
from vnicaudit.history.tables import META
from vnicaudit.history.views import VIEWS

_NEXT = """from alembic import op

revision = "2"
down_revision = "1"


def upgrade():
    op.execute("CREATE TABLE added (id INTEGER)")
"""
Later = Callable[[], None]


def test_migrations_make_the_tables_that_the_program_uses(history: History) -> None:
    with history.database.reading() as connection:
        options = {"include_object": lambda *about: about[2] != "view"}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, META) == []
        assert migrating.schema_of(connection) == migrating.NEWEST


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Later:
    """Makes this version one that has a schema 2."""

    def upgraded() -> None:
        scripts = tmp_path / "migrations"
        shutil.copytree(Path(migrating.__file__).parent / "migrations", scripts)
        (scripts / "versions" / "schema_2.py").write_text(_NEXT)
        monkeypatch.setattr(migrating, "_MIGRATIONS", scripts)
        monkeypatch.setattr(migrating, "NEWEST", "2")

    return upgraded


def filled(place: HistoryPlace) -> HistoryPlace:
    """A history in schema 1."""
    with history_to_write(place) as history:
        fill(history)
    return place


def check_data(place: HistoryPlace) -> None:
    """What was stored in schema 1 is there, and goes on."""
    with history_to_write(place) as history:
        status = history.status()
        assert [one.id[:8] for one in status.audits] == ["20260103", "20260102", "20260101"]
        assert status.hosts == 2
        drift = history.drift("2026-01-02", "2026-01-04")
        assert {(one.state, one.host) for one in drift.findings} == {("moved", "kvm2")}
        with history.database.reading() as connection:
            assert connection.exec_driver_sql("SELECT * FROM added").fetchall() == []
            for view in VIEWS:
                connection.exec_driver_sql(f"SELECT * FROM {view.name}").fetchall()
            query = "SELECT host, state, COUNT(*) FROM findings GROUP BY host, state"
            found = {tuple(row) for row in connection.exec_driver_sql(query)}
    assert found == {
        ("kvm1", "known", 3), ("kvm1", "gone", 6), ("kvm2", "known", 3), ("kvm2", "returned", 3),
    }  # fmt: skip


def test_a_file_is_migrated_after_a_copy(tmp_path: Path, later: Later) -> None:
    place = filled(history_place(None, tmp_path / "state"))
    before = Path(place.target).stat().st_size
    later()
    with history_to_read(place) as history:
        assert len(history.status().audits) == 3
    check_data(place)
    copy = Path(f"{place.target}.schema-1")
    assert copy.stat().st_mode & 0o077 == 0
    assert copy.stat().st_size == before


def test_a_postgresql_database_is_migrated_by_command_only(
    postgresql: Server, later: Later
) -> None:
    place = filled(history_place(postgresql.migrated(), ""))
    assert upgrade_history(place) == ("1", "1")
    later()
    for opened in (history_to_read, history_to_write):
        with pytest.raises(UsageError, match=r"run `vnicaudit history upgrade --history"):
            opened(place).__enter__()
    assert upgrade_history(place) == ("1", "2")
    check_data(place)


def test_a_schema_of_a_later_version_is_refused(history: History) -> None:
    with history.database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '99'")
    with pytest.raises(UsageError, match="schema 99, but this version supports only those up to"):
        upgrade_history(history.database.place)


def test_a_migration_that_fails_leaves_all_as_it_was(
    tmp_path: Path, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = filled(history_place(None, tmp_path / "state"))
    later()

    def failing(_connection: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(migrating, "create_views", failing)
        with pytest.raises(ZeroDivisionError):
            upgrade_history(place)
    with Database(place).reading() as connection:
        assert migrating.schema_of(connection) == "1"
    check_data(place)


def test_the_command_says_what_it_did(tmp_path: Path, later: Later) -> None:
    place = filled(history_place(None, tmp_path / "state"))
    later()
    done = inside("history", "upgrade", "--history", place.target)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r".*/history\.db: schema 2 \(was 1\)\n", done.stdout)
