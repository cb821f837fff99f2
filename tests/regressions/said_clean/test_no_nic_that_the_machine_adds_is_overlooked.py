"""``qemu-system-ppc64 -M pseries`` was "0 NICs, no problems": QEMU adds a spapr-vlan to it."""

import pytest

from vnicaudit.platforms.qemu.read import read_text


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("qemu-system-ppc64 -M pseries -m 512", ["spapr-vlan"]),
        ("qemu-system-ppc64 -m 512", ["spapr-vlan"]),
        ("qemu-system-ppc64 -M pseries-7.2 -m 512", ["spapr-vlan"]),
        ("qemu-system-ppc64 -M powernv9 -m 512", []),
        ("qemu-system-ppc64 -M pseries -nic none -m 512", []),
        ("qemu-system-ppc -M mac99 -m 512", ["sungem"]),
        ("qemu-system-sparc64 -m 512", ["sunhme"]),
        ("qemu-system-mips64el -M malta -m 512", ["pcnet"]),
        ("qemu-system-aarch64 -M sbsa-ref -m 512", ["e1000e"]),
        ("qemu-system-arm -M vexpress-a9 -m 512", ["lan9118"]),
        ("qemu-system-arm -M vexpress-a9 -nodefaults -m 512", []),
        ("qemu-system-loongarch64 -M virt -m 512", ["virtio-net-pci"]),
        ("qemu-system-x86_64 -M none -m 512", []),
        ("qemu-system-riscv64 -M virt -m 512", []),
    ],
)
def test_the_nic_of_the_machine(text: str, devices: list[str]) -> None:
    (qemu,) = read_text(text.encode(), target="t", file=None)
    assert [nic.driver for nic in qemu.nics] == devices
    assert qemu.gaps == ()
