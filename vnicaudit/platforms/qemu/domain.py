"""Make a domain from a QEMU command line, for targets that consist only of command lines."""

from __future__ import annotations

import msgspec

from vnicaudit.knowledge.buses import CCW, VIRTIO_BUS, bus_of, device_of
from vnicaudit.knowledge.machines import KVM_OR_QEMU
from vnicaudit.knowledge.readiness import readiness_of
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic, NicConfig, Origin, RunningNic, is_multicast
from vnicaudit.model.platform_name import QEMU
from vnicaudit.model.report import ReadError
from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.qemu.virtio import VIRTIO_RING
from vnicaudit.text.placeholders import placeholder_text

_TYPES = {
    "tap": "ethernet",
    "bridge": "bridge",
    "user": "user",
    "vhost-user": "vhostuser",
    "vhost-vdpa": "vdpa",
    "vfio": "hostdev",
}
"""``-netdev`` type -> libvirt's interface type. Backends that libvirt does not know keep QEMU's
word."""

_ADDRESSES = {CCW: "ccw", VIRTIO_BUS: "virtio-mmio"}


def domain_of(qemu: RunningQemu, target: str) -> Domain:
    """The domain that the command line describes; its NICs include ``running``."""
    found = tuple(
        running_nic(qemu, index, running, origin="qemu") for index, running in enumerate(qemu.nics)
    )
    return Domain(
        name=qemu.name or _nameless(qemu),
        uuid=qemu.uuid,
        declared=_config(qemu),
        location=msgspec.structs.replace(qemu.location, target=target),
        nics=found,
        unread=tuple(
            ReadError(f"QEMU command line: {gap}", qemu.location.file or target, qemu.location.line)
            for gap in qemu.gaps
        ),
        qemu_version=qemu.qemu_version,
        libvirt_version=qemu.libvirt_version,
        template=placeholder_text(qemu.opened),
    )


def running_nic(qemu: RunningQemu, index: int, running: RunningNic, *, origin: Origin) -> Nic:
    """A NIC that is known only from a command line, as the ``index``-th of its domain."""
    return Nic(
        index=index,
        declared=config_of(running, origin=origin, arch=qemu.arch),
        location=_place(qemu, index),
        mac=running.mac,
        alias=running.id,
        places=_warning(qemu),
        running=anonymous(running),
    )


def _place(qemu: RunningQemu, index: int) -> Location:
    if index >= len(qemu.nic_lines):
        return qemu.location
    return msgspec.structs.replace(qemu.location, line=qemu.nic_lines[index])


def _warning(qemu: RunningQemu) -> tuple[tuple[str, Location], ...]:
    if qemu.warning_line is None:
        return ()
    return (("log_warning", msgspec.structs.replace(qemu.location, line=qemu.warning_line)),)


def anonymous(running: RunningNic) -> RunningNic:
    """Return the NIC without MAC and id, so that equal NICs compare equal and share one verdict."""
    return msgspec.structs.replace(running, mac=None, id=None)


def config_of(running: RunningNic, *, origin: Origin, arch: str | None = None) -> NicConfig:
    """The settings that the arguments give one NIC, in libvirt's terms; QEMU's defaults count as
    unset."""
    device = device_of(running.driver, arch)
    kind = _TYPES.get(running.backend or "", running.backend or "none")
    if kind == "hostdev":  # as in XML: it is unknown whether the device is a network adapter
        return NicConfig(type=kind, origin="hostdev", actual_type=kind)
    virtio = running.model in VIRTIO
    return NicConfig(
        type=kind,
        origin=origin,
        actual_type=kind,
        model=running.model or None,
        driver_name="vhost" if running.vhost and virtio else None,
        queues=running.backend_queues if (running.backend_queues or 1) > 1 else None,
        rx_queue_size=_unless_default(running.rx_queue_size),
        tx_queue_size=_unless_default(running.tx_queue_size),
        txmode=running.txmode,
        ioeventfd=running.ioeventfd,
        event_idx=running.event_idx,
        host_off=running.host_off,
        guest_off=running.guest_off,
        source_mode=running.source_mode,
        ovs_socket=running.ovs_socket,
        reconnect=running.reconnect,
        multicast=is_multicast(running.mac),
        packed="on" if running.packed else None,
        mtu=running.mtu,
        address_type=_ADDRESSES.get(bus_of(device) or "", "pci" if virtio else None),
    )


def _config(qemu: RunningQemu) -> DomainConfig:
    return DomainConfig(
        type=qemu.type or KVM_OR_QEMU,
        arch=qemu.arch,
        machine=qemu.machine,
        vcpus=qemu.vcpus,
        vcpus_max=qemu.vcpus_max,
        owner=qemu.owner,
        described_by="qemu",
        platform=QEMU,
        readiness=readiness_of(
            None,
            qemu.arch,
            virtio_nic=any(nic.model in VIRTIO for nic in qemu.nics),
            virtio_disk=qemu.virtio_disk,
            windows_hint=qemu.windows_hint,
        ),
        shared_memory=qemu.shared_memory,
        session=qemu.session,
        nics=len(qemu.nics),
        unseen=("inserted",) if qemu.opened else (),
    )


def _nameless(qemu: RunningQemu) -> str:
    if qemu.pid is not None:
        return f"QEMU {qemu.pid}"
    place = "" if qemu.location.line is None else f" at line {qemu.location.line}"
    return f"QEMU{place}"


def _unless_default(size: int | None) -> int | None:
    return None if size == VIRTIO_RING else size
