"""The guest of a server stored by Nova, and its NICs as Nova's libvirt driver writes them.

Source: Nova 34.0.0, ``virt/libvirt/vif.py`` (``get_base_config``, ``get_config``),
``virt/libvirt/designer.py``, ``network/os_vif_util.py`` and ``network/model.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.readiness import emulated_model, readiness_of
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import OPENSTACK, VIRTIO, Location, Readiness
from vnicaudit.model.nic import Nic, NicConfig, is_multicast
from vnicaudit.model.openstack import (
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    Image,
    NovaVersions,
    Property,
    ServerConfig,
    as_flag,
)
from vnicaudit.platforms.openstack.network import Bound, Port

_ARCHITECTURES = {
    "i386": "i686", "i486": "i686", "i586": "i686", "x86_32": "i686", "x86_32p": "i686",
    "amd64": "x86_64",
}  # fmt: skip
"""Other names that Nova accepts (``fields.Architecture.canonicalize``)."""
_MACHINES = (("pc", "x86_64"), ("q35", "x86_64"), ("s390-ccw", "s390x"))
"""Prefixes of machine types that exist on one architecture only; a guest with another architecture
than its node's (i686) has ``hw_architecture``."""
_NOWHERE = Location("")
_SCSI = "virtio-scsi"

_FLAVOR_MULTIQUEUE = 25
"""``hw:vif_multiqueue_enabled``: Nova 25.0."""
_PACKED = 29
"""``hw_virtio_packed_ring`` and ``hw:virtio_packed_ring``: Nova 29.0."""
_SHARED_PAGES_KIB = 2048
_PAGES = re.compile(r"(\d{1,9})\s*([KMG]?)i?B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1, "m": 1024, "g": 1024 * 1024}


def declared_of(
    server: ServerConfig, node: str | None, *, launched: bool, nics: int
) -> DomainConfig:
    """The domain settings that Nova writes for a server with that many NICs. ``node`` is the
    architecture of its node's CPU, None if unknown; ``launched``: the server has run. The type is
    always ``kvm``: the API calls the hypervisor QEMU whatever ``virt_type`` is."""
    stored = dict(server.stored_properties)
    arch = _architecture(stored, node)
    vcpus = None if server.flavor is None else server.flavor.vcpus
    distro = stored.get("os_distro", "")
    encryption = (server.property("hw_mem_encryption"), _spec(server, "hw:mem_encryption"))
    return DomainConfig(
        type="kvm",
        arch=arch,
        machine=stored.get("hw_machine_type"),
        vcpus=vcpus,
        vcpus_max=vcpus,
        owner="nova",
        described_by=server,
        platform=OPENSTACK,
        os_id=distro if distro.startswith("http") else None,
        readiness=_readiness(stored, arch, launched=launched),
        shared_memory=_large_pages(server),
        encrypted=any(as_flag(value) for value in encryption if value is not None),
        session=False,
        nics=nics,
    )


def readiness_by(properties: Mapping[str, str]) -> Readiness:
    """The readiness of an image, for future servers, judged only by its properties. If it names no
    machine type, servers get Nova's default, which is not PCI Express."""
    stored = {"hw_machine_type": "", **properties}
    return _readiness(stored, _architecture(properties, None), launched=False)


def queues_of(server: ServerConfig, nova: NovaVersions) -> int | None:
    """The number of queues that Nova writes for a virtio NIC, before the node's own limit
    (``[libvirt] max_queues``); None if it writes none, or refuses (flavor and image differ)."""
    vcpus = None if server.flavor is None else server.flavor.vcpus
    if vcpus is None or vcpus < MULTIQUEUE_VCPUS or server.clash(MULTIQUEUE, vcpus):
        return None
    by_flavor = _since(nova, _FLAVOR_MULTIQUEUE) and server.flavor_flag(MULTIQUEUE)
    return vcpus if server.flag(MULTIQUEUE) or by_flavor else None


def packed_of(server: ServerConfig, nova: NovaVersions) -> bool:
    """True if Nova writes ``packed='on'`` for the server's virtio NICs."""
    if not _since(nova, _PACKED) or server.clash(PACKED, None):
        return False
    return server.asks_for(PACKED)


def _since(nova: NovaVersions, release: int) -> bool:
    """True if Nova is certainly that release or a later one."""
    return nova.oldest is not None and nova.oldest >= release


def _spec(server: ServerConfig, name: str) -> str | None:
    return None if server.flavor is None else server.flavor.certain_value(name)


def _architecture(stored: Mapping[str, str], node: str | None) -> str | None:
    """``hw_architecture``, or the emulated one; otherwise the node's (``virt/libvirt/utils.py``
    ``get_arch``), or that of the machine type."""
    names = ("hw_emulation_architecture", "hw_architecture", "architecture")
    named = next((stored[name].lower() for name in names if stored.get(name)), "")
    if named or node:
        return _ARCHITECTURES.get(named, named) or node
    machine = stored.get("hw_machine_type") or ""
    return next((arch for begin, arch in _MACHINES if machine.startswith(begin)), None)


def _large_pages(server: ServerConfig) -> bool | None:
    """True with huge pages, whose memory Nova shares (``_get_cpu_numa_config_from_instance``).
    None: unknown, because ``file_backed_memory`` in nova.conf does the same."""
    text = _spec(server, "hw:mem_page_size") or server.property("hw_mem_page_size") or ""
    if text.strip().lower() == "large":
        return True
    size = _PAGES.fullmatch(text.strip())
    if size is None:
        return None
    return True if int(size[1]) * _UNITS[size[2].lower()] >= _SHARED_PAGES_KIB else None


def _readiness(stored: Mapping[str, str], arch: str | None, *, launched: bool) -> Readiness:
    """The guest's virtio readiness, in the words of :mod:`vnicaudit.knowledge.readiness`.

    If ``os_distro`` is an id of libosinfo, it is looked up. A short id counts if libosinfo lists
    virtio for that system; but not on PCI Express, where an old driver is not enough, and the
    version of the system's driver is unknown. Any other word, and ``os_type``, only tell whether it
    is Windows.
    """
    distro = stored.get("os_distro") or ""
    words = [Property(name, stored.get(name) or "", _NOWHERE) for name in ("os_type", "os_distro")]
    system = Image("", "", _NOWHERE, tuple(words))  # for the properties of that record
    found = readiness_of(
        distro or ("linux" if system.linux else None),
        arch,
        virtio_nic=launched and stored.get("hw_vif_model", "").lower() == "virtio",
        virtio_disk=launched and _virtio_disk(stored),
        windows_hint=system.windows,
    )
    listed = found == "unknown" and emulated_model(distro) is not None
    conventional = "q35" not in stored.get("hw_machine_type", "q35")
    return "ready" if listed and conventional else found


def _virtio_disk(stored: Mapping[str, str]) -> bool:
    """True if ``hw_disk_bus``, of the image or as chosen by Nova for this server (since 25.0), is
    virtio."""
    bus = stored.get("hw_disk_bus", "").lower()
    return bus == "virtio" or (bus == "scsi" and stored.get("hw_scsi_model", "").lower() == _SCSI)


ASSIGNED = frozenset({
    "direct", "direct-physical", "accelerator-direct", "accelerator-direct-physical",
    "remote-managed",
})  # fmt: skip
"""``VNIC_TYPES_DIRECT_PASSTHROUGH`` except vdpa."""
BARE_METAL = frozenset({"baremetal", "smart-nic"})
"""VNIC types of servers that Ironic runs."""

_BY_VNIC_TYPE = {"vdpa": "vdpa", "virtio-forwarder": "vhostuser", "macvtap": "direct"}
_BY_VIF_TYPE = {
    "bridge": "bridge",
    "vhostuser": "vhostuser",
    "macvtap": "direct",
    "802.1qbg": "direct",
    "tap": "ethernet",
    "midonet": "ethernet",
    "iovisor": "ethernet",
    "vrouter": "ethernet",
    "ivs": "ethernet",
    "hostdev_physical": "hostdev",
    "ib_hostdev": "hostdev",
}
_BY_OVS = frozenset({"ovs", "agilio_ovs"})
_DEVICES = frozenset({"hostdev_physical", "ib_hostdev"})
"""VIF types for which Nova writes ``<hostdev>`` and no ``<interface>``."""
_WITH_MTU = frozenset({"bridge", "ethernet"})
"""Types for which Nova writes ``<mtu>`` (``virt/libvirt/config.py``)."""


class AllNics(NamedTuple):
    """Facts that hold for all NICs of a server. ``model``: the stored ``hw_vif_model``, None if
    unknown. ``queues``: their number, with multiqueue; ``packed``: packed rings. ``taps``: os-vif
    creates the tap of Open vSwitch, as since 23.0."""

    model: str | None = None
    queues: int | None = None
    packed: bool = False
    taps: bool = True


def nics_of(
    server: str,
    ports: Iterable[Port],
    all_nics: AllNics,
    mtus: Mapping[str, int],
    target: str,
    networks: Mapping[str, str],
) -> tuple[Nic, ...]:
    """The NICs of a server in the order of its ports. ``networks``: their names, by MAC."""
    return tuple(
        replace(
            _nic(index, server, port, all_nics, mtus.get(port.network), target),
            network=networks.get(port.mac or ""),
        )
        for index, port in enumerate(ports)
    )


def in_order(ports: list[Port], macs: list[str], *, complete: bool) -> list[Port]:
    """Ports in the order of Nova's addresses, then those without one. ``complete`` False: not all
    ports were read, so an address whose MAC belongs to no port is a NIC as well."""
    places = {mac: place for place, mac in enumerate(macs)}
    found = list(ports)
    if not complete:
        known = {port.mac for port in ports}
        found += [Port(None, mac) for mac in macs if mac not in known]
    return sorted(found, key=lambda port: places.get(port.mac or "", len(places)))


def _nic(
    index: int, server: str, port: Port, all_nics: AllNics, mtu: int | None, target: str
) -> Nic:
    kind = "addresses" if port.id is None else "ports"
    return Nic(
        index,
        replace(_config(port.bound, all_nics, mtu), multicast=is_multicast(port.mac)),
        Location(target, xpath=f"servers/{server}/{kind}/{port.id or port.mac}"),
        mac=port.mac,
        source=port.id,
    )


def _config(bound: Bound, all_nics: AllNics, mtu: int | None) -> NicConfig:
    """The type, and the settings that Nova writes for that type."""
    kind = _type(bound, taps=all_nics.taps)
    vnic, vif = bound.binding.vnic_type, bound.binding.vif_type
    # none for assigned devices and vDPA, and always virtio for the macvtap of Neutron's agent
    # (set_vif_host_backend_direct_config)
    model = "virtio" if vif == "macvtap" else all_nics.model
    model = None if kind in ("hostdev", "vdpa") else model
    is_device = kind == "hostdev" and (vif in _DEVICES or vnic.endswith("-physical"))
    socket = kind == "vhostuser"
    return NicConfig(
        type=kind or "network",
        origin="hostdev" if is_device else "interface",
        actual_type=kind,
        model=model,
        source_mode=(bound.mode or "server") if socket and vif else None,
        queues=all_nics.queues if model in VIRTIO else None,
        packed="on" if all_nics.packed and kind != "hostdev" else None,
        mtu=mtu if kind in _WITH_MTU else None,
        ovs_socket=socket and bound.ovs,
    )


def _type(bound: Bound, *, taps: bool) -> str | None:
    """``<interface type=…>``; None if Neutron does not report enough."""
    vnic, vif = bound.binding.vnic_type, bound.binding.vif_type
    if vnic in ASSIGNED:
        return "hostdev"
    if vnic in _BY_VNIC_TYPE:
        return _BY_VNIC_TYPE[vnic]
    if vif in _BY_OVS:
        return "ethernet" if taps and not bound.binding.hybrid else "bridge"
    return _BY_VIF_TYPE.get(vif)
