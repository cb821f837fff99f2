"""A history goes from one database to another unchanged."""

from pathlib import Path

import msgspec
import pytest

from tests.history.filled import fill, rows
from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from vnicaudit.errors import HistoryError, UsageError
from vnicaudit.history import history_to_write
from vnicaudit.history.database import insert_rows
from vnicaudit.history.history import History
from vnicaudit.history.place import history_place
from vnicaudit.history.tables import META, schema
from vnicaudit.history.tables import host as hosts


def test_a_copy_is_the_same_and_goes_on(history: History, tmp_path: Path) -> None:
    fill(history)
    with history_to_write(history_place(str(tmp_path / "there" / "h.db"), "")) as other:
        copied = history.copy_to(other)
        found = rows(other)
        assert copied == sum(map(len, found.values())) - len(found["history_schema"])
        assert found == rows(history)
        with history.database.writing() as connection:
            for table in META.sorted_tables:
                if table is not schema:
                    connection.execute(table.delete())
        other.copy_to(history)
        assert rows(history) == found
    guest = TestDomain(9, (TestNic("52:54:00:00:00:99"),))
    one = host("kvm1", "north")
    assert history.store(audit("later", 4, [one]), [reading(one, [guest], 4)]).number == 4


def test_an_export_has_each_row_as_a_line_of_json(history: History) -> None:
    fill(history)
    lines = [msgspec.json.decode(line) for line in history.export()]
    for table, found in rows(history).items():
        exported = [line["row"] for line in lines if line["table"] == table]
        assert len(exported) == len(found), table
    (guest, *_) = [line["row"] for line in lines if line["table"] == "host"]
    assert guest["name"] == "kvm1"


def test_nothing_is_copied_into_a_history_that_has_something(
    history: History, tmp_path: Path
) -> None:
    fill(history)
    before = rows(history)
    with history_to_write(history_place(str(tmp_path / "h.db"), "")) as other:
        with pytest.raises(UsageError, match="it is not empty"):
            other.copy_to(history)
        assert other.copy_to(other) == 0
    assert rows(history) == before


def test_rows_that_the_database_refuses_are_an_error_of_it(history: History) -> None:
    """Of PostgreSQL it was an internal error: its driver copies the rows."""
    twice = (1, "kvm1", None, None, None)
    with pytest.raises(HistoryError), history.database.writing() as connection:
        insert_rows(connection, hosts, [twice, twice])
