"""Settings made for the NIC's present device that are wrong for virtio: a boot ROM, and properties
set behind libvirt's settings.

Measured with QEMU 7.2.22 and SeaBIOS 1.16.2, by the lines "iPXE" and "using" on the serial console:
virtio-net-pci boots from the network with the ROM that QEMU gives it by default, on pc and on q35.
With ``romfile=pxe-e1000.rom`` or ``efi-e1000.rom`` the ROM is not run, and with ``rombar=0`` it
runs and finds no device; with ``romfile=pxe-virtio.rom`` it is not run on a slot of conventional
PCI, because QEMU writes the id of the device only into its default ROM. So only the default file
works.
"""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.model.finding import Change
from vnicaudit.model.guest_words import MAYBE, VIRTIO
from vnicaudit.model.nic import Behind, Nic, NicConfig

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
