"""One virtual NIC: as declared, as it runs, as it is in effect, and what keeps it from starting."""

from __future__ import annotations

import re
from typing import Generic, Literal, TypeVar

import msgspec

from vnicaudit.model.finding import (  # noqa: F401 (words for the fields below)
    DESCRIPTORS,
    LOG,
    MAYBE,
    S390,
    VIRTIO,
    Location,
    Owner,
)
from vnicaudit.model.host import Version

# Parts of an ``<interface>`` with which a domain cannot be defined, or does not start.


# Outcome for a NIC whose arguments QEMU refuses.

NIC_REWORK = Version(9, 0)
"""Before this version, QEMU did not start with a ``model=`` of ``-nic`` and ``-net nic`` that the
machine cannot create; since then, it warns that the NIC "was not created" and starts. Measured with
7.2 and 10.0; the change is "Rework matching of network devices to -nic options", QEMU 9.0."""
NEVER = Version(0)

Outcome = Literal["fails", "missing", "either"]
WORDS: dict[Outcome, str] = {
    "fails": "QEMU does not start",
    "missing": "QEMU starts without this NIC",
    "either": "QEMU does not start, from 9.0 on it starts without this NIC",
}
"""The words for each outcome, before the reason."""


class StartRefusal(msgspec.Struct, frozen=True):
    """``reason`` completes "QEMU does not start: …". From version ``starts_from`` on, QEMU starts
    (None: no version does); ``has_nic`` says whether it then has the NIC."""

    reason: str
    starts_from: Version | None = None
    has_nic: bool = False
    certain: bool = True
    """False: a later or patched QEMU may accept it."""
    refused_from: Version | None = None
    """The first version that refuses it, if earlier ones did not."""

    def outcome(self, qemu: Version | None) -> Outcome | None:
        """Outcome with this QEMU (None: its version is unknown): it fails to start, the NIC is
        missing, or either of them; None if no problem is known."""
        if self.refused_from is not None:
            return "fails" if qemu is not None and qemu >= self.refused_from else None
        if self.starts_from is None:
            return "fails"
        if self.starts_from == NEVER:
            return "missing"
        if qemu is None:
            return None if self.has_nic else "either"
        if qemu < self.starts_from:
            return "fails"
        return None if self.has_nic else "missing"


class DefinitionRefusal(msgspec.Struct, frozen=True):
    """One part of a definition for which libvirt refuses all of it, or does not start it.

    ``place`` is its path relative to ``<interface>`` (``driver/@name``); ``reason`` completes
    "libvirt refuses the definition: …". It never contains a MAC address or a name, because it
    describes the settings, not the identity, of the NIC."""

    place: str
    reason: str
    at_start: bool = False
    """The domain can be defined, but does not start."""
    shared: bool = False
    """Another device of the domain has the same value."""
    since: Version | None = None
    """The first libvirt that is known to refuse it; None: each does."""
    until: Version | None = None
    """The first libvirt that accepts it; None: none is known to."""
    since_qemu: Version | None = None
    """The first QEMU that is known to refuse it; None: each does."""

    def applies(self, libvirt: Version | None, qemu: Version | None) -> bool:
        """True if these versions (None: unknown) are known to refuse it."""
        if self.since is not None and (libvirt is None or libvirt < self.since):
            return False
        if self.until is not None and (libvirt is None or libvirt >= self.until):
            return False
        return self.since_qemu is None or (qemu is not None and qemu >= self.since_qemu)


MULTICAST = DefinitionRefusal("mac/@address", "its MAC address is a multicast one")
MODEL = "model/@type"


def place_of(path: str, name: str) -> str:
    """The place of an attribute of a child element, or of ``<interface>`` itself (path ``""``)."""
    return f"{path}/@{name}" if path else f"@{name}"


def on_ccw(address_type: str | None, arch: str | None) -> DefinitionRefusal | None:
    """The refusal of a channel address on a machine without channels (``cannot use CCW address
    type``); None if it is accepted."""
    if address_type != "ccw" or arch is None or arch in S390:
        return None
    return DefinitionRefusal("address/@type", f"a ccw address is for s390x, and this is {arch}")


