"""A history goes from one database to another, and back, unchanged."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest

from tests.history.make_schema import fill
from vnicaudit.errors import UsageError
from vnicaudit.history.history import History, history_to_write
from vnicaudit.history.place import history_place


def test_what_is_imported_is_what_was_exported(history: History, tmp_path: Path) -> None:
    fill(history)
    data = b"".join(history.export())
    with history_to_write(history_place(str(tmp_path / "there" / "h.db"), "")) as other:
        assert other.fill(io.BytesIO(data), "x.jsonl") == data.count(b"\n") - 1
        again = b"".join(other.export())
    assert again == data
    with history.database.writing() as connection:
        from vnicaudit.history.tables import META

        for table in META.sorted_tables:
            connection.execute(table.delete())
    history.fill(io.BytesIO(again), "x.jsonl")
    assert b"".join(history.export()) == data


def test_nothing_is_imported_into_a_history_that_has_something(history: History) -> None:
    fill(history)
    data = b"".join(history.export())
    with pytest.raises(UsageError, match="it is not empty"):
        history.fill(io.BytesIO(data), "x.jsonl")


HEAD = b'{"schema":"vnicaudit.history-export/1","tables":"2"}\n'
HOST = {"id": 1, "name": "kvm1", "tried": None, "read": None, "whole": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{}\n", "x:1: not a line of an export"),
        (HEAD.replace(b'"2"', b'"1"'), "x:1: exported from tables of schema 1"),
        (HEAD + b"\xff\n", "x:2: not a line of an export"),
        (HEAD + b'{"table":"sqlite_master","row":{}}\n', "x:2: there is no table 'sqlite_master'"),
        (HEAD + b'{"table":"host","row":{"x":1}}\n', "x:2: host has no column 'x'"),
        (HEAD + b'{"table":"host","row":{"id":"1"}}\n', "x:2: not a value of host.id"),
        (HEAD + b'{"table":"host","row":{"id":1}}\n', "x:2: not a value of host.name"),
        (HEAD + b'{"table":"host","row":{"id":99999999999999999999}}\n', "x:2: not"),
        (HEAD + b" " * (1024 * 1024 + 1), "x:2: longer than any line"),
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
