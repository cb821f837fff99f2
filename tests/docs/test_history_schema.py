"""The page of the history's views is what the program has."""

import re
from pathlib import Path

from sqlalchemy import inspect

from docs import generate_history
from tests.history.filled import fill
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place


def test_the_page_is_current() -> None:
    assert generate_history.main(["--check"]) == 0


def test_every_view_of_the_page_can_be_queried(tmp_path: Path) -> None:
    place = history_place(None, tmp_path / "state")
    views = re.findall(r"^CREATE VIEW (\w+)", generate_history.page(), re.MULTILINE)
    with history_to_write(place) as history:
        fill(history)
        with history.database.reading() as connection:
            made = inspect(connection).get_view_names()
            filled = [
                view for view in views if connection.exec_driver_sql(f"SELECT * FROM {view}").all()
            ]
    assert sorted(made) == sorted(views)
    assert {*views} - {*filled} == {"benchmarks"}
