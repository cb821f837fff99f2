"""A history goes from one database to another, and back, unchanged."""

from __future__ import annotations

import io
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow
import pyarrow.parquet
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


def test_parquet_is_the_same(history: History, tmp_path: Path) -> None:
    fill(history)
    folder, data = tmp_path / "out", b"".join(history.export())
    assert history.export_parquet(folder) == data.count(b"\n") - 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert [path.name for path in tmp_path.iterdir() if path.name[0] == "."] == []
    with history_to_write(history_place(str(tmp_path / "there" / "h.db"), "")) as other:
        assert other.fill_from_parquet(folder) == data.count(b"\n") - 1
        assert b"".join(other.export()) == data
        with pytest.raises(UsageError, match="it is not empty"):
            other.fill_from_parquet(folder)
    with pytest.raises(UsageError, match="already exists"):
        history.export_parquet(folder)


def test_others_read_the_parquet_files(history: History, tmp_path: Path) -> None:
    fill(history)
    history.export_parquet(tmp_path / "out")
    table = pyarrow.parquet.read_table(tmp_path / "out" / "finding.parquet")
    with history.database.reading() as connection:
        found = connection.exec_driver_sql("SELECT id, fingerprint, subject FROM finding").all()
    rows = table.select(["id", "fingerprint", "subject"]).to_pylist()
    assert {tuple(row.values()) for row in rows} == {(a, bytes(b), c) for a, b, c in found}


def _rewritten(path: Path, **columns: list[object]) -> None:
    """A table with other values in some columns."""
    table = pyarrow.parquet.read_table(path)
    for name, values in columns.items():
        place = table.column_names.index(name)
        array = pyarrow.array(values * table.num_rows)
        table = table.set_column(place, name, array)
    pyarrow.parquet.write_table(table, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "host.parquet: No such file"),
        (lambda path: path.write_bytes(b"PAR1 no"), "host.parquet: not a readable Parquet file"),
        (
            lambda path: path.write_bytes(path.read_bytes()[:-20] + b"PAR1"),
            "not a readable Parquet file",
        ),
        (lambda path: _rewritten(path, name=[7]), "host.parquet:1: not a value of host.name"),
        (lambda path: _rewritten(path, id=["x"]), "host.parquet:1: not a value of host.id"),
        (lambda path: _rewritten(path, name=[None]), "host.parquet:1: not a value of host.name"),
        (
            lambda path: pyarrow.parquet.write_table(pyarrow.table({"id": [1]}), path),
            "host.parquet: not a table of an export of vnicaudit",
        ),
    ],
)
def test_what_is_no_parquet_export_is_refused_whole(
    history: History, tmp_path: Path, change: Callable[[Path], object], message: str
) -> None:
    with history_to_write(history_place(str(tmp_path / "from" / "h.db"), "")) as other:
        fill(other)
        other.export_parquet(tmp_path / "out")
    change(tmp_path / "out" / "host.parquet")
    with pytest.raises(UsageError) as caught:
        history.fill_from_parquet(tmp_path / "out")
    assert message in str(caught.value)
    assert b"".join(history.export()).count(b"\n") == 1


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
