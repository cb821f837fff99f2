"""A log of libvirt without its ``-device pcie-root-port`` lines, as people publish it, was said to
fail for want of a bus. That hid what QEMU itself says in the log, and the NIC counted as passed
through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

LOG = """2024-06-03 11:02:14.211+0000: starting up libvirt version: 10.0.0, qemu version: 8.2.0
LC_ALL=C \\
/usr/libexec/qemu-kvm \\
-name guest=g \\
-machine pc-q35-rhel9.4.0 \\
-accel kvm \\
-smp 2 \\
-nodefaults \\
-netdev tap,fd=3,id=h,vhost=on,vhostfd=4 \\
-device virtio-net-pci,netdev=h,id=net0,{ring}mac=52:54:00:00:00:0a,bus=pci.1,addr=0x3 \\
-msg timestamp=on
{end}"""
REFUSED = LOG.format(
    ring="tx_queue_size=1024,",
    end="2024-06-03T11:02:14.4Z qemu-kvm: -device virtio-net-pci: Invalid tx_queue_size (= 1024)\n"
    "2024-06-03 11:02:14.551+0000: shutting down, reason=failed\n",
)
RAN = LOG.format(ring="", end="2024-06-03 11:12:14.551+0000: shutting down, reason=shutdown\n")
PASTED = (
    "/usr/libexec/qemu-kvm -name guest=g -object secret,id=masterKey0 -nodefaults -accel kvm "
    "-netdev tap,fd=3,id=h,vhost=on,vhostfd=4 "
    "-device virtio-net-pci,netdev=h,id=net0,bus=pci.1,addr=0x3 -msg timestamp=on\n"
)


def _findings(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "g.log").write_text(text)
    result = inside("audit", "g.log", "--format", "json", cwd=folder)
    return [(one["rule"], one["severity"]) for one in json.loads(result.stdout)["findings"]]


def test_what_qemu_says_itself_is_found(tmp_path: Path) -> None:
    assert _findings(tmp_path, REFUSED) == [("VNIC034", "error")]
    shown = inside("nics", "g.log", cwd=tmp_path).stdout
    assert "does not start" in shown
    assert "passed through" not in shown


@pytest.mark.parametrize("text", [RAN, PASTED])
def test_a_guest_that_ran_is_not_said_to_fail(tmp_path: Path, text: str) -> None:
    assert _findings(tmp_path, text) == []


def test_nothing_that_ran_was_refused(tmp_path: Path) -> None:
    """Of whatever a patched QEMU takes, the log is the proof."""
    assert (
        _findings(tmp_path, RAN.replace("id=net0,", "id=net0,nosuch_mq=on,rx-queue-size=512,"))
        == []
    )


def test_a_nic_that_a_script_puts_on_no_bus_is_still_refused(tmp_path: Path) -> None:
    script = "qemu-system-x86_64 -nodefaults -netdev tap,id=n -device e1000,netdev=n,bus=pci.1\n"
    assert _findings(tmp_path, script) == [("VNIC014", "error")]
    assert "1 not created" in inside("nics", "g.log", cwd=tmp_path).stdout
