"""May this NIC become virtio? Rates an emulated NIC, and the safety of changing it.

Readiness decides first (can the guest drive virtio?), then the link, then pending changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.models import CCW, PCI, VIRTIO_BUS, machine_buses
from vnicaudit.knowledge.systems import modern_only_slot
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import MAYBE, VIRTIO, Change, Confidence, Severity
from vnicaudit.model.fix import BehindSetting, Fix, RemoveBehind
from vnicaudit.model.nic import Behind, Nic, NicConfig
from vnicaudit.model.rule import Problem, Subject

# Settings made for the NIC's present device that are wrong for virtio: a boot ROM, and properties
# set behind libvirt's settings.
#
# Measured with QEMU 7.2.22 and SeaBIOS 1.16.2, by the lines "iPXE" and "using" on the serial
# console: virtio-net-pci boots from the network with the ROM that QEMU gives it by default, on pc
# and on q35. With ``romfile=pxe-e1000.rom`` or ``efi-e1000.rom`` the ROM is not run, and with
# ``rombar=0`` it runs and finds no device; with ``romfile=pxe-virtio.rom`` it is not run on a slot
# of conventional PCI, because QEMU writes the id of the device only into its default ROM. So only
# the default file works.


_ROMS = frozenset(
    f"{kind}-{device}.rom"
    for kind in ("pxe", "efi")
    for device in (
        "e1000", "e1000e", "eepro100", "ne2k_pci", "pcnet", "rtl8139", "virtio", "vmxnet3",
    )
)  # fmt: skip
"""iPXE as shipped with QEMU, one file for each device (Debian's ipxe-qemu, QEMU's pc-bios)."""

OF_VIRTIO = frozenset({
    "acpi-index", "addr", "aer", "any_layout", "ats", "bootindex", "csum", "ctrl_guest_offloads",
    "ctrl_mac_addr", "ctrl_rx", "ctrl_rx_extra", "ctrl_vlan", "ctrl_vq", "disable-legacy",
    "disable-modern", "driver", "duplex", "event_idx", "failover", "failover_pair_id", "gso",
    "guest_announce", "guest_csum", "guest_ecn", "guest_rsc_ext", "guest_tso4", "guest_tso6",
    "guest_ufo", "hash", "host_ecn", "host_mtu", "host_tso4", "host_tso6", "host_ufo", "id",
    "indirect_desc", "ioeventfd", "iommu_platform", "mac", "migrate-extra", "modern-pio-notify",
    "mq", "mrg_rxbuf", "multifunction", "netdev", "notify_on_empty", "packed", "page-per-vq",
    "queue_reset", "rombar", "rsc_interval", "rss", "rx_queue_size", "speed", "status", "tx",
    "tx_queue_size", "vectors", "x-disable-pcie", "x-txburst", "x-txtimer",
})  # fmt: skip
"""Properties of another device that virtio also accepts: ``qemu-system-x86_64 -device
virtio-net-pci,help`` of 7.2.22, with ``driver`` and ``id``, without those about a ROM."""

_ADDRESS = (
    "its PCI address is removed, as libvirt would refuse it for the new model: libvirt assigns "
    "another, so the guest may give the interface another name"
)
_ROM = (
    "the boot ROM is for the old device: without it QEMU gives the NIC its own for virtio, and the "
    "guest boots from the network as before"
)
_UNKNOWN_ROM = (
    "the boot ROM, a custom file, is for the old device: it is removed with it, and the guest "
    "can no longer boot with it"
)


def rom_removal(nic: NicConfig, change: Change) -> Change | None:
    """The removal of a boot ROM that goes with a change of the model to virtio; None if there is
    none, or the change is another one."""
    path = nic.rom_file
    if path is None or change.field != "model" or change.new not in VIRTIO:
        return None
    known = has_qemus_rom(path)
    return Change("rom_file", path, None, known, _ROM if known else _UNKNOWN_ROM)


def address_removal(nic: Nic, changes: Iterable[Change]) -> Change | None:
    """The removal of a PCI address, which may exist for the old model alone; None if there is none,
    or the model stays, or the address is changed already. The guest may rename its interface."""
    fields, declared = {one.field for one in changes}, nic.declared
    there = declared.origin == "interface" and declared.address_type == "pci"
    if not there or "model" not in fields or "address" in fields:
        return None
    return Change("address", nic.address, None, False, _ADDRESS)


def has_qemus_rom(path: str) -> bool:
    """True if the file is one of QEMU's own, which QEMU replaces for virtio."""
    return path.rpartition("/")[2] in _ROMS


