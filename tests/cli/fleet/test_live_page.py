"""The page over a history, as bytes, where few readings are kept."""

import sqlite3
from pathlib import Path

import pytest

from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from vnicaudit.cli.fleet import serve
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.history import history_to_write
from vnicaudit.history.fleet_state import FleetState
from vnicaudit.history.place import history_place

HOSTS = tuple(host(f"kvm{number:03}") for number in range(70))
AUDIT = "20260102-000000-0000"


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


@pytest.mark.parametrize(("kept", "queries"), [(1000, 69), (7, 60), (1, 0)])
def test_only_hosts_without_a_reading_have_their_nics_read_from_the_history(
    kept: int, queries: int, tmp_path: Path
) -> None:
    folder = _stored(tmp_path, kept=kept)
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
    assert len([one for one in statements if "nic.rx_queue_size" in one]) == queries
    findings = [
        one for one in statements if "finding.nic_index" in one and "finding.host IN" in one
    ]
    assert len(findings) == 2  # of 64 hosts, and of the other six
