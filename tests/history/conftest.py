"""The same tests over SQLite and PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.postgresql import server, url
from vnicaudit.history import history_to_write, store
from vnicaudit.history.history import History
from vnicaudit.history.place import HistoryPlace, history_place


class Server:
    """A PostgreSQL server: one database for each test, copied from one that has all tables."""

    def __init__(self, folder: Path) -> None:
        import psycopg

        self._folder = folder
        self._count = 0
        self._admin = psycopg.connect(url(folder, "postgres"), autocommit=True)
        self._admin.execute("CREATE DATABASE base")
        with history_to_write(history_place(url(folder, "base"), "")):
            pass

    def empty(self) -> str:
        """URL of a database without anything in it."""
        return self._created("")

    def migrated(self) -> str:
        """URL of a database with all tables and no rows."""
        return self._created(" TEMPLATE base")

    def _created(self, words: str) -> str:
        self._count += 1
        name = f"t{self._count}"
        self._admin.execute(f"CREATE DATABASE {name}{words}")
        return url(self._folder, name)

    def close(self) -> None:
        """Let go of it."""
        self._admin.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with server() as folder:
        made = Server(folder)
        yield made
        made.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> HistoryPlace:
    """Where a history can be made."""
    if request.param == "sqlite":
        return history_place(None, tmp_path / "state")
    made: Server = request.getfixturevalue("postgresql")
    return history_place(made.migrated(), "")


@pytest.fixture
def any_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits are stored whatever the clock of this machine says."""
    monkeypatch.setattr(store, "_CLOCKS_DIFFER", float("inf"))


@pytest.fixture
def history(place: HistoryPlace) -> Iterator[History]:
    """One that is open and empty."""
    with history_to_write(place) as made:
        yield made
