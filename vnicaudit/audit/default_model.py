"""The model libvirt gives a NIC that declares none.

Source: libvirt 11.3 ``qemuDomainDefaultNetModel`` (src/qemu/qemu_postparse.c) and
``preferredMachines`` (src/qemu/qemu_capabilities.c). Measured with libvirt 9.0: ``pc`` and ``q35``
both get rtl8139.
"""

from __future__ import annotations

_ARM = frozenset({"armv6l", "armv7l", "armv7b", "aarch64"})
_RISCV = frozenset({"riscv32", "riscv64"})
_VIRT_BY_DEFAULT = frozenset({"armv7l", "armv7b", "aarch64", "riscv32", "riscv64", "loongarch64"})
"""Architectures whose default machine is ``virt``."""


def default_model(arch: str, machine: str | None) -> str:
    """The default NIC model of an architecture and machine type.

    On x86 and ppc64 the real answer is the first of rtl8139, e1000, virtio that the QEMU binary
    has; upstream, Debian and Ubuntu builds have rtl8139.
    """
    if arch in ("s390x", "s390"):
        return "virtio"
    machine = machine or ("virt" if arch in _VIRT_BY_DEFAULT else "")
    virt = machine == "virt" or machine.startswith("virt-")
    if arch == "loongarch64" and virt:
        return "virtio"
    if arch in _RISCV and virt:
        return "virtio"
    if arch in _ARM:
        if machine == "versatilepb":
            return "scm91c111"  # libvirt's own spelling of the SMC chip, which it hands to QEMU
        return "virtio" if virt and arch != "armv7b" else "lan9118"
    return "rtl8139"
