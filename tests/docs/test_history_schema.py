"""The page of the history's views is what the program has."""

from pathlib import Path

from docs import generate_history
from tests.history.filled import fill
from vnicaudit.history.history import History
from vnicaudit.history.opening import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.history.views import VIEWS


def test_the_page_is_current() -> None:
    assert generate_history.main(["--check"]) == 0


def test_every_view_has_the_columns_that_the_page_names(tmp_path: Path) -> None:
    place = history_place(None, tmp_path / "state")
    with history_to_write(place) as history:
        fill(history)
        for view in VIEWS:
            assert _columns(history, view.name) == [one.name for one in view.columns]


def _columns(history: History, view: str) -> list[str]:
    with history.database.reading() as connection:
        return list(connection.exec_driver_sql(f"SELECT * FROM {view}").keys())