def not_of_virtio(nic: NicConfig) -> tuple[Behind, ...]:
    """Properties set behind libvirt's settings that no virtio NIC has, or that concern the ROM of
    another device: QEMU would not start, or would not boot from the network."""
    return tuple(one for one in nic.behind if one.text and one.name not in OF_VIRTIO)


def may_be_of_another(nic: NicConfig) -> bool:
    """True if such properties may belong to another NIC."""
    return any(one.text == MAYBE for one in nic.behind)


_KEEPS = "the guest already supports virtio; its MAC and device address stay the same"
_TRANSITIONAL = (
    "the guest's driver supports virtio 0.9: a transitional device on conventional PCI works with "
    "it"
)
NEEDS_SWITCH = (
    "the guest's driver supports only virtio 0.9, and KubeVirt's virtio is virtio 1.0: without "
    "devices.useVirtioTransitional: true, set first, it loses its network"
)
_ELSEWHERE = (
    "a transitional device needs a PCI address, which this is not: the guest's virtio 0.9 driver "
    "may not work here"
)
_PORT = (
    "the guest's driver supports only virtio 0.9 and this address is a PCI Express port: the "
    "address must change with the model, and the interface may be renamed"
)
_NEEDS_DRIVER = "Windows does not include a virtio driver: install NetKVM from virtio-win first"
MAY_LACK_DRIVER = "the guest may have no virtio driver; without one it loses its network"
_DISK_ONLY = (
    "if this is Windows, check for the driver NetKVM first, which a virtio disk does not prove: "
    "without it the guest is offline"
)
_ENCRYPTED = (
    "the guest's memory is encrypted: a virtio device also needs iommu='on', unless libvirt and "
    "QEMU set it themselves"
)
_RISKS = {"ready": _ENCRYPTED, "likely-ready": _DISK_ONLY, "needs-driver": _NEEDS_DRIVER}
"""Readiness -> why a change to virtio may do harm; ``ready`` only if memory is encrypted."""
_STAGED = "Power the guest off and on; a reboot inside the guest keeps the old device."
_OWN_ROM = (
    "its boot ROM is for the present model: --fix and `vnicaudit plan` remove it with the model, "
    "and QEMU then uses its own ROM for virtio; if the ROM stays, the guest no longer boots from "
    "the network"
)
_OTHER_ROM = (
    "its boot ROM, a custom file, is for the present model: with virtio the guest could not boot "
    "with it"
)
_TAKES_MTU = "virtio tells the guest its MTU of {}, which {} does not, and the guest then uses it"
_USUAL_MTU = 1500
_BEHIND = "; {} set behind libvirt's settings, which no virtio NIC has"
_FIRST_GLOBAL = RemoveBehind(before_virtio=True)
_OTHER = "Use a machine type with PCI (pc, q35)."
_LEAVE = "Leave it, or move the service to a guest that supports virtio."


class VirtioConversion(NamedTuple):
    """How to report an emulated NIC. ``note`` completes the message (empty, or begins with ``;``);
    ``change`` is None if none can be proposed, and ``fix`` then says what to do. ``confidence``
    tells how certain it is that this is the model."""

    severity: Severity
    note: str
    change: Change | None
    fix: str | Fix = ""
    confidence: Confidence = "high"

    def problem(
        self, message: str, *, field: str | None = "model", confidence: Confidence | None = None
    ) -> Problem:
        """The problem that a rule reports, its message completed by the note. ``field``: its place;
        ``confidence``: replaces the conversion's."""
        return Problem(
            message + self.note,
            field=field,
            severity=self.severity,
            confidence=confidence or self.confidence,
            change=self.change,
            fix=self.fix,
        )


def to_virtio(subject: Subject, severity: Severity) -> VirtioConversion:
    """The proposal for a NIC that is not virtio; ``severity`` applies to a guest that can drive
    virtio."""
    if _already(subject):
        return VirtioConversion(severity, "; virtio is set but not active yet", None, _STAGED)
    buses = machine_buses(subject.arch, subject.domain.machine)
    if buses is not None and buses.isdisjoint((PCI, VIRTIO_BUS, CCW)):
        return VirtioConversion("low", f"; {subject.domain.machine} has no virtio", None, _OTHER)
    down = subject.nic.link_state == "down"
    found = _without_old_parts(subject, _by_readiness(subject, "low" if down else severity))
    found = found._replace(confidence=how_sure(subject.domain))
    return found._replace(note=f"; its link is down{found.note}") if down else found


