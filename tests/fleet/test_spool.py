"""What is kept of an audit on disk."""

import stat
from pathlib import Path

import pytest

from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.fleet.fleet_run import fleet_lock
from vnicaudit.fleet.spool import AuditSpool, SpoolFolder
from vnicaudit.model.fleet import Coverage, FleetAudit, HostReading, InventoryHost
from vnicaudit.model.report import Audited, TargetResult

HOST = InventoryHost("kvm7", "test:///default", "ber1", ("zone_a",))
READING = HostReading(
    host=HOST,
    status="partial",
    started="2026-11-26T11:00:00.000Z",
    finished="2026-11-26T11:00:01.000Z",
    failure="broken",
    result=TargetResult("test:///default", "partial", domains=2, nics=3),
    audited=(Audited("test:///default", "web-1", nics=3),),
    digest="12ab",
    nics_seen=(("52:54:00:00:00:01", b"\x00x"),),
)
AUDIT = FleetAudit(
    id="20261126-110000-0001", started="2026-11-26T11:00:00Z", version="1",
    coverage=Coverage(("VNIC001",)), hosts=(HOST,), chosen_hosts=("kvm7",),
)  # fmt: skip


@pytest.fixture
def spool(tmp_path: Path) -> AuditSpool:
    """A new one."""
    found = SpoolFolder(tmp_path).new(AUDIT.id)
    found.write_audit(AUDIT)
    return found


def test_a_reading_comes_back_as_it_was(spool: AuditSpool) -> None:
    spool.add(0, READING)
    kept = spool.host(0)
    assert kept is not None
    assert (kept.host, kept.summary.status, kept.summary.digest) == ("kvm7", "partial", "12ab")
    assert (kept.summary.domains, kept.summary.nics, kept.summary.failure) == (2, 3, "broken")
    assert kept.reading() == READING
    assert spool.audit() == AUDIT
    assert spool.host(1) is None


def test_what_is_being_written_is_not_kept_yet(spool: AuditSpool) -> None:
    assert spool.host_count() == 0
    for place in (0, 7):
        spool.add(place, READING)
    (spool.folder / "hosts" / "000008.part").write_bytes(b"{")
    assert spool.host_count() == 2


def test_nobody_else_may_read_it(spool: AuditSpool) -> None:
    spool.add(0, READING)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in spool.folder.rglob("*")}
    assert modes == {0o700, 0o600}


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_file_is_as_if_it_were_not_there(spool: AuditSpool, keep: int) -> None:
    spool.add(0, READING)
    path = spool.folder / "hosts" / "000000"
    path.write_bytes(path.read_bytes()[:keep])
    assert spool.host(0) is None
    spool.drop_host(0)
    spool.drop_host(1)
    assert spool.host_count() == 0


def test_a_changed_byte_is_found(spool: AuditSpool) -> None:
    spool.add(0, READING)
    path = spool.folder / "hosts" / "000000"
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    assert spool.host(0) is None


def test_only_the_newest_audit_is_resumed_and_old_ones_go(tmp_path: Path) -> None:
    folder = SpoolFolder(tmp_path)
    assert folder.unfinished() is None
    for number in range(8):
        spool = folder.new(f"20261126-11000{number}-0000")
        spool.write_audit(AUDIT)
        spool.add(0, READING)
    newest = folder.unfinished()
    assert newest is not None
    assert newest.folder.name == "20261126-110007-0000"
    folder.drop_old()
    kept = sorted(path.name for path in newest.folder.parent.iterdir())
    assert kept == [f"20261126-11000{number}-0000" for number in range(5, 8)]


def test_an_audit_that_was_ended_as_it_began_is_passed_over(tmp_path: Path) -> None:
    folder = SpoolFolder(tmp_path)
    folder.new("20261126-110000-0000").write_audit(AUDIT)
    folder.new("20261126-110001-0000")
    found = folder.unfinished()
    assert found is not None
    assert found.audit() == AUDIT


def test_a_fleet_has_one_audit_at_a_time(tmp_path: Path) -> None:
    with (
        fleet_lock(tmp_path / "state"),
        pytest.raises(RefusedError, match=r"is running \(process \d+ on .+, since 20"),
        fleet_lock(tmp_path / "state"),
    ):
        pass
    with fleet_lock(tmp_path / "state"):
        pass


def test_a_state_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match="is writable by everyone"), fleet_lock(tmp_path):
        pass
