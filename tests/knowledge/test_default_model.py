"""The default model of every architecture and machine, as ``qemuDomainDefaultNetModel`` has it."""

from __future__ import annotations

import pytest

from vnicaudit.knowledge.models import default_model


@pytest.mark.parametrize(
    ("arch", "machine", "model"),
    [
        ("x86_64", None, "rtl8139"),
        ("x86_64", "pc", "rtl8139"),
        ("x86_64", "pc-i440fx-9.2", "rtl8139"),
        ("x86_64", "q35", "rtl8139"),
        ("x86_64", "pc-q35-9.2", "rtl8139"),
        ("x86_64", "microvm", "rtl8139"),
        ("i686", "pc", "rtl8139"),
        ("ppc64", "pseries", "rtl8139"),
        ("ppc64le", None, "rtl8139"),
        ("mips", "malta", "rtl8139"),
        ("m68k", "virt", "rtl8139"),
        ("s390x", None, "virtio"),
        ("s390x", "s390-ccw-virtio-9.2", "virtio"),
        ("s390", None, "virtio"),
        ("loongarch64", None, "virtio"),
        ("loongarch64", "virt", "virtio"),
        ("loongarch64", "virt-9.2", "virtio"),
        ("loongarch64", "loongson3", "rtl8139"),
        ("riscv64", None, "virtio"),
        ("riscv64", "virt", "virtio"),
        ("riscv64", "virt-9.2", "virtio"),
        ("riscv64", "sifive_u", "rtl8139"),
        ("riscv64", "virtual", "rtl8139"),
        ("riscv32", None, "virtio"),
        ("riscv32", "spike", "rtl8139"),
        ("aarch64", None, "virtio"),
        ("aarch64", "virt", "virtio"),
        ("aarch64", "virt-9.2", "virtio"),
        ("aarch64", "raspi3b", "lan9118"),
        ("aarch64", "virtual", "lan9118"),
        ("armv7l", None, "virtio"),
        ("armv7l", "virt-9.2", "virtio"),
        ("armv7l", "vexpress-a15", "lan9118"),
        ("armv7l", "versatilepb", "scm91c111"),
        ("armv6l", None, "lan9118"),
        ("armv6l", "virt", "virtio"),
        ("armv6l", "integratorcp", "lan9118"),
        ("armv6l", "versatilepb", "scm91c111"),
        # big-endian ARM: its default machine is virt, and libvirt knows no virt of it
        ("armv7b", None, "lan9118"),
        ("armv7b", "virt", "lan9118"),
        ("armv7b", "versatilepb", "scm91c111"),
    ],
)
def test_default_model(arch: str, machine: str | None, model: str) -> None:
    assert default_model(arch, machine) == model
