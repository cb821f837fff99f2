"""The page over a history, as bytes, where few readings are kept."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from vnicaudit.cli.fleet import serve
from vnicaudit.fleet.running.spool import SpoolFolder
from vnicaudit.history import fleet_state
from vnicaudit.history.fleet_state import FleetState
from vnicaudit.history.opening import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.model.history import FindingRecord, FleetHost

HOSTS = tuple(host(f"kvm{number:03}") for number in range(70))
AUDIT = "20260102-000000-0000"
FoundOn = tuple[FleetHost, list[FindingRecord]]


def _stored(folder: Path, *, kept: int) -> SpoolFolder:
    """The folder of a state with one audit of all hosts. ``kept``: one host in so many has
    its reading there."""
    readings = []
    for number, one in enumerate(HOSTS):
        nic = TestNic(f"52:54:00:00:00:{number:02x}", "e1000", frozenset({"TEST01"}))
        readings.append(reading(one, [TestDomain(number, (nic,))], 1))
    made = audit(AUDIT, 1, HOSTS)
    with history_to_write(history_place(None, folder)) as history:
        history.store(made, readings)
    spool = SpoolFolder(folder).new(AUDIT)
    for place in range(0, len(HOSTS), kept):
        spool.add(place, readings[place])
    spool.write_audit(made)
    return SpoolFolder(folder)


@pytest.mark.parametrize(("kept", "queries"), [(1000, 2), (7, 3), (1, 0)])
def test_the_history_is_asked_once_about_many_hosts_without_a_reading(
    kept: int, queries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _stored(tmp_path, kept=kept)
    sizes: list[int] = []

    def counted(hosts: Sequence[FleetHost]) -> Iterator[FoundOn]:
        if hosts:
            sizes.append(len(hosts))
        return FleetState.open_on(state, hosts)

    with history_to_write(history_place(None, tmp_path)) as history, history.fleet_state() as state:
        monkeypatch.setattr(state, "open_on", counted)
        serve.history_page(state, (), folder)
        assert len(sizes) == queries
        assert sum(sizes) == len(HOSTS) - len(range(0, len(HOSTS), kept))


@pytest.mark.parametrize(("most", "size"), [(1, 1), (5, 2), (1000, 64)])
def test_hosts_with_many_nics_are_asked_about_by_themselves(
    most: int, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them has a NIC and a finding."""
    folder = _stored(tmp_path, kept=1000)
    with history_to_write(history_place(None, tmp_path)) as history, history.fleet_state() as state:
        page = serve.history_page(state, (), folder)
        monkeypatch.setattr(fleet_state, "_ROWS_AT_ONCE", most)
        hosts = state.hosts()
        groups = list(state.groups(hosts))
        assert [one for group in groups for one in group] == hosts
        assert {len(group) for group in groups[:-1]} == {size}
        assert serve.history_page(state, (), folder) == page


def test_the_nics_of_many_hosts_are_one_query(tmp_path: Path) -> None:
    folder = _stored(tmp_path, kept=1000)
    statements: list[str] = []
    with (
        history_to_write(history_place(None, tmp_path)) as history,
        history.database.reading() as connection,
    ):
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_trace_callback(statements.append)
        page = serve.history_page(FleetState(connection), (), folder)
        driver.set_trace_callback(None)
    assert page.count(b"<html") == 1
    columns = [one for one in statements if "nic.rx_queue_size" in one]
    assert len(columns) == 2  # of 64 hosts, and of the other six
