"""A history goes from one database to another, and back, unchanged."""

import io
from pathlib import Path

import msgspec
import pytest

from tests.history.filled import fill
from tests.history.test_random_audits import Fleet
from vnicaudit.errors import UsageError
from vnicaudit.history.history import History
from vnicaudit.history.opening import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.history.tables import META


def test_what_is_imported_is_what_was_exported(history: History, tmp_path: Path) -> None:
    fill(history)
    data = b"".join(history.export())
    with history_to_write(history_place(str(tmp_path / "there" / "h.db"), "")) as other:
        assert other.fill(io.BytesIO(data), "x.jsonl") == data.count(b"\n") - 1
        again = b"".join(other.export())
    assert again == data
    with history.database.writing() as connection:
        for table in META.sorted_tables:
            connection.execute(table.delete())
    history.fill(io.BytesIO(again), "x.jsonl")
    assert b"".join(history.export()) == data


def test_what_changed_since_each_audit_adds_up_to_the_whole(history: History) -> None:
    """But for what a warehouse is told to join, and for counts of other rows."""
    fleet = Fleet(5)
    warehouse: dict[tuple[object, ...], dict[str, object]] = {}
    for day in range(1, 13):
        made, readings = fleet.audited(day)
        history.store(made, readings)
        if day > 1:
            lines = list(history.export("previous"))
            warehouse |= rows_of(lines[1:])
            assert msgspec.json.decode(lines[0])["since"] == f"audit-{day - 1}"
        else:
            warehouse |= rows_of(list(history.export())[1:])
        fleet.day()
    whole = list(history.export())
    assert warehouse == rows_of(whole[1:])
    assert sum(map(len, lines)) < sum(map(len, whole)) / 3


def rows_of(lines: list[bytes]) -> dict[tuple[object, ...], dict[str, object]]:
    """Table and primary key -> the row."""
    found = {}
    for line in lines:
        one = msgspec.json.decode(line)
        name, row = one["table"], one["row"]
        if name not in ("host_tally", "notified"):
            key = (name, *(row[column.name] for column in META.tables[name].primary_key))
            changes = ("unlooked", "nic_index", "digest")
            found[key] = {k: v for k, v in row.items() if k not in changes}
    return found


def test_an_export_of_changes_is_not_imported(history: History, tmp_path: Path) -> None:
    fill(history)
    data = b"".join(history.export("previous"))
    with (
        history_to_write(history_place(str(tmp_path / "there" / "h.db"), "")) as other,
        pytest.raises(UsageError, match="x:1: it has only what changed since an audit"),
    ):
        other.fill(io.BytesIO(data), "x")
    with pytest.raises(UsageError, match="there is no audit 'never'"):
        next(history.export("never"))


def test_nothing_is_imported_into_a_history_that_has_something(history: History) -> None:
    fill(history)
    data = b"".join(history.export())
    with pytest.raises(UsageError, match="it is not empty"):
        history.fill(io.BytesIO(data), "x.jsonl")


HEAD = b'{"schema":"vnicaudit.history-export/1","tables":"1"}\n'
HOST = {"id": 1, "name": "kvm1", "tried": None, "read": None, "whole": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{}\n", "x:1: not a line of an export"),
        (HEAD.replace(b'"1"', b'"2"'), "x:1: exported from tables of schema 2"),
        (HEAD + b"\xff\n", "x:2: not a line of an export"),
        (HEAD + b'{"table":"sqlite_master","row":{}}\n', "x:2: there is no table 'sqlite_master'"),
        (HEAD + b'{"table":"host","row":{"x":1}}\n', "x:2: host has no column 'x'"),
        (HEAD + b'{"table":"host","row":{"id":"1"}}\n', "x:2: not a value of host.id"),
        (HEAD + b'{"table":"host","row":{"id":1}}\n', "x:2: not a value of host.name"),
        (HEAD + b'{"table":"host","row":{"id":99999999999999999999}}\n', "x:2: not"),
        (HEAD + b" " * (1024 * 1024 + 1), "x:2: too long for a line"),
    ],
)
def test_what_is_no_export_is_refused_whole(history: History, text: bytes, message: str) -> None:
    good = HEAD + msgspec.json.encode({"table": "host", "row": HOST}) + b"\n"
    lines = text.removeprefix(HEAD)
    data = good + lines if text.startswith(HEAD) else text
    message = message.replace("x:2", "x:3") if text.startswith(HEAD) else message
    with pytest.raises(UsageError) as caught:
        history.fill(io.BytesIO(data), "x")
    assert str(caught.value).startswith(message)
    assert b"".join(history.export()).count(b"\n") == 1