def how_sure(domain: DomainConfig) -> Confidence:
    """How certain it is that a NIC is what it is declared as. For a server this depends on how its
    stored properties are known: Nova reports them, or they follow from an image that has not
    changed since."""
    server = domain.server
    if not domain.is_server or server is None or server.properties_source == "api":
        return "high"
    return "medium"


def _already(subject: Subject) -> bool:
    """True if virtio is in the definition but something else runs."""
    if subject.running is not None and subject.nic.model in VIRTIO:
        return True
    staged = () if subject.staged is None else subject.staged.fields
    return any(field == "model" and new in VIRTIO for field, _running, new in staged)


def _without_old_parts(subject: Subject, found: VirtioConversion) -> VirtioConversion:
    """The conversion, corrected for settings that suit only the old device: its change is dropped,
    or marked unsafe, if they would harm a virtio NIC."""
    change, nic = found.change, subject.nic
    if change is None:
        return found
    if harmful := not_of_virtio(nic):
        how = "may be" if may_be_of_another(nic) else "is"
        note = found.note + _BEHIND.format(f"{', '.join(one.name for one in harmful)} {how}")
        settings = tuple(BehindSetting(one.name, one.by) for one in harmful)
        return found._replace(
            change=None, note=note, fix=RemoveBehind(settings, before_virtio=True)
        )
    if nic.virtio_faults:
        why = f"; as virtio it would not start: {nic.virtio_faults[0]}"
        return found._replace(change=None, note=found.note + why, fix=_FIRST_GLOBAL)
    if nic.rom_file is not None and nic.rom != "no":
        change = _with_risk(change, _OWN_ROM if has_qemus_rom(nic.rom_file) else _OTHER_ROM)
    return found._replace(change=_with_mtu(subject, change))


def _with_mtu(subject: Subject, change: Change) -> Change:
    """The change, with what becomes of ``<mtu>``: only virtio has QEMU's ``host_mtu`` (``-device
    NAME,help`` of 7.2). A larger MTU than usual cuts the guest off from peers that lack it; Nova
    writes the network's own, which DHCP tells the guest already."""
    mtu = subject.nic.mtu
    if mtu is None or mtu in (0, _USUAL_MTU):
        return change
    told = _TAKES_MTU.format(mtu, subject.model or "the old model")
    if mtu > _USUAL_MTU and subject.domain.owner != "nova":
        return _with_risk(change, f"{told}: its network must carry it")
    return replace(change, reason=f"{change.reason}; {told}")


def _with_risk(change: Change, risk: str) -> Change:
    """The change, unsafe for one more reason."""
    reason = risk if change.safe else f"{change.reason}; {risk}"
    return replace(change, safe=False, reason=reason)


def _by_readiness(subject: Subject, severity: Severity) -> VirtioConversion:
    readiness = subject.domain.readiness
    encrypted = subject.domain.encrypted and subject.nic.iommu != "on"
    if readiness == "ready" and not encrypted:
        return VirtioConversion(severity, "", _change(subject, "virtio", _KEEPS, safe=True))
    if readiness == "ready-transitional":
        return VirtioConversion(severity, "", _transitional(subject))
    if (risk := _RISKS.get(readiness)) is not None:
        return VirtioConversion(severity, "", _change(subject, "virtio", risk, safe=False))
    if readiness == "not-supported":
        note = "; review: this guest is known not to support virtio"
        return VirtioConversion("low", note, None, _LEAVE)
    note = "; review: this guest may not support virtio"
    return VirtioConversion("low", note, _change(subject, "virtio", MAY_LACK_DRIVER, safe=False))


def _transitional(subject: Subject) -> Change:
    if subject.domain.manifest is not None:
        return _change(subject, "virtio", NEEDS_SWITCH, safe=False)
    if subject.nic.address_type not in (None, "pci"):
        return _change(subject, "virtio", _ELSEWHERE, safe=False)
    if modern_only_slot(subject.nic, subject.domain) is False:
        return _change(subject, "virtio", _TRANSITIONAL, safe=True)
    if subject.nic.address_type is None:
        return _change(subject, "virtio-transitional", _TRANSITIONAL, safe=True)
    return _change(subject, "virtio-transitional", _PORT, safe=False)


def _change(subject: Subject, new: str, reason: str, *, safe: bool) -> Change:
    return Change("model", subject.nic.model, new, safe=safe, reason=reason)
