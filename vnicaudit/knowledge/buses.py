"""The bus of each NIC device, and the buses of each machine.

Measured with QEMU 7.2.22 and 10.0.2: each device on each machine of x86 and s390x (``No 'PCI' bus
found for device 'rtl8139'``, ``'sungem' is not a valid device model name``).
"""

from __future__ import annotations

from vnicaudit.knowledge.machines import is_virt
from vnicaudit.knowledge.models import E1000, E1000E, LEGACY
from vnicaudit.model.guest_words import RISCV, S390, X86

PCI, ISA, USB = "PCI", "ISA", "usb-bus"
CCW, VIRTIO_BUS, XEN = "virtual-css-bus", "virtio-bus", "xen-bus"

VIRTIO_PCI = frozenset(
    {"virtio-net-pci", "virtio-net-pci-transitional", "virtio-net-pci-non-transitional"}
)

_BUS = {
    **dict.fromkeys((LEGACY - {"ne2k_isa"}) | E1000 | E1000E | VIRTIO_PCI, PCI),
    **dict.fromkeys(("vmxnet3", "rocker", "sungem", "sunhme"), PCI),
    "ne2k_isa": ISA,
    "usb-net": USB,
    "virtio-net-ccw": CCW,
    "virtio-net-device": VIRTIO_BUS,
    "xen-net-device": XEN,
}
_ALIASES = {"e1000-82540em": "e1000"}

_X86_BUSES: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (("pc", "pc-", "q35"), frozenset({PCI, ISA})),
    (("isapc",), frozenset({ISA})),
    (("microvm",), frozenset({ISA, VIRTIO_BUS})),
    (("none",), frozenset()),
)
"""Prefixes of machine types, and the buses of such a machine without further arguments."""


def device_of(name: str, arch: str | None) -> str:
    """QEMU's device for a name after ``-device``: ``virtio-net`` is the machine's own virtio device
    (``qdev_alias_table``)."""
    if name == "virtio-net":
        return "virtio-net-ccw" if arch in S390 else "virtio-net-pci"
    return _ALIASES.get(name, name)


def bus_of(device: str) -> str | None:
    """The bus of a device; None if it is unknown."""
    return _BUS.get(device)


def machine_buses(arch: str | None, machine: str | None) -> frozenset[str] | None:
    """The buses of an x86, s390x or RISC-V machine without further arguments (``pcie=on`` of
    microvm, a USB controller); None if they are unknown."""
    if arch in S390:
        if machine == "none":
            return frozenset()
        known = machine is None or machine.startswith("s390-ccw-virtio")
        return frozenset({CCW, PCI}) if known else None
    if arch in RISCV:
        if machine is None or machine == "spike":
            return None if machine is None else frozenset()
        return frozenset({PCI, VIRTIO_BUS}) if is_virt(machine) else None
    if arch not in X86:
        return None
    name = machine or "pc"
    for beginnings, buses in _X86_BUSES:
        if name in beginnings or name.startswith(tuple(b for b in beginnings if b[-1] == "-")):
            return buses
    return None
