"""One virtual NIC as a description declares it, and as QEMU runs it.

A :class:`Nic` is *who and where* (index, MAC, location); :class:`NicConfig` is *what is set*. They
are separate because rules judge settings only: two NICs configured alike get one verdict.

``None`` always means *this source does not say*, never *off*.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from vnicaudit.model.definition_refusal import DefinitionRefusal, StartRefusal
from vnicaudit.model.effective import Effective
from vnicaudit.model.guest_words import (  # noqa: F401 (words for the fields below)
    DESCRIPTORS,
    LOG,
    MAYBE,
    VIRTIO,
)
from vnicaudit.model.location import Location

_GROUP = r"(?i)[0-9a-f]?[13579bdf]:[0-9a-f]"

Evidence = Literal["command line", "open descriptors", "log", "arguments in <qemu:commandline>"]
"""The source about QEMU that proves how a NIC runs."""

OVERRIDE, SET, GLOBAL = "<qemu:override>", "-set", "-global"
"""Ways to set a property of a device behind libvirt's settings; the latter two in
``<qemu:commandline>``."""


def is_multicast(mac: str | None) -> bool:
    """True for a multicast address: the lowest bit of its first byte is set. False for anything
    that is not an address."""
    return mac is not None and re.match(_GROUP, mac) is not None


class Behind(msgspec.Struct, frozen=True):
    """A QEMU property that is set behind libvirt's settings; ``by``: the element that sets it.
    ``text`` is ``""`` if the property is removed, :data:`MAYBE` if it may belong to a different
    NIC."""

    name: str
    text: str
    by: str = OVERRIDE


Origin = Literal["interface", "hostdev", "commandline", "qemu", "default"]
"""Where a NIC comes from: ``interface``, ``hostdev`` (an assigned device in ``<hostdev>``),
``commandline`` (``<qemu:commandline>`` behind libvirt's back), ``qemu`` (read from a QEMU command
line) or ``default`` (KubeVirt adds it to a manifest that names no interface)."""


class NicConfig(msgspec.Struct, frozen=True, cache_hash=True):
    """Settings of one NIC in a description, in libvirt's terms.

    Names follow the libvirt attribute they come from. Numbers are numbers; a value libvirt would
    refuse is left None and listed in ``invalid`` as ``(field, text)``.
    """

    type: str = "user"
    """``<interface type=…>``; libvirt's default is ``user``. ``hostdev`` for assigned devices."""
    origin: Origin = "interface"
    actual_type: str | None = None
    """The type that ``type='network'`` resolves to (``bridge``, ``direct``, ``hostdev``…);
    otherwise ``type``. None if it is unknown without the network's definition."""
    model: str | None = None
    device: str | None = None
    """``/dev/vhost-vdpa-N`` of a vDPA NIC."""
    source_mode: str | None = None
    """macvtap mode, or vhost-user ``client``/``server``."""
    backend_type: str | None = None
    backend_vhost: str | None = None
    driver_name: str | None = None
    queues: int | None = None
    rx_queue_size: int | None = None
    tx_queue_size: int | None = None
    txmode: str | None = None
    ioeventfd: str | None = None
    event_idx: str | None = None
    rss: str | None = None
    rss_hash_report: str | None = None
    iommu: str | None = None
    ats: str | None = None
    packed: str | None = None
    page_per_vq: str | None = None
    host_off: tuple[str, ...] = ()
    """Names of ``<driver><host>`` offloads set to ``off``."""
    guest_off: tuple[str, ...] = ()
    """Names of ``<driver><guest>`` offloads set to ``off``."""
    mtu: int | None = None
    link_state: str | None = None
    address_type: str | None = None
    address_bus: int | None = None
    multifunction: str | None = None
    rom: str | None = None
    """The first attribute of ``<rom>``, which only PCI devices may have."""
    rom_bar: str | None = None
    rom_file: str | None = None
    """The file of ``<rom file=…>``: a boot ROM other than the one QEMU gives the device."""
    acpi: str | None = None
    """``<acpi index=…>``, which only PCI devices may have."""
    teaming: str | None = None
    trust_guest_rx_filters: str | None = None
    boot_order: int | None = None
    network_filter: str | None = None
    """The network filter of ``<filterref filter=…>``."""
    ovs_socket: bool = False
    """The vhost-user socket is in a folder where Open vSwitch or Neutron put theirs."""
    reconnect: str | None = None
    """``<source><reconnect enabled=…>`` of a vhost-user NIC."""
    invalid: tuple[tuple[str, str], ...] = ()
    refused: tuple[DefinitionRefusal, ...] = ()
    """Reasons why libvirt refuses the definition or does not start it, whatever the host is."""
    multicast: bool = False
    """Its MAC address is a multicast address; not set for ``<interface>``, where libvirt refuses
    such an address."""
    behind: tuple[Behind, ...] = ()
    """All properties that ``<qemu:override>``, or a ``-set`` in ``<qemu:commandline>``, sets on the
    device, sorted; they override libvirt's."""
    defaults: tuple[Behind, ...] = ()
    """Properties that ``-global`` sets where libvirt sets none, if the NIC is virtio or becomes
    it."""
    behind_faults: tuple[str, ...] = ()
    """Those of these properties that QEMU refuses on the declared device, except ring sizes."""
    virtio_faults: tuple[str, ...] = ()
    """Those of ``defaults`` that QEMU would refuse if the NIC became virtio; for a NIC of any other
    model."""
    unseen: tuple[str, ...] = ()
    """Fields that a template decides: their values are unknown."""
    shared: tuple[str, ...] = ()
    """Fields set through a YAML anchor: changing one changes other places too."""
    binding: str | None = None
    """KubeVirt's word for how the NIC is connected: ``masquerade``, ``bridge``, ``sriov``…, or the
    name of a binding plugin."""
    plugin: bool = False
    """The binding is a plugin of KubeVirt."""

    @property
    def tuning_is_read(self) -> bool:
        """True if libvirt reads ``<driver queues= rx_queue_size= …>`` and ``<backend vhost=>``
        of this interface: only when its model is *written down* as virtio
        (``virDomainNetDefParseXMLDriver`` runs before the default model is filled in)."""
        return self.model in VIRTIO


