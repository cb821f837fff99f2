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


def test_an_export_since_an_audit_has_what_later_ones_began_or_ended(history: History) -> None:
    """Rows of the whole, put in place of those with their key, give the whole again."""
    one, guest = host("kvm1", "north"), TestDomain(9, (TestNic("52:54:00:00:00:99"),))
    fill(history)
    keys = {str(t.name): [c.name for c in t.primary_key.columns] for t in META.sorted_tables}

    def exported(since: str | None = None) -> dict[tuple[object, ...], object]:
        lines = [msgspec.json.decode(line) for line in history.export(since)]
        return {
            (one["table"], *(one["row"][key] for key in keys[one["table"]])): one["row"]
            for one in lines
        }

    before = exported()
    history.store(audit("later", 9, [one]), [reading(one, [guest], 9)])
    changed = exported("previous")
    assert {**before, **changed} == exported()
    assert len([key for key in changed if key[0] == "audit"]) == 1
    ended = [row for key, row in changed.items() if key[0] == "finding" and key in before]
    assert ended
    assert all(row != before[key] for key, row in changed.items() if row in ended)
    assert not [key for key in exported("latest") if key[0] in ("audit", "nic", "finding")]
    with pytest.raises(UsageError, match="there is no audit 'nothing'"):
        list(history.export("nothing"))


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
