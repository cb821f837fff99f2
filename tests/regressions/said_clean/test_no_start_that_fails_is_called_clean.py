"""Of 67 command lines that QEMU refused for a NIC's sake none was told, and what ``-nic`` asks of a
machine that creates none was listed and rated as if it were there."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside


def _findings(tmp_path: Path, text: str, *options: str) -> list[dict[str, Any]]:
    (tmp_path / "start").write_text(text + "\n")
    result = inside("audit", "start", "--format", "json", *options, cwd=tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    report: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "qemu-system-x86_64 -nodefaults -device sungem",
            "QEMU does not start: sungem does not exist on x86_64",
        ),
        (
            "qemu-system-x86_64 -nodefaults -device virtio-net-pci,rx-queue-size=1024",
            "QEMU does not start: virtio-net-pci has no property rx-queue-size; it is spelt "
            "rx_queue_size",
        ),
        (
            "qemu-system-x86_64 -M q35 -nodefaults -device virtio-net-device",
            "QEMU does not start: virtio-net-device needs virtio-bus, which machine q35 does not "
            "have",
        ),
        (
            "qemu-system-x86_64 -nodefaults -device usb-net",
            "QEMU does not start: usb-net needs a USB controller before it, which the machine does "
            "not have",
        ),
        (
            "qemu-system-x86_64 -M microvm -nodefaults -device rtl8139",
            "QEMU does not start: rtl8139 needs a PCI bus, which machine microvm does not have",
        ),
        (
            "qemu-system-x86_64 -nodefaults -device virtio-net-pci,iommu_platform=on",
            "QEMU does not start: iommu_platform=on is for modern devices, and this one is "
            "transitional (disable-legacy=on would help)",
        ),
        (
            "qemu-system-x86_64 -nodefaults -device ne2k_isa,bus=pci.0",
            "QEMU does not start: ne2k_isa cannot go on a PCI bus",
        ),
        (
            "qemu-system-s390x -nodefaults -device rtl8139",
            "QEMU does not start: rtl8139 does not exist on s390x",
        ),
        (
            "qemu-system-x86_64 -net nic,model=virtio-net -net user",
            "QEMU does not start, from 9.0 on it starts without this NIC: virtio-net is not a "
            "model for -net; virtio is",
        ),
        (
            "qemu-system-x86_64 -M microvm -nic user,model=rtl8139",
            "QEMU starts without this NIC: machine microvm creates no NIC for -nic",
        ),
        (
            "qemu-system-x86_64 -M none -net nic,model=e1000 -net user",
            "QEMU starts without this NIC: machine none creates no NIC for -net",
        ),
    ],
)
def test_it_is_the_one_finding(tmp_path: Path, text: str, message: str) -> None:
    """Nothing is said of the speed of a NIC that will not be there."""
    found = _findings(tmp_path, text)
    assert [(one["rule"], one["severity"], one["message"]) for one in found] == [
        ("VNIC014", "error", message)
    ]
    assert found[0]["location"]["line"] == 1


def test_what_depends_on_the_version_is_told_for_the_one_assumed(tmp_path: Path) -> None:
    text = "qemu-system-x86_64 -nodefaults -nic user,model=usb-net"
    told = {
        version: _findings(tmp_path, text, "--assume-qemu", version)[0]["message"]
        for version in ("7.2", "10.0")
    }
    reason = "usb-net is not a model for -nic on the machine"
    assert told == {
        "7.2": f"QEMU does not start: {reason}",
        "10.0": f"QEMU starts without this NIC: {reason}",
    }


@pytest.mark.parametrize(
    "text",
    [
        "qemu-system-x86_64 -nodefaults -device ne2k_isa",
        "qemu-system-x86_64 -M q35 -nic user,model=ne2k_isa",
        "qemu-system-x86_64 -M microvm,pcie=on -nodefaults -device e1000",
        "qemu-system-x86_64 -usb -nodefaults -device usb-net",
        "PID CMD\n7 qemu-system-x86_64 -nodefaults -device rtl8139,mq=on -m 64",
    ],
)
def test_what_starts_is_not_said_to_fail(tmp_path: Path, text: str) -> None:
    assert "VNIC014" not in {one["rule"] for one in _findings(tmp_path, text)}
