"""The NIC that QEMU itself adds when nothing is said about networking.

Not to be confused with libvirt's default model: libvirt always passes ``-nodefaults``.

Measured with QEMU 7.2.22 (``info network`` on each machine type): pc e1000, q35 e1000e (e1000 up
to pc-q35-2.11), isapc ne2k_isa, microvm and none nothing, s390x virtio-net-ccw; ``-netdev``,
``-nic`` and ``-net`` each switch it off, a NIC given with ``-device`` does not. arm virt:
``mc->default_nic`` in QEMU 10.0 hw/arm/virt.c.
"""

from __future__ import annotations

import re

_Q35_OLD = re.compile(r"pc-q35-(1\.\d+|2\.(\d|10|11))(\D.*)?")
_DEFAULT = {"x86_64": "pc", "i686": "pc", "s390x": "s390-ccw-virtio"}
"""The machine of an architecture when none is given."""

_NICS = (
    (re.compile(r"pc|pc-i440fx-.*|pc-[01]\..*"), "e1000"),
    (_Q35_OLD, "e1000"),
    (re.compile(r"q35|pc-q35-.*"), "e1000e"),
    (re.compile(r"isapc"), "ne2k_isa"),
    (re.compile(r"s390-ccw.*"), "virtio-net-ccw"),
)
_ARM_VIRT = re.compile(r"virt(-\d.*)?")


def default_nic(arch: str | None, machine: str | None) -> str | None:
    """QEMU's device name of the default NIC of a machine; None where there is none, or where it
    is not known (other boards)."""
    machine = machine or _DEFAULT.get(arch or "")
    if machine is None:
        return None
    if arch == "aarch64" and _ARM_VIRT.fullmatch(machine):
        return "virtio-net-pci"
    return next((nic for pattern, nic in _NICS if pattern.fullmatch(machine)), None)


def device_name(model: str, arch: str | None) -> str:
    """QEMU's device name for the ``model=`` of ``-net nic`` and ``-nic``, which take
    ``virtio`` for the machine's own virtio device (``qemu_find_nic_model``)."""
    if model in ("virtio", "virtio-net"):
        return "virtio-net-ccw" if arch in ("s390x", "s390") else "virtio-net-pci"
    return model
