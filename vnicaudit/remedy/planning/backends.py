"""Move a NIC to vhost-vDPA or vhost-user: the changes, the functions that are lost, and the
prerequisites.

Lost functions: libvirt's qemuDomainValidateActualNetDef, qemuDomainNetSupportsMTU and
netdev_bandwidth_conf.c refuse or ignore them if the data path leaves the host's network stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.backends import OWN_PATH
from vnicaudit.knowledge.device_leftovers import not_of_virtio
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Change
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.host import HostConfig, VdpaDevice, needed_memlock_kib
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Goal, Loss, Step
from vnicaudit.model.reasons import Blocked
from vnicaudit.model.version import Version
from vnicaudit.remedy.planning.gates import CANNOT_DRIVE_VIRTIO, removal_first

_LOST = {
    "filterref": ("filterref", "the network filter {text} no longer applies"),
    "port": ("isolation", "the port is no longer isolated from others"),
    "bandwidth": ("bandwidth", "bandwidth is no longer limited"),
    "coalesce": ("coalesce", "interrupt coalescing is no longer set"),
    "vlan": ("vlan", "libvirt no longer applies the VLAN tag"),
    "virtualport": ("virtualport", "the port profile, with its interface id, is no longer used"),
    "tune": ("tune", "the send buffer is no longer limited"),
}
"""Child of ``<interface>`` -> name of the function, and the words for its loss."""
_LOST_ON_VDPA = {"mtu": ("mtu", "libvirt no longer sets the MTU: set it on the device")}
_OF_THE_TAP = ("backend", "target", "script", "downscript")
"""Children that configure a tap, which is gone."""
_TAP_TYPES = ("network", "bridge", "ethernet", "direct")

REQUESTED = "requested with --to"
"""The reason why a step to another backend is safe."""
_DRIVER = "the guest may have no driver for it (readiness: {}); without one it loses its network"
_ENCRYPTED = "the guest's memory is encrypted: a virtio device may need iommu='on' to reach it"
_SHARED = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"


class Conversion(NamedTuple):
    """The conversion of a NIC. ``blocked``: what has to be fixed first; ``notes``: what else to
    know."""

    changes: tuple[Change, ...]
    losses: tuple[Loss, ...]
    blocked: tuple[Blocked, ...]
    notes: tuple[str, ...]


def functions_lost(goal: Goal) -> tuple[str, ...]:
    """Names of all functions that a NIC may have and that this backend lacks."""
    lost = _LOST | (_LOST_ON_VDPA if goal == "vdpa" else {})
    return tuple(name for name, _text in lost.values())


def to_backend(
    to: Goal, nic: Nic, domain: Domain, host: HostConfig, children: Mapping[str, str],
    device: str, devices: tuple[VdpaDevice, ...] | None, socket_mode: str,
    accepted: frozenset[str], memory_kib: int | None,
) -> Conversion:  # fmt: skip
    """The conversion of the NIC to ``device``: a vhost-vDPA device, or the path of a socket.
    ``devices``: the vDPA devices of the host; None if they cannot be read."""
    lost = _LOST | (_LOST_ON_VDPA if to == "vdpa" else {})
    losses = tuple(
        Loss(name, text.format(text=children[child]), name in accepted)
        for child, (name, text) in lost.items()
        if child in children
    )
    blocked = [*_wrong_nic(nic, domain), *_used_here(nic, domain, device)]
    if to == "vdpa":
        blocked += _vdpa_needs(domain, host, device, devices)
        notes = tuple(_vdpa_notes(nic, domain, memory_kib))
    else:
        blocked += _vhostuser_needs(domain)
        notes = tuple(_vhostuser_notes(socket_mode, device))
    if "source" in children:
        notes = (_leaves(nic, device), *notes)
    changes = tuple(_changes(to, nic, domain, children, device, socket_mode, tuple(lost)))
    return Conversion(changes, losses, tuple(blocked), notes)


def still_against(
    step: Step, nic: Nic, domain: Domain, children: Mapping[str, str],
    devices: tuple[VdpaDevice, ...] | None,
) -> tuple[str, ...]:  # fmt: skip
    """Objections to a step to a backend other than virtio when it is about to be applied: a plan is
    a file that people edit, and a device may be gone by then."""
    lost = _LOST | (_LOST_ON_VDPA if step.to == "vdpa" else {})
    accepted = {loss.function for loss in step.losses if loss.accepted}
    found = [
        f"{name} would be lost, which the plan does not accept"
        for child, (name, _text) in lost.items()
        if child in children and name not in accepted
    ]
    place = "device" if step.to == "vdpa" else "source_path"
    device = next((change.new or "" for change in step.changes if change.field == place), "")
    against = [*_wrong_nic(nic, domain), *_used_here(nic, domain, device)]
    against += _there(domain, device, devices) if step.to == "vdpa" else _vhostuser_needs(domain)
    return (*found, *(one.text for one in against))


def _changes(
    to: Goal, nic: Nic, domain: Domain, children: Mapping[str, str], device: str,
    socket_mode: str, lost: tuple[str, ...],
) -> Iterator[Change]:  # fmt: skip
    if nic.declared.model not in (("virtio",) if to == "vdpa" else VIRTIO):
        yield _to_virtio(nic, domain)
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


def _to_virtio(nic: Nic, domain: Domain) -> Change:
    """The change of the model to ``virtio``. For type vdpa, libvirt 9.0 rejects other
    names of virtio models: "invalid model for interface of type 'vdpa': 'virtio-transitional'"."""
    change = _change("model", nic.declared.model, "virtio")
    if domain.declared.readiness != "ready":
        reason = _DRIVER.format(domain.declared.readiness)
    elif domain.declared.encrypted and nic.declared.iommu != "on":
        reason = _ENCRYPTED
    else:
        return change
    return replace(change, safe=False, reason=reason)


def _change(field: str, old: str | None, new: str | None) -> Change:
    return Change(field, old, new, safe=True, reason=REQUESTED)


def _wrong_nic(nic: Nic, domain: Domain) -> Iterator[Blocked]:
    if domain.declared.readiness == "not-supported" and nic.declared.model not in VIRTIO:
        yield Blocked("not-supported", CANNOT_DRIVE_VIRTIO)
    if nic.declared.type not in _TAP_TYPES or nic.declared.actual_type == "hostdev":
        yield Blocked(
            "nic-type", f"its type is {nic.declared.type}: only a NIC on a tap is converted"
        )
    if behind := not_of_virtio(nic.declared):
        yield Blocked(
            "behind-libvirt",
            f"{', '.join(one.name for one in behind)} set behind libvirt's back "
            f"(<qemu:override>, -set), which no virtio NIC has; {removal_first(domain)}",
        )
    if nic.declared.virtio_faults:
        yield Blocked(
            "does-not-start", f"as virtio it would not start: {nic.declared.virtio_faults[0]}"
        )
    if nic.declared.teaming is not None:
        yield Blocked("teamed", "it is part of a teamed pair: change the pair by hand")


def _used_here(nic: Nic, domain: Domain, device: str) -> Iterator[Blocked]:
    used = {
        other.source for other in domain.nics
        if other.index != nic.index and other.declared.type in OWN_PATH
    }  # fmt: skip
    if device in used:
        yield Blocked("device-in-use", f"{device} is used by another NIC of this domain")


def _vdpa_needs(
    domain: Domain, host: HostConfig, device: str, devices: tuple[VdpaDevice, ...] | None
) -> Iterator[Blocked]:
    if not device:
        yield Blocked(
            "device-not-given",
            "no device was named for it (--nic MAC --vdpa-device /dev/vhost-vdpa-N)",
        )
        return
    yield from _versions(host, Version(6, 9), Version(5, 1))
    yield from _there(domain, device, devices)


def _there(
    domain: Domain, device: str, devices: tuple[VdpaDevice, ...] | None
) -> Iterator[Blocked]:
    found = next((one for one in devices or () if one.path == device), None)
    if devices is None:
        yield Blocked(
            "device-not-seen",
            f"{device} cannot be checked from here: run this on the host itself",
        )
    elif found is None:
        yield Blocked(
            "device-missing",
            f"{device} does not exist: create it first (vdpa dev add, driver vhost_vdpa)",
        )
    else:
        yield from _device_needs(found, device, domain)


def _device_needs(found: VdpaDevice, device: str, domain: Domain) -> Iterator[Blocked]:
    if found.driver not in (None, "vhost_vdpa"):
        yield Blocked(
            "device-driver",
            f"{device} is bound to {found.driver or 'no driver'}, not to vhost_vdpa",
        )
    if found.shared_memory is False or domain.declared.shared_memory:
        return
    if found.shared_memory is None:
        yield Blocked(
            "shared-memory",
            f"it is unknown whether {device} needs the guest's memory shared: share it to be "
            f"safe ({_SHARED})",
        )
        return
    what = "served by a program (VDUSE)" if found.vduse else "simulated by the kernel"
    yield Blocked(
        "shared-memory",
        f"{device} is {what}, which needs the guest's memory shared: without {_SHARED} the guest "
        "starts but passes no packets",
    )


def _vdpa_notes(nic: Nic, domain: Domain, memory_kib: int | None) -> Iterator[str]:
    yield "a vDPA NIC cannot be changed while the guest runs, and may keep it from migrating"
    if memory_kib is not None:
        devices = 1 + sum(one.declared.type == "vdpa" for one in domain.nics)
        limit = needed_memlock_kib(memory_kib, devices) // 1024
        yield (
            f"all of the guest's memory is pinned: libvirt raises its limit to {limit} MiB, where "
            "no <hard_limit> sets another"
        )
    if nic.declared.packed == "on":
        yield "packed='on' keeps QEMU from migrating it (no shadow virtqueue for packed rings)"


def _vhostuser_needs(domain: Domain) -> Iterator[Blocked]:
    if not domain.declared.shared_memory:
        yield Blocked("shared-memory", f"vhost-user needs the guest's memory shared: {_SHARED}")


def _leaves(nic: Nic, device: str) -> str:
    where = f"{nic.declared.type} {nic.source}" if nic.source else f"its {nic.declared.type}"
    there = device or "the new device"
    return (
        f"the NIC leaves {where}: connect {there} to the same network, with the same VLAN, before "
        "the guest starts"
    )


def _vhostuser_notes(mode: str, socket: str) -> Iterator[str]:
    folder, _slash, _name = socket.rpartition("/")
    if folder:
        may = "write to it" if mode == "server" else "open the socket there"
        yield f"the folder {folder} must be there, and QEMU's user may {may}"
    if mode == "server":
        yield "QEMU listens on the socket and does not finish starting until the other end connects"
    else:
        yield "QEMU connects to the socket: its listener must be up before the guest starts"


def _versions(host: HostConfig, libvirt: Version, qemu: Version) -> Iterator[Blocked]:
    for name, wanted, found in (
        ("libvirt", libvirt, host.libvirt_version),
        ("QEMU", qemu, host.qemu_version),
    ):
        if found is None:
            yield Blocked(
                "version-not-known", f"the version of {name} is unknown (vDPA needs {wanted})"
            )
        elif found < wanted:
            yield Blocked("version-too-old", f"vDPA needs {name} {wanted}; the host has {found}")
