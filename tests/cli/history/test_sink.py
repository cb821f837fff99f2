"""The way of an audit into the history."""

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from vnicaudit.cli.wiring.adapters import history_sink
from vnicaudit.errors import HistoryError, MissingExtraError
from vnicaudit.history import history_to_read
from vnicaudit.history.place import history_place
from vnicaudit.model.fleet import HostReading, kept_reading

HOST = host("kvm1")
GUEST = TestDomain(1, (TestNic("52:54:00:00:00:01", "e1000", frozenset({"TEST01"})),))


def _unpacked() -> HostReading:
    raise AssertionError("unpacked")


def test_an_audit_is_taken_once_and_what_is_known_is_not_unpacked(tmp_path: Path) -> None:
    place = history_place(None, tmp_path / "state")
    sink = history_sink(place, is_named=False)
    assert sink is not None
    one = reading(HOST, [GUEST], 1)
    for _ in range(2):
        sink(audit("a1", 1, [HOST]), [kept_reading(one)])
    sink(audit("a2", 2, [HOST]), [replace(kept_reading(one), reading=_unpacked)])
    with history_to_read(place) as history:
        audits = history.status().audits
    assert [(each.id, each.open, each.unchanged) for each in audits] == [("a2", 1, 1), ("a1", 1, 0)]


def test_late_hosts_and_lost_ones_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = history_sink(history_place(None, tmp_path / "state"), is_named=False)
    assert sink is not None
    many = [host(f"kvm{n}") for n in range(1, 11)]
    sink(audit("a1", 9, many), [kept_reading(reading(HOST, [GUEST], 9))])
    sink(audit("a2", 2, many[:9]), [kept_reading(reading(HOST, [], 2))])
    told = capsys.readouterr().err
    assert told.startswith("Warning: 1 of 1 host read late: audit a1, started 2026-01-10T00:00:00")
    assert "this inventory" not in told  # a tenth
    sink(audit("a3", 10, many[:1]), [kept_reading(reading(HOST, [GUEST], 10))])
    told = capsys.readouterr().err
    assert told.startswith(
        "Warning: this inventory does not have 8 of the 9 hosts of the audit before: "
    )


def test_a_place_that_cannot_be_written_is_told_before_hosts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"no database, and longer than the header of one" * 99)
    with pytest.raises(HistoryError):
        history_sink(history_place(str(path), ""), is_named=True)


def test_without_the_libraries_an_audit_is_not_remembered_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    place = history_place(None, tmp_path / "state")
    assert history_sink(place, is_named=False) is None
    assert "not stored in the history" in capsys.readouterr().err
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[history\]'"):
        history_sink(place, is_named=True)
