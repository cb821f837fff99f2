"""Architectures and machine types of guests, and their consequences for NICs."""

from __future__ import annotations

from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.guest_words import ARM
from vnicaudit.model.nic import NicConfig


def is_virt(machine: str) -> bool:
    """True for QEMU's generic ``virt`` machine of ARM, RISC-V or LoongArch."""
    return machine == "virt" or machine.startswith("virt-")


def is_board(domain: DomainConfig) -> bool:
    """True if the machine is an ARM board with a NIC of its own (anything but ``virt``): libvirt
    gives its NICs neither a PCI nor a virtio bus (``qemuDomainSupportsNicdev``)."""
    return domain.arch in ARM and not is_virt(domain.machine or "virt")


def is_q35(domain: DomainConfig) -> bool:
    """True for x86 with PCI Express."""
    machine = domain.machine or ""
    return machine == "q35" or machine.startswith("pc-q35-")


def modern_only_slot(nic: NicConfig, domain: DomainConfig) -> bool | None:
    """True if ``<model type='virtio'/>`` is a modern-only device (1af4:1041) at this NIC's address:
    it is on a PCI Express port, which libvirt assigns on q35 if there is no address; it is not on
    conventional PCI and on the root bus.

    None: the NIC is on a bus whose controller is unknown, or on a machine that was not measured
    (``virt``).
    """
    if domain.arch in ARM or "machine" in domain.unseen:
        return None
    if not is_q35(domain) or nic.address_type not in (None, "pci"):
        return False
    if nic.address_type is None or nic.address_bus is None:
        return True
    if nic.address_bus == 0:
        return False  # QEMU turns legacy off only on ports, virtio_pci_dc_realize
    return None if domain.pcie_ports is None else nic.address_bus in domain.pcie_ports
