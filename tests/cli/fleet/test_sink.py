"""What remembers audits of a fleet is handed each one whole, and again after a failure."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from vnicaudit.cli.main import run
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import VnicauditError
from vnicaudit.model.fleet import FleetAudit, HostReading, KeptReading


class Memory:
    """Takes audits; fails as often as it is told to."""

    def __init__(self, fails: int = 0) -> None:
        self.fails = fails
        self.taken: list[tuple[FleetAudit, list[HostReading]]] = []
        self.digests: list[str] = []

    def __call__(self, audit: FleetAudit, readings: Iterable[KeptReading]) -> None:
        kept = list(readings)
        if self.fails:
            self.fails -= 1
            raise VnicauditError("the database is gone")
        self.digests = [each.digest for each in kept]
        self.taken.append((audit, [each.reading() for each in kept]))


def audited(folder: Path, memory: Memory, *words: str) -> int:
    """The exit code of an audit of three hosts, one of which is not there."""
    path = folder / "uris"
    path.write_text("test:///default?1\ntest:///none.xml\ntest:///default?2\n")
    given = ["-i", str(path), "--state", str(folder / "state"), "-q", "-o", str(folder / "out")]
    return run(["audit", *given, *words], Wiring(sink=lambda *_place: memory))


def test_an_audit_is_handed_over_in_the_order_of_the_inventory(tmp_path: Path) -> None:
    memory = Memory()
    assert audited(tmp_path, memory) == 4
    ((audit, readings),) = memory.taken
    assert [reading.host.name for reading in readings] == list(audit.chosen_hosts)
    assert [reading.status for reading in readings] == ["ok", "failed", "ok"]
    assert readings[1].failure == "refused"
    assert audit.finished is not None
    assert (audit.coverage.is_whole, audit.coverage.hosts) == (True, 3)
    first = readings[0]
    assert [len(one.rows) for one in first.audited if one.scope == "domain"] == [1]
    assert first.audited[0].rows[0].model.effective == "rtl8139"
    assert memory.digests == [reading.digest for reading in readings]


def test_digests_are_equal_where_nothing_changed(tmp_path: Path) -> None:
    memory = Memory()
    audited(tmp_path, memory)
    before = memory.digests
    audited(tmp_path, memory)
    assert memory.digests == before
    audited(tmp_path, memory, "--ignore", "VNIC006")
    assert memory.digests[0] != before[0]


def test_an_audit_that_could_not_be_handed_over_is_by_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Memory(fails=1)
    assert audited(tmp_path, memory) == 3
    assert "the database is gone" in capsys.readouterr().err
    assert audited(tmp_path, memory, "--resume") == 4
    ((_audit, readings),) = memory.taken
    assert len(readings) == 3
    assert audited(tmp_path, memory, "--resume") == 2
    assert len(memory.taken) == 1
