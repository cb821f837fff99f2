"""Domain types, architectures and machine types of guests, and their consequences for NICs."""

from __future__ import annotations

import re

from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.guest_words import ARM
from vnicaudit.model.nic import NicConfig
from vnicaudit.model.version import Version

MODERN_ZPCI = Version(11, 1)
"""The first QEMU, and version of s390x's machine, that makes virtio on PCI speak virtio 1.0 only
(measured with 11.1.3 and its machine types from 9.2 on)."""

# Domain types, as far as they affect NICs.
#
# Source: libvirt 11.3 ``virDomainVirt`` and ``qemuInterfaceOpenVhostNet``.

KVM_DOMAINS = frozenset({"kvm", "test"})
"""Domain types with vhost-net. ``test`` is libvirt's test driver, which is judged like KVM."""

KVM_OR_QEMU = "kvm or qemu"
"""A command line that leaves the accelerator to QEMU (``accel=kvm:tcg``, ``qemu-kvm``), so that it
does not show which one is used."""

QEMU_DOMAINS = KVM_DOMAINS | {"qemu", "hvf", KVM_OR_QEMU}
"""Domain types whose NICs QEMU emulates."""


def is_virt(machine: str) -> bool:
    """True for QEMU's generic ``virt`` machine of ARM, RISC-V or LoongArch."""
    return machine == "virt" or machine.startswith("virt-")


def is_board(domain: DomainConfig) -> bool:
    """True if the machine is an ARM board with a NIC of its own (anything but ``virt``): libvirt
    gives its NICs neither a PCI nor a virtio bus (``qemuDomainSupportsNicdev``)."""
    return domain.arch in ARM and not is_virt(domain.machine or "virt")


def may_be_modern_zpci(machine: str | None) -> bool:
    """True for a machine of s390x that has :data:`MODERN_ZPCI`: its version is so new, or left to
    QEMU."""
    found = re.fullmatch(r"s390-ccw-virtio(?:-(\d.*))?", machine or "s390-ccw-virtio")
    return found is not None and (not found[1] or Version.parse(found[1]) >= MODERN_ZPCI)


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
