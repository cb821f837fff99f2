"""The PCI id by which a guest finds the driver of its NIC.

Measured with QEMU 7.2.22 (``info pci``); igb, which is newer, from its source. In QEMU's source:
include/hw/pci/pci_ids.h and pci.h, and hw/net/ (e1000.c ``e1000_devices``, e1000e.c, igb.c,
rtl8139.c, vmxnet3.c, pcnet-pci.c, ne2000-pci.c, tulip.c, eepro100.c ``e100_devices``, rocker.c).
"""

from __future__ import annotations

from vnicaudit.knowledge.machines import is_q35, modern_only_slot
from vnicaudit.knowledge.slots import is_i440fx, pci_slot
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.guest_words import S390
from vnicaudit.model.nic import Nic

TRANSITIONAL = "1af4:1000"
"""Supports virtio 0.9 and 1.0 (VIRTIO, "Transitional Device")."""

MODERN = "1af4:1041"
"""Supports only virtio 1.0."""

_EMULATED = {
    "e1000": "8086:100e",
    "e1000-82540em": "8086:100e",
    "e1000-82544gc": "8086:100c",
    "e1000-82545em": "8086:100f",
    "e1000e": "8086:10d3",
    "igb": "8086:10c9",
    "rtl8139": "10ec:8139",
    "vmxnet3": "15ad:07b0",
    "pcnet": "1022:2000",
    "ne2k_pci": "10ec:8029",
    "tulip": "1011:0019",
    "rocker": "1b36:0006",
    "i82550": "8086:1209",
    "i82551": "8086:1209",
    "i82559er": "8086:1209",
    "i82562": "8086:1209",
    "i82801": "8086:2449",
    "i82557a": "8086:1229",
    "i82557b": "8086:1229",
    "i82557c": "8086:1229",
    "i82558a": "8086:1229",
    "i82558b": "8086:1229",
    "i82559a": "8086:1229",
    "i82559b": "8086:1229",
    "i82559c": "8086:1229",
}


def model_of(nic: Nic) -> str | None:
    """The NIC's model, declared or else the known default; None if it is unknown."""
    if nic.declared.model is not None or nic.effective is None:
        return nic.declared.model
    return nic.effective.model.effective


def pci_id(nic: Nic, domain: DomainConfig) -> str | None:
    """``8086:100e``; None for a NIC that is not a PCI device, or if the id is unknown."""
    model = model_of(nic)
    if model is None or nic.declared.address_type not in (None, "pci") or _on_ccw(nic, domain):
        return None
    if model == "virtio-transitional":
        return TRANSITIONAL
    if model == "virtio-non-transitional":
        return MODERN
    return _virtio(nic, domain) if model == "virtio" else _EMULATED.get(model)


def port_unknown(nic: Nic, domain: DomainConfig) -> bool:
    """True if only the kind of the NIC's PCI bus is missing."""
    on_pci = nic.declared.address_type in (None, "pci")
    return model_of(nic) == "virtio" and on_pci and is_q35(domain) and _virtio(nic, domain) is None


def _on_ccw(nic: Nic, domain: DomainConfig) -> bool:
    """True for a NIC without an address on s390x, which libvirt puts on the channel subsystem."""
    return domain.arch in S390 and nic.declared.address_type is None


def _virtio(nic: Nic, domain: DomainConfig) -> str | None:
    """PCI id of a virtio NIC; None if unknown. QEMU's ``virtio_pci_realize`` switches virtio 0.9
    off if the bus is PCI Express and not a root bus: on a port, but neither on q35's bus 0 nor
    behind a PCI bridge. Other machines than these were not measured."""
    if is_q35(domain):
        modern = modern_only_slot(nic.declared, domain)
        return None if modern is None else MODERN if modern else TRANSITIONAL
    if is_i440fx(domain):
        return TRANSITIONAL
    slot = pci_slot(nic)
    return TRANSITIONAL if domain.arch in S390 and slot is not None and slot.bus == 0 else None
