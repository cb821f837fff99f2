"""A NIC -> the same NIC on vhost-vDPA or vhost-user: the changes, what is lost by them, and what
has to be there first.

What is lost: libvirt's qemuDomainValidateActualNetDef, qemuDomainNetSupportsMTU and
netdev_bandwidth_conf.c refuse or ignore these functions where the data path leaves the host's
network stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.host import HostConfig, VdpaDevice, needed_memlock_kib
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Goal, Loss
from vnicaudit.model.version import Version

_LOST = {
    "filterref": ("filterref", "the network filter {text} is not applied any more"),
    "port": ("isolation", "the port is not isolated from others any more"),
    "bandwidth": ("bandwidth", "bandwidth is not limited any more"),
    "coalesce": ("coalesce", "interrupts are not coalesced as set any more"),
    "vlan": ("vlan", "the VLAN tag is not applied by libvirt any more"),
    "virtualport": ("virtualport", "the port profile, with its interface id, is not used any more"),
    "tune": ("tune", "the send buffer is not limited any more"),
}
"""Child of ``<interface>`` -> name of the function, and what is lost with it."""
_LOST_ON_VDPA = {"mtu": ("mtu", "the MTU is not set by libvirt any more: set it on the device")}
_OF_THE_TAP = ("backend", "target", "script", "downscript")
"""Children that are about a tap, which is gone."""
_TAP_TYPES = ("network", "bridge", "ethernet", "direct")

_WHY = "it is what was asked for (--to)"


class Conversion(NamedTuple):
    """``blocked``: what has to be put right first; ``notes``: what else to know."""

    changes: tuple[Change, ...]
    losses: tuple[Loss, ...]
    blocked: tuple[str, ...]
    notes: tuple[str, ...]


def to_backend(
    to: Goal, nic: Nic, domain: Domain, host: HostConfig, children: Mapping[str, str],
    device: str, devices: tuple[VdpaDevice, ...] | None, socket_mode: str,
    accepted: frozenset[str], memory_kib: int | None,
) -> Conversion:  # fmt: skip
    """How to have the NIC on ``device``: a vhost-vDPA device, or the path of a socket.
    ``devices``: the vDPA devices of the host; None where it cannot be looked at."""
    lost = _LOST | (_LOST_ON_VDPA if to == "vdpa" else {})
    losses = tuple(
        Loss(name, text.format(text=children[child]), name in accepted)
        for child, (name, text) in lost.items()
        if child in children
    )
    blocked = list(_wrong_type(nic))
    if to == "vdpa":
        blocked += _vdpa_needs(domain, host, device, devices)
        notes = tuple(_vdpa_notes(nic, memory_kib))
    else:
        blocked += _vhostuser_needs(domain)
        notes = tuple(_vhostuser_notes(socket_mode))
    changes = tuple(_changes(to, nic, children, device, socket_mode, tuple(lost)))
    return Conversion(changes, losses, tuple(blocked), notes)


def _changes(
    to: Goal, nic: Nic, children: Mapping[str, str], device: str, socket_mode: str,
    lost: tuple[str, ...],
) -> Iterator[Change]:  # fmt: skip
    if nic.declared.model not in VIRTIO:
        yield _change("model", nic.declared.model, "virtio")
    for child in (*lost, *_OF_THE_TAP):
        if child in children:
            yield _change(child, children[child], None)
    yield _change("type", nic.declared.type, to)
    if "source" in children:
        yield _change("source", children["source"], None)
    if to == "vdpa":
        yield _change("device", None, device)
    else:
        yield _change("source_type", None, "unix")
        yield _change("source_path", None, device)
        yield _change("source_mode", None, socket_mode)


def _change(field: str, old: str | None, new: str | None) -> Change:
    return Change(field, old, new, safe=True, reason=_WHY)


def _wrong_type(nic: Nic) -> Iterator[str]:
    if nic.declared.type not in _TAP_TYPES or nic.declared.actual_type == "hostdev":
        yield f"its type is {nic.declared.type}: only a NIC on a tap is converted"
    if nic.declared.teaming is not None:
        yield "it is one of a teamed pair: change the pair by hand"


def _vdpa_needs(
    domain: Domain, host: HostConfig, device: str, devices: tuple[VdpaDevice, ...] | None
) -> Iterator[str]:
    if not device:
        yield "no device is given for it (--nic MAC --vdpa-device /dev/vhost-vdpa-N)"
        return
    yield from _versions(host, Version(6, 9), Version(5, 1))
    found = [one for one in devices or () if one.path == device]
    if devices is None:
        yield f"whether {device} is there cannot be seen from here: plan on the host itself"
    elif not found:
        yield f"{device} is not there: make it first (vdpa dev add, driver vhost_vdpa)"
    else:
        if found[0].driver not in (None, "vhost_vdpa"):
            yield f"{device} is bound to {found[0].driver or 'no driver'}, not to vhost_vdpa"
        if found[0].shared_memory is not False and domain.declared.shared_memory is not True:
            program = "a program (VDUSE)" if found[0].vduse else "software"
            yield (
                f"{device} is served by {program}, which needs the guest's memory shared: "
                "without <memoryBacking><source type='memfd'/><access mode='shared'/>"
                "</memoryBacking> the guest starts and passes no packet"
            )
    others = [nic for nic in domain.nics if nic.declared.device == device]
    if others:
        yield f"{device} is used by another NIC of this domain"


def _vdpa_notes(nic: Nic, memory_kib: int | None) -> Iterator[str]:
    yield "a vDPA NIC cannot be changed while the guest runs, and may keep it from migrating"
    if memory_kib is not None:
        limit = needed_memlock_kib(memory_kib, 1) // 1024
        yield f"all of the guest's memory is pinned: libvirt raises its limit to {limit} MiB"
    if nic.declared.packed == "on":
        yield "packed='on' keeps QEMU from migrating it (no shadow virtqueue for packed rings)"


def _vhostuser_needs(domain: Domain) -> Iterator[str]:
    if domain.declared.shared_memory is not True:
        yield (
            "vhost-user needs the guest's memory shared: <memoryBacking><source type='memfd'/>"
            "<access mode='shared'/></memoryBacking>"
        )


def _vhostuser_notes(mode: str) -> Iterator[str]:
    if mode == "server":
        yield "QEMU listens on the socket, and waits in its start until the other end connects"
    else:
        yield "QEMU connects to the socket: what listens there must be up before the guest"


def _versions(host: HostConfig, libvirt: Version, qemu: Version) -> Iterator[str]:
    for name, wanted, found in (
        ("libvirt", libvirt, host.libvirt_version),
        ("QEMU", qemu, host.qemu_version),
    ):
        if found is None:
            yield f"the version of {name} is not known (vDPA needs {wanted})"
        elif found < wanted:
            yield f"vDPA needs {name} {wanted}; the host has {found}"
