"""The commands that read targets agree on the settings."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside as vnicaudit

DOMAIN = """<domain type='kvm'><name>a</name><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os>
<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/>
<target dev='tap3b1e2f1a-7c'/>
<model type='virtio'/><driver tx_queue_size='1024'/></interface></devices></domain>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.xml").write_text(DOMAIN)
    (tmp_path / "vnicaudit.toml").write_text('assume-qemu = "10.0"\n')
    return tmp_path


def test_versions_assumed_in_the_settings_hold_for_all(folder: Path) -> None:
    report = json.loads(vnicaudit("audit", "a.xml", "--format", "json", cwd=folder).stdout)
    assert [f["severity"] for f in report["findings"] if f["rule"] == "VNIC034"] == ["error"]
    (nic,) = json.loads(vnicaudit("nics", "a.xml", "--format", "json", cwd=folder).stdout)["nics"]
    assert (nic["starts"], nic["tx_queue_size"]["reason"]) == (
        False, "QEMU 10.0.0 refuses to start",
    )  # fmt: skip
    explained = vnicaudit("explain", "a.xml", "--nic", "0", cwd=folder).stdout
    assert "QEMU 10.0.0 refuses to start" in " ".join(explained.split())


def test_another_file_of_settings_can_be_named(folder: Path) -> None:
    (folder / "other.toml").write_text('assume-qemu = "7.2"\n')
    given = ("a.xml", "--format", "json", "--config", "other.toml")
    (nic,) = json.loads(vnicaudit("nics", *given, cwd=folder).stdout)["nics"]
    assert nic["tx_queue_size"]["effective"] == 256


@pytest.mark.parametrize("wanted", ["52-54-00-00-00-01", "tap3b1e2f1a-7c", "0"])
def test_a_nic_is_named_by_mac_tap_or_index(folder: Path, wanted: str) -> None:
    result = vnicaudit("explain", "a.xml", "--nic", wanted, cwd=folder)
    assert result.returncode == 0
    assert result.stdout.startswith("a  NIC 0  52:54:00:00:00:01")


def test_a_nic_that_is_not_there_is_said_so(folder: Path) -> None:
    result = vnicaudit("explain", "a.xml", "--nic", "7", cwd=folder)
    assert result.returncode == 4
    assert result.stderr == (
        "Error: there is no NIC '7' in these targets; they have 52:54:00:00:00:01\n"
    )