class RunningNic(msgspec.Struct, frozen=True):
    """One NIC of a running (or last started) QEMU, from its command line and ``/proc``.

    ``driver`` is QEMU's device name (``virtio-net-pci``), ``model`` libvirt's word for it.
    ``vhost`` is True/False only when the source proves it. Ring sizes are what was passed, or
    QEMU's default where nothing was; None for models without virtio rings.
    """

    driver: str
    model: str
    backend: str | None = None
    """``-netdev`` type: tap, user, vhost-user, vhost-vdpa, socket, stream, dgram, …"""
    mac: str | None = None
    id: str | None = None
    vhost: bool | None = None
    queues: int | None = None
    rx_queue_size: int | None = None
    tx_queue_size: int | None = None
    mq: bool | None = None
    backend_queues: int | None = None
    """Queue pairs of the backend; the guest has only one (``queues``) unless ``mq`` is on."""
    packed: bool | None = None
    mtu: int | None = None
    txmode: str | None = None
    ioeventfd: str | None = None
    event_idx: str | None = None
    host_off: tuple[str, ...] = ()
    guest_off: tuple[str, ...] = ()
    source_mode: str | None = None
    ovs_socket: bool = False
    reconnect: str | None = None
    """This field and those from ``txmode`` on are in libvirt's terms, as in :class:`NicConfig`."""
    evidence: Evidence = "command line"
    """The evidence for ``vhost``."""
    log_warning: str | None = None
    """libvirt's ``Unable to open vhost-net…`` of this start; empty: the log was read and has none;
    None: it was not read."""
    refusal: StartRefusal | None = None
    """Why QEMU refuses these arguments, or creates no NIC from them; None if it accepts them as far
    as is known, and for a running process."""

    @property
    def lacks_mq(self) -> bool:
        """True if the backend has several queue pairs, but the device does not offer them."""
        return self.mq is False and (self.backend_queues or 1) > 1


class PathMtu(msgspec.Struct, frozen=True):
    """The MTUs on the path of a NIC's frames on its host, None if unknown: that of its ``tap``, and
    that of the narrowest ``uplink`` of the bridge to which the tap belongs."""

    tap: int | None = None
    uplink: int | None = None


class Nic(msgspec.Struct, frozen=True):
    """One virtual NIC of a domain: identity, place, declaration, and what runs."""

    index: int
    """0-based place among the domain's NICs, in document order."""
    declared: NicConfig
    location: Location
    mac: str | None = None
    """Lower case, colons."""
    source: str | None = None
    """Bridge, network, device or socket path, depending on the type; for a server's NIC, its
    port."""
    target_dev: str | None = None
    alias: str | None = None
    lines: tuple[tuple[str, int], ...] = ()
    """Child element -> line, so that a fact inside the NIC can be pointed at."""
    places: tuple[tuple[str, Location], ...] = ()
    """Field -> the place where it is or would be set: all fields for manifests, those nested deeper
    than ``lines`` for XML, and the warning for a log."""
    wiring: str | None = None
    """How KubeVirt connects it, as docs/how-to/kubevirt.md names it; None elsewhere."""
    running: RunningNic | None = None
    effective: Effective | None = None
    """Filled in by :mod:`vnicaudit.audit.effective`; None before."""
    path: PathMtu | None = None
    """Read only if an MTU is set for the NIC and it runs on this machine."""
    network: str | None = None
    """For a server's NIC, the name of its network in Neutron."""
    address: str | None = None
    """The device's address in the definition: ``0000:00:03.0`` on PCI (domain, bus, slot,
    function), ``fe.0.0001`` on ccw (cssid, ssid, devno). None elsewhere, and where it is missing or
    incomplete."""
