"""OpenNebula and Proxmox VE write definitions and command lines at each start: an edit of libvirt's
definition, or of QEMU's arguments, is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside

DOMAIN = """<domain type='kvm'><name>{name}</name><memory unit='MiB'>256</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os>{metadata}<devices>
<disk type='file'><source file='{disk}'/><target dev='vda' bus='virtio'/></disk>
<interface type='bridge'><source bridge='b'/><model type='rtl8139'/></interface></devices></domain>
"""
ONE = "<metadata><one:vm xmlns:one='http://opennebula.org/xmlns/libvirt/1.0'/></metadata>"
DISK = "/var/lib/one/datastores/0/220/disk.0"
PROXMOX = (
    "/usr/bin/kvm -id 101 -name web -chardev socket,id=qmp,path=/var/run/qemu-server/101.qmp,"
    "server=on,wait=off -nodefaults -netdev type=tap,id=net0,ifname=tap101i0,"
    "script=/var/lib/qemu-server/pve-bridge -device rtl8139,netdev=net0 -machine type=pc{}\n"
)
NEBULA = (
    "/usr/bin/qemu-system-x86_64 -name guest=one-7,debug-threads=on -nodefaults -blockdev "
    f"driver=file,filename={DISK},node-name=d -netdev tap,fd=3,id=hostnet0 "
    "-device rtl8139,netdev=hostnet0\n"
)
TEXTS = {
    "one.xml": (DOMAIN.format(name="one-220", disk=DISK, metadata=""), "opennebula"),
    "metadata.xml": (DOMAIN.format(name="a", disk="/a", metadata=ONE), "opennebula"),
    "name.xml": (DOMAIN.format(name="one-220", disk="/srv/a", metadata=""), "libvirt"),
    "disk.xml": (DOMAIN.format(name="web", disk=DISK, metadata=""), "libvirt"),
    "one.log": (NEBULA, "opennebula"),
    "pve.sh": (PROXMOX.format("+pve0"), "proxmox"),
    "pve-without-machine.sh": (PROXMOX.format(""), "proxmox"),
}
WORDS = {
    "opennebula": 'give it MODEL = "virtio" in the NIC section of its template',
    "proxmox": "give it model=virtio in qm set VMID --netN",
    "libvirt": "(virsh edit)",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_owner(tmp_path: Path, name: str) -> None:
    text, owner = TEXTS[name]
    path = tmp_path / name
    path.write_text(text)
    (finding,) = json.loads(inside("audit", "--format", "json", path).stdout)["findings"]
    assert finding["owner"] == owner
    assert WORDS[owner] in finding["fix"]


def test_nothing_is_planned_behind_its_back(tmp_path: Path) -> None:
    path = tmp_path / "one.xml"
    path.write_text(TEXTS["one.xml"][0])
    result = inside("plan", "--include-unsafe", path)
    assert "1 step on 1 domain: 1 for the owner to do" in result.stdout
    assert "belongs to OpenNebula" in inside("audit", "--fix", "--include-unsafe", path).stderr
    assert path.read_text() == TEXTS["one.xml"][0]