def is_misspelt(refused: tuple[DefinitionRefusal, ...]) -> bool:
    """True if the name of the model is among the refused parts."""
    return any(refusal.place == MODEL for refusal in refused)


# Effective settings of a guest's NIC: one resolved value per fact, with the reason.


T = TypeVar("T")

KNOWN = "known"
UNKNOWN = "unknown"
NONE = "none"


class Resolved(msgspec.Struct, Generic[T], frozen=True):
    """``declared`` -> ``effective``, because ``reason``.

    ``state`` tells the three cases apart in which ``effective`` may be None: ``known`` (it has a
    value), ``unknown`` (these inputs do not show it; the reason names a source that would) and
    ``none`` (this NIC has no such thing, e.g. a ring on an rtl8139).
    """

    declared: T | None
    effective: T | None
    reason: str
    state: str = KNOWN


class Effective(msgspec.Struct, frozen=True, cache_hash=True):
    """The five facts on which the speed of a NIC depends, resolved.

    ``model`` is libvirt's model name; ``vhost`` tells whether the packet path is in the kernel
    (False for a userspace path; None with state ``none`` for vhost-user, vDPA and passthrough,
    which have a data path of their own); ``queues`` counts queue pairs; rings count descriptors.
    """

    model: Resolved[str]
    vhost: Resolved[bool]
    queues: Resolved[int]
    rx_queue_size: Resolved[int]
    tx_queue_size: Resolved[int]
    starts: bool = True
    """False when libvirt or QEMU is known to refuse this NIC at start."""


# One virtual NIC as a description declares it, and as QEMU runs it.
#
# A :class:`Nic` is *who and where* (index, MAC, location); :class:`NicConfig` is *what is set*.
# They are separate because rules judge settings only: two NICs configured alike get one verdict.
#
# ``None`` always means *this source does not say*, never *off*.


_GROUP = r"(?i)[0-9a-f]?[13579bdf]:[0-9a-f]"

Evidence = Literal[
    "command line", "open descriptors", "log", "arguments in <qemu:commandline>", "instance"
]
"""The source about QEMU that proves how a NIC runs; ``instance``: a VirtualMachineInstance of
KubeVirt tells its model, MAC and queues, and its pod whether it has ``/dev/vhost-net``."""

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
    mtu: int | None = None
    settings: NicConfig = NicConfig()
    """Further settings of a virtio NIC, in libvirt's terms."""
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

    @property
    def known_mac(self) -> str | None:
        """``mac``, or else that of the running NIC, which may be another at each start."""
        return self.mac or (None if self.running is None else self.running.mac)


# A QEMU process, or the last start of one, as shown by its arguments and ``/proc``.


class RunningQemu(msgspec.Struct, frozen=True):
    """One QEMU: its guest, its machine, and the NICs on its command line.

    ``type`` is libvirt's word for the accelerator: ``kvm`` or ``qemu`` (TCG); None if the command
    line does not say. NICs hot-plugged later are not on the command line.
    """

    location: Location
    name: str | None = None
    uuid: str | None = None
    pid: int | None = None
    arch: str | None = None
    machine: str | None = None
    type: str | None = None
    vcpus: int | None = None
    vcpus_max: int | None = None
    shared_memory: bool | None = None
    virtio_disk: bool = False
    windows_hint: bool = False
    nics: tuple[RunningNic, ...] = ()
    nic_lines: tuple[int, ...] = ()
    """The line of each NIC, for a command line of several lines; empty: all are on one line."""
    warning_line: int | None = None
    """Line of libvirt's warning about vhost-net in the log; None if there is none."""
    qemu_version: Version | None = None
    libvirt_version: Version | None = None
    stopped: bool | None = None
    """True: according to the log this QEMU has ended; None: no log was read."""
    session: bool | None = None
    """An unprivileged session libvirt runs it; False: the system's; None: unknown."""
    owner: Owner = "qemu"
    """The owner of the definition, by marks in the arguments: nova, kubevirt, ovirt, libvirt; or
    ``qemu``: a script, a service unit, a person."""
    opened: str = ""
    """A word that a shell may expand into more arguments than are seen here, such as further
    NICs."""
    gaps: tuple[str, ...] = ()
    """Reasons why it may have NICs that are not listed here: a file of options, an unknown
    board."""
