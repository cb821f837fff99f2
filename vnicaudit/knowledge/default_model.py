"""The model that libvirt gives a NIC that declares none.

Source: libvirt 11.3 ``qemuDomainDefaultNetModel`` (src/qemu/qemu_postparse.c) and
``preferredMachines`` (src/qemu/qemu_capabilities.c). Measured with libvirt 9.0: ``pc`` and ``q35``
both get rtl8139.
"""

from __future__ import annotations

from vnicaudit.knowledge.machines import is_virt
from vnicaudit.model.guest_words import ARM, RISCV, S390

_VIRT_BY_DEFAULT = RISCV | {"armv7l", "armv7b", "aarch64", "loongarch64"}
"""Architectures whose default machine is ``virt``."""


def default_model(arch: str, machine: str | None) -> str:
    """The default NIC model of an architecture and machine type.

    On x86 and ppc64 the real answer is the first of rtl8139, e1000, virtio that the QEMU binary
    has; upstream, Debian and Ubuntu builds have rtl8139.
    """
    machine = machine or ("virt" if arch in _VIRT_BY_DEFAULT else "")
    if arch in S390 or (is_virt(machine) and (arch in RISCV or arch == "loongarch64")):
        return "virtio"
    return _on_arm(arch, machine) if arch in ARM else "rtl8139"


def _on_arm(arch: str, machine: str) -> str:
    if machine == "versatilepb":
        return "scm91c111"  # libvirt's spelling of the SMC chip, passed to QEMU as it is
    # libvirt does not count armv7b among the architectures of ``virt`` (qemuDomainMachineIsARMVirt)
    return "virtio" if is_virt(machine) and arch != "armv7b" else "lan9118"
