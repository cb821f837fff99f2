"""A small sosreport of a compute node, as a tree and as archives that were packed from it."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

NAME = "instance-00000001"
UUID = "5a4b2ba3-1f2d-4c1b-8f7e-6c5a0d6a3a01"
OTHER = "9d0f3d55-8e24-4f5a-b7a3-0d9c7f1e2b02"
_NIC = """<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br-int'/>
<target dev='tap0'/><model type='virtio'/>{alias}</interface>"""
_DOMAIN = """<domain type='kvm'{id}><name>{name}</name><uuid>{uuid}</uuid><memory>1024</memory>
<vcpu>1</vcpu><os><type arch='x86_64' machine='pc-i440fx-4.2'>hvm</type></os>
<devices>{nic}</devices></domain>"""
_ARGUMENTS = (
    "/usr/bin/qemu-system-x86_64 -name guest={name},debug-threads=on -S -nodefaults"
    " -machine pc-i440fx-4.2,accel=kvm -smp 1 -uuid {uuid}"
    " -netdev tap,fd=31,id=hostnet0,vhost=on,vhostfd=32"
    " -device virtio-net-pci,netdev=hostnet0,id=net0,mac=52:54:00:00:00:0{nic},bus=pci.0,addr=0x3"
)
_STARTED = (
    "2026-01-02 03:04:05.678+0000: starting up libvirt version: 6.0.0, qemu version: 4.2.1, "
    "hostname: compute4\nLC_ALL=C \\\n"
)
_ENDED = "2026-01-02 03:09:05.678+0000: shutting down, reason=destroyed\n"


def _domain(uuid: str, *, runs: bool) -> str:
    alias = "<alias name='net0'/>" if runs else ""
    return _DOMAIN.format(
        id=" id='2'" if runs else "", name=NAME, uuid=uuid, nic=_NIC.format(alias=alias)
    )


def _log(name: str, uuid: str, nic: int) -> str:
    words = _ARGUMENTS.format(name=name, uuid=uuid, nic=nic).split(" -")
    return _STARTED + " \\\n-".join(words) + "\n"


_RUNS = _ARGUMENTS.format(name=NAME, uuid=UUID, nic=1)
FILES = {
    "version.txt": "sosreport: 4.2",
    "sos_commands/host/hostname": "compute4\n",
    "sos_commands/kernel/lsmod": "Module Size Used by\nvhost_net 32768 1\n",
    "sos_commands/process/ps_auxwwwm": (
        "USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\n"
        "root 1 0.0 0.0 1 1 ? - 16:18 0:02 /sbin/init\n"
        f"libvirt+ 77 2.5 3.6 1 1 ? - 16:18 0:02 {_RUNS}\n"
    ),
    "sos_commands/process/ps_alxwww": (
        "F UID PID PPID PRI NI VSZ RSS WCHAN STAT TTY TIME COMMAND\n"
        f"6 1 77 1 20 0 1 1 poll_s Sl ? 0:02 {_RUNS}\n"
    ),
    f"etc/libvirt/qemu/{NAME}.xml": _domain(UUID, runs=False),
    f"run/libvirt/qemu/{NAME}.xml": (
        f"<domstatus state='running'>{_domain(UUID, runs=True)}</domstatus>"
    ),
    f"var/log/libvirt/qemu/{NAME}.log": _log(NAME, UUID, 1),
    "var/log/libvirt/qemu/gone.log": _log("gone", OTHER, 2) + _ENDED,
    "etc/nova/nova.conf": (
        "[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n[libvirt]\nvirt_type = kvm\n"
    ),
    "sos_commands/networking/ethtool_-k_ens3": (
        "Features for ens3:\nrx-checksumming: on\ntcp-segmentation-offload: off\n"
    ),
    "sos_commands/networking/ethtool_-k_lo": "Features for lo:\nrx-checksumming: on [fixed]\n",
    "sos_commands/networking/ethtool_-k_gone": "timeout: failed to run command 'ethtool': none\n",
}
LINKS = {
    "ps": "sos_commands/process/ps_auxwwwm",
    "hostname": "/sos_commands/host/hostname",
    "installed-debs": "sos_commands/dpkg/dpkg_-l",
    "etc/systemd/system/dbus.service": "/lib/systemd/system/dbus.service",
    "etc/self": "self",
    "lsmod": "/../../sos_commands/kernel/lsmod",
}


def report(folder: Path, more: dict[str, str] | None = None, links: dict[str, str] = LINKS) -> Path:
    """Lay a report out in a new folder."""
    for name, text in {**FILES, **(more or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, target in links.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)
    return folder


def packed(folder: Path, place: Path, top: str = "sosreport-compute4-2026") -> Path:
    """Pack a report as sos does: all of it in one folder."""
    kind = place.suffix.removeprefix(".").replace("tgz", "gz")
    with tarfile.open(place, f"w:{kind if kind in ('gz', 'xz') else ''}") as archive:  # type: ignore[call-overload]
        archive.add(folder, top)
    return place


def member(
    name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, io.BytesIO]:
    """One member of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    return info, io.BytesIO(data)


def _link(number: int, name: str, master: str, more: str) -> str:
    return (
        f"{number}: {name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq{master} state UP "
        "mode DEFAULT group default qlen 1000\n"
        f"    link/ether 52:54:00:00:01:0{number} brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 "
        f"maxmtu 65535 \n    {more} numtxqueues 1 numrxqueues 1 gso_max_size 65536 \n"
        "    RX: bytes  packets  errors  dropped missed  mcast   \n"
        "    1000       10       0       0       0       0       \n"
        "    TX: bytes  packets  errors  dropped carrier collsns \n"
        "    1000       10       0       0       0       0       \n"
    )


BRIDGED = {
    "sos_commands/networking/ip_-s_-d_link": (
        _link(2, "ens3", " master br-int", "bridge_slave state forwarding")
        + _link(3, "br-int", "", "bridge forward_delay 1500")
        + _link(4, "tap0", " master br-int", "tun type tap pi off vnet_hdr on persist off")
    ),
    "sos_commands/networking/ethtool_-i_ens3": "driver: virtio_net\nbus-info: 0000:00:03.0\n",
}
"""Its links: a guest's tap and an adapter, on a bridge."""
